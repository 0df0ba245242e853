"""The widget's parameter `sections`: which cards stand on the page, in which order."""

import re
from contextlib import ExitStack
from functools import partial

import pytest

from location_context.sections.contract import NotApplicable

CARD = re.compile(r'<section class="card[ \w]*" id="(\w+)"')


def cards(service, sections: str, **more: str) -> list[str]:
    answer = service.page(sections=sections, **more)
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
def test_page_has_the_chosen_section_cards_in_the_requested_order(service, names, shown):
    assert cards(service, names) == shown


def test_section_card_requested_twice_is_shown_once_at_its_first_position(service):
    assert cards(service, "guide,weather,guide") == ["guide", "stay"]


def test_page_fetches_only_the_chosen_sections(service):
    reads = []
    with ExitStack() as stack:
        for name in ("weather", "guide", "events"):
            change = partial(lambda name, body: reads.append(name) or body, name)
            stack.enter_context(service.answering(name, change))
        service.page(sections="guide,astronomy", lat="45.01")
    assert reads == ["guide"]


def test_title_and_footer_and_oembed_discovery_link_name_only_the_chosen_sections(service):
    text = service.page(sections="guide,weather").text
    assert "<title>Restaurants and weather in San Sebastián</title>" in text
    assert "sections%3Dguide%2Cweather" in re.search(r'href="(\S+oembed\S+)"', text)[1]
    footer = text.partition("<footer")[2].partition('<div class="in">')[2]
    assert "Restaurants:" in footer
    assert "Sky:" not in footer
    assert footer.index("Restaurants:") < footer.index("Weather:")


def test_each_choice_of_sections_is_cached_separately(service):
    pages = [
        service.page(sections=names) for names in ("", "guide", "guide,events", "events,guide")
    ]
    again = [
        service.page(sections=names) for names in ("", "guide", "guide,events", "events,guide")
    ]
    assert len({page.headers["etag"] for page in pages}) == 4
    assert [page.content for page in pages] == [page.content for page in again]


def test_oembed_shows_and_names_the_chosen_sections(service):
    address = service.address(sections="events,weather")
    body = service.http.get(f"{service.url}/v1/oembed", params={"url": address}).json()
    assert body["title"] == "Events and weather in San Sebastián"
    assert "sections=events,weather" in body["html"]


def test_page_says_nothing_to_show_when_no_section_has_an_answer(service):
    absent = NotApplicable(reason="no_events", message="None.")
    with service.answering("events", lambda _: absent):
        text = service.page(sections="events", lat="45.02").text
    assert CARD.findall(text) == []
    assert "Nothing to show for these dates." in text
