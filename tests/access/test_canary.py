"""A canary key driven through every path of a real server: it is seen nowhere."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from location_context.access.keys import mint
from tests.patience import wait_until
from tests.serving import answers, free_port
from tests.web.commands import command

STAY = {"lat": "48.8566", "lng": "2.3522", "start": "2026-11-28", "end": "2026-12-01"}


def test_api_key_sent_on_every_path_appears_in_no_log_and_in_no_answer(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if "LOCATION_CONTEXT" not in k} | {
        "LOCATION_CONTEXT_DATA_DIR": str(tmp_path),
        "LOCATION_CONTEXT_LOG_LEVEL": "debug",
    }
    program, port = Path(sys.executable).with_name("location-context"), free_port()
    key = command(tmp_path, "keys", "create", "canary").stdout.splitlines()[-1]
    wrong = key[:-1] + ("a" if key[-1] != "a" else "b")
    said = ""
    log = tmp_path / "log"
    with log.open("w") as stream:
        served = [program, "serve", "--port", str(port)]
        server = subprocess.Popen(served, env=environment, stdout=stream, stderr=stream)
        try:
            with _patient(f"http://127.0.0.1:{port}") as http:
                for canary in (key, wrong, mint()):
                    for answer in _through_every_path(http, canary):
                        said += f"{answer.status_code} {answer.headers} {answer.text}\n"
                        assert canary[8:-6] not in said, answer.request.url.path
                        assert answer.status_code < 500
        finally:
            server.terminate()
            server.wait(30)
    logged = log.read_text()
    assert '"answered"' in logged
    assert key[8:-6] not in logged
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    assert key.encode() not in stored


@contextmanager
def _patient(url: str) -> Iterator[httpx2.Client]:
    """A client, once the server answers."""
    with httpx2.Client(base_url=url, trust_env=False, timeout=30) as http:
        wait_until(lambda: answers(http.base_url.port or 0))
        yield http


def _through_every_path(http: httpx2.Client, key: str) -> Iterator[httpx2.Response]:
    """The canary wherever a careless client may put it."""
    bearer = {"Authorization": f"Bearer {key}"}
    path = "/v1/pulse/astronomy"
    yield http.get(path, params=STAY, headers=bearer)
    yield http.get(path, headers=bearer)
    yield http.head(path, params=STAY, headers=bearer)
    yield http.post(path, headers=bearer, content=key)
    yield http.get(path, params=STAY, headers=[("Authorization", f"Bearer {key}")] * 2)
    yield http.get(path, params=STAY, headers={"Authorization": f"Basic {key}"})
    yield http.get(path, params=STAY, headers={"Authorization": key})
    yield http.get(path, params=STAY, headers={"Authorization": f"Bearer {key}x"})
    yield http.get(path, params=STAY, headers={"X-Api-Key": key, "Cookie": f"key={key}"})
    yield http.get(path, params={**STAY, "api_key": key})
    yield http.get(path, params={**STAY, "anything": key})
    yield http.get(f"/v1/{key}", headers=bearer)
    for name in ("lat", "lng", "start", "end", "units", "lang"):
        yield http.get(path, params={**STAY, name: key}, headers=bearer)
        yield http.get(path, params=[*STAY.items(), (name, key)], headers=bearer)
    for name in ("theme", "accent", "lang", "lat"):
        yield http.get("/v1/pulse", params={**STAY, name: key})
    yield http.get("/v1/status", headers=bearer)
    yield http.get("/v1/oembed", params={"url": f"http://a.example/{key}"})
