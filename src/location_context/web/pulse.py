"""`/v1/pulse.json`: several sections in one call, for one or several points.

Each section's answer is encoded once: it has the same bytes here as at the section's endpoint.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.responses import Response

from location_context import errors
from location_context.exchange import Exchange, Route
from location_context.freshness import Freshness
from location_context.parameters import PULSE, Parameters, parse
from location_context.sections.contract import Applicable, PointBody, Query, StayBody, point_body
from location_context.sections.section import Section
from location_context.service import Missing, Pulse, Service, chosen, read_pulse
from location_context.upstream.deadline import Deadline
from location_context.web.error_responses import JSON

PATH = "/v1/pulse.json"
_DESCRIPTIONS = {
    "sections": "The applicable answers, each exactly as the section's own endpoint gives it.",
    "not_applicable": "The answers of chosen sections that are not applicable, with the reason.",
    "unavailable": (
        "The chosen sections without an answer. `late`: not ready by the deadline; request it "
        "again in some seconds. `failed`: it has no data now."
    ),
}


class PulseBody(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="pulse"):
    """The sections' answers for one point and stay."""

    point: Annotated[PointBody, Meta(description="The point, as the sections used it.")]
    stay: Annotated[
        StayBody | None,
        Meta(description="The dates of the stay; null if none were given."),
    ]
    sections: Mapping[str, msgspec.Raw]
    not_applicable: Mapping[str, msgspec.Raw]
    unavailable: Mapping[str, Missing]


class PulsesBody(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="pulses"):
    """The sections' answers for several points."""

    results: Sequence[PulseBody]


def route(service: Service) -> Route:
    """Return the route of `/v1/pulse.json`."""
    sections = [cached.section for cached in service.sections]

    def cost_of(request: Exchange) -> int:
        """Return the number of requests that a call costs; 1 if its parameters are invalid."""
        try:
            return cost(service, parse(request.query, PULSE, service.languages, service.choices))
        except errors.InvalidRequest:
            return 1

    async def handle(request: Exchange) -> Response:
        given = parse(request.query, PULSE, service.languages, service.choices)
        deadline = Deadline(request.arrived_at + service.settings.json_deadline)
        shown = chosen(service.sections, given.sections)
        reads = (read_pulse(shown, query, deadline) for query in queries(service, given))
        pulses = await asyncio.gather(*reads)  # in the points' order
        results = [one for pulse in pulses for one in pulse.results.values()]
        if not results:
            raise without_answer(pulses)
        query = pulses[0].query
        request.near = f"{query.point.lat:.1f},{query.point.lng:.1f}"
        modes = (getattr(one.body, "mode", None) for one in results)
        request.mode = next((mode for mode in modes if mode), None)
        request.cache = query.read_as
        missing = any(pulse.missing for pulse in pulses)
        request.freshness = Freshness.of([*results, *([None] if missing else [])], "private")
        if given.days:
            now = service.clock()
            midnight = min(pulse.query.point.next_midnight(now) for pulse in pulses)
            request.freshness = request.freshness.until(midnight.timestamp())
        body = PulsesBody(results=[_body(one) for one in pulses])
        content = msgspec.json.encode(body if given.points else body.results[0])
        headers = {"Content-Language": query.language.tag, "Vary": "Authorization"}
        return Response(content, 200, headers, media_type=JSON)

    return Route(PATH, handle, access="key", sections=sections, cost=cost_of)


def cost(service: Service, given: Parameters) -> int:
    """Return the number of requests that a call costs: distinct points times chosen sections."""
    return (len(set(given.points)) or 1) * len(chosen(service.sections, given.sections))


def without_answer(pulses: Iterable[Pulse]) -> errors.UpstreamUnavailable:
    """Return the error for a call in which no section of any point has an answer."""
    late = any("late" in pulse.missing.values() for pulse in pulses)
    why = "was ready in time" if late else "has data"
    return errors.UpstreamUnavailable(f"No section {why}, and no earlier result is stored.", 5)


def queries(service: Service, given: Parameters) -> list[Query]:
    """Return a query for each point.

    The queries share one list `reads`, so `read_as` of each is the worst `ReadKind` of all points.
    """
    language, now = given.language or service.languages.english, service.clock()
    points = [service.gazetteer.point(*one) for one in given.points or [(given.lat, given.lng)]]
    first = Query(points[0], None, given.units, language, given.guide)
    return [replace(first, point=one, stay=given.stay_from(one.today(now))) for one in points]


def _body(pulse: Pulse) -> PulseBody:
    stay, encoded = pulse.query.stay, dict[bool, dict[str, msgspec.Raw]]({True: {}, False: {}})
    for name, result in pulse.results.items():
        applicable = isinstance(result.body, Applicable)
        encoded[applicable][name] = msgspec.Raw(result.payload)
    return PulseBody(
        point=point_body(pulse.query.point),
        stay=StayBody(start=stay.start, end=stay.end) if stay else None,
        sections=encoded[True],
        not_applicable=encoded[False],
        unavailable=pulse.missing,
    )


def documented(sections: Sequence[Section[Any]]) -> tuple[type[msgspec.Struct], ...]:
    """Return `PulseBody` and `PulsesBody` for the API reference, with a field for each section."""

    def by_section(field: str, type_of: Callable[[Section[Any]], Any]) -> tuple[str, Any]:
        description = _DESCRIPTIONS[field]
        titles = [Meta(description=one.title or one.name) for one in sections]
        members = [
            (one.name, Annotated[type_of(one) | UnsetType, title], UNSET)
            for one, title in zip(sections, titles, strict=True)
        ]
        name = f"Pulse{field.title().replace('_', '')}"
        struct = msgspec.defstruct(name, members, namespace={"__doc__": description})
        return field, Annotated[struct, Meta(description=description)]

    fields = [
        by_section("sections", lambda one: one.response),
        by_section("not_applicable", lambda one: one.not_applicable_type),
        by_section("unavailable", lambda _: Missing),
    ]
    one = msgspec.defstruct(
        "PulseBody", fields, bases=(PulseBody,), kw_only=True,
        namespace={"__doc__": PulseBody.__doc__},
    )  # fmt: skip
    description = "One for each point, in the order of `points`."
    listed = ("results", Annotated[list[one], Meta(description=description)])  # type: ignore[valid-type]  # made here
    several = msgspec.defstruct(
        "PulsesBody", [listed], bases=(PulsesBody,), kw_only=True,
        namespace={"__doc__": PulsesBody.__doc__},
    )  # fmt: skip
    return one, several
