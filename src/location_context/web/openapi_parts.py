"""The words of the OpenAPI document that no Struct can hold: parameters, headers and errors."""

from __future__ import annotations

from typing import Any

from location_context.parameters import DEFAULT_ACCENT, LONGEST_PLACE
from location_context.stay import FIRST_DATE, LAST_DATE, LONGEST_DAYS
from location_context.web import openapi_examples as examples

INTRODUCTION = (
    "Weather, astronomy, a restaurant guide and events for a geographic point and, where dates "
    "matter, a stay. Ask the sections in parallel and drop each whose `applicable` is false, as "
    "its `type` says too. "
    "Every answer carries `X-Request-Id`; every error has the same envelope. Fields that are not "
    "known are null, lists may be empty, and no field is ever missing. `degraded` says that "
    "something lesser was given than what was due. New fields may be added "
    "within `/v1`; none is removed or changes its meaning."
)
KEY = (
    "A server-side credential, sent as `Authorization: Bearer <API_KEY>`. It must not be placed "
    "in a browser bundle or a mobile app: public pages use the widget, which needs none."
)
TAGS = [
    {"name": "Sections", "description": "JSON for your server, with an API key."},
    {"name": "Widget", "description": "HTML for an iframe, without a key."},
    {"name": "Service", "description": "How the service is, without a key."},
]
ANSWER = "The section, or the reason why it is not applicable; `type` tells which."
WIDGET_TEXT = (
    "Renders every section that is applicable for the point and the dates. It tells the embedding "
    'page its height with `{"type":"pulse:resize","version":1,"height":<px>}`; `/v1/embed.js` '
    "listens to that."
)
HEALTH = ("Whether this process takes requests", "Touches nothing. 503 while it shuts down.")
STATUS = ("How the service is", "Sections, providers, datasets and notices for the operator.")
EMBED = (
    "The script that sizes the widget's iframe",
    "Put it beside the iframe: it makes every widget on the page as tall as its content.",
)
OEMBED = (
    "oEmbed for addresses of widgets",
    "Answers only for addresses of this service's own `/v1/pulse`, and fetches nothing.",
)
OPENAPI = ("This document", "OpenAPI 3.1, made from what makes the answers.")
DOCS = ("The documentation page", "This document for people; it loads nothing from elsewhere.")
WIDGET_ERRORS = {
    "400": "A parameter is wrong or missing, or the request is malformed.",
    "429": "Too many requests from this address; see Retry-After.",
    "500": "Something went wrong on our side.",
    "503": "Overloaded, or nothing can be shown; see Retry-After.",
}
RETRIED = {"429": ("Retry-After",), "503": ("Retry-After",)}
KEYED_ERRORS = {
    "400": "BadRequest",
    "401": "Unauthorized",
    "429": "RateLimited",
    "500": "InternalError",
    "503": "Unavailable",
}

_DAY = "^(19[0-9]{2}|20[0-4][0-9]|2050)-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"


def _parameter(
    name: str, schema: dict[str, Any], description: str, example: object, *, required: bool = False
) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": required,
        **({} if required else {"allowEmptyValue": True}),
        "description": description,
        "schema": schema,
        "example": example,
    }


def _date(name: str, which: str) -> dict[str, Any]:
    return _parameter(
        name,
        {"type": "string", "format": "date", "pattern": _DAY},
        f"{which} date of the stay, local to the point, included; {FIRST_DATE} to {LAST_DATE}. "
        f"A stay has at most {LONGEST_DAYS} dates.",
        "2026-11-28" if name == "start" else "2026-12-01",
        required=True,
    )


PARAMETERS = {
    "lat": _parameter(
        "lat",
        {"type": "number", "minimum": -90, "maximum": 90},
        "Latitude in decimal degrees; rounded to four decimals.",
        48.8566,
        required=True,
    ),
    "lng": _parameter(
        "lng",
        {"type": "number", "minimum": -180, "maximum": 180},
        "Longitude in decimal degrees; rounded to four decimals.",
        2.3522,
        required=True,
    ),
    "start": _date("start", "First"),
    "end": _date("end", "Last"),
    "units": _parameter(
        "units",
        {"type": "string", "enum": ["metric", "imperial"], "default": "metric"},
        "Units of every number in the answer; `units` in the answer names them.",
        "metric",
    ),
    "lang": _parameter(
        "lang",
        {
            "type": "string",
            "pattern": "^([A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*)?$",
            "maxLength": 64,
            "default": "en",
        },
        "Language of words in the answer, BCP 47. An unknown one falls back (`de-AT` to `de`, "
        "else English); Content-Language tells. The widget without it follows Accept-Language.",
        "en",
    ),
    "place": _parameter(
        "place",
        {"type": "string", "maxLength": LONGEST_PLACE},
        f"Display name of the place, at most {LONGEST_PLACE} characters.",
        "Paris",
    ),
    "theme": _parameter(
        "theme",
        {"type": "string", "enum": ["light", "dark", "auto"], "default": "light"},
        "`auto` follows the visitor's system.",
        "light",
    ),
    "accent": _parameter(
        "accent",
        {
            "type": "string",
            "pattern": "^(#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6}))?$",
            "default": DEFAULT_ACCENT,
        },
        "Accent colour; the leading # is sent as %23.",
        DEFAULT_ACCENT,
    ),
}

