"""Every error as an answer in the contract's envelope."""

from collections.abc import Callable
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from location_context.errors import PUBLIC_ERRORS, PublicError
from location_context.lru import LRUCache
from location_context.sections.contract import Text

JSON = "application/json"
ErrorResponse: TypeAlias = Callable[[PublicError, str, Request], Response]  # with the request's id
Headers = list[tuple[bytes, bytes]]
NO_STORE = "no-store"
MAX_PREPARED = 16

ErrorType = Literal[
    "invalid_request_error", "authentication_error", "rate_limit_error", "api_error"
]


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong."""

    type: Annotated[ErrorType, Meta(description="Category of the error.")]
    code: Annotated[
        str,
        Meta(
            description="Machine-readable code; it does not change. The responses say when.",
            extra_json_schema={"enum": [error.code for error in PUBLIC_ERRORS]},
        ),
    ]
    message: Annotated[Text, Meta(description="Explanation for a person, in English.")]
    request_id: Annotated[
        str,
        Meta(
            pattern="^req_[0-9a-f]{24}$",
            description="Identifier of the request, the same as X-Request-Id.",
        ),
    ]


class ErrorEnvelope(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every answer that is an error."""

    error: Annotated[ErrorBody, Meta(description="What went wrong.")]


def json_error(error: PublicError, request_id: str, _request: Request | None = None) -> Response:
    """The JSON answer for an error."""
    body = ErrorBody(type=error.type, code=error.code, message=error.message, request_id=request_id)  # type: ignore[arg-type]  # each error class names one of the four types
    headers = {"Cache-Control": NO_STORE, **error.headers}
    content = msgspec.json.encode(ErrorEnvelope(error=body))
    return Response(content, error.status, headers, media_type=JSON)


class PreparedErrors:
    """`json_error` for errors that come often: made once for each message, but for the id in it."""

    _ID = "req_" + "0" * 24  # as long as any

    def __init__(self) -> None:
        self._prepared = LRUCache[str, tuple[Headers, bytes, bytes]](MAX_PREPARED)

    def response(self, error: PublicError, request_id: bytes) -> tuple[Headers, bytes]:
        """The headers and the body of the answer for an error; its message tells all of it."""
        if (prepared := self._prepared.get(error.message)) is None:
            response = json_error(error, self._ID)
            before, _, after = bytes(response.body).partition(self._ID.encode())
            prepared = response.raw_headers, before, after
            self._prepared.put(error.message, prepared)
        headers, before, after = prepared
        return headers, before + request_id + after
