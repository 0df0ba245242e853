"""SqlApiKeyStore and quotas over real HTTP: what a client, an operator and a flood see."""

import asyncio
import re
import time
from collections import Counter
from datetime import timedelta
from functools import partial

import httpx2
import pytest

from location_context.access.keys import ApiKeys, MintedKey, mint
from location_context.settings import Secret, Settings
from location_context.stay import system_clock
from location_context.storage.access import open_api_keys
from location_context.storage.database import Database
from location_context.storage.redis import RedisLink
from tests.moved_clock import MovedClock
from tests.patience import PATIENCE_SECONDS
from tests.serving import Served, serve
from tests.storage.proxy import Proxy
from tests.web.sections import FakeSection

STAY = {"lat": "48.8566", "lng": "2.3522", "start": "2026-11-28", "end": "2026-12-01"}
AWAY = "203.0.113.7"


class Operator:
    """Does what the key commands do, beside a running server."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def _with_keys(self, work):
        database = await Database.open(self._settings)
        try:
            keys = await open_api_keys(self._settings, database, system_clock)
            return await work(keys)
        finally:
            await database.close()

    async def create(self, **limits: int) -> MintedKey:
        async def work(keys: ApiKeys) -> MintedKey:
            return await keys.create("a test", **limits)

        return await self._with_keys(work)

    async def revoke(self, minted: MintedKey) -> None:
        await self._with_keys(lambda keys: keys.revoke(minted.record.id))

    async def rotate(self, minted: MintedKey, grace: float) -> MintedKey:
        return await self._with_keys(
            lambda keys: keys.rotate(minted.record.id, timedelta(hours=grace))
        )


def client(served: Served) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        base_url=served.url,
        trust_env=False,
        timeout=30,
        limits=httpx2.Limits(max_connections=600, max_keepalive_connections=100),
    )


async def ask(http: httpx2.AsyncClient, key: str, path: str = "/v1/pulse/tides", **headers: str):
    return await http.get(path, params=STAY, headers={"Authorization": f"Bearer {key}", **headers})


def tides_server(settings: Settings, clock=system_clock):
    return serve(settings, clock=clock, sections=[FakeSection(clock)])


async def test_each_replica_refuses_a_revoked_or_rotated_key_within_seconds(
    sqlite_settings: Settings,
) -> None:
    operator = Operator(sqlite_settings)
    revoked, rotated = await operator.create(), await operator.create()
    with tides_server(sqlite_settings) as one, tides_server(sqlite_settings) as two:
        async with client(one) as first, client(two) as second:
            for http in (first, second):
                for minted in (revoked, rotated):
                    assert (await ask(http, minted.secret)).status_code == 200
            await operator.revoke(revoked)
            successor = await operator.rotate(rotated, grace=0)
            patience, refused = time.monotonic() + PATIENCE_SECONDS, set()
            while len(refused) < 4 and time.monotonic() < patience:
                for http in (first, second):
                    for minted in (revoked, rotated):
                        answer = await ask(http, minted.secret)
                        if answer.status_code == 401:
                            assert answer.json()["error"]["code"] == "invalid_api_key"
                            refused.add((http, minted.record.id))
            assert len(refused) == 4
            for http in (first, second):
                assert (await ask(http, successor.secret)).status_code == 200


async def test_unknown_keys_are_rate_limited_and_a_valid_key_of_the_same_client_is_not(
    sqlite_settings: Settings,
) -> None:
    valid = await Operator(sqlite_settings).create()
    with tides_server(sqlite_settings) as served:
        async with client(served) as http:
            seen = Counter[int]()
            for _ in range(20):
                answers = await asyncio.gather(*(ask(http, mint()) for _ in range(50)))
                seen.update(answer.status_code for answer in answers)
                assert (await ask(http, valid.secret)).status_code == 200
            slowed = next(answer for answer in answers if answer.status_code == 429)
            assert set(seen) == {401, 429}
            assert seen[429] > 900
            assert int(slowed.headers["Retry-After"]) >= 1
            made_now = await Operator(sqlite_settings).create()
            patience = time.monotonic() + PATIENCE_SECONDS
            while (await ask(http, made_now.secret)).status_code != 200:
                assert time.monotonic() < patience


async def test_server_admits_exactly_the_quota_of_concurrent_requests(
    sqlite_settings: Settings,
) -> None:
    clock = MovedClock()
    settings = Settings(data_dir=sqlite_settings.data_dir, max_in_flight=1000)
    minted = await Operator(settings).create(per_minute=100)
    with tides_server(settings, clock) as served:
        async with client(served) as http:
            answers = await asyncio.gather(*(ask(http, minted.secret) for _ in range(500)))
            assert Counter(a.status_code for a in answers) == {200: 100, 429: 400}
            refused = next(answer for answer in answers if answer.status_code == 429)
            assert refused.json()["error"]["code"] == "rate_limit_exceeded"
            clock.advance(-3600)
            assert (await ask(http, minted.secret)).status_code == 429
            clock.advance(60)
            assert (await ask(http, minted.secret)).status_code == 200


async def test_quota_counts_exactly_the_documented_requests(
    sqlite_settings: Settings,
) -> None:
    minted = await Operator(sqlite_settings).create(per_minute=100)
    with tides_server(sqlite_settings) as served:
        async with client(served) as http:
            bearer = {"Authorization": f"Bearer {minted.secret}"}
            first = await ask(http, minted.secret)
            assert first.headers["RateLimit-Policy"] == (
                '"minute";q=100;w=60, "day";q=50000;w=86400'
            )
            etag = {"If-None-Match": first.headers["ETag"]}
            left = [
                first,
                await ask(http, minted.secret, **etag),
                await http.get("/v1/pulse/tides", headers=bearer),
                await http.head("/v1/pulse/tides", params=STAY, headers=bearer),
            ]
            assert [a.status_code for a in left] == [200, 304, 400, 200]
            for uncounted in ("/v1/nothing", "/v1/health", "/v1/status"):
                await http.get(uncounted, headers=bearer)
            await http.post("/v1/pulse/tides", headers=bearer)
            await ask(http, "x")
            left.append(await ask(http, minted.secret))
            shown = [re.match(r'"minute";r=(\d+)', a.headers["RateLimit"])[1] for a in left]
            assert shown == ["99", "98", "97", "96", "95"]


@pytest.mark.parametrize("trusted", [(), ("127.0.0.0/8",)])
async def test_forged_x_forwarded_for_does_not_make_one_client_count_as_two(
    sqlite_settings: Settings, trusted: tuple[str, ...]
) -> None:
    settings = Settings(data_dir=sqlite_settings.data_dir, trusted_proxies=trusted)
    with tides_server(settings) as served:
        async with client(served) as http:
            answers = await asyncio.gather(
                *(
                    ask(http, mint(), **{"X-Forwarded-For": f"10.9.8.{n}, {AWAY}"})
                    for n in range(30)
                )
            )
            assert Counter(a.status_code for a in answers) == {401: 20, 429: 10}
            other = await ask(http, mint(), **{"X-Forwarded-For": "198.51.100.1"})
            assert other.status_code == (401 if trusted else 429)


async def test_widget_limit_applies_separately_to_each_ipv4_address_and_each_ipv6_network(
    sqlite_settings: Settings,
) -> None:
    settings = Settings(
        data_dir=sqlite_settings.data_dir, trusted_proxies=("127.0.0.1/32",), widget_per_minute=5
    )
    clock = MovedClock()
    with tides_server(settings, clock) as served:
        async with client(served) as http:

            async def come_from(address: str):
                headers = {"X-Forwarded-For": f"10.0.0.1, {address}"}
                return await http.get("/v1/pulse", params={"lat": "x"}, headers=headers)

            answers = [await come_from(f"2001:db8::{n:x}") for n in range(8)]
            assert Counter(a.status_code for a in answers) == {400: 5, 429: 3}
            refused = answers[-1]
            assert "RateLimit" not in refused.headers
            assert refused.headers["Content-Type"].startswith("text/html")
            assert (await come_from("2001:db8:0:1::1")).status_code == 400
            assert (await come_from(AWAY)).status_code == 400
            clock.advance(int(refused.headers["Retry-After"]))
            assert (await come_from("2001:db8::1")).status_code == 400


async def test_requests_for_the_builder_and_for_its_email_code_count_towards_the_widget_limit(
    sqlite_settings: Settings,
) -> None:
    settings = Settings(data_dir=sqlite_settings.data_dir, widget_per_minute=2)
    with tides_server(settings, MovedClock()) as served:
        async with client(served) as http:
            request = [await http.get("/", params={"code": code}) for code in ("mail", "", "mail")]
    assert [one.status_code for one in request] == [200, 200, 429]


async def test_server_counts_quotas_in_its_own_memory_while_redis_is_stopped(
    sqlite_settings: Settings, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = partial(RedisLink, timeout=60)  # a busy machine is not a silent Redis
    monkeypatch.setattr("location_context.app.RedisLink", patient)
    minted = await Operator(sqlite_settings).create(per_minute=10)
    async with Proxy(redis_url) as proxy:
        settings = Settings(data_dir=sqlite_settings.data_dir, redis_url=Secret(proxy.url))
        with tides_server(settings) as served:
            async with client(served) as http:
                for _ in range(5):
                    assert (await ask(http, minted.secret)).status_code == 200
                assert (await http.get("/v1/status")).json()["status"] == "operational"
                await proxy.stop()
                answers = [await ask(http, minted.secret) for _ in range(8)]
                assert Counter(a.status_code for a in answers) == {200: 5, 429: 3}
                assert (await http.get("/v1/status")).json()["status"] == "degraded"


async def test_slow_redis_fails_no_request_and_makes_the_status_endpoint_report_degraded(
    sqlite_settings: Settings, redis_url: str
) -> None:
    minted = await Operator(sqlite_settings).create()
    async with Proxy(redis_url) as proxy:
        settings = Settings(data_dir=sqlite_settings.data_dir, redis_url=Secret(proxy.url))
        with tides_server(settings) as served:
            async with client(served) as http:
                proxy.late = 0.4  # there and back; sooner than a connection is given up
                assert (await ask(http, minted.secret)).status_code == 200
                assert (await http.get("/v1/status")).json()["status"] == "degraded"


async def test_known_keys_work_while_postgresql_is_stopped(
    postgresql_settings: Settings,
) -> None:
    minted = await Operator(postgresql_settings).create()
    async with Proxy(postgresql_settings.database) as proxy:
        settings = Settings(
            data_dir=postgresql_settings.data_dir,
            database_url=Secret(proxy.url),
            key_pepper=postgresql_settings.key_pepper,
        )
        server = tides_server(settings)
        served = await asyncio.to_thread(server.__enter__)  # the proxy works in this thread
        try:
            async with client(served) as http:
                assert (await ask(http, minted.secret)).status_code == 200
                await proxy.stop()
                assert (await ask(http, minted.secret)).status_code == 200
                assert (await http.get("/v1/health")).status_code == 200
                assert (await http.get("/v1/status")).status_code == 200
                await proxy.start()
                later = await Operator(postgresql_settings).create()
                patience = time.monotonic() + PATIENCE_SECONDS
                while (await ask(http, later.secret)).status_code != 200:
                    assert time.monotonic() < patience
        finally:
            await asyncio.to_thread(server.__exit__, None, None, None)
