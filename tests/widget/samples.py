"""Full answers for the widget's tests: real Structs with made-up weather, restaurants and events.

The sky is the real section's. Weather follows a small made-up climate (warm near the equator and
in summer), so that every place and season shows something that could be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import ClassVar

from location_context.errors import UpstreamUnavailable
from location_context.sections.astronomy.section import Astronomy
from location_context.sections.contract import (
    Applicable,
    Attribution,
    DatasetState,
    NotApplicable,
    PointBody,
    ProviderState,
    Query,
    Reading,
    Section,
    StayBody,
)
from location_context.sections.events.response import (
    Category,
    Coverage,
    Event,
    EventsBody,
    EventStatus,
    NoEvents,
    Price,
    Venue,
)
from location_context.sections.guide.response import GuideBody, RestaurantBody, TierBody, Travel
from location_context.sections.guide.wording import Wording
from location_context.sections.units import Measure
from location_context.sections.weather.codes import words as condition_words
from location_context.sections.weather.response import (
    Basis,
    Condition,
    Day,
    Mode,
    Summary,
    WeatherBody,
    YearBody,
)
from location_context.stay import Clock, horizon
from location_context.upstream.deadline import Deadline

METEO = Attribution(
    name="Open-Meteo", url="https://open-meteo.com/", license="CC BY 4.0", text="Open-Meteo"
)
ERA5 = Attribution(
    name="Copernicus", url="https://climate.copernicus.eu/", license=None, text="ERA5, Copernicus"
)
SAMPLE = Attribution(
    name="Sample guide", url=None, license=None, text="Sample guide 2026, not current"
)
HOLIDAYS = Attribution(
    name="OpenHolidays", url="https://www.openholidaysapi.org/", license="ODbL", text="OpenHolidays"
)
CODES: dict[Condition, int] = {
    "clear": 0, "partly_cloudy": 2, "cloudy": 3, "fog": 45, "drizzle": 53, "rain": 61, "sleet": 66,
    "heavy_rain": 65, "snow": 73, "heavy_snow": 75, "thunderstorm": 95,
}  # fmt: skip
FORECAST_SKIES: Sequence[Condition] = (
    "clear", "clear", "partly_cloudy", "thunderstorm", "partly_cloudy", "heavy_rain", "drizzle",
    "cloudy", "rain", "fog", "partly_cloudy",
)  # fmt: skip
SNOWY: dict[Condition, Condition] = {
    "rain": "snow", "drizzle": "snow", "heavy_rain": "heavy_snow", "thunderstorm": "sleet",
}  # fmt: skip
CHANCES: dict[Condition, int] = {
    "partly_cloudy": 15, "cloudy": 30, "drizzle": 55, "rain": 70, "heavy_rain": 85, "snow": 70,
    "thunderstorm": 65, "sleet": 60, "heavy_snow": 85,
}  # fmt: skip
TYPICAL_SKIES: Sequence[Condition] = (
    "partly_cloudy", "partly_cloudy", "cloudy", "drizzle", "partly_cloudy", "partly_cloudy",
    "partly_cloudy", "rain",
)  # fmt: skip


class Sample:
    """A section that answers with what `make` gives, for every point and stay."""

    name: ClassVar[str] = "sample"
    dated: ClassVar[bool] = True
    response: ClassVar[type[Applicable]] = Applicable
    refusal: ClassVar[type[NotApplicable]] = NotApplicable

    def __init__(self, clock: Clock, make: Callable[[Query], Applicable | NotApplicable]) -> None:
        self.clock = clock
        self.make = make
        self.broken = False

    async def read(self, query: Query, deadline: Deadline) -> Reading:
        if self.broken:
            raise UpstreamUnavailable("It holds nothing.", 5)
        return Reading(self.make(query), self.clock() + timedelta(minutes=30))

    def providers(self) -> Sequence[ProviderState]:
        return ()

    async def dataset(self) -> DatasetState | None:
        return None

    def notices(self) -> Sequence[str]:
        return ()

    async def run(self) -> None:
        return None


class SampleWeather(Sample):
    name = "weather"
    response = WeatherBody


class SampleGuide(Sample):
    name = "guide"
    dated = False
    response = GuideBody


class SampleEvents(Sample):
    name = "events"
    response = EventsBody
    refusal = NoEvents


def sample_sections(clock: Clock) -> list[Section]:
    """All four: the real sky, the rest made up."""
    return [
        SampleWeather(clock, lambda query: weather(query, clock())),
        Astronomy.build(clock),
        SampleGuide(clock, guide),
        SampleEvents(clock, events),
    ]


def _point(query: Query) -> PointBody:
    point = query.point
    return PointBody(
        lat=point.lat,
        lng=point.lng,
        timezone=point.timezone,
        country=point.country,
        region=point.region,
    )


def weather(query: Query, now: datetime) -> WeatherBody:
    stay = query.stay
    assert stay is not None
    today = query.point.today(now)
    mode: Mode = "forecast" if stay.end <= horizon(today) else "climatology"
    days = [_day(query, day, mode) for day in stay.dates()]
    highs = [day.temperature_max or 0.0 for day in days]
    lows = [day.temperature_min or 0.0 for day in days]
    years = list(range(2016, 2026))
    measure = Measure(query.units)
    return WeatherBody(
        point=_point(query),
        units=measure.body,
        as_of=now - timedelta(hours=2),
        stale=False,
        attribution=[METEO] if mode == "forecast" else [METEO, ERA5],
        stay=StayBody(start=stay.start, end=stay.end),
        mode=mode,
        forecast_until=horizon(today),
        days=days,
        summary=Summary(
            text="",
            temperature_max_mean=sum(highs) / len(highs),
            temperature_min_mean=sum(lows) / len(lows),
            precipitation_total=sum(day.precipitation_sum or 0 for day in days),
            expected_wet_days=sum(day.precipitation_probability or 0 for day in days) / 100,
            sunshine_hours_total=sum(day.sunshine_hours or 0 for day in days),
            warmest_date=days[highs.index(max(highs))].date,
            wettest_date=days[-1].date,
        ),
        basis=Basis(
            kind="forecast" if mode == "forecast" else "reanalysis",
            provider="Open-Meteo",
            model=None,
            issued_at=now - timedelta(hours=2) if mode == "forecast" else None,
            years=[] if mode == "forecast" else years,
            samples_per_day=None if mode == "forecast" else 290,
            grid_distance=3.0,
            grid_elevation=10.0,
            point_elevation=8.0,
            temperature_correction=None,
        ),
        history=[] if mode == "forecast" else [_year(year, highs, lows, measure) for year in years],
    )


def _warmth(lat: float, day: date) -> float:
    """A made-up mean high in °C."""
    season = math.cos(2 * math.pi * (day.timetuple().tm_yday - 205) / 365.24)
    side = 1 if lat >= 0 else -1
    return 31 - 0.0052 * lat * lat + side * season * min(13.0, abs(lat) / 5)


def _day(query: Query, day: date, mode: Mode) -> Day:
    measure, warm = Measure(query.units), _warmth(query.point.lat, day)
    number = day.toordinal()
    skies = FORECAST_SKIES if mode == "forecast" else TYPICAL_SKIES
    condition = skies[number % len(skies)]
    if warm < 1:
        condition = SNOWY.get(condition, condition)
    high = warm + ((number * 7) % 5 - 2) * (1.6 if mode == "forecast" else 0.3)
    chance = CHANCES.get(condition, 10) + (number * 3) % 10
    if mode == "climatology":
        chance = 25 + (number * 13) % 35
    typical = mode == "climatology"
    return Day(
        date=day,
        condition=condition,
        weather_code=CODES[condition],
        summary=condition_words(condition, query.language),
        temperature_max=measure.temperature(high),
        temperature_min=measure.temperature(high - 7.5),
        temperature_mean=measure.temperature(high - 3.5),
        temperature_max_p10=measure.temperature(high - 4) if typical else None,
        temperature_max_p90=measure.temperature(high + 5) if typical else None,
        temperature_min_p10=measure.temperature(high - 11) if typical else None,
        temperature_min_p90=measure.temperature(high - 4.5) if typical else None,
        apparent_temperature_max=measure.temperature(high + 1),
        apparent_temperature_min=measure.temperature(high - 8),
        precipitation_sum=measure.precipitation(chance / 14),
        precipitation_probability=float(chance),
        precipitation_hours=1.5,
        snowfall_sum=measure.snowfall(2.0 if condition == "snow" else 0.0),
        wind_speed_max=measure.wind_speed(24.0),
        wind_gusts_max=measure.wind_speed(38.0 + (number * 5) % 24),
        wind_direction_dominant=270.0,
        sunshine_hours=6.5 + number % 3 if abs(query.point.lat) < 60 else 0.4,
        cloud_cover_mean=45.0,
        humidity_mean=70.0,
        uv_index_max=None if typical else 6.0,
    )


def _year(year: int, highs: Sequence[float], lows: Sequence[float], measure: Measure) -> YearBody:
    shift = (measure.temperature_difference(((year * 7) % 9 - 4) * 0.6)) or 0.0
    return YearBody(
        year=year,
        temperature_max_mean=round(sum(highs) / len(highs) + shift, 1),
        temperature_min_mean=round(sum(lows) / len(lows) + shift, 1),
        precipitation_total=measure.precipitation(12.0),
        wet_days=(year * 5) % 6 if len(highs) > 5 else 1,
    )


TABLES = (
    ("three_star", ("Goizargi", "Creative Basque", 4, 3.4), ("Harkaitz", "Contemporary", 4, 7.1)),
    ("two_star", ("Ataria 1899", "Modern, seasonal", 4, 1.9), ("Errota", "Creative", 4, 9.6)),
    ("one_star", ("Kresala", "Seafood", 3, 1.1), ("Bidarte", "Market cuisine", 3, 2.6),
     ("Hiru Zubi", "Modern Basque", 3, 3.1), ("Lizarra", "Grills", 3, 6.4),
     ("Amalur", "Creative", 4, 11.2), ("Sutegi", "Basque", 3, 13.9)),
    ("good_value", ("Txoko Urdina", "Traditional Basque", 2, 0.65), ("Ostatu", "Country", 2, 1.3),
     ("Plaza Berri", "Pintxos", 1, 1.7)),
    ("selected", ("Lanperna", "Grills", 2, 0.35), ("Zazpi", "Basque", 2, 0.4),
     ("Itsas Begi", "Seafood", 3, 0.8), ("Kale Nagusia", "Contemporary", 2, 0.9),
     ("Errekalde", "Vegetarian", 2, 0.95)),
)  # fmt: skip
RADII = {"three_star": 80, "two_star": 40, "one_star": 15, "good_value": 2, "selected": 1}


def guide(query: Query) -> GuideBody:
    measure, wording = Measure(query.units), Wording(query.language, {})
    found = [
        RestaurantBody(
            id=f"{tier}-{number}",
            name=name,
            tier=tier,
            label=wording.label(tier),
            stars={"three_star": 3, "two_star": 2, "one_star": 1}.get(tier, 0),
            distance=measure.distance(km) or 0.0,
            bearing=45.0,
            travel=Travel(
                kind="walk" if km < 1.2 else "drive",
                minutes=round(km * 13) if km < 1.2 else round(5 + km * 1.6),
                estimated=True,
            ),
            cuisine=[cuisine],
            price_level=price,
            price="€" * price,
            address=None,
            city=None,
            country="ES",
            lat=query.point.lat,
            lng=query.point.lng,
            url="https://guide.example/" + name.lower().replace(" ", "-") if number else None,
            website=None,
            phone=None,
            award_year=2026,
        )
        for tier, *tables in TABLES
        for number, (name, cuisine, price, km) in enumerate(tables)
    ]
    return GuideBody(
        point=_point(query),
        units=measure.body,
        as_of=datetime(2026, 2, 1, tzinfo=UTC),
        stale=False,
        attribution=[SAMPLE],
        tiers=[
            TierBody(
                tier=tier,
                rank=rank + 1,
                label=wording.label(tier),
                meaning=wording.meaning(tier),
                radius=measure.distance(RADII[tier]) or 0.0,
                count=len(tables),
                nearest_beyond=None,
            )
            for rank, (tier, *tables) in enumerate(TABLES)
        ],
        restaurants=found,
        total=len(found),
    )


def _event(
    query: Query,
    day: int,
    title: str,
    category: Category,
    *,
    at: str | None = None,
    till: str | None = None,
    end: str | None = None,
    venue: str | None = None,
    km: float | None = None,
    status: EventStatus = "confirmed",
    price: Price | None = None,
    url: str | None = None,
) -> Event:
    """An event on a day of the stay, counted from its first."""
    stay = query.stay
    assert stay is not None
    start = stay.start + timedelta(days=min(day, stay.days - 1))
    distance = Measure(query.units).distance(km)
    where = Venue(name=venue, address=None, lat=None, lng=None, distance=distance)
    return Event(
        id=f"{title}-{day}",
        title=title,
        category=category,
        start=f"{start}T{at}:00+02:00" if at else f"{start}",
        end=f"{start}T{till}:00+02:00" if till else end,
        all_day=at is None,
        overlaps=["stay"],
        status=status,
        venue=where if venue or km else None,
        scope="point",
        regions=[],
        rank=50,
        url=url,
        image=None,
        price=price,
        sources=["Sample"],
    )


def events(query: Query) -> EventsBody:
    stay, measure = query.stay, Measure(query.units)
    assert stay is not None
    last = stay.days - 1
    found = [
        _event(query, 0, "Aste Nagusia, the Big Week", "festival", end=f"{stay.end}"),
        _event(query, 0, "Opening cannon shot", "community", at="19:00", venue="Alde Eder", km=0.4),
        _event(query, 1, "Fireworks contest", "festival", at="22:45", venue="La Concha", km=0.25),
        _event(
            query, 3, "Basque National Orchestra", "concert", at="20:00", venue="Kursaal", km=1.3,
            price=Price(min=18.0, max=60.0, currency="EUR"), url="https://kursaal.example/obn",
        ),
        _event(
            query, 4, "Eclipse watch, Monte Urgull", "community", at="18:30", km=0.9,
            price=Price(min=0.0, max=0.0, currency="EUR"),
        ),
        _event(
            query, 5, "Summer show, San Telmo", "exhibition", at="10:00", till="20:00",
            venue="San Telmo Museoa", km=0.5,
        ),
        _event(query, 6, "Basque rural sports day", "sport", at="12:00", venue="Plaza", km=0.6),
        _event(query, last, "Assumption Day", "public_holiday"),
        _event(
            query, last, "Real Sociedad, league match", "sport", at="21:30", venue="Anoeta",
            km=2.4, status="estimated",
        ),
        _event(query, 3, "Jazz on the terrace", "concert", at="21:00", venue="Koldo", km=0.7),
        _event(query, 4, "Night market", "community", at="19:30", venue="Gros", km=1.1),
        _event(
            query, 5, "Theatre in Basque: Amets", "performing_arts", at="20:30", km=1.0,
            status="postponed", venue="Victoria Eugenia",
        ),
    ]  # fmt: skip
    return EventsBody(
        point=_point(query),
        units=measure.body,
        as_of=datetime(2026, 11, 20, 6, 10, tzinfo=UTC),
        stale=False,
        attribution=[HOLIDAYS],
        stay=StayBody(start=stay.start, end=stay.end),
        radius=measure.distance(25.0) or 0.0,
        events=sorted(found, key=lambda e: e.start[:10]),
        omitted={"concert": 2},
        coverage=[
            Coverage(provider="holidays", status="ok"),
            Coverage(provider="Ticketmaster", status="not_configured"),
        ],
    )
