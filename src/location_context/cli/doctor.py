"""`doctor`: checks whether this installation is ready to serve, with advice for each problem.

To test the providers, `doctor` reads every section for Paris, next week and in half a year. To test
free space it writes a file, which is the only reliable test of permissions, quotas and full disks.
"""

import asyncio
import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer

from location_context.access.authenticator import damaged_key_warning
from location_context.access.pepper import open_pepper
from location_context.app import open_redis, open_service
from location_context.cli import console
from location_context.errors import DAMAGED, LocationContextError
from location_context.localisation.language import Languages
from location_context.sections.contract import ProviderState, Query
from location_context.sections.section import Section
from location_context.sections.weather.climate.store import ClimateStores
from location_context.sections.weather.fallback_grid import FallbackGrid
from location_context.service import Service, read_all
from location_context.settings import Settings, not_a_setting, parsers, unknown
from location_context.stay import Stay
from location_context.storage.access import SqlApiKeyStore
from location_context.storage.backup import sqlite_file
from location_context.storage.database import Database
from location_context.storage.shared import memory
from location_context.upstream.deadline import Deadline
from location_context.upstream.download import download
from location_context.upstream.http import HttpClient
from location_context.web.status import status
from location_context.widget import png

Outcome = Literal["ok", "info", "warning", "failed"]
LOW_DISK_SPACE = 500_000_000  # bytes
_PROBE_BYTES = 1_000_000  # written and removed again, to test free space
_PERMISSION_ERRORS = {errno.EACCES, errno.EPERM, errno.EROFS}
_STATUS_TIMEOUT = 5.0  # seconds
_MAX_WARNING_CHARACTERS = 500


class Finding(msgspec.Struct, frozen=True):
    """The outcome of one check; `info` is neither good nor bad, such as for an unused feature."""

    check: str
    outcome: Outcome
    message: str


PARIS = (48.8566, 2.3522)
READ_TIMEOUT = 15.0  # seconds
_NEAR, _FAR = 7, 180  # days from today, for a forecast and for climatology

_DEFAULT_ADVICE = "if the failure persists, check the provider's own status page"
_ADVICE = {  # by the code of a provider's last error
    "unreachable": "check this machine's outgoing connections (DNS, firewall, proxy) and {setting}",
    "timeout": "check this machine's outgoing connections (firewall, proxy), or try again later",
    "refused": "check the provider's key, and {setting} if you set it",
    "invalid_answer": "another page answers there, such as one of a proxy or for maintenance; open "
    "the provider's address from this machine, and check {setting} if you set it",
    "not_in_plan": "another source is used instead; upgrade the provider's plan, or set {setting} "
    "to an empty value to switch the provider off",
}
_OUTCOMES: dict[str, Outcome] = {"operational": "ok", "not_configured": "info", "unknown": "info"}
_MARKS: dict[Outcome, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "info": ("–", "default"),
    "warning": ("!", "yellow"),
    "failed": ("✗", "red"),
}
Server = Annotated[
    str, typer.Option(metavar="URL", help="Address of the server, if not PUBLIC_URL.")
]


def doctor(*, server: Server = "", json: console.Json = False) -> None:
    """Check settings, storage, datasets and providers; exit with 1 if a check fails."""
    findings = asyncio.run(_examine(server, printed=not json))
    if json:
        console.emit(findings, json=True)
    else:
        console.out().print(_total(findings), markup=False)
    if any(finding.outcome == "failed" for finding in findings):
        raise typer.Exit(1)


def _total(findings: Sequence[Finding]) -> str:
    """Return the last line of the output: how many checks failed or have a warning."""
    outcomes = [finding.outcome for finding in findings]
    failed, warnings = outcomes.count("failed"), outcomes.count("warning")
    return (
        f"{len(findings)} checks: {failed or 'none'} failed, {warnings or 'no'} "
        f"warning{'s' * (warnings != 1)}."
    )


async def _examine(server: str, *, printed: bool) -> list[Finding]:
    findings = []
    async for result in _findings(server):
        finding = msgspec.structs.replace(result, message=console.hint(result.message))
        findings.append(finding)
        if printed:
            mark, style = _MARKS[finding.outcome]
            line = f"{mark} {finding.check}: {finding.message}"
            console.out().print(line, style=style, markup=False)
    return findings


