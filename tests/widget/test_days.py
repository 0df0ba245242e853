"""`days`: a widget without dates shows the days from today on, and never goes out of date."""

import re
from datetime import UTC, datetime, timedelta

from tests.widget.full_app import STAY

POINT = {name: STAY[name] for name in ("lat", "lng", "place")}
EVENING = datetime(2026, 11, 22, 22, 30, tzinfo=UTC)  # half an hour before midnight at the point


def test_widget_of_seven_days_equals_the_widget_with_these_dates(full):
    dated = full.get(POINT, start="2026-11-21", end="2026-11-27", sections="weather,astronomy")
    living = full.get(POINT, days="7", sections="weather,astronomy")
    assert living.status_code == 200
    assert body_of(living) == body_of(dated)


def test_stay_of_days_moves_by_a_day_at_local_midnight(full):
    shown, before = [], full.clock.now
    try:
        for moment in (EVENING, EVENING + timedelta(minutes=31)):
            full.clock.now = moment
            shown.append(dates_of(full.get(POINT, days="3", lang="en")))
    finally:
        full.clock.now = before
    assert shown[0] == dates_of(full.get(POINT, start="2026-11-22", end="2026-11-24", lang="en"))
    assert shown[1] == dates_of(full.get(POINT, start="2026-11-23", end="2026-11-25", lang="en"))


def test_widget_of_days_is_cached_until_local_midnight_at_most(full):
    before = full.clock.now
    try:
        full.clock.now = EVENING
        control = full.get(POINT, days="5", sections="guide").headers["cache-control"]
    finally:
        full.clock.now = before
    ages = [int(part.partition("=")[2]) for part in control.split(", ") if "max" in part]
    assert ages
    assert max(ages) <= 30 * 60


def test_picture_and_oembed_accept_days(full):
    address = full.address(POINT, days="7", lang="en")
    picture = full.http.get(address.replace("/v1/pulse?", "/v1/pulse.svg?"))
    dated = full.address(POINT, start="2026-11-21", end="2026-11-27", lang="en")
    assert picture.content == full.http.get(dated.replace("pulse?", "pulse.svg?")).content
    embed = full.http.get(f"{full.url}/v1/oembed", params={"url": address}).json()
    assert "&amp;days=7" in embed["html"]
    assert "start=" not in embed["html"]


def test_widget_with_days_and_dates_says_to_choose_dates(full):
    answer = full.get(STAY, days="7")
    assert answer.status_code == 400
    assert answer.headers["x-error-code"] == "conflicting_parameters"
    assert "Choose the dates of your stay." in answer.text


def body_of(answer):
    """The page without the head, whose link to oEmbed holds the address."""
    return answer.text.partition("<body>")[2]


def dates_of(answer):
    """The dates in the page's header."""
    return re.findall(r"<h1.*?</h1><p>(.*?)&nbsp;", answer.text)
