"""Reads the service's answers with the models that datamodel-code-generator makes."""

import os
from datetime import date

import httpx
from datamodels import (
    AstronomyAnswer,
    AstronomyBody,
    ErrorEnvelope,
    EventsAnswer,
    EventsBody,
    GuideAnswer,
    GuideBody,
    NoEvents,
    NotApplicable,
    PulseAnswer,
    PulseBody,
    PulsesBody,
    WeatherAnswer,
    WeatherBody,
)

BASE, KEY = os.environ["BASE_URL"], os.environ["API_KEY"]
FIRST, LAST, PAST = "2026-11-28", "2026-12-01", "2026-10-01"
PARIS = {"lat": "48.8566", "lng": "2.3522"}


def ask(section: str, **params: str) -> bytes:
    headers = {"Authorization": f"Bearer {KEY}"}
    path = f"pulse/{section}" if section else "pulse.json"
    return httpx.get(f"{BASE}/v1/{path}", params=params, headers=headers).content


def main() -> None:
    answer = ask("weather", **PARIS, start=FIRST, end=LAST)
    forecast = WeatherAnswer.model_validate_json(answer).root
    assert isinstance(forecast, WeatherBody), forecast
    assert forecast.applicable is True
    assert forecast.days[0].date == date.fromisoformat(FIRST)
    assert isinstance(forecast.days[0].temperature_max, float)
    assert forecast.units.temperature.value == "°C"
    print("weather true")
    answer = ask("weather", **PARIS, start=PAST, end=PAST)
    past = WeatherAnswer.model_validate_json(answer).root
    assert isinstance(past, NotApplicable), past
    assert (past.applicable, past.reason.value) == (False, "stay_in_past")
    print("weather false")
    answer = ask("astronomy", **PARIS, start=FIRST, end=LAST)
    sky = AstronomyAnswer.model_validate_json(answer).root
    assert isinstance(sky, AstronomyBody), sky
    assert sky.days[0].sun.sunrise is not None
    assert sky.days[0].sun.sunrise.utcoffset() is not None
    print("astronomy true")
    tables = GuideAnswer.model_validate_json(ask("guide", **PARIS)).root
    assert isinstance(tables, GuideBody), tables
    assert tables.total >= len(tables.restaurants) > 0
    print("guide true")
    sea = GuideAnswer.model_validate_json(ask("guide", lat="-45", lng="-130")).root
    assert isinstance(sea, NotApplicable), sea
    assert sea.reason.value == "no_restaurants_in_range"
    print("guide false")
    answer = ask("events", **PARIS, start=FIRST, end=LAST)
    shows = EventsAnswer.model_validate_json(answer).root
    assert isinstance(shows, EventsBody), shows
    assert shows.events[0].start == "2026-11-28T20:00:00+01:00"
    print("events true")
    answer = ask("events", **PARIS, start=PAST, end=PAST)
    over = EventsAnswer.model_validate_json(answer).root
    assert isinstance(over, NoEvents), over
    assert over.coverage == []
    print("events false")
    whole = PulseAnswer.model_validate_json(ask("", **PARIS, start=FIRST, end=LAST)).root
    assert isinstance(whole, PulseBody), whole
    assert whole.sections.weather is not None
    print("pulse", whole.sections.weather.type)
    answer = ask("", points="48.8566,2.3522;-45,-130", sections="guide")
    several = PulseAnswer.model_validate_json(answer).root
    assert isinstance(several, PulsesBody), several
    lacking = several.results[1].not_applicable.guide
    assert lacking is not None
    print("pulses", lacking.reason.value)
    wrong = ErrorEnvelope.model_validate_json(ask("weather", **PARIS, start=LAST, end=FIRST))
    print("error", wrong.error.code.value)


main()
