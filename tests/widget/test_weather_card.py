"""What the weather card says is true of the days below it, and what it draws is to scale."""

import math
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Languages
from location_context.sections.weather import card as weather_card
from location_context.sections.weather import summary_text
from location_context.sections.weather.response import Typical, YearBody
from tests.widget.queries import NOW, WORDS, query
from tests.widget.samples.weather import weather

days = st.lists(
    st.tuples(
        st.integers(-40, 45),
        st.one_of(st.none(), st.integers(0, 100)),
        st.sampled_from(["clear", "rain", "snow", "sleet", None]),
    ),
    min_size=1,
    max_size=16,
)


def sentence_of(gazetteer, found, fmt=WORDS, start="2026-11-21", **asked):
    """The card's headline over days with these highs, chances and conditions; and the days."""
    body = weather(query(gazetteer, start=start, days=len(found), **asked), NOW)
    shown = [
        msgspec.structs.replace(
            day,
            temperature_max=float(high),
            temperature_min=float(high),
            temperature_mean=float(high),
            precipitation_probability=chance,
            precipitation_sum=None,
            condition=condition,
        )
        for day, (high, chance, condition) in zip(body.days, found, strict=True)
    ]
    wet = sum(chance or 0 for _, chance, _ in found) / 100
    summary = msgspec.structs.replace(body.summary, expected_wet_days=wet)
    body = msgspec.structs.replace(body, days=shown, summary=summary)
    return weather_card.headline(body, None, fmt), shown


@given(days)
def test_the_forecasts_sentence_states_only_what_its_chances_make_likely(gazetteer, found):
    said, shown = sentence_of(gazetteer, found)
    highs = [high for high, _, _ in found]
    assert WORDS.temperatures(min(highs), max(highs)).replace("°", "") + "\u00a0°C" in said
    chances = [(chance or 0) / 100 for _, chance, _ in found]
    unknown = any(chance is None for _, chance, _ in found)
    if "dry throughout" in said:
        assert not unknown
        assert math.prod(1 - chance for chance in chances) >= 0.7
    if "every day" in said:
        assert not unknown
        assert math.prod(chances) >= 0.7
    if counted := re.search(r"on about (\d+) of (\d+) days", said):
        assert int(counted[1]) == math.floor(sum(chances) + 0.5) > 0
    for day, chance in zip(shown, chances, strict=True):
        if re.search(rf"{WORDS.day(day.date)}\b", said):
            assert chance >= 0.7
    assert said.endswith(".")
    assert ".." not in said


@pytest.mark.parametrize(
    ("chances", "clause"),
    [
        ((5, 5, 5, 5, 5), "; dry throughout."),
        ((9, 9, 9, 9, 9), "; mostly dry."),
        ((25,) * 7, "; rain on about 2 of 7 days."),
        ((10, 10, 10, 10, 10), "; rain on about 1 of 5 days."),  # half a day is no "about 0"
        ((95, 95, 95), "; rain every day."),
        ((80, 80, 80), "; rain on about 2 of 3 days."),
        ((5, 90, 5, 80, 5), "; rain on Sun\u00a022 and Tue\u00a024."),
        ((5, 75, 5, 75, 5), "; rain on about 2 of 5 days."),  # both together are less than sure
        ((5, 69, 5), "; rain on about 1 of 3 days."),
        ((5, 90, None), "; rain on about 1 of 2 days."),
        ((5, 5, None), " by day."),
        ((40,), "; chance of rain 40%."),
    ],
)
def test_the_clause_on_rain_follows_from_the_chances(gazetteer, chances, clause):
    said, _ = sentence_of(gazetteer, [(20, chance, "rain") for chance in chances])
    assert said.endswith(clause)


@pytest.mark.parametrize(
    ("celsius", "condition", "units", "word"),
    [
        (-16, "rain", "metric", "snow"),
        (-16, "cloudy", "metric", "snow"),
        (-16, None, "imperial", "snow"),
        (0, "cloudy", "metric", "rain or snow"),
        (1, "rain", "metric", "rain"),
        (5, "sleet", "metric", "rain or snow"),
        (5, "snow", "metric", "snow"),
        (20, None, "imperial", "rain"),
    ],
)
def test_the_sentence_names_what_falls_at_that_temperature(
    gazetteer, celsius, condition, units, word
):
    value = celsius if units == "metric" else celsius * 1.8 + 32
    for start in ("2026-11-21", "2027-08-07"):  # a forecast, and what is typical
        said, _ = sentence_of(gazetteer, [(value, 60, condition)] * 4, units=units, start=start)
        assert f"; {word} on about 2 of 4 days." in said


def test_the_sentence_of_dry_dates_in_past_years_counts_no_days(gazetteer):
    said, _ = sentence_of(gazetteer, [(30, 6, "clear")] * 8, start="2027-08-07")
    assert said.endswith("; mostly dry.")


