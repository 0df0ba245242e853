"""The weather card of the page: a row for each day, two facts, and warnings of dangers.

If a stay is only partly within the forecast horizon, the card receives two answers: a forecast for
the near part, and typical weather for the whole stay. It shows the days of the forecast, then
typical days for the rest; a row never mixes the two. Up to ten days have a row each, but typical
days with similar highs may share a row. Longer stays have a row for each week. A stay of at most
ten days without a forecast is shown as one typical day.

All temperature bars of a card have the same scale, from two degrees below the lowest value to two
above the highest. A temperature has the same colour on every page.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from itertools import pairwise
from typing import Self
from zoneinfo import ZoneInfo

from location_context.localisation.formatter import Formatter
from location_context.sections.card import (
    Card,
    Fact,
    Fold,
    Moment,
    Row,
    Timeline,
)
from location_context.sections.contract import UnitsBody
from location_context.sections.weather.rain import (
    RAIN,
    Rain,
    chance_of,
    dry_rows,
    falls,
    rain,
    usual_rain,
)
from location_context.sections.weather.response import Day, WeatherBody, YearBody
from location_context.sections.weather.summary_text import mean
from location_context.sections.weather.warning import Danger, dangers

TEMPLATE = "location_context.sections.weather:card.html"
MAX_DAYS = 10  # with a row each; more days are shown by weeks
WEEK = 7
ALIKE, RUN = 2.0, 3  # at least 3 typical days with highs within 2 kelvin share a row
COLOURED, BOLD = 20, 50  # least chance of rain in percent
_COLOURS = (  # °C, sRGB
    (-25, (116, 89, 200)), (-10, (75, 99, 207)), (0, (44, 132, 211)), (8, (37, 152, 180)),
    (14, (79, 159, 128)), (19, (178, 138, 36)), (25, (208, 119, 31)), (31, (212, 95, 43)),
    (37, (192, 58, 56)), (45, (173, 49, 96)),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The temperature scale that all bars of a card share, in the answer's unit (°C or °F)."""

    low: float
    high: float
    fahrenheit: bool

    @classmethod
    def over(cls, days: Iterable[Day], unit: str) -> Self:
        names = ("temperature_min", "temperature_max", "temperature_max_p10", "temperature_max_p90")
        found = [getattr(day, name) for day in days for name in names]
        known = [value for value in found if value is not None] or [0.0]
        margin = 3.6 if unit == "°F" else 2.0
        return cls(low=min(known) - margin, high=max(known) + margin, fahrenheit=unit == "°F")

    def share(self, value: float) -> float:
        """Return a temperature's position on the scale in percent: 0 at `low`, 100 at `high`."""
        return round(100 * (value - self.low) / (self.high - self.low), 1)

    def stops(self) -> list[tuple[float, str]]:
        """Return the colour gradient of the scale: pairs of position in percent and colour."""
        low, high = (self._celsius(value) for value in (self.low, self.high))
        inside = [at for at, _ in _COLOURS if low < at < high]
        return [
            (round(100 * (at - low) / (high - low), 1), colour(at)) for at in (low, *inside, high)
        ]

    def _celsius(self, value: float) -> float:
        return (value - 32) / 1.8 if self.fahrenheit else value


def colour(celsius: float) -> str:
    """Return the colour that stands for a temperature in °C, as `#rrggbb`."""
    if celsius <= _COLOURS[0][0]:
        return _hex(_COLOURS[0][1])
    for (cold, one), (warm, other) in pairwise(_COLOURS):
        if celsius <= warm:
            share = (celsius - cold) / (warm - cold)
            return _hex(round(a + share * (b - a)) for a, b in zip(one, other, strict=True))
    return _hex(_COLOURS[-1][1])


def _hex(channels: Iterable[int]) -> str:
    return "#" + "".join(f"{one:02x}" for one in channels)


