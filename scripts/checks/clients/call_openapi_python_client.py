"""Calls the service through the client that openapi-python-client makes."""

import os
from datetime import date

from location_context_service_client import AuthenticatedClient
from location_context_service_client.api.sections import astronomy, events, guide, pulse, weather
from location_context_service_client.models import (
    AstronomyBody,
    ErrorEnvelope,
    EventsBody,
    GuideBody,
    NoEvents,
    NotApplicable,
    PulseBody,
    PulsesBody,
    WeatherBody,
)
from location_context_service_client.types import Unset

BASE, KEY = os.environ["BASE_URL"], os.environ["API_KEY"]
FIRST, LAST, PAST = date(2026, 11, 28), date(2026, 12, 1), date(2026, 10, 1)
LAT, LNG = 48.8566, 2.3522
TWO = "48.8566,2.3522;-45,-130"


def main() -> None:
    with AuthenticatedClient(base_url=BASE, token=KEY, raise_on_unexpected_status=True) as client:
        forecast = weather.sync(client=client, lat=LAT, lng=LNG, start=FIRST, end=LAST)
        assert isinstance(forecast, WeatherBody), forecast
        assert forecast.applicable is True
        assert forecast.days[0].date == FIRST
        assert isinstance(forecast.days[0].temperature_max, float)
        assert forecast.units.temperature.value == "°C"
        print("weather true")
        past = weather.sync(client=client, lat=LAT, lng=LNG, start=PAST, end=PAST)
        assert isinstance(past, NotApplicable), past
        assert (past.applicable, past.reason.value) == (False, "stay_in_past")
        print("weather false")
        sky = astronomy.sync(client=client, lat=LAT, lng=LNG, start=FIRST, end=LAST)
        assert isinstance(sky, AstronomyBody), sky
        assert sky.days[0].sun.sunrise is not None
        assert sky.days[0].sun.sunrise.utcoffset() is not None
        print("astronomy true")
        tables = guide.sync(client=client, lat=LAT, lng=LNG)
        assert isinstance(tables, GuideBody), tables
        assert tables.total >= len(tables.restaurants) > 0
        print("guide true")
        sea = guide.sync(client=client, lat=-45, lng=-130)
        assert isinstance(sea, NotApplicable), sea
        assert sea.reason.value == "no_restaurants_in_range"
        print("guide false")
        shows = events.sync(client=client, lat=LAT, lng=LNG, start=FIRST, end=LAST)
        assert isinstance(shows, EventsBody), shows
        assert shows.events[0].start == "2026-11-28T20:00:00+01:00"
        print("events true")
        over = events.sync(client=client, lat=LAT, lng=LNG, start=PAST, end=PAST)
        assert isinstance(over, NoEvents), over
        assert over.coverage == []
        print("events false")
        whole = pulse.sync(client=client, lat=LAT, lng=LNG, start=FIRST, end=LAST)
        assert isinstance(whole, PulseBody), whole
        assert not isinstance(whole.sections.weather, Unset), whole
        assert whole.sections.weather.days[0].date == FIRST
        print("pulse", whole.sections.weather.type_.value)
        several = pulse.sync(client=client, points=TWO, sections="guide")
        assert isinstance(several, PulsesBody), several
        lacking = several.results[1].not_applicable.guide
        assert not isinstance(lacking, Unset), several
        print("pulses", lacking.reason.value)
        wrong = weather.sync(client=client, lat=LAT, lng=LNG, start=LAST, end=FIRST)
        assert isinstance(wrong, ErrorEnvelope), wrong
        print("error", wrong.error.code.value)


main()
