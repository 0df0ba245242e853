"""Settings of the service: `Settings` declares the name, type, meaning and default of each.

`Settings.read` reads environment variables with the prefix `LOCATION_CONTEXT_`. They override the
TOML file that `LOCATION_CONTEXT_CONFIG` names; its keys are the same names in lower case, without
the prefix. A secret may also be read from a file that `NAME_FILE` names. `docs/settings.md` is
generated from this module (`./scripts/generate settings`).
"""

import difflib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

import msgspec

from location_context.settings import parsers
from location_context.settings.data_dir import DATABASE_FILE, default_data_dir
from location_context.settings.parsers import (
    COLD_WEEK_UNITS,
    Address,
    AddressOrNone,
    Budget,
    Count,
    DatabaseAddress,
    Flag,
    Folder,
    HeaderSecret,
    HeaderText,
    HostPort,
    Kilometres,
    LogFormat,
    LogLevel,
    Networks,
    OpenMeteoBudget,
    Origins,
    Radii,
    RedisAddress,
    Seconds,
    Secret,
    SecretText,
    Share,
)

FREE_BUDGET = ("480/minute", "4000/hour", "8000/day")  # 80 % of Open-Meteo's limits for free use
DRAIN_AT_MOST = 5.0  # seconds after which a server that shuts down exits, even with new requests
REMOVED = {  # names of settings that no longer exist, and their replacements
    "accept_filter": "load balancers use /v1/ready instead",
    "accuracy_cells": "the forecasts of 50 cells are verified",
    "accuracy_days": "forecasts are stored for 120 days to be verified",
    "climate_keep_days": "climate months are deleted 400 days after their last use",
    "drain_at_most": "a server that shuts down exits after 5 seconds at the latest",
    "events_keep_days": "past imported events are deleted after 31 days",
    "guide_versions": "the 5 newest versions of the guide are stored",
    "key_hold": "API keys are valid for 60 seconds while the database does not answer",
    "purge_header": "a CDN is up to date within an hour",
    "purge_url": "a CDN is up to date within an hour",
    "traces_url": "the log has each request's trace_id",
    "wikidata_url": "Wikidata is queried at query.wikidata.org",
}
_OLD_BUDGET = re.compile(r"(.+)_per_(second|minute|hour|day|month)")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The whole configuration of one server or command."""

    data_dir: Annotated[Folder, "The folder of all data; see operate.md."] = Path("data")
    database_url: Annotated[
        DatabaseAddress, "PostgreSQL address; empty: SQLite in the data directory."
    ] = Secret()
    redis_url: Annotated[
        RedisAddress,
        "Redis or Valkey for quotas and answers shared by processes; several workers need it.",
    ] = Secret()
    public_url: Annotated[Address, "This service's public address; answers link to it."] = (
        "http://127.0.0.1:8000"
    )
    trusted_proxies: Annotated[Networks, "CIDRs whose X-Forwarded-For is trusted."] = ()
    key_pepper: Annotated[
        SecretText,
        "Secret mixed into stored API keys; empty (SQLite only): created in the data directory.",
    ] = Secret()
    contact: Annotated[HeaderText, "E-mail or URL sent to providers in the User-Agent."] = ""
    log_level: Annotated[LogLevel, "debug, info, warning or error."] = "info"
    log_format: Annotated[
        LogFormat, "json, or console for people; empty: console on a terminal, else json."
    ] = None
    metrics_address: Annotated[
        HostPort,
        "Where /metrics is served for Prometheus, for all workers together, such as "
        "127.0.0.1:9464; empty: nowhere.",
    ] = ""
    json_deadline: Annotated[Seconds, "Seconds a JSON section may take."] = 4.0
    widget_deadline: Annotated[Seconds, "Seconds the widget may take."] = 2.5
    max_in_flight: Annotated[Count, "Concurrent requests; more get 503 service_overloaded."] = 256
    drain_at_least: Annotated[
        Seconds, "Seconds for which a stopping server still serves, with /v1/ready at 503."
    ] = 1.0
    embed_hosts: Annotated[
        Origins,
        "Origins of pages that may show the widget, such as https://www.example.org,"
        "https://*.example.org; empty: all.",
    ] = ()
    widget_per_minute: Annotated[
        Count, "Requests without an API key that one client address may make a minute."
    ] = 120
    budget_share: Annotated[
        Share,
        "Share of each provider's budget that this installation may spend; below 1 if others "
        "use the same address or key.",
    ] = 1.0

    open_meteo_forecast_url: Annotated[
        AddressOrNone, "Open-Meteo forecast; empty switches it off."
    ] = None
    open_meteo_archive_url: Annotated[
        AddressOrNone, "Open-Meteo archive; empty switches it off."
    ] = None
    open_meteo_api_key: Annotated[HeaderSecret, "Open-Meteo key of a paying customer."] = Secret()
    open_meteo_budget: Annotated[
        OpenMeteoBudget,
        "Open-Meteo units per window, such as 480/minute,4000/hour,8000/day, each at least "
        f"{COLD_WEEK_UNITS}; unset: these values without a key, no limit with a key.",
    ] = None
    met_norway_url: Annotated[Address, "MET Norway Locationforecast; needs CONTACT."] = (
        "https://api.met.no/weatherapi/locationforecast/2.0/complete"
    )
    met_norway_budget: Annotated[Budget, "MET Norway calls per window."] = ("240/minute",)
    nasa_power_url: Annotated[Address, "NASA POWER daily data of a point."] = (
        "https://power.larc.nasa.gov/api/temporal/daily/point"
    )
    nasa_power_budget: Annotated[Budget, "NASA POWER calls per window."] = ("24/minute", "2000/day")
    open_holidays_url: Annotated[Address, "OpenHolidays API."] = "https://openholidaysapi.org"
    open_holidays_budget: Annotated[Budget, "OpenHolidays calls per window."] = (
        "30/minute",
        "2000/day",
    )
    ticketmaster_url: Annotated[Address, "Ticketmaster Discovery v2."] = (
        "https://app.ticketmaster.com/discovery/v2/events.json"
    )
    ticketmaster_api_key: Annotated[HeaderSecret, "Ticketmaster key."] = Secret()
    ticketmaster_budget: Annotated[
        Budget, "Ticketmaster calls per window, evenly spaced within a second."
    ] = ("4/second", "4000/day")
    predicthq_url: Annotated[Address, "PredictHQ events."] = "https://api.predicthq.com/v1/events/"
    predicthq_api_key: Annotated[HeaderSecret, "PredictHQ token."] = Secret()
    predicthq_budget: Annotated[Budget, "PredictHQ calls per window."] = ("48/minute", "800/day")
    osrm_url: Annotated[Address, "OSRM server for travel times; empty: times are estimated."] = ""
    osrm_budget: Annotated[Budget, "OSRM calls per window; empty: no limit."] = ()

    calibrate_forecast: Annotated[
        Flag,
        "Calibrate forecasts with the climatology of their dates, and add p10 and p90; false: "
        "return forecasts as the provider issues them, without climatology.",
    ] = True
    guide_radii: Annotated[
        Radii, "Radius in km of each guide tier, highest tier first, strictly decreasing."
    ] = (80.0, 40.0, 15.0, 2.0, 1.0)
    events_radius: Annotated[Kilometres, "Radius of events in km, at most 200."] = 25.0
    feeds_allow_private: Annotated[Flag, "Let event feeds and imports reach private addresses."] = (
        False
    )

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Self:
        """Return the settings from environment variables such as `os.environ`.

        Raises:
            OperatorError: some settings are invalid; the message lists all of them.
        """
        given, problems = parsers.texts(environ, cls)
        values, wrong = parsers.parse_all(cls, given)
        problems += wrong
        if unknown_names := given.keys() - set(cls.__struct_fields__):
            problems += [
                f"{not_a_setting(parsers.variable(name))}; docs/settings.md lists them"
                for name in sorted(unknown_names - parsers.names_of_packages())
            ]
        uses_server = not (given.get("database_url") or "sqlite").startswith("sqlite")
        if uses_server and not given.get("key_pepper"):
            pepper = parsers.variable("key_pepper")
            problems.append(f"{pepper} is missing; it is required with PostgreSQL")
        if "data_dir" not in given:
            values["data_dir"] = default_data_dir(environ)
        if problems:  # a misspelt name may be their cause
            problems += map(not_a_setting, unknown(environ))
        parsers.refuse(problems)
        return cls(**values)

    def limits(self, provider: str) -> dict[float, float]:
        """Return a provider's budget: for each window's length in seconds, the units allowed."""
        budget: tuple[str, ...] | None = getattr(self, f"{provider}_budget", ())
        if budget is None:  # of Open-Meteo, whose default depends on the key
            budget = () if self.open_meteo_api_key else FREE_BUDGET
        parts = (part.partition("/") for part in budget)
        return {parsers.WINDOWS[window]: float(units) for units, _, window in parts}

    @property
    def forecast_url(self) -> str:
        """The URL of forecasts; by default Open-Meteo's free host, or with a key its paid host."""
        return _open_meteo(self.open_meteo_forecast_url, "api", "forecast", self.open_meteo_api_key)

    @property
    def archive_url(self) -> str:
        """The URL of the archive; by default Open-Meteo's free host, with a key its paid host."""
        key = self.open_meteo_api_key
        return _open_meteo(self.open_meteo_archive_url, "archive-api", "archive", key)

    @property
    def uses_open_meteo_free(self) -> bool:
        """True if a free host of Open-Meteo is in use, which allows only non-commercial use."""
        hosts = {urlsplit(url).hostname for url in (self.forecast_url, self.archive_url)}
        return bool(hosts & {"api.open-meteo.com", "archive-api.open-meteo.com"})

    @property
    def database(self) -> str:
        """The URL of the database, with its password and without the name of a driver."""
        if self.database_url:
            return self.database_url.reveal()
        return f"sqlite:///{(self.data_dir / DATABASE_FILE).absolute()}"

    @property
    def logs_json(self) -> bool:
        """True if LOG_FORMAT is `json`, or if it is not set and stderr is not a terminal."""
        return self.log_format == "json" or not (self.log_format or sys.stderr.isatty())

    @property
    def user_agent(self) -> str:
        contact = f" ({self.contact})" if self.contact else ""
        return f"location-context/1{contact}"


