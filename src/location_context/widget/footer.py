"""Footer of the page: whose data it is, under which licence, whether changed, and from when.

Each notice stands as its licence asks. The source's name and the licence's are links where they
occur in it; what does not occur is put before and after.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from location_context.localisation.formats import Formats
from location_context.sections.contract import Attribution
from location_context.sections.section import Section
from location_context.widget.section_results import SectionResults


@dataclass(frozen=True)
class Part:
    """A piece of text, and where it leads."""

    text: str
    url: str | None = None


@dataclass(frozen=True, kw_only=True)
class Source:
    """A notice in pieces; `licence` where the notice does not name it."""

    notice: Sequence[Part]
    licence: Part | None
    adapted: bool

    @property
    def ended(self) -> bool:
        """Whether the notice is a sentence with its full stop."""
        return "".join(part.text for part in self.notice).endswith(".")


@dataclass(frozen=True, kw_only=True)
class Line:
    """The sources of one section; without a label, of several."""

    label: str
    sources: Sequence[Source]


@dataclass(frozen=True, kw_only=True)
class Footer:
    """What stands below the cards."""

    lines: Sequence[Line]
    as_of: str


def footer(results: SectionResults, words: Formats) -> Footer | None:
    """Every notice once; what several sections owe to a source stands after them all."""
    told = _told(results)
    times = Counter(text for notices in told.values() for text in notices)
    shared = {text: one for notices in told.values() for text, one in notices.items()
              if times[text] > 1}  # fmt: skip
    lines = [
        (_label(section, words), [one for text, one in notices.items() if times[text] == 1])
        for section, notices in told.items()
    ]
    shown = [
        Line(label=label, sources=[source(one) for one in notices])
        for label, notices in (*lines, ("", shared.values()))
        if notices
    ]
    return Footer(lines=shown, as_of=_as_of(results, words)) if shown else None


def _label(section: Section[Any], words: Formats) -> str:
    label = words.begun(section.label(words.language))
    return words.gettext("{section}:").format(section=label)


def _told(results: SectionResults) -> dict[Section[Any], dict[str, Attribution]]:
    """The notices of each section, by their text."""
    return {
        section: {one.text: one for body in results.bodies_of(section) for one in body.attribution}
        for section in results.by_section
    }


def source(one: Attribution) -> Source:
    """The notice with links on the names in it; a name that is not there comes first."""
    text = one.text.removesuffix(f", {one.license_url}")  # it becomes the licence's link
    if one.url and one.name not in text:
        text = f"{one.name}: {text}"
    name = _last(rf"{re.escape(one.name)}(\.\w+)?", text) if one.url else None  # `Open-Meteo.com`
    licence = None
    if one.license:
        short = re.escape(one.license.removesuffix(" 1.0"))  # `ODbL`
        licence = _last(rf"\b{short}\b", text)
    marks = [(found, url) for found, url in ((name, one.url), (licence, one.license_url)) if found]
    return Source(
        notice=_cut(text, marks),
        licence=Part(one.license, one.license_url) if one.license and not licence else None,
        adapted=one.adapted,
    )


def _last(pattern: str, text: str) -> re.Match[str] | None:
    return next(reversed(list(re.finditer(pattern, text))), None)


def _cut(text: str, marks: Sequence[tuple[re.Match[str], str | None]]) -> list[Part]:
    """The text in pieces, some of them links; of two that overlap the first stands."""
    parts, at = [], 0
    for found, url in sorted(marks, key=lambda mark: mark[0].start()):
        if found.start() >= at:
            parts += [Part(text[at : found.start()]), Part(found[0], url)]
            at = found.end()
    return [part for part in (*parts, Part(text[at:])) if part.text]


def _as_of(results: SectionResults, words: Formats) -> str:
    """When the newest of the data was true: weather's forecast, else the newest there is."""
    known = [body.as_of for body in results.bodies if body.as_of is not None]
    if not known:
        return ""
    return words.gettext("Data as of {moment} UTC.").format(
        moment=words.moment(max(known).astimezone(UTC))
    )
