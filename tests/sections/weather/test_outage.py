"""The whole application with every provider closed or silent: weather answers over HTTP."""

import socket
from contextlib import ExitStack

import httpx2
import pytest

from location_context.settings import Settings
from tests.fakes.server import FakeResponse, FakeServer
from tests.moved_clock import MovedClock
from tests.sections.weather.conftest import write_grid
from tests.serving import serve
from tests.web.conftest import make_key

STAYS = {"near": ("2026-11-28", "2026-12-01"), "far": ("2027-07-03", "2027-07-09")}


@pytest.fixture(params=["closed", "silent"])
def outside(request):
    """Where nothing listens, or all is accepted and nothing answered; and what was asked."""
    with ExitStack() as stack:
        if request.param == "silent":
            standin = FakeServer(lambda _: FakeResponse(fault="hang"))
            yield stack.enter_context(standin.running()).url, standin.requests
        else:
            held = stack.enter_context(socket.socket())
            held.bind(("127.0.0.1", 0))
            yield f"http://127.0.0.1:{held.getsockname()[1]}", []


def test_weather_answers_from_the_fallback_grid_whatever_the_providers_do(outside, tmp_path):
    address, asked = outside
    urls = {
        name: f"{address}/v1"
        for name in Settings.__struct_fields__
        if name.endswith("_url") and name not in {"database_url", "redis_url", "public_url"}
    }
    settings = Settings(data_dir=tmp_path, contact="a@b.example", log_level="error", **urls)
    write_grid(tmp_path)
    key = make_key(settings)
    with serve(settings, clock=MovedClock()) as served, httpx2.Client(trust_env=False) as client:
        for number, (start, end) in enumerate([*STAYS.values()] * 2):
            already = len(asked)
            answer = client.get(
                f"{served.url}/v1/pulse/weather",
                params={"lat": 48.85 + number, "lng": 2.35, "start": start, "end": end},
                headers={"Authorization": f"Bearer {key}"},
                timeout=10,  # twice the deadline and more
            )
            body = answer.json()
            assert answer.status_code == 200
            assert (body["applicable"], body["mode"]) == (True, "climatology")
            assert body["basis"]["kind"] == "monthly_mean"
            assert answer.headers["cache-control"].startswith("private, max-age=60")
        assert len(asked) == already  # nobody is asked any more, and nobody waits
