"""Every error that the service raises; those for clients have a type, a code and an HTTP status.

LocationContextError
├── PublicError                      sent to a client, as JSON or as a page
│   ├── InvalidRequest               400 invalid_request_error; a subclass for each code
│   │   ├── InvalidDate              invalid_date, and so on
│   │   ├── NotFound                 404 not_found
│   │   ├── MethodNotAllowed         405 method_not_allowed
│   │   └── FormatNotImplemented     501 format_not_implemented (oEmbed only)
│   ├── AuthenticationError          401 authentication_error
│   │   ├── MissingApiKey            missing_api_key
│   │   └── InvalidApiKey            invalid_api_key
│   ├── RateLimitExceeded            429 rate_limit_error, rate_limit_exceeded
│   └── ApiError                     api_error
│       ├── InternalError            500 internal_error
│       ├── NotAvailable             501 not_available (an optional package is not installed)
│       ├── UpstreamUnavailable      503 upstream_unavailable
│       └── ServiceOverloaded        503 service_overloaded
├── ProviderError                    an outside source failed; never shown to clients
│   ├── ProviderUnreachable          the connection was lost
│   │   └── ProviderNotConnected     no connection (refused, unknown host): nothing was sent
│   ├── ProviderTimeout              no response within the deadline
│   ├── ProviderStatusError          a response with an error status (`status`)
│   │   └── ProviderNotInPlan        the plan of our API key does not include the data
│   ├── ProviderBackoff              no call was made: after 429, an open breaker, a full queue
│   │   └── ProviderBudgetSpent      no call was made: our budget for the provider is spent
│   └── ProviderResponseInvalid      the response is not as the provider documents it
├── StorageError                     the database cannot be read or written
└── OperatorError                    for the operator: a setting is invalid, or a command failed
"""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, cast

import msgspec

# what decoders raise for damaged bytes; msgspec raises ValueError for text that is not UTF-8
DAMAGED = (msgspec.MsgspecError, ValueError, OverflowError)


class LocationContextError(Exception):
    """The base class of all errors; `message` is a sentence for the person who receives it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class PublicError(LocationContextError):
    """An error that is sent to the client, as JSON with `type`, `code`, `message`, `request_id`.

    Attributes:
        type: the error's category.
        code: a stable name for programs, unlike `message`.
        status: the HTTP status.
        summary: when the error occurs, for the API reference.
    """

    type: ClassVar[str]
    code: ClassVar[str]
    status: ClassVar[int]
    summary: ClassVar[str]

    @property
    def headers(self) -> dict[str, str]:
        """Additional headers of the response."""
        return {}


class InvalidRequest(PublicError):
    type = "invalid_request_error"
    status = 400


def _invalid(code: str, summary: str, status: int = 400) -> type[InvalidRequest]:
    """Return the subclass of `InvalidRequest` for one code, such as `InvalidDate`."""
    name = code.title().replace("_", "")
    values = {"code": code, "summary": summary, "status": status}
    return cast("type[InvalidRequest]", type(name, (InvalidRequest,), values))


MalformedRequest = _invalid(
    "malformed_request", "The address has invalid escapes or UTF-8, or Host is invalid."
)
MissingParameter = _invalid("missing_parameter", "A required parameter is missing or empty.")
DuplicateParameter = _invalid("duplicate_parameter", "A parameter was given twice.")
UnknownParameter = _invalid(
    "unknown_parameter",
    "A parameter's name is one letter off, or is a common alias such as unit or lon. Other "
    "unknown parameters are ignored.",
)
InvalidLatitude = _invalid("invalid_latitude", "lat must be a number from -90 to 90.")
InvalidLongitude = _invalid("invalid_longitude", "lng must be a number from -180 to 180.")
InvalidDate = _invalid("invalid_date", "start and end must be dates YYYY-MM-DD in range.")
InvalidDateRange = _invalid("invalid_date_range", "end is before start.")
DateRangeTooLong = _invalid("date_range_too_long", "The stay has too many dates.")
InvalidDays = _invalid("invalid_days", "days must be a whole number from 1 to 16.")
ConflictingParameters = _invalid(
    "conflicting_parameters",
    "days was given together with start or end, or points together with lat or lng.",
)
InvalidUnits = _invalid("invalid_units", "units must be metric or imperial.")
InvalidLanguage = _invalid("invalid_language", "lang must be a well-formed BCP 47 tag.")
InvalidPlace = _invalid("invalid_place", "Widget: place is too long.")
InvalidTheme = _invalid("invalid_theme", "Widget: theme must be light, dark or auto.")
InvalidAccent = _invalid("invalid_accent", "Widget: accent must be #rgb or #rrggbb.")
InvalidBackground = _invalid("invalid_background", "Widget: background must be surface or none.")
InvalidFont = _invalid("invalid_font", "Widget: font must be system, serif or rounded.")
InvalidRadius = _invalid("invalid_radius", "Widget: radius must be a whole number from 0 to 24.")
InvalidTitle = _invalid("invalid_title", "Widget: title must be show or none.")
InvalidPoints = _invalid(
    "invalid_points",
    "points must be 1 to 25 pairs lat,lng in decimal degrees, separated by semicolons.",
)
InvalidSections = _invalid(
    "invalid_sections", "sections must be names of sections, separated by commas."
)
InvalidLayout = _invalid("invalid_layout", "Widget: layout must be full or compact.")
InvalidGuide = _invalid(
    "invalid_guide", "guide must be the name of a restaurant guide of this service."
)
InvalidTestHeader = _invalid(
    "invalid_test_header", "X-Test-Now or X-Test-Case is invalid, or was sent with a live key."
)


class AuthenticationError(PublicError):
    type = "authentication_error"
    status = 401

    @property
    def headers(self) -> dict[str, str]:
        return {"WWW-Authenticate": "Bearer"}


class MissingApiKey(AuthenticationError):
    code = "missing_api_key"
    summary = "The Authorization header has no API key."


class InvalidApiKey(AuthenticationError):
    code = "invalid_api_key"
    summary = "The key is unknown, revoked or expired."


NotFound = _invalid("not_found", "There is nothing at this path.", 404)


class MethodNotAllowed(InvalidRequest):
    code = "method_not_allowed"
    summary = "Only GET and HEAD, at `/mcp` only POST; see Allow."
    status = 405

    def __init__(self, allow: str) -> None:
        super().__init__(f"This method is not allowed; accepted: {allow}.")
        self.allow = allow

    @property
    def headers(self) -> dict[str, str]:
        return {"Allow": self.allow}


FormatNotImplemented = _invalid("format_not_implemented", "oEmbed: format must be json.", 501)


class WithRetryAfter(PublicError):
    """An error after which a client may retry the request in `retry_after` seconds."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = max(1, retry_after)

    @property
    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.retry_after)}


