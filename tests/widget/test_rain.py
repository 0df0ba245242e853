"""What is said of a stay's rain is true of its chances, and comes true of what then falls."""

import csv
import gzip
import itertools
import re
from collections import defaultdict
from datetime import date, timedelta

import msgspec
import pytest

from location_context.sections.units import Measure
from location_context.sections.weather.rain import dry_rows, rain, usual_rain
from location_context.sections.weather.warning import dangers
from tests.widget.queries import NOW, WORDS, query
from tests.widget.samples.weather import weather

TODAY = NOW.date()
MOST_WRONG, FEW = 0.3, 20  # of what is said; said of fewer, the share is chance


METRIC, IMPERIAL = Measure("metric").body, Measure("imperial").body


@pytest.fixture(scope="module")
def model(gazetteer):
    return weather(query(gazetteer), NOW).days[0]


def days_of(model, chances, condition="rain", *, start=TODAY, celsius=15.0, amounts=()):
    """Days of these chances in per cent; what falls on those from 50 on is the condition."""
    return [
        msgspec.structs.replace(
            model,
            date=start + timedelta(number),
            precipitation_probability=chance,
            precipitation_sum=amounts[number] if amounts else None,
            condition=condition if (chance or 0) >= 50 else "cloudy",
            temperature_mean=celsius,
        )
        for number, chance in enumerate(chances)
    ]


def said(days, today=TODAY, fmt=WORDS, units=METRIC):
    return plain(rain(days, today, units, fmt))


def plain(found):
    return WORDS.plain(f"{found.value} | {found.caption}") if found else None


@pytest.mark.parametrize(
    ("chances", "words"),
    [
        ((1, 1, 1), "Dry | 3% chance of rain over the stay"),
        ((1,) * 8, "Very likely dry | 8% chance of rain over the stay"),
        ((5,) * 5, "Probably dry | 23% chance of rain over the stay"),
        ((5, 5, 65, 20, 5), "Rain on Mon 23 | 76% chance of rain over the stay"),
        ((15,) * 5, "Mostly dry | perhaps one wet day"),
        ((90, 90, 85, 91), "Rain most days | most likely on Tue 24"),
        ((60, 70, 20, 60, 40), "2–3 wet days of 5 | most likely on Sun 22"),
        ((60, 50, 60, 40), "2 wet days of 4 | most likely on Sat 21 and Mon 23"),
        ((40, 40, 40, 40), "1–2 wet days of 4 | 87% chance of rain over the stay"),
    ],
)
def test_rain_text_uses_the_first_rule_that_matches_the_chances_of_rain(model, chances, words):
    assert said(days_of(model, chances)) == words


@pytest.mark.parametrize(
    ("chances", "words"),
    [
        ((5,), "Dry | chance of rain 5%"),
        ((20,), "Probably dry | chance of rain 20%"),
        ((40,), "Rain possible | chance of rain 40%"),
        ((60,), "Rain on Sat 21 | chance of rain 60%"),
        ((30, 30), "Rain possible | 51% chance of rain over the stay"),
    ],
)
def test_rain_text_of_one_or_two_days_is_never_mostly_dry(model, chances, words):
    assert said(days_of(model, chances)) == words


@pytest.mark.parametrize(
    ("chances", "amounts", "words"),
    [
        ((None,) * 4, (0, 5, 0.9, 0), "1 wet day of 4 | most likely on Sun 22"),
        ((None,) * 4, (1, 5, 2, 0), "3 wet days of 4 | wettest on Sun 22"),
        ((None,) * 3, (0, 0, 0.4), None),
        ((5, 90, None), (0, 4, None), "1 wet day of 2 | most likely on Sun 22"),
        ((5, 5, None), (0, 0, None), None),
        ((None, None), (None, None), None),
    ],
)
def test_days_whose_chance_of_rain_is_not_known_count_as_wet_by_their_amount_of_rain(
    model, chances, amounts, words
):
    assert said(days_of(model, chances, amounts=amounts)) == words


def test_wet_day_threshold_is_the_same_in_metric_and_imperial_units(model):
    for units, wet, dry in ((METRIC, 1.0, 0.9), (IMPERIAL, 0.04, 0.03)):
        days = days_of(model, (None,) * 3, amounts=(wet, dry, 0), celsius=60.0)
        assert said(days, units=units).startswith("1 wet day of 3")


def test_typical_day_is_not_counted_as_wet_by_its_mean_amount_of_rain(model):
    near, far = days_of(model, (20, 60)), days_of(model, (None,), amounts=(3.0,))
    beyond = msgspec.structs.replace(far[0], date=TODAY + timedelta(16))
    assert said([*near, beyond]) == "1 wet day of 2 | most likely on Sun 22"


def test_rain_text_ignores_past_days(model):
    days = days_of(model, (100, 100, 1, 1))
    assert said(days, TODAY + timedelta(2)) == "Dry | 2% chance of rain over 2 days"
    assert said(days, TODAY + timedelta(3)) == "Dry | chance of rain 1%"
    assert said(days, TODAY + timedelta(4)) is None
    typical = usual_rain(days, TODAY + timedelta(2), METRIC, WORDS)
    assert plain(typical) == "Hardly ever wet | at this time of year"


