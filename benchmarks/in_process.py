"""An ASGI application asked in this process, without a server, for what `/proc` cannot measure."""

from collections.abc import Iterable, Mapping

from starlette.types import ASGIApp, Message


async def get(app: ASGIApp, target: str, headers: Mapping[str, str] | None = None) -> int:
    """The status of the answer."""
    path, _, query = target.partition("?")
    sent = {"host": "a", "accept-encoding": "br", **(headers or {})}
    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        "query_string": query.encode(), "http_version": "1.1", "scheme": "http", "root_path": "",
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), "state": {},
    }  # fmt: skip
    found = [0]

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        found[0] = message.get("status", found[0])

    await app(scope, receive, send)
    return found[0]


async def get_all(
    app: ASGIApp, targets: Iterable[str], headers: Iterable[Mapping[str, str]]
) -> None:
    """One after the other; all must be answered with 200."""
    for target, sent in zip(targets, headers, strict=False):
        if (status := await get(app, target, sent)) != 200:
            raise SystemExit(f"{target} was answered {status}")
