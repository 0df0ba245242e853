"""FixedAnswers: the answers to test keys, from sections that call no provider, at any time.

X-Test-Now sets the time of a request, and X-Test-Case its outcome. Everything else is the code that
answers live keys. Nothing is cached here, so that the times of two requests never mix.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
from starlette.responses import Response

from location_context import errors
from location_context.access.authenticator import quota_exceeded
from location_context.exchange import Exchange, Route
from location_context.parameters import shown
from location_context.sections.cached_section import CachedSection, stale
from location_context.sections.contract import (
    TEST_DATA,
    Applicable,
    DegradedReason,
    Query,
    SectionResult,
)
from location_context.service import Service
from location_context.upstream.deadline import Deadline

NOW, CASE = "X-Test-Now", "X-Test-Case"
DEFAULT_NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)  # as documented
YEARS = range(1950, 2050)  # whose stays have ten years before them, and an ephemeris
TTL = timedelta(hours=1)  # of every answer
RETRY_SECONDS = 30  # after which a client may repeat the request over its quota
STALE_AGE = timedelta(hours=6)  # of the data in stale answers
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_FAILURES: Mapping[str, Callable[[], errors.PublicError]] = {
    "upstream_unavailable": lambda: errors.UpstreamUnavailable(
        "The section was not ready in time, and no earlier result is stored.", 5
    ),
    "service_overloaded": lambda: errors.ServiceOverloaded(
        "The service is overloaded; try again in a moment.", 1
    ),
    "internal_error": lambda: errors.InternalError("Something went wrong on our side."),
}
CASES = ("stale", "degraded", "rate_limit_exceeded", *_FAILURES)


def refuse_test_headers(request: Exchange) -> None:
    """Refuse the headers of tests on a request with a live key, whose clock they cannot move.

    Raises:
        InvalidTestHeader: the request has one.
    """
    if b"x-test-now" in request.given or b"x-test-case" in request.given:
        raise errors.InvalidTestHeader(
            f"{NOW} or {CASE} came with a live key; accepted: with a test key (lc_test_…) only."
        )


class FixedAnswers:
    """The answers to test keys; `routes` makes those routes of a service that need a key."""

    def __init__(self, service: Service, routes: Callable[[Service], Iterable[Route]]) -> None:
        self._service = service
        self._routes = routes

    async def answer(self, request: Exchange) -> tuple[Response, float]:
        """Return the response to a request, and the time at which it is made.

        Raises:
            PublicError: the request is wrong, or names this error as its case.
        """
        now, case = _now(_header(request, NOW)), _case(_header(request, CASE))
        if request.method != "POST":  # an agent's tool fails, and not its connection
            await fail(self._service, request)
        sections = tuple(FixedSection(one, now, case) for one in self._service.sections)
        service = replace(self._service, clock=lambda: now, sections=sections)
        route = next(one for one in self._routes(service) if one.path == request.path)
        response = await route.handle(request)
        response.headers.add_vary_header(f"{NOW}, {CASE}")
        return response, now.timestamp()


async def fail(service: Service, request: Exchange) -> None:
    """Raise the error that X-Test-Case names, if it names one.

    A 429 is as if the key had used up its minute; like that of a live key, it counts nothing.
    """
    case = _case(_header(request, CASE)) or ""
    if case in _FAILURES:
        error = _FAILURES[case]()
        raise error
    if case == "rate_limit_exceeded" and (counted := request.counted) is not None:
        request.counted = None
        await service.authenticator.refund(counted)
        minute = counted.limits.windows[0]
        spent = msgspec.structs.replace(
            counted,
            used=(minute.quota, *counted.used[1:]),
            ends=(counted.now + RETRY_SECONDS, *counted.ends[1:]),
        )
        raise quota_exceeded(spent, minute)


class FixedSection(CachedSection):
    """A section that gives its fixed answers, without a cache."""

    def __init__(self, live: CachedSection, now: datetime, case: str | None) -> None:
        self.section = live.section
        self._now, self._case = now, case

    async def read(self, query: Query, deadline: Deadline) -> SectionResult:
        """Return the fixed answer, marked as test data, and stale or degraded in that case."""
        query.reads.append("miss")
        failing = self._case == "degraded"
        body = await self.section.fixed(query, deadline, self._now, failing=failing)
        if isinstance(body, Applicable):
            reason = body.degraded_reason or ("provider_unavailable" if failing else None)
            notices = [TEST_DATA, *body.attribution]
            body = msgspec.structs.replace(body, attribution=notices, degraded_reason=reason)
            if self._case == "stale" and body.as_of:
                body = msgspec.structs.replace(body, as_of=body.as_of - STALE_AGE)
        lacks: DegradedReason | None = "provider_unavailable" if failing else None
        result = SectionResult(body, self._now + TTL, lacks)
        return stale(result) if self._case == "stale" else result


def _header(request: Exchange, name: str) -> str | None:
    values = request.values(name.lower().encode())
    return b", ".join(values).decode("latin-1") if values else None


def _now(text: str | None) -> datetime:
    """Return the time that a request names, else the default."""
    if text is None:
        return DEFAULT_NOW
    try:
        moment = datetime.fromisoformat(text) if _MOMENT.fullmatch(text) else None
    except ValueError:
        moment = None
    if moment is None or moment.year not in YEARS:
        raise errors.InvalidTestHeader(
            f"{NOW} is {shown(text)}; accepted: a moment with its offset from {YEARS[0]} to "
            f"{YEARS[-1]}, such as 2026-11-25T12:00:00Z."
        )
    return moment.astimezone(UTC)


def _case(text: str | None) -> str | None:
    if text is None or text in CASES:
        return text
    raise errors.InvalidTestHeader(f"{CASE} is {shown(text)}; accepted: {', '.join(CASES)}.")