def card(whole: WeatherBody, near: WeatherBody | None, fmt: Formatter, now: datetime) -> Card:
    """Return the weather card of a stay.

    `whole` is the answer for the whole stay. If the stay extends beyond the forecast horizon,
    `near` is the answer for its part within the horizon, else None.
    """
    if whole.mode == "forecast" or (near and near.mode == "climatology"):
        near = None  # all days are of the same kind
    shown = _Days(whole, near, fmt)
    today = now.astimezone(ZoneInfo(whole.point.timezone)).date()
    found = dangers(shown.forecast, today, whole.units, fmt)
    return Card(
        template=TEMPLATE if shown.as_one else "",
        view=shown.typical_day(today) if shown.as_one else None,
        facts=shown.facts(today),
        moments=[
            Moment(day=one.day, title=one.short, icon=one.kind, kind="danger") for one in found
        ],
        folds=[one for one in (_years(whole, fmt),) if one],
        timeline=shown.timeline(found[0] if found else None),
    )


@dataclass(frozen=True)
class _Days:
    """The days of a stay to show on the card.

    If a forecast covers only the first part of the stay, `near` is that forecast, else None.
    """

    whole: WeatherBody
    near: WeatherBody | None
    fmt: Formatter

    @cached_property
    def parts(self) -> list[tuple[str, list[Day]]]:
        """The stay's parts in order: pairs of a kind (`forecast` or `typical`) and its days."""
        whole, near = self.whole, self.near
        if near is None:
            return [("forecast" if whole.mode == "forecast" else "typical", whole.days)]
        far = [day for day in whole.days if day.date > near.stay.end]
        return [("forecast", near.days), ("typical", far)]

    @property
    def all(self) -> list[Day]:
        return [day for _, some in self.parts for day in some]

    @property
    def forecast(self) -> list[Day]:
        return [day for kind, some in self.parts if kind == "forecast" for day in some]

    @property
    def as_one(self) -> bool:
        """True if the card shows one typical day in place of a row for each day."""
        return not self.forecast and len(self.whole.days) <= MAX_DAYS

    @property
    def by_weeks(self) -> bool:
        return len(self.all) > MAX_DAYS

    @cached_property
    def scale(self) -> Scale:
        return Scale.over(self.all, self.whole.units.temperature)

    def timeline(self, worst: Danger | None) -> Timeline:
        fmt, key = self.fmt, ""
        heading = fmt.gettext("Your stay, day by day")
        if self.as_one:
            heading = fmt.gettext("A typical day of your stay")
        elif self.by_weeks:
            heading = fmt.gettext("Your stay, week by week")
        if any(high_tenths([day]) for day in self.all) and not self.as_one:
            key = fmt.gettext("The faded end of each bar is the range of 8 in 10 highs.")
            if self.by_weeks:
                key = fmt.gettext("Weekly averages. Faded end: the range of 8 in 10 highs.")
        newest = self.near or self.whole
        return Timeline(
            heading=heading,
            badge=stale_note(newest, fmt) if newest.stale else _kind(self.whole, self.near, fmt),
            warning=(worst.title, worst.text) if worst else None,
            rows=[] if self.as_one else self._rows(),
            stops=self.scale.stops(),
            key=key,
            apart=self._apart(),
        )

    def _rows(self) -> list[Row]:
        rows = list[Row]()
        for kind, some in self.parts:
            usual, dry = kind == "typical" and len(self.parts) > 1, dry_rows(some)
            rows += [self._row(step, dry=dry, usual=usual) for step in self._steps(some, kind)]
        return rows

    def _steps(self, days: list[Day], kind: str) -> list[list[Day]]:
        """Group days into rows: return the days of each row.

        Typical days with similar highs may share a row. `kind` is `forecast` or `typical`.
        """
        if self.by_weeks:
            return [days[n : n + WEEK] for n in range(0, len(days), WEEK)]
        if kind == "forecast":
            return [[day] for day in days]
        steps = list[list[Day]]()
        alike = ALIKE * (1.8 if self.scale.fahrenheit else 1)
        for day in days:
            highs = [one.temperature_max for one in (*(steps[-1] if steps else ()), day)]
            known = [value for value in highs if value is not None]
            if steps and len(known) == len(highs) and max(known) - min(known) <= alike:
                steps[-1].append(day)
            else:
                steps.append([day])
        return [
            part
            for step in steps
            for part in ([step] if len(step) >= RUN else [[day] for day in step])
        ]

    def _apart(self) -> str:
        """Return the heading above typical days that follow a forecast; empty without such days."""
        far = self.parts[-1][1]
        if len(self.parts) < 2 or not far:
            return ""
        text = self.fmt.gettext("Typical for these dates, {dates}")
        return text.format(dates=self.fmt.date_range_long(far[0].date, far[-1].date))

    def _row(self, days: Sequence[Day], *, dry: Collection[date] = (), usual: bool = False) -> Row:
        """Return the row for one day, or for several days with their mean values.

        `dry` are the dates that may be labelled "dry". `usual` is True if the row shows typical
        days that follow the forecast's days.
        """
        fmt = self.fmt
        high, low = mean(d.temperature_max for d in days), mean(d.temperature_min for d in days)
        tenths = None if high is None else high_tenths(days)
        chance = mean(d.precipitation_probability for d in days)
        text, amount = self._rain(days, chance, dry=dry, usual=usual)
        if high is None and low is None:
            high = mean(d.temperature_mean for d in days)
        values = ["" if value is None else fmt.temperature(value) for value in (high, low)]
        said = fmt.temperatures_in_words(*tenths) if tenths else ""
        span, at = None, self.scale.share
        if high is not None and low is not None:
            p10, p90 = tenths or (high, high)
            ends = (low, min(max(p10, low), high), high, max(p90, high))
            span = (at(ends[0]), at(ends[1]), at(ends[2]), at(ends[3]))
        alone = len(days) == 1 and self.whole.basis.kind != "monthly_mean"
        wet = chance or 0
        return Row(
            first=days[0].date,
            last=days[-1].date,
            spoken=self._spoken(days, values, said, text),
            icon=(_condition(days) or "unknown") if alone and not usual else "",
            low=values[1],
            high=values[0],
            span=span,
            rain=text,
            amount=amount,
            wet=2 if wet >= BOLD and not usual and alone else 1 if wet >= COLOURED else 0,
            typical=usual,
        )

    def _rain(
        self, days: Sequence[Day], chance: float | None, *, dry: Collection[date], usual: bool
    ) -> tuple[str, str]:
        """Return two texts for a row's rain: the chance, and a detail; either may be empty.

        The first text is a percentage, a count of wet days or "dry". If the chance is unknown, the
        first text is the amount of rain. The second text is the amount of rain or snow on a day
        with a high chance, or "wet" for typical days. `dry` are the dates that may be labelled
        "dry". `usual` is True if the row shows typical days that follow the forecast's days.
        """
        fmt, units = self.fmt, self.whole.units
        if chance is None:
            amount = mean(day.precipitation_sum for day in days)
            digits = 0 if units.precipitation == "mm" else 2
            return ("" if amount is None else fmt.measure(amount, units.precipitation, digits)), ""
        if len(days) > 1 and not usual:
            known = [d.precipitation_probability for d in days]
            chances = [one / 100 for one in known if one is not None]
            text = fmt.gettext("{count} of {total} wet")
            wet, total = fmt.number(round(sum(chances))), fmt.number(len(chances))
            return text.format(count=wet, total=total), ""
        if usual:
            share = fmt.gettext("{count} in {total}")
            tenths = fmt.number(round(chance / 10))
            return share.format(count=tenths, total=fmt.number(10)), fmt.gettext("wet")
        if days[0].date in dry:
            return fmt.gettext("dry"), ""
        return fmt.percent(chance), _amount(days[0], units, fmt) if chance >= BOLD else ""

    def _spoken(self, days: Sequence[Day], values: Sequence[str], span: str, rain: str) -> str:
        """Return a row's content as one sentence for screen readers.

        `values` are the high and the low as text, `span` is the range of the highs, `rain` the rain
        text.
        """
        fmt = self.fmt
        high, low = (value or fmt.gettext("not known") for value in values)
        facts = [days[0].summary] if len(days) == 1 and days[0].summary else []
        if span:
            text = fmt.gettext("high {temperature} ({range}, 8 days in 10)")
            facts.append(text.format(temperature=high, range=span))
        else:
            facts.append(fmt.gettext("high {temperature}").format(temperature=high))
        facts.append(fmt.gettext("low {temperature}").format(temperature=low))
        known = [day.precipitation_probability for day in days]
        weights = [1.0 if chance is None else chance for chance in known]
        kind, chance = falls(zip(days, weights, strict=True), self.whole.units), mean(known)
        if rain and chance is None:
            text = (
                fmt.gettext("rain {amount}"),
                fmt.gettext("rain or snow {amount}"),
                fmt.gettext("snow (as water) {amount}"),
            )[kind]
            facts.append(text.format(amount=rain))
        else:
            percent = fmt.gettext("not known") if chance is None else fmt.percent(chance)
            facts.append(chance_of(kind, fmt).format(percent=percent))
        when = fmt.date_long(days[0].date)
        if len(days) > 1:
            when = fmt.dates(days[0].date, days[-1].date)
        return fmt.gettext("{date}: {facts}.").format(date=when, facts=fmt.join_list(facts))

    def facts(self, today: date) -> list[Fact]:
        """Return two facts about the days from today on: how warm and how wet they are."""
        fmt = self.fmt
        days = [day for day in self.all if day.date >= today]
        highs = [day.temperature_max for day in days if day.temperature_max is not None]
        lows = [day.temperature_min for day in days if day.temperature_min is not None]
        middle = mean(day.temperature_mean for day in days)
        value, facts = "", list[Fact]()
        caption: str = fmt.gettext("on average, day and night")
        if highs and lows:
            value = fmt.temperatures(min(highs), max(highs))
            caption = fmt.gettext("by day, {range} at night")
            caption = caption.format(range=fmt.temperatures(min(lows), max(lows)))
        elif middle is not None:
            value = fmt.temperature(middle)
        if value:
            facts.append(
                Fact(value=value, caption=caption, icon="temperature", tone="sun", weight=100)
            )
        if said := self.said_rain(today):
            facts.append(
                Fact(value=said.value, caption=said.caption, icon="drop3", tone="rain", weight=90)
            )
        return facts

    def said_rain(self, today: date) -> Rain | None:
        """Return the rain of the days from today on, in words; None if unknown.

        `facts` and `typical_day` both show this text, so that all parts of the widget agree.
        """
        say = rain if self.forecast else usual_rain
        return say(self.all, today, self.whole.units, self.fmt)

    def typical_day(self, today: date) -> "TypicalDay":
        body, fmt, row = self.whole, self.fmt, self._row(self.whole.days)
        tenths = high_tenths(body.days)
        text = fmt.gettext("Highs of {range} on 8 days in 10")
        chance = mean(day.precipitation_probability for day in body.days)
        facts = list[tuple[str, str]]()
        if row.high and not row.low:
            facts.append((row.high, fmt.gettext("on average, day and night")))
        if said := self.said_rain(today):
            facts.append((said.value, said.caption))
        elif row.rain:
            what = fmt.gettext("of rain or snow a day on average")
            if falls([(day, 1.0) for day in body.days], body.units) == RAIN:
                what = fmt.gettext("of rain a day on average")
            facts.append((row.rain, what))
        sun = mean(day.sunshine_hours for day in body.days)
        if sun is not None and round(sun):
            hours = fmt.ngettext("{hours} hour", "{hours} hours", round(sun))
            facts.append((hours.format(hours=fmt.number(round(sun))), fmt.gettext("of sun a day")))
        return TypicalDay(
            row=row,
            range=text.format(range=fmt.temperatures(*tenths)) if tenths else "",
            drops=None if chance is None else round(chance / 10),
            facts=facts,
        )


