"""Sections describe all that others show of them; empty translations fall back to English."""

from pathlib import Path
from typing import ClassVar

from location_context.localisation.language import Language, Languages
from location_context.sections import registry
from location_context.sections.section import Section
from location_context.sections.weather.section import Weather
from location_context.testing import description_problems
from tests.conftest import ROOT

SKY = 'msgid "sky"\nmsgstr "Himmel"'
LOCALE = ROOT / "src/location_context/localisation/locale"


def test_each_schema_field_of_each_section_has_a_description() -> None:
    sections = registry.load(registry.SECTIONS, Section)
    assert [problem for one in sections for problem in description_problems(one)] == []


class Unlabelled(Weather):
    """Lacks a title, a label and an example."""

    title = ""
    samples: ClassVar = {**Weather.samples, "another": {}}

    def label(self, language: Language) -> str:
        return ""


def test_missing_description_is_named_with_file_and_line() -> None:
    problems = description_problems(Unlabelled)
    here = f"{Path(__file__)}:"
    assert problems
    assert all(one.startswith(here) for one in problems)
    text = "\n".join(problems)
    for what in ("`title` is empty", "'another' is missing in sample.json", "`label` or `summary`"):
        assert what in text


def test_message_with_an_empty_translation_is_shown_in_english(tmp_path: Path) -> None:
    original = (LOCALE / "de.po").read_text()
    (tmp_path / "de.po").write_text(original.replace(SKY, 'msgid "sky"\nmsgstr ""'))
    german = Languages.load(tmp_path).choose("de")
    assert german.pgettext("section", "sky") == "sky"
    assert german.pgettext("section", "weather") == "Wetter"
