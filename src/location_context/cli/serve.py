"""`serve`: the HTTP server, under granian.

The parent process checks the settings and supervises the workers. It does not import the
application, which would take 40 MB of memory. The first worker opens the database and all other
parts before any worker serves. So an invalid setting or an old schema ends the command with a
message instead of a crash loop. Otherwise, the parent prints the first worker's warnings and starts
the other workers.
"""

import asyncio
import gc
import math
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import Annotated, Any

import structlog
import typer
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer

from location_context.cli import console
from location_context.errors import LocationContextError, OperatorError
from location_context.settings import PREFIX, Settings, not_a_setting, unknown
from location_context.settings.parsers import MULTIPROCESS_FOLDER, host_and_port
from location_context.settings.settings import DRAIN_AT_MOST
from location_context.web import logs

APPLICATION = "location_context.app:serve_app"
HTTP1_SETTINGS = HTTP1Settings(
    header_read_timeout=15_000,  # milliseconds for a client to send its headers
    max_buffer_size=65_536,  # bytes of headers
)
MAX_CONNECTIONS = 2048  # waiting or open; far above MAX_IN_FLIGHT
NEEDS_REDIS = (
    "{workers} workers need Redis, to count the quotas of keys together: set "
    "LOCATION_CONTEXT_REDIS_URL, such as redis://127.0.0.1:6379/0, or serve with one worker."
)
NEEDS_METRICS = (
    "METRICS_ADDRESS needs the library prometheus-client: pip install 'location-context[metrics]'."
)
SIGNAL_SECONDS = 0.2  # between two checks for a signal while the first worker starts
ENDING_SECONDS = 15  # that a worker may take to exit after its last request

Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")]
Workers = Annotated[int, typer.Option(min=1, max=64, help="Number of worker processes.")]


def serve(
    *,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Workers = 1,
    new: console.New = False,
) -> None:
    """Run the HTTP server until SIGTERM or Ctrl-C."""
    settings = listening_settings(console.settings(new=new), host, port)
    if workers > 1 and not settings.redis_url:
        raise OperatorError(NEEDS_REDIS.format(workers=workers))
    logs.configure(settings)
    _check_port(host, port, "Choose another with --port.")
    if settings.metrics_address:
        if find_spec("prometheus_client") is None:
            raise OperatorError(NEEDS_METRICS)
        _check_port(*host_and_port(settings.metrics_address), "See METRICS_ADDRESS.")
    notices = [f"Ignored: {not_a_setting(name)}" for name in unknown(os.environ)]

    def announce(found: Sequence[str]) -> None:
        _announce(settings, [console.hint(notice) for notice in (*found, *notices)])

    if multiprocessing.get_start_method() == "forkserver":  # the default since Python 3.14
        multiprocessing.set_start_method("fork", force=True)  # so that workers share memory
    drained = math.ceil(max(settings.drain_at_least, DRAIN_AT_MOST))
    kind, kill_after = partial(Supervisor, announce), drained + ENDING_SECONDS
    with _metrics_folder(settings):
        supervisor = server(APPLICATION, host, port, workers, kill_after, kind)
        supervisor.serve(target_loader=partial(_load, workers), wrap_loader=False)


class Supervisor(MPServer):
    """A granian server whose first worker opens the service as a check before any worker serves.

    If that succeeds, `opened` is called with the service's warnings for the operator.
    """

    def __init__(self, opened: Callable[[Sequence[str]], None], target: str, **given: Any) -> None:
        super().__init__(target, **given)
        self._opened = opened
        self._process = os.getpid()

    def signal_handler_interrupt(self, *given: Any, **more: Any) -> None:
        """Let granian handle SIGINT and SIGTERM in the parent; in a starting worker, exit now."""
        if os.getpid() != self._process:
            os._exit(0)
        super().signal_handler_interrupt(*given, **more)  # type: ignore[no-untyped-call]  # has none

    def _spawn_workers(self, spawn_target: Any, target_loader: Any) -> None:
        here, there = multiprocessing.Pipe(duplex=False)
        first: Any = self._spawn_worker(0, spawn_target, partial(target_loader, there))
        first.interrupt_by_parent = (
            True  # granian must not report its exit: until it is ready, the code below does
        )
        first.start()
        self.wrks.append(first)
        there.close()
        with here:
            while not here.poll(SIGNAL_SECONDS):
                if self.interrupt_signal:
                    return
            try:
                wrong, notices = here.recv()
            except EOFError:
                wrong, notices = "The first worker exited while it was starting", []
        if wrong:
            first.join()
            raise OperatorError(wrong)
        first.interrupt_by_parent = False
        self._opened(notices)
        for index in range(1, self.workers):
            worker: Any = self._spawn_worker(index, spawn_target, target_loader)
            worker.start()
            self.wrks.append(worker)


