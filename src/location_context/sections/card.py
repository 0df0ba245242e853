"""Card: a section's part of the widget before it is drawn.

A card has facts, which the page shows at its top, and moments (things that happen on a day), which
the page shows in its list of days. The page joins the facts and moments of all cards. Only the
weather's card has a `Timeline`: the rows of the list of days. The page can also show a card as a
block of its own, drawn by the section's template or by the widget's plain template. The compact
page and the static card show the same facts and days, and each section's `Brief`: two sentences or
a few lines.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

from location_context.localisation.formatter import Formatter
from location_context.sections import contract


@dataclass(frozen=True, kw_only=True)
class CardContext:
    """The inputs for drawing a card.

    Attributes:
        fmt: words, numbers and dates in the visitor's language.
        now: the current time.
        forecast_part: the answer for the days up to the forecast's horizon. It is None unless the
            stay extends beyond the horizon and the section sets `splits_at_horizon`.
    """

    fmt: Formatter
    now: datetime
    forecast_part: contract.Applicable | None = None

    def today(self, zone: str) -> date:
        """Return the current date in a time zone, such as a body's `point.timezone`."""
        return self.now.astimezone(ZoneInfo(zone)).date()


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A value that guests look for first, such as the temperatures or the nearest restaurant.

    The page shows the four facts with the highest weights.

    Attributes:
        value: a few words or a number, such as `13–16°`.
        caption: the meaning of `value`, such as `by day, 5–8° at night`.
        icon: one of the widget's icons (`widget/icons`).
        tone: the name of the icon's colour.
        weight: 100 for the days' highs, 90 for rain, 80 for a public holiday, 70 for a rare sight
            in the sky, 60 for a sun that does not rise or set, 50 for the nearest restaurant, 40
            for sunset.
    """

    value: str
    caption: str
    icon: str = ""
    tone: Literal["accent", "rain", "sun", "dusk"] = "accent"
    weight: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Moment:
    """Something that happens on a day or lasts the whole stay, such as a concert.

    A day's row on the page shows at most two moments. Other moments are in a list below the rows.

    Attributes:
        day: the local date (for a night, the date of its evening); None if it lasts the whole stay.
        title, text: its name, and details in a muted colour, such as `20:00 · Kursaal`.
        icon: one of the widget's icons (`widget/icons`).
        url: a page about it, http or https; empty for none.
        id: the moment's identifier, sent to the embedding page when a guest follows the link.
        kind: moments are sorted by kind, then by weight. Dangers come first, then holidays, the
            sky, events, and last `lasting` (events of several days).
        weight: the order within a kind; the highest comes first.
    """

    day: date | None
    title: str
    text: str = ""
    icon: str = ""
    url: str = ""
    id: str = ""
    kind: Literal["danger", "holiday", "sky", "event", "lasting"] = "event"
    weight: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An event, or something to see in the sky, for the guest's calendar and for search engines.

    Attributes:
        id: the entry's identifier in its section, the same in every language and for every stay.
        start, end: local dates, the last one included, or exact times; `end` is None if unknown.
        text: details, such as `Concert · from €45`.
        place: the venue, with its address where known; empty if there is none.
        position: the venue's latitude and longitude.
        url: a page about it, http or https.
        settled: False if the date may still change.
        price: the lowest and highest price and the currency, each None if unknown.
    """

    id: str
    title: str
    start: date | datetime
    end: date | datetime | None = None
    text: str = ""
    place: str = ""
    position: tuple[float, float] | None = None
    url: str = ""
    settled: bool = True
    price: tuple[float | None, float | None, str | None] | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """The weather of one day of the stay, or of consecutive days that share a row.

    Attributes:
        spoken: the whole row as a sentence, for screen readers.
        span: the positions of four temperatures on the drawn scale, from 0 to 100: the low, the
            10th percentile of the high, the high, the 90th percentile of the high; None if unknown.
        rain, amount: the chance of rain in words, and the amount of rain.
        wet: how the text on rain is shown: 0 is plain, 1 in colour, 2 in bold.
        typical: True if the row shows typical values and other rows show a forecast.
    """

    first: date
    last: date
    spoken: str
    icon: str = ""
    low: str = ""
    high: str = ""
    span: tuple[float, float, float, float] | None = None
    rain: str = ""
    amount: str = ""
    wet: int = 0
    typical: bool = False


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """The rows of the stay's days; the page adds each section's moments to the row of their day.

    Attributes:
        badge: a label that says which values are typical, or that the forecast is stale; or empty.
        warning: the title of the worst danger, and a note on it.
        stops: the colour scale that all rows share, as pairs of position in per cent and colour.
        key: the legend that explains the drawing in each row.
        apart: the sentence above the first row with typical values.
    """

    heading: str
    badge: str = ""
    warning: tuple[str, str] | None = None
    rows: Sequence[Row] = ()
    stops: Sequence[tuple[float, str]] = ()
    key: str = ""
    apart: str = ""


