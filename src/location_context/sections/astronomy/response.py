"""The astronomy section's answer. Its schema and documentation are generated from these Structs.

Times carry the local offset of the point. For rises, sets and twilights, a date has the first of
each kind, or null if there is none. Altitudes and azimuths are topocentric, in degrees.
"""

import datetime as dt
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from location_context.sections.contract import Bearing, DatedApplicable, Moment, Text

Altitude = Annotated[float, Meta(ge=-90, le=90)]
Share = Annotated[float, Meta(ge=0, le=1)]
SunStatus = Literal["normal", "polar_day", "polar_night"]
PrincipalPhase = Literal["new_moon", "first_quarter", "full_moon", "last_quarter"]
BetweenPhases = Literal["waxing_crescent", "waxing_gibbous", "waning_gibbous", "waning_crescent"]
Phase = Literal[PrincipalPhase, BetweenPhases]
Season = Literal["march_equinox", "june_solstice", "september_equinox", "december_solstice"]
PlanetName = Literal["mercury", "venus", "mars", "jupiter", "saturn"]
Visible = Literal["evening", "morning", "all_night", "none"]
Eclipse = Literal["solar_eclipse", "lunar_eclipse"]
HighlightType = Literal[PrincipalPhase, Season, Eclipse, "meteor_shower", "clock_change"]
EclipseKind = Literal["penumbral", "partial", "annular", "total"]


FirstOfDate = Annotated[
    Moment | None, Meta(description="The first on the local date; null if the date has none.")
]
Azimuth = Annotated[Bearing | None, Meta(description="Degrees clockwise from north.")]


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A span from one moment to another."""

    start: Annotated[Moment, Meta(description="When the span begins.")]
    end: Annotated[Moment, Meta(description="When the span ends.")]


class Sun(msgspec.Struct, frozen=True, kw_only=True):
    """The Sun on one local date. Its upper limb defines rise and set, with 34' of refraction."""

    status: Annotated[
        SunStatus,
        Meta(description="`polar_day` or `polar_night` if the Sun neither rises nor sets."),
    ]
    sunrise: FirstOfDate
    sunset: FirstOfDate
    solar_noon: Annotated[
        Moment | None, Meta(description="When the Sun crosses the meridian at its highest.")
    ]
    sunrise_azimuth: Azimuth
    sunset_azimuth: Azimuth
    noon_altitude: Annotated[
        Altitude | None,
        Meta(description="Altitude of its centre at solar noon, without refraction, in degrees."),
    ]
    day_length_seconds: Annotated[
        int,
        Meta(ge=0, le=90_000, description="How long the Sun is up on the local date, in seconds."),
    ]
    civil_dawn: Annotated[Moment | None, Meta(description="Sun's centre rises past -6°.")]
    civil_dusk: Annotated[Moment | None, Meta(description="Sun's centre sinks past -6°.")]
    nautical_dawn: Annotated[Moment | None, Meta(description="Sun's centre rises past -12°.")]
    nautical_dusk: Annotated[Moment | None, Meta(description="Sun's centre sinks past -12°.")]
    astronomical_dawn: Annotated[Moment | None, Meta(description="Sun's centre rises past -18°.")]
    astronomical_dusk: Annotated[Moment | None, Meta(description="Sun's centre sinks past -18°.")]
    golden_hour_morning: Annotated[
        Span | None,
        Meta(
            description=(
                "Before solar noon, while the Sun is between -4° and +6°; shorter if it does not "
                "reach +6°."
            )
        ),
    ]
    golden_hour_evening: Annotated[
        Span | None,
        Meta(
            description=(
                "After solar noon, while the Sun is between +6° and -4°; shorter if it does not "
                "reach both."
            )
        ),
    ]
    blue_hour_morning: Annotated[
        Span | None, Meta(description="Before solar noon, while the Sun is between -6° and -4°.")
    ]
    blue_hour_evening: Annotated[
        Span | None, Meta(description="After solar noon, while the Sun is between -4° and -6°.")
    ]


