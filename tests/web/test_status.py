"""`/v1/status` is open to everyone, so that it must cost next to nothing."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import msgspec
from sqlalchemy import event
from sqlalchemy.engine import Engine

from location_context.sections.cached_section import CachedSection
from location_context.settings import Settings
from location_context.web.status import DatasetCache
from tests.moved_clock import MovedClock
from tests.serving import serve
from tests.web.conftest import HTTP
from tests.web.sections import FakeUndatedSection


@contextmanager
def statements() -> Iterator[list[str]]:
    """What any database must answer meanwhile."""
    seen: list[str] = []

    def note(*arguments: Any) -> None:
        seen.append(arguments[2])

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def test_concurrent_status_requests_share_one_database_read(
    database_settings: Settings,
) -> None:
    settings = msgspec.structs.replace(database_settings, log_level="error")
    with serve(settings) as served, statements() as seen:
        with ThreadPoolExecutor(20) as pool:
            list(pool.map(HTTP.get, [f"{served.url}/v1/status"] * 20))
        report = HTTP.get(f"{served.url}/v1/status").json()
    assert report["datasets"]["climate"]["rows"] == 0
    assert len([text for text in seen if "climate_months" in text]) == 1


class Counting(FakeUndatedSection):
    """A section whose dataset fails as often as the test says."""

    def __init__(self) -> None:
        super().__init__(words="")
        self.requests, self.failing = 0, False

    async def dataset(self) -> None:
        self.requests += 1
        if self.failing:
            raise TimeoutError


async def test_status_endpoint_reads_the_imports_again_after_30_s_or_soon_after_a_failure() -> None:
    class Only:
        sections = (CachedSection(Counting(), MovedClock()),)

    section, now = Only.sections[0].section, [0.0]
    imported = DatasetCache(Only(), lambda: now[0])  # type: ignore[arg-type]  # only its sections are read
    for moment, request, answers in (
        (0.0, 1, True), (29.0, 1, True), (30.0, 2, False), (31.0, 2, False), (32.0, 3, True),
    ):  # fmt: skip
        now[0], section.failing = moment, not answers
        assert (await imported.read() == {"harbours": None}) is answers
        assert section.requests == request