def unknown(environ: Mapping[str, str]) -> list[str]:
    """Return environment variables with our prefix that are not settings, for a warning."""
    others = {parsers.CONFIG, parsers.CLONE, parsers.COMMAND}
    known = {parsers.variable(name) for name in parsers.names_of(Settings) | others}
    found = {name for name in environ if name.startswith(parsers.PREFIX) and name not in known}
    if found:
        found -= {parsers.variable(name) for name in parsers.names_of_packages()}
    return sorted(found)


def not_a_setting(variable: str) -> str:
    """Return a message about an unknown variable, with its replacement or a similar setting."""
    known = parsers.names_of(Settings) | parsers.names_of_packages()
    name = variable.removeprefix(parsers.PREFIX).lower()
    if (instead := _instead_of(name)) is not None:
        return f"{variable} is no longer a setting: {instead}"
    whole = name.removesuffix(parsers.FILE)
    if whole in known:
        secrets = ", ".join(one.upper() for one in parsers.secrets_of(Settings))
        return f"{variable} is not a setting: only secrets are read from files ({secrets})"
    near = difflib.get_close_matches(name, known, 1, 0.85)  # a letter or two apart
    end = f"; did you mean {parsers.variable(near[0])}?" if near else ""
    return f"{variable} is not a setting{end}"


def _instead_of(name: str) -> str | None:
    """Return a text about what replaces the removed setting `name`; None if it was not removed."""
    if (old := _OLD_BUDGET.fullmatch(name)) and f"{old[1]}_budget" in Settings.__struct_fields__:
        return f"set {parsers.variable(old[1])}_BUDGET, such as 480/minute,8000/day"
    return REMOVED.get(name)


def _open_meteo(given: str | None, host: str, path: str, key: Secret) -> str:
    if given is not None:
        return given
    prefix = "customer-" if key else ""
    return f"https://{prefix}{host}.open-meteo.com/v1/{path}"
