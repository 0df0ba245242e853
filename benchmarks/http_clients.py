"""Clients that press a server over kept connections; a process of its own for `http_speed.py`.

    python benchmarks/http_clients.py PORT REQUEST SECONDS CLIENTS

Prints how many requests a second were answered. REQUEST is what is sent, with its empty line.
"""

import asyncio
import sys
import time


async def _ask(port: int, sent: bytes, until: float, counts: list[int]) -> None:
    """Ask on one connection until the time is up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < until:
        writer.write(sent)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if b" 304 " not in head[:20]:
            length = int(head.partition(b"content-length: ")[2].partition(b"\r")[0])
            await reader.readexactly(length)
        assert head[9:12] in {b"200", b"304", b"401"}, head
        counts[0] += 1
    writer.close()


async def clients(port: int, sent: bytes, seconds: float, number: int) -> float:
    counts, began = [0], time.perf_counter()
    await asyncio.gather(*(_ask(port, sent, began + seconds, counts) for _ in range(number)))
    return counts[0] / (time.perf_counter() - began)


if __name__ == "__main__":
    port, sent, seconds, number = sys.argv[1:]
    print(asyncio.run(clients(int(port), sent.encode(), float(seconds), int(number))))
