"""Query parameters: what is accepted, what is refused with which code, and in which order."""

import math
import unicodedata
from datetime import date, timedelta
from urllib.parse import quote, urlencode

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context import errors
from location_context.localisation.language import Languages
from location_context.parameters import (
    DATED_SECTION,
    UNDATED_SECTION,
    WIDGET,
    decode,
    parse,
    shown,
)

LANGUAGES = Languages.load()
GIVEN = {"lat": "48.8566", "lng": "2.3522", "start": "2026-11-28", "end": "2026-12-01"}
DATES = st.dates(date(1900, 1, 1), date(2050, 12, 31))


def parsed(names=WIDGET, **changed):
    params = {name: value for name, value in {**GIVEN, **changed}.items() if value is not None}
    return parse(urlencode(params).encode(), names, LANGUAGES)


@given(st.floats(-90, 90), st.floats(-180, 180))
def test_coordinates_in_range_are_accepted_and_rounded_to_canonical_form(lat, lng) -> None:
    checked = parsed(lat=repr(lat), lng=repr(lng))
    assert -90 <= checked.lat <= 90
    assert -180 < checked.lng <= 180
    assert (round(checked.lat, 4), round(checked.lng, 4)) == (checked.lat, checked.lng)
    assert math.copysign(1, checked.lat) == 1 or checked.lat < 0
    assert abs(checked.lat) < 90 or checked.lng == 0
    again = parsed(lat=repr(checked.lat), lng=repr(checked.lng))
    assert (again.lat, again.lng) == (checked.lat, checked.lng)


@given(st.text(max_size=12))
def test_latitude_must_be_written_as_a_json_number(text) -> None:
    try:
        number = msgspec.json.decode(text.encode("utf-8", "surrogatepass"))
        fits = isinstance(number, int | float) and not isinstance(number, bool)
        fits = fits and -90 <= number <= 90 and text == text.strip()
    except (msgspec.DecodeError, UnicodeDecodeError):
        fits = False
    query = f"lat={quote(text, errors='surrogatepass')}&lng=0"
    if fits:
        assert parse(query.encode(), UNDATED_SECTION, LANGUAGES).lat == round(number, 4)
        return
    with pytest.raises(errors.InvalidRequest) as caught:
        parse(query.encode(), UNDATED_SECTION, LANGUAGES)
    assert caught.value.code in {"invalid_latitude", "missing_parameter", "malformed_request"}


@pytest.mark.parametrize(
    "text",
    ["nan", "inf", "-inf", "1e400", "90.0000001", " 48 ", "1_0", "+5", "48,2", "0x10", "٤٨", "048",
     "48.", ".5", "1e", "--1", "Infinity", "NaN", "1" * 5000],
)  # fmt: skip
def test_malformed_or_out_of_range_latitude_is_refused(text) -> None:
    with pytest.raises(errors.InvalidLatitude) as caught:
        parsed(lat=text)
    assert "lat is" in caught.value.message
    assert "-90 to 90" in caught.value.message
    assert len(caught.value.message) < 160


@pytest.mark.parametrize(
    ("lat", "lng", "canonical"),
    [
        ("90", "77", (90.0, 0.0)),
        ("-90", "-180", (-90.0, 0.0)),
        ("-0", "-0.0", (0.0, 0.0)),
        ("0", "-180", (0.0, 180.0)),
        ("0", "180", (0.0, 180.0)),
        ("1e-7", "1E2", (0.0, 100.0)),
        ("89.99999", "5", (90.0, 0.0)),
        ("12.34567", "-179.99999", (12.3457, 180.0)),
    ],
)
def test_coordinates_of_poles_zero_and_date_line_have_one_canonical_form(
    lat, lng, canonical
) -> None:
    checked = parsed(lat=lat, lng=lng)
    assert (checked.lat, checked.lng) == canonical
    assert "-" not in f"{checked.lat} {checked.lng}".replace("-90.0", "")


@given(DATES, st.integers(0, 91))
def test_stay_of_1_to_92_dates_is_accepted(start, days) -> None:
    end = min(start + timedelta(days=days), date(2050, 12, 31))
    stay = parsed(start=start.isoformat(), end=end.isoformat()).stay
    assert (stay.start, stay.end) == (start, end)


@given(DATES, DATES)
def test_start_and_end_date_make_a_stay_or_raise_a_date_range_error(start, end) -> None:
    try:
        stay = parsed(start=start.isoformat(), end=end.isoformat()).stay
    except errors.InvalidDateRange:
        assert end < start
    except errors.DateRangeTooLong:
        assert (end - start).days >= 92
    else:
        assert 1 <= stay.days <= 92


