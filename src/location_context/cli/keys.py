"""`keys`: creates, lists, revokes and rotates API keys, and shows their use.

A key is printed only once, when it is created.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, TypeVar

import typer

from location_context.access import keys as api_keys
from location_context.access.usage import USAGE_DAYS
from location_context.cli import console
from location_context.errors import OperatorError
from location_context.stay import system_clock
from location_context.storage.access import SqlUsageStore, open_api_keys
from location_context.storage.database import Database

keys = typer.Typer(
    add_completion=False,
    help="Create, list, revoke and rotate API keys; show their use.",
    no_args_is_help=True,
)

T = TypeVar("T")
MAX_QUOTA = 2_000_000_000
PERIODS = (7, 30, USAGE_DAYS)  # days, today included
PerMinute = Annotated[int, typer.Option(min=1, max=MAX_QUOTA, help="Requests per minute.")]
PerDay = Annotated[int, typer.Option(min=1, max=MAX_QUOTA, help="Requests per UTC day.")]
Expires = Annotated[
    str | None, typer.Option(metavar="DATE", help="Last UTC date on which the key works.")
]
KeyId = Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `keys list` shows it.")]


@keys.command()
def create(  # noqa: PLR0913  each is an option of the command
    name: Annotated[str, typer.Argument(help="Name of the key's owner.")],
    *,
    per_minute: PerMinute = api_keys.DEFAULT_PER_MINUTE,
    per_day: PerDay = api_keys.DEFAULT_PER_DAY,
    expires: Expires = None,
    test: Annotated[bool, typer.Option("--test", help="A test key gets made-up answers.")] = False,
    new: console.New = False,
    json: console.Json = False,
) -> None:
    """Create a key and print it, alone on the last line; it is never shown again."""
    expires_at = _end_of_day(expires) if expires else None
    minted = _run(
        lambda keys: keys.create(
            name, per_minute=per_minute, per_day=per_day, expires_at=expires_at, test=test
        ),
        new=new,
    )
    _print_minted(minted, json=json)


@keys.command("list")
def list_(*, json: console.Json = False) -> None:
    """List all keys, also revoked and expired ones."""
    records = [_public_fields(record) for record in _run(lambda keys: keys.list())]
    rows = []
    for record in records:
        ends = record["revoked_at"] or record["expires_at"]
        kind = "test" if record["test"] else "live"
        fields = [str(record[name]) for name in ("name", "status", "per_minute", "per_day")]
        rows.append([record["id"], kind, *fields, f"{ends:%Y-%m-%d %H:%M}" if ends else ""])
    columns = ("id", "kind", "name", "status", "a minute", "a day", "until")
    console.emit(records, console.table(columns, rows), json=json)


@keys.command()
def revoke(key_id: KeyId, *, json: console.Json = False) -> None:
    """Revoke a key; every server rejects it within five seconds."""
    record = _run(lambda keys: keys.revoke(key_id))
    text = f"The key {record.id} ({record.name}) is revoked."
    console.emit(_public_fields(record), text, json=json)


@keys.command()
def rotate(
    key_id: KeyId,
    *,
    grace: Annotated[
        float, typer.Option(min=0, max=87_600, help="Hours for which the old key keeps working.")
    ] = 24,
    json: console.Json = False,
) -> None:
    """Replace a key; the old one keeps working for the grace period."""
    _run(
        lambda keys: keys.rotate(
            key_id, timedelta(hours=grace), lambda minted: _print_minted(minted, json=json)
        )
    )


@keys.command()
def usage(
    key_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="Id of a key, to show each of its days.")
    ] = None,
    *,
    json: console.Json = False,
) -> None:
    """Show the number of admitted requests of each key in the last 7, 30 and 90 UTC days."""
    today = system_clock().date()
    shown = asyncio.run(_usage(key_id, today - timedelta(USAGE_DAYS - 1)))
    if key_id is not None:
        rows = [(str(one["day"]), str(one["requests"])) for one in shown[0]["days"]]
        console.emit(shown[0], console.table(("day", "requests"), rows), json=json)
        return
    rows = [
        (key["id"], key["name"], *(_requests_since(key, today - timedelta(n - 1)) for n in PERIODS))
        for key in shown
    ]
    columns = ("id", "name", *(f"{days} days" for days in PERIODS))
    console.emit(shown, console.table(columns, rows), json=json)


async def _usage(key_id: str | None, since: date) -> list[dict[str, Any]]:
    """Return id, name and daily requests since a date, for one key, or for all if it is None."""
    settings = console.settings()
    async with await Database.open(settings) as database:
        keys = await open_api_keys(settings, database, system_clock)
        records = await keys.list() if key_id is None else [await keys.find(key_id)]
        used = await SqlUsageStore(database).load(since)
    days: dict[str, list[dict[str, Any]]] = {record.id: [] for record in records}
    for one in used:
        if one.key_id in days:
            days[one.key_id].append({"day": one.day, "requests": one.requests})
    return [{"id": one.id, "name": one.name, "days": days[one.id]} for one in records]


def _requests_since(key: dict[str, Any], since: date) -> str:
    return str(sum(one["requests"] for one in key["days"] if one["day"] >= since))


def _run(work: Callable[[api_keys.ApiKeys], Awaitable[T]], *, new: bool = False) -> T:
    """Open the database, and return the result of `work` on the stored keys."""

    async def run() -> T:
        settings = console.settings(new=new)
        async with await Database.open(settings) as database:
            return await work(await open_api_keys(settings, database, system_clock))

    return asyncio.run(run())


def _end_of_day(text: str) -> datetime:
    """Return the moment at which a UTC date such as 2027-12-31 ends."""
    try:
        day = date.fromisoformat(text)
        return datetime.combine(day + timedelta(days=1), time(), UTC)
    except (ValueError, OverflowError):
        raise OperatorError(f"--expires is {text!r}; accepted: a date like 2027-12-31.") from None


def _print_minted(minted: api_keys.MintedKey, *, json: bool) -> None:
    record = minted.record
    ends = f", until {record.expires_at:%Y-%m-%d %H:%M} UTC" if record.expires_at else ""
    limits = f"{record.per_minute} a minute, {record.per_day} a day{ends}"
    console.emit(
        {"key": minted.secret, **_public_fields(record)},
        f"{record.id} for {record.name}: {limits}\nThe key is shown only this once:",
        json=json,
    )
    if not json:
        sys.stdout.write(minted.secret + "\n")
    sys.stdout.flush()


def _public_fields(record: api_keys.ApiKey) -> dict[str, Any]:
    """Return the fields of a key for output: without the digest, but with `test` and `status`."""
    fields = asdict(record)
    del fields["digest"]
    shown = {name: fields.pop(name) for name in ("id", "name")}
    return {**shown, "test": record.test, "status": record.status(system_clock()), **fields}
