"""The faults that every provider and section has to meet, each as a way to spoil a good answer."""

import gzip
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from location_context.testing.server import FakeResponse

BOMB_BYTES = 40_000_000  # unpacked, of a few kB; five times the most that is read
Fault = Callable[[FakeResponse], FakeResponse]


def _spoilt(value: Any) -> Any:
    """The same JSON with every number made NaN."""
    if isinstance(value, dict):
        return {key: _spoilt(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_spoilt(part) for part in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return math.nan if is_number else value


def _nan(good: FakeResponse) -> FakeResponse:
    return FakeResponse(json.dumps(_spoilt(msgspec.json.decode(good.encoded()))).encode())


def _status(status: int, **headers: str) -> Fault:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: FakeResponse({"error": "made up"}, status, named)


def _body(body: object, **headers: str) -> Fault:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: FakeResponse(body, headers=named)


def _way(fault: str) -> Fault:
    return lambda good: FakeResponse(good.body, good.status, good.headers, fault)


FAULTS: Mapping[str, Fault] = {
    "hangs": _way("hang"),
    "drips": _way("drip"),
    "answers late": _way("late"),
    "closes the connection": _way("drop"),
    "cuts its answer": _way("cut"),
    "429 without a time": _status(429),
    "429 for some seconds": _status(429, Retry_After="120"),
    "429 until a date": _status(429, Retry_After="Fri, 31 Dec 2100 23:59:59 GMT"),
    "401": _status(401),
    "500": _status(500),
    "503 for some seconds": _status(503, Retry_After="120"),
    "a redirect": _status(302, Location="http://127.0.0.1:9/"),
    "a web page": _body(b"<!doctype html><title>Maintenance</title>", Content_Type="text/html"),
    "NaN for numbers": _nan,
    "a gzip bomb": _body(gzip.compress(bytes(BOMB_BYTES), 9), Content_Encoding="gzip"),
    "a list": _body([]),
    "an object of another shape": _body({"unexpected": True}),
    "a number": _body(42),
    "deep nesting": _body(b"[" * 100_000),
    "nothing": _body(b""),
}