@pytest.mark.parametrize(
    "text",
    ["2026-02-30", "20260101", "2026-W01-1", "10000-01-01", "2026-11-28T00:00", "2026-1-1",
     "1899-12-31", "2051-01-01", "0000-00-00", "٢٠٢٦-11-28", "2026-11-28 ", "28.11.2026"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["start", "end"])
def test_malformed_or_out_of_range_date_is_refused(name, text) -> None:
    with pytest.raises(errors.InvalidDate, match=f"{name} is"):
        parsed(**{name: text})


def test_first_and_last_day_of_the_ephemeris_are_accepted() -> None:
    assert parsed(start="1900-01-01", end="1900-01-01").stay.days == 1
    assert parsed(start="2050-10-01", end="2050-12-31").stay.days == 92


ONE_WRONG = {
    "lat": ("x", "invalid_latitude"),
    "lng": ("x", "invalid_longitude"),
    "start": ("x", "invalid_date"),
    "end": ("x", "invalid_date"),
    "units": ("x", "invalid_units"),
    "lang": ("x y", "invalid_language"),
    "place": ("x" * 121, "invalid_place"),
    "theme": ("x", "invalid_theme"),
    "accent": ("x", "invalid_accent"),
    "sections": ("x", "invalid_sections"),
    "layout": ("x", "invalid_layout"),
}


@given(st.sets(st.sampled_from(sorted(ONE_WRONG)), min_size=1))
def test_error_reports_the_first_wrong_parameter_in_the_documented_order(wrong) -> None:
    changed = {name: ONE_WRONG[name][0] for name in wrong}
    first = next(name for name in ONE_WRONG if name in wrong)
    with pytest.raises(errors.InvalidRequest) as caught:
        parsed(**changed)
    assert caught.value.code == ONE_WRONG[first][1]
    assert first in caught.value.message


@given(st.sampled_from(WIDGET), st.sets(st.sampled_from(sorted(ONE_WRONG))))
def test_repeated_parameter_is_reported_before_a_wrong_parameter(twice, wrong) -> None:
    params = {**GIVEN, **{name: ONE_WRONG[name][0] for name in wrong}}
    query = urlencode([*params.items(), (twice, "1"), (twice, "2")])
    with pytest.raises(errors.DuplicateParameter, match=twice):
        parse(query.encode(), WIDGET, LANGUAGES)


@pytest.mark.parametrize("name", ["lat", "lng", "start", "end"])
@pytest.mark.parametrize("value", [None, ""])
def test_missing_or_empty_required_parameter_is_refused(name, value) -> None:
    with pytest.raises(errors.MissingParameter, match=name):
        parsed(**{name: value})


@pytest.mark.parametrize("name", ["units", "lang", "place", "theme", "accent", "sections"])
def test_empty_optional_parameter_counts_as_absent(name) -> None:
    assert parsed(**{name: ""}) == parsed()


def test_endpoint_ignores_parameters_that_only_other_endpoints_have() -> None:
    query = b"lat=1&lng=2&start=junk&start=junk&end=2026-01-01&theme=x&utm_source=a&utm_source=b"
    checked = parse(query, UNDATED_SECTION, LANGUAGES)
    assert checked == parse(b"lat=1&lng=2", UNDATED_SECTION, LANGUAGES)
    assert checked.stay is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("unit", "units"), ("Units", "units"), ("UNITS", "units"), ("unist", "units"),
        ("unitss", "units"), ("umits", "units"), ("nits", "units"), ("langs", "lang"),
        ("lan", "lat or lang"), ("starts", "start"), ("satrt", "start"), ("ends", "end"),
        ("Lat", "lat"), ("latt", "lat"), ("lta", "lat"),
        ("them", "theme"), ("theem", "theme"), ("acent", "accent"), ("places", "place"),
        ("section", "sections"),
    ],
)  # fmt: skip
def test_misspelt_parameter_is_refused_with_the_correct_name(name, meant) -> None:
    with pytest.raises(errors.UnknownParameter) as caught:
        parsed(**{name: "x"})
    assert caught.value.message.endswith(f"did you mean {meant}?")
    assert repr(name) in caught.value.message


@pytest.mark.parametrize(
    "name",
    ["utm_source", "utm_medium", "gclid", "fbclid", "msclkid", "_", "_ga", "t", "v", "ts", "cb",
     "rnd", "rand", "id", "ref", "src", "en", "la", "nd", "alt", "and", "unify", "latest",
     "languages_spoken", "cachebuster", "x" * 5000, "", "unitsunits", "tema", "ort", "place_id"],
)  # fmt: skip
def test_unknown_parameter_that_resembles_no_known_name_is_ignored(name) -> None:
    assert parsed(**{name: "junk"}) == parsed()


