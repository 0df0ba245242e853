"""The map in the restaurants card is true: places, rings, counts and words agree with the data."""

import math
import re
from itertools import combinations, pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from location_context.sections.guide import card as tables
from location_context.sections.guide import map as drawing
from location_context.sections.guide.response import GuideBody, RestaurantBody
from location_context.sections.guide.travel import estimate, reach
from location_context.widget.render import Renderer
from tests.widget.queries import WORDS, query, words_in
from tests.widget.samples.tables import destination, guide
from tests.widget.service import LANGUAGES, STAY

RENDERER = Renderer()
WIDE = {"width": 1100, "height": 900}
RING = re.compile(r'<use href="#(walk|drive)"[^>]*/><text x="7" y="4">(\d+)')
SIDES = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
# tier, km, degrees
PLACE = st.tuples(
    st.sampled_from(("three_star", "two_star", "one_star", "good_value", "selected")),
    st.one_of(st.floats(0.06, 2), st.floats(0.06, 15), st.floats(0.06, 100)),
    st.floats(0, 359.9),
)


@pytest.fixture(scope="module")
def sample(gazetteer) -> GuideBody:
    return guide(query(gazetteer))


def around(sample: GuideBody, places) -> GuideBody:
    """The sample with these restaurants instead of its own, by tier and distance."""
    model = {one.tier: one for one in sample.restaurants}
    ranks = {tier.tier: tier.rank for tier in sample.tiers}
    found = []
    for number, (tier, km, turn) in enumerate(places):
        lat, lng = destination(sample.point.lat, sample.point.lng, km, turn)
        found.append(
            msgspec.structs.replace(
                model[tier],
                id=str(number),
                name=f"Mesa {number}.",
                lat=lat,
                lng=lng,
                distance=round(km, 2),
                bearing=round(turn, 1) % 360,
                travel=estimate(km),
            )
        )
    found.sort(key=lambda one: (ranks[one.tier], one.distance))
    return msgspec.structs.replace(sample, restaurants=found, total=len(found))


def html(body: GuideBody, fmt=WORDS) -> str:
    return str(RENDERER.card("guide", tables.card(body, fmt), fmt).html)


def east_and_north(body: GuideBody, one: RestaurantBody) -> tuple[float, float]:
    """In km from the point, by vectors instead of the service's formulae."""

    def vector(lat: float, lng: float) -> tuple[float, float, float]:
        phi, turn = math.radians(lat), math.radians(lng)
        return math.cos(phi) * math.cos(turn), math.cos(phi) * math.sin(turn), math.sin(phi)

    def dot(a, b) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True))

    phi, turn = math.radians(body.point.lat), math.radians(body.point.lng)
    there, up = vector(one.lat, one.lng), vector(body.point.lat, body.point.lng)
    east = dot(there, (-math.sin(turn), math.cos(turn), 0.0))
    north = dot(
        there,
        (-math.sin(phi) * math.cos(turn), -math.sin(phi) * math.sin(turn), math.cos(phi)),
    )
    arc = math.atan2(math.hypot(east, north), dot(there, up)) * 6371.0088
    across = math.hypot(east, north) or 1.0
    return arc * east / across, arc * north / across


def km_of(kind: str, minutes: int) -> float:
    """How far one gets, found by trying distances; on foot at the pace of a short walk."""
    if kind == "walk":
        return minutes * 4.8 / 60 / 1.25
    low, high = 2.0, 20_000.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if estimate(middle).minutes < minutes else (low, middle)
    before = low
    low, high = before, 20_000.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if estimate(middle).minutes <= minutes else (low, middle)
    return (before + low) / 2  # the middle of the distances that round to so many minutes


def rings_of(text: str) -> list[tuple[str, int, int]]:
    """Kind, minutes and radius of each ring, from the inside."""
    radii = [int(radius) for radius in re.findall(r'<circle class="g" r="(\d+)"', text)]
    times = [(kind, int(minutes)) for kind, minutes in RING.findall(text)]
    return [
        (*time, radius)
        for time, radius in sorted(zip(times, radii, strict=True), key=lambda one: one[1])
    ]


