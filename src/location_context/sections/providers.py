"""The state of a provider as `/v1/status` shows it, read off its `Upstream`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.sections.contract import ProviderState, ProviderStatus

if TYPE_CHECKING:
    from location_context.upstream.provider import Upstream


def provider_state(upstream: Upstream) -> ProviderState:
    return ProviderState(
        name=upstream.name,
        status=_status(upstream),
        last_success_at=upstream.last_success_at,
        last_error_code=upstream.last_error_code,
        breaker=upstream.breaker.state if upstream.configured else None,
    )


def _status(upstream: Upstream) -> ProviderStatus:
    if not upstream.configured:
        return "not_configured"
    if not upstream.available:
        return "outage"
    if upstream.last_error_code is not None:
        return "degraded"
    return "operational" if upstream.last_success_at else "unknown"
