"""Every message the code says is there in every language, whole and well formed."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po

from scripts.generators.messages import gather, updated

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "src/location_context/localisation/locale"
LANGUAGES = ("de", "fr", "es", "it", "pt", "nl", "ja", "zh-Hans", "ar")
FIELD = re.compile(r"\{(\w+)\}")


@pytest.fixture(scope="module")
def said() -> Catalog:
    """The messages in the code."""
    return gather(ROOT / "src")


def catalogue(language: str) -> Catalog:
    with (FOLDER / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language.replace("-", "_"), abort_invalid=True)


def messages(found: Catalog) -> Iterator[Message]:
    return (message for message in found if message.id)


def key(message: Message) -> tuple[object, ...]:
    return (message.id, message.context)


def forms(message: Message) -> list[str]:
    return [message.string] if isinstance(message.string, str) else list(message.string)


def test_each_language_has_a_catalogue():
    assert {file.stem for file in FOLDER.glob("*.po")} == set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_catalogue_has_exactly_the_messages_used_in_the_code(language, said):
    there = {key(message) for message in messages(catalogue(language))}
    wanted = {key(message) for message in messages(said)}
    assert wanted - there == set(), "run ./scripts/generate messages, then translate what is empty"
    assert there - wanted == set(), "run ./scripts/generate messages: these are no longer said"


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_plural_form_of_a_message_is_translated(language):
    found = catalogue(language)
    for message in messages(found):
        assert not message.fuzzy, message.id
        assert all(form.strip() for form in forms(message)), message.id
        if message.pluralizable:
            assert len(forms(message)) == found.num_plurals, message.id


@pytest.mark.parametrize("language", LANGUAGES)
def test_translation_has_the_same_placeholders_as_its_source(language):
    for message in messages(catalogue(language)):
        source = message.id if isinstance(message.id, str) else message.id[-1]
        fields = set(FIELD.findall(source))
        for number, form in enumerate(forms(message)):
            lacking = fields - set(FIELD.findall(form))
            assert set(FIELD.findall(form)) <= fields, (source, form)
            assert len(lacking) <= says_its_number(language, number), (source, form)
            form.format(**dict.fromkeys(fields, "x"))


def says_its_number(language: str, form: int) -> bool:
    """Arabic's forms for one and two are words that hold the number, as CLDR has them."""
    return language == "ar" and form in {1, 2}


SAME = {  # what is written alike in English and in these languages, besides signs and units
    "de": "in Jupiter Layout Mars Mild mild Restaurants Restaurants: Saturn Sport Status Venus "
    "Warm warm",
    "fr": "Accent Concert Documentation E-mail Festival Jupiter Latitude Longitude Mars "
    "Restaurants Sport restaurants",
    "es": "Venus",
    "it": "E-mail Layout Sport",
    "pt": "E-mail Festival Latitude Layout Longitude Status",
    "nl": "Accent Compact Concert E-mail Festival Jupiter Mars Restaurants Restaurants: Sport "
    "Status Venus Warm restaurants trackers warm in cookies,",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_translation_differs_from_the_english_source(language):
    """No English is left but words that are written alike."""
    alike = {*SAME.get(language, "").split(), "API", "N", "S", "E", "W", "h", "min"}
    for message in messages(catalogue(language)):
        source = message.id if isinstance(message.id, str) else message.id[-1]
        said = re.findall(r"[^\W\d]\S*", FIELD.sub("", source))
        if forms(message)[-1] == source:
            assert set(said) <= alike, source


MARKS = {  # marks that are typing habits of English or of typewriters
    **dict.fromkeys(LANGUAGES, r"['\"]"),
    "fr": r"['\"]|[ \u00a0][;!?]|[^\u00a0]:|\S[;!?](?<!\u202f.)",
    "ja": r"['\";,!?()]|:(?!1)|\.(?!\d)",
    "zh-Hans": r"['\";,!?()]|:(?!1)|\.(?!\d)",
    "ar": r"['\",;?]",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_translation_uses_the_punctuation_of_its_language(language):
    """Curly apostrophes; French blanks before high marks; full-width and Arabic marks."""
    for message in messages(catalogue(language)):
        for form in forms(message):
            text = FIELD.sub("x", form).replace(":1", "")
            assert not re.search(MARKS[language], text), form


@pytest.mark.parametrize("language", LANGUAGES)
def test_translation_has_no_extra_blanks(language):
    for message in messages(catalogue(language)):
        for form in forms(message):
            assert form == form.strip()
            assert "  " not in form


def test_new_messages_are_added_untranslated_and_counted(tmp_path, capsys):
    file = tmp_path / "de.po"
    file.write_text('msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "Sky"\nmsgstr "Himmel"\n')
    said = Catalog()
    for message in ("Sky", "new", ("{count} new", "{count} new ones")):
        said.add(message)
    file.write_text(updated(file, said))
    assert "de: 2 to translate" in capsys.readouterr().out
    with file.open("rb") as stream:
        stored = {message.id: message.string for message in messages(read_po(stream, locale="de"))}
    assert stored == {"Sky": "Himmel", "new": "", ("{count} new", "{count} new ones"): ("", "")}


def calls(file: Path) -> Iterator[tuple[ast.Call, bool]]:
    """Calls of gettext and its like in a file, and whether they stand inside an f-string."""
    tree = ast.parse(file.read_text("utf-8"))
    within = {id(inner) for one in ast.walk(tree) if isinstance(one, ast.JoinedStr)
              for inner in ast.walk(one)}  # fmt: skip
    for one in ast.walk(tree):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute | ast.Name):
            name = one.func.attr if isinstance(one.func, ast.Attribute) else one.func.id
            if name in {"gettext", "ngettext", "pgettext"}:
                yield one, id(one) in within


def test_messages_can_be_extracted_from_the_code():
    """A message is a literal outside f-strings, whose insides the extractor does not see."""
    for file in (ROOT / "src").rglob("*.py"):
        if file.parent.name == "localisation":
            continue
        for call, hidden in calls(file):
            assert isinstance(call.args[0], ast.Constant), (file.name, ast.unparse(call))
            assert not hidden, (file.name, ast.unparse(call))


def test_new_messages_are_appended_after_the_existing_messages(tmp_path):
    file = tmp_path / "de.po"
    file.write_bytes((FOLDER / "de.po").read_bytes())
    before = [key(message) for message in messages(catalogue("de"))]
    removed, *stored = before
    extracted = Catalog()
    new = [("{count} new thing", "{count} new things"), "Only here"]
    for name, context in [*((one, None) for one in new), *reversed(stored)]:
        extracted.add(name, context=context)
    file.write_text(updated(file, extracted), "utf-8")
    with file.open("rb") as written:
        after = [key(message) for message in messages(read_po(written, locale="de"))]
    assert after == [*stored, *((one, None) for one in new)]
    assert removed not in after
