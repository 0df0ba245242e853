"""Sandbox: a separate process that reads untrusted bytes, with limits on time and memory.

One of our modules runs as that process: it calls `confine`, reads the bytes from stdin and prints a
line of JSON for each result. `confine` limits memory and processor time; a limit on elapsed time
alone would stop processes too early on a busy machine. `Sandbox` also limits the elapsed time,
since a process that only sleeps uses no processor time.
"""

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Generator
from threading import Timer

from location_context.errors import OperatorError

WALL_SECONDS = 1200.0  # elapsed; far above any `cpu_seconds`, since the machine may be busy
MAX_MEMORY = 1 << 30
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LANG", "LD_LIBRARY_PATH")


class Sandbox:
    """A run of one of our modules in a separate process, which cannot read our secrets.

    The process reads `data` from its standard input. `lines` blocks, so iterate in a thread.

    Attributes:
        module: the name of the module that is run.
        cpu_seconds: processor time in seconds after which the process is stopped.
    """

    def __init__(self, module: str, data: bytes, cpu_seconds: int) -> None:
        self.module = module
        self.cpu_seconds = cpu_seconds
        self._data = data
        self._process: subprocess.Popen[bytes] | None = None
        self._cancelled = self._timed_out = False

    def cancel(self) -> None:
        """Kill the process; may be called from any thread."""
        self._cancelled = True
        if self._process is not None:
            self._process.kill()

    def lines(self) -> Generator[bytes, None, None]:
        """Yield the lines that the process prints; the last line may be incomplete.

        Raises:
            OperatorError: the process did not finish, so its output is incomplete.
        """
        # a reader of untrusted bytes must not see the keys in our environment
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        environment["OPENBLAS_NUM_THREADS"] = "1"  # else numpy takes 30 MB for each processor
        with subprocess.Popen(  # noqa: S603  our own interpreter with our own module
            [sys.executable, "-m", self.module, str(self.cpu_seconds)], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            self._process = process
            if self._cancelled:
                process.kill()
            timer = Timer(WALL_SECONDS, self._stop)
            timer.daemon = True
            timer.start()
            try:
                yield from _exchange(process, self._data)
            finally:
                timer.cancel()
                process.kill()  # it still runs if the caller stopped before the last line
        if process.returncode:
            raise OperatorError(self._reason(process.returncode))

    def _stop(self) -> None:
        self._timed_out = True
        self.cancel()

    def _reason(self, returncode: int) -> str:
        if self._timed_out:
            return f"reading it took more than {WALL_SECONDS:g} seconds"
        if returncode == -signal.SIGXCPU:
            seconds = self.cpu_seconds
            return (
                f"reading it took more than {seconds} second{'s' * (seconds > 1)} of processor time"
            )
        return "reading it took too much memory, or failed"


def _exchange(process: subprocess.Popen[bytes], data: bytes) -> Generator[bytes, None, None]:
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # the process ended before it had read all
        process.stdin.write(data)
        process.stdin.close()
    yield from process.stdout
    process.wait()


def confine() -> None:
    """Limit the memory and processor time of the current process, which a `Sandbox` started."""
    cpu_seconds = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # else SIGXCPU writes the memory to disk
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    # the first limit sends SIGXCPU, which names the reason; the second kills if that is ignored
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