@dataclass(frozen=True, kw_only=True)
class Fold:
    """A detail that few readers need, shown after a click: a label and sentences."""

    label: str
    sentences: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class BriefItem:
    """A line of a `Brief` about a thing with a name, such as a restaurant.

    Attributes:
        name: the name of the thing.
        note: a note in a muted colour; left out where there is no room.
        url: a page about it, http or https; empty for none.
        icon, icons: one of the widget's icons (`widget/icons`), and how many times it is drawn.
        spoken: the meaning of the icon, for screen readers.
        end, end_icon: a few words at the end of the line, such as `12 min`, and their icon.
        end_spoken: the meaning of `end` and `end_icon` in words, such as `12 min on foot`.
    """

    name: str
    note: str = ""
    url: str = ""
    icon: str = ""
    icons: int = 1
    spoken: str = ""
    end: str = ""
    end_icon: str = ""
    end_spoken: str = ""


@dataclass(frozen=True, kw_only=True)
class Brief:
    """A section's text on the compact page and the static card, besides its facts and moments.

    Attributes:
        heading: a word or two, for screen readers.
        lead: one sentence for the guest.
        remark: a sentence below `lead`, in a muted colour.
        drawing: SVG shapes to show beside the sentences, in the view box `-16 -16 32 32`.
        items: lines on things with a name, such as restaurants, in the order shown.
    """

    heading: str
    lead: str = ""
    remark: str = ""
    drawing: str = ""
    items: Sequence[BriefItem] = ()


@dataclass(frozen=True, kw_only=True)
class Card:
    """A section's part of the widget.

    Attributes:
        template: the Jinja template as `package:path`, such as `my_package:tides/card.html`; empty
            if the section has no block of its own on the page. It is rendered with `card` (the
            view), `one.name` (the section's name; the card's heading has the id `h-<name>`), `fmt`,
            `icon`, `link` and `_`. On a card with a timeline it is drawn above the rows.
        view: the template's input.
        style: CSS rules, added to the page's style block; the page forbids `style` attributes.
        lines: the card's height in lines of text, which the page needs to arrange its columns.
        facts, moments, folds: the page joins those of all sections. Folds open after a click.
        timeline: the rows of the days; if several cards have a timeline, the page shows the first.
        brief: the text for the compact page and the static card, or None.
    """

    template: str = ""
    view: Any = None
    style: str = ""
    lines: float = 6.0
    facts: Sequence[Fact] = ()
    moments: Sequence[Moment] = ()
    folds: Sequence[Fold] = ()
    timeline: Timeline | None = None
    brief: Brief | None = None


@dataclass(frozen=True, kw_only=True)
class PlainCard:
    """A heading, a sentence and facts: the view of a card that the widget's plain template draws.

    Attributes:
        heading: the title of the card.
        lead: one sentence for the guest; empty for none.
        facts: pairs of a label, in a muted colour, and a value.
    """

    heading: str
    lead: str = ""
    facts: Sequence[tuple[str, str]] = ()

    def card(self) -> Card:
        """Return a card that this package's plain template draws."""
        items = [BriefItem(name=value, note=label) for label, value in self.facts]
        brief = Brief(heading=self.heading, lead=self.lead, items=items)
        return Card(template="location_context.widget:plain_card.html", view=self, brief=brief)


def facts(body: contract.Applicable) -> list[tuple[str, str]]:
    """Return (label, value) of each text or number in a body, without the fields of `Applicable`.

    The stay and unknown values are left out too.
    """
    known = {*contract.Applicable.__struct_fields__, "stay"}
    own = [name for name in type(body).__struct_fields__ if name not in known]
    return [
        (
            name.replace("_", " ").capitalize(),
            f"{value:g}" if isinstance(value, float) else str(value),
        )
        for name in own
        if isinstance(value := getattr(body, name), str | int | float) and value != ""
    ]