class RateLimitExceeded(WithRetryAfter):
    """A quota is used up; for the quota of an API key, `quota` contains the RateLimit headers."""

    type = "rate_limit_error"
    code = "rate_limit_exceeded"
    summary = "A quota is used up; see Retry-After."
    status = 429

    def __init__(
        self, message: str, retry_after: int, quota: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, retry_after)
        self.quota = quota or {}

    @property
    def headers(self) -> dict[str, str]:
        return {**super().headers, **self.quota}


class ApiError(PublicError):
    type = "api_error"
    status = 503


class InternalError(ApiError):
    code = "internal_error"
    summary = "Something went wrong on our side."
    status = 500


class NotAvailable(ApiError):
    """The server lacks an optional package; the message names the one to install."""

    code = "not_available"
    summary = "The server lacks an optional part, such as the extra that draws /v1/pulse.png."
    status = 501


class UpstreamUnavailable(WithRetryAfter, ApiError):
    code = "upstream_unavailable"
    summary = "The section has no data; see Retry-After."


class ServiceOverloaded(WithRetryAfter, ApiError):
    code = "service_overloaded"
    summary = "Too many requests at once; see Retry-After."


PUBLIC_ERRORS: tuple[type[PublicError], ...] = tuple(
    one
    for one in list(globals().values())
    if isinstance(one, type) and issubclass(one, PublicError) and "code" in vars(one)
)


class ProviderError(LocationContextError):
    """An outside source of data failed; `/v1/status` shows only `code`, not the message."""

    code: ClassVar[str] = "error"

    def __init__(self, provider: str, message: str) -> None:
        super().__init__(f"{provider}: {message}")
        self.provider = provider


class ProviderUnreachable(ProviderError):
    code = "unreachable"


class ProviderNotConnected(ProviderUnreachable):
    """No connection could be made, so the provider did not count the call."""


class ProviderTimeout(ProviderError):
    code = "timeout"


class ProviderStatusError(ProviderError):
    """A response with an error status; `body` has at most the first 2,000 bytes of its body."""

    code = "refused"
    because: ClassVar[str] = ""

    def __init__(self, provider: str, status: int, body: bytes = b"") -> None:
        super().__init__(provider, f"answered with status {status}{self.because}")
        self.status = status
        self.body = body[:2000]


class ProviderNotInPlan(ProviderStatusError):
    """The plan of our API key at the provider does not include the requested data."""

    code = "not_in_plan"
    because = ", since the plan of this API key does not include it"


class ProviderBackoff(ProviderError):
    """A call was not made; `until` is the time at which calls are allowed again, if known.

    `reason`: `off` (the provider is not configured), `quiet` (it requested a pause), `breaker` (it
    failed several times), `queue` (too many calls wait) or `budget` (its budget is spent).
    """

    code = "quiet"

    def __init__(
        self, provider: str, message: str, until: datetime | None = None, *, reason: str = "queue"
    ) -> None:
        super().__init__(provider, message)
        self.until = until
        self.reason = reason


class ProviderBudgetSpent(ProviderBackoff):
    """A call was not made because our budget for the provider is spent."""

    def __init__(self, provider: str, message: str) -> None:
        super().__init__(provider, message, reason="budget")


class ProviderResponseInvalid(ProviderError):
    code = "invalid_answer"


class StorageError(LocationContextError):
    """The database cannot be read or written."""


class OperatorError(LocationContextError):
    """A setting is invalid, or a command failed; the message tells the operator what to do."""
