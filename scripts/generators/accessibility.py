"""Write docs/accessibility.md from the criteria, their tests and the engines' findings."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.checks.accessibility.answers import ANSWERED

SCRIPTS = Path(__file__).parents[1]
PAGE = SCRIPTS.parent / "docs" / "accessibility.md"
SOURCES = SCRIPTS / "checks" / "accessibility"
CRITERIA = SOURCES / "criteria.toml"
HEAD = (SOURCES / "page.md").read_text("utf-8")
NEW_IN_22 = {"2.4.11", "2.5.7", "2.5.8", "3.2.6", "3.3.7", "3.3.8"}  # younger than the standard
ENGINES = "engines"  # stands for the tests below
ENGINE_TESTS = (
    "widget/test_page_browser.py::test_axe_finds_no_violation_in_any_language_in_light_and_dark",
    "widget/test_builder_browser.py::test_axe_finds_no_violation_in_the_builder_in_light_and_dark",
    "widget/test_docs_page_browser.py::test_scrolling_regions_of_the_documents_are_reachable_and_named",
    "widget/test_accuracy_page_browser.py::test_accuracy_page_fits_its_window_and_is_accessible",
)


@dataclass(frozen=True)
class Criterion:
    """A criterion of WCAG 2.2: how it is met and shown, or why it does not apply."""

    number: str
    level: str
    name: str
    met: str
    absent: str
    tests: tuple[str, ...]

    @property
    def clause(self) -> str:
        """Its clause in EN 301 549 V3.2.1, whose chapter 9 has WCAG 2.1's numbers."""
        return "–" if self.number in NEW_IN_22 else f"9.{self.number}"

    @property
    def row(self) -> str:
        said = self.met or f"Does not apply: {self.absent}."
        shown = ", ".join(map(_link, self.tests))
        return (
            f"| {self.number} | {self.clause} | {self.level} | {self.name} | {said} | {shown} |\n"
        )


def criteria() -> list[Criterion]:
    """Return every criterion, in order."""
    found = tomllib.loads(CRITERIA.read_text("utf-8"))["criterion"]
    return [
        Criterion(
            *one["id"].split(" ", 2), one.get("met", ""), one.get("absent", ""),
            tuple(one.get("tests", ())),
        )
        for one in found
    ]  # fmt: skip


def tests() -> set[str]:
    """Return every test that the page names, as `file::name` below tests/."""
    named = {test for one in criteria() for test in one.tests}
    return named - {ENGINES} | set(ENGINE_TESTS)


def _link(test: str) -> str:
    if test == ENGINES:
        return "[engines](#engines)"
    file, _, name = test.partition("::")
    return f"[{name.removeprefix('test_').replace('_', ' ')}](../tests/{file})"


def _answers() -> Iterator[str]:
    for one in ANSWERED:
        where = f"`{one.where}`" if one.where else "everywhere"
        yield f"| {one.engine} | {one.rule} | {where} | {one.reason} |\n"


def page() -> str:
    table = "".join(one.row for one in criteria())
    suite = "".join(f"- {_link(test)}\n" for test in ENGINE_TESTS)
    return HEAD.format(table=table, answers="".join(_answers()), suite=suite)


def files() -> dict[Path, str]:
    return {PAGE: page()}
