"""Every sentence that guests read of stays drawn at random is true of the numbers beside it.

English is computed anew from the numbers; each other language must say the same numbers.
"""

import math
import random
import re
import unicodedata
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

import msgspec
import pytest

from location_context.localisation.formatter import Formatter
from location_context.sections.card import Card
from location_context.sections.weather import card as weather_card
from location_context.sections.weather.response import Day, WeatherBody
from location_context.sections.weather.summary_text import stay_text
from tests.widget.queries import LANGUAGES, NOW, WORDS, query
from tests.widget.samples.weather import weather

STAYS = 3000
TODAY = NOW.date()
FORMATTERS = [Formatter(LANGUAGES.choose(tag)) for tag in LANGUAGES.tags]
CONDITIONS = (
    "clear", "partly_cloudy", "cloudy", "drizzle", "rain", "heavy_rain", "thunderstorm", "sleet",
    "snow", "heavy_snow", None,
)  # fmt: skip


def numbers(text: str) -> list[int]:
    """The whole numbers of a text, in Latin digits."""
    latin = "".join(str(unicodedata.digit(one, one)) if one.isdigit() else one for one in text)
    return [int(one) for one in re.findall(r"\d+", latin)]


def said_alike(english: str, other: str, fmt: Formatter) -> None:
    """No field is left open, and every number of the English text is in the other one.

    Arabic writes one and two as words, and has clocks of twelve hours; "8 in 10" may be words.
    """
    assert "{" not in other
    assert bool(english) == bool(other)
    if fmt.language.tag == "ar":
        return
    lacking = numbers(english.replace("8 days in 10", ""))
    for one in numbers(other):
        if one in lacking:
            lacking.remove(one)
    assert lacking == [], (english, other)


@dataclass(frozen=True)
class Drawn:
    """A stay as the card gets it; `near` is its forecast part where it straddles the horizon."""

    whole: WeatherBody
    near: WeatherBody | None
    fmt: Formatter

    @property
    def days(self) -> list[Day]:
        near = self.near.days if self.near else []
        return [*near, *self.whole.days[len(near) :]]

    @property
    def left(self) -> list[Day]:
        return [day for day in self.days if day.date >= TODAY]

    def celsius(self, value: float) -> float:
        return (value - 32) / 1.8 if self.whole.units.temperature == "°F" else value

    @cached_property
    def card(self) -> Card:
        """The card in English."""
        return weather_card.card(self.whole, self.near, WORDS, NOW)

    @cached_property
    def other(self) -> Card:
        """The card in the other language."""
        return weather_card.card(self.whole, self.near, self.fmt, NOW)

    @property
    def forecast_days(self) -> int:
        """How many days are of a forecast."""
        if self.near:
            return len(self.near.days)
        return len(self.whole.days) if self.whole.mode == "forecast" else 0


@pytest.fixture(scope="module")
def stays(gazetteer) -> list[Drawn]:
    samples = {
        units: weather(query(gazetteer, days=1, units=units), NOW)
        for units in ("metric", "imperial")
    }
    chance = random.Random(27)
    return [
        drawn(chance, samples[chance.choice(["metric", "imperial"])], FORMATTERS[n % 10])
        for n in range(STAYS)
    ]


