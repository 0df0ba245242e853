"""What the document does not say.

A stay ends after it starts, within 92 days, or `days` stands for it; `points` stand for `lat` and
`lng`; a section is named once; a guide exists; no %00 anywhere.
"""

import re
from datetime import date, timedelta

import schemathesis

from location_context.parameters import START
from location_context.web.fixed_answers import CASE, NOW

WITH_DAYS = {f"/v1/pulse{kind}" for kind in ("", ".svg", ".png", ".ics", ".json")}
PARIS = {"lat": 48.8566, "lng": 2.3522}
GUIDE = "house"  # which the test imports
VALID = re.compile(START.schema["pattern"])


@schemathesis.hook
def map_query(ctx, query):
    """Put valid dates in order; what the document calls wrong stays as it is."""
    if query and isinstance(query.get("place"), str):
        query = {**query, "place": query["place"].replace("\x00", "")}
    if query and isinstance(query.get("sections"), str):
        query = {**query, "sections": ",".join(dict.fromkeys(query["sections"].split(",")))}
    if query and query.get("guide"):
        query = {**query, "guide": GUIDE}
    query = with_dates_or_days(query) if query else query
    given = [(query or {}).get(name) for name in ("start", "end")]
    if not all(isinstance(text, str) and VALID.fullmatch(text) for text in given):
        return query
    try:
        start, end = sorted(map(date.fromisoformat, given))
    except ValueError:
        return query
    return {**query, "start": str(start), "end": str(min(end, start + timedelta(days=91)))}


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """Also for what `map_query` does not see: the document's examples and parameters left out."""
    is_positive = case.meta and case.meta.generation.mode.is_positive
    if is_positive and case.query and case.query.get("guide"):
        case.query = {**case.query, "guide": GUIDE}
    if not is_positive:
        return
    for name in (NOW, CASE):  # they are for test keys
        case.headers.pop(name, None)
    if case.path == "/v1/pulse.json":
        case.query = with_one_place(case.query)
    if case.path in WITH_DAYS:
        case.query = with_dates_or_days(case.query)


def with_one_place(query):
    """The query with `points`, or with both `lat` and `lng`."""
    if query.get("points"):
        return {name: value for name, value in query.items() if name not in {"lat", "lng"}}
    given = {name: value for name, value in query.items() if value != "" or name not in PARIS}
    return {**PARIS, **given}


def with_dates_or_days(query):
    """The widget's query with both dates or `days`; other endpoints ignore `days`."""
    dates = [name for name in ("start", "end") if query.get(name)]
    if dates and query.get("days"):
        query = {name: value for name, value in query.items() if name != "days"}
    if len(dates) == 1:
        return {**query, "start": query[dates[0]], "end": query[dates[0]]}
    return query if dates or query.get("days") else {**query, "days": "7"}
