"""Write the files that are made from code and data; with --check, list those out of date.

Without NAME: all but heights and screenshots, which depend on a machine's browser and fonts.
"""

import argparse
import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
GENERATORS = (  # each after those that it reads
    "zones",
    "cities",
    "messages",
    "examples",
    "settings",
    "commands",
    "scaling",
    "picture",
    "accessibility",
)
DRAWN = ("heights", "screenshots")


def files(name: str) -> dict[Path, bytes]:
    """Return the files of a generator with the contents that they should have."""
    generator = importlib.import_module(f"scripts.generators.{name}")
    return {
        path: content if isinstance(content, bytes) else content.encode()
        for path, content in generator.files().items()
    }


def outdated(name: str) -> dict[Path, bytes]:
    """Return those files of a generator that are missing or differ."""
    return {
        path: content
        for path, content in files(name).items()
        if not path.is_file() or path.read_bytes() != content
    }


def summary(name: str) -> str:
    """Return the first line of a generator's docstring."""
    text = Path(__file__).with_name(f"{name}.py").read_text("utf-8")
    return text.removeprefix('"""').partition("\n")[0].removesuffix('"""')


def main() -> None:
    documented = "\n".join(f"  {name:14} {summary(name)}" for name in (*GENERATORS, *DRAWN))
    parser = argparse.ArgumentParser(
        prog="scripts/generate",
        description=__doc__,
        epilog=f"names:\n{documented}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if out of date")
    parser.add_argument("names", nargs="*", metavar="NAME", default=GENERATORS)
    options = parser.parse_args()
    if unknown := set(options.names) - {*GENERATORS, *DRAWN}:
        parser.error(
            f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(GENERATORS + DRAWN)}"
        )
    failed = False
    for name in options.names:
        for path, content in outdated(name).items():
            failed = True
            print(f"{'out of date' if options.check else 'written'}: {path.relative_to(ROOT)}")
            if not options.check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    if options.check and failed:
        sys.exit("Run ./scripts/generate")


if __name__ == "__main__":
    main()