def radius_of(km: float, rings: list[tuple[str, int, int]]) -> float:
    near, inner = 0.0, drawing.START
    for kind, minutes, radius in rings:
        far = reach(kind, minutes)
        if km <= far:
            return inner + (km - near) / (far - near) * (radius - inner)
        near, inner = far, radius
    raise AssertionError(f"{km} km lie outside of the outermost ring")


def places_of(text: str) -> tuple[list[tuple[float, float]], list[tuple[int, float, float]]]:
    """The dots, and the numbered marks."""
    dots = [(float(x), float(y)) for x, y in re.findall(r'class="dt" cx="(.+?)" cy="(.+?)"', text)]
    marks = re.findall(r'class="mk" cx="(.+?)" cy="(.+?)" r="10.5"/><text[^>]*>(\d+)<', text)
    return dots, [(int(number), float(x), float(y)) for x, y, number in marks]


def true_places(body: GuideBody, text: str) -> dict[str, tuple[float, float]]:
    """Where each restaurant lies in the drawing, by name."""
    rings, found = rings_of(text), {}
    for one in body.restaurants:
        east, north = east_and_north(body, one)
        km = math.hypot(east, north)
        radius = radius_of(km, rings)
        found[one.name] = radius * east / km, -radius * north / km
    return found


def check_places(body: GuideBody, text: str) -> None:
    """Every restaurant out of view is a dot within a pixel of where it lies."""
    true = true_places(body, text)
    view = tables.card(body, WORDS).view
    dots, marks = places_of(text)
    rest = [true[one.name] for one in body.restaurants if one.id not in view.numbers]
    assert len(dots) == len(rest)
    nearest = [min(math.dist(dot, one) for one in rest) for dot in dots]
    assert max(nearest, default=0) <= 1.5
    assert [number for number, *_ in marks] == sorted(view.numbers.values())


def test_guide_map_shows_the_restaurants_of_the_sample_guide_at_their_coordinates(sample):
    text = html(sample)
    check_places(sample, text)
    dots, marks = places_of(text)
    assert len(dots) + len(marks) == len(sample.restaurants)


@settings(max_examples=40)
@given(places=st.lists(PLACE, min_size=3, max_size=50))
def test_map_draws_each_restaurant_in_its_true_direction_and_distance(sample, places):
    body = around(sample, places)
    check_places(body, html(body))


@settings(max_examples=40)
@given(places=st.lists(PLACE, min_size=3, max_size=50))
def test_map_numbers_do_not_overlap_and_isolated_numbers_stay_in_place(sample, places):
    body = around(sample, places)
    text = html(body)
    _, marks = places_of(text)
    for (_, x, y), (_, to_x, to_y) in combinations(marks, 2):
        assert math.hypot(x - to_x, y - to_y) > 1.4 * drawing.MARK
    true = true_places(body, text)
    numbers = tables.card(body, WORDS).view.numbers
    names = {numbers[one.id]: one.name for one in body.restaurants if one.id in numbers}
    for number, x, y in marks:
        at = true[names[number]]
        others = [true[name] for other, name in names.items() if other != number]
        near = [one for one in others if math.dist(one, at) < 8 * drawing.MARK]
        if not near and math.hypot(*at) > 3 * drawing.MARK:
            assert math.dist(at, (x, y)) <= 1.5


@given(minutes=st.integers(5, 900))
def test_estimated_travel_time_over_the_radius_of_a_ring_is_the_time_of_the_ring(minutes):
    if minutes >= 6:
        assert reach("drive", minutes) == pytest.approx(km_of("drive", minutes), rel=0.02, abs=0.2)
    if minutes <= 31:
        assert estimate(reach("walk", minutes)).minutes == minutes
        assert estimate(reach("walk", minutes)).kind == "walk"


@settings(max_examples=40)
@given(places=st.lists(PLACE, min_size=3, max_size=50))
def test_map_has_at_most_three_rings_and_all_restaurants_inside_the_outermost(sample, places):
    rings = rings_of(html(around(sample, places)))
    assert 1 <= len(rings) <= 3
    assert rings[-1][2] == round(drawing.RIM)
    reached = [0.0, *(reach(kind, minutes) for kind, minutes, _ in rings)]
    kms = [km for _, km, _ in places]
    for near, far in pairwise(reached):
        assert any(near - 0.001 < km <= far + 0.001 for km in kms)


