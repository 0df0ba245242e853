"""Every setting, typed, frozen and documented, read from a mapping given to it.

`Settings.read(environ)` takes names with the prefix `LOCATION_CONTEXT_`, over the values of the
TOML file that `LOCATION_CONTEXT_CONFIG` names (its keys are the same names in lower case, without
the prefix). Everything wrong is listed in one `OperatorError`; secrets are never printed.
"""

from __future__ import annotations

import ipaddress
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from location_context.errors import OperatorError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PREFIX = "LOCATION_CONTEXT_"


class Secret(str):
    """A string that neither prints nor logs itself; `reveal()` gives the value."""

    __slots__ = ()

    def reveal(self) -> str:
        return str.__str__(self)

    def __str__(self) -> str:
        return "***" if self.reveal() else ""

    def __repr__(self) -> str:
        return "Secret('***')" if self.reveal() else "Secret('')"

    def __format__(self, spec: str) -> str:
        return format("***" if self.reveal() else "", spec)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The whole configuration of one server or command."""

    data_dir: Annotated[Path, Meta(description="Where everything kept lies.")] = Path("data")
    database_url: Annotated[
        Secret, Meta(description="PostgreSQL address; empty: SQLite in the data directory.")
    ] = Secret()
    redis_url: Annotated[
        Secret, Meta(description="Redis or Valkey for quotas; empty: memory of this process.")
    ] = Secret()
    public_url: Annotated[
        str, Meta(description="The only source of absolute addresses in answers.")
    ] = "http://127.0.0.1:8000"
    trusted_proxies: Annotated[
        tuple[str, ...], Meta(description="CIDRs whose X-Forwarded-For is believed.")
    ] = ()
    key_pepper: Annotated[
        Secret,
        Meta(description="Secret mixed into stored API keys; empty: made once, data directory."),
    ] = Secret()
    contact: Annotated[
        str, Meta(description="E-mail or address sent to providers in the User-Agent.")
    ] = ""
    log_level: Annotated[str, Meta(description="debug, info, warning or error.")] = "info"
    log_format: Annotated[str, Meta(description="json, or console for people.")] = "json"
    json_deadline: Annotated[float, Meta(description="Seconds a JSON section may take.")] = 4.0
    widget_deadline: Annotated[float, Meta(description="Seconds the widget may take.")] = 2.5
    max_in_flight: Annotated[
        int, Meta(description="Requests worked on at once before 503 service_overloaded.")
    ] = 256
    widget_per_minute: Annotated[
        int, Meta(description="Widget pages a minute for one client address.")
    ] = 120
    budget_share: Annotated[
        float,
        Meta(description="Part of each provider's budget for one process, 1 or less (replicas)."),
    ] = 1.0

    open_meteo_forecast_url: Annotated[
        str | None, Meta(description="Open-Meteo forecast; empty switches it off.")
    ] = None
    open_meteo_archive_url: Annotated[
        str | None, Meta(description="Open-Meteo archive; empty switches it off.")
    ] = None
    open_meteo_api_key: Annotated[
        Secret, Meta(description="Open-Meteo key of a paying customer.")
    ] = Secret()
    met_norway_url: Annotated[
        str, Meta(description="MET Norway Locationforecast; needs CONTACT.")
    ] = "https://api.met.no/weatherapi/locationforecast/2.0/complete"
    nasa_power_url: Annotated[str, Meta(description="NASA POWER daily point.")] = (
        "https://power.larc.nasa.gov/api/temporal/daily/point"
    )
    open_holidays_url: Annotated[str, Meta(description="OpenHolidays, its root.")] = (
        "https://openholidaysapi.org"
    )
    ticketmaster_url: Annotated[str, Meta(description="Ticketmaster Discovery v2.")] = (
        "https://app.ticketmaster.com/discovery/v2/events.json"
    )
    ticketmaster_api_key: Annotated[Secret, Meta(description="Ticketmaster key.")] = Secret()
    predicthq_url: Annotated[str, Meta(description="PredictHQ events.")] = (
        "https://api.predicthq.com/v1/events/"
    )
    predicthq_api_key: Annotated[Secret, Meta(description="PredictHQ token.")] = Secret()
    osrm_url: Annotated[
        str, Meta(description="OSRM server for travel times; empty: estimated.")
    ] = ""
    wikidata_url: Annotated[str, Meta(description="Wikidata SPARQL endpoint for imports.")] = (
        "https://query.wikidata.org/sparql"
    )

    guide_radii: Annotated[
        tuple[float, ...],
        Meta(description="Guide radius in km per tier, highest first, strictly decreasing."),
    ] = (80.0, 40.0, 15.0, 2.0, 1.0)
    events_radius: Annotated[float, Meta(description="Radius of events in km, 200 at most.")] = 25.0
    feeds_allow_private: Annotated[
        bool, Meta(description="Let event feeds and imports reach private addresses.")
    ] = False

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Self:
        """Settings from a mapping such as `os.environ`.

        Raises:
            OperatorError: one or more settings are wrong; all of them are listed.
        """
        given: dict[str, Any] = _file(environ.get(f"{PREFIX}CONFIG"))
        for name in cls.__struct_fields__:
            if (value := environ.get(PREFIX + name.upper())) is not None:
                given[name] = value
        wrong: list[str] = []
        values = {
            n: v for n, raw in given.items() if (v := _convert(cls, n, raw, wrong)) is not _BAD
        }
        settings = cls(**values)
        wrong += _problems(settings)
        if wrong:
            raise OperatorError("These settings are wrong:\n" + "\n".join(f"- {w}" for w in wrong))
        return settings

    @property
    def forecast_url(self) -> str:
        """The forecast address in use: given, the customer's, or the free one."""
        return _open_meteo(self.open_meteo_forecast_url, "api", "forecast", self.open_meteo_api_key)

    @property
    def archive_url(self) -> str:
        """The archive address in use: given, the customer's, or the free one."""
        key = self.open_meteo_api_key
        return _open_meteo(self.open_meteo_archive_url, "archive-api", "archive", key)

    @property
    def uses_open_meteo_free(self) -> bool:
        """Whether one of Open-Meteo's free hosts is in use (non-commercial use only)."""
        hosts = {urlsplit(url).hostname for url in (self.forecast_url, self.archive_url)}
        return bool(hosts & {"api.open-meteo.com", "archive-api.open-meteo.com"})

    @property
    def database(self) -> str:
        """The database address in use, without a driver name."""
        if self.database_url:
            return self.database_url.reveal()
        return f"sqlite:///{(self.data_dir / 'location-context.sqlite3').absolute()}"

    @property
    def user_agent(self) -> str:
        contact = f" ({self.contact})" if self.contact else ""
        return f"location-context/1{contact}"


