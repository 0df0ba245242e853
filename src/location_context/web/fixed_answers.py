"""FixedAnswers: the made-up answers for test keys, without a call to a provider.

The header X-Test-Now of a request sets the time that its answer treats as now. The header
X-Test-Case selects an outcome, such as an error. All other code is the same as for live keys.
Nothing is cached, because each request may set a different time.
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
YEARS = range(1950, 2050)  # accepted in X-Test-Now: with ten earlier years and an ephemeris
TTL = timedelta(hours=1)  # time for which every answer is fresh
RETRY_SECONDS = 30  # in Retry-After of the case `rate_limit_exceeded`
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
    """Reject test headers on a request with a live key.

    Raises:
        InvalidTestHeader: the request has X-Test-Now or X-Test-Case.
    """
    if b"x-test-now" in request.given or b"x-test-case" in request.given:
        raise errors.InvalidTestHeader(
            f"{NOW} or {CASE} was sent with a live key; accepted: test keys (lc_test_…) only."
        )


class FixedAnswers:
    """Answers requests that have a test key, with made-up answers.

    `routes` is a function that makes the routes for a service. For each request, it is called with
    a copy of the service whose sections return made-up answers.
    """

    def __init__(self, service: Service, routes: Callable[[Service], Iterable[Route]]) -> None:
        self._service = service
        self._routes = routes

    async def answer(self, request: Exchange) -> tuple[Response, float]:
        """Return the response, and the POSIX time for which it was made (X-Test-Now or default).

        Raises:
            PublicError: the request is invalid, or X-Test-Case names an error.
        """
        now, case = _now(_header(request, NOW)), _case(_header(request, CASE))
        if request.method != "POST":  # for agents (POST), the tool fails, not the connection
            await fail(self._service, request)
        sections = tuple(FixedSection(one, now, case) for one in self._service.sections)
        service = replace(self._service, clock=lambda: now, sections=sections)
        route = next(one for one in self._routes(service) if one.path == request.path)
        response = await route.handle(request)
        response.headers.add_vary_header(f"{NOW}, {CASE}")
        return response, now.timestamp()


async def fail(service: Service, request: Exchange) -> None:
    """Raise the error that the header X-Test-Case names; do nothing if it names no error.

    The case `rate_limit_exceeded` raises a 429 as if the key's quota for one minute were used up.
    Like every request with a 429, this one does not count against the quota.
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
    """A section that returns its made-up answers, without a cache."""

    def __init__(self, live: CachedSection, now: datetime, case: str | None) -> None:
        self.section = live.section
        self._now, self._case = now, case

    async def read(self, query: Query, deadline: Deadline) -> SectionResult:
        """Return the made-up answer as test data; X-Test-Case may make it stale or degraded."""
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
    """Return the time in the header X-Test-Now, or `DEFAULT_NOW` without a header."""
    if text is None:
        return DEFAULT_NOW
    try:
        moment = datetime.fromisoformat(text) if _MOMENT.fullmatch(text) else None
    except ValueError:
        moment = None
    if moment is None or moment.year not in YEARS:
        raise errors.InvalidTestHeader(
            f"{NOW} is {shown(text)}; accepted: date and time with a UTC offset, in the years "
            f"{YEARS[0]} to {YEARS[-1]}, such as 2026-11-25T12:00:00Z."
        )
    return moment.astimezone(UTC)


def _case(text: str | None) -> str | None:
    if text is None or text in CASES:
        return text
    raise errors.InvalidTestHeader(f"{CASE} is {shown(text)}; accepted: {', '.join(CASES)}.")
