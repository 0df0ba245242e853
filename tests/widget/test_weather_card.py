"""What the weather card says is true of the days below it, and what it draws is to scale."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Languages
from location_context.sections.weather import card as weather_card
from location_context.sections.weather import summary_text
from location_context.sections.weather.response import Typical, YearBody
from location_context.sections.weather.summary_text import stay_text
from tests.widget.queries import NOW, WORDS, query
from tests.widget.samples.weather import weather

TODAY = NOW.date()


def test_rain_text_of_a_stay_partly_beyond_the_forecast_covers_all_its_days(gazetteer):
    whole = msgspec.structs.replace(
        weather(query(gazetteer, start="2026-12-03", days=9), NOW), mode="climatology"
    )
    near = weather(query(gazetteer, start="2026-12-03", days=4), NOW)
    assert " of 9" in weather_card.card(whole, near, WORDS, NOW).facts[1].value


def test_weather_summary_of_a_stay_in_progress_covers_the_remaining_days(gazetteer):
    body = weather(query(gazetteer, start="2026-11-21", days=4), NOW)
    highs, chances = (40.0, 40.0, 20.0, 21.0), (100.0, 100.0, 1.0, 1.0)
    shown = [
        msgspec.structs.replace(day, temperature_max=high, precipitation_probability=chance)
        for day, high, chance in zip(body.days, highs, chances, strict=True)
    ]
    body = msgspec.structs.replace(body, days=shown)
    said = stay_text(body, shown[2].date, WORDS)
    assert WORDS.plain(said) == "Mild, 20–21 °C by day. Dry, 2% chance of rain over 2 days."


def unusually(gazetteer, highs, usual, years, fmt=WORDS, **request):
    """The headline of days with these highs, of which so much is usual and the years had that."""
    body = weather(query(gazetteer, days=len(highs), **request), NOW)
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
    return stay_text(msgspec.structs.replace(body, days=shown, history=history), TODAY, fmt)


@pytest.mark.parametrize(
    ("tag", "units", "warmer", "cooler"),
    [
        ("en", "metric", "About 4\u00a0°C warmer than usual for these dates.", "cooler"),
        ("en", "imperial", "About 4\u00a0°F warmer than usual for these dates.", "cooler"),
        ("de", "metric", "Etwa 4\u00a0°C wärmer als an diesen Tagen üblich.", "kühler"),
        ("ja", "metric", "この時期としては例年より約4\u00a0°C高めです。", "低め"),
    ],
)
def test_weather_summary_states_how_much_warmer_or_cooler_than_usual_the_stay_is(
    gazetteer, tag, units, warmer, cooler
):
    fmt = Formatter(Languages.load().choose(tag))
    years = [19.0, 21.0] * 5
    assert unusually(gazetteer, [24.1] * 3, 20.0, years, fmt, units=units).endswith(warmer)
    assert cooler in unusually(gazetteer, [15.9] * 3, 20.0, years, fmt, units=units)
    unchanged = unusually(gazetteer, [20.2] * 3, 20.0, years, fmt, units=units)
    assert len(unchanged) < len(unusually(gazetteer, [24.1] * 3, 20.0, years, fmt, units=units))


def test_weather_summary_calls_a_stay_unusual_only_if_no_day_lacks_data(gazetteer):
    years = [19.0, 21.0] * 5
    assert "usual" in unusually(gazetteer, [24.0] * 3, 20.0, years)
    assert "usual" not in unusually(gazetteer, [24.0, None, 24.0], 20.0, years)


@given(st.integers(-40, 150).map(lambda n: n + 0.5), st.sampled_from(["metric", "imperial"]))
def test_word_for_warmth_is_the_same_in_metric_and_imperial_units(gazetteer, celsius, units):
    body = weather(query(gazetteer, units=units), NOW)
    value = celsius if units == "metric" else celsius * 1.8 + 32
    metric = weather(query(gazetteer), NOW)
    assert summary_text.warmth(value, body, WORDS) == summary_text.warmth(celsius, metric, WORDS)


def days_of(gazetteer, **request):
    return weather(query(gazetteer, **request), NOW)


def without(day, *names):
    return msgspec.structs.replace(day, **dict.fromkeys(names))


UNKNOWN = (
    "temperature_max", "temperature_min", "temperature_mean", "precipitation_probability",
    "precipitation_sum", "condition", "summary",
)  # fmt: skip


def test_day_without_weather_data_has_no_numbers_and_no_bar(gazetteer):
    body = days_of(gazetteer)
    shown = msgspec.structs.replace(body, days=[*body.days[:-1], without(body.days[-1], *UNKNOWN)])
    row = weather_card.card(shown, None, WORDS, NOW).timeline.rows[-1]
    assert (row.high, row.low, row.rain, row.span) == ("", "", "", None)
    assert row.spoken.count("not known") == 3


def test_weather_card_of_a_monthly_average_shows_no_daily_values(gazetteer):
    body = days_of(gazetteer, start="2027-08-07")
    fields = (
        "temperature_max", "temperature_min", "temperature_max_p10", "temperature_max_p90",
        "temperature_min_p10", "temperature_min_p90", "precipitation_probability", "condition",
    )  # fmt: skip
    monthly = msgspec.structs.replace(
        body,
        days=[without(day, *fields) for day in body.days],
        basis=msgspec.structs.replace(body.basis, kind="monthly_mean", years=[]),
        history=[],
    )
    card = weather_card.card(monthly, None, WORDS, NOW)
    assert card.timeline.badge == "Monthly average"
    assert card.facts[0].caption == "on average, day and night"
    assert (card.view.row.low, card.view.range, card.view.row.span) == ("", "", None)
    assert card.folds == []


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(0, 30)), min_size=1, max_size=16))
def test_ends_of_temperature_bars_are_in_order_and_within_the_scale(gazetteer, found):
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
def test_each_temperature_always_has_the_same_colour(celsius, colour):
    assert weather_card.colour(celsius) == colour


def test_temperature_bars_are_the_same_in_fahrenheit_and_celsius(gazetteer):
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
def test_card_has_a_row_per_day_up_to_ten_days_and_a_row_per_week_for_longer_stays(
    gazetteer, start, days, rows, heading
):
    card = weather_card.card(days_of(gazetteer, start=start, days=days), None, WORDS, NOW)
    assert len(card.timeline.rows) == rows
    assert card.timeline.heading == heading
    assert bool(card.template) == (rows == 0)


def test_equal_typical_days_share_a_row_but_forecast_days_have_rows_of_their_own(gazetteer):
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
