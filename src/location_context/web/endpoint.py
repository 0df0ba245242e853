"""Endpoint: one path, what answers it, and how its errors look."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from location_context.errors import PublicError
from location_context.web.problems import envelope

if TYPE_CHECKING:
    from starlette.routing import Route

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
Problem: TypeAlias = Callable[[PublicError, str, Request], Response]


@dataclass(frozen=True)
class Endpoint:
    """`guarded` endpoints are refused when too many requests are in flight."""

    path: str
    handle: Handler
    problem: Problem = envelope
    guarded: bool = True

    @classmethod
    def of(cls, route: Route, problem: Problem = envelope) -> Endpoint:
        """The endpoint of a Starlette route."""
        return cls(route.path, route.endpoint, problem)
