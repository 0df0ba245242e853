"""What the astronomy section answers: these Structs are value, schema and documentation at once.

Times carry the local offset of the point. A rise, a set or a twilight is the first on its local
date, or null when that date has none. Altitudes and azimuths are topocentric, in degrees.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from location_context.sections.contract import DatedApplicable

SunStatus = Literal["normal", "polar_day", "polar_night"]
Phase = Literal[
    "new_moon",
    "waxing_crescent",
    "first_quarter",
    "waxing_gibbous",
    "full_moon",
    "waning_gibbous",
    "last_quarter",
    "waning_crescent",
]
PlanetName = Literal["mercury", "venus", "mars", "jupiter", "saturn"]
Visible = Literal["evening", "morning", "all_night", "none"]
HighlightType = Literal[
    "new_moon",
    "first_quarter",
    "full_moon",
    "last_quarter",
    "march_equinox",
    "june_solstice",
    "september_equinox",
    "december_solstice",
    "solar_eclipse",
    "lunar_eclipse",
    "meteor_shower",
    "clock_change",
]
EclipseKind = Literal["penumbral", "partial", "annular", "total"]


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """From one moment to another."""

    start: datetime
    end: datetime


class Sun(msgspec.Struct, frozen=True, kw_only=True):
    """The Sun on one local date: upper limb, refraction 34', sea level."""

    status: Annotated[
        SunStatus, Meta(description="`polar_day` and `polar_night` when it neither rises nor sets.")
    ]
    sunrise: datetime | None
    sunset: datetime | None
    solar_noon: Annotated[datetime | None, Meta(description="Its upper transit.")]
    sunrise_azimuth: Annotated[float | None, Meta(description="Degrees clockwise from north.")]
    sunset_azimuth: Annotated[float | None, Meta(description="Degrees clockwise from north.")]
    noon_altitude: Annotated[
        float | None, Meta(description="Altitude of its centre at solar noon, without refraction.")
    ]
    day_length_seconds: Annotated[
        int, Meta(description="How long the Sun is up on the local date.")
    ]
    civil_dawn: Annotated[datetime | None, Meta(description="The centre climbs past -6°.")]
    civil_dusk: Annotated[datetime | None, Meta(description="The centre sinks past -6°.")]
    nautical_dawn: Annotated[datetime | None, Meta(description="The centre climbs past -12°.")]
    nautical_dusk: Annotated[datetime | None, Meta(description="The centre sinks past -12°.")]
    astronomical_dawn: Annotated[datetime | None, Meta(description="The centre climbs past -18°.")]
    astronomical_dusk: Annotated[datetime | None, Meta(description="The centre sinks past -18°.")]
    golden_hour_morning: Annotated[
        Span | None,
        Meta(description="Before solar noon, from -4° to +6°, or to where the Sun turns."),
    ]
    golden_hour_evening: Annotated[
        Span | None, Meta(description="After solar noon, from +6° to -4°, or between its turns.")
    ]
    blue_hour_morning: Annotated[Span | None, Meta(description="Before solar noon, -6° to -4°.")]
    blue_hour_evening: Annotated[Span | None, Meta(description="After solar noon, -4° to -6°.")]


class Moon(msgspec.Struct, frozen=True, kw_only=True):
    """The Moon on one local date; its phase at the local midnight that ends the date."""

    moonrise: datetime | None
    moonset: datetime | None
    phase: Annotated[
        Phase, Meta(description="A principal phase names only the date that holds its instant.")
    ]
    phase_angle: Annotated[
        float, Meta(description="Ecliptic longitude ahead of the Sun, 0 new, 180 full, below 360.")
    ]
    illumination: Annotated[float, Meta(description="Sunlit share of the disc, 0 to 1.")]
    waxing: bool
    age_days: Annotated[float, Meta(description="Days since the last new moon.")]


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """The night that begins on the date, from noon to noon of the local clock."""

    dark_windows: Annotated[
        list[Span], Meta(description="Sun below -18° and Moon below the horizon.")
    ]
    dark_hours: Annotated[float, Meta(description="Their sum in hours.")]


class Planet(msgspec.Struct, frozen=True, kw_only=True):
    """One naked-eye planet: when to look in the night that begins on the date."""

    name: PlanetName
    visible: Annotated[
        Visible,
        Meta(description="At least 5° high with the Sun under -6° for 20 minutes, and when."),
    ]
    magnitude: Annotated[float | None, Meta(description="Visual; smaller is brighter.")]
    rise: Annotated[datetime | None, Meta(description="The first on the local date.")]
    set: Annotated[datetime | None, Meta(description="The first on the local date.")]


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """The sky of one local date."""

    date: date
    sun: Sun
    moon: Moon
    night: Night
    planets: list[Planet]


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """What an eclipse, a meteor shower or a clock change has besides; other fields are absent."""

    kind: Annotated[
        EclipseKind | UnsetType, Meta(description="Eclipses: as seen from the point.")
    ] = UNSET
    start: Annotated[
        datetime | UnsetType, Meta(description="Eclipses: when the visible part begins.")
    ] = UNSET
    maximum: Annotated[
        datetime | UnsetType, Meta(description="Eclipses: when the visible part is deepest.")
    ] = UNSET
    end: Annotated[
        datetime | UnsetType, Meta(description="Eclipses: when the visible part ends.")
    ] = UNSET
    magnitude: Annotated[
        float | UnsetType,
        Meta(description="Eclipses: share of the diameter covered at the visible maximum."),
    ] = UNSET
    obscuration: Annotated[
        float | UnsetType, Meta(description="Solar eclipses: share of the Sun's disc, 0 to 1.")
    ] = UNSET
    rate: Annotated[
        int | UnsetType,
        Meta(description="Showers: meteors an hour in a dark sky with the radiant overhead."),
    ] = UNSET
    moonlight: Annotated[
        float | UnsetType,
        Meta(description="Showers: sunlit share of the Moon if it is up then, else 0."),
    ] = UNSET
    radiant_height: Annotated[
        float | UnsetType, Meta(description="Showers: altitude of the radiant then, in degrees.")
    ] = UNSET
    shift_minutes: Annotated[
        int | UnsetType, Meta(description="Clock changes: minutes that the clock is put forward.")
    ] = UNSET


class Highlight(msgspec.Struct, frozen=True, kw_only=True):
    """Something of the sky worth knowing, at a moment inside the stay."""

    type: HighlightType
    at: Annotated[
        datetime,
        Meta(description="Its instant; an eclipse's maximum; the best moment for a shower."),
    ]
    title: Annotated[str, Meta(description="In the asked language.")]
    details: Annotated[
        Details | None, Meta(description="Null for phases, equinoxes and solstices.")
    ]


class AstronomyBody(DatedApplicable, frozen=True, kw_only=True):
    """Sun, Moon, planets and night of each date, and what is special."""

    days: list[Day]
    highlights: Annotated[list[Highlight], Meta(description="Inside the stay, in time order.")]
