"""What the weather card says is true of the days below it, and what it draws is to scale."""

import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from location_context.sections.weather import summary_text
from location_context.sections.weather.card import card as weather_card
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
    said = summary_text.forecast_headline(msgspec.structs.replace(body, days=shown), WORDS)
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
    assert summary_text.warmth(value, body, WORDS) == summary_text.warmth(celsius, metric, WORDS)


def test_what_is_typical_names_its_own_means(gazetteer):
    body = weather(query(gazetteer, start="2027-08-07"), NOW)
    said = summary_text.typical_headline(body, WORDS)
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
