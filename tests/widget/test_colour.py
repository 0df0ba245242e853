"""No accent makes words hard to read, in light or in dark."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.widget.colour import Oklch, contrast, palette, variables

MEANT = {"rain", "sun", "suntext", "dusk", "warn", "warnline", "warnink"}
GROUNDS = ("surface", "ground", "tint", "sunk")
accents = st.integers(0, 0xFFFFFF).map(lambda n: f"#{n:06x}")
schemes = st.sampled_from(("light", "dark"))


def assert_contrasts(accent: str, scheme: str) -> None:
    colours = palette(accent, scheme)  # type: ignore[arg-type]  # one of the two schemes
    for ground in GROUNDS:
        for text in ("accent", "ink", "ink2", "ink3"):
            assert contrast(colours[text], colours[ground]) >= 4.5
    assert contrast(colours["ink2"], colours["surface"]) >= 6.5
    assert contrast(colours["fill"], colours["surface"]) >= 3.4
    assert contrast(colours["fill"], colours["tint"]) >= 3
    assert contrast(colours["edge"], colours["surface"]) >= 3
    assert contrast(colours["on"], colours["accent"]) >= 4.5
    for text in ("rain", "suntext", "dusk"):
        assert contrast(colours[text], colours["surface"]) >= 4.5
    assert contrast(colours["sun"], colours["surface"]) >= 3
    assert contrast(colours["warnink"], colours["warn"]) >= 7
    assert contrast(colours["moonl"], colours["moond"]) >= 3


@given(accents, schemes)
def test_contrast_suffices_for_each_accent_colour(accent, scheme):
    assert_contrasts(accent, scheme)


@pytest.mark.parametrize("accent", ["#fff", "#000", "#ff0", "#7fff00", "#00f", "#808080"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_suffices_for_extreme_accent_colours(accent, scheme):
    assert_contrasts(accent, scheme)


@given(accents)
def test_oklch_conversion_is_reversible(accent):
    back = Oklch.from_hex(accent).hex
    channels = zip(*(re.findall("..", text[1:]) for text in (accent, back)), strict=True)
    assert all(abs(int(one, 16) - int(other, 16)) <= 1 for one, other in channels)


@given(accents, schemes)
def test_grey_accent_gives_a_grey_palette(accent, scheme):
    grey = f"#{accent[1:3] * 3}"
    for name, value in palette(grey, scheme).items():
        if name in MEANT:
            continue
        channels = [int(part, 16) for part in re.findall("..", value[1:])]
        assert max(channels) - min(channels) <= 1


def test_readable_accent_is_unchanged():
    assert palette("#0f766e", "light")["accent"] == "#0f766e"


@given(accents, schemes)
def test_style_variables_contain_only_colours(accent, scheme):
    assert re.fullmatch(r"(--[a-z0-9]+:#[0-9a-f]{3,6};)+", variables(accent, scheme))


def test_contrast_agrees_with_wcag():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
