"""Bad requests and bad connections on a real socket: no redirect, no crash, nobody else slowed."""

import resource
import socket
import threading
from contextlib import closing
from functools import partial

import msgspec
import pytest

from location_context.upstream.host import Hosts
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.serving import serve
from tests.web.conftest import STAY, Client, served_client
from tests.web.load import load
from tests.web.sections import Busy, FakeSection, Slow, occupied

QUERY = "&".join(f"{name}={value}" for name, value in STAY.items())


def exchange(port: int, sent: bytes, *, patience: float = 5.0) -> bytes:
    """What comes back for these bytes until the server closes or falls silent."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=patience)) as connection:
        connection.sendall(sent)
        received = b""
        while True:
            try:
                chunk = connection.recv(65536)
            except TimeoutError:
                return received
            if not chunk:
                return received
            received += chunk


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize(
    "headers",
    [b"", b"Host: x/../?@#\r\n", b"Host: a b\r\n", b"Host: a\r\nHost: b\r\n", b"Host: <x>\r\n",
     b"Host: a:port\r\n", b"Host: user@a\r\n", b"Host: \r\n"],
)  # fmt: skip
def test_missing_or_malformed_host_header_is_refused(client: Client, headers) -> None:
    sent = b"GET /v1/health HTTP/1.1\r\n" + headers + b"Connection: close\r\n\r\n"
    answer = exchange(client.served.port, sent)
    assert status_of(answer) == 400
    assert b"malformed_request" in answer
    assert b"x-request-id: req_" in answer


def test_health_endpoint_answers_an_http_1_0_request_without_a_host_header(client: Client) -> None:
    """HTTP/1.0 without a Host header, as some load balancers ask for it."""
    answer = exchange(client.served.port, b"GET /v1/health HTTP/1.0\r\n\r\n")
    assert status_of(answer) == 200
    assert answer.endswith(b'{"status":"ok"}')
    bad = exchange(client.served.port, b"GET /v1/health HTTP/1.0\r\nHost: a b\r\n\r\n")
    assert status_of(bad) == 400


@pytest.mark.parametrize("host", [b"a.example", b"127.0.0.1:8000", b"[::1]:80", b"A_b-c.d"])
def test_host_header_with_a_name_or_an_ip_address_is_accepted(client: Client, host) -> None:
    sent = b"GET /v1/health HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n"
    assert status_of(exchange(client.served.port, sent)) == 200


@pytest.mark.parametrize(
    "path", [b"/%zz", b"/%", b"/%00", b"/v1/%ff", b"/v1/health%c3%28", b"/v1/health?a=%80"]
)
def test_path_with_broken_escapes_is_refused_as_malformed(client: Client, path) -> None:
    sent = b"GET " + path + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    answer = exchange(client.served.port, sent)
    assert status_of(answer) == 400
    assert b"malformed_request" in answer


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + b"a" * 1_000_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X-Many: a\r\n" * 1000 + b"\r\n",
    ],
    ids=["long URL", "long header", "many headers"],
)
def test_too_long_url_or_headers_are_answered_414_or_431(client: Client, sent) -> None:
    try:
        answer = exchange(client.served.port, sent)
    except ConnectionError:
        return  # refused before we had sent it all
    assert status_of(answer) in {414, 431}


def test_smuggled_request_is_never_served(client) -> None:
    smuggled = (
        b"POST /v1/health HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        b"GET /v1/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n"
    )
    answer = exchange(client.served.port, smuggled, patience=2)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"openapi" not in answer


def test_body_of_a_get_request_is_ignored(client: Client) -> None:
    sent = (
        b"GET /v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"
    )
    assert status_of(exchange(client.served.port, sent)) == 200


@pytest.mark.parametrize("authorization", ["Bearer {key}", "bearer {key}", "BEARER   {key}"])
def test_authorization_scheme_ignores_case(client: Client, authorization) -> None:
    headers = {"Authorization": authorization.format(key=client.key)}
    assert client.get("/v1/pulse/tides", STAY, key=None, headers=headers).status_code == 200


def test_two_authorization_headers_are_an_invalid_api_key(client: Client) -> None:
    key = client.key.encode()
    sent = (
        f"GET /v1/pulse/tides?{QUERY} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n".encode()
        + (b"Authorization: Bearer " + key + b"\r\n") * 2
        + b"\r\n"
    )
    answer = exchange(client.served.port, sent)
    assert status_of(answer) == 401
    assert b"invalid_api_key" in answer
    assert key not in answer


def test_key_in_the_url_is_ignored_if_the_header_has_a_valid_key(client: Client) -> None:
    assert client.get("/v1/pulse/tides", {**STAY, "key": "abc"}).status_code == 200


def test_overloaded_server_refuses_requests_with_503_but_answers_health(web_settings) -> None:
    settings = msgspec.structs.replace(web_settings, max_in_flight=4)
    slow = Slow()
    with served_client(settings, slow) as client:
        requests = (
            partial(client.get, "/v1/pulse/slow", {**STAY, "lat": f"{n}"}) for n in range(4)
        )
        limiter = client.served.app.limiter
        with occupied(slow, *requests):
            wait_until(lambda: limiter.in_flight == 4)
            refused = client.get("/v1/pulse/slow", {**STAY, "lat": "9"})
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "service_overloaded"
            assert refused.headers["retry-after"] == "1"
            assert "ratelimit" not in refused.headers
            assert client.get("/v1/health", key=None).status_code == 200
        assert client.get("/v1/pulse/slow", {**STAY, "lat": "9"}).status_code == 200
        wait_until(lambda: not limiter.in_flight)


def request_of(section: str, key: str) -> bytes:
    """A request for a section, as it goes over the wire."""
    headers = f"Host: a\r\nAuthorization: Bearer {key}"
    return f"GET /v1/pulse/{section}?{QUERY} HTTP/1.1\r\n{headers}\r\n\r\n".encode()


def _many(wanted: int) -> int:
    """As many connections as this process may hold both ends of."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 4 * wanted:
        soft = 4 * wanted if hard == resource.RLIM_INFINITY else min(4 * wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(wanted, soft // 4)


def test_disconnected_clients_leave_no_task_and_do_not_cancel_the_shared_read(
    web_settings,
) -> None:
    slow = Slow()
    with served_client(web_settings, slow) as client:
        served, answers = client.served, []
        leavers = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(_many(1000))]
        for connection in leavers:
            connection.sendall(request_of("slow", client.key))
        waiting = threading.Thread(
            target=lambda: answers.append(client.get("/v1/pulse/slow", STAY, headers={}))
        )
        wait_until(lambda: served.app.limiter.in_flight >= 100)
        for connection in leavers:
            connection.close()
        slow.let_go()
        waiting.start()
        waiting.join()
        wait_until(lambda: not served.app.limiter.in_flight)
        assert slow.reads == 1
        wait_until(lambda: client.get("/v1/pulse/slow", STAY).status_code == 200)


def test_clients_that_do_not_read_their_answer_block_no_other_request(web_settings) -> None:
    tides = FakeSection(words="spring tide " * 400_000)  # 5 MB
    with served_client(web_settings, tides) as client:
        client.get("/v1/pulse/tides", STAY)
        idle = [socket.create_connection(("127.0.0.1", client.served.port)) for _ in range(20)]
        for connection in idle:
            connection.sendall(request_of("tides", client.key))
        for _ in range(20):  # a server that waits for a reader never gets to them
            assert client.get("/v1/health", key=None).status_code == 200
        for connection in idle:
            connection.close()


def test_overloaded_server_answers_health_before_admitted_requests(web_settings) -> None:
    settings = msgspec.structs.replace(web_settings, max_in_flight=16)
    with served_client(settings, Busy(0.004)) as client:
        loaded = load(client.served.url, "busy", client.key, clients=48, seconds=1.5)
    assert loaded.statuses["503"] > loaded.statuses["200"] > 0
    assert 0 < loaded.health_p50 < loaded.admitted_p50


class Breaking(FakeSection):
    """Breaks at the first work in the background."""

    breaks = 1

    async def run(self) -> None:
        self.breaks -= 1
        if self.breaks >= 0:
            raise RuntimeError("broken")
        await super().run()


@pytest.mark.parametrize("whose", ["section", "hosts"])
def test_failed_background_work_is_logged_and_restarted(
    web_settings, monkeypatch, capsys, whose: str
) -> None:
    monkeypatch.setattr("location_context.app.RESTART_SECONDS", 0.0, raising=False)
    section, began, hosts_run = Breaking(), threading.Event(), Hosts.run
    calls: list[Hosts] = []

    async def run(self: Hosts) -> None:
        calls.append(self)
        if whose == "hosts" and len(calls) == 1:
            raise RuntimeError("broken")
        began.set()
        await hosts_run(self)

    monkeypatch.setattr(Hosts, "run", run)
    with serve(web_settings, sections=[section]) as served:
        assert began.wait(PATIENCE_SECONDS)
        assert Client(served, "").get("/v1/health", key=None).status_code == 200
        wait_until(section.ran.is_set)
    assert "background_failed" in capsys.readouterr().out
