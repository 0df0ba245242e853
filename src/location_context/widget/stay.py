"""Stay: the card of the stay's days, built from the facts and moments that sections offer.

A fact is a value for the whole stay, such as the range of the highs; a moment is what happens at a
time, such as a concert or a sunset.

The timeline of one section (weather) provides a row for each day. Moments of all sections are shown
in the row of their day, in this order: dangers, holidays, sky, timed events, events of several
days. Moments that a row has no space for are listed by day in a folded part. Without rows (beyond
the forecast, or without weather), the card lists the days with moments. Past days are folded into
one line. `Room` has the limits of each layout.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from location_context.localisation.formatter import Formatter
from location_context.sections.card import Card, Fact, Fold, Moment, Row, Timeline
from location_context.stay import Stay
from location_context.widget.text_width import DOT, SMALL, lines

FACTS = 4
KINDS = {"danger": 0, "holiday": 1, "sky": 2, "event": 3, "lasting": 4}
_LINES_OF_ROW, _LINES_OF_MOMENT = 2.0, 1.1


@dataclass(frozen=True, kw_only=True)
class Room:
    """The space that a layout (full or compact) has for the card of the stay's days.

    `moments` is the largest number of moments in a row, `dates` of dates in a list, `rows` of rows.
    A moment takes at most two lines of `width` px or, if `width` is 0, any number of lines.
    """

    moments: int = 2
    dates: int = 6
    rows: int = 100
    width: float = 0.0


FULL, COMPACT = Room(), Room(moments=1, dates=5, rows=7, width=178)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A moment as shown in a row; `text` begins with its date if the row has several days."""

    section: str
    moment: Moment
    text: str


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row of the card, or a date in a list, with its moments; `more` is a text like "+2 more".

    `spoken` is the row in words for screen readers; `apart` is a sentence to show above the row.
    """

    label: str
    note: str
    moments: Sequence[Shown]
    more: str
    spoken: str = ""
    row: Row | None = None
    today: bool = False
    apart: str = ""


@dataclass(frozen=True, kw_only=True)
class StayCard:
    """The card of the stay's days, as its template receives it.

    `rows` has the rows of today and later, `past` those of earlier days. If there are no rows at
    all, `dated` lists the days that have moments. `rest` has the moments without a row, and those
    for which a row or list has no space. `beyond` is a note on rows that do not fit on the card.
    """

    heading: str
    badge: str
    warning: tuple[str, str] | None
    stops: Sequence[tuple[float, str]]
    has_lead: bool
    past: Sequence[Line]
    past_label: str
    rows: Sequence[Line]
    beyond: str
    weeks: bool
    dated: Sequence[Line]
    key: str
    rest: Sequence[Line]
    rest_label: str
    folds: Sequence[Fold]

    @property
    def lines(self) -> float:
        """The approximate height of the card, in lines of text."""
        moments = sum(len(one.moments) for one in (*self.rows, *self.dated))
        lead = 8.0 if self.has_lead else 0.0
        return 5 + lead + _LINES_OF_ROW * len(self.rows) + _LINES_OF_MOMENT * moments


_Offered = tuple[str, Moment]  # the section's name and its moment


def facts(cards: Iterable[tuple[str, Card]]) -> list[tuple[str, Fact]]:
    """Return the four most important facts, each with the id of the card that shows details."""
    offered = [
        (name if card.template and card.timeline is None else "stay", fact)
        for name, card in cards
        for fact in card.facts
    ]
    return sorted(offered, key=lambda one: -one[1].weight)[:FACTS]


def joined(
    cards: Sequence[tuple[str, Card]], dates: Stay, today: date, fmt: Formatter, room: Room = FULL
) -> StayCard | None:
    """Return the stay's card, made from all `cards`; None if none has a timeline or moments."""
    timeline = next((card.timeline for _, card in cards if card.timeline), None)
    offered = [(name, moment) for name, card in cards for moment in card.moments]
    folds = [fold for _, card in cards for fold in card.folds]
    if timeline is None and not offered:
        return None
    joint = _Joint(dates, fmt, room, [])
    rows = joint.rows(timeline, offered, today) if timeline and timeline.rows else []
    past = [one for one in rows if one.row and one.row.last < today]
    ahead = rows[len(past) :]
    weeks = any(one.row and one.row.last > one.row.first and not one.row.typical for one in rows)
    most = room.rows - weeks - (bool(timeline.warning) + bool(timeline.badge) if timeline else 0)
    if len(ahead) > most:
        most -= 1  # leaves room for the line that the stay continues
    dated = [] if rows else joint.dated(offered)
    left = joint.left
    count, by_day = len(left), fmt.gettext("Your stay, day by day")
    label = fmt.ngettext("{count} more event", "{count} more events", count)
    reach = (
        (past[0].row.first, past[-1].row.last) if past and past[0].row and past[-1].row else None
    )
    return StayCard(
        heading=timeline.heading if timeline and (rows or room is FULL) else by_day,
        badge=timeline.badge if timeline else "",
        warning=timeline.warning if timeline else None,
        stops=timeline.stops if timeline else (),
        has_lead=any(card.timeline and card.template for _, card in cards),
        past=past,
        past_label=fmt.gettext("{dates}, past").format(dates=fmt.dates(*reach)) if reach else "",
        rows=ahead[:most],
        beyond=_beyond(ahead[most:], dates, fmt),
        weeks=weeks,
        dated=dated,
        key=timeline.key if timeline else "",
        rest=_listed(left, dates, fmt),
        rest_label=label.format(count=fmt.number(count)),
        folds=folds,
    )