class Moon(msgspec.Struct, frozen=True, kw_only=True):
    """The Moon on one local date. Its phase is at the midnight that ends the date."""

    moonrise: FirstOfDate
    moonset: FirstOfDate
    phase: Annotated[
        Phase,
        Meta(
            description="New moon, the quarters and full moon only on the date on which they occur."
        ),
    ]
    phase_angle: Annotated[
        float,
        Meta(
            ge=0,
            le=360,
            description=(
                "Ecliptic longitude ahead of the Sun, in degrees: 0 is new, 180 full, always "
                "below 360."
            ),
        ),
    ]
    illumination: Annotated[Share, Meta(description="Sunlit share of the disc, 0 to 1.")]
    waxing: Annotated[bool, Meta(description="True while the sunlit share grows.")]
    age_days: Annotated[float, Meta(ge=0, le=30, description="Days since the last new moon.")]


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """The night that begins on a date: from 12:00 local time to 12:00 of the next date."""

    dark_windows: Annotated[
        list[Span],
        Meta(description="Times with the Sun below -18° and the Moon below the horizon."),
    ]
    dark_hours: Annotated[
        float, Meta(ge=0, le=25, description="Total length of `dark_windows`, in hours.")
    ]


class Planet(msgspec.Struct, frozen=True, kw_only=True):
    """A naked-eye planet, and when to look for it in the night that begins on the date."""

    name: Annotated[PlanetName, Meta(description="Which planet.")]
    visible: Annotated[
        Visible,
        Meta(
            description=(
                "When the planet is at least 5° high for 20 minutes while the Sun is below -6°."
            )
        ),
    ]
    magnitude: Annotated[
        float | None, Meta(description="Visual magnitude, without a unit; smaller is brighter.")
    ]
    rise: FirstOfDate
    set: FirstOfDate


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """The sky of one local date."""

    date: Annotated[dt.date, Meta(description="Local to the point.")]
    sun: Annotated[Sun, Meta(description="The Sun on that date.")]
    moon: Annotated[Moon, Meta(description="The Moon on that date.")]
    night: Annotated[Night, Meta(description="The night that begins on that date.")]
    planets: Annotated[
        list[Planet], Meta(min_length=5, max_length=5, description="Mercury to Saturn, outwards.")
    ]


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """Details of an eclipse, meteor shower or clock change; fields that do not apply are null."""

    kind: Annotated[EclipseKind | None, Meta(description="Eclipses: as seen from the point.")] = (
        None
    )
    start: Annotated[
        Moment | None,
        Meta(description="Eclipses: when the visible part begins; showers: the best time."),
    ] = None
    maximum: Annotated[
        Moment | None, Meta(description="Eclipses: when the visible part is at its maximum.")
    ] = None
    end: Annotated[
        Moment | None,
        Meta(description="Eclipses: when the visible part ends; showers: the best time."),
    ] = None
    magnitude: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(
            description=(
                "Eclipses, at the visible maximum: the covered part of the disc's diameter. It is "
                "1 or more if the eclipse is total; in a penumbral eclipse the penumbra counts."
            )
        ),
    ] = None
    obscuration: Annotated[
        Share | None,
        Meta(description="Solar eclipses: the covered share of the Sun's disc, 0 to 1."),
    ] = None
    rate: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="Showers: number of meteors an hour at that moment, in a dark sky with the "
            "radiant overhead."
        ),
    ] = None
    moonlight: Annotated[
        Share | None,
        Meta(
            description=(
                "Showers: sunlit share of the Moon, 0 to 1; 0 while it is below the horizon."
            )
        ),
    ] = None
    radiant_height: Annotated[
        Altitude | None,
        Meta(description="Showers: altitude of the radiant at that moment, in degrees."),
    ] = None
    shift_minutes: Annotated[
        int | None,
        Meta(
            description=(
                "Clock changes: minutes by which clocks go forward; negative if they go back."
            )
        ),
    ] = None


class Highlight(msgspec.Struct, frozen=True, kw_only=True):
    """An event in the sky, at a moment inside the stay."""

    type: Annotated[HighlightType, Meta(description="The kind of event.")]
    at: Annotated[
        Moment,
        Meta(
            description=(
                "When it occurs: the maximum of an eclipse, the best moment of a meteor shower."
            )
        ),
    ]
    title: Annotated[Text, Meta(description="In the requested language.")]
    details: Annotated[
        Details | None, Meta(description="Null for phases, equinoxes and solstices.")
    ]


class AstronomyBody(DatedApplicable, frozen=True, kw_only=True, tag="astronomy"):
    """The answer: Sun, Moon, planets and night of each date, and the stay's highlights."""

    days: Annotated[
        list[Day],
        Meta(min_length=1, max_length=92, description="Every date of the stay, in order."),
    ]
    highlights: Annotated[
        list[Highlight], Meta(description="The sky events of the stay, in order of time.")
    ]
