"""The call that has a CDN drop pages: what it says, and that its failure costs nothing else."""

import json
from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from location_context.errors import OperatorError
from location_context.settings import Secret, Settings
from location_context.upstream import purge
from location_context.upstream.http import http_client
from location_context.upstream.purge import Purger, bounded
from tests.fakes.server import Answered, Asked, StandIn

pytestmark = pytest.mark.anyio
SECRET = "Fastly-Key: canary"


async def told(url: str, *tags: str, header: str = SECRET) -> tuple[Purger, list[dict]]:
    """Purge, and give what was logged meanwhile."""
    settings = Settings(purge_url=url, purge_header=Secret(header))
    async with http_client("test") as client:
        purger = Purger(settings, client)
        purger.after = 0
        with capture_logs() as logs:
            await purger.purge(*tags)
    return purger, logs


def failing_once(fault: Answered) -> Callable[[Asked], Answered]:
    answers = iter([fault, Answered({"status": "ok"})])
    return lambda _: next(answers)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch):
    monkeypatch.setattr(purge, "RETRY_AFTER", 0)


async def test_one_post_says_the_tags_as_each_cdn_reads_them_with_the_secret():
    with StandIn(lambda _: Answered({"success": True})).running() as cdn:
        purger, logs = await told(cdn.url + "/zones/1/purge_cache", "pulse-guide", "pulse-in-FR")
        (asked,) = cdn.asked
    assert (asked.method, asked.path) == ("POST", "/zones/1/purge_cache")
    assert asked.headers["surrogate-key"] == "pulse-guide pulse-in-FR"
    assert json.loads(asked.body) == {"tags": ["pulse-guide", "pulse-in-FR"]}
    assert asked.headers["fastly-key"] == "canary"
    assert purger.failure is None
    assert [(line["event"], line["tags"]) for line in logs] == [
        ("purge_done", ("pulse-guide", "pulse-in-FR"))
    ]


@pytest.mark.parametrize("fault", [Answered(status=503), Answered(fault="drop")])
async def test_what_fails_is_tried_once_more(fault):
    with StandIn(failing_once(fault)).running() as cdn:
        purger, _ = await told(cdn.url, "pulse-guide")
        assert len(cdn.asked) == 2
    assert purger.failure is None


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Answered(status=403), "purge: answered with status 403"),
        (Answered(status=302, headers={"Location": "/else"}), "purge: answered with status 302"),
        (Answered(fault="drop"), "purge: the connection failed"),
        (Answered(fault="hang"), "purge: did not answer in time"),
    ],
)
async def test_a_cdn_that_refuses_is_logged_without_address_and_secret(monkeypatch, fault, why):
    monkeypatch.setattr(purge, "DEADLINE", 0.5)
    with StandIn(lambda _: fault).running() as cdn:
        purger, logs = await told(cdn.url + "/canary", "pulse-guide")
        assert all(asked.path == "/canary" for asked in cdn.asked), "no redirect is followed"
    assert purger.failure == why
    assert [line["event"] for line in logs] == ["purge_failed"]
    assert "canary" not in repr(logs)


async def test_without_an_address_and_without_tags_nothing_is_asked():
    purger, logs = await told("", "pulse-guide")
    assert (purger.failure, logs) == (None, [])
    with StandIn(lambda _: Answered()).running() as cdn:
        _, logs = await told(cdn.url)
        assert (cdn.asked, logs) == ([], [])


@pytest.mark.parametrize("header", ["canary", ": canary", "Fastly Key: canary", "Key: é", "Key:"])
def test_a_secret_that_is_no_header_is_refused_and_not_shown(header):
    given = {"LOCATION_CONTEXT_PURGE_HEADER": header}
    with pytest.raises(OperatorError, match="must be a header like") as refused:
        Settings.read(given)
    assert "canary" not in str(refused.value)


def test_many_tags_become_that_of_the_section():
    assert bounded({"pulse-at-1:2", "pulse-at-1:1"}, "events") == ["pulse-at-1:1", "pulse-at-1:2"]
    assert bounded({f"pulse-at-1:{n}" for n in range(31)}, "events") == ["pulse-events"]
