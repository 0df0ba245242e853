"""Dates, numbers and units as people of each language write them, and never broken apart."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest

from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Languages

LANGUAGES = Languages.load()
NB, DASH = "\u00a0", "–\u2060"
MADRID = ZoneInfo("Europe/Madrid")


def formats(tag: str) -> Formatter:
    return Formatter(LANGUAGES.choose(tag))


@pytest.mark.parametrize(
    ("tag", "shown"),
    [
        ("en", f"Wed{NB}12{NB}Aug"),
        ("en-US", f"Wed,{NB}Aug{NB}12"),
        ("de", f"Mi.,{NB}12.{NB}Aug."),
        ("ja", "8月12日(水)"),
        ("ar", f"الأربعاء،{NB}12{NB}أغسطس"),
    ],
)
def test_date_format_follows_the_language(tag, shown):
    assert formats(tag).date_short(date(2026, 8, 12)) == shown


def test_clock_format_of_12_or_24_hours_follows_the_region():
    moment = datetime(2026, 8, 8, 21, 5, tzinfo=MADRID)
    assert formats("en").time(moment) == "21:05"
    assert formats("en-US").time(moment) == "9:05\u202fPM"
    assert formats("de").times(moment, moment) == f"21:05{DASH}21:05"


@pytest.mark.parametrize(
    ("tag", "hours", "shown"),
    [
        ("en-US", (6, 7), f"6:48{DASH}7:48\u202fAM"),
        ("en-US", (11, 12), f"11:48\u202fAM{DASH}12:48\u202fPM"),
        ("ar", (6, 7), f"6:48{DASH}7:48{NB}ص"),
        ("en", (6, 7), f"06:48{DASH}07:48"),
    ],
)
def test_time_range_within_the_morning_or_afternoon_shows_am_or_pm_once(tag, hours, shown):
    start, end = (datetime(2026, 8, 8, hour, 48, tzinfo=MADRID) for hour in hours)
    assert formats(tag).times(start, end) == shown


def test_names_are_wrapped_in_bidi_isolates_only_in_right_to_left_languages():
    assert formats("ar").bidi_isolate("Kursaal") == "\u2068Kursaal\u2069"
    assert formats("ar").bidi_isolate("") == ""
    assert formats("de").bidi_isolate("Kursaal") == "Kursaal"


def test_temperature_range_is_a_single_number_if_rounding_makes_it_equal():
    assert formats("en").temperatures(21.4, 30.6) == f"21{DASH}31°"
    assert formats("en").temperatures(20.6, 21.4) == "21°"
    assert formats("en").temperatures(-5.2, 3) == f"−5°{NB}{DASH}{NB}3°"
    assert formats("en").temperature(-0.4) == "0°"


def test_minus_precedes_its_number_in_arabic():
    assert formats("ar").temperature(-5) == "\u200e−5°"


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [(0.35, "km", "350"), (0.02, "km", "50"), (3.42, "km", "3.4"), (2.0, "km", "2"),
     (23.5, "km", "24"), (0.2, "mi", "0.2"), (0.1, "mi", "0.1"), (0.09, "mi", "500"),
     (0.04, "mi", "200"), (0.0, "mi", "50")],
)  # fmt: skip
def test_distances_are_rounded_by_size(value, unit, shown):
    text = formats("en").distance(value, unit)
    assert text.split(NB)[0] == shown
    assert " " not in text


@pytest.mark.parametrize("tag", ["en", "ar", "de", "es", "fr", "it", "ja", "nl", "pt", "zh-Hans"])
def test_distance_under_a_tenth_of_a_mile_is_in_feet(tag):
    assert formats(tag).distance(0.03, "mi") == formats(tag).measure(150, "ft")


def test_whole_amounts_of_money_have_no_decimals():
    assert formats("en").money(18, "EUR") == "€18"
    assert formats("de").money(18.5, "EUR") == f"18,50{NB}€"


def test_time_zone_is_shown_by_name_if_the_language_uses_that_name_else_by_offset():
    moment = datetime(2026, 8, 8, 12, tzinfo=MADRID)
    assert formats("en").zone(moment) == f"CEST{NB}(UTC+2)"
    assert formats("ja").zone(moment) == "UTC+2"
    assert formats("en").zone(moment.astimezone(ZoneInfo("Asia/Kathmandu"))) == "UTC+5:45"


def test_sentence_never_ends_in_two_full_stops():
    message = formats("de").gettext("{sentence}.")
    assert message.format(sentence="Regen am So., 6.") == "Regen am So., 6."
    assert message.format(sentence="Regen") == "Regen."


@pytest.mark.parametrize(
    ("tag", "comma", "between"), [("en", ", ", " "), ("ja", "、", ""), ("ar", "، ", " ")]
)
def test_lists_are_joined_with_the_comma_of_the_language(tag, comma, between):
    fmt = formats(tag)
    assert (fmt.comma, fmt.language.word_separator) == (comma, between)