def _amount(day: Day, units: UnitsBody, fmt: Formatter) -> str:
    """Return the day's amount of snow as text, or of rain if no snow is forecast.

    The text is empty if the amount rounds to zero.
    """
    if day.snowfall_sum is not None and round(day.snowfall_sum) >= 1:
        return fmt.measure(day.snowfall_sum, units.snowfall)
    digits = 0 if units.precipitation == "mm" else 1
    if day.precipitation_sum is None or round(day.precipitation_sum, digits) == 0:
        return ""
    return fmt.measure(day.precipitation_sum, units.precipitation, digits)


def high_tenths(days: Iterable[Day]) -> tuple[float, float] | None:
    """Return the usual range of the days' highs: the mean of all p10, and the mean of all p90.

    Return None if no day has both.
    """
    known = [
        (day.temperature_max_p10, day.temperature_max_p90)
        for day in days
        if day.temperature_max_p10 is not None and day.temperature_max_p90 is not None
    ]
    if not known:
        return None
    lows, highs = zip(*known, strict=True)
    return sum(lows) / len(known), sum(highs) / len(known)


def _condition(days: Sequence[Day]) -> str | None:
    """Return the most frequent weather condition; on a tie, the one that occurs first."""
    known = [day.condition for day in days if day.condition]
    return Counter(known).most_common(1)[0][0] if known else None


