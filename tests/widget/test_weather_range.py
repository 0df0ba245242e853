"""The card says how much is known of each high: in words, aloud, and drawn unlike low and high."""

import re
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.sections.weather import card as weather_card
from location_context.sections.weather.response import Typical, YearBody
from tests.widget.full_app import FORECAST, LANGUAGES, STAY, STRADDLING
from tests.widget.queries import NO_BREAK, NOW, WORDS, query, words_in
from tests.widget.samples.weather import weather

DRAWN = re.compile(r"#w\d+\{--a:[\d.]+%;--b:[\d.]+%;--c:([\d.]+)%;--d:([\d.]+)%;--f:([\d.]+)\}")
GEOMETRY = """() => [...document.querySelectorAll('.days > li')].map((day) => {
  const box = (what) => {
    const found = day.querySelector(what);
    if (!found || !found.getClientRects().length) return null;
    const drawn = document.createRange();
    drawn.selectNodeContents(found);  // the text, of which the element may be wider
    const one = found.textContent ? drawn : found;
    const {left, right, top, bottom} = one.getBoundingClientRect();
    return {left, right, top, bottom};
  };
  return {dots: box('.p'), bar: box('.bar i'), words: box('.rg'), high: box('.hi'), low: box('.lo'),
    chance: box('.pop')};
})"""


LINES = """(words) => {
  const note = document.querySelector('.weather .note').firstChild, range = document.createRange();
  const start = note.data.indexOf(words);
  range.setStart(note, start);
  range.setEnd(note, start + words.length);
  return new Set([...range.getClientRects()].map((one) => Math.round(one.bottom))).size;
}"""
LEADING = 3  # px of a line above and below its letters


def meet(one, other) -> bool:
    return (
        one["left"] < other["right"] - 0.5
        and other["left"] < one["right"] - 0.5
        and one["top"] < other["bottom"] - LEADING
        and other["top"] < one["bottom"] - LEADING
    )


def with_range(body, ranges):
    """The body with these highs and their p10 and p90, in degrees from the high."""
    days = [
        msgspec.structs.replace(
            day,
            temperature_max=high,
            temperature_min=high - 8,
            temperature_max_p10=high - below,
            temperature_max_p90=high + above,
        )
        for day, (high, below, above) in zip(body.days, ranges, strict=True)
    ]
    return msgspec.structs.replace(body, days=days)


def views(card):
    return [view for group in card.groups for view in group.days]


@given(
    st.lists(
        st.tuples(st.floats(-40, 45), st.floats(0, 12), st.floats(0, 12)), min_size=1, max_size=16
    )
)
def test_the_words_and_the_sentence_of_each_day_hold_its_tenths(gazetteer, ranges):
    body = with_range(weather(query(gazetteer, days=len(ranges)), NOW), ranges)
    card = weather_card.card(body, None, WORDS, NOW)
    for view, day in zip(views(card), body.days, strict=True):
        low, high = (
            WORDS.temperature(value) for value in (day.temperature_max_p10, day.temperature_max_p90)
        )
        expected = high if low == high else f"{low.removesuffix('°')}{NO_BREAK}to{NO_BREAK}{high}"
        assert view.range.replace(" ", NO_BREAK) == expected
        assert f"high {view.high} ({expected}, 8 days in 10)" in view.spoken
    assert card.ranges


@given(
    st.lists(
        st.tuples(st.floats(-40, 45), st.floats(0, 12), st.floats(0, 12)), min_size=2, max_size=16
    )
)
def test_the_dots_stand_on_the_bars_scale_and_a_wider_range_is_never_firmer(gazetteer, ranges):
    body = with_range(weather(query(gazetteer, days=len(ranges)), NOW), ranges)
    drawn = [tuple(map(float, found)) for found in DRAWN.findall(_style(body))]
    assert len(drawn) == len(ranges)
    for begin, length, faint in drawn:
        assert 0 <= begin <= begin + length <= 100.2
        assert 0 <= faint < 1
    widths = [below + above for _, below, above in ranges]
    by_width = [faint for _, (*_, faint) in sorted(zip(widths, drawn, strict=True))]
    assert all(one <= other + 0.011 for one, other in pairwise(by_width))


