"""The card of the section `year`: a chart with a column for each month.

A column is a bar from the month's typical low to its typical high. All bars share one scale; their
colours show the temperature. Below each bar, a small bar and a number show the wet days,
or the rain if only that is known. Comfortable months have a tinted background and a bold name.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from location_context.localisation.formatter import Formatter
from location_context.sections.card import Brief, Card
from location_context.sections.weather.card import Scale
from location_context.sections.weather.year.response import TypicalMonth, TypicalYear

TEMPLATE = "location_context.sections.weather.year:card.html"
TOP, BOTTOM, TALLEST = 20, 116, 32  # px: the ends of the scale, and a month with all days wet
LEAST = 15  # kelvin: smallest span of the scale, so that a steady climate looks steady
SHORT = 5  # characters of a month's name that fit into a column
STYLE = (
    ".yr{container-type:inline-size;margin-top:8px}"
    ".yr ol{display:grid;grid-template-columns:repeat(12,1fr);gap:1px}"
    ".yr li{position:relative;border-radius:6px}.yr svg{width:100%;height:202px}"
    ".yr line{stroke:url(#ty);stroke-width:9;stroke-linecap:round}"
    ".yr .o{opacity:.28}.yr rect{fill:var(--rain)}.yr .g{stroke:var(--line);stroke-width:1}"
    ".yr text{font-size:12px;text-anchor:middle;fill:var(--ink2)}.yr .r{fill:var(--rain)}"
    ".yr .h{fill:var(--ink);font-weight:650}.yr .w{display:none}"
    ".yr .ok{background:var(--tint)}.yr .ok .m{fill:var(--accent);font-weight:650}"
    "@container (min-width:24rem){.yr .w{display:block}.yr .n{display:none}}"
    "@container (max-width:18rem){.yr text{font-size:10px}.yr line{stroke-width:7}}"
    "@media (forced-colors:active){.yr line{stroke:CanvasText}.yr text,.yr rect{fill:CanvasText}"
    ".yr .ok{outline:1px solid}}@media print{.yr .ok{print-color-adjust:exact}}"
)


def card(body: TypicalYear, fmt: Formatter) -> Card:
    """Return the card with the chart, and the sentences that replace the chart on small pages."""
    brief = Brief(heading=fmt.gettext("When to go"), lead=body.sentence, remark=body.comfort_rule)
    return Card(template=TEMPLATE, view=View(body, fmt), style=STYLE, lines=17, brief=brief)


@dataclass(frozen=True)
class View:
    """The data for the card's template; if `body.years` is empty, only monthly means are known."""

    body: TypicalYear
    fmt: Formatter

    @property
    def badge(self) -> str:
        if not self.body.years:
            return self.fmt.gettext("Monthly average")
        return self.fmt.gettext("Typical · {years}").format(years=self.fmt.years(self.body.years))

    @cached_property
    def scale(self) -> Scale:
        names = ("temperature_min_p10", "temperature_mean", "temperature_max_p90")
        found = [getattr(month, name) for month in self.body.months for name in names]
        known = [value for value in found if value is not None]
        fahrenheit = self.body.units.temperature == "°F"
        spare = max(LEAST * (1.8 if fahrenheit else 1) - max(known) + min(known), 0) / 2
        return Scale(low=min(known) - spare, high=max(known) + spare, fahrenheit=fahrenheit)

    def at(self, value: float) -> float:
        """Return the position of a temperature in the chart, in px from the top."""
        return round(BOTTOM - (BOTTOM - TOP) * self.scale.share(value) / 100, 1)

    def columns(self) -> Iterable[tuple[TypicalMonth, tuple[str, str]]]:
        """Return each month with its initial, for narrow pages, and a short name, for wide ones.

        If a short name is too long for a column, initials replace all short names.
        """
        days = [date(2027, month.month, 1) for month in self.body.months]
        letters, short = ([*map(name, days)] for name in (self.fmt.month_narrow, self.fmt.month))
        names = short if len(max(short, key=len)) <= SHORT else letters
        return zip(self.body.months, zip(letters, names, strict=True), strict=True)

    def rain(self, month: TypicalMonth) -> tuple[str, float]:
        """Return a month's wet days as text, and the height in px of the bar that shows them.

        If only monthly means are known, the amount of rain replaces the wet days.
        """
        value, most, digits = month.wet_days, 31.0, 0
        if not self.body.years:
            value, digits = month.precipitation_total, int(self.body.units.precipitation != "mm")
            most = max(one.precipitation_total or 0 for one in self.body.months) or 1
        if value is None:
            return "", 0
        return self.fmt.number(value, digits), round(TALLEST * value / most, 1)

    def spoken(self, month: TypicalMonth) -> str:
        """Return a month's values as one sentence, for screen readers."""
        fmt = self.fmt
        high, low = fmt.gettext("high {temperature}"), fmt.gettext("low {temperature}")
        mean = fmt.gettext("{temperature} on average, day and night")
        named = [(high, month.temperature_max), (low, month.temperature_min)]
        if not self.body.years:
            named = [(mean, month.temperature_mean)]
        facts = [
            one.format(temperature=fmt.temperature(value))
            for one, value in named
            if value is not None
        ]
        if month.wet_days is not None:
            text = fmt.ngettext("{count} wet day", "{count} wet days", round(month.wet_days))
            facts.append(text.format(count=fmt.number(month.wet_days)))
        facts += [fmt.gettext("comfortable")] if month.comfortable else []
        said = fmt.gettext("{date}: {facts}.")
        return said.format(date=_name(month, fmt), facts=fmt.join_list(facts))

    @property
    def notes(self) -> Sequence[str]:
        """Sentences below the chart: the rule of comfort, a legend, and the hours of daylight."""
        fmt, body, unit = self.fmt, self.body, self.body.units.precipitation
        key: str = fmt.gettext(
            "Bars: typical low to high; one day in ten goes beyond a faded end. Blue: wet days."
        )
        if not body.years:
            first = fmt.measure(body.months[0].precipitation_total or 0, unit, int(unit != "mm"))
            text = fmt.gettext(
                "Dots: average of day and night. Blue: rain or snow ({month}: {first})."
            )
            key = text.format(first=first, month=_name(body.months[0], fmt))
        short, *_, long = sorted(body.months, key=lambda month: month.daylight_hours)
        text = fmt.gettext("Daylight: {least} in {month}, {most} in {other}.")
        least, most = (fmt.duration(3600 * round(one.daylight_hours)) for one in (short, long))
        months = {"month": _name(short, fmt), "other": _name(long, fmt)}
        return body.comfort_rule, key, text.format(least=least, most=most, **months)


def _name(month: TypicalMonth, fmt: Formatter) -> str:
    return fmt.month_long(date(2027, month.month, 1))
