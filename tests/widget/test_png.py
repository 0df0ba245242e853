"""/v1/pulse.png: the static card as mail programs show it, drawn with the fonts of this machine."""

import asyncio
import html
import io
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from PIL import Image

from location_context.localisation.language import Languages
from location_context.widget import fonts, png, rasterize
from location_context.widget.colour import palette
from tests.widget.service import EXTREMES, LANGUAGES
from tests.widget.test_compact import (
    HALF_OF_KINDS,
    KINDS,
    long_names,  # noqa: F401  a fixture
)

MOST_BYTES = 60_000
MARGIN = 2 * 8  # pixels that no text may reach
LANGUAGES_OF_ALL = Languages.load()
FOUND = fonts.find_fonts()


def opened(answer: httpx2.Response) -> Image.Image:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "image/png"
    return Image.open(io.BytesIO(answer.content))


def height_of_svg(service, given, **more) -> int:
    answer = service.picture("svg", given, **more)
    return int(answer.text.partition('height="')[2].partition('"')[0])


@pytest.mark.parametrize("language", LANGUAGES)
def test_png_has_few_bytes_and_twice_the_pixels_and_keeps_its_margins(service, language):
    for kind in HALF_OF_KINDS if language in EXTREMES else ("near", "both_month"):  # the largest
        answer = service.picture("png", KINDS[kind], lang=language)
        image = opened(answer)
        assert len(answer.content) <= MOST_BYTES, kind
        shown = answer.headers["content-language"]
        assert image.size == (1200, 2 * height_of_svg(service, KINDS[kind], lang=shown))
        drawn = image.convert("RGB")
        for left in (MARGIN, 1200 - 2 * MARGIN):
            strip = drawn.crop((left, 60, left + MARGIN, image.height - 60))
            assert strip.getcolors() == [(MARGIN * (image.height - 120), (255, 255, 255))], kind


def test_png_with_long_names_is_small(service, long_names):  # noqa: F811
    for kind in ("near", "both_month"):
        for theme in ("light", "dark"):
            given = {**KINDS[kind], **long_names}
            answer = service.picture("png", given, lang="de", theme=theme)
            opened(answer)
            assert len(answer.content) <= MOST_BYTES, (kind, theme)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_png_text_has_the_colours_of_the_theme(service, theme):
    image = opened(service.picture("png", theme=theme, lang="en")).convert("RGBA")
    colours = {colour for _, colour in image.getcolors(1_000_000)}
    used = palette("#0f766e", theme)
    for name in ("surface", "ink", "ink2", "ink3", "accent", "line", "rain"):
        assert (*bytes.fromhex(used[name][1:]), 255) in colours, name
    assert image.getpixel((0, 0))[3] == 0, "corners let the mail's ground through"


def test_png_is_cached_like_the_svg_and_sent_without_content_coding(service):
    answer = service.picture("png", headers={"Accept-Encoding": "br"}, lang="en")
    svg = service.picture("svg", lang="en")
    assert "content-encoding" not in answer.headers
    assert answer.headers["cache-control"] == svg.headers["cache-control"]
    assert answer.headers["content-security-policy"] == "default-src 'none'"
    again = service.picture("png", headers={"If-None-Match": answer.headers["etag"]}, lang="en")
    assert again.status_code == 304


def test_png_request_without_the_png_extra_is_answered_501_and_names_the_extra(
    service, monkeypatch
):
    monkeypatch.setattr(png, "is_installed", lambda: False)
    answer = service.picture("png", accent="#123456")
    assert answer.status_code == 501
    assert answer.headers["x-error-code"] == "not_available"
    assert "pip install 'location-context[png]'" in html.unescape(answer.text)


def test_png_draws_markup_in_a_name_as_text(service):
    evil = '</tspan></text><image href="/etc/passwd"/>&<b>"'
    assert opened(service.picture("png", place=evil)).width == 1200


def painter(folder: Path, *names: str) -> png.Painter:
    """Draws with these of the fonts that are found."""
    for font in FOUND:
        for file in font.files if font.family in names else ():
            shutil.copy(file, folder)
    return png.Painter((str(folder),))