@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_restaurants_are_described_by_a_sentence_instead_of_a_map(sample, count):
    body = msgspec.structs.replace(sample, restaurants=sample.restaurants[-count:], total=count)
    assert 'class="map"' not in html(body)
    assert re.search(r"\d+ (m|km) to the \w+", tables.whereabouts(body, WORDS).replace("\xa0", " "))


@given(places=st.lists(PLACE, min_size=1, max_size=50))
def test_guide_map_sentence_agrees_with_the_restaurants(sample, places):
    body = around(sample, places)
    said = tables.whereabouts(body, WORDS).replace("\xa0", " ")
    at = [math.degrees(math.atan2(*east_and_north(body, one))) % 360 for one in body.restaurants]

    def towards(side: int) -> int:
        return sum(min((turn - side * 45) % 360, (side * 45 - turn) % 360) <= 67.6 for turn in at)

    if found := re.match(r"(All|Most) lie to the ([\w-]+)\.", said):
        held = towards(SIDES.index(found[2]))
        assert held == len(at) if found[1] == "All" else held * 2 > len(at)
    if said.startswith("They are in every direction."):
        assert all(towards(side) for side in range(8))
    starred = [one for one in body.restaurants if one.stars] or body.restaurants
    nearest = re.search(r"(Mesa \d+\.).*? to the ([\w-]+)\.$", said)
    one = next(one for one in body.restaurants if one.name == nearest[1])
    assert one.distance == min(other.distance for other in starred)
    turn = SIDES.index(nearest[2]) * 45
    assert min((one.bearing - turn) % 360, (turn - one.bearing) % 360) <= 22.5


@pytest.mark.parametrize("language", LANGUAGES)
def test_guide_map_sentence_is_translated(sample, language):
    fmt = words_in(language)
    said = tables.whereabouts(sample, fmt)
    assert "Kresala" in said
    assert "{" not in said
    if language != "en":
        assert not re.search("north|south|east of|west of", said)


INSIDE = """() => {
  const map = [...document.querySelectorAll(".map")].find((one) => one.checkVisibility());
  if (!map) return null;
  const card = map.closest("section").getBoundingClientRect();
  const out = [...map.querySelectorAll("text, rect, circle, use")].filter((one) => {
    const at = one.getBoundingClientRect();
    return at.width && (at.left < card.left || at.right > card.right);
  });
  const letters = parseFloat(getComputedStyle(document.querySelector(".map text")).fontSize);
  return [out.length, letters * map.getBoundingClientRect().width / 224];
}"""


@pytest.mark.parametrize("language", ["en", "ja", "ar"])
def test_map_lies_inside_its_card_with_letters_of_at_least_11_px(service, open_page, language):
    page = open_page(service.address(STAY, lang=language, sections="guide")).page
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for width in (280, 320, 360, 500, 640, 720, 960, 1200):
        page.set_viewport_size({"width": width, "height": 3000})
        outside, letters = page.evaluate(INSIDE)
        assert outside == 0, width
        assert letters >= 10.9, width


def test_map_has_east_on_the_right_in_right_to_left_languages(service, open_page):
    where = """() => {
      const at = (one) => one.getBoundingClientRect().left, map = document.querySelector(".map");
      const mark = [...map.querySelectorAll(".mt")].find((one) => one.textContent == "4");
      return at(mark) - at(map.querySelector(".hm"));
    }"""
    for language in ("en", "ar"):
        page = open_page(service.address(STAY, lang=language), viewport=WIDE).page
        assert page.evaluate(where) > 20, language  # Kresala lies to the east


def test_map_marks_and_rings_stay_visible_in_forced_colours_mode(service, open_page):
    page = open_page(service.address(STAY), forced_colors="active", viewport=WIDE).page
    colours = """() => ["circle.g", "circle.mk", "text.mt"].map((one) => {
      const style = getComputedStyle(document.querySelector(`.map ${one}`));
      return style[one == "text.mt" ? "fill" : "stroke"];
    })"""
    ground = "getComputedStyle(document.querySelector('.card')).backgroundColor"
    assert set(page.evaluate(colours)) == {"rgb(0, 0, 0)"} != {page.evaluate(ground)}
