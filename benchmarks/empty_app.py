"""An application of Starlette that does nothing: the anchor of `start.py`."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


async def _nothing(_: Request) -> Response:
    return Response(b"{}", media_type="application/json")


app = Starlette(routes=[Route("/v1/health", _nothing)])
