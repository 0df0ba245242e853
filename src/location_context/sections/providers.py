"""A provider as answers tell of it: its state in `/v1/status`, and what its failing is called."""

from location_context.errors import ProviderBudgetSpent, ProviderTimeout
from location_context.sections.contract import DegradedReason, ProviderState, ProviderStatus
from location_context.upstream.client import ProviderClient


def provider_state(client: ProviderClient) -> ProviderState:
    return ProviderState(
        name=client.name,
        status=_status(client),
        last_success_at=client.last_success_at,
        last_error_code=client.last_error_code,
        last_error=client.last_error.message if client.last_error else None,
        breaker=client.breaker.state if client.configured else None,
    )


def degraded_by(error: BaseException) -> DegradedReason:
    """The reason of an answer that lacks what this error kept from it."""
    if isinstance(error, TimeoutError | ProviderTimeout):
        return "late"
    if isinstance(error, ProviderBudgetSpent):
        return "budget_spent"
    return "provider_unavailable"


def _status(client: ProviderClient) -> ProviderStatus:
    if not (client.configured and client.is_in_plan):
        return "not_configured"
    if not client.available:
        return "outage"
    if client.last_error_code is not None:
        return "degraded"
    return "operational" if client.last_success_at else "unknown"
