"""Every section says of itself all that others show of it, in every language."""

from pathlib import Path
from typing import ClassVar

import pytest
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po

from location_context.localisation.language import Language, Languages
from location_context.sections import registry
from location_context.sections.section import Section
from location_context.sections.weather.section import Weather
from location_context.testing import description_problems
from scripts.generators import messages as generator
from tests.conftest import ROOT

SKY = 'msgid "sky"\nmsgstr "Himmel"'
LOCALE = ROOT / "src/location_context/localisation/locale"


def untranslated(folder: Path) -> list[str]:
    """Each message without a translation, with the file and the line that says it."""
    said = list(
        extract_from_dir(ROOT / "src", generator.METHODS, generator.OPTIONS, generator.KEYWORDS)
    )
    found = []
    for file in sorted(folder.glob("*.po")):
        with file.open("rb") as stream:
            catalogue = read_po(stream, locale=file.stem.replace("-", "_"))
        for name, line, message, _, context in said:
            entry = catalogue.get(message, context)
            forms = entry.string if entry else ""
            if not (forms if isinstance(forms, str) else all(forms)):
                found.append(f"{name}:{line}: {message!r} has no translation in {file.stem}")
    return found


def test_section_descriptions_are_complete(ci: bool) -> None:
    sections = registry.load(registry.SECTIONS, Section)
    problems = [problem for one in sections for problem in description_problems(one)]
    missing = untranslated(LOCALE)
    if missing and not ci and not problems:
        pytest.skip(f"{len(missing)} messages are shown in English until they are translated")
    assert problems + missing == []


class Unlabelled(Weather):
    """Lacks a title, a label and an example."""

    title = ""
    samples: ClassVar = {**Weather.samples, "another": {}}

    def label(self, language: Language) -> str:
        return ""


def test_missing_description_is_named_with_file_and_line(tmp_path: Path) -> None:
    problems = description_problems(Unlabelled)
    here = f"{Path(__file__)}:"
    assert problems
    assert all(one.startswith(here) for one in problems)
    said = "\n".join(problems)
    for what in ("`title` is empty", "'another' is missing in sample.json", "`label` or `summary`"):
        assert what in said
    original = (LOCALE / "de.po").read_text()
    (tmp_path / "de.po").write_text(original.replace(SKY, 'msgid "sky"\nmsgstr ""'))
    [missing] = untranslated(tmp_path)
    assert "astronomy/section.py:" in missing
    assert "'sky' has no translation in de" in missing


def test_empty_translation_falls_back_to_english(tmp_path: Path) -> None:
    original = (LOCALE / "de.po").read_text()
    (tmp_path / "de.po").write_text(original.replace(SKY, 'msgid "sky"\nmsgstr ""'))
    german = Languages.load(tmp_path).choose("de")
    assert german.pgettext("section", "sky") == "sky"
    assert german.pgettext("section", "weather") == "Wetter"
