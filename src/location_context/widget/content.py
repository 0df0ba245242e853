"""Content: the parts of a widget page: header, the sections' cards, footer, or an error.

Every section is read concurrently under one deadline, and its card rendered as it comes. For a stay
that crosses the forecast horizon, sections that split there (weather) are read twice: for the whole
stay and for the days within the horizon, which can be shown as a forecast.

Each notice in the footer follows its licence. The names of the source and of the licence become
links where they occur in it; a source that does not occur is put before it, a licence after.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from functools import cached_property, lru_cache
from typing import Any

import structlog
from markupsafe import Markup

from location_context.localisation.formatter import Formatter
from location_context.parameters import Parameters
from location_context.point import Point
from location_context.sections.cached_section import CachedSection
from location_context.sections.card import Card, CardContext, Fact
from location_context.sections.contract import Applicable, Attribution, Query, SectionResult
from location_context.sections.section import Section
from location_context.service import Service, read_all
from location_context.stay import Stay, horizon
from location_context.upstream.deadline import Deadline
from location_context.widget.stay import StayCard


@dataclass(frozen=True)
class SectionResults:
    """Results by section in display order, None for a section without an answer.

    `forecast_parts` are those for the days within the horizon when the stay crosses it. `late` is
    true while something that is missing is on its way.
    """

    by_section: Mapping[Section[Any], SectionResult | None]
    forecast_parts: Mapping[Section[Any], SectionResult | None]
    late: bool = False

    def forecast_part(self, section: Section[Any]) -> Applicable | None:
        """Return the section's answer for the days within the horizon, if it was read for them."""
        result = self.forecast_parts.get(section)
        return result.body if result and isinstance(result.body, Applicable) else None

    def bodies_of(self, section: Section[Any]) -> list[Applicable]:
        """Return the section's applicable answers, the forecast part first."""
        result = self.by_section[section]
        bodies = [self.forecast_part(section), result.body if result else None]
        return [body for body in bodies if isinstance(body, Applicable)]

    @property
    def bodies(self) -> list[Applicable]:
        """The applicable answers of all sections."""
        return [body for section in self.by_section for body in self.bodies_of(section)]

    @property
    def all(self) -> list[SectionResult | None]:
        """Every result, those of forecast parts last; None for one that is missing."""
        return [*self.by_section.values(), *self.forecast_parts.values()]

    def digests_of(self, section: Section[Any]) -> tuple[str | None, ...] | None:
        """Return the digests of the section's results; None if its card changes by the hour.

        A card of stale results says how old they are.
        """
        if any(body.stale for body in self.bodies_of(section)):
            return None
        results = (self.by_section[section], self.forecast_parts.get(section))
        return tuple(result.digest if result else None for result in results)


async def read(
    service: Service, cached: CachedSection, query: Query, deadline: Deadline
) -> SectionResults:
    """Read one section, with the forecast part of a stay that crosses the horizon."""
    splits = cached.section.splits_at_horizon
    part_query = _forecast_part_query(query, service.clock()) if splits else None
    split = [cached] if part_query else []
    whole, parts = await asyncio.gather(
        read_all([cached], query, deadline), read_all(split, part_query or query, deadline)
    )
    found = (whole[cached.name], *parts.values())
    late = cached.is_reading(query) if None in found else False
    return SectionResults(
        {cached.section: whole[cached.name]},
        {one.section: parts[one.name] for one in split},
        late or any(one.is_late for one in found if one),
    )


def joined(several: Iterable[SectionResults]) -> SectionResults:
    """Return the results of all sections, in this order."""
    by_section = dict[Section[Any], SectionResult | None]()
    forecast_parts = dict[Section[Any], SectionResult | None]()
    late = False
    for one in several:
        by_section |= one.by_section
        forecast_parts |= one.forecast_parts
        late |= one.late
    return SectionResults(by_section, forecast_parts, late)


def _forecast_part_query(query: Query, now: datetime) -> Query | None:
    """Return the query for the days within the horizon if other days of the stay lie beyond it."""
    stay, today = query.stay, query.point.today(now)
    if stay is None or stay.within_horizon(today) or stay.start > horizon(today):
        return None
    return replace(query, stay=Stay(stay.start, horizon(today)))


