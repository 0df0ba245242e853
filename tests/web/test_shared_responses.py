"""Finished answers: one process makes them, the others give them, until anything has changed."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import redis

from location_context.settings import Secret, Settings
from location_context.web import shared_responses
from tests.databases import OwnRedis
from tests.moved_clock import MovedClock
from tests.serving import serve
from tests.web.conftest import STAY, Client, make_key
from tests.web.sections import FakeSection

TIDES = "/v1/pulse/tides"


class Edited(FakeSection):
    """A section whose data may be replaced."""

    def __init__(self, clock: MovedClock) -> None:
        super().__init__(clock)
        self.version = "1"
        self._listeners: list[Callable[[], None]] = []

    @property
    def edition(self) -> str:
        return self.version

    def on_change(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def replace(self, version: str) -> None:
        self.version = version
        for listener in self._listeners:
            listener()


class Replicas:
    """Processes that share one Redis, each with its own section and caches."""

    def __init__(self, folder: Path, redis: OwnRedis, stack: ExitStack) -> None:
        self.settings = Settings(
            data_dir=folder, redis_url=Secret(redis.url), log_level="error",
            public_url="https://pulse.example", widget_per_minute=10_000,
        )  # fmt: skip
        self.clock, self._stack = MovedClock(), stack
        self.key = make_key(self.settings)

    def start(self) -> tuple[Edited, Client]:
        section = Edited(self.clock)
        served = serve(self.settings, clock=self.clock, sections=[section])
        return section, Client(self._stack.enter_context(served), self.key)


@pytest.fixture
def replicas(tmp_path: Path, own_redis: OwnRedis) -> Iterator[Replicas]:
    with ExitStack() as stack:
        yield Replicas(tmp_path, own_redis, stack)


@contextmanager
def until_shared(own_redis: OwnRedis, count: int) -> Iterator[None]:
    """The block makes so many more answers, which are stored behind it."""
    with redis.Redis.from_url(own_redis.url) as client:
        before = len(client.keys("*value:response:*"))
        yield
        patience = time.monotonic() + 30
        while len(client.keys("*value:response:*")) < before + count:
            assert time.monotonic() < patience
            time.sleep(0.01)
        assert all(0 < client.pttl(key) <= 172_800_000 for key in client.keys("*value:response:*"))


def test_what_one_process_answered_the_others_give_in_every_coding(replicas, own_redis) -> None:
    made, one = replicas.start()
    unread, other = replicas.start()
    with until_shared(own_redis, 2):
        first = one.get(TIDES, STAY)
        page = one.get("/v1/pulse", STAY, key=None)
    varied = dict(reversed(STAY.items())) | {"utm_source": "letter"}  # means the same
    for coding in ("br", "gzip", "identity"):
        again = other.get(TIDES, varied, headers={"Accept-Encoding": coding})
        assert (again.status_code, again.content) == (200, first.content)
        same = {"content-type", "content-language", "cache-control", "vary"}
        assert {k: again.headers[k] for k in same} == {k: first.headers[k] for k in same}
        assert "ratelimit" in again.headers
        shown = other.get("/v1/pulse", varied, key=None, headers={"Accept-Encoding": coding})
        assert shown.text == page.text
        assert shown.headers["content-security-policy"] == page.headers["content-security-policy"]
    assert (made.reads, unread.reads) == (1, 0)
    assert first.headers["etag"] == other.get(TIDES, STAY).headers["etag"]


def test_other_parameters_languages_and_a_missing_key_are_other_answers(
    replicas, own_redis
) -> None:
    _, one = replicas.start()
    section, other = replicas.start()
    with until_shared(own_redis, 2):
        one.get(TIDES, STAY)
        one.get("/v1/pulse", STAY, key=None, headers={"Accept-Language": "de"})
    assert other.get(TIDES, {**STAY, "units": "imperial"}).status_code == 200
    assert other.get(TIDES, {**STAY, "lang": "de"}).status_code == 200
    french = other.get("/v1/pulse", STAY, key=None, headers={"Accept-Language": "fr"})
    assert french.headers["content-language"] == "fr"
    assert section.reads == 4 - 1  # the page in French is of no reading that was made here before
    assert other.get(TIDES, STAY, key=None).status_code == 401
    assert other.get(TIDES, {**STAY, "lat": "91"}).json()["error"]["code"] == "invalid_latitude"


def test_an_answer_ends_with_its_freshness(replicas, own_redis) -> None:
    _, one = replicas.start()
    section, other = replicas.start()
    with until_shared(own_redis, 1):
        first = one.get(TIDES, STAY)
    replicas.clock.advance(60)
    again = other.get(TIDES, STAY)
    ages = [int(r.headers["cache-control"].partition("max-age=")[2].split(",")[0])
            for r in (first, again)]  # fmt: skip
    assert ages[0] - ages[1] == 60
    assert section.reads == 0
    replicas.clock.advance(ages[1] + 1)
    _, late = replicas.start()
    other.get(TIDES, STAY)
    assert section.reads == 1
    assert late.get(TIDES, STAY).status_code == 200


@pytest.mark.parametrize("change", ["import", "upgrade", "setting"])
def test_no_import_upgrade_or_setting_is_followed_by_an_old_answer(
    change, replicas, own_redis, monkeypatch
) -> None:
    _, one = replicas.start()
    with until_shared(own_redis, 1):
        one.get(TIDES, STAY)
    if change == "upgrade":
        monkeypatch.setattr(shared_responses, "__version__", "9.9.9")
    if change == "setting":
        replicas.settings = type(replicas.settings)(
            **{n: getattr(replicas.settings, n) for n in replicas.settings.__struct_fields__}
            | {"public_url": "https://elsewhere.example"}
        )
    section, other = replicas.start()
    if change == "import":
        section.replace("2")
    other.get(TIDES, STAY)
    assert section.reads == 1


def test_what_is_incomplete_is_not_shared(replicas, own_redis, monkeypatch) -> None:
    _, one = replicas.start()
    section, other = replicas.start()
    monkeypatch.setattr(shared_responses.Freshness, "kept", property(lambda _: False))
    one.get(TIDES, STAY)
    monkeypatch.undo()
    other.get(TIDES, STAY)
    assert section.reads == 1


def test_while_redis_is_gone_every_process_reads_for_itself(replicas, own_redis) -> None:
    _, one = replicas.start()
    section, other = replicas.start()
    own_redis.kill()
    assert one.get(TIDES, STAY).status_code == 200
    assert other.get(TIDES, STAY).status_code == 200
    assert section.reads == 1