def _style(body) -> str:
    return weather_card.card(body, None, WORDS, NOW).style


def test_degrees_fahrenheit_are_drawn_as_degrees_celsius_are(gazetteer):
    metric = weather(query(gazetteer), NOW)
    imperial = weather(query(gazetteer, units="imperial"), NOW)
    faint = [
        [float(found[2]) for found in DRAWN.findall(_style(body))] for body in (metric, imperial)
    ]
    assert faint[0] == pytest.approx(faint[1], abs=0.02)
    assert max(faint[0]) > min(faint[0])


def test_certainty_fades_from_the_first_day_of_a_forecast_to_the_last(gazetteer):
    found = DRAWN.findall(_style(weather(query(gazetteer, days=10), NOW)))
    lengths = [float(length) for _, length, _ in found]
    faint = [float(value) for *_, value in found]
    assert lengths == sorted(lengths)
    assert faint == sorted(faint)
    assert lengths[-1] > 1.5 * lengths[0]
    assert faint[-1] > faint[0] + 0.3


def test_a_straddling_stay_has_the_same_marks_on_both_sides_and_no_step_at_the_seam(gazetteer):
    whole = weather(query(gazetteer, start="2026-12-01", days=12), NOW)
    near = weather(query(gazetteer, start="2026-12-01", days=6), NOW)
    card = weather_card.card(whole, near, WORDS, NOW)
    assert [group.kind for group in card.groups] == ["forecast", "typical"]
    assert all(view.range and "8 days in 10" in view.spoken for view in views(card))
    found = [tuple(map(float, one)) for one in DRAWN.findall(card.style)]
    assert len(found) == 12
    for place in (0, 1, 2):  # where the dots begin, how long they are, how faint the bar is
        steps = [abs(other[place] - one[place]) for one, other in pairwise(found)]
        assert steps[5] <= max(steps[:5] + steps[6:])


def test_without_tenths_the_card_is_as_it_was(gazetteer):
    body = weather(query(gazetteer), NOW)
    gone = dict.fromkeys(
        ("temperature_max_p10", "temperature_max_p90", "temperature_min_p10", "temperature_min_p90")
    )
    bare = msgspec.structs.replace(
        body, days=[msgspec.structs.replace(day, **gone) for day in body.days]
    )
    card = weather_card.card(bare, None, WORDS, NOW)
    assert not card.ranges
    assert "--c" not in card.style
    assert "8 days in 10" not in card.note
    for view in views(card):
        assert (view.range, view.bar.count("--")) == ("", 2)
        assert "8 days in 10" not in view.spoken


def test_a_day_without_tenths_among_others_leaves_no_mark(gazetteer):
    body = weather(query(gazetteer), NOW)
    first = msgspec.structs.replace(body.days[0], temperature_max_p10=None)
    shown = msgspec.structs.replace(body, days=[first, *body.days[1:]])
    days = views(weather_card.card(shown, None, WORDS, NOW))
    assert [bool(view.range) for view in days] == [False] + [True] * 7


def test_a_range_in_words_is_not_written_as_low_and_high_are(gazetteer):
    for tag in LANGUAGES:
        fmt = words_in(tag)
        for low, high in ((16, 22), (-12, -5), (-3, 4)):
            said = fmt.temperatures_in_words(low, high)
            assert said != fmt.temperatures(low, high)
            assert not {"–", "～", " "} & set(said)
            assert fmt.temperature(high) in said


@pytest.mark.parametrize("language", ["en", "ja", "zh-Hans", "ar"])
def test_no_line_of_the_sentence_ends_inside_a_range(full, open_page, gazetteer, language):
    page = open_page(full.address(FORECAST, lang=language)).page
    said = words_in(language).temperatures_in_words
    days = weather(query(gazetteer), NOW).days
    words = said(days[-1].temperature_max_p10, days[-1].temperature_max_p90)
    for width in range(280, 420, 20):
        page.set_viewport_size({"width": width, "height": 9000})
        assert page.evaluate(LINES, words) == 1, width


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("given", [STAY, FORECAST, STRADDLING], ids=["typical", "forecast", "both"])
def test_every_day_has_words_dots_and_speech_in_every_language(full, given, language):
    text = full.get(given, lang=language).text
    days = re.findall(r'<li id="w\d+">.*?</li>', text, flags=re.DOTALL)
    assert len(days) == 8
    for day in days:
        [spoken] = re.findall(r'<span class="vh">(.*?)</span>', day)
        [words] = re.findall(r'<span class="rg" aria-hidden="true">(.*?)</span>', day)
        assert words.replace(" ", NO_BREAK).replace("\u2060", "") in spoken  # a joiner is not heard
        assert '<i></i><i class="p"></i>' in day
    assert 'class="sw p"' in text


