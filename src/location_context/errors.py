"""Every error the service raises, each with its type, code, HTTP status and a sentence.

LocationContextError
├── PublicError                      answered to a client in the error envelope
│   ├── InvalidRequest               400 invalid_request_error
│   │   ├── MalformedRequest         malformed_request
│   │   ├── MissingParameter         missing_parameter
│   │   ├── DuplicateParameter       duplicate_parameter
│   │   ├── UnknownParameter         unknown_parameter (a known one misspelt)
│   │   ├── InvalidLatitude, InvalidLongitude, InvalidDate, InvalidDateRange,
│   │   ├── DateRangeTooLong, InvalidUnits, InvalidLanguage,
│   │   ├── InvalidPlace, InvalidTheme, InvalidAccent
│   │   ├── NotFound                 404 not_found
│   │   ├── MethodNotAllowed         405 method_not_allowed
│   │   └── FormatNotImplemented     501 format_not_implemented (oEmbed alone)
│   ├── AuthenticationError          401 authentication_error
│   │   ├── MissingApiKey            missing_api_key
│   │   └── InvalidApiKey            invalid_api_key
│   ├── RateLimitExceeded            429 rate_limit_error, rate_limit_exceeded
│   └── ApiError                     api_error
│       ├── InternalError            500 internal_error
│       ├── UpstreamUnavailable      503 upstream_unavailable
│       └── ServiceOverloaded        503 service_overloaded
├── ProviderError                    an outside source failed; never shown to a client
│   ├── ProviderUnreachable          refused, no such name, connection lost
│   ├── ProviderTimeout              no answer within the deadline
│   ├── ProviderStatusError              it answered with an error status (`status`)
│   │   └── ProviderNotInPlan        the plan behind the key lacks what was asked for
│   ├── ProviderBackoff                not asked: 429, an open breaker, a queue
│   │   └── ProviderBudgetSpent      not asked: our budget for it is spent
│   └── ProviderResponseInvalid        not what its documentation promises
├── StorageError                     the database cannot be read or written; says what to do
└── OperatorError                    a sentence for the operator: settings, imports, commands
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


class LocationContextError(Exception):
    """The root of the tree; `message` is one sentence fit for its reader."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class PublicError(LocationContextError):
    """An error answered to a client in the envelope `{type, code, message, request_id}`."""

    type: ClassVar[str]
    code: ClassVar[str]
    status: ClassVar[int]

    @property
    def headers(self) -> dict[str, str]:
        """Headers that the answer carries besides the envelope."""
        return {}


class InvalidRequest(PublicError):
    type = "invalid_request_error"
    status = 400


class MalformedRequest(InvalidRequest):
    code = "malformed_request"


class MissingParameter(InvalidRequest):
    code = "missing_parameter"


class DuplicateParameter(InvalidRequest):
    code = "duplicate_parameter"


class UnknownParameter(InvalidRequest):
    """A parameter that is one edit away from a known one; all other unknown ones are ignored."""

    code = "unknown_parameter"


class InvalidLatitude(InvalidRequest):
    code = "invalid_latitude"


class InvalidLongitude(InvalidRequest):
    code = "invalid_longitude"


class InvalidDate(InvalidRequest):
    code = "invalid_date"


class InvalidDateRange(InvalidRequest):
    code = "invalid_date_range"


class DateRangeTooLong(InvalidRequest):
    code = "date_range_too_long"


class InvalidUnits(InvalidRequest):
    code = "invalid_units"


class InvalidLanguage(InvalidRequest):
    code = "invalid_language"


class InvalidPlace(InvalidRequest):
    code = "invalid_place"


class InvalidTheme(InvalidRequest):
    code = "invalid_theme"


class InvalidAccent(InvalidRequest):
    code = "invalid_accent"


class NotFound(InvalidRequest):
    code = "not_found"
    status = 404


class MethodNotAllowed(InvalidRequest):
    code = "method_not_allowed"
    status = 405

    def __init__(self, message: str, allow: str = "GET, HEAD") -> None:
        super().__init__(message)
        self.allow = allow

    @property
    def headers(self) -> dict[str, str]:
        return {"Allow": self.allow}


class FormatNotImplemented(InvalidRequest):
    """oEmbed asks for this status when it is asked for XML."""

    code = "format_not_implemented"
    status = 501


class AuthenticationError(PublicError):
    type = "authentication_error"
    status = 401

    @property
    def headers(self) -> dict[str, str]:
        return {"WWW-Authenticate": "Bearer"}


class MissingApiKey(AuthenticationError):
    code = "missing_api_key"


class InvalidApiKey(AuthenticationError):
    code = "invalid_api_key"


class WithRetryAfter(PublicError):
    """An error that tells when to come back; `retry_after` is in whole seconds."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = max(1, retry_after)

    @property
    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.retry_after)}


class RateLimitExceeded(WithRetryAfter):
    """`quota` are the headers that tell what is left of the key's quotas, where one was spent."""

    type = "rate_limit_error"
    code = "rate_limit_exceeded"
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
    status = 500


class UpstreamUnavailable(WithRetryAfter, ApiError):
    code = "upstream_unavailable"


class ServiceOverloaded(WithRetryAfter, ApiError):
    code = "service_overloaded"


class ProviderError(LocationContextError):
    """An outside source of data failed. `code` is what `/v1/status` shows; no address, no key."""

    code: ClassVar[str] = "error"

    def __init__(self, provider: str, message: str) -> None:
        super().__init__(f"{provider}: {message}")
        self.provider = provider


class ProviderUnreachable(ProviderError):
    code = "unreachable"


class ProviderTimeout(ProviderError):
    code = "timeout"


class ProviderStatusError(ProviderError):
    """It answered with an error status; `body` holds at most the first 2,000 bytes."""

    code = "refused"
    because: ClassVar[str] = ""

    def __init__(self, provider: str, status: int, body: bytes = b"") -> None:
        super().__init__(provider, f"answered with status {status}{self.because}")
        self.status = status
        self.body = body[:2000]


class ProviderNotInPlan(ProviderStatusError):
    """The plan behind the key lacks what was asked for."""

    code = "not_in_plan"
    because = ", since the plan of this API key does not include it"


class ProviderBackoff(ProviderError):
    """Not asked, because it asked for quiet, its breaker is open or too many calls wait."""

    code = "quiet"

    def __init__(self, provider: str, message: str, until: datetime | None = None) -> None:
        super().__init__(provider, message)
        self.until = until


class ProviderBudgetSpent(ProviderBackoff):
    """Not asked, because our budget for it is spent."""


class ProviderResponseInvalid(ProviderError):
    code = "invalid_answer"


class StorageError(LocationContextError):
    """The database cannot be read or written."""


class OperatorError(LocationContextError):
    """A command or a setting cannot be carried out; the sentence says what came and what to do."""