@dataclass(frozen=True)
class RenderedCard:
    """A section's card as it stands on a page.

    Attributes:
        name: of the section.
        icons: the names of those in it, in order.
        style: its part of the page's style block.
        card: its further offers.
    """

    name: str
    html: Markup
    icons: Sequence[str]
    style: str
    card: Card | None = None


def page_data(results: SectionResults) -> dict[str, str]:
    """Return the `data-` attributes of the page, from every section."""
    attributes = dict[str, str]()
    for section in results.by_section:
        attributes |= section.page_data(results.bodies_of(section))
    return attributes


def card(
    section: Section[Any], results: SectionResults, fmt: Formatter, now: datetime
) -> Card | None:
    """Return the section's card; None if it has none or fails, so that others are still shown."""
    forecast_part = results.forecast_part(section)
    result = results.by_section[section]
    body = result.body if result else forecast_part
    if not isinstance(body, Applicable):
        return None
    try:
        return section.card(body, CardContext(fmt=fmt, now=now, forecast_part=forecast_part))
    except Exception:  # noqa: BLE001  one broken card must not blank the guest's page
        structlog.get_logger().exception("card_failed", section=section.name)
        return None


@dataclass(frozen=True, kw_only=True)
class Header:
    """The part above the cards."""

    place: str
    dates: str
    nights: str
    zone: str


def header(parameters: Parameters, stay: Stay, point: Point, fmt: Formatter) -> Header:
    nights = stay.days - 1
    text = fmt.ngettext("{count} night", "{count} nights", nights)
    return Header(
        place=parameters.place or point.place or _coordinates(point, fmt),
        dates=fmt.capitalise(fmt.dates(stay.start, stay.end)),
        nights=text.format(count=nights) if nights else "",
        zone=_zone(stay, point, fmt),
    )


def _coordinates(point: Point, fmt: Formatter) -> str:
    lat, lng = fmt.number(abs(point.lat), 2), fmt.number(abs(point.lng), 2)
    north = fmt.gettext("{degrees}° N") if point.lat >= 0 else fmt.gettext("{degrees}° S")
    east = fmt.gettext("{degrees}° E") if point.lng >= 0 else fmt.gettext("{degrees}° W")
    return f"{north.format(degrees=lat)}, {east.format(degrees=lng)}"


def _zone(stay: Stay, point: Point, fmt: Formatter) -> str:
    """Return the time zone, and the dates of the stay on which its clocks change."""
    first = datetime.combine(stay.start, time(12), point.zone)
    text = fmt.gettext("Local times, {zone}").format(zone=fmt.zone(first))
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
class Footer:
    """The part below the cards.

    `lines` are label and sources of each section; without a label, those that several share.
    `names` are the owners of the data, in short, by section.
    """

    lines: Sequence[tuple[str, Sequence[Source]]]
    names: Sequence[tuple[str, Sequence[Part]]]
    updated: str


def footer(results: SectionResults, point: Point, fmt: Formatter, now: datetime) -> Footer | None:
    """Return every notice once, by section; notices shared by several sections come last."""
    by_section = {
        section: {n.text: n for body in results.bodies_of(section) for n in body.attribution}
        for section in results.by_section
    }
    uses = Counter(text for notices in by_section.values() for text in notices)
    lines, shared = list[tuple[str, list[Source]]](), dict[str, Source]()
    for section, notices in by_section.items():
        sources = {text: source(notice) for text, notice in notices.items()}
        shared |= {text: one for text, one in sources.items() if uses[text] > 1}
        own = [one for text, one in sources.items() if uses[text] == 1]
        label = fmt.capitalise(section.label(fmt.language))
        lines.append((fmt.gettext("{section}:").format(section=label), own))
    lines = [(label, sources) for label, sources in (*lines, ("", [*shared.values()])) if sources]
    updated = _updated(results, point, fmt, now)
    return Footer(lines=lines, names=_names(by_section, fmt), updated=updated) if lines else None


def _names(
    by_section: Mapping[Section[Any], Mapping[str, Attribution]], fmt: Formatter
) -> list[tuple[str, list[Part]]]:
    """Return each name once, with its link; the whole notices are a click away."""
    seen, names = set[str](), list[tuple[str, list[Part]]]()
    for section, notices in by_section.items():
        parts = {
            part.text: part
            for one in notices.values()
            if (part := Part(one.name, one.url)).text not in seen
        }
        seen |= set(parts)
        if parts:
            label = fmt.capitalise(section.label(fmt.language))
            names.append((label, [*parts.values()]))
    return names