@pytest.mark.parametrize("language", ["en", "it", "ar", "ja", "en-US"])
def test_the_range_touches_neither_the_bar_nor_another_day(full, open_page, language):
    units = "imperial" if language == "en-US" else "metric"
    page = open_page(full.address(STRADDLING, lang=language, units=units)).page
    for width in (320, 500, 720, 1280):
        page.set_viewport_size({"width": width, "height": 9000})
        days = page.evaluate(GEOMETRY)
        assert len(days) == 8
        for day in days:
            assert not meet(day["dots"], day["bar"]), width
            for what in ("high", "low", "bar", "chance", "dots"):
                assert not meet(day["words"], day[what]), (width, what)
        for one, other in pairwise(days):
            assert not meet(one["words"], other["words"]), width
            assert not meet(one["dots"], other["bar"]), width


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_faintest_bar_keeps_an_outline_and_its_dots_in_the_full_colour(full, open_page, theme):
    page = open_page(full.address(STAY, theme=theme)).page
    colour = "getComputedStyle(document.querySelector('{}')).{}"
    fill = page.evaluate(colour.format(".ten .bar i", "backgroundColor"))
    assert page.evaluate(colour.format(".days .bar i", "backgroundColor")) == fill
    assert fill in page.evaluate(colour.format(".days .bar .p", "backgroundImage"))
    inside = "getComputedStyle(document.querySelector('.days .bar i'), '::after')"
    assert 0 < float(page.evaluate(f"{inside}.opacity")) < 1
    assert page.evaluate(f"{inside}.top") == "1.5px"


def beside_usual(body, warmer: float, swing: float):
    """The body with highs that are all this much above what is typical of ten unlike years."""
    days = [
        msgspec.structs.replace(
            day,
            typical=Typical(
                temperature_max=day.temperature_max - warmer,
                temperature_max_p10=None,
                temperature_max_p90=None,
                temperature_min=None,
                precipitation_probability=None,
                years=list(range(2016, 2026)),
            ),
        )
        for day in body.days
    ]
    usual = sum(day.typical.temperature_max for day in days) / len(days)
    history = [
        YearBody(
            year=2016 + n,
            temperature_max_mean=usual + swing * (-1) ** n,
            temperature_min_mean=None,
            precipitation_total=None,
            wet_days=None,
        )
        for n in range(10)
    ]
    return msgspec.structs.replace(body, days=days, history=history)


@pytest.mark.parametrize(
    ("warmer", "swing", "units", "said"),
    [
        (4.2, 1.0, "metric", " About 4\u00a0°C warmer than usual for these dates."),
        (-7.4, 2.0, "imperial", " About 7\u00a0°F cooler than usual for these dates."),
        (4.2, 4.0, "metric", ""),
        (0.4, 0.1, "metric", ""),
    ],
)
def test_the_card_compares_a_forecast_with_the_usual_where_years_vary_less(
    gazetteer, warmer, swing, units, said
):
    body = weather(query(gazetteer, units=units), NOW)
    headline = weather_card.headline(beside_usual(body, warmer, swing), None, WORDS)
    plain = weather_card.headline(body, None, WORDS)
    assert headline == plain + said


def test_the_card_compares_nothing_with_a_usual_that_is_not_known(gazetteer):
    body = beside_usual(weather(query(gazetteer), NOW), 9.0, 1.0)
    without = msgspec.structs.replace(body, history=[])
    unknown = [msgspec.structs.replace(day, typical=None) for day in body.days]
    for lesser in (without, msgspec.structs.replace(body, days=unknown)):
        assert "usual" not in weather_card.headline(lesser, None, WORDS)