async def _findings(server: str) -> AsyncIterator[Finding]:
    try:
        settings = console.settings()
    except LocationContextError as error:
        yield Finding("settings", "failed", error.message)
        return
    if misspelt := [not_a_setting(name) for name in unknown(os.environ)]:
        yield Finding("settings", "warning", "; ".join(misspelt))
    else:
        yield Finding("settings", "ok", "all settings are valid")
    for finding in _settings_of_packages():
        yield finding
    checks = {"data directory": _data_dir, "database": _database, "keys": _keys, "redis": _redis}
    for name, check in checks.items():
        try:
            finding = await check(settings)
        except LocationContextError as error:
            finding = Finding(name, "failed", error.message)
        yield finding
        if finding.outcome == "failed":
            return
    known = set[str]()
    async for finding in _service(settings):
        known.add(finding.message)
        yield finding
    address = server or settings.public_url
    for finding in await _running_server(address, settings.user_agent, known):
        yield finding


def _settings_of_packages() -> Iterator[Finding]:
    """Yield the values of all settings that installed packages declare; secrets are masked."""
    try:
        tables = [parsers.read_table(table, os.environ) for table in parsers.tables_of_packages()]
    except LocationContextError as error:
        yield Finding("settings of packages", "failed", error.message)
        return
    for table in tables:
        for name in table.__struct_fields__:
            value = str(getattr(table, name))
            yield Finding(f"setting {parsers.variable(name)}", "info", value or "empty")


async def _database(settings: Settings) -> Finding:
    async with await Database.open(settings, read_whole=True) as database:
        kind = "SQLite" if database.is_sqlite else "PostgreSQL"
    return Finding("database", "ok", f"{kind}, not damaged and with the right schema")


async def _keys(settings: Settings) -> Finding:
    async with await Database.open(settings) as database:
        store = SqlApiKeyStore(database)
        await open_pepper(settings, store)
        count, damaged = len(await store.all()), store.damaged
    if damaged:
        return Finding("keys", "warning", "; ".join(map(damaged_key_warning, damaged)))
    if not count:
        return Finding(
            "keys", "warning", "no key exists; create one with: location-context keys create NAME"
        )
    return Finding("keys", "ok", f"{count} stored, and the pepper matches them")


async def _redis(settings: Settings) -> Finding:
    if not settings.redis_url:
        sentence = (
            "REDIS_URL is not set: each process counts quotas, calls providers and caches answers "
            "on its own, which is right for one worker"
        )
        return Finding("redis", "info", sentence)
    async with contextlib.AsyncExitStack() as stack:
        link = open_redis(settings, stack)
        usage = None if link is None else await memory(link)
    if usage is None:
        return Finding("redis", "warning", "Redis does not answer: start it, and check REDIS_URL")
    used, limit = usage
    if not limit:
        return Finding("redis", "warning", "Redis has no memory limit: set maxmemory (operate.md)")
    return Finding("redis", "ok", f"Redis uses {used / 1e6:.0f} of {limit / 1e6:.0f} MB")


async def _service(settings: Settings) -> AsyncIterator[Finding]:
    async with open_service(settings) as service:
        yield _pictures(service.languages)
        answered = await _read_sections(service)
        state = await status(service)
        for name, section in state.sections.items():
            outcome: Outcome = "ok" if answered[name] else "failed"
            message = "answers" if answered[name] else "has no answer for Paris"
            yield Finding(f"section {name}", outcome, message)
            for provider in section.providers:
                yield _provider(provider)
        for info in (cached.section.dataset_info for cached in service.sections):
            if info is None:
                continue
            check, dataset = f"dataset {info.name}", state.datasets[info.name]
            if dataset and (dataset.rows or dataset.named):
                named = f"; named datasets: {dataset.named}" if dataset.named else ""
                yield Finding(check, "ok", f"{dataset.rows} rows{named}")
            elif info.name == "climate" and (stores := ClimateStores(settings.data_dir).open()):
                names = ", ".join(store.folder.name for store in stores)
                yield Finding(check, "ok", f"climate stores: {names}")
            elif info.name == "climate" and FallbackGrid(settings.data_dir).exists:
                yield Finding(check, "info", "no months are stored; the fallback grid exists")
            else:
                yield Finding(check, "warning" if info.required else "info", info.hint)
        for notice in state.notices:
            yield Finding("notice", "warning", notice)


def _pictures(languages: Languages) -> Finding:
    """Check that pictures for e-mails can be drawn as PNG in every language."""
    if not png.is_installed():
        sentence = "only SVG is drawn; mail programs need PNG: pip install 'location-context[png]'"
        return Finding("pictures", "info", sentence)
    if lacking := png.missing_letters(languages):
        return Finding("pictures", "warning", lacking)
    return Finding("pictures", "ok", "SVG and PNG can be drawn, with fonts for every language")


