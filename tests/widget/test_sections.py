"""The widget's parameter `sections`: which cards stand on the page, in which order."""

import re

import pytest

from location_context.sections.contract import NotApplicable

CARD = re.compile(r'<section class="card[ \w]*" id="(\w+)"')


def cards(full, sections: str, **more: str) -> list[str]:
    answer = full.get(sections=sections, **more)
    assert answer.status_code == 200
    return CARD.findall(answer.text)


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ("weather,guide", ["stay", "guide"]),
        ("guide,weather", ["guide", "stay"]),
        ("events", ["stay"]),
        ("astronomy,events,guide,weather", ["astronomy", "stay", "guide"]),
        ("", ["stay", "astronomy", "guide"]),
    ],
)
def test_page_has_the_chosen_cards_in_their_order(full, names, shown):
    assert cards(full, names) == shown


def test_repeated_section_stands_at_its_first_position(full):
    assert cards(full, "guide,weather,guide") == ["guide", "stay"]


def test_page_reads_only_the_chosen_sections(full):
    asked = []
    makers = {name: full.sample(name).make for name in ("weather", "guide", "events")}

    def noted(name):
        return lambda query: asked.append(name) or makers[name](query)

    try:
        for name in makers:
            full.sample(name).make = noted(name)
        full.get(sections="guide,astronomy", lat="45.01")
    finally:
        for name, make in makers.items():
            full.sample(name).make = make
    assert asked == ["guide"]


def test_title_footer_and_discovery_follow_the_chosen_sections(full):
    text = full.get(sections="guide,weather").text
    assert "<title>Restaurants and weather in San Sebastián</title>" in text
    assert "sections%3Dguide%2Cweather" in re.search(r'href="(\S+oembed\S+)"', text)[1]
    footer = text.partition("<footer")[2].partition('<div class="in">')[2]
    assert "Restaurants:" in footer
    assert "Sky:" not in footer
    assert footer.index("Restaurants:") < footer.index("Weather:")


def test_each_choice_of_sections_is_cached_separately(full):
    pages = [full.get(sections=names) for names in ("", "guide", "guide,events", "events,guide")]
    again = [full.get(sections=names) for names in ("", "guide", "guide,events", "events,guide")]
    assert len({page.headers["etag"] for page in pages}) == 4
    assert [page.content for page in pages] == [page.content for page in again]


def test_oembed_shows_and_names_the_chosen_sections(full):
    address = full.address(sections="events,weather")
    body = full.http.get(f"{full.url}/v1/oembed", params={"url": address}).json()
    assert body["title"] == "Events and weather in San Sebastián"
    assert "sections=events,weather" in body["html"]


def test_page_says_nothing_to_show_when_no_section_has_an_answer(full):
    events = full.sample("events")
    make, events.make = events.make, lambda _: NotApplicable(reason="no_events", message="None.")
    try:
        text = full.get(sections="events", lat="45.02").text
    finally:
        events.make = make
    assert CARD.findall(text) == []
    assert "Nothing to show for these dates." in text