_PIXELS = {"type": "integer", "minimum": 1, "maximum": 999_999_999}
OEMBED_PARAMETERS = [
    _parameter(
        "url",
        {"type": "string", "format": "uri"},
        "The address of a widget of this service.",
        "http://127.0.0.1:8000/v1/pulse?lat=48.8566&lng=2.3522&start=2026-11-28&end=2026-12-01",
        required=True,
    ),
    _parameter("maxwidth", _PIXELS, "Width in px that the embed may have.", 720),
    _parameter("maxheight", _PIXELS, "Height in px that the embed may have.", 900),
]


def _header(description: str, example: str) -> dict[str, Any]:
    return {"description": description, "schema": {"type": "string"}, "example": example}


HEADERS = {
    "X-Request-Id": _header("Identifier of the request.", "req_4f6c1f0e2b7a9d3c5e8f1a2b"),
    "RateLimit-Policy": _header(
        "The quotas of the key.", '"minute";q=600;w=60, "day";q=50000;w=86400'
    ),
    "RateLimit": _header(
        "What is left (r) and for how many seconds (t).",
        '"minute";r=599;t=12, "day";r=49999;t=3600',
    ),
    "Retry-After": _header("Seconds after which a new request succeeds.", "12"),
    "ETag": _header("Names this answer, for If-None-Match.", '"5d41402abc4b2a76b9719d91-br"'),
    "Cache-Control": _header(
        "How long the answer stays true.",
        "private, max-age=900, stale-while-revalidate=60, stale-if-error=3600",
    ),
    "Vary": _header("What the answer depends on.", "Accept-Encoding, Authorization"),
    "Content-Language": _header("The language of the words.", "en"),
    "WWW-Authenticate": _header("How to authenticate.", "Bearer"),
}

ERRORS: dict[str, tuple[int, str, str]] = {
    "malformed_request": (400, "invalid_request_error", "Bad escapes, invalid UTF-8 or bad Host."),
    "missing_parameter": (
        400,
        "invalid_request_error",
        "A required parameter is missing or empty.",
    ),
    "duplicate_parameter": (400, "invalid_request_error", "A parameter was given twice."),
    "unknown_parameter": (
        400,
        "invalid_request_error",
        "A parameter is misspelt by one letter, such as unit; other unknown ones are ignored.",
    ),
    "invalid_latitude": (400, "invalid_request_error", "lat is no number from -90 to 90."),
    "invalid_longitude": (400, "invalid_request_error", "lng is no number from -180 to 180."),
    "invalid_date": (400, "invalid_request_error", "start or end is no date in range."),
    "invalid_date_range": (400, "invalid_request_error", "end is before start."),
    "date_range_too_long": (400, "invalid_request_error", f"More than {LONGEST_DAYS} dates."),
    "invalid_units": (400, "invalid_request_error", "units is neither metric nor imperial."),
    "invalid_language": (400, "invalid_request_error", "lang is no well-formed BCP 47 tag."),
    "invalid_place": (400, "invalid_request_error", "Widget: place is too long."),
    "invalid_theme": (400, "invalid_request_error", "Widget: theme is none of the three."),
    "invalid_accent": (400, "invalid_request_error", "Widget: accent is no #rgb or #rrggbb."),
    "missing_api_key": (401, "authentication_error", "No key came in the Authorization header."),
    "invalid_api_key": (401, "authentication_error", "The key is unknown, revoked or expired."),
    "not_found": (404, "invalid_request_error", "There is nothing at this path."),
    "method_not_allowed": (405, "invalid_request_error", "Only GET and HEAD; see Allow."),
    "format_not_implemented": (501, "invalid_request_error", "oEmbed: only format json."),
    "rate_limit_exceeded": (429, "rate_limit_error", "A quota is spent; see Retry-After."),
    "internal_error": (500, "api_error", "Something went wrong on our side."),
    "upstream_unavailable": (503, "api_error", "The section holds nothing; see Retry-After."),
    "service_overloaded": (503, "api_error", "Too many requests at once; see Retry-After."),
}


def _error(status: int, *headers: str) -> dict[str, Any]:
    codes = [code for code, (at, _, _) in ERRORS.items() if at == status]
    return {
        "description": "; ".join(f"`{code}`: {ERRORS[code][2]}" for code in codes),
        "headers": {
            name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Request-Id", *headers)
        },
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/ErrorEnvelope"},
                "examples": examples.of("errors", *codes),
            }
        },
    }


def error_responses() -> dict[str, Any]:
    """The responses that operations share."""
    return {
        "BadRequest": _error(400),
        "Unauthorized": _error(401, "WWW-Authenticate"),
        "RateLimited": _error(429, "Retry-After", "RateLimit-Policy", "RateLimit"),
        "InternalError": _error(500),
        "Unavailable": _error(503, "Retry-After"),
        "NotFound": _error(404),
        "NotImplemented": _error(501),
    }
