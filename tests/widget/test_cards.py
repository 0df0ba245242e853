"""What the cards say is true of the numbers below them, and what they draw is to scale."""

from __future__ import annotations

import asyncio
import math
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.gazetteer.gazetteer import Gazetteer
from location_context.localisation.formats import Formats
from location_context.localisation.language import Languages
from location_context.sections.astronomy.card import card as sky
from location_context.sections.astronomy.card.nights import RADIUS, lit_part, turn
from location_context.sections.astronomy.card.sun import _altitude, _declination
from location_context.sections.astronomy.section import Astronomy
from location_context.sections.contract import PointBody, Query
from location_context.sections.events.card import card as programme
from location_context.sections.guide.card import card as tables
from location_context.sections.weather.card import card as weather_card
from location_context.sections.weather.card import lead as card_lead
from location_context.stay import Stay
from location_context.upstream.deadline import Deadline
from tests.widget.samples import events, guide, weather

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LANGUAGES = Languages.load()
WORDS = Formats(LANGUAGES.english)
NO_BREAK = "\u00a0"


@pytest.fixture(scope="module")
def gazetteer() -> Gazetteer:
    return Gazetteer.load()


def query(gazetteer, lat=43.3183, lng=-1.9812, start="2026-11-22", days=8, *, units="metric"):
    first = date.fromisoformat(start)
    stay = Stay(first, first + timedelta(days=days - 1))
    return Query(gazetteer.point(lat, lng), stay, units, LANGUAGES.english)


def read(section, asked):
    """The section's body, read beside whatever loop a browser keeps running in this thread."""

    async def body():
        return (await section.read(asked, Deadline.after(30))).body

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(body())).result()


days = st.lists(
    st.tuples(
        st.integers(-40, 45),
        st.one_of(st.none(), st.integers(0, 100)),
        st.sampled_from(["clear", "rain", "snow", "sleet", None]),
    ),
    min_size=1,
    max_size=16,
)


@given(days)
def test_the_forecasts_sentence_is_true_of_its_days(gazetteer, found):
    body = weather(query(gazetteer, days=len(found)), NOW)
    shown = [
        msgspec.structs.replace(
            day,
            temperature_max=float(high),
            precipitation_probability=chance,
            precipitation_sum=None,
            condition=condition,
        )
        for day, (high, chance, condition) in zip(body.days, found, strict=True)
    ]
    said = card_lead.forecast(msgspec.structs.replace(body, days=shown), WORDS)
    highs = [high for high, _, _ in found]
    assert WORDS.temperatures(min(highs), max(highs)) in said
    wet = [n for n, (_, chance, _) in enumerate(found) if (chance or 0) >= 50]
    chances = [chance for _, chance, _ in found]
    assert ("dry throughout" in said) == all(c is not None and c < 30 for c in chances)
    assert ("dry" in said) == (not wet and None not in chances)
    if "every day" in said:
        assert len(wet) == len(found)
    for n, day in enumerate(shown):
        if wet and len(wet) <= 2 and len(wet) < len(found):
            named = re.search(rf"{WORDS.day(day.date)}\b", said) is not None
            assert named == (n in wet)
    if "snow" in said.replace("rain or snow", ""):
        assert all(found[n][2] == "snow" for n in wet)
    assert said.endswith(".")
    assert ".." not in said


@given(st.integers(-40, 45).map(lambda n: n + 0.5), st.sampled_from(["metric", "imperial"]))
def test_the_word_for_warmth_does_not_depend_on_units(gazetteer, celsius, units):
    body = weather(query(gazetteer, units=units), NOW)
    value = celsius if units == "metric" else celsius * 1.8 + 32
    metric = weather(query(gazetteer), NOW)
    assert card_lead.warmth(value, body, WORDS) == card_lead.warmth(celsius, metric, WORDS)


def test_what_is_typical_names_its_own_means(gazetteer):
    body = weather(query(gazetteer, start="2027-08-07"), NOW)
    said = card_lead.typical(body, WORDS)
    high, low = body.summary.temperature_max_mean, body.summary.temperature_min_mean
    wet = round(body.summary.expected_wet_days)
    assert f"{WORDS.temperature(high)} by day and {WORDS.temperature(low)} at night" in said
    assert f"rain on about {wet} of 8 days" in said


