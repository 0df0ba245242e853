"""Extract the messages from the code and update the catalogues.

New messages are appended untranslated, unused ones are removed, and the others keep their order;
`tests/test_catalogues.py` fails until all are translated.
"""

import io
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

METHODS = [("**.py", "python"), ("**.html", "jinja2")]
OPTIONS = {"**.html": {"trim_blocks": "true", "lstrip_blocks": "true", "silent": "false"}}
KEYWORDS = {"gettext": None, "ngettext": (1, 2), "pgettext": ((1, "c"), 2), "_": None}


# header fields that are empty, or that change with every run
_OMITTED_HEADERS = tuple(
    f'"{name}'
    for name in ("Project-Id", "Report-Msgid", "POT-C", "PO-R", "Last-T", "Language-T", "Gen")
)


def gather(source: Path) -> Catalog:
    """Return the messages in the code under `source`."""
    catalogue = Catalog()
    for _, _, message, _, context in extract_from_dir(source, METHODS, OPTIONS, KEYWORDS):
        catalogue.add(message, context=context)
    return catalogue


def updated(file: Path, extracted: Catalog) -> str:
    """Return the catalogue with the extracted messages; report those without a translation."""
    with file.open("rb") as stream:
        catalogue = read_po(stream)
    for message in list(catalogue):
        if message.id and extracted.get(message.id, message.context) is None:
            catalogue.delete(message.id, message.context)
    for message in extracted:
        if message.id and catalogue.get(message.id, message.context) is None:
            catalogue.add(message.id, context=message.context)
    catalogue.obsolete.clear()
    written = io.BytesIO()
    write_po(written, catalogue, width=100, omit_header=False, include_previous=False)
    lines = written.getvalue().decode().splitlines(keepends=True)
    untranslated = sum(1 for one in catalogue if one.id and not any(one.string or ()))
    if untranslated:
        print(f"{file.stem}: {untranslated} to translate")
    return "".join(line for line in lines if not line.startswith(_OMITTED_HEADERS))


def files() -> dict[Path, str]:
    source = Path(__file__).parents[2] / "src"
    extracted = gather(source)
    folder = source / "location_context" / "localisation" / "locale"
    return {path: updated(path, extracted) for path in sorted(folder.glob("*.po"))}