SYNONYMS = {
    "latitude": "lat", "Latitude": "lat", "longitude": "lng", "lon": "lng", "long": "lng",
    "language": "lang",
}  # fmt: skip


@pytest.mark.parametrize(("name", "meant"), SYNONYMS.items())
def test_synonym_of_a_parameter_is_refused_with_the_name_of_that_parameter(name, meant) -> None:
    with pytest.raises(errors.UnknownParameter) as caught:
        parse(f"{name}=1&lat=1&lng=2".encode(), WIDGET, LANGUAGES)
    assert caught.value.message == f"{name!r} is not a parameter; did you mean {meant}?"


@given(st.text(max_size=8))
def test_unknown_parameter_is_refused_only_if_one_edit_from_a_known_name(name) -> None:
    """Beside a plain distance that counts insertions, deletions, replacements and exchanges."""
    if any("\ud800" <= c <= "\udfff" or c == "\x00" for c in name) or name in WIDGET:
        return
    if name.casefold() in SYNONYMS:
        return
    near = [one for one in WIDGET if distance(name.casefold(), one) <= 1]
    try:
        parsed(**{name: "junk"})
    except errors.UnknownParameter:
        assert near
    else:
        assert all(len(one) == 3 for one in near)


def distance(one: str, other: str) -> int:
    rows = [[max(i, j) for j in range(len(other) + 1)] for i in range(len(one) + 1)]
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            replaced = rows[i - 1][j - 1] + (one[i - 1] != other[j - 1])
            rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced)
            if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


@pytest.mark.parametrize("name", ["place", "theme", "accent", "start", "end"])
def test_parameter_of_another_endpoint_is_not_refused_as_misspelt(name) -> None:
    query = f"lat=1&lng=2&{name}=x".encode()
    assert parse(query, UNDATED_SECTION, LANGUAGES) == parse(
        b"lat=1&lng=2", UNDATED_SECTION, LANGUAGES
    )


def test_misspelt_parameter_is_reported_after_repeated_ones_and_before_wrong_values() -> None:
    with pytest.raises(errors.UnknownParameter):
        parse(b"unit=imperial&lat=x", WIDGET, LANGUAGES)
    with pytest.raises(errors.DuplicateParameter):
        parse(b"unit=imperial&lat=1&lat=2", WIDGET, LANGUAGES)


SECTIONS = ("weather", "astronomy", "guide", "events")


@given(st.lists(st.sampled_from((*SECTIONS, "tides", "", " guide", "Guide")), max_size=6))
def test_sections_parameter_accepts_installed_names_and_keeps_their_order(names) -> None:
    query = urlencode({**GIVEN, "sections": ",".join(names)}).encode()
    if set(names) <= set(SECTIONS) or not ",".join(names):
        checked = parse(query, WIDGET, LANGUAGES, {"sections": SECTIONS}).sections
        assert checked == tuple(dict.fromkeys(name for name in names if name))
        return
    with pytest.raises(errors.InvalidSections) as caught:
        parse(query, WIDGET, LANGUAGES, {"sections": SECTIONS})
    assert shown(",".join(names)) in caught.value.message
    assert "weather, astronomy, guide, events" in caught.value.message


def test_default_parameters_are_metric_units_light_theme_and_teal_accent() -> None:
    checked = parsed()
    assert (checked.units, checked.theme, checked.accent) == ("metric", "light", "#0f766e")
    assert checked.language is None
    assert checked.place is None


@given(st.text(max_size=200))
def test_place_name_is_cleaned_of_control_characters_or_refused_if_too_long(text) -> None:
    if any("\ud800" <= c <= "\udfff" or c == "\x00" for c in text):
        with pytest.raises(errors.MalformedRequest):
            parse(f"{urlencode(GIVEN)}&place={quote(text, errors='surrogatepass')}".encode(),
                  WIDGET, LANGUAGES)  # fmt: skip
        return
    try:
        place = parsed(place=text).place
    except errors.InvalidPlace:
        assert len(text) > 120
        return
    assert place is None or 1 <= len(place) <= 120
    for character in place or "":
        assert unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"}
        assert character not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_place_name_keeps_joiners_emoji_and_right_to_left_scripts() -> None:
    for place in ("Zürich", "القاهرة", "नई दिल्ली", "👨‍👩‍👧 Camp", "São Tomé"):
        assert parsed(place=place).place == place
    assert parsed(place="a\u202eb\x07c\r\nd").place == "abcd"