def unknown(environ: Mapping[str, str]) -> list[str]:
    """Variables with our prefix that are no setting: slips, said but not fatal."""
    known = {PREFIX + name.upper() for name in (*Settings.__struct_fields__, "CONFIG")}
    return sorted(name for name in environ if name.startswith(PREFIX) and name not in known)


_BAD = object()


def _open_meteo(given: str | None, host: str, path: str, key: Secret) -> str:
    if given is not None:
        return given
    prefix = "customer-" if key else ""
    return f"https://{prefix}{host}.open-meteo.com/v1/{path}"


def _file(path: str | None) -> dict[str, Any]:
    if not path:
        return {}
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OperatorError(f"The settings file {path} cannot be read: {error}") from None


def _bool(text: str) -> bool:
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off", ""}:
        return False
    raise ValueError


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


_CONVERTERS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "data_dir": (Path, "a folder"),
    "trusted_proxies": (_list, "CIDRs parted by commas"),
    "guide_radii": (lambda t: tuple(map(float, _list(t))), "five numbers parted by commas"),
    "json_deadline": (float, "a number of seconds"),
    "widget_deadline": (float, "a number of seconds"),
    "events_radius": (float, "a number of km"),
    "max_in_flight": (int, "a whole number"),
    "widget_per_minute": (int, "a whole number"),
    "budget_share": (float, "a number above 0, at most 1"),
    "feeds_allow_private": (_bool, "true or false"),
}
_SECRETS = {
    "database_url", "redis_url", "key_pepper",
    "open_meteo_api_key", "ticketmaster_api_key", "predicthq_api_key",
}  # fmt: skip