def _load(workers: int, parent: Connection | None = None) -> Any:
    """Return a worker's application; if `parent` is set, first check that the service opens."""
    gc.disable()  # until all is imported, which leaves no garbage
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the default until the event loop runs
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the parent ends its workers
    # imported here: the parent must not load the application
    from location_context.app import Worker, serve_app  # noqa: PLC0415  see above

    if parent is not None:
        _open_first(parent)
    application = serve_app(Worker(workers, checked=True))  # checked by the first worker
    gc.freeze()  # a collection would write to memory that all processes share
    gc.enable()
    return application


def _open_first(parent: Connection) -> None:
    """Open and close the service as a check, and send the parent the service's warnings.

    If the service cannot be opened, send the parent the error and exit.
    """
    settings = Settings.read(os.environ)
    logs.configure(settings)
    try:
        parent.send(("", asyncio.run(_notices(settings))))
    except LocationContextError as error:
        parent.send((error.message, []))
        sys.exit(1)
    parent.close()


@contextmanager
def _metrics_folder(settings: Settings) -> Iterator[None]:
    """Create a folder in which the workers share their metrics, and remove it at the end."""
    if not settings.metrics_address:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="location-context-", ignore_cleanup_errors=True) as it:
        os.environ[MULTIPROCESS_FOLDER] = it
        yield


def _announce(settings: Settings, notices: Sequence[str]) -> None:
    """Print the warnings, the URL and the data directory; log them instead if logs are JSON."""
    address, folder = settings.public_url, settings.data_dir.absolute()
    sentence = f"Serving at {address}, data directory {folder}"
    if settings.logs_json:
        log = structlog.get_logger()
        for notice in notices:
            log.warning("notice", message=notice)
        log.info("serving", message=sentence, address=address, data_dir=str(folder))
        return
    for notice in notices:
        console.warn(f"Notice: {notice}")
    console.err().print(sentence, style="green", markup=False)


def listening_settings(settings: Settings, host: str, port: int) -> Settings:
    """Return the settings; if PUBLIC_URL is not set, derive it from `--host` and `--port`."""
    if settings.public_url == Settings().public_url:
        os.environ[PREFIX + "PUBLIC_URL"] = local_address(host, port)
        return Settings.read(os.environ)
    return settings


def local_address(host: str, port: int) -> str:
    """Return the URL at which programs on this machine reach the server."""
    shown = "127.0.0.1" if host in {"0.0.0.0", "::", ""} else host  # noqa: S104  compared only
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"


def server(  # noqa: PLR0913, PLR0917  what differs between servers
    factory: str,
    host: str,
    port: int,
    workers: int,
    kill_after: int = 20,
    kind: Callable[..., MPServer] = MPServer,
) -> MPServer:
    """Return a server whose workers call `factory` (`module:function`) for their application.

    A worker that does not exit within `kill_after` seconds of a signal is killed.
    """
    return kind(
        factory,
        address=host,
        port=port,
        interface=Interfaces.ASGI,
        workers=workers,
        loop=Loops.auto,  # uvloop if it is available for this system
        factory=True,
        http=HTTPModes.http1,
        websockets=False,
        backlog=MAX_CONNECTIONS,
        backpressure=MAX_CONNECTIONS,
        http1_settings=HTTP1_SETTINGS,
        log_level=LogLevels.warning,
        log_dictconfig=logs.GRANIAN,
        respawn_failed_workers=True,
        workers_kill_timeout=kill_after,
    )


async def _notices(settings: Settings) -> Sequence[str]:
    # imported here: the parent must not load the application
    from location_context.app import open_service  # noqa: PLC0415  see above
    from location_context.web.status import status  # noqa: PLC0415  see above
    from location_context.widget import png  # noqa: PLC0415  see above

    async with open_service(settings, prepared=True) as service:
        lacking = png.missing_letters(service.languages) if png.is_installed() else ""
        return [*(await status(service)).notices, *([lacking] if lacking else [])]


def _check_port(host: str, port: int, advice: str) -> None:
    """Reject a port in use, which granian would silently share with the other program."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise OperatorError(
                f"Cannot listen on {host}:{port}: {error.strerror}. {advice}"
            ) from None
