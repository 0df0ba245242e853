"""`keys`: create, list, revoke and rotate API keys. A key is printed once and never again."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Column, Table

from location_context.access.keys import (
    DEFAULT_PER_DAY,
    DEFAULT_PER_MINUTE,
    ApiKey,
    ApiKeys,
    MintedKey,
)
from location_context.cli import console
from location_context.cli.database import open_database
from location_context.errors import OperatorError
from location_context.stay import system_clock
from location_context.storage.access import open_api_keys

commands = typer.Typer(
    add_completion=False, help="Create, list, revoke and rotate API keys.", no_args_is_help=True
)

MAX_QUOTA = 2_000_000_000
PerMinute = Annotated[int, typer.Option(min=1, max=MAX_QUOTA, help="Requests per minute.")]
PerDay = Annotated[int, typer.Option(min=1, max=MAX_QUOTA, help="Requests per UTC day.")]
Expires = Annotated[
    str | None, typer.Option(metavar="DATE", help="Last UTC date on which the key works.")
]
KeyId = Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `keys list` shows it.")]


@commands.command()
def create(  # noqa: PLR0913  each is an option of the command
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    *,
    per_minute: PerMinute = DEFAULT_PER_MINUTE,
    per_day: PerDay = DEFAULT_PER_DAY,
    expires: Expires = None,
    new: console.New = False,
    json: console.Json = False,
) -> None:
    """Create a key and print it once, alone on the last line."""
    expires_at = _end_of_day(expires) if expires else None

    async def work() -> MintedKey:
        async with _keys(new=new) as keys:
            return await keys.create(
                name, per_minute=per_minute, per_day=per_day, expires_at=expires_at
            )

    _print_minted(console.run(work()), json=json)


@commands.command("list")
def list_(*, json: console.Json = False) -> None:
    """List all keys, revoked and expired ones included."""

    async def work() -> list[ApiKey]:
        async with _keys() as keys:
            return list(await keys.list())

    records = [_public_fields(record) for record in console.run(work())]
    if json:
        console.emit_json(records)
        return
    table = Table(
        Column("id", no_wrap=True), "name", "status", "a minute", "a day", "until", box=None
    )
    for record in records:
        ends = record["revoked_at"] or record["expires_at"]
        limits = [str(record["per_minute"]), str(record["per_day"])]
        until = f"{ends:%Y-%m-%d %H:%M}" if ends else ""
        table.add_row(record["id"], escape(record["name"]), record["status"], *limits, until)
    console.out().print(table)


@commands.command()
def revoke(key_id: KeyId, *, json: console.Json = False) -> None:
    """Revoke a key; every server rejects it within five seconds."""

    async def work() -> ApiKey:
        async with _keys() as keys:
            return await keys.revoke(key_id)

    record = console.run(work())
    if json:
        console.emit_json(_public_fields(record))
    else:
        console.out().print(f"The key {record.id} ({record.name}) is revoked.", markup=False)


@commands.command()
def rotate(
    key_id: KeyId,
    *,
    grace: Annotated[
        float, typer.Option(min=0, max=87_600, help="Hours for which the old key keeps working.")
    ] = 24,
    json: console.Json = False,
) -> None:
    """Replace a key; the old one keeps working for the grace period."""

    async def work() -> MintedKey:
        async with _keys() as keys:
            return await keys.rotate(key_id, timedelta(hours=grace))

    _print_minted(console.run(work()), json=json)


@asynccontextmanager
async def _keys(*, new: bool = False) -> AsyncIterator[ApiKeys]:
    async with open_database(new=new) as (settings, database):
        yield await open_api_keys(settings, database, system_clock)


def _end_of_day(text: str) -> datetime:
    """The moment at which the UTC date ends."""
    try:
        day = date.fromisoformat(text)
        return datetime.combine(day + timedelta(days=1), time(), UTC)
    except (ValueError, OverflowError):
        raise OperatorError(f"--expires is {text!r}; accepted: a date like 2027-12-31.") from None


def _print_minted(minted: MintedKey, *, json: bool) -> None:
    if json:
        console.emit_json({"key": minted.secret, **_public_fields(minted.record)})
        return
    record = minted.record
    ends = f", until {record.expires_at:%Y-%m-%d %H:%M} UTC" if record.expires_at else ""
    console.out().print(
        f"{record.id} for {record.name}: {record.per_minute} a minute, {record.per_day} a day{ends}"
        "\nThe key is shown only this once:",
        markup=False,
    )
    sys.stdout.write(minted.secret + "\n")


def _public_fields(record: ApiKey) -> dict[str, Any]:
    """Everything but the digest."""
    return {
        "id": record.id,
        "name": record.name,
        "status": record.status(system_clock()),
        "per_minute": record.per_minute,
        "per_day": record.per_day,
        "created_at": record.created_at,
        "expires_at": record.expires_at,
        "revoked_at": record.revoked_at,
        "replaced_by": record.replaced_by,
    }
