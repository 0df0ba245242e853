"""`keys`: create, list, revoke and rotate API keys. A key is printed once and never again."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Column, Table

from location_context.access.keys import PER_DAY, PER_MINUTE
from location_context.cli import console
from location_context.errors import OperatorError
from location_context.stay import system_clock
from location_context.storage.access import open_keys
from location_context.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from location_context.access.keys import ApiKey, ApiKeys, MintedKey

commands = typer.Typer(
    add_completion=False, help="Create, list, revoke and rotate API keys.", no_args_is_help=True
)

_MOST = 2_000_000_000
PerMinute = Annotated[int, typer.Option(min=1, max=_MOST, help="Requests in a minute.")]
PerDay = Annotated[int, typer.Option(min=1, max=_MOST, help="Requests in a UTC day.")]
Expires = Annotated[
    str | None, typer.Option(metavar="DATE", help="Last UTC date on which the key works.")
]
KeyId = Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `keys list` shows it.")]


@commands.command()
def create(  # noqa: PLR0913  each is an option of the command
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    *,
    per_minute: PerMinute = PER_MINUTE,
    per_day: PerDay = PER_DAY,
    expires: Expires = None,
    new: console.New = False,
    json: console.Json = False,
) -> None:
    """Make a key and print it once, alone on the last line."""
    expires_at = _end_of(expires) if expires else None

    async def work() -> MintedKey:
        async with _keys(new=new) as keys:
            return await keys.create(
                name, per_minute=per_minute, per_day=per_day, expires_at=expires_at
            )

    _print_minted(console.run(work()), json=json)


@commands.command("list")
def list_(*, json: console.Json = False) -> None:
    """Show every key that was ever made."""

    async def work() -> list[ApiKey]:
        async with _keys() as keys:
            return list(await keys.list())

    records = [_shown(record) for record in console.run(work())]
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
    """End a key; every server refuses it within five seconds."""

    async def work() -> ApiKey:
        async with _keys() as keys:
            return await keys.revoke(key_id)

    record = console.run(work())
    if json:
        console.emit_json(_shown(record))
    else:
        console.out().print(f"The key {record.id} ({record.name}) is revoked.", markup=False)


@commands.command()
def rotate(
    key_id: KeyId,
    *,
    grace: Annotated[
        float, typer.Option(min=0, max=87_600, help="Hours that the old key works on.")
    ] = 24,
    json: console.Json = False,
) -> None:
    """Make a key in place of another, which works for the grace time longer."""

    async def work() -> MintedKey:
        async with _keys() as keys:
            return await keys.rotate(key_id, timedelta(hours=grace))

    _print_minted(console.run(work()), json=json)


@asynccontextmanager
async def _keys(*, new: bool = False) -> AsyncIterator[ApiKeys]:
    settings = console.settings(new=new)
    database = await Database.open(settings)
    try:
        yield await open_keys(settings, database, system_clock)
    finally:
        await database.close()


def _end_of(text: str) -> datetime:
    """The moment at which a date ends in UTC."""
    try:
        day = date.fromisoformat(text)
        return datetime.combine(day + timedelta(days=1), time(), UTC)
    except (ValueError, OverflowError):
        raise OperatorError(f"--expires is {text!r}; accepted: a date like 2027-12-31.") from None


def _print_minted(minted: MintedKey, *, json: bool) -> None:
    if json:
        console.emit_json({"key": minted.secret, **_shown(minted.record)})
        return
    record = minted.record
    ends = f", until {record.expires_at:%Y-%m-%d %H:%M} UTC" if record.expires_at else ""
    console.out().print(
        f"{record.id} for {record.name}: {record.per_minute} a minute, {record.per_day} a day{ends}"
        "\nThis is the only time the key is shown:",
        markup=False,
    )
    sys.stdout.write(minted.secret + "\n")


def _shown(record: ApiKey) -> dict[str, Any]:
    """What is shown of a key: everything but its digest."""
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
