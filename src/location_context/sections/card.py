"""Card: a section's part of the widget, whole or brief, before it is drawn.

A card has a template of its own or the plain one. A `Brief` has no template: the compact layout and
the static card draw it, each in its own way, from a sentence, a row of columns and a few items.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from location_context.localisation.formatter import Formatter
from location_context.sections import contract


@dataclass(frozen=True, kw_only=True)
class CardContext:
    """What a card is drawn with.

    Attributes:
        fmt: words, numbers and dates in the visitor's language.
        now: the current time.
        forecast_part: the answer for the days within the forecast's horizon, where the stay
            reaches over it and the section `splits_at_horizon`.
    """

    fmt: Formatter
    now: datetime
    forecast_part: contract.Applicable | None = None


@dataclass(frozen=True, kw_only=True)
class Card:
    """A section's part of the widget.

    Attributes:
        template: the Jinja template as `package:path`, such as `my_package:tides/card.html`. It is
            rendered with `card` (the view), `one.name` (the section's name; the card's heading has
            the id `h-<name>`), `fmt`, `icon`, `link` and `_`.
        view: what the template shows.
        style: custom properties for the page's style block; there are no `style` attributes.
    """

    template: str
    view: Any
    style: str = ""


@dataclass(frozen=True, kw_only=True)
class PlainCard:
    """The view of the card for sections without a template: a heading, a sentence and facts.

    Attributes:
        heading: the title of the card.
        lead: one sentence for the guest; empty for none.
        facts: pairs of a quiet label and what it says.
    """

    heading: str
    lead: str = ""
    facts: Sequence[tuple[str, str]] = ()

    def card(self) -> Card:
        """The card with the template of this package."""
        return Card(template="location_context.widget:plain_card.html", view=self)


@dataclass(frozen=True, kw_only=True)
class BriefColumn:
    """A step of the stay in the row of a brief: a day, a week, a month.

    Attributes:
        label: what stands above, such as `Sat 7`; it may take two lines.
        spoken: all of it as a sentence, for those who listen.
        icon: one of the widget's icons (`widget/icons`), empty for none.
        value: the number that counts, such as the high.
        quiet: what stands below it in turn: an icon, or none, and a text.
        usual: whether it shows what is usual, beside columns that show a forecast.
    """

    label: str
    spoken: str
    icon: str = ""
    value: str = ""
    quiet: Sequence[tuple[str, str]] = ()
    usual: bool = False


@dataclass(frozen=True, kw_only=True)
class BriefItem:
    """Something with a name, such as a restaurant.

    Attributes:
        name: what it is called.
        details: what is known of it, quiet, the most important first: those that fit are shown.
        url: a page about it, http or https; empty for none.
        icon: one of the widget's icons (`widget/icons`), empty for none.
        icons: how often the icon stands, such as three stars.
        spoken: what the icon says, for those who listen.
        weight: where there is not room for all, those of the least weight are left out; of equal
            ones the last.
    """

    name: str
    details: Sequence[str] = ()
    url: str = ""
    icon: str = ""
    icons: int = 1
    spoken: str = ""
    weight: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Brief:
    """What a section says where there is little room.

    Attributes:
        heading: the title, a word or two.
        note: beside it, quiet: what kind of data it is, or how many there are in all.
        lead: one sentence for the guest; empty where the items say it.
        remark: a quiet sentence below it, such as how sure the numbers are.
        columns: at most eight, side by side.
        caption: what the columns are, where that is not plain.
        items: in the order in which they are read.
    """

    heading: str
    note: str = ""
    lead: str = ""
    remark: str = ""
    columns: Sequence[BriefColumn] = ()
    caption: str = ""
    items: Sequence[BriefItem] = ()

    @property
    def is_list(self) -> bool:
        """Whether it is items alone, which stand beside those of another one."""
        return bool(self.items) and not (self.lead or self.columns)

    @classmethod
    def of_card(cls, heading: str, card: Card | None, body: contract.Applicable) -> Self:
        """What a card says: of a plain one all, of another its view's `lead`, else plain fields."""
        view = card.view if card else None
        if isinstance(view, PlainCard):
            heading, lead, pairs = view.heading, view.lead, view.facts
        else:
            said = getattr(view, "lead", "")
            lead = said if isinstance(said, str) else ""
            pairs = () if lead else facts(body)
        items = [BriefItem(name=value, details=[label]) for label, value in pairs]
        return cls(heading=heading, lead=lead, items=items)


def facts(body: contract.Applicable) -> list[tuple[str, str]]:
    """The body's own plain fields with their values; what is unknown is left out."""
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
