"""Header and footer of the page: where, when and in which zone; whose data and under which licence.

Each notice is given as its licence asks. The name of the source and of the licence become links
where they occur in it; a name that does not occur is put before it, a licence after it.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from location_context.gazetteer.gazetteer import Gazetteer
from location_context.localisation.formatter import Formatter
from location_context.parameters import Parameters
from location_context.point import Point, distance_km
from location_context.sections.contract import Attribution
from location_context.stay import Stay
from location_context.widget.cards import SectionResults

MAX_CITY_DISTANCE = 25.0  # km; a city farther away does not name the point


@dataclass(frozen=True, kw_only=True)
class Header:
    """What stands above the cards."""

    place: str
    dates: str
    nights: str
    zone: str


def header(
    parameters: Parameters, stay: Stay, point: Point, gazetteer: Gazetteer, fmt: Formatter
) -> Header:
    nights = stay.days - 1
    text = fmt.ngettext("{count} night", "{count} nights", nights)
    return Header(
        place=parameters.place or _place(point, gazetteer, fmt),
        dates=fmt.capitalise(fmt.dates(stay.start, stay.end)),
        nights=text.format(count=nights) if nights else "",
        zone=_zone(stay, point, fmt),
    )


def _place(point: Point, gazetteer: Gazetteer, fmt: Formatter) -> str:
    """The city around the point, else the nearest if it is close, else the coordinates."""
    if city := gazetteer.city_around(point.lat, point.lng):
        return city.name
    city = gazetteer.nearest_city(point.lat, point.lng)
    if city and distance_km(point.lat, point.lng, city.lat, city.lng) <= MAX_CITY_DISTANCE:
        return city.name
    lat, lng = fmt.number(abs(point.lat), 2), fmt.number(abs(point.lng), 2)
    north = fmt.gettext("{degrees}° N") if point.lat >= 0 else fmt.gettext("{degrees}° S")
    east = fmt.gettext("{degrees}° E") if point.lng >= 0 else fmt.gettext("{degrees}° W")
    return f"{north.format(degrees=lat)}, {east.format(degrees=lng)}"


def _zone(stay: Stay, point: Point, fmt: Formatter) -> str:
    """The time zone, and the dates of the stay on which its clocks change."""
    first = datetime.combine(stay.start, time(12), point.zone)
    text = fmt.gettext("Times are local, {zone}").format(zone=fmt.zone(first))
    offset = first.utcoffset() or timedelta()
    for day in stay.dates():
        previous = offset
        offset = datetime.combine(day, time(12), point.zone).utcoffset() or timedelta()
        if offset < previous:
            text += "; " + fmt.gettext("clocks go back on {date}").format(date=fmt.date_short(day))
        elif offset > previous:
            text += "; " + fmt.gettext("clocks go forward on {date}").format(
                date=fmt.date_short(day)
            )
    return text


@dataclass(frozen=True)
class Part:
    """A piece of text, and the address it links to."""

    text: str
    url: str | None = None


@dataclass(frozen=True, kw_only=True)
class Source:
    """A notice in pieces; `licence` only where the notice does not name it."""

    notice: Sequence[Part]
    licence: Part | None
    adapted: bool

    @property
    def ends_with_full_stop(self) -> bool:
        return "".join(part.text for part in self.notice).endswith(".")


@dataclass(frozen=True, kw_only=True)
class FooterLine:
    """The sources of one section, or without a label those that several sections share."""

    label: str
    sources: Sequence[Source]


@dataclass(frozen=True, kw_only=True)
class Footer:
    """What stands below the cards."""

    lines: Sequence[FooterLine]
    as_of: str


def footer(results: SectionResults, fmt: Formatter) -> Footer | None:
    """Every notice once: by section, and last those that several sections share."""
    by_section = {
        section: {n.text: n for body in results.bodies_of(section) for n in body.attribution}
        for section in results.by_section
    }
    uses = Counter(text for notices in by_section.values() for text in notices)
    own, shared = list[tuple[str, list[Attribution]]](), dict[str, Attribution]()
    for section, notices in by_section.items():
        label = fmt.capitalise(section.label(fmt.language))
        shared |= {text: notice for text, notice in notices.items() if uses[text] > 1}
        own.append(
            (
                fmt.gettext("{section}:").format(section=label),
                [notice for text, notice in notices.items() if uses[text] == 1],
            )
        )
    lines = [
        FooterLine(label=label, sources=[source(notice) for notice in notices])
        for label, notices in (*own, ("", list(shared.values())))
        if notices
    ]
    return Footer(lines=lines, as_of=_as_of(results, fmt)) if lines else None


def source(attribution: Attribution) -> Source:
    """The notice with links on the names in it; a name that does not occur is put first."""
    text = attribution.text.removesuffix(f", {attribution.license_url}")  # the licence links there
    if attribution.url and attribution.name not in text:
        text = f"{attribution.name}: {text}"
    name = licence = None
    if attribution.url:
        name = _last(rf"{re.escape(attribution.name)}(\.\w+)?", text)  # `Open-Meteo.com`
    if attribution.license:
        licence = _last(rf"\b{re.escape(attribution.license.removesuffix(' 1.0'))}\b", text)
    links = [
        (match, url)
        for match, url in ((name, attribution.url), (licence, attribution.license_url))
        if match
    ]
    unnamed = attribution.license if not licence else None
    return Source(
        notice=_split(text, links),
        licence=Part(unnamed, attribution.license_url) if unnamed else None,
        adapted=attribution.adapted,
    )


def _last(pattern: str, text: str) -> re.Match[str] | None:
    return next(reversed(list(re.finditer(pattern, text))), None)


def _split(text: str, links: Sequence[tuple[re.Match[str], str | None]]) -> list[Part]:
    """The text in pieces, some of them links; of two that overlap the first one is used."""
    parts, position = [], 0
    for match, url in sorted(links, key=lambda link: link[0].start()):
        if match.start() >= position:
            parts += [Part(text[position : match.start()]), Part(match[0], url)]
            position = match.end()
    return [part for part in (*parts, Part(text[position:])) if part.text]


def _as_of(results: SectionResults, fmt: Formatter) -> str:
    """When the newest of the data was true."""
    times = [body.as_of for body in results.bodies if body.as_of is not None]
    if not times:
        return ""
    return fmt.gettext("Data as of {moment} UTC.").format(
        moment=fmt.moment(max(times).astimezone(UTC))
    )