@dataclass(frozen=True, kw_only=True)
class TypicalDay:
    """One typical day of the stay, which the template shows in place of a row for each day.

    Attributes:
        row: the mean values of all days.
        range: the usual range of the highs, as text; empty if unknown.
        drops: the number of wet days in ten, drawn as full drops; None if unknown.
        facts: pairs of a number and its meaning.
    """

    row: Row
    range: str
    drops: int | None
    facts: Sequence[tuple[str, str]]


def _years(body: WeatherBody, fmt: Formatter) -> Fold | None:
    """Return a collapsible text on the same dates in past years; None if there is no history."""
    known = [year for year in body.history if year.temperature_max_mean is not None]
    if not known:
        return None
    label = fmt.gettext("The last ten years")
    if len(known) != 10:
        label = fmt.gettext("Past years")
    highs = [year.temperature_max_mean or 0.0 for year in known]
    counted = [(year.wet_days, year.year) for year in known if year.wet_days is not None]
    said = [_extremes(known, highs, fmt)]
    if counted:
        (few, dry_year), (many, wet_year) = min(counted), max(counted)
        text = fmt.gettext("Wet days: {low} ({low_year}) to {high} ({high_year}).")
        said.append(text.format(low=few, low_year=dry_year, high=many, high_year=wet_year))
    return Fold(label=label, sentences=said)