def test_an_unknown_day_is_a_dash_without_a_bar_and_spoken_as_not_known(gazetteer):
    body = weather(query(gazetteer), NOW)
    gone = dict.fromkeys(
        ("temperature_max", "temperature_min", "temperature_mean", "precipitation_probability",
         "precipitation_sum", "condition", "summary")
    )  # fmt: skip
    last = msgspec.structs.replace(body.days[-1], **gone)
    shown = msgspec.structs.replace(body, days=[*body.days[:-1], last])
    view = weather_card.card(shown, None, WORDS, NOW).groups[0].days[-1]
    assert (view.high, view.low, view.chance, view.bar) == ("", "", "", "")
    assert view.spoken.count("not known") == 3


def test_a_monthly_average_is_never_dressed_as_daily_values(gazetteer):
    body = weather(query(gazetteer, start="2027-08-07"), NOW)
    gone = dict.fromkeys(
        ("temperature_max", "temperature_min", "temperature_max_p10", "temperature_max_p90",
         "temperature_min_p10", "temperature_min_p90", "precipitation_probability", "condition")
    )  # fmt: skip
    monthly = msgspec.structs.replace(
        body,
        days=[msgspec.structs.replace(day, **gone) for day in body.days],
        basis=msgspec.structs.replace(body.basis, kind="monthly_mean", years=[]),
        history=[],
    )
    card = weather_card.card(monthly, None, WORDS, NOW)
    assert card.badge == "Monthly average"
    assert card.monthly
    assert card.years is None
    assert "on average" in card.lead
    assert "forecast" not in card.lead.lower()


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(0, 30)), min_size=1, max_size=16))
def test_bars_lie_inside_the_one_scale(gazetteer, found):
    body = weather(query(gazetteer, days=len(found)), NOW)
    shown = [
        msgspec.structs.replace(day, temperature_max=low + more, temperature_min=low)
        for day, (low, more) in zip(body.days, found, strict=True)
    ]
    card = weather_card.card(msgspec.structs.replace(body, days=shown), None, WORDS, NOW)
    for begin, length in re.findall(r"--a:([\d.]+)%;--b:([\d.]+)%", card.style):
        assert 0 <= float(begin) <= 100
        assert float(begin) + float(length) <= 100.2


@given(st.floats(0, 359.9))
def test_the_moons_lit_part_has_the_area_that_is_lit(angle):
    share = (1 - math.cos(math.radians(angle))) / 2
    path = lit_part(angle, share)
    if share < 0.003:
        assert path == ""
        return
    half, side = re.search(r"A([\d.]+) 15 0 0 ([01]) 0-15Z", path).groups()
    drawn = (
        math.pi * RADIUS**2 / 2 + (1 if side == "1" else -1) * math.pi * RADIUS * float(half) / 2
    )
    assert drawn / (math.pi * RADIUS**2) == pytest.approx(share, abs=0.004)


def place(lat: float, lng: float, zone: str) -> PointBody:
    return PointBody(lat=lat, lng=lng, timezone=zone, country=None, region=None)


@pytest.mark.parametrize(
    ("point", "evening", "low", "high"),
    [
        (place(48.86, 2.35, "Europe/Paris"), date(2026, 11, 17), 0, 60),  # lit on the right
        (place(48.86, 2.35, "Europe/Paris"), date(2026, 12, 1), 90, 180),  # on the left
        (place(-33.87, 151.21, "Australia/Sydney"), date(2026, 11, 17), 120, 180),  # on the left
        (place(0.35, 32.58, "Africa/Kampala"), date(2026, 11, 13), 60, 120),  # a boat
    ],
)
def test_the_moon_leans_as_it_is_seen_from_there(point, evening, low, high):
    assert low <= turn(point, evening) <= high