def drawn(chance: random.Random, sample: WeatherBody, fmt: Formatter) -> Drawn:
    start = TODAY + timedelta(chance.choice([-3, -1, 0, 0, 1, 2, 3, 5, 8, 12, 15, 40]))
    length = chance.choice([1, 1, 2, 3, 4, 5, 7, 9, 10, 11, 15, 30])
    if start < TODAY:
        length = max(length, 5)
    model, imperial = sample.days[0], sample.units.temperature == "°F"
    warm, wet = chance.uniform(-20, 38), chance.choice([3, 20, 60, 100])
    gaps = chance.random() < 0.15
    days = []
    for n in range(length):
        high = warm + chance.uniform(-4, 4)
        low, spread = high - chance.uniform(1, 12), chance.uniform(0, 5)
        degrees = [high, low, (high + low) / 2, high - spread, high + spread]
        high, low, mean, p10, p90 = (
            round(one * 1.8 + 32 if imperial else one, 1) for one in degrees
        )
        amount = round(chance.uniform(0, 12), 1)
        days.append(
            msgspec.structs.replace(
                model,
                date=start + timedelta(n),
                temperature_max=high, temperature_min=low, temperature_mean=mean,
                temperature_max_p10=p10, temperature_max_p90=p90,
                precipitation_probability=None if gaps and chance.random() < 0.5
                else float(chance.randint(0, wet)),
                precipitation_sum=round(amount / 25.4, 2) if imperial else amount,
                condition=chance.choice(CONDITIONS),
                wind_gusts_max=round(chance.uniform(10, 95) / (1.609344 if imperial else 1), 1),
                snowfall_sum=round(chance.choice([0, 0, 0, 4, 25]) / (2.54 if imperial else 1), 1),
            )
        )  # fmt: skip
    last, edge = start + timedelta(length - 1), TODAY + timedelta(15)
    mode = "forecast" if last <= edge else "climatology"
    stay = msgspec.structs.replace(sample.stay, start=start, end=last)
    whole = msgspec.structs.replace(sample, mode=mode, days=days, stay=stay)
    near = None
    if start <= edge < last:
        near = msgspec.structs.replace(
            whole,
            mode="forecast",
            days=[day for day in days if day.date <= edge],
            stay=msgspec.structs.replace(stay, end=edge),
        )
    if mode == "climatology":
        basis = msgspec.structs.replace(sample.basis, kind="reanalysis", years=list(range(10)))
        whole = msgspec.structs.replace(whole, basis=basis)
    return Drawn(whole, near, fmt)


def snow_share(one: Drawn, day: Day) -> float:
    if day.condition in {"snow", "heavy_snow"}:
        return 1.0
    if day.condition == "sleet":
        return 0.5
    mean = one.celsius(day.temperature_mean)
    rainy = day.condition in {"drizzle", "rain", "heavy_rain", "thunderstorm"}
    return 1.0 if mean < -2 else 0.5 if mean < 2 and not rainy else 0.0


def what_falls(one: Drawn, weighed: list[tuple[Day, float]]) -> str:
    wet = sum(p for _, p in weighed)
    snow = sum(p * snow_share(one, day) for day, p in weighed)
    return "snow" if wet and snow >= 0.9 * wet else "rain" if snow <= 0.1 * wet else "rain or snow"


def check_rain(one: Drawn, value: str, caption: str) -> None:
    """The rule of the design, from the chances alone."""
    left = one.left
    limit = 0.04 if one.whole.units.precipitation == "inch" else 1.0
    weighed = [
        (day, day.precipitation_probability / 100 if day.precipitation_probability is not None
         else float(day.precipitation_sum >= limit))
        for day in left
        if day.precipitation_probability is not None
        or (one.forecast_days and (day.date - TODAY).days <= 15)
    ]  # fmt: skip
    chances = [p for _, p in weighed]
    dry, wet, count = math.prod(1 - p for p in chances), sum(chances), len(chances)
    falls = what_falls(one, weighed)
    if percent := re.search(r"(\d+)%", caption):
        assert abs(int(percent[1]) - 100 * (1 - dry)) <= 0.5 + 1e-9
        assert f"chance of {falls}" in caption
        assert ("over the stay" in caption) == (len(left) == len(one.days) > 1)
    if counted := re.fullmatch(r"(?:(\d+)–)?(\d+) (wet|snowy) days? of (\d+)", value):
        assert int(counted[4]) == count
        assert int(counted[1] or counted[2]) - 0.75 <= wet <= int(counted[2]) + 0.75
        assert (counted[3] == "snowy") == (falls == "snow")
    elif counted := re.fullmatch(r"(\d+) (wet|snowy) days? in 10", value):
        assert not one.forecast_days
        assert abs(int(counted[1]) - 10 * wet / count) <= 0.5 + 1e-9
        assert (counted[2] == "snowy") == (falls == "snow")
    elif value == "Hardly ever wet":
        assert wet / count <= 0.05
    else:
        assert count == len(left)
        assert all(d.precipitation_probability is not None for d in left)
        check_phrase(one, value, weighed)
    if mine := re.fullmatch(r"about (\d+) of your (\d+) days", caption):
        assert abs(int(mine[1]) - wet) <= 0.5 + 1e-9
        assert int(mine[2]) == count
    if caption.startswith("most likely on"):
        highest = max(round(100 * p) for p in chances)
        likeliest = [
            WORDS.plain(WORDS.day(d.date)) for d, p in weighed if round(100 * p) == highest
        ]
        assert caption == f"most likely on {' and '.join(likeliest)}"


