"""The builder's place field: coordinates and addresses of maps become the point, names do not."""

import re
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from location_context.widget.builder import pasted_point

LATITUDES = st.decimals(-90, 90, places=5, allow_nan=False).map(float)
LONGITUDES = st.decimals(-180, 180, places=5, allow_nan=False).map(float)
FORMS = {
    "a pair": "{lat}, {lng}",
    "a pair without a blank": "{lat},{lng}",
    "a pair with a semicolon": "{lat};{lng}",
    "a pair with a blank": "{lat} {lng}",
    "in brackets": "({lat}, {lng})",
    "with degrees": "{lat}°, {lng}°",
    "letters after": "{north}° {n}, {east}° {e}",
    "letters before": "{n} {north} {e} {east}",
    "small letters": "{north}{n}, {east}{e}",
    "the longitude first": "{e}{east}, {n}{north}",
    "geo": "geo:{lat},{lng}",
    "geo with accuracy": "geo:{lat},{lng};u=35",
    "geo with a mark": "geo:0,0?q={lat},{lng}(Hotel)",
    "Google's middle": "https://www.google.com/maps/@{lat},{lng},15z?entry=ttu",
    "Google's place": "https://www.google.es/maps/place/Hotel/@1.5,2.5,17z/data=!3m1!4b1!4m6!3m5!1s0xd:0x1!8m2!3d{lat}!4d{lng}!16s",
    "Google's query": "https://maps.google.com/maps?q={lat},{lng}&z=15",
    "Google's search": "https://www.google.com/maps/search/?api=1&query={lat},{lng}",
    "Google's path": "https://www.google.com/maps/place/{lat},{lng}",
    "Google's label": "https://maps.google.com/?q=loc:{lat},{lng}",
    "OpenStreetMap's view": "https://www.openstreetmap.org/#map=17/{lat}/{lng}&layers=N",
    "OpenStreetMap's mark": "https://www.openstreetmap.org/?mlat={lat}&mlon={lng}#map=17/1.5/2.5",
    "Apple": "https://maps.apple.com/?ll={lat},{lng}&q=Hotel&t=m",
    "Apple's place": "https://maps.apple.com/place?coordinate={lat},{lng}&name=Hotel",
    "Bing": "https://www.bing.com/maps?cp={lat}~{lng}&lvl=16",
    "Bing's mark": "https://bing.com/maps/default.aspx?cp=1.5~2.5&sp=point.{lat}_{lng}_Hotel",
}  # fmt: skip


def written(form: str, lat: float, lng: float) -> str:
    return FORMS[form].format(
        lat=f"{lat:.5f}",
        lng=f"{lng:.5f}",
        north=f"{abs(lat):.5f}",
        east=f"{abs(lng):.5f}",
        n="n" if lat >= 0 else "S",
        e="E" if lng >= 0 else "w",
    )


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=30)
@given(lat=LATITUDES, lng=LONGITUDES)
def test_pasted_text_is_read_as_coordinates_in_each_notation(form, lat, lng):
    found = pasted_point.read(written(form, lat, lng))
    assert found is not None
    assert (found.lat, found.lng) == pytest.approx((lat, lng), abs=1e-5)


@pytest.mark.parametrize("form", [form for form, text in FORMS.items() if "://" in text])
@settings(max_examples=20)
@given(lat=LATITUDES, lng=LONGITUDES)
def test_pasted_map_link_is_read_despite_percent_escapes(form, lat, lng):
    text = written(form, lat, lng)
    found = pasted_point.read(text.replace(",", "%2C").replace("!", "%21"))
    assert found == pasted_point.read(text)


@given(lat=LATITUDES, lng=LONGITUDES)
def test_pasted_coordinates_are_read_in_minutes_and_seconds(lat, lng):
    def angle(value: float, letters: str) -> str:
        seconds = round(abs(value) * 3600, 1)
        whole = f"{int(seconds // 3600)}°{int(seconds % 3600 // 60)}'{seconds % 60:.1f}\""
        return whole + letters[value < 0]

    found = pasted_point.read(f"{angle(lat, 'NS')} {angle(lng, 'EW')}")
    assert found is not None
    assert (found.lat, found.lng) == pytest.approx((lat, lng), abs=1e-4)


@given(st.text(max_size=200))
def test_reading_any_pasted_text_raises_no_exception(text):
    found = pasted_point.read(text)
    assert found is None or sum(map(str.isdigit, text)) >= 2


@given(st.text(st.characters(categories=["L", "Zs", "Pd"]), max_size=60))
def test_pasted_name_is_never_read_as_coordinates(name):
    assert pasted_point.read(name) is None
    assert not pasted_point.is_link(name)


@pytest.mark.parametrize("name", ["75 001", "Hotel 43, 2", "Route 66", "Via Roma 1, 20121", "4 12"])
def test_pasted_name_with_numbers_is_not_read_as_coordinates(name):
    assert pasted_point.read(name) is None


@given(st.text(st.characters(categories=["L", "Nd", "Zs"]), min_size=1, max_size=40))
def test_pasted_map_link_yields_the_name_of_its_place(name):
    link = f"https://www.google.com/maps/place/{quote(name)}/@43.3,-1.98,17z"
    found = pasted_point.read(link)
    assert found is not None
    assert found.name == ("" if pasted_point.read(name) else name)
    assert not re.search(r"@43", found.name)


@pytest.mark.parametrize(
    "link",
    [
        "https://maps.app.goo.gl/Ab1Cd2Ef3",
        "goo.gl/maps/Ab1Cd2",
        "https://osm.org/go/0EEQjE--",
        "https://www.example.org/hotel?id=43",
    ],
)
def test_pasted_map_link_without_coordinates_is_recognised_as_a_link(link):
    assert pasted_point.is_link(link)
    assert pasted_point.read(link) is None
