"""The shipped files of nginx and Caddy do what they say, in front of real services."""

import os
import re
import signal
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from benchmarks.harness import nginx
from location_context.settings import Settings
from location_context.settings.settings import DRAIN_AT_MOST
from tests.databases import OwnRedis
from tests.deploy.proxies import PACKAGES, Proxy, program, proxy
from tests.patience import wait_until
from tests.serving import free_port
from tests.web.commands import Serving, serving, unbounded_key
from tests.web.test_serve import children

STAY = {"lat": "48.8566", "lng": "2.3522", "start": "2026-11-28", "end": "2026-12-01"}
CALL = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'.ljust(60_000)  # of an agent
AGENT = {"Accept": "application/json", "Content-Type": "application/json"}
EVERY = pytest.mark.parametrize("name", PACKAGES)
SETTINGS = {  # as the files say
    "LOCATION_CONTEXT_TRUSTED_PROXIES": "127.0.0.1/32",
    "LOCATION_CONTEXT_DRAIN_AT_LEAST": "4",
    "LOCATION_CONTEXT_PUBLIC_URL": "https://context.example.org",
    "LOCATION_CONTEXT_WIDGET_PER_MINUTE": "2",
}


@pytest.fixture(scope="module")
def replicas(prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    """The ports of two services that share a Redis."""
    redis = OwnRedis(tmp_path_factory.mktemp("redis"))
    redis.start()
    more = {**SETTINGS, "LOCATION_CONTEXT_REDIS_URL": redis.url}
    with serving(prepared[0], more=more) as one, serving(prepared[0], more=more) as two:
        yield [one.port, two.port]
    redis.kill()


def client(of: Proxy, address: str = "127.0.0.1") -> httpx2.Client:
    """Who asks the proxy from this address."""
    transport = httpx2.HTTPTransport(verify=of.trust, local_address=address)
    return httpx2.Client(base_url=of.url, transport=transport, trust_env=False, timeout=20)


@EVERY
def test_proxies_forward_the_answers_over_tls_and_http_2(
    name: str, replicas: list[int], tmp_path: Path
) -> None:
    with proxy(name, tmp_path, replicas) as before, client(before) as guest:
        answer = guest.get("/v1/astronomy.json", headers={"Accept-Encoding": "br"})
        assert answer.status_code == 404
        assert answer.json()["error"]["request_id"] == answer.headers["X-Request-Id"]
        assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
        packed = guest.get("/v1/embed.js", headers={"Accept-Encoding": "br"})
        plain = guest.get("/v1/embed.js", headers={"Accept-Encoding": "identity"})
        assert packed.headers["Content-Encoding"] == "br"
        assert "Content-Encoding" not in plain.headers
        again = {"Accept-Encoding": "br", "If-None-Match": packed.headers["ETag"]}
        assert guest.get("/v1/embed.js", headers=again).status_code == 304
        assert guest.get("/metrics").status_code == 404
        assert guest.post("/v1/status").status_code == 405
        too_long = guest.post("/v1/status", content=b"x" * 100_000).status_code
        # Caddy 2.6 forwards the body up to its limit; the service may have answered by then
        assert too_long in ((405, 413, 502) if name == "caddy" else (413,))
        sent = httpx2.get(f"http://127.0.0.1:{before.plain_port}/v1/status", trust_env=False)
        assert sent.status_code in {301, 308}
        assert sent.headers["Location"].startswith("https://127.0.0.1")
        before.trust.set_alpn_protocols(["h2", "http/1.1"])
        with (
            socket.create_connection(("127.0.0.1", before.port)) as raw,
            before.trust.wrap_socket(raw, server_hostname="127.0.0.1") as secured,
        ):
            assert secured.selected_alpn_protocol() == "h2"


@EVERY
def test_proxies_forward_the_request_body_of_an_mcp_agent(
    name: str, prepared: tuple[Path, str], replicas: list[int], tmp_path: Path
) -> None:
    sent = {"Authorization": f"Bearer {prepared[1]}", **AGENT}
    with proxy(name, tmp_path, replicas) as before, client(before) as agent:
        answer = agent.post("/mcp", content=CALL, headers=sent)
    assert answer.status_code == 200, answer.text
    assert {tool["name"] for tool in answer.json()["result"]["tools"]} >= {"stay", "places"}


@EVERY
def test_proxied_clients_without_a_key_are_limited_separately_despite_forged_headers(
    name: str, replicas: list[int], tmp_path: Path
) -> None:
    number = [*PACKAGES].index(name)  # other guests for each, since the services stay
    with (
        proxy(name, tmp_path, replicas) as before,
        client(before, f"127.0.1.{number}") as one,
        client(before, f"127.0.2.{number}") as other,
    ):
        forged = [{"X-Forwarded-For": f"198.51.100.{at}, 127.0.0.1"} for at in range(5)]
        answers = [one.get("/v1/pulse", params=STAY, headers=sent) for sent in forged]
        statuses = Counter(answer.status_code for answer in answers)
        assert set(statuses) == {200, 429}, statuses  # two a minute; five cross one minute at most
        assert other.get("/v1/pulse", params=STAY).status_code == 200


class Asker(threading.Thread):
    """Sends requests to the proxy until it is stopped."""

    def __init__(self, of: Proxy, key: str, number: int, ended: threading.Event) -> None:
        super().__init__()
        self._of, self._key, self._number, self._ended = of, key, number, ended
        self.answers: Counter[str] = Counter()

    def run(self) -> None:
        headers = {"Authorization": f"Bearer {self._key}"}
        with client(self._of) as guest:
            while not self._ended.is_set():
                query = {**STAY, "lng": f"{self._number}.{self.answers.total() % 1000:03}"}
                try:
                    answer = guest.get("/v1/pulse/astronomy", params=query, headers=headers)
                    self.answers[str(answer.status_code)] += 1
                except httpx2.HTTPError as error:
                    self.answers[repr(error)] += 1


def answered(service: Serving, key_id: str) -> int:
    """How many requests with this key it has answered."""
    return service.written().count(f'"key_id":"{key_id}"')


def test_proxies_lose_no_request_when_a_replica_ends_or_is_killed(
    prepared: tuple[Path, str], tmp_path: Path
) -> None:
    folder, _ = prepared
    keys = {name: unbounded_key(folder, name) for name in PACKAGES}  # tell whose request it was
    ids = [key["id"] for key in keys.values()]
    ended, ports = threading.Event(), [free_port(), free_port()]

    def wait_for_more(service: Serving, requests: int) -> None:
        """Until it has answered so many more of each proxy."""
        so_far = {key: answered(service, key) for key in ids}
        wait_until(lambda: all(answered(service, k) > n + requests for k, n in so_far.items()))

    with ExitStack() as stack:
        one, two = (
            stack.enter_context(serving(folder, more=SETTINGS, port=port)) for port in ports
        )
        askers = {
            name: [Asker(before, key["key"], number, ended) for number in range(3)]
            for name, key in keys.items()
            for before in [stack.enter_context(proxy(name, tmp_path / name, ports))]
        }
        all_askers = [asker for of in askers.values() for asker in of]
        for asker in all_askers:
            asker.start()
        stack.callback(lambda: [asker.join() for asker in all_askers])
        stack.callback(ended.set)
        wait_for_more(one, 20)
        wait_for_more(two, 20)
        for process in (one.process.pid, *children(one.process.pid)):
            os.kill(process, signal.SIGKILL)
        one.process.wait()
        wait_for_more(two, 30)
        back = stack.enter_context(serving(folder, more=SETTINGS, port=ports[0]))
        wait_for_more(back, 20)
        two.signal(signal.SIGTERM)
        assert two.process.wait(30) == 0
        wait_for_more(back, 30)
        ended.set()
        for asker in all_askers:
            asker.join()
    totals = {name: sum((asker.answers for asker in of), Counter()) for name, of in askers.items()}
    assert all({*total} == {"200"} for total in totals.values()), totals


class NginxCache(nginx.Nginx):
    """nginx with the shipped cache, by the clock of this machine."""

    def environ(self) -> dict[str, str]:
        return {}


def test_nginx_caches_public_pages_but_no_answer_that_needs_a_key(
    prepared: tuple[Path, str], tmp_path: Path
) -> None:
    program("nginx")
    folder, key = prepared
    known = {"Authorization": f"Bearer {key}"}
    with serving(folder, more=SETTINGS) as service:
        cache = NginxCache(tmp_path, service.port)
        with nginx.running(cache, tmp_path), httpx2.Client(trust_env=False) as guest:

            def get(path: str, headers: dict[str, str] | None = None) -> httpx2.Response:
                url = f"http://127.0.0.1:{cache.port}/v1/{path}"
                return guest.get(url, params={**STAY, "lang": "en"}, headers=headers, timeout=20)

            page, section = "pulse", "pulse/guide"
            first, second = get(page), get(page)
            assert (first.headers["X-Cache"], second.headers["X-Cache"]) == ("MISS", "HIT")
            assert second.content == first.content
            assert second.headers["Cache-Control"] == "public, max-age=60"  # as it has no Age
            assert first.headers["Cache-Control"].startswith("public, max-age=")
            packed = get(page, {"Accept-Encoding": "br"})
            assert (packed.headers["X-Cache"], packed.content) == ("MISS", first.content)
            for _ in range(2):
                answer = get(section, known)
                assert (answer.status_code, answer.headers["X-Cache"]) == (200, "BYPASS")
                assert answer.headers["Cache-Control"].startswith("private, ")
            assert get(section).status_code == 401
            url = f"http://127.0.0.1:{cache.port}/mcp"
            assert guest.post(url, content=CALL, headers={**known, **AGENT}).status_code == 200
            service.signal(signal.SIGTERM)
            assert service.process.wait(30) == 0
            assert get(page).content == first.content
            assert get(section, known).status_code == 502


class Holding(threading.Thread):
    """A service that never answers `/v1/pulse`, and all else at once."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port: int = self._listening.getsockname()[1]
        self.held: list[socket.socket] = []

    def run(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
                request = connection.recv(65536)
            except OSError:
                return  # closed
            if request.startswith(b"GET /v1/pulse"):
                self.held.append(connection)
            else:
                connection.sendall(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
                connection.close()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        for connection in (self._listening, *self.held):
            connection.close()


def test_nginx_limits_each_client_ip_to_a_hundred_concurrent_requests(
    tmp_path: Path,
) -> None:
    limit = re.search(r"limit_conn location_context_clients (\d+);", text_of("nginx"))
    assert limit
    service = Holding()
    service.start()
    with ExitStack() as stack:
        stack.callback(service.close)
        before = stack.enter_context(proxy("nginx", tmp_path, [service.port, service.port]))
        for _ in range(int(limit[1])):
            raw = socket.create_connection(("127.0.0.1", before.port), 20, ("127.0.3.1", 0))
            one = before.trust.wrap_socket(stack.enter_context(raw), server_hostname="127.0.0.1")
            stack.enter_context(one).sendall(b"GET /v1/pulse HTTP/1.1\r\nHost: a\r\n\r\n")
        wait_until(lambda: len(service.held) == int(limit[1]))
        with client(before, "127.0.3.1") as greedy, client(before, "127.0.3.2") as other:
            assert greedy.get("/v1/health").status_code == 429
            assert other.get("/v1/health").status_code == 204


def test_proxy_timeouts_exceed_service_deadlines_and_drain_times_exceed_probe_intervals() -> None:
    """Compare the numbers in both files with the defaults of the settings."""
    deadlines = max(Settings().json_deadline, Settings().widget_deadline)
    files = {name: text_of(name) for name in PACKAGES}
    for name, pattern in {
        "nginx": r"proxy_read_timeout (\d+)s",
        "caddy": r"response_header_timeout (\d+)s",
    }.items():
        found = re.search(pattern, files[name])
        assert found
        assert float(found[1]) >= 2 * deadlines
    caddy = files["caddy"]
    interval = re.search(r"health_interval (\d+)s", caddy)
    drain = re.search(r"LOCATION_CONTEXT_DRAIN_AT_LEAST=(\d+)", caddy)
    assert interval
    assert drain
    assert int(interval[1]) < int(drain[1]) < DRAIN_AT_MOST


def text_of(name: str) -> str:
    file = {"nginx": "location-context.conf", "caddy": "Caddyfile"}[name]
    return (Path(__file__).parents[2] / "deploy" / name / file).read_text()