def check_phrase(one: Drawn, value: str, weighed: list[tuple[Day, float]]) -> None:
    chances = [p for _, p in weighed]
    dry, wet, count = math.prod(1 - p for p in chances), sum(chances), len(chances)
    if value in {"Dry", "Very likely dry"}:
        assert dry >= 0.9
        assert (value == "Dry") == ((one.left[-1].date - TODAY).days <= 3)
    elif value == "Probably dry":
        assert 0.75 <= dry < 0.9
    elif value == "Mostly dry":
        assert count > 2
        assert dry >= 0.4
        assert wet < 1
    elif value.endswith("possible"):
        assert count <= 2
        assert 0.4 <= dry < 0.75
        assert value.lower() == f"{what_falls(one, weighed)} possible"
    elif value.endswith("most days"):
        assert wet / count >= 0.8
        assert value.lower() == f"{what_falls(one, weighed)} most days"
    else:
        best = max(range(count), key=lambda n: chances[n])
        assert chances[best] >= 0.5
        assert math.prod(1 - p for n, p in enumerate(chances) if n != best) >= 0.6
        falls = what_falls(one, [weighed[best]]).capitalize()
        assert value == WORDS.plain(f"{falls} on {WORDS.day(weighed[best][0].date)}")


def degrees(text: str) -> list[int]:
    return [int(one.replace("−", "-")) for one in re.findall(r"−?\d+", text)]


def test_key_facts_about_weather_agree_with_the_data_in_each_language(stays):
    for one in stays:
        card, other = one.card, one.other
        highs = [day.temperature_max for day in one.left]
        lows = [day.temperature_min for day in one.left]
        spans = [(min(highs), max(highs)), (min(lows), max(lows))]
        for text, (low, high) in zip(
            (card.facts[0].value, card.facts[0].caption), spans, strict=True
        ):
            found = degrees(text)
            assert (found[0], found[-1]) == (round(low), round(high))
        for fact, same in zip(card.facts, other.facts, strict=True):
            said_alike(fact.value, same.value, one.fmt)
            said_alike(fact.caption, same.caption, one.fmt)
        for fact in card.facts[1:]:
            check_rain(one, WORDS.plain(fact.value), WORDS.plain(fact.caption))


def test_weather_sentences_agree_with_the_data_in_each_language(stays):
    for one in stays:
        body = one.near or one.whole
        said = WORDS.plain(stay_text(body, TODAY, WORDS))
        said_alike(said.replace("−", ""), stay_text(body, TODAY, one.fmt), one.fmt)
        facts = one.card.facts[1:]
        for fact in facts if one.near is None else ():  # of all days, the sentence of some
            parts = [part for part in (fact.value, fact.caption) if part]
            assert WORDS.plain(f"{', '.join(parts)}.") in said
        part = [day for day in (one.near or one.whole).days if day.date >= TODAY]
        highs = [day.temperature_max for day in part]
        if one.forecast_days:
            found = degrees(said.partition(" by day")[0])
            assert (found[0], found[-1]) == (round(min(highs)), round(max(highs)))
        else:
            high, low = degrees(said.partition(" at night")[0])
            assert abs(high - sum(highs) / len(highs)) <= 0.5 + 1e-9
            lows = [day.temperature_min for day in part]
            assert abs(low - sum(lows) / len(lows)) <= 0.5 + 1e-9


