"""The body of the section `year`: twelve typical months, and which of them are comfortable."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from location_context.sections.contract import Applicable, Quantity, Text
from location_context.sections.weather.response import (
    Precipitation,
    Temperature,
    TenthHigh,
    TenthLow,
)

Source = Annotated[
    Literal["climate_store", "stored_months", "monthly_mean"],
    Meta(
        description=(
            "`climate_store`: days of ten years in the operator's store. `stored_months`: days of "
            "eight to ten years, stored from a provider's archive. `monthly_mean`: means of the "
            "fallback grid; highs, lows and wet days are null."
        )
    ),
]
Month = Annotated[int, Meta(ge=1, le=12, description="Number of the month; 1 is January.")]


class TypicalMonth(msgspec.Struct, frozen=True, kw_only=True):
    """The typical weather of a calendar month, from all years; unknown values are null.

    The ranges (p10 to p90) are for single days of the month, not for monthly means.
    """

    month: Month
    temperature_max: Temperature
    temperature_max_p10: TenthLow
    temperature_max_p90: TenthHigh
    temperature_min: Temperature
    temperature_min_p10: TenthLow
    temperature_min_p90: TenthHigh
    temperature_mean: Temperature
    precipitation_total: Precipitation
    wet_days: Annotated[
        Annotated[float, Meta(ge=0, le=31)] | None,
        Meta(description="Mean number of days with at least 1 mm."),
    ]
    daylight_hours: Annotated[
        float, Meta(ge=0, le=24, description="Hours a day from sunrise to sunset.")
    ]
    sunshine_hours: Annotated[
        Quantity | None, Meta(description="Hours of sunshine a day; null in a climate store.")
    ]
    comfortable: Annotated[bool, Meta(description="True if it meets `comfort_rule`.")]


class TypicalYear(Applicable, frozen=True, kw_only=True, tag="year"):
    """The typical weather of each month at a point, and the comfortable months."""

    source: Source
    provider: Annotated[Text, Meta(description="Name of the data's provider.")]
    model: Annotated[str | None, Meta(description="The model's name, as the provider states it.")]
    years: Annotated[
        list[int],
        Meta(max_length=10, description="Calendar years, oldest first; empty for a monthly mean."),
    ]
    temperature_correction: Annotated[
        float | None,
        Meta(description="Added for the point's height, in units.temperature; null if not stored."),
    ]
    comfort_rule: Annotated[Text, Meta(description="The rule in a sentence, localised.")]
    comfortable_months: Annotated[
        list[Month],
        Meta(max_length=12, description="Numbers of the months that meet the rule, in order."),
    ]
    sentence: Annotated[
        Text,
        Meta(description="The comfortable months, localised; if there are none, the closest."),
    ]
    months: Annotated[
        list[TypicalMonth], Meta(min_length=12, max_length=12, description="From January on.")
    ]
