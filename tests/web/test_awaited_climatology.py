"""Over HTTP: a forecast whose climatology is on its way is cached by nobody for long."""

import asyncio
import re
from typing import Any

import msgspec
import pytest

from tests.sections.weather.conftest import fakes, weather_settings  # noqa: F401  fixtures
from tests.web.conftest import served_client
from tests.web.full_app import load_sample_guide

NEAR = {"lat": "48.8566", "lng": "2.3522", "start": "2026-11-24", "end": "2026-11-28"}
MANY = 20_000  # answers, of which a quarter of a second holds far fewer


def max_age(answer: Any) -> int:
    return int(re.search(r"max-age=(\d+)", answer.headers["cache-control"])[1])


@pytest.mark.parametrize(
    ("path", "held"),
    [("/v1/pulse/weather", "max-age=60, stale-while-revalidate"), ("/v1/pulse", "max-age=3")],
)
def test_caller_receives_climatology_once_its_background_fetch_is_done(
    weather_settings,  # noqa: F811  the fixture
    clock,
    path,
    held,
):
    settings = msgspec.structs.replace(
        weather_settings, open_holidays_url="", widget_per_minute=10 * MANY
    )
    asyncio.run(
        load_sample_guide(settings, clock)
    )  # without one a page is cached for a minute only
    with served_client(settings, clock=clock, per_minute=10 * MANY) as client:
        first = client.get(path, NEAR)
        assert held in first.headers["cache-control"]
        answers = (client.get(path, NEAR) for _ in range(MANY))
        final = next(one for one in answers if max_age(one) > 60)
        assert final.headers["etag"] != first.headers["etag"]
        assert client.get(path, NEAR).headers["etag"] == final.headers["etag"]
        typical = client.get("/v1/pulse/weather", NEAR).json()["days"][0]["typical"]
        assert typical["years"] == list(range(2016, 2026))
