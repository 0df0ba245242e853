"""Gather every message the code says and bring the catalogues up to date.

New messages come in untranslated and what is no longer said goes; `tests/test_catalogues.py` fails
until every message is translated. Usage: python scripts/messages.py
"""

from __future__ import annotations

import io
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

METHODS = [("**.py", "python"), ("**.html", "jinja2")]
OPTIONS = {"**.html": {"trim_blocks": "true", "lstrip_blocks": "true", "silent": "false"}}
KEYWORDS = {"gettext": None, "ngettext": (1, 2), "pgettext": ((1, "c"), 2), "_": None}


# header fields that nobody fills in, or that change with every run
_UNTRUE = tuple(
    f'"{name}'
    for name in ("Project-Id", "Report-Msgid", "POT-C", "PO-R", "Last-T", "Language-T", "Gen")
)


def gather(source: Path) -> Catalog:
    """What the code under `source` says."""
    catalogue = Catalog()
    for _, _, message, _, context in extract_from_dir(source, METHODS, OPTIONS, KEYWORDS):
        catalogue.add(message, context=context)
    return catalogue


def update(file: Path, said: Catalog) -> int:
    """Write the catalogue anew; how many messages it lacks."""
    with file.open("rb") as stream:
        known = read_po(stream)
    known.update(said, no_fuzzy_matching=True)
    known.obsolete.clear()
    written = io.BytesIO()
    write_po(written, known, width=100, omit_header=False, include_previous=False)
    lines = written.getvalue().decode().splitlines(keepends=True)
    file.write_text("".join(one for one in lines if not one.startswith(_UNTRUE)), "utf-8")
    return sum(1 for message in known if message.id and not any(message.string or ()))


if __name__ == "__main__":
    root = Path(__file__).parents[1]
    everything = gather(root / "src")
    for path in sorted((root / "src/location_context/localisation/locale").glob("*.po")):
        print(f"{path.stem}: {update(path, everything)} to translate")
