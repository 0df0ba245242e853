"""Applications that do next to nothing, which servers of ours are compared with."""

import base64
import json
import os
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send


def recorded() -> ASGIApp:
    """Return an application that repeats the answers in the file that ANSWERS names."""
    answers = {}
    for path, (status, headers, body) in json.loads(
        Path(os.environ["ANSWERS"]).read_text()
    ).items():
        pairs = [(name.encode(), value.encode()) for name, value in headers]
        answers[path] = (
            {"type": "http.response.start", "status": status, "headers": pairs},
            {"type": "http.response.body", "body": base64.b64decode(body)},
        )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        if scope["type"] == "http":
            start, body = answers[scope["path"]]
            await send(start)
            await send(body)

    return app


def nothing() -> ASGIApp:
    """Return an application that answers `{}`: what remains is the server's own cost."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        if scope["type"] == "http":
            headers = [(b"content-length", b"2")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"{}"})

    return app


async def _empty(_: Request) -> Response:
    return Response(b"{}", media_type="application/json")


starlette = Starlette(routes=[Route("/v1/health", _empty)])