@pytest.mark.parametrize(
    ("lat", "lng"), [(43.3, -1.98), (35.68, 139.76), (-33.87, 151.2), (24.1, 32.9), (64.1, -21.9)]
)
@pytest.mark.parametrize("start", ["2026-12-20", "2027-03-20", "2027-06-20"])
def test_the_suns_curve_is_its_true_altitude(gazetteer, lat, lng, start):
    """The section's golden hours, found from the ephemeris, lie at -4 and +6 degrees of it."""
    section = Astronomy.build(lambda: NOW)
    asked = query(gazetteer, lat, lng, start, 3)
    body = read(section, asked)
    day = body.days[1]
    declination = _declination(day.date, lat, day.sun.noon_altitude)
    for span, ends in (
        (day.sun.golden_hour_morning, (-4, 6)),
        (day.sun.golden_hour_evening, (6, -4)),
    ):
        for moment, altitude in zip((span.start, span.end), ends, strict=True):
            turned = math.radians((moment - day.sun.solar_noon).total_seconds() / 240)
            turns = _altitude(lat, declination, math.pi), day.sun.noon_altitude
            reached = min(max(altitude, turns[0]), turns[1])  # it may turn before
            assert _altitude(lat, declination, turned) == pytest.approx(reached, abs=0.35)


@pytest.mark.parametrize(
    ("lat", "start", "words"),
    [
        (69.65, "2026-12-10", "does not rise"),
        (69.65, "2027-06-10", "does not set"),
        (69.65, "2027-05-15", "no longer sets"),
        (69.65, "2027-07-22", "sets again"),
        (69.65, "2027-01-10", "rises again"),
        (43.3, "2027-06-10", "hours of daylight, sunset near"),
    ],
)
def test_the_skys_sentence_says_what_the_sun_does(gazetteer, lat, start, words):
    section = Astronomy.build(lambda: NOW)
    body = read(section, query(gazetteer, lat, 18.96, start, 12))
    card = sky.card(body, WORDS)
    assert words in card.lead
    assert len(card.nights) == 11
    if words == "does not set":
        assert card.path.sunrise == ""
        assert {night.window for night in card.nights} == {"Never fully dark"}


def test_restaurants_in_view_are_eight_at_most_two_a_tier_and_none_is_lost(gazetteer):
    body = guide(query(gazetteer))
    card = tables.card(body, WORDS)
    rows = [len(tier.rows) for tier in card.tiers]
    assert sum(rows) == 8
    assert max(rows) <= 2
    assert [tier.tier for tier in card.tiers] == [tier.tier for tier in body.tiers]
    assert sum(rows) + sum(len(tier.rows) for tier in card.more) == len(body.restaurants)
    assert card.more_label == "10 more restaurants"


def test_the_guides_sentence_names_the_nearest_of_the_highest_tier(gazetteer):
    body = guide(query(gazetteer))
    assert tables.lead(body, WORDS) == (
        "Goizargi (Three stars) is about 10 min away by car; 17 more restaurants within reach."
    )
    one = msgspec.structs.replace(body, restaurants=body.restaurants[-1:], total=1)
    assert tables.lead(one, WORDS) == "Errekalde (Selected) is about 12 min away on foot."


def test_every_event_is_shown_once_and_holidays_are_in_view(gazetteer):
    body = events(query(gazetteer))
    card = programme.card(body, WORDS)
    shown = [event.title for day in card.dates for event in day.events]
    rest = [event.title for day in card.more for event in day.events]
    assert len(shown) == 8
    assert sorted(shown + rest) == sorted(event.title for event in body.events)
    assert "Assumption Day" in shown
    assert card.dates[0].events[0].title == "Aste Nagusia, the Big Week"
    assert card.dates[0].day == "22–\u206029"
    assert (card.dates[1].below, card.dates[-1].below) == ("Arrive", "Leave")


def test_the_events_sentence_says_when_the_holiday_is(gazetteer):
    body = events(query(gazetteer))
    said = "Assumption Day on the day you leave; Aste Nagusia, the Big Week all through the stay."
    assert programme.lead(body, WORDS) == said
    few = [event for event in body.events if event.category == "concert"]
    assert programme.lead(msgspec.structs.replace(body, events=few), WORDS) == (
        "2 events during the stay."
    )


def test_what_is_estimated_or_postponed_is_said_in_words(gazetteer):
    body = events(query(gazetteer))
    card = programme.card(body, WORDS)
    metas = {e.title: e.meta for part in (card.dates, card.more) for d in part for e in d.events}
    assert metas["Real Sociedad, league match"].startswith("Date estimated")
    assert metas["Theatre in Basque: Amets"].startswith("Postponed")
    assert "from" + NO_BREAK + "€18" in metas["Basque National Orchestra"]
    assert "free" in metas["Eclipse watch, Monte Urgull"]
