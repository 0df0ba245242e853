"""Drain: how a server process ends on SIGTERM without losing a request.

First it goes on answering and says 503 on health and readiness, until the clients and load
balancers that follow them send no more; then SIGINT ends the server's own loop. Clients that follow
neither can lose a connection in that moment, unless a filter in the kernel (the setting
ACCEPT_FILTER, Linux only) first keeps new connections out and waits for those that are open: the
server owns its listeners, and closing one resets every connection in its accept queue. A client
whose segment was dropped tries again after a second, and is refused or reaches another process at
the same port. A worker whose parent was killed ends the same way, so that it does not hold the port
for ever.
"""

import asyncio
import ctypes
import multiprocessing
import os
import signal
import socket
import struct
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from location_context.settings import Settings
from location_context.web.application import Application

PARENT_CHECK_SECONDS = 0.5
IDLE_SECONDS = 0.5  # without a request
OPEN_MIN_SECONDS, OPEN_MAX_SECONDS = 0.5, 4.0  # for open connections; a handshake ends in half a s

_SO_ATTACH_FILTER = 26  # linux/socket.h; Python does not name it
_NO_SYN = b"".join(
    struct.pack("=HBBI", *instruction)  # linux/filter.h: code, jump if true, if false, operand
    for instruction in (
        (0x30, 0, 0, 13),  # load the byte of TCP's flags
        (0x54, 0, 0, 0x12),  # keep SYN and ACK of it
        (0x15, 0, 1, 0x02),  # SYN alone begins a connection:
        (0x06, 0, 0, 0),  # drop it
        (0x06, 0, 0, 0xFFFFFFFF),  # let all else pass, so that handshakes under way end well
    )
)
_TCP_INFO_BYTES = 136
_QUEUE, _ACKED = 24, 120  # offsets in struct tcp_info: accept queue of a listener, bytes acked
_ESTABLISHED = 1


@contextmanager
def on_sigterm(app: Application, settings: Settings) -> Iterator[None]:
    """Drain on SIGTERM; to be entered in the event loop of the server."""
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    def begin() -> None:
        if not app.draining:
            app.draining = True
            tasks.add(loop.create_task(_drain(app, settings)))

    # outside of the main thread whoever embeds the server ends it
    with suppress(RuntimeError, ValueError, NotImplementedError):
        loop.add_signal_handler(signal.SIGTERM, begin)
    yield


@asynccontextmanager
async def with_parent() -> AsyncIterator[None]:
    """Send this worker SIGTERM once the process that started it has ended."""
    parent = multiprocessing.parent_process()
    if parent is None or parent.pid is None:
        yield
        return
    watch = asyncio.create_task(_end_with(parent.pid))
    try:
        yield
    finally:
        watch.cancel()


async def _end_with(parent: int) -> None:
    while os.getppid() == parent:  # noqa: ASYNC110  its end is nothing that one can wait for
        await asyncio.sleep(PARENT_CHECK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


async def _drain(app: Application, settings: Settings) -> None:
    at_least, at_most = settings.drain_at_least, settings.drain_at_most
    await _until(lambda: _is_idle(app), at_least, max(at_least, at_most))
    if settings.accept_filter and refuse_new_connections():
        await _until(
            lambda: _is_idle(app) and not unanswered_connections(),
            OPEN_MIN_SECONDS,
            OPEN_MAX_SECONDS,
        )
    os.kill(os.getpid(), signal.SIGINT)


async def _until(reached: Callable[[], bool], at_least: float, at_most: float) -> None:
    began = time.monotonic()
    while (passed := time.monotonic() - began) < at_most:
        if passed > at_least and reached():
            return
        await asyncio.sleep(0.05)


def _is_idle(app: Application) -> bool:
    return not app.limiter.in_flight and time.perf_counter() - app.last_request_at > IDLE_SECONDS


def refuse_new_connections() -> bool:
    """Attach the filter to every listener of this process; False where that is not possible."""
    program = ctypes.create_string_buffer(_NO_SYN, len(_NO_SYN))
    filter_ = struct.pack("@HP", len(_NO_SYN) // 8, ctypes.addressof(program))
    listeners = _listeners()
    try:
        for fd in listeners:
            with _borrowed(fd) as listener:
                listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, filter_)
    except OSError:
        return False
    return bool(listeners)


def unanswered_connections() -> int:
    """How many connections wait to be accepted, or were accepted and have had no answer yet."""
    ports, waiting = set[int](), 0
    for fd in _listeners():
        with _borrowed(fd) as listener:
            ports.add(listener.getsockname()[1])
            waiting += struct.unpack_from("=I", _tcp_info(listener), _QUEUE)[0]
    return waiting + sum(_is_unanswered(fd, ports) for fd in _descriptors())


def _is_unanswered(fd: int, ports: set[int]) -> bool:
    with suppress(OSError), _borrowed(fd) as connection:
        if connection.family in {socket.AF_INET, socket.AF_INET6}:
            info = _tcp_info(connection)
            acked = struct.unpack_from("=Q", info, _ACKED)[0]
            ours = connection.getsockname()[1] in ports
            return ours and info[0] == _ESTABLISHED and not acked
    return False


def _listeners() -> list[int]:
    found = []
    for fd in _descriptors():
        with suppress(OSError), _borrowed(fd) as one:  # most are not sockets
            tcp = one.family in {socket.AF_INET, socket.AF_INET6}
            if tcp and one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                found.append(fd)
    return found


def _descriptors() -> list[int]:
    with suppress(OSError):
        return [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]
    return []


@contextmanager
def _borrowed(fd: int) -> Iterator[socket.socket]:
    """A socket of the server, without owning it: it stays open afterwards.

    Raises:
        OSError: this is not a socket, or it was closed meanwhile.
    """
    borrowed = socket.socket(fileno=fd)
    try:
        yield borrowed
    finally:
        borrowed.detach()


def _tcp_info(one: socket.socket) -> bytes:
    info = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    return info.ljust(_TCP_INFO_BYTES, b"\0")  # an older kernel has fewer fields
