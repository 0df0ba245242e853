"""What is said of a stay's rain is true of its chances, and comes true of what then falls."""

import csv
import gzip
import math
import random
import re
from collections import defaultdict
from datetime import date, timedelta

import msgspec
import pytest

from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Languages
from location_context.sections.weather.rain import dry_rows, rain, usual_rain
from location_context.sections.weather.warning import dangers
from tests.widget.queries import NOW, WORDS, query
from tests.widget.samples.weather import weather

TODAY = NOW.date()
LANGUAGES = [Formatter(Languages.load().choose(tag)) for tag in Languages.load().tags]
STAYS = 3000
MOST_WRONG = 0.3  # of what is said


@pytest.fixture(scope="module")
def model(gazetteer):
    return weather(query(gazetteer), NOW).days[0]


def days_of(model, chances, condition="rain", start=TODAY):
    return [
        msgspec.structs.replace(
            model,
            date=start + timedelta(number),
            precipitation_probability=chance,
            condition=condition if (chance or 0) >= 50 else "cloudy",
        )
        for number, chance in enumerate(chances)
    ]


def said(days, today=TODAY, fmt=WORDS):
    found = rain(days, today, fmt)
    return f"{found.value} | {found.caption}".replace("\u00a0", " ").replace("\u2060", "")


@pytest.mark.parametrize(
    ("chances", "words"),
    [
        ((1, 1, 1), "Dry | 3% chance of rain over the stay"),
        ((1,) * 8, "Very likely dry | 8% chance of rain over the stay"),
        ((5,) * 5, "Probably dry | 23% chance of rain over the stay"),
        ((5, 5, 65, 20, 5), "Rain on Mon 23 | 76% chance of rain over the stay"),
        ((15,) * 5, "Mostly dry | perhaps one wet day"),
        ((90,) * 4, "Rain most days | most likely on Sat 21"),
        ((60, 70, 20, 60, 40), "2–3 wet days of 5 | most likely on Sun 22"),
        ((50, 50, 60, 40), "2 wet days of 4 | most likely on Mon 23"),
    ],
)
def test_the_first_rule_that_fits_is_said(model, chances, words):
    assert said(days_of(model, chances)) == words


def test_snow_is_named_where_it_falls_on_most_wet_days(model):
    assert said(days_of(model, (60, 70, 20, 60, 40), "snow")).startswith("2–3 snowy days of 5")
    assert said(days_of(model, (90,) * 3, "heavy_snow")).startswith("Snow most days")


def test_nothing_is_said_where_no_chance_is_known(model):
    assert rain(days_of(model, (None, None)), TODAY, WORDS) is None
    assert usual_rain(days_of(model, (None,)), WORDS) is None


def test_every_sentence_is_true_of_the_numbers_in_every_language(model):
    """Each computed anew from the chances alone."""
    chance = random.Random(27)
    for number in range(STAYS):
        fmt = LANGUAGES[number % len(LANGUAGES)]
        wet = chance.choice((5, 20, 60, 100))
        chances = [chance.randint(0, wet) for _ in range(chance.randint(1, 16))]
        condition = chance.choice(("rain", "snow"))
        days = days_of(model, chances, condition)
        found = rain(days, TODAY, fmt)
        assert "{" not in found.value + found.caption
        dry = math.prod(1 - one / 100 for one in chances)
        expected = sum(chances) / 100
        numbers = [int(n) for n in re.findall(r"\d+", fmt.plain(found.value))]
        check = Formatter(Languages.load().choose("en"))
        english = rain(days, TODAY, check).value
        if english in {"Dry", "Very likely dry"}:
            assert dry >= 0.9
        elif english == "Probably dry":
            assert 0.75 <= dry < 0.9
        elif english == "Mostly dry":
            assert dry >= 0.4
            assert expected < 1
        elif english.endswith("most days"):
            assert expected / len(chances) >= 0.8
        elif " on " in english:
            best = max(range(len(chances)), key=lambda n: chances[n])
            assert fmt.day(days[best].date) in found.value
            assert chances[best] >= 50
        else:
            *counted, total = (
                numbers if fmt.language.tag not in {"ja", "zh-Hans"} else (*numbers[1:], numbers[0])
            )
            assert total == len(chances)
            assert min(counted) >= 1
            assert min(counted) - 1 <= expected <= max(counted) + 1
        if "%" in found.caption or "٪" in found.caption:
            assert fmt.percent(100 * (1 - dry)) in found.caption