def _provider(provider: ProviderState) -> Finding:
    """Return the state of a provider, with advice if its last call failed."""
    name = f"provider {provider.name}"
    for one in provider.budgets if provider.last_error is None else ():
        if one.free_at is not None:
            sentence = (
                f"its budget of {one.limit:g} units a {one.window} is spent; the next unit is free "
                f"at {one.free_at:%Y-%m-%d %H:%M:%S} UTC"
            )
            return Finding(name, "warning", sentence)
    if provider.last_error is None:
        outcome = _OUTCOMES.get(provider.status, "warning")
        return Finding(name, outcome, provider.status.replace("_", " "))
    advice = _ADVICE.get(provider.last_error_code or "", _DEFAULT_ADVICE).format(
        setting=_address_setting(provider.name)
    )
    error = provider.last_error.removeprefix(f"{provider.name}: ")
    return Finding(name, "warning", f"{error}: {advice}")


def _address_setting(provider: str) -> str:
    """Return the name of the setting with a provider's URL; the words "its address" if none."""
    # elevations are requested at the forecast's address
    name = f"{provider.replace('_elevation', '_forecast')}_url"
    known = name in parsers.names_of(Settings) | parsers.names_of_packages()
    return parsers.variable(name) if known else "its address"


async def _read_sections(service: Service) -> dict[str, bool]:
    """Return, by name, whether each section answers for Paris next week and in half a year."""
    point, today = service.gazetteer.point(*PARIS), service.clock().date()
    answered = dict.fromkeys((section.name for section in service.sections), True)
    for days in (_NEAR, _FAR):
        stay = Stay(today + timedelta(days=days), today + timedelta(days=days + 3))
        query = Query(point, stay, "metric", service.languages.english)
        results = await read_all(service.sections, query, Deadline.after(READ_TIMEOUT))
        if days == _NEAR:
            await asyncio.gather(*(_probe(cached.section, query) for cached in service.sections))
        for name, result in results.items():
            answered[name] = answered[name] and result is not None
    return answered


async def _probe(section: Section[Any], query: Query) -> None:
    """Call every provider of a section, even those that an answer to `query` does not need."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(READ_TIMEOUT):
            await section.probe(query)


async def _data_dir(settings: Settings) -> Finding:
    """Check that the data directory exists, is writable and has space.

    With PostgreSQL, a problem is not a failure, since the service does not need the directory.
    """
    folder, needed = settings.data_dir.absolute(), sqlite_file(settings) is not None

    def finding(outcome: Outcome, message: str) -> Finding:
        return Finding("data directory", outcome, f"{folder}{message}")

    if not folder.is_dir():
        if needed:
            return finding("failed", " is missing; create it with: location-context setup")
        return finding("info", " is missing; the fallback grid would be stored there")
    error = await asyncio.to_thread(_write_error, folder)
    if error is None:
        free = shutil.disk_usage(folder).free
        low = free <= LOW_DISK_SPACE
        advice = ": free some space" if low else ""
        return finding("warning" if low else "ok", f" has {free / 1e9:.1f} GB free{advice}")
    if error.errno not in _PERMISSION_ERRORS:
        message = f" has no space left: {error.strerror}; free some space"
        return finding("failed" if needed else "warning", message)
    if needed:
        return finding("failed", f" cannot be written to: {error.strerror}")
    return finding("ok", " is read-only, which is enough with PostgreSQL")


def _write_error(folder: Path) -> OSError | None:
    """Write a megabyte into the folder and remove it; return the error, or None on success."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            written = 0
            while written < _PROBE_BYTES:
                written += file.write(b"\0" * (_PROBE_BYTES - written))
    except OSError as error:
        return error
    return None


class _ServerStatus(msgspec.Struct):
    """The fields of `/v1/status` that `doctor` uses."""

    status: str
    version: str
    notices: list[str]


async def _running_server(address: str, user_agent: str, known: Collection[str]) -> list[Finding]:
    """Check whether a server answers at `address`; return its warnings too, except `known` ones."""
    url = f"{address.rstrip('/')}/v1/status"
    try:
        async with HttpClient(user_agent) as client:
            answer = await download(
                client, url, allow_private=True, max_bytes=1_000_000, timeout=_STATUS_TIMEOUT
            )
        status = msgspec.json.decode(answer.body, type=_ServerStatus)
    except LocationContextError as error:
        reason = error.message.removeprefix("download: ")
        sentence = f"no server answers at {address}: {reason}; name another address with --server"
        return [Finding("server", "info", sentence)]
    except DAMAGED:
        return [Finding("server", "warning", f"another program answers at {url}")]
    sentence = (
        f"version {_printable(status.version)} answers at {address}, {_printable(status.status)}"
    )
    warnings = [_printable(notice) for notice in status.notices if notice not in known]
    outcome: Outcome = "ok" if status.status == "operational" else "info"
    return [
        Finding("server", outcome, sentence),
        *(Finding("server", "warning", warning) for warning in warnings),
    ]


def _printable(text: str) -> str:
    """Return the first 500 characters of a server's text, without control characters."""
    return "".join(c for c in text[:_MAX_WARNING_CHARACTERS] if c.isprintable())
