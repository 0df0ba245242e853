"""`doctor`: whether this installation is fit to serve, check by check, with what to do.

Providers are tried by reading every section for Paris, next week and half a year from now.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import typer

from location_context.access.pepper import open_pepper
from location_context.app import open_service
from location_context.cli import console
from location_context.errors import LocationContextError
from location_context.pulse import read_all
from location_context.sections.contract import Query
from location_context.stay import Stay
from location_context.storage.database import Database
from location_context.storage.keys import Keys
from location_context.upstream.deadline import Deadline
from location_context.web.status import status

if TYPE_CHECKING:
    from location_context.service import Service
    from location_context.settings import Settings

commands = typer.Typer(add_completion=False)

PARIS = (48.8566, 2.3522)
LITTLE_SPACE = 500_000_000  # bytes
PATIENCE = 15.0

Outcome = Literal["ok", "warning", "failed"]


class Finding(msgspec.Struct, frozen=True):
    """One check and what came of it."""

    check: str
    outcome: Outcome
    message: str


Check: TypeAlias = Callable[["Settings"], Awaitable[Finding]]
_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "failed": ("✗", "red")}


@commands.command()
def doctor(*, json: console.Json = False) -> None:
    """Check settings, storage, datasets and providers; exit code 1 if something failed."""
    findings = console.run(_examine(printed=not json))
    if json:
        console.emit_json(findings)
    if any(finding.outcome == "failed" for finding in findings):
        raise typer.Exit(1)


async def _examine(*, printed: bool) -> list[Finding]:
    findings = []
    async for finding in _findings():
        findings.append(finding)
        if printed:
            mark, style = _MARKS[finding.outcome]
            line = f"{mark} {finding.check}: {finding.message}"
            console.out().print(line, style=style, markup=False)
    return findings


async def _findings() -> AsyncIterator[Finding]:
    try:
        settings = console.settings()
    except LocationContextError as error:
        yield Finding("settings", "failed", error.message)
        return
    yield Finding("settings", "ok", "every setting is well-formed")
    for name, check in (("data directory", _data_dir), ("database", _database), ("keys", _keys)):
        finding = await _tried(name, check, settings)
        yield finding
        if finding.outcome == "failed":
            return
    async for finding in _service(settings):
        yield finding


async def _tried(name: str, check: Check, settings: Settings) -> Finding:
    try:
        return await check(settings)
    except LocationContextError as error:
        return Finding(name, "failed", error.message)


async def _data_dir(settings: Settings) -> Finding:
    folder = settings.data_dir.absolute()
    if not folder.is_dir():
        return Finding("data directory", "failed", f"{folder} is missing: location-context setup")
    if not os.access(folder, os.W_OK):
        return Finding("data directory", "failed", f"{folder} cannot be written to")
    free = shutil.disk_usage(folder).free
    outcome: Outcome = "ok" if free > LITTLE_SPACE else "warning"
    return Finding("data directory", outcome, f"{folder}, {free / 1e9:.1f} GB free")


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
        store = Keys(database)
        await open_pepper(settings, store)
        count = len(await store.all())
    finally:
        await database.close()
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
                fine = provider.status in {"operational", "not_configured", "unknown"}
                code = f", last error: {provider.last_error_code}" if not fine else ""
                message = provider.status.replace("_", " ") + code
                yield Finding(f"provider {provider.name}", "ok" if fine else "warning", message)
        for name, dataset in msgspec.structs.asdict(state.datasets).items():
            rows = dataset.rows if dataset else 0
            yield Finding(f"dataset {name}", "ok" if rows else "warning", f"{rows} rows")
        if service.gate.degraded:
            yield Finding("quotas", "warning", "Redis does not answer; quotas are counted here")
        for notice in state.notices:
            yield Finding("notice", "warning", notice)


async def _read_sections(service: Service) -> dict[str, bool]:
    """Whether each section answered, near and far."""
    point, today = service.gazetteer.point(*PARIS), service.clock().date()
    held = dict.fromkeys((section.name for section in service.sections), True)
    for days in (7, 180):
        stay = Stay(today + timedelta(days=days), today + timedelta(days=days + 3))
        query = Query(point, stay, "metric", service.languages.english)
        readings = await read_all(service.sections, query, Deadline.after(PATIENCE))
        for name, reading in readings.items():
            held[name] = held[name] and reading is not None
    return held