@pytest.mark.parametrize(
    ("celsius", "condition", "what"),
    [
        (-16, "rain", "snow"),
        (-16, "cloudy", "snow"),
        (-16, None, "snow"),
        (0, "cloudy", "rain or snow"),
        (1, "rain", "rain"),
        (5, "sleet", "rain or snow"),
        (5, "snow", "snow"),
        (20, None, "rain"),
    ],
)
@pytest.mark.parametrize("units", [METRIC, IMPERIAL])
def test_precipitation_is_named_by_condition_and_temperature(
    model, celsius, condition, what, units
):
    value = celsius if units is METRIC else celsius * 1.8 + 32
    often, once = (
        days_of(model, chances, condition, celsius=value) for chances in ((90,) * 3, (55, 1))
    )
    assert said(often, units=units).startswith(f"{what.capitalize()} most days")
    words = f"{what.capitalize()} on Sat 21 | 55% chance of {what} over the stay"
    assert said(once, units=units) == words
    counted = said(days_of(model, (50,) * 4, condition, celsius=value), units=units)
    assert counted.startswith("2 snowy days" if what == "snow" else "2 wet days")
    typical = usual_rain(often, TODAY, units, WORDS).value
    assert typical == ("9 snowy days in 10" if what == "snow" else "9 wet days in 10")


def test_rain_text_distinguishes_rain_and_snow_by_day(model):
    """A snowy day among rainy ones is named by itself, and the stay by both."""
    days = days_of(model, (55, 10, 10), "snow")
    assert said(days) == "Snow on Sat 21 | 64% chance of rain or snow over the stay"


def test_typical_chance_of_rain_is_worded_as_wet_days_in_ten(model):
    for chance in range(0, 101, 5):
        found = usual_rain(days_of(model, (chance,) * 7), TODAY, METRIC, WORDS)
        if count := re.match(r"(\d+) wet day", found.value):
            assert abs(int(count[1]) - chance / 10) <= 0.5
        else:
            assert chance <= 5
        if mine := re.fullmatch(r"about (\d) of your 7 days", found.caption):
            assert abs(int(mine[1]) - 7 * chance / 100) <= 0.5
        else:
            assert 7 * chance / 100 <= 0.5
    assert usual_rain(days_of(model, (None,)), TODAY, METRIC, WORDS) is None


def test_days_are_shown_as_dry_only_if_all_stay_dry_with_high_probability(model):
    assert len(dry_rows(days_of(model, (2,) * 8))) == 8
    assert dry_rows(days_of(model, (5,) * 8)) == frozenset()
    assert dry_rows(days_of(model, (5, 60, 5))) == {TODAY, TODAY + timedelta(2)}


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        ({"wind_gusts_max": 74.9}, []),
        ({"wind_gusts_max": 75.0, "temperature_max": 35.0}, ["wind", "heat"]),
        ({"temperature_max": 34.9, "snowfall_sum": 9.9}, []),
        ({"snowfall_sum": 30.0, "wind_gusts_max": 80.0}, ["heavy_snow", "wind"]),
    ],
)
def test_weather_warnings_list_the_worst_danger_first(model, gazetteer, fields, kinds):
    calm = {"wind_gusts_max": 10.0, "temperature_max": 20.0, "snowfall_sum": 0.0}
    day = msgspec.structs.replace(model, date=TODAY, **{**calm, **fields})
    found = dangers([day], TODAY, weather(query(gazetteer), NOW).units, WORDS)
    assert [one.kind for one in found] == kinds


def test_forecast_shown_as_dry_comes_true_in_at_least_seven_of_ten_cases(shared_data, model):
    """Forecasts as issued, beside what then fell, over every lead and up to ten days.

    "Mostly dry" is true of at most one wet day, every other "dry" of none. Places where drizzle
    makes a day wet (Boston) are not judged: the chance is one of rain.
    """
    pairs = defaultdict(dict)
    for name in ("nyc_openmeteo14", "adelaide_2026", "frankfurt_ecmwf_rain"):
        with gzip.open(shared_data / "forecasts" / f"{name}.csv.gz", "rt") as file:
            for row in csv.DictReader(file):
                if row["variable"] == "pop" and row["forecast"] and row["observed"]:
                    pairs[row["source"], row["station"], row["issued_date"]][
                        int(row["lead_days"])
                    ] = float(row["forecast"]), float(row["observed"])
    outcomes = defaultdict(list)
    for (*_, issued), leads in pairs.items():
        today = date.fromisoformat(issued)
        for start, length in itertools.product(leads, (1, 2, 3, 5, 7, 10)):
            stay = [leads.get(start + n) for n in range(length)]
            if None in stay:
                continue
            days = days_of(model, [100 * p for p, _ in stay], start=today + timedelta(start))
            value = rain(days, today, METRIC, WORDS).value
            wet = sum(fell for _, fell in stay)
            outcomes[value, length].append(wet <= (value == "Mostly dry"))
    for (value, length), came in sorted(outcomes.items()):
        if "dry" in value.lower() and len(came) >= FEW:
            print(f"{value}, {length} days: {sum(came) / len(came):.1%} of {len(came)}")
            assert sum(came) / len(came) >= 1 - MOST_WRONG, (value, length)
    for value in ("Dry", "Very likely dry", "Probably dry", "Mostly dry"):
        assert sum(len(came) for (said, _), came in outcomes.items() if said == value) > 1000
