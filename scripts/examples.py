"""Make the examples of the OpenAPI document anew, from real answers over stand-ins.

A test demands that the files are what this makes. Needs the test requirements.
Usage: python scripts/examples.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.web.examples import encoded, made  # noqa: E402  the path comes first

FOLDER = ROOT / "src" / "location_context" / "web" / "examples"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = made(Path(folder))
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.json"):
        old.unlink()
    for name, content in files.items():
        (FOLDER / f"{name}.json").write_text(encoded(content), encoding="utf-8")
        print(f"{name}: {', '.join(content)}")


if __name__ == "__main__":
    main()