def test_the_typical_days_are_counted_in_tens(model):
    for chance in range(0, 101, 5):
        found = usual_rain(days_of(model, (chance,) * 7), WORDS)
        if count := re.match(r"(\d+) wet day", found.value):
            assert abs(int(count[1]) - chance / 10) <= 0.5
        else:
            assert chance <= 5
        mine = re.fullmatch(r"about (\d) of your 7", found.caption)
        assert abs(int(mine[1]) - 7 * chance / 100) <= 0.5


def test_rows_say_dry_only_where_all_that_do_are_probably_dry(model):
    assert len(dry_rows(days_of(model, (2,) * 8))) == 8
    assert dry_rows(days_of(model, (5,) * 8)) == frozenset()
    assert dry_rows(days_of(model, (5, 60, 5))) == {TODAY, TODAY + timedelta(2)}


@pytest.mark.parametrize(
    ("lead", "title"),
    [(0, "Storm expected on"), (2, "Storm expected on"), (3, "Storm likely on"),
     (7, "Storm likely on"), (8, "Storm possible on")],
)  # fmt: skip
def test_a_warning_is_hedged_by_how_far_ahead_it_is(model, gazetteer, lead, title):
    day = msgspec.structs.replace(
        model, date=TODAY + timedelta(lead), wind_gusts_max=95.0, temperature_max=20.0,
        snowfall_sum=0.0,
    )  # fmt: skip
    units = weather(query(gazetteer), NOW).units
    (found,) = dangers([day], TODAY, units, WORDS)
    assert found.title.startswith(title)
    assert ("can still change" in found.text) == (lead > 7)
    assert "95" in found.text
    assert dangers([day], TODAY + timedelta(lead + 1), units, WORDS) == []


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        ({"wind_gusts_max": 74.9}, []),
        ({"wind_gusts_max": 75.0, "temperature_max": 35.0}, ["wind", "heat"]),
        ({"temperature_max": 34.9, "snowfall_sum": 9.9}, []),
        ({"snowfall_sum": 30.0, "wind_gusts_max": 80.0}, ["heavy_snow", "wind"]),
    ],
)
def test_the_worst_danger_comes_first(model, gazetteer, fields, kinds):
    calm = {"wind_gusts_max": 10.0, "temperature_max": 20.0, "snowfall_sum": 0.0}
    day = msgspec.structs.replace(model, date=TODAY, **{**calm, **fields})
    found = dangers([day], TODAY, weather(query(gazetteer), NOW).units, WORDS)
    assert [one.kind for one in found] == kinds


def test_what_is_said_to_be_dry_comes_true_in_seven_cases_of_ten(shared_data, model):
    """Forecasts as issued, beside what then fell: each stay that begins with a day of issue."""
    pairs = defaultdict(dict)
    for name in ("nyc_openmeteo14", "us10_nws_2526", "nws_us160_2021"):
        with gzip.open(shared_data / "forecasts" / f"{name}.csv.gz", "rt") as file:
            for row in csv.DictReader(file):
                if row["variable"] == "pop" and row["forecast"] and row["observed"]:
                    key = name, row["station"], row["issued_date"]
                    pairs[key][int(row["lead_days"])] = (
                        float(row["forecast"]), float(row["observed"]),
                    )  # fmt: skip
    outcomes = defaultdict(list)
    for (*_, issued), leads in pairs.items():
        start = min(leads)
        for length in (2, 3, 5, 7):
            stay = [leads.get(start + n) for n in range(length)]
            if None in stay:
                continue
            today = date.fromisoformat(issued)
            days = days_of(model, [100 * p for p, _ in stay], start=today + timedelta(start))
            value = rain(days, today, WORDS).value
            wet = sum(fell for _, fell in stay)
            outcomes[value].append(wet <= (1 if value == "Mostly dry" else 0))
    for value in ("Dry", "Very likely dry", "Probably dry", "Mostly dry"):
        came = outcomes[value]
        print(f"{value}: {sum(came) / max(len(came), 1):.1%} of {len(came)}")
        if len(came) >= 50:
            assert sum(came) / len(came) >= 1 - MOST_WRONG, value
    assert sum(len(outcomes[value]) for value in ("Dry", "Probably dry", "Mostly dry")) > 500
