"""A provider as answers tell of it: its state in `/v1/status`, and what its failing is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.errors import ProviderBudgetSpent, ProviderTimeout
from location_context.sections.contract import ProviderState, ProviderStatus

if TYPE_CHECKING:
    from location_context.sections.contract import DegradedReason
    from location_context.upstream.client import ProviderClient


def provider_state(upstream: ProviderClient) -> ProviderState:
    return ProviderState(
        name=upstream.name,
        status=_status(upstream),
        last_success_at=upstream.last_success_at,
        last_error_code=upstream.last_error_code,
        last_error=upstream.last_error.message if upstream.last_error else None,
        breaker=upstream.breaker.state if upstream.configured else None,
    )


def degraded_by(error: BaseException) -> DegradedReason:
    """The reason of an answer that lacks what this error kept from it."""
    if isinstance(error, TimeoutError | ProviderTimeout):
        return "late"
    if isinstance(error, ProviderBudgetSpent):
        return "budget_spent"
    return "provider_unavailable"


def _status(upstream: ProviderClient) -> ProviderStatus:
    if not (upstream.configured and upstream.is_in_plan):
        return "not_configured"
    if not upstream.available:
        return "outage"
    if upstream.last_error_code is not None:
        return "degraded"
    return "operational" if upstream.last_success_at else "unknown"
