"""`doctor`: whether this installation is fit to serve, check by check, with what to do.

Providers are tried by reading every section for Paris, next week and half a year from now.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import timedelta
from typing import Annotated, Any, TypeAlias

import msgspec
import typer

from location_context.access.authenticator import damaged_key_warning
from location_context.access.pepper import open_pepper
from location_context.app import open_service
from location_context.cli import checks, console
from location_context.cli.checks import Finding, Outcome
from location_context.errors import LocationContextError
from location_context.sections.contract import ProviderState, Query
from location_context.sections.section import DatasetInfo, Section
from location_context.sections.weather.climatology.fallback_grid import FallbackGrid
from location_context.service import Service, read_all
from location_context.settings import Settings, loader
from location_context.stay import Stay, system_clock
from location_context.storage.access import SqlApiKeyStore
from location_context.storage.database import Database
from location_context.upstream.deadline import Deadline
from location_context.web.status import status

commands = typer.Typer(add_completion=False)

PARIS = (48.8566, 2.3522)
PATIENCE = 15.0
_NEAR, _FAR = 7, 180  # days ahead: a forecast, and a climatology

Check: TypeAlias = Callable[["Settings"], Awaitable[Finding]]
_ASK_AGAIN = "if it stays so, look at the provider's own status page"
_ADVICE = {  # by the code of a provider's last error
    "unreachable": "check this machine's way out (DNS, firewall, proxy) and {setting}",
    "timeout": "check this machine's way out (firewall, proxy), or ask again later",
    "refused": "check its key, and {setting} if you set it",
    "invalid_answer": "something else answers there, such as a proxy's page or a maintenance page; "
    "open the provider's address from this machine, and check {setting} if you set it",
    "not_in_plan": "another source answers in its place; take a larger plan, or set {setting} to "
    "nothing to ask no more",
}
_OUTCOMES: dict[str, Outcome] = {"operational": "ok", "not_configured": "info", "unknown": "info"}
_MARKS: dict[Outcome, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "info": ("–", "default"),
    "warning": ("!", "yellow"),
    "failed": ("✗", "red"),
}
Server = Annotated[
    str, typer.Option(metavar="URL", help="Where the server runs; else at PUBLIC_URL.")
]


@commands.command()
def doctor(*, server: Server = "", json: console.Json = False) -> None:
    """Check settings, storage, datasets and providers; exit with 1 if a check failed."""
    findings = console.run(_examine(server, printed=not json))
    if json:
        console.emit_json(findings)
    if any(finding.outcome == "failed" for finding in findings):
        raise typer.Exit(1)


async def _examine(server: str, *, printed: bool) -> list[Finding]:
    findings = []
    async for found in _findings(server):
        finding = msgspec.structs.replace(found, message=console.hint(found.message))
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
    yield Finding("settings", "ok", "every setting is well-formed")
    for finding in _settings_of_packages():
        yield finding
    yield await checks.clock(settings, system_clock)
    for name, check in (("data directory", _data_dir), ("database", _database), ("keys", _keys)):
        finding = await _tried(name, check, settings)
        yield finding
        if finding.outcome == "failed":
            return
    known = set[str]()
    async for finding in _service(settings):
        known.add(finding.message)
        yield finding
    address = server or settings.public_url
    for finding in await checks.running_server(address, settings.user_agent, known):
        yield finding


def _settings_of_packages() -> Iterator[Finding]:
    """Each setting that an installed package declares, with its value; secrets are masked."""
    try:
        tables = [loader.read_table(one, os.environ) for one in loader.tables_of_packages()]
    except LocationContextError as error:
        yield Finding("settings of packages", "failed", error.message)
        return
    for table in tables:
        for name in table.__struct_fields__:
            value = str(getattr(table, name))
            yield Finding(f"setting {loader.variable(name)}", "info", value or "empty")


async def _tried(name: str, check: Check, settings: Settings) -> Finding:
    try:
        return await check(settings)
    except LocationContextError as error:
        return Finding(name, "failed", error.message)


async def _data_dir(settings: Settings) -> Finding:
    return await asyncio.to_thread(checks.data_dir, settings)


async def _database(settings: Settings) -> Finding:
    database = await Database.open(settings)
    try:
        kind = "SQLite" if database.is_sqlite else "PostgreSQL"
    finally:
        await database.close()
    return Finding("database", "ok", f"{kind}, whole and with the right schema")


async def _keys(settings: Settings) -> Finding:
    database = await Database.open(settings)
    try:
        store = SqlApiKeyStore(database)
        await open_pepper(settings, store)
        count, damaged = len(await store.all()), store.damaged
    finally:
        await database.close()
    if damaged:
        return Finding(
            "keys", "warning", "; ".join(damaged_key_warning(key_id) for key_id in damaged)
        )
    if not count:
        return Finding("keys", "warning", "none yet: location-context keys create NAME")
    return Finding("keys", "ok", f"{count} in all, and the pepper fits them")


async def _service(settings: Settings) -> AsyncIterator[Finding]:
    async with open_service(settings) as service:
        held = await _read_sections(service)
        state = await status(service)
        for name, section in state.sections.items():
            said = "answers" if held[name] else "holds nothing for Paris"
            yield Finding(f"section {name}", "ok" if held[name] else "failed", said)
            for provider in section.providers:
                yield _provider(provider)
        for info in (cached.section.dataset_info for cached in service.sections):
            if info:
                dataset = state.datasets[info.name]
                yield _dataset(settings, info, dataset.rows if dataset else 0)
        for notice in state.notices:
            yield Finding("notice", "warning", notice)


def _dataset(settings: Settings, info: DatasetInfo, rows: int) -> Finding:
    """What is kept of a dataset."""
    check = f"dataset {info.name}"
    if rows:
        return Finding(check, "ok", f"{rows} rows")
    if info.name == "climate" and FallbackGrid(settings.data_dir).exists:
        return Finding(check, "info", "no month kept yet; the fallback grid is there")
    return Finding(check, "warning" if info.required else "info", info.hint)


def _provider(provider: ProviderState) -> Finding:
    """What the provider said when it was asked, and what to do where that was not well."""
    name = f"provider {provider.name}"
    if provider.last_error is None:
        outcome = _OUTCOMES.get(provider.status, "warning")
        return Finding(name, outcome, provider.status.replace("_", " "))
    setting = f"LOCATION_CONTEXT_{provider.name.upper()}_URL"
    advice = _ADVICE.get(provider.last_error_code or "", _ASK_AGAIN).format(setting=setting)
    return Finding(name, "warning", f"{provider.last_error}: {advice}")


async def _read_sections(service: Service) -> dict[str, bool]:
    """Whether each section answered, near and far."""
    point, today = service.gazetteer.point(*PARIS), service.clock().date()
    held = dict.fromkeys((section.name for section in service.sections), True)
    for days in (_NEAR, _FAR):
        stay = Stay(today + timedelta(days=days), today + timedelta(days=days + 3))
        query = Query(point, stay, "metric", service.languages.english)
        readings = await read_all(service.sections, query, Deadline.after(PATIENCE))
        if days == _NEAR:
            await asyncio.gather(*(_probe(cached.section, query) for cached in service.sections))
        for name, reading in readings.items():
            held[name] = held[name] and reading is not None
    return held


async def _probe(section: Section[Any], query: Query) -> None:
    """Ask the section's every provider, of which an answer may have needed only the first."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            await section.probe(query)
