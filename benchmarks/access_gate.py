"""What access costs a request: `python benchmarks/access_gate.py`.

Prints microseconds for one request let in (memory, Redis, SQLite behind it), for junk, for an
unknown key and for a slowed one, and what the database does in a second.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from location_context.access.keys import mint
from location_context.errors import PublicError
from location_context.settings import Secret, Settings
from location_context.stay import system_clock
from location_context.storage.access import SqlApiKeyStore, open_api_keys, open_authenticator
from location_context.storage.database import Database
from location_context.storage.redis import RedisLink

REDIS = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/0")


async def microseconds(work: "Callable[[], Awaitable[object]]", rounds: int) -> float:
    began = time.perf_counter()
    for _ in range(rounds):
        with suppress(PublicError):
            await work()
    return (time.perf_counter() - began) / rounds * 1e6


async def authenticator(settings: Settings, label: str) -> None:
    database = await Database.open(settings)
    keys = await open_api_keys(settings, database, system_clock)
    made = await keys.create("Benchmark", per_minute=10**9, per_day=10**9)
    unknown = [f"Bearer {mint()}" for _ in range(2000)]
    redis = RedisLink(settings.redis_url) if settings.redis_url else None
    async with open_authenticator(settings, database, system_clock, redis) as opened:
        headers = [f"Bearer {made.secret}".encode()]
        await opened.authenticate(headers, False, "203.0.113.7")
        print(f"{label}: let in with a key", end=" ")
        print(
            f"{await microseconds(lambda: opened.authenticate(headers, False, 'a'), 3000):8.0f} us"
        )
        print(f"{label}: widget by address", end=" ")
        print(f"{await microseconds(lambda: opened.limit_widget('203.0.113.7'), 3000):8.0f} us")
        junk = await microseconds(lambda: opened.authenticate([b"Bearer x"], False, "a"), 3000)
        print(f"{label}: junk refused      {junk:8.0f} us")
        flood = iter(unknown)
        cost = await microseconds(
            lambda: opened.authenticate([next(flood).encode()], False, "1.1.1.1"), 2000
        )
        print(f"{label}: 2,000 unknown keys{cost:8.0f} us each")
    await database.close()


async def database(settings: Settings) -> None:
    began = time.perf_counter()
    opened = await Database.open(settings)
    print(f"SQLite: opened and checked in {(time.perf_counter() - began) * 1e3:.0f} ms")
    store = SqlApiKeyStore(opened)
    print(f"SQLite: one read      {await microseconds(store.version, 2000):8.0f} us")
    write = lambda: store.set_pepper_check("x")  # noqa: E731  the shortest write there is
    print(f"SQLite: one write     {await microseconds(write, 300):8.0f} us (synchronous FULL)")
    await opened.close()


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder))
        await authenticator(settings, "memory")
        await authenticator(Settings(data_dir=Path(folder), redis_url=Secret(REDIS)), "Redis ")
        await database(settings)


asyncio.run(main())
