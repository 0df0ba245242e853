"""Content: the parts of a widget page: header, the sections' cards, footer, or an error.

All sections are read concurrently under one deadline; each card is rendered when its section is
ready. If a stay crosses the forecast horizon, sections such as weather are read twice: for the
whole stay, and for the days within the horizon, which can be shown as a forecast.

The footer shows each notice in the words that its licence requires. The names of source and licence
become links. A source's name that the notice lacks is put before it, a licence's name after it.
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
    """The results of the sections in display order; None for a section that did not answer.

    If the stay crosses the forecast horizon (the last day with a forecast), `forecast_parts` has
    further results for the days up to it. `late` is True if missing data are still being fetched.
    """

    by_section: Mapping[Section[Any], SectionResult | None]
    forecast_parts: Mapping[Section[Any], SectionResult | None]
    late: bool = False

    def forecast_part(self, section: Section[Any]) -> Applicable | None:
        """Return the section's answer for the days within the forecast horizon, or None."""
        result = self.forecast_parts.get(section)
        return result.body if result and isinstance(result.body, Applicable) else None

    def bodies_of(self, section: Section[Any]) -> list[Applicable]:
        """Return the section's answers: for the forecast part, if any, then for the whole stay."""
        result = self.by_section[section]
        bodies = [self.forecast_part(section), result.body if result else None]
        return [body for body in bodies if isinstance(body, Applicable)]

    @property
    def bodies(self) -> list[Applicable]:
        """The applicable answers of all sections."""
        return [body for section in self.by_section for body in self.bodies_of(section)]

    @property
    def all(self) -> list[SectionResult | None]:
        """All results, with those of `forecast_parts` last; None for a missing result."""
        return [*self.by_section.values(), *self.forecast_parts.values()]


async def read(
    service: Service, cached: CachedSection, query: Query, deadline: Deadline
) -> SectionResults:
    """Read one section, and its forecast part if the stay crosses the forecast horizon."""
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
    """Combine the results of several sections, in this order, into one object."""
    by_section = dict[Section[Any], SectionResult | None]()
    forecast_parts = dict[Section[Any], SectionResult | None]()
    late = False
    for one in several:
        by_section |= one.by_section
        forecast_parts |= one.forecast_parts
        late |= one.late
    return SectionResults(by_section, forecast_parts, late)


def _forecast_part_query(query: Query, now: datetime) -> Query | None:
    """Return the query for those days of the stay that have a forecast.

    Return None if the stay need not be split: every day has a forecast, or no day has one.
    """
    stay, today = query.stay, query.point.today(now)
    if stay is None or stay.within_horizon(today) or stay.start > horizon(today):
        return None
    return replace(query, stay=Stay(stay.start, horizon(today)))


@dataclass(frozen=True)
class RenderedCard:
    """A section's card as HTML.

    Attributes:
        name: the section's name.
        icons: the names of its icons, in order.
        style: CSS that the card needs in the page's style block.
        card: its data: facts (shown in the page's header), moments (in the stay's card) and more.
    """

    name: str
    html: Markup
    icons: Sequence[str]
    style: str
    card: Card | None = None


def page_data(results: SectionResults) -> dict[str, str]:
    """Return the `data-` attributes of the page, which it sends to the builder.

    The keys are the attributes' names without `data-`, such as `weather`.
    """
    attributes = dict[str, str]()
    for section in results.by_section:
        attributes |= section.page_data(results.bodies_of(section))
    return attributes


def card(
    section: Section[Any], results: SectionResults, fmt: Formatter, now: datetime
) -> Card | None:
    """Return the section's card; None if the section has none, or after an error (logged)."""
    forecast_part = results.forecast_part(section)
    result = results.by_section[section]
    body = result.body if result else forecast_part
    if not isinstance(body, Applicable):
        return None
    try:
        return section.card(body, CardContext(fmt=fmt, now=now, forecast_part=forecast_part))
    except Exception:  # noqa: BLE001  a bug in one card must not hide the others
        structlog.get_logger().exception("card_failed", section=section.name)
        return None


@dataclass(frozen=True, kw_only=True)
class Header:
    """The texts above the cards of a widget page."""

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
    """Return a text with the time zone and the dates of the stay on which clocks change."""
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
    """A piece of a notice's text; `url` is the target if the piece is a link, else None."""

    text: str
    url: str | None = None


@dataclass(frozen=True, kw_only=True)
class Source:
    """The notice of a source of data.

    `licence` is None if the notice itself names the licence, or if there is none. `adapted` is True
    if we changed the source's data.
    """

    notice: Sequence[Part]
    licence: Part | None
    adapted: bool

    @property
    def ends_with_full_stop(self) -> bool:
        return "".join(part.text for part in self.notice).endswith(".")


@dataclass(frozen=True, kw_only=True)
class Footer:
    """The texts below the cards of a widget page.

    `lines` has the label and the notices of each section; notices that several sections share have
    an empty label. `names` is a short form: only the names of the sources, by section.
    """

    lines: Sequence[tuple[str, Sequence[Source]]]
    names: Sequence[tuple[str, Sequence[Part]]]
    updated: str


def footer(results: SectionResults, point: Point, fmt: Formatter, now: datetime) -> Footer | None:
    """Return the footer, or None without notices.

    It lists the notices of each section. A notice that several sections share is shown once, last.
    """
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
    """Return each section's label, and the names of its sources as links (each name only once)."""
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
    """Return the notice as texts and links; if it does not name the source, put the name first."""
    text = attribution.text.removesuffix(f", {attribution.license_url}")  # the link replaces it
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
    """Return the text split at the links; of two overlapping links, the first is used."""
    parts, position = [], 0
    for match, url in sorted(links, key=lambda link: link[0].start()):
        if match.start() >= position:
            parts += [Part(text[position : match.start()]), Part(match[0], url)]
            position = match.end()
    return [part for part in (*parts, Part(text[position:])) if part.text]


def _updated(results: SectionResults, point: Point, fmt: Formatter, now: datetime) -> str:
    """Return a sentence on when the newest data were updated, in the point's local time."""
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
    """The texts of an error page."""

    label: str
    sentence: str
    comment: str  # for developers; an HTML comment, so it must not contain `--`


@dataclass(frozen=True, kw_only=True)
class Content:
    """The content of a page; `whole` is the URL of the full widget, set on compact pages only.

    A page that is `late` reloads itself once, for data that are still being fetched.
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
    structured: Markup | str = ""  # the stay's events as JSON-LD
    data: Mapping[str, str] = field(default_factory=dict)  # `data-` attributes, for the builder

    @property
    def has_lone(self) -> bool:
        """True if the number of cards besides the stay's card is odd, so that one stands alone."""
        beside = [one for column in self.columns for one in column if one.name != "stay"]
        return len(beside) % 2 == 1

    @cached_property
    def columns(self) -> list[list[RenderedCard]]:
        """The cards of a full page by column; several cards fill two columns of similar height.

        Some sections, such as weather, have no card: the stay's card shows their data. It takes the
        position of the first of these sections; without any of them, it is the first card.
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
