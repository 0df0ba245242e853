"""Make the examples of the OpenAPI document anew, from real answers over stand-ins.

A test demands that the files are what this makes. Needs the test requirements.
Usage: python scripts/examples.py
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.web.examples import encoded, file_of, made  # noqa: E402  the path comes first


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = made(Path(folder))
    for name, content in files.items():
        file_of(name).write_text(encoded(content), encoding="utf-8")
        print(f"{name}: {', '.join(content)}")


if __name__ == "__main__":
    main()