@pytest.mark.parametrize("accent", ["#abc", "#A1B2C3"])
def test_accent_of_three_or_six_hex_digits_is_accepted(accent) -> None:
    assert parsed(accent=accent).accent == accent


@pytest.mark.parametrize("accent", ["abc", "#ab", "#abcd", "red", "#gggggg", "#abc;}", "#١٢٣"])
def test_accent_that_is_not_a_hex_colour_is_refused(accent) -> None:
    with pytest.raises(errors.InvalidAccent):
        parsed(accent=accent)


@pytest.mark.parametrize("query", ["a=%zz", "a=%", "a=%4", "%00=1", "a=%00", "a=%ff", "a=%c3%28"])
def test_query_with_broken_escapes_or_nul_or_invalid_utf_8_is_refused_as_malformed(query) -> None:
    with pytest.raises(errors.MalformedRequest):
        decode(query.encode())


@given(st.binary(max_size=60))
def test_query_of_any_bytes_is_decoded_or_refused_as_malformed(query) -> None:
    try:
        pairs = decode(query)
    except errors.MalformedRequest:
        return
    assert all("\x00" not in name + value for name, value in pairs)


@given(st.lists(st.tuples(st.text(min_size=1), st.text()), max_size=5))
def test_decoding_a_form_encoded_query_returns_the_original_values(pairs) -> None:
    usable = [
        (name, value)
        for name, value in pairs
        if not any("\ud800" <= c <= "\udfff" or c == "\x00" for c in name + value)
    ]
    assert decode(urlencode(usable).encode()) == usable


def test_error_message_shortens_long_values_and_masks_keys() -> None:
    assert len(shown("x" * 10_000)) < 50
    assert "lc_live_abc" not in shown("lc_live_abcdef")


def test_unknown_language_falls_back_to_english_and_a_malformed_tag_is_refused() -> None:
    languages = LANGUAGES
    assert parsed(lang="xx-Unknown").language.tag.startswith("en")
    with pytest.raises(errors.InvalidLanguage):
        parse(b"lat=1&lng=2&lang=de_DE", ("lat", "lng", "lang"), languages)


def test_unknown_guide_is_refused_with_the_names_that_exist() -> None:
    query = b"lat=1&lng=2&days=7&guide="
    choices = {"guide": {f"house-{n:02}" for n in range(23)}}
    with pytest.raises(errors.InvalidGuide) as caught:
        parse(query + b"House", WIDGET, LANGUAGES, choices)
    listed = ", ".join(f"house-{n:02}" for n in range(20))
    assert caught.value.message == f"guide is 'House'; accepted: {listed} and 3 more."
    with pytest.raises(errors.InvalidGuide, match="accepted: none, because no guide has a name"):
        parse(query + b"house", WIDGET, LANGUAGES, {"guide": ()})
    assert parse(query + b"house-07", WIDGET, LANGUAGES, choices).guide == "house-07"
    assert parse(query, WIDGET, LANGUAGES, choices).guide == ""
    assert parse(query + b"house", WIDGET, LANGUAGES).guide == "house"  # not loaded yet


@given(st.integers(1, 16), DATES)
def test_days_parameter_makes_a_stay_of_that_many_dates_from_today(days, today) -> None:
    stay = parsed(start=None, end=None, days=str(days)).stay_from(today)
    assert (stay.start, stay.days) == (today, days)


@given(DATES)
def test_stay_with_dates_does_not_depend_on_today(today) -> None:
    checked = parsed()
    assert checked.stay_from(today) == checked.stay


@pytest.mark.parametrize("text", ["0", "17", "-1", "1.5", "+3", "٣", "007", "seven", " 7"])
def test_days_parameter_outside_1_to_16_is_refused(text) -> None:
    with pytest.raises(
        errors.InvalidDays, match=r"days is .*accepted: a whole number from 1 to 16"
    ):
        parsed(start=None, end=None, days=text)


@pytest.mark.parametrize("dates", [{}, {"start": None}, {"end": None}])
def test_days_parameter_together_with_a_date_is_refused(dates) -> None:
    with pytest.raises(errors.ConflictingParameters, match="days was given together with"):
        parsed(**dates, days="7")


def test_error_for_missing_widget_dates_suggests_start_and_end_or_days() -> None:
    with pytest.raises(errors.MissingParameter, match="start and end, or days"):
        parsed(start=None, end=None)
    with pytest.raises(errors.MissingParameter, match=r"^start is missing"):
        parsed(DATED_SECTION, start=None, end=None)
    with pytest.raises(errors.MissingParameter, match="end is missing"):
        parsed(end=None)


def test_section_endpoint_ignores_the_days_parameter() -> None:
    assert parsed(DATED_SECTION, days="7").days is None
