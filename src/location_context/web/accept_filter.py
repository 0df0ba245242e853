"""A filter in the kernel that keeps new connections out while a server ends (Linux only).

The server owns its listeners, and closing one resets every connection that waits in its accept
queue. With the setting ACCEPT_FILTER a BPF filter first drops what would begin a connection; the
server accepts what waits, and only then closes. A client whose segment was dropped tries again
after a second, and is refused or reaches another process at the same port. Elsewhere than on Linux
no listener is found, and nothing is filtered.
"""

import ctypes
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
