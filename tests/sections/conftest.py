"""A section of the web's fakes in its cache, and packages that exist as metadata alone."""

import sys
from collections.abc import Callable
from datetime import date

import pytest

from location_context.localisation.language import Languages
from location_context.point import Point
from location_context.sections.cached_section import CachedSection
from location_context.sections.contract import Query
from location_context.stay import Stay
from location_context.upstream.deadline import Deadline
from tests.web.sections import FakeSection

STAY = Stay(date(2026, 11, 28), date(2026, 12, 1))
PARIS = Point(48.8566, 2.3522, "Europe/Paris", "FR")
QUERY = Query(PARIS, STAY, "metric", Languages.load().english)


@pytest.fixture
def tides(clock) -> FakeSection:
    """A section whose answers are fresh for 900 s."""
    return FakeSection(clock)


@pytest.fixture
def cached(tides, clock) -> CachedSection:
    return CachedSection(tides, clock)


def soon() -> Deadline:
    return Deadline.after(5)


def failing(section: FakeSection, error: Exception) -> None:
    """Let every further read of the section raise the error."""

    async def before(*_: object) -> None:
        raise error

    section.before = before


@pytest.fixture
def install(tmp_path, monkeypatch) -> Callable[..., None]:
    """Install a package of one module with these entry points, by metadata on the path."""

    def work(code: str, **groups: dict[str, str]) -> None:
        name = f"made_up_{len(list(tmp_path.iterdir()))}"
        folder = tmp_path / name
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (folder / f"{name}.py").write_text(code)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = []
        for group, points in groups.items():
            lines.append(f"[location_context.{group}]")
            lines += [f"{point} = {name}:{target}" for point, target in points.items()]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.delitem(sys.modules, name, raising=False)  # of another test

    return work