@pytest.mark.parametrize("tag", Languages.load().tags)
def test_the_sentence_is_another_in_each_language_for_each_claim(gazetteer, tag):
    fmt = Formatter(Languages.load().choose(tag))
    kinds = [(5, "rain"), (9, "rain"), (25, "rain"), (60, "sleet"), (60, "snow"), (97, "rain"),
             (97, "sleet"), (97, "snow")]  # fmt: skip
    said = [
        sentence_of(gazetteer, [(5, chance, condition)] * 5, fmt)[0] for chance, condition in kinds
    ]
    assert len(set(said)) == len(kinds)
    assert all("{" not in one for one in said)


def unusually(gazetteer, highs, usual, years, fmt=WORDS, **asked):
    """The headline of days with these highs, of which so much is usual and the years had that."""
    body = weather(query(gazetteer, days=len(highs), **asked), NOW)
    shown = [
        msgspec.structs.replace(
            day,
            temperature_max=high,
            typical=Typical(
                temperature_max=usual,
                temperature_max_p10=None,
                temperature_max_p90=None,
                temperature_min=None,
                precipitation_probability=None,
                years=[],
            ),
        )
        for day, high in zip(body.days, highs, strict=True)
    ]
    history = [
        YearBody(
            year=2016 + n,
            temperature_max_mean=mean,
            temperature_min_mean=None,
            precipitation_total=None,
            wet_days=None,
        )
        for n, mean in enumerate(years)
    ]
    return weather_card.headline(
        msgspec.structs.replace(body, days=shown, history=history), None, fmt
    )


@pytest.mark.parametrize(
    ("tag", "units", "warmer", "cooler"),
    [
        ("en", "metric", "About 4\u00a0°C warmer than usual for these dates.", "cooler"),
        ("en", "imperial", "About 4\u00a0°F warmer than usual for these dates.", "cooler"),
        ("de", "metric", "Etwa 4\u00a0°C wärmer als an diesen Tagen üblich.", "kühler"),
        ("ja", "metric", "この時期としては例年より約4\u00a0°C高めです。", "低め"),
    ],
)
def test_the_sentence_tells_a_difference_which_has_no_offset(gazetteer, tag, units, warmer, cooler):
    fmt = Formatter(Languages.load().choose(tag))
    years = [19.0, 21.0] * 5
    assert unusually(gazetteer, [24.1] * 3, 20.0, years, fmt, units=units).endswith(warmer)
    assert cooler in unusually(gazetteer, [15.9] * 3, 20.0, years, fmt, units=units)
    unchanged = unusually(gazetteer, [20.2] * 3, 20.0, years, fmt, units=units)
    assert len(unchanged) < len(unusually(gazetteer, [24.1] * 3, 20.0, years, fmt, units=units))


def test_the_sentence_calls_only_whole_stays_unusual(gazetteer):
    years = [19.0, 21.0] * 5
    assert "usual" in unusually(gazetteer, [24.0] * 3, 20.0, years)
    assert "usual" not in unusually(gazetteer, [24.0, None, 24.0], 20.0, years)


@given(st.integers(-40, 150).map(lambda n: n + 0.5), st.sampled_from(["metric", "imperial"]))
def test_the_word_for_warmth_does_not_depend_on_units(gazetteer, celsius, units):
    body = weather(query(gazetteer, units=units), NOW)
    value = celsius if units == "metric" else celsius * 1.8 + 32
    metric = weather(query(gazetteer), NOW)
    assert summary_text.warmth(value, body, WORDS) == summary_text.warmth(celsius, metric, WORDS)


def test_what_is_typical_names_its_own_means(gazetteer):
    body = weather(query(gazetteer, start="2027-08-07"), NOW)
    said = weather_card.headline(body, None, WORDS)
    high, low = body.summary.temperature_max_mean, body.summary.temperature_min_mean
    wet = round(body.summary.expected_wet_days)
    high, low = (WORDS.temperature(value).replace("°", "\u00a0°C") for value in (high, low))
    assert f"{high} by day and {low} at night" in said
    assert f"rain on about {wet} of 8 days" in said


def days_of(gazetteer, **asked):
    return weather(query(gazetteer, **asked), NOW)


def without(day, *names):
    return msgspec.structs.replace(day, **dict.fromkeys(names))


UNKNOWN = (
    "temperature_max", "temperature_min", "temperature_mean", "precipitation_probability",
    "precipitation_sum", "condition", "summary",
)  # fmt: skip


def test_an_unknown_day_has_no_numbers_and_no_bar_and_is_spoken_as_not_known(gazetteer):
    body = days_of(gazetteer)
    shown = msgspec.structs.replace(body, days=[*body.days[:-1], without(body.days[-1], *UNKNOWN)])
    row = weather_card.card(shown, None, WORDS, NOW).timeline.rows[-1]
    assert (row.high, row.low, row.rain, row.span) == ("", "", "", None)
    assert row.spoken.count("not known") == 3


