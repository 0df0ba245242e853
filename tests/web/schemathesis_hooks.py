"""What the document does not say.

A stay ends after it starts, within 92 days; a section is named once; no %00 anywhere.
"""

import re
from datetime import date, timedelta

import schemathesis

from location_context.parameters import START

VALID = re.compile(START.schema["pattern"])


@schemathesis.hook
def map_query(ctx, query):
    """Put valid dates in order; what the document calls wrong stays as it is."""
    if query and isinstance(query.get("place"), str):
        query = {**query, "place": query["place"].replace("\x00", "")}
    if query and isinstance(query.get("sections"), str):
        query = {**query, "sections": ",".join(dict.fromkeys(query["sections"].split(",")))}
    given = [(query or {}).get(name) for name in ("start", "end")]
    if not all(isinstance(text, str) and VALID.fullmatch(text) for text in given):
        return query
    try:
        start, end = sorted(map(date.fromisoformat, given))
    except ValueError:
        return query
    return {**query, "start": str(start), "end": str(min(end, start + timedelta(days=91)))}
