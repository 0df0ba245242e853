"""The code in docs/embedding.md, for tests that run it as it stands there."""

import re
from dataclasses import dataclass

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "embedding.md").read_text("utf-8")
ADDRESS = "https://your.host"


@dataclass(frozen=True)
class Row:
    """A row of the table of what breaks the widget, as Markdown."""

    seen: str
    cause: str
    mend: str


def sections() -> dict[str, str]:
    """The text under each heading."""
    parts = re.split(r"^##+ (.+)$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def blocks() -> dict[str, list[str]]:
    """The code blocks under each heading that has some."""
    found = {
        heading: re.findall(r"^```\w+\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        for heading, text in sections().items()
    }
    return {heading: codes for heading, codes in found.items() if codes}


def code(heading: str, service: str) -> str:
    """The one code block under a heading, with the address of a running service."""
    (block,) = blocks()[heading]
    return block.replace(ADDRESS, service)


def snippet(service: str) -> tuple[str, str]:
    """The two lines for plain HTML: the iframe and the script."""
    frame, _, script = code("Plain HTML", service).partition("<script")
    return frame, f"<script{script}"


def as_tall(frame: str, height: int) -> str:
    """Line 1 with this height at any width."""
    return re.sub(r'(?<= height=")\d+', f"{height}", re.sub(r";height:max\([^\"]+", "", frame))


def breakages() -> list[Row]:
    """The rows of the table of what breaks the widget."""
    lines = re.findall(r"^\| (.+) \|$", sections()["What breaks it"], re.MULTILINE)
    rows = [Row(*re.split(r" \| ", line)) for line in lines]
    assert rows[0] == Row("You see", "Cause", "Fix")
    return rows[1:]


def quoted(text: str) -> list[str]:
    """The pieces of code in a sentence."""
    return re.findall(r"`([^`]+)`", text)
