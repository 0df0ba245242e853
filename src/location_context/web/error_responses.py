"""Error responses: a `PublicError` as JSON, in the API's envelope or as JSON-RPC."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from location_context.errors import PUBLIC_ERRORS, PublicError
from location_context.exchange import Exchange
from location_context.sections.contract import Text

JSON = "application/json"
NO_STORE = "no-store"
RPC_ERROR = -32_000  # the first code that JSON-RPC reserves for servers

ErrorType = Literal[
    "invalid_request_error", "authentication_error", "rate_limit_error", "api_error"
]


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    """The error of a request."""

    type: Annotated[ErrorType, Meta(description="Category of the error.")]
    code: Annotated[
        str,
        Meta(
            description="Machine-readable code, which does not change between versions.",
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

    error: Annotated[ErrorBody, Meta(description="Category, code, message and request.")]


def json_error(error: PublicError, request: Exchange) -> Response:
    """Return the JSON response for an error, in the API's envelope."""
    return _response(ErrorEnvelope(error=_body(error, request)), error)


def rpc_error(error: PublicError, request: Exchange) -> Response:
    """Return the JSON-RPC 2.0 response for an error; its `data` is the envelope's field `error`.

    Clients of the Model Context Protocol cannot read the envelope itself. `id` is null, because
    the body of the request, which contains the id, was not read.
    """
    shown = {"code": RPC_ERROR, "message": error.message, "data": _body(error, request)}
    return _response({"jsonrpc": "2.0", "id": None, "error": shown}, error)


def _body(error: PublicError, request: Exchange) -> ErrorBody:
    return ErrorBody(type=error.type, code=error.code, message=error.message, request_id=request.id)  # type: ignore[arg-type]  # each error class names one of the four types


def _response(content: object, error: PublicError) -> Response:
    headers = {"Cache-Control": NO_STORE, **error.headers}
    return Response(msgspec.json.encode(content), error.status, headers, media_type=JSON)