def _extremes(known: Sequence[YearBody], highs: Sequence[float], fmt: Formatter) -> str:
    """Return a sentence on the average highs of the coolest and of the warmest year."""
    cool, warm = (min(highs), max(highs))
    if round(cool) == round(warm):
        return fmt.gettext("Average high in each year: {temperature}.").format(
            temperature=fmt.temperature(cool)
        )
    text = fmt.gettext("Average highs: {low} ({low_year}) to {high} ({high_year}).")
    return text.format(
        low=fmt.temperature(cool),
        low_year=known[highs.index(cool)].year,
        high=fmt.temperature(warm),
        high_year=known[highs.index(warm)].year,
    )


def _kind(whole: WeatherBody, near: WeatherBody | None, fmt: Formatter) -> str:
    """Return a label for the kind of values, such as "Monthly average"; empty for a forecast.

    If `near` is given, the label names the last day with a forecast.
    """
    if near is not None:
        text = fmt.gettext("Forecast to {date}, then typical")
        return text.format(date=fmt.day(near.stay.end))
    years = whole.basis.years
    if whole.mode == "forecast":
        return ""
    if whole.basis.kind == "monthly_mean" or not years:
        return fmt.gettext("Monthly average")
    return fmt.gettext("Typical · {years}").format(years=fmt.years(years))


def stale_note(body: WeatherBody, fmt: Formatter) -> str:
    """Return a note that says when a stale forecast was issued; empty for typical weather."""
    if body.as_of is None or body.mode != "forecast":
        return ""
    local = body.as_of.astimezone(ZoneInfo(body.point.timezone))
    return fmt.gettext("Forecast from {moment}").format(moment=fmt.moment(local))