def test_a_monthly_average_is_never_dressed_as_daily_values(gazetteer):
    body = days_of(gazetteer, start="2027-08-07")
    gone = (
        "temperature_max", "temperature_min", "temperature_max_p10", "temperature_max_p90",
        "temperature_min_p10", "temperature_min_p90", "precipitation_probability", "condition",
    )  # fmt: skip
    monthly = msgspec.structs.replace(
        body,
        days=[without(day, *gone) for day in body.days],
        basis=msgspec.structs.replace(body.basis, kind="monthly_mean", years=[]),
        history=[],
    )
    card = weather_card.card(monthly, None, WORDS, NOW)
    assert card.timeline.badge == "Monthly average"
    assert card.facts[0].caption == "on average, day and night"
    assert (card.view.low, card.view.range, card.view.span) == ("", "", None)
    assert card.folds == []


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(0, 30)), min_size=1, max_size=16))
def test_bars_lie_inside_the_one_scale_and_in_order(gazetteer, found):
    body = days_of(gazetteer, days=len(found))
    shown = [
        msgspec.structs.replace(day, temperature_max=low + more, temperature_min=low)
        for day, (low, more) in zip(body.days, found, strict=True)
    ]
    timeline = weather_card.card(
        msgspec.structs.replace(body, days=shown), None, WORDS, NOW
    ).timeline
    for row in timeline.rows:
        assert 0 <= row.span[0] <= row.span[1] <= row.span[2] <= row.span[3] <= 100
    assert [at for at, _ in timeline.stops] == sorted(at for at, _ in timeline.stops)
    assert (timeline.stops[0][0], timeline.stops[-1][0]) == (0, 100)


@pytest.mark.parametrize(
    ("celsius", "colour"),
    [(-40, "#7459c8"), (0, "#2c84d3"), (4, "#288ec4"), (25, "#d0771f"), (50, "#ad3160")],
)
def test_a_temperature_has_its_own_colour_on_every_page(celsius, colour):
    assert weather_card.colour(celsius) == colour


def test_degrees_fahrenheit_are_drawn_as_degrees_celsius_are(gazetteer):
    metric, imperial = (
        weather_card.card(days_of(gazetteer, units=units), None, WORDS, NOW).timeline
        for units in ("metric", "imperial")
    )
    for one, other in zip(metric.rows, imperial.rows, strict=True):
        assert one.span == pytest.approx(other.span, abs=1.5)
    assert [colour for _, colour in metric.stops[1:-1]] == [
        colour for _, colour in imperial.stops[1:-1]
    ]


@pytest.mark.parametrize(
    ("start", "days", "rows", "heading"),
    [
        ("2026-11-22", 5, 5, "Your stay, day by day"),
        ("2026-11-22", 10, 10, "Your stay, day by day"),
        ("2026-11-22", 14, 2, "Your stay, week by week"),
        ("2027-08-07", 10, 0, "A typical day of your stay"),
        ("2027-08-07", 31, 5, "Your stay, week by week"),
        ("2027-08-07", 92, 14, "Your stay, week by week"),
    ],
)
def test_days_have_rows_up_to_ten_and_weeks_beyond_and_a_typical_stay_is_one_day(
    gazetteer, start, days, rows, heading
):
    card = weather_card.card(days_of(gazetteer, start=start, days=days), None, WORDS, NOW)
    assert len(card.timeline.rows) == rows
    assert card.timeline.heading == heading
    assert bool(card.template) == (rows == 0)


def test_typical_days_that_are_alike_share_a_row_and_never_with_a_forecast(gazetteer):
    whole = days_of(gazetteer, start="2026-12-03", days=9)
    whole = msgspec.structs.replace(
        whole,
        mode="climatology",
        days=[msgspec.structs.replace(day, temperature_max=12.0) for day in whole.days],
    )
    near = days_of(gazetteer, start="2026-12-03", days=4)
    rows = weather_card.card(whole, near, WORDS, NOW).timeline.rows
    assert [(row.last - row.first).days for row in rows] == [0, 0, 0, 0, 4]
    assert [row.typical for row in rows] == [False] * 4 + [True]
    warm = [
        msgspec.structs.replace(day, temperature_max=12.0 + 3 * number)
        for number, day in enumerate(whole.days)
    ]
    rows = weather_card.card(
        msgspec.structs.replace(whole, days=warm), near, WORDS, NOW
    ).timeline.rows
    assert len(rows) == 9


def test_a_row_says_dry_only_where_all_rows_so_worded_are_probably_dry(gazetteer):
    body = days_of(gazetteer)

    def words(chance):
        days = [msgspec.structs.replace(d, precipitation_probability=chance) for d in body.days]
        card = weather_card.card(msgspec.structs.replace(body, days=days), None, WORDS, NOW)
        return {row.rain for row in card.timeline.rows}

    assert words(2) == {"dry"}
    assert words(5) == {"5%"}, "eight such days are dry in two cases of three"
