"""`days`: a widget without dates shows the days from today on, and never goes out of date."""

import re
from datetime import UTC, datetime, timedelta

from tests.widget.service import STAY

POINT = {name: STAY[name] for name in ("lat", "lng", "place")}
EVENING = datetime(2026, 11, 22, 22, 30, tzinfo=UTC)  # half an hour before midnight at the point


def test_widget_with_days_7_equals_the_widget_with_the_same_dates(service):
    dated = service.page(POINT, start="2026-11-21", end="2026-11-27", sections="weather,astronomy")
    living = service.page(POINT, days="7", sections="weather,astronomy")
    assert living.status_code == 200
    assert body_of(living) == body_of(dated)


def test_widget_with_the_days_parameter_starts_a_day_later_after_local_midnight(service):
    shown = []
    for moment in (EVENING, EVENING + timedelta(minutes=31)):
        with service.at(moment):
            shown.append(dates_of(service.page(POINT, days="3", lang="en")))
    stays = (("2026-11-22", "2026-11-24"), ("2026-11-23", "2026-11-25"))
    assert shown == [
        dates_of(service.page(POINT, start=start, end=end, lang="en")) for start, end in stays
    ]


def test_widget_with_the_days_parameter_is_cached_until_local_midnight_at_most(service):
    with service.at(EVENING):
        control = service.page(POINT, days="5", sections="guide").headers["cache-control"]
    ages = [int(part.partition("=")[2]) for part in control.split(", ") if "max" in part]
    assert ages
    assert max(ages) <= 30 * 60


def test_svg_picture_and_oembed_html_of_the_widget_both_accept_the_days_parameter(service):
    address = service.address(POINT, days="7", lang="en")
    picture = service.http.get(address.replace("/v1/pulse?", "/v1/pulse.svg?"))
    dated = service.address(POINT, start="2026-11-21", end="2026-11-27", lang="en")
    assert picture.content == service.http.get(dated.replace("pulse?", "pulse.svg?")).content
    embed = service.http.get(f"{service.url}/v1/oembed", params={"url": address}).json()
    assert "&amp;days=7" in embed["html"]
    assert "start=" not in embed["html"]


def test_widget_with_both_days_and_dates_shows_an_error_that_asks_to_choose_dates(service):
    answer = service.page(STAY, days="7")
    assert answer.status_code == 400
    assert answer.headers["x-error-code"] == "conflicting_parameters"
    assert "Choose the dates of your stay." in answer.text


def body_of(answer):
    """The page without the head, whose link to oEmbed holds the address."""
    return answer.text.partition("<body>")[2]


def dates_of(answer):
    """The dates in the page's header."""
    return re.findall(r"<h1.*?</h1><p>(.*?)&nbsp;", answer.text)