def test_weather_rows_and_their_spoken_text_agree_with_the_data_in_each_language(stays):
    for one in stays:
        rows, other = one.card.timeline.rows, one.other.timeline.rows
        by_date = {day.date: day for day in one.days}
        worded_dry = 1.0
        for row, same in zip(rows, other, strict=True):
            said_alike(row.rain, same.rain, one.fmt)
            said_alike(row.spoken.replace("−", ""), same.spoken, one.fmt)
            count = (row.last - row.first).days + 1
            inside = [by_date[row.first + timedelta(n)] for n in range(count)]
            high, low = (
                sum(getattr(day, name) for day in inside) / count
                for name in ("temperature_max", "temperature_min")
            )
            assert abs(degrees(row.high)[0] - high) <= 0.5 + 1e-6
            assert abs(degrees(row.low)[0] - low) <= 0.5 + 1e-6
            assert row.typical == (one.near is not None and row.first > one.near.stay.end), (
                "a typical day is never dressed as a forecast"
            )
            chances = [d.precipitation_probability for d in inside]
            known = [p for p in chances if p is not None]
            spoken = WORDS.plain(row.spoken)
            weighed = [(d, 1.0 if p is None else p) for d, p in zip(inside, chances, strict=True)]
            falls = what_falls(one, weighed)
            if not known:
                assert re.search(r"rain|snow", spoken)
                continue
            mean = sum(known) / len(known)
            assert f"chance of {falls} {round(mean)}%" in spoken
            if row.rain == "dry":
                assert count == 1
                assert known[0] <= 5
                worded_dry *= 1 - known[0] / 100
            elif row.typical:
                assert abs(numbers(row.rain)[0] - mean / 10) <= 0.5 + 1e-9
            elif count > 1:
                wet, total = numbers(row.rain)
                assert total == len(known)
                assert abs(wet - sum(known) / 100) <= 0.5 + 1e-9
            else:
                assert row.rain == f"{round(known[0])}%"
                assert not row.amount or known[0] >= 50
        assert worded_dry >= 0.75


def test_warnings_agree_with_the_data_and_are_hedged_by_lead_time_in_each_language(stays):
    seen = 0
    for one in stays:
        card, other = one.card, one.other
        scale = 1.609344 if one.whole.units.wind_speed == "mph" else 1.0
        depth = 2.54 if one.whole.units.snowfall == "inch" else 1.0
        due = set()
        for day in one.days[: one.forecast_days]:
            if day.date >= TODAY:
                due |= {(day.date, "wind")} if day.wind_gusts_max * scale >= 75 else set()
                due |= {(day.date, "heat")} if one.celsius(day.temperature_max) >= 35 else set()
                due |= {(day.date, "heavy_snow")} if day.snowfall_sum * depth >= 10 else set()
        assert {(moment.day, moment.icon) for moment in card.moments} == due
        by_date = {day.date: day for day in one.days}
        for moment, same in zip(card.moments, other.moments, strict=True):
            said_alike(moment.title, same.title, one.fmt)
            name = {"wind": "wind_gusts_max", "heat": "temperature_max",
                    "heavy_snow": "snowfall_sum"}[moment.icon]  # fmt: skip
            assert numbers(moment.title) == [round(getattr(by_date[moment.day], name))]
        assert (card.timeline.warning is None) == (not due)
        if warning := card.timeline.warning:
            seen += 1
            said_alike(warning[0], other.timeline.warning[0], one.fmt)
            said_alike(warning[1], other.timeline.warning[1], one.fmt)
            worst = card.moments[0].day
            lead = (worst - TODAY).days
            hedge = "expected" if lead <= 2 else "likely" if lead <= 7 else "possible"
            assert WORDS.plain(warning[0]).endswith(WORDS.plain(f" {hedge} on {WORDS.day(worst)}."))
            assert (f"Still {lead} days away, so this can change." in warning[1]) == (lead > 7)
    assert seen > 300


def test_typical_day_in_the_widget_is_the_mean_of_the_climatology_days(stays):
    seen = 0
    for one in stays:
        view = one.card.view
        if view is None:
            continue
        seen += 1
        days, count = one.days, len(one.days)
        highs = [day.temperature_max for day in days]
        assert abs(degrees(view.row.high)[0] - sum(highs) / count) <= 0.5 + 1e-6
        ends = [
            sum(getattr(day, name) for day in days) / count
            for name in ("temperature_max_p10", "temperature_max_p90")
        ]
        found = degrees(view.range.partition("on")[0])
        assert (found[0], found[-1]) == (round(ends[0]), round(ends[1]))
        known = [
            d.precipitation_probability for d in days if d.precipitation_probability is not None
        ]
        if known:
            assert abs(view.drops - sum(known) / len(known) / 10) <= 0.5 + 1e-9
        sun = sum(day.sunshine_hours for day in days) / count
        assert [abs(numbers(v)[0] - sun) <= 0.5 for v, said in view.facts if "sun" in said] != [
            False
        ]
    assert seen > 100
