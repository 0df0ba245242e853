"""What OpenAPI cannot say of two parameters: a stay ends after it starts, within 92 days."""

from __future__ import annotations

from datetime import date, timedelta

import schemathesis


@schemathesis.hook
def map_query(ctx, query):
    """Put valid dates in order; whatever is no date stays as it is."""
    try:
        start, end = sorted(date.fromisoformat(query[name]) for name in ("start", "end"))
    except (KeyError, TypeError, ValueError):
        return query
    return {**query, "start": str(start), "end": str(min(end, start + timedelta(days=91)))}