def _beyond(rest: Sequence[Line], dates: Stay, fmt: Formatter) -> str:
    """Return a note on the rows (`rest`) that do not fit on the card; empty if all fit."""
    if not rest:
        return ""
    return fmt.gettext("Continues to {date} on the full page").format(
        date=_day(dates.end, dates, fmt)
    )


def _has_row(moment: Moment, timeline: Timeline | None) -> bool:
    rows = timeline.rows if timeline else ()
    return moment.day is not None and any(row.first <= moment.day <= row.last for row in rows)


def _rank(one: _Offered) -> tuple[int, float]:
    return KINDS[one[1].kind], -one[1].weight


@dataclass
class _Joint:
    """Assigns moments to the rows of their days; `left` collects moments without room in a row."""

    dates: Stay
    fmt: Formatter
    room: Room
    left: list[_Offered]

    def rows(self, timeline: Timeline, offered: Sequence[_Offered], today: date) -> list[Line]:
        """Return the rows of the card, each with the most important moments of its days."""
        lines, fmt = list[Line](), self.fmt
        for row in timeline.rows:
            inside = [one for one in offered if one[1].day and row.first <= one[1].day <= row.last]
            shown, more = self._weightiest(inside)
            is_today = row.first == today == row.last
            label, note = _named(row, self.dates, fmt)
            if is_today:
                note = fmt.gettext("Today")
            first = row.typical and bool(lines) and not (lines[-1].row or row).typical
            lines.append(
                Line(
                    label=label,
                    note=note,
                    moments=[self._shown(one, dated=row.first < row.last) for one in shown],
                    more=more,
                    spoken=f"{note}{fmt.comma}{row.spoken}" if note else row.spoken,
                    row=row,
                    today=is_today,
                    apart=timeline.apart if first else "",
                )
            )
        self.left += [one for one in offered if not _has_row(one[1], timeline)]
        return lines

    def dated(self, offered: Sequence[_Offered]) -> list[Line]:
        """Return a line for each date with important moments, for a card without rows."""
        by_day = defaultdict[date, list[_Offered]](list)
        for one in offered:
            if one[1].day is None:
                self.left.append(one)
            else:
                by_day[one[1].day].append(one)
        ranked = sorted(by_day, key=lambda day: (min(map(_rank, by_day[day])), day))
        lines = []
        for day in sorted(by_day):
            if day not in ranked[: self.room.dates]:
                self.left += by_day[day]
                continue
            weightiest, more = self._weightiest(by_day[day])
            shown = [self._shown(one, dated=False) for one in weightiest]
            label, note = _day(day, self.dates, self.fmt), _turn(day, self.dates, self.fmt)
            lines.append(Line(label=label, note=note, moments=shown, more=more))
        return lines

    def _weightiest(self, inside: Sequence[_Offered]) -> tuple[list[_Offered], str]:
        """Return the moments that a row can show, and a text such as "+2 more" for the others.

        The most important moments are shown; the others go to `self.left`. Moments whose title does
        not fit are omitted altogether. On compact pages or if all are shown, the text is empty.
        """
        ranked = [one for one in sorted(inside, key=_rank) if self._fits(one[1].title)]
        others = ranked[self.room.moments :]
        self.left += others
        text = self.fmt.gettext("+{count} more")
        more = text.format(count=self.fmt.number(len(others)))
        if not others or self.room is not FULL:
            more = ""
        return ranked[: self.room.moments], more

    def _fits(self, text: str) -> bool:
        return not self.room.width or len(lines(text, SMALL, self.room.width, bold=True)) <= 2

    def _shown(self, one: _Offered, *, dated: bool) -> Shown:
        """Return the moment as shown, with as many parts of its text as fit into two lines.

        If `dated`, the moment's date is the first part.
        """
        section, moment = one
        parts = moment.text.split(DOT) if moment.text else []
        if dated and moment.day:
            parts.insert(0, self.fmt.day(moment.day))
        while parts and not self._fits(f"{moment.title} {DOT.join(parts)}"):
            parts.pop()
        return Shown(section=section, moment=moment, text=DOT.join(parts))


def _named(row: Row, dates: Stay, fmt: Formatter) -> tuple[str, str]:
    """Return the label of a row (day or dates), and the note below it."""
    if row.first < row.last:
        days = (row.last - row.first).days + 1
        text = fmt.ngettext("{count} day", "{count} days", days).format(count=fmt.number(days))
        return fmt.date_range_long(row.first, row.last), text
    return fmt.day(row.first), _turn(row.first, dates, fmt)


def _turn(day: date, dates: Stay, fmt: Formatter) -> str:
    """Return `arrival` (translated) on the stay's first day, `departure` on its last, else ""."""
    if dates.start == dates.end:
        return ""
    if day == dates.start:
        return fmt.gettext("arrival")
    return fmt.gettext("departure") if day == dates.end else ""


def _listed(left: Sequence[_Offered], dates: Stay, fmt: Formatter) -> list[Line]:
    """Return the lines of the list below the days' rows, of moments that have no room in the rows.

    Each day of `left` has a line. Moments without a day, which concern the whole stay, come first.
    """
    by_day = defaultdict[date | None, list[_Offered]](list)
    for one in left:
        by_day[one[1].day].append(one)
    return [
        Line(
            label=_day(day, dates, fmt) if day else fmt.gettext("Whole stay"),
            note="",
            moments=[Shown(section=name, moment=one, text=one.text) for name, one in by_day[day]],
            more="",
        )
        for day in sorted(by_day, key=lambda day: day or date.min)
    ]


def _day(day: date, dates: Stay, fmt: Formatter) -> str:
    return fmt.day(day) if dates.days < 28 else fmt.date_short(day)