def _convert(cls: type[Settings], name: str, raw: Any, wrong: list[str]) -> Any:
    """The typed value of one setting, or `_BAD` with its sentence added to `wrong`."""
    if name not in cls.__struct_fields__:
        wrong.append(f"{PREFIX}{name.upper()} is no setting; docs/settings.md lists them")
        return _BAD
    text = ",".join(map(str, raw)) if isinstance(raw, list) else str(raw).strip()
    if name in _SECRETS:
        return Secret(text)
    convert, accepted = _CONVERTERS.get(name, (str, "text"))
    try:
        return convert(text)
    except ValueError:
        wrong.append(f"{PREFIX}{name.upper()} is {text!r}; accepted: {accepted}")
        return _BAD


def _problems(settings: Settings) -> list[str]:
    """What is wrong with well-typed values, a sentence each."""
    said = [*_address_problems(settings), *_number_problems(settings), *_text_problems(settings)]
    for cidr in settings.trusted_proxies:
        try:
            ipaddress.ip_network(cidr)
        except ValueError:
            said.append(f"{PREFIX}TRUSTED_PROXIES holds {cidr!r}; accepted: CIDRs like 10.0.0.0/8")
    if settings.database_url and not settings.key_pepper and "sqlite" not in settings.database:
        said.append(f"{PREFIX}KEY_PEPPER is missing; it is required with PostgreSQL")
    if settings.log_level not in {"debug", "info", "warning", "error"}:
        said.append(
            f"{PREFIX}LOG_LEVEL is {settings.log_level!r}; accepted: debug, info, warning, error"
        )
    if settings.log_format not in {"json", "console"}:
        said.append(f"{PREFIX}LOG_FORMAT is {settings.log_format!r}; accepted: json, console")
    return said


def _address_problems(settings: Settings) -> list[str]:
    said = []
    for name in (n for n in settings.__struct_fields__ if n.endswith("_url")):
        value = getattr(settings, name)
        shown = "***" if name in _SECRETS else repr(value)
        accepted, schemes = "an address with http or https", {"http", "https"}
        if name == "database_url":
            accepted, schemes = "postgresql://… or sqlite:///…", {"postgresql", "sqlite"}
        if name == "redis_url":
            accepted, schemes = "redis://… or rediss://…", {"redis", "rediss"}
        text = value.reveal() if isinstance(value, Secret) else value
        if text and not _is_address(text, schemes):
            said.append(f"{PREFIX}{name.upper()} is {shown}; accepted: {accepted}")
    return said


def _text_problems(settings: Settings) -> list[str]:
    """What goes out in a header must fit into one."""
    said = []
    for name in ("contact", *(n for n in settings.__struct_fields__ if n.endswith("_api_key"))):
        value = getattr(settings, name)
        text = value.reveal() if isinstance(value, Secret) else value
        if not (text.isascii() and (text.isprintable() or not text)):
            said.append(f"{PREFIX}{name.upper()} has signs that are not printable ASCII")
    return said


def _is_address(text: str, schemes: set[str]) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    whole = text.isprintable() and not any(sign.isspace() for sign in text)
    return whole and parts.scheme in schemes and bool(parts.hostname or parts.scheme == "sqlite")


def _number_problems(settings: Settings) -> list[str]:
    said = []
    radii = settings.guide_radii
    if len(radii) != 5 or not radii[-1] > 0 or not all(a > b for a, b in pairwise(radii)):
        said.append(f"{PREFIX}GUIDE_RADII is {radii}; accepted: five strictly decreasing numbers")
    if settings.events_radius > 200:
        said.append(f"{PREFIX}EVENTS_RADIUS is {settings.events_radius}; accepted: at most 200 km")
    for name in (
        "json_deadline",
        "widget_deadline",
        "events_radius",
        "max_in_flight",
        "widget_per_minute",
    ):
        value = getattr(settings, name)
        if not 0 < value < 100_000:
            said.append(f"{PREFIX}{name.upper()} is {value}; accepted: a number above 0")
    if not 0 < settings.budget_share <= 1:
        share = settings.budget_share
        said.append(f"{PREFIX}BUDGET_SHARE is {share}; accepted: a number above 0, at most 1")
    return said