@lru_cache(maxsize=256)
def source(attribution: Attribution) -> Source:
    """Return the notice with links on its names; a name that does not occur is put first."""
    text = attribution.text.removesuffix(f", {attribution.license_url}")  # the licence links there
    if attribution.url and attribution.name not in text:
        text = f"{attribution.name}: {text}"
    name = licence = None
    if attribution.url:
        name = _last(rf"{re.escape(attribution.name)}(\.\w+)?", text)  # `Open-Meteo.com`
    if attribution.license:
        licence = _last(rf"\b{re.escape(attribution.license.removesuffix(' 1.0'))}\b", text)
    links = ((name, attribution.url), (licence, attribution.license_url))
    unnamed = attribution.license if not licence else None
    return Source(
        notice=_split(text, [(match, url) for match, url in links if match]),
        licence=Part(unnamed, attribution.license_url) if unnamed else None,
        adapted=attribution.adapted,
    )


def _last(pattern: str, text: str) -> re.Match[str] | None:
    return next(reversed(list(re.finditer(pattern, text))), None)


def _split(text: str, links: Sequence[tuple[re.Match[str], str | None]]) -> list[Part]:
    """Return the text in pieces, some of them links; of two that overlap the first is used."""
    parts, position = [], 0
    for match, url in sorted(links, key=lambda link: link[0].start()):
        if match.start() >= position:
            parts += [Part(text[position : match.start()]), Part(match[0], url)]
            position = match.end()
    return [part for part in (*parts, Part(text[position:])) if part.text]


def _updated(results: SectionResults, point: Point, fmt: Formatter, now: datetime) -> str:
    """Return when the newest data were renewed, by the point's clock."""
    times = [
        section.updated_at(body)
        for section in results.by_section
        for body in results.bodies_of(section)
    ]
    newest = max((time for time in times if time is not None), default=None)
    if newest is None:
        return ""
    newest = newest.astimezone(point.zone)
    if newest.date() == point.today(now):
        return fmt.gettext("Updated today, {time}").format(time=fmt.time(newest))
    return fmt.gettext("Updated {moment}").format(moment=fmt.moment(newest))


@dataclass(frozen=True, kw_only=True)
class ErrorView:
    """An error, for the one card of an error page."""

    label: str
    sentence: str
    comment: str  # for developers; holds no `--`


@dataclass(frozen=True, kw_only=True)
class Content:
    """The content of a page; `whole` is the address of the full widget, for a compact one.

    A page that is `late` reloads itself once for data on their way.
    """

    title: str
    header: Header | None = None
    facts: Sequence[tuple[str, Fact]] = ()
    stay: StayCard | None = None
    cards: Sequence[RenderedCard] = ()
    whole: str = ""
    late: bool = False
    sentence: str = ""
    footer: Footer | None = None
    problem: ErrorView | None = None
    discovery: Markup | str = ""
    calendar: str = ""  # the address of the stay's events as a calendar
    structured: Markup | str = ""  # the same as JSON-LD
    data: Mapping[str, str] = field(default_factory=dict)  # for a parent page that requests them

    @property
    def has_lone(self) -> bool:
        """True if cards are in two columns and one card has no neighbour."""
        beside = [one for column in self.columns for one in column if one.name != "stay"]
        return len(beside) % 2 == 1

    @cached_property
    def columns(self) -> list[list[RenderedCard]]:
        """The cards of a full page by column, two where there are several, as even as can be.

        The stay's card stands where the first section stands that is shown in it alone.
        """
        own = [bool(one.card and one.card.template and not one.card.timeline) for one in self.cards]
        shown = [one for one, alone in zip(self.cards, own, strict=True) if alone]
        heights = [one.card.lines if one.card else 0.0 for one in shown]
        if self.stay:
            at = own.index(False) if False in own else 0
            shown.insert(at, RenderedCard("stay", Markup(""), (), ""))
            heights.insert(at, self.stay.lines)
        if len(shown) < 2:
            return [shown] if shown else []
        cut = min(range(1, len(shown)), key=lambda n: max(sum(heights[:n]), sum(heights[n:])))
        return [shown[:cut], shown[cut:]]
