"""Calls the service through the client that openapi-generator makes for Python."""

import os
from datetime import date

from openapi_client import ApiClient, Configuration, SectionsApi
from openapi_client.exceptions import BadRequestException
from openapi_client.models import (
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

BASE, KEY = os.environ["BASE_URL"], os.environ["API_KEY"]
FIRST, LAST, PAST = date(2026, 11, 28), date(2026, 12, 1), date(2026, 10, 1)
LAT, LNG = 48.8566, 2.3522
TWO = "48.8566,2.3522;-45,-130"


def main() -> None:
    with ApiClient(Configuration(host=BASE, access_token=KEY)) as client:
        sections = SectionsApi(client)
        forecast = sections.weather(lat=LAT, lng=LNG, start=FIRST, end=LAST).actual_instance
        assert isinstance(forecast, WeatherBody), forecast
        assert forecast.applicable is True
        assert forecast.days[0].var_date == FIRST
        assert isinstance(forecast.days[0].temperature_max, float)
        assert forecast.units.temperature == "°C"
        print("weather true")
        past = sections.weather(lat=LAT, lng=LNG, start=PAST, end=PAST).actual_instance
        assert isinstance(past, NotApplicable), past
        assert (past.applicable, past.reason) == (False, "stay_in_past")
        print("weather false")
        sky = sections.astronomy(lat=LAT, lng=LNG, start=FIRST, end=LAST).actual_instance
        assert isinstance(sky, AstronomyBody), sky
        assert sky.days[0].sun.sunrise is not None
        assert sky.days[0].sun.sunrise.utcoffset() is not None
        print("astronomy true")
        tables = sections.guide(lat=LAT, lng=LNG).actual_instance
        assert isinstance(tables, GuideBody), tables
        assert tables.total >= len(tables.restaurants) > 0
        print("guide true")
        sea = sections.guide(lat=-45.0, lng=-130.0).actual_instance
        assert isinstance(sea, NotApplicable), sea
        assert sea.reason == "no_restaurants_in_range"
        print("guide false")
        shows = sections.events(lat=LAT, lng=LNG, start=FIRST, end=LAST).actual_instance
        assert isinstance(shows, EventsBody), shows
        assert shows.events[0].start == "2026-11-28T20:00:00+01:00"
        print("events true")
        over = sections.events(lat=LAT, lng=LNG, start=PAST, end=PAST).actual_instance
        assert isinstance(over, NoEvents), over
        assert over.coverage == []
        print("events false")
        whole = sections.pulse(lat=LAT, lng=LNG, start=FIRST, end=LAST).actual_instance
        assert isinstance(whole, PulseBody), whole
        assert whole.sections.weather is not None
        assert whole.sections.weather.days[0].var_date == FIRST
        print("pulse", whole.sections.weather.type)
        several = sections.pulse(points=TWO, sections="guide").actual_instance
        assert isinstance(several, PulsesBody), several
        lacking = several.results[1].not_applicable.guide
        assert lacking is not None
        print("pulses", lacking.reason)
        print("error", refused(sections).error.code)


def refused(sections: SectionsApi) -> ErrorEnvelope:
    try:
        sections.weather(lat=LAT, lng=LNG, start=LAST, end=FIRST)
    except BadRequestException as error:
        if isinstance(error.data, ErrorEnvelope):
            return error.data
    raise AssertionError


main()
