"""Open-Meteo's hosts and their limits, which all sections that call Open-Meteo share.

The free hosts run one request of each IP address at a time, and queue four more. They answer a
sixth request with status 429 until one of the five ends. The free hosts also limit the units (the
cost of a request, by its variables and days) of each minute, hour and day. Customers have no such
limits, and 256 of their requests are queued. Source: the code of Open-Meteo's server.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, timedelta

import msgspec

from location_context.errors import ProviderNotInPlan
from location_context.sections.section import SectionContext
from location_context.settings import Settings
from location_context.settings.parsers import COLD_WEEK_UNITS
from location_context.stay import Clock
from location_context.upstream.budget import HOUR, MINUTE
from location_context.upstream.client import ClientLimits, ProviderClient
from location_context.upstream.host import Host, Hosts
from location_context.upstream.http import Backoff, HttpResponse, backoff_from_headers

NAME = "Open-Meteo"
FREE_AT_ONCE = 4  # of five requests; one is left for other programs at this network address
_PAID_AT_ONCE = 32
_PAUSE_SECONDS = 1.0  # a call takes 50 to 500 ms, so one of the five has ended by then
_ANOTHER_DAY = 86400.0  # seconds


def open_meteo_client(
    name: str, url: str, context: SectionContext, limits: ClientLimits
) -> ProviderClient:
    """Return a client for one URL of Open-Meteo; an empty `url` leaves the client unconfigured."""
    return ProviderClient(
        name,
        url,
        context.client,
        context.clock,
        limits=limits,
        host=open_meteo_host(context.hosts, context.settings),
        backoff=open_meteo_backoff(context.clock),
    )


def open_meteo_headers(settings: Settings) -> dict[str, str]:
    """Return the header with the customer's API key; an empty mapping without a key.

    The key is never put into a URL, since proxies and logs store URLs.
    """
    key = settings.open_meteo_api_key
    return {"X-Api-Key": key.reveal()} if key else {}


def open_meteo_host(hosts: Hosts, settings: Settings) -> Host:
    """Return the `Host` whose limits all URLs of Open-Meteo share: forecast, archive, elevation."""
    return hosts.get(
        "open_meteo",
        settings.limits("open_meteo"),
        share=settings.budget_share,
        least=COLD_WEEK_UNITS,
        at_once=_PAID_AT_ONCE if settings.open_meteo_api_key else FREE_AT_ONCE,
    )


def weight(variables: int, days: Sequence[int]) -> float:
    """Return a call's cost in Open-Meteo's units.

    `variables` is the number of weather variables, `days` the number of days of each requested
    range.
    """
    return max(variables / 10, 1.0) * sum(max(n / 14, 1.0) for n in days)


def open_meteo_backoff(clock: Clock) -> Callable[[HttpResponse], Backoff]:
    """Return a function that computes the pause after a response with status 429 or 403.

    The function reads the sentence `reason` of the response, which names the exceeded limit.
    """

    def read(response: HttpResponse) -> Backoff:
        said = reason(response.body).lower()
        if response.status == 403 and "plan" in said:
            return Backoff(_ANOTHER_DAY, "address", ProviderNotInPlan)
        if response.status != 429:
            return backoff_from_headers(response)
        if "concurrent" in said:
            return Backoff(_PAUSE_SECONDS, "call")
        if "daily api" in said:
            now = clock().astimezone(UTC)
            midnight = now.replace(hour=0, minute=1, second=0) + timedelta(days=1)
            return Backoff((midnight - now).seconds + 1.0)
        if "hourly api" in said:
            return Backoff(HOUR)
        return Backoff(MINUTE) if "minutely api" in said else backoff_from_headers(response)

    return read


def reason(body: bytes) -> str:
    """Return the `reason` in the JSON of an error body; empty if there is none."""
    try:
        said = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return str(said.get("reason", "")) if isinstance(said, dict) else ""