def chosen(*tags: str):
    return [LANGUAGES_OF_ALL.choose(tag) for tag in tags]


def test_png_without_a_font_for_the_language_is_in_english(tmp_path):
    draws = painter(tmp_path, FOUND[0].family)
    language, _ = asyncio.run(draws.typeface(chosen("ja", "en")))
    assert language.tag == "en"
    assert asyncio.run(draws.typeface_of(chosen("ja")[0])) is None
    said = png.missing_letters(LANGUAGES_OF_ALL, (str(tmp_path),))
    assert said.startswith("No font has the letters of ")
    assert "ja, zh-Hans: /v1/pulse.png answers in" in said
    assert fonts.PACKAGES in said


def test_png_without_any_font_is_not_available(tmp_path):
    with pytest.raises(png.NotAvailable, match="no font is installed"):
        asyncio.run(png.Painter((str(tmp_path),)).typeface(chosen("ja", "en")))
    assert "answers 501" in png.missing_letters(LANGUAGES_OF_ALL, (str(tmp_path),))


def test_png_transliterates_letters_without_a_font_into_latin(tmp_path):
    draws = painter(tmp_path, FOUND[0].family)
    _, typeface = asyncio.run(draws.typeface(chosen("en")))
    assert typeface.drawable("Café 東京") == "Café DongJing"
    assert typeface.drawable("Café Москва") == "Café Москва"


def test_png_line_in_two_scripts_uses_a_font_with_the_letters_of_both_scripts():
    latin = fonts.Font("Latin", (), frozenset(range(0x20, 0x180)))
    both = fonts.Font("Latin and Arabic", (), latin.letters | frozenset(range(0x600, 0x700)))
    typeface = fonts.typeface([latin, both], chosen("en")[0])
    assert typeface.marked("Hotel").startswith('<tspan font-family="Latin">')
    assert typeface.drawable("Hotel البحر") == "Hotel البحر"
    assert typeface.marked("Hotel البحر").startswith('<tspan font-family="Latin and Arabic">')


def test_server_answers_while_it_draws_a_png(service):
    service.page(lang="en")
    with ThreadPoolExecutor(1) as pool:
        drawn = pool.submit(service.picture, "png", accent="#abcdef")
        answered = 0
        while not drawn.done():
            assert service.http.get(f"{service.url}/v1/health").status_code == 200
            answered += 1
    assert drawn.result().status_code == 200
    assert answered > 2


def test_failing_png_renderer_is_an_internal_error_without_details(service, monkeypatch):
    monkeypatch.setattr(png, "MODULE", "location_context.no_such_module")
    answer = service.picture("png", accent="#654321")
    assert answer.status_code == 500
    assert "no_such_module" not in answer.text


@pytest.mark.parametrize("font", FOUND, ids=[font.family for font in FOUND])
def test_png_renderer_draws_text_in_each_font_family(font):
    line = fonts.Typeface([font]).marked("Aé")
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="30"><style>.c0{fill:#ffffff;'
        "stroke:#dfe4e3}.b{fill:#131d1c;font-size:20px;font-weight:600}</style>"
        f'<rect class="c0" width="60" height="30"/><text class="b" x="5" y="20">{line}</text></svg>'
    )
    drawn = Image.open(io.BytesIO(rasterize.png(svg, font.files))).convert("RGB")
    inked = drawn.point([255 * (value < 128) for value in range(256)] * 3).convert("L")
    assert inked.histogram()[255] > 100, "text would vanish"


def test_png_with_too_many_bytes_uses_fewer_colours(monkeypatch):
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><style>.b{fill:#0f766e}'
        '.c0{fill:#ffffff;stroke:#dfe4e3}</style><rect class="c0" width="9" height="9"/>'
        '<circle class="b" cx="4" cy="4" r="3.3"/></svg>'
    )
    full_shades = Image.open(io.BytesIO(rasterize.png(svg, [])))
    monkeypatch.setattr(rasterize, "MOST_BYTES", 1)
    without = Image.open(io.BytesIO(rasterize.png(svg, [])))
    assert len(without.convert("RGB").getcolors()) < len(full_shades.convert("RGB").getcolors())
    assert without.size == (18, 18)
