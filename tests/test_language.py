"""Language: RFC 4647 look-up, CLDR region used for formats, junk never fails a header."""

import gettext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.errors import InvalidLanguage
from location_context.localisation.language import Languages

TAGS = ("de", "fr", "zh-Hans", "ar", "pt")
LANGUAGES = Languages(dict.fromkeys(TAGS, gettext.NullTranslations))


@pytest.mark.parametrize(
    ("sent", "tag", "locale"),
    [
        ("en", "en", "en_GB"),
        ("EN", "en", "en_GB"),
        ("en-US", "en-US", "en_US"),
        ("de", "de", "de"),
        ("de-AT", "de-AT", "de_AT"),
        ("de-AT-1901", "de-AT", "de_AT"),
        ("de-XX", "de", "de"),
        ("zh", "zh-Hans", "zh_Hans"),
        ("zh-CN", "zh-Hans-CN", "zh_Hans_CN"),
        ("zh-TW", "en", "en_GB"),
        ("ar-EG", "ar-EG", "ar_EG"),
        ("sv", "en", "en_GB"),
        ("x-klingon-very", None, None),
    ],
)
def test_language_lookup_removes_subtags_until_a_catalogue_matches(sent, tag, locale):
    if tag is None:
        with pytest.raises(InvalidLanguage):
            LANGUAGES.choose(sent)
        return
    language = LANGUAGES.choose(sent)
    assert (language.tag, str(language.locale)) == (tag, locale)


@pytest.mark.parametrize(
    "sent", ["", "d", "de_DE", "de--AT", "de-", "../../etc", "ドイツ", "a" * 99]
)
def test_malformed_language_tag_is_refused(sent: str):
    with pytest.raises(InvalidLanguage, match="accepted: a BCP 47 tag"):
        LANGUAGES.choose(sent)


@pytest.mark.parametrize(
    ("header", "tag"),
    [
        ("fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", "fr-CH"),
        ("sv, de;q=0.5", "de"),
        ("en;q=0.2, ar;q=0.9", "ar"),
        ("de;q=0, fr;q=0.1", "fr"),
        ("", "en"),
        ("*", "en"),
        (";;;q=,,de;q=2,fr;q=abc", "en"),
    ],
)
def test_accept_language_chooses_the_language_of_the_highest_quality_value(header: str, tag: str):
    assert LANGUAGES.accept(header).tag == tag


@given(st.text(max_size=200))
def test_parsing_accept_language_never_fails(header: str):
    assert LANGUAGES.accept(header).tag


def test_arabic_has_the_text_direction_right_to_left():
    assert LANGUAGES.choose("ar").direction == "rtl"
    assert LANGUAGES.english.direction == "ltr"
