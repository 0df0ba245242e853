"""The page at `/`: set a widget up, see it, and take its two lines of code.

The page is made from its own address, so it works without JavaScript; with it, builder.js asks for
the same page again at each change and takes over what changed. So every word, check and snippet
is made here alone. Style and script stand in the page and are allowed by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources
from typing import Any

from babel import Locale
from jinja2 import Environment, StrictUndefined, Template
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from location_context import __version__
from location_context.localisation.language import Language, Languages
from location_context.parameters import DEFAULT_ACCENT, Parameters
from location_context.sections.licences import CC_BY
from location_context.service import Service
from location_context.widget import embedding, heights
from location_context.widget.builder import form, places, text
from location_context.widget.colour import palette, variables

WIDTHS = (360, 560)
_MARKS = re.compile(r'(</?(?:iframe|script)|(?<=height=")\d+)')


def routes(service: Service) -> list[Route]:
    """`/` and the search of its form."""
    page = Page(service)
    return [Route("/", page.answer), *places.routes(service)]


class Page:
    """The template with its style and script, and the policy that lets these two in."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._style, self._script = _style(), _file("builder.js")
        self._template = _template()
        self._policy = "; ".join(
            (
                "default-src 'none'",
                f"style-src {_hash(self._style)}",
                f"script-src 'self' {_hash(self._script)}",
                "connect-src 'self'",
                "frame-src 'self'",
                "img-src data:",
                "form-action 'self'",
                "base-uri 'none'",
                "frame-ancestors 'none'",
            )
        )

    async def answer(self, request: Request) -> Response:
        language = self._service.languages.accept(request.headers.get("accept-language", ""))
        state = await form.read(self._service, request.scope["query_string"], language)
        body = self._template.render(
            style=self._style, script=self._script, **self._view(state, language)
        )
        return Response(body, headers=self._headers(language), media_type="text/html")

    def _headers(self, language: Language) -> dict[str, str]:
        return {
            "Cache-Control": "no-cache",
            "Content-Language": language.tag,
            "Content-Security-Policy": self._policy,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Referrer-Policy": "same-origin",
            "Vary": "Accept-Language",
        }

    def _view(self, state: form.Form, language: Language) -> dict[str, Any]:
        given, fields = state.given, state.fields
        stay = given.stay if given else None
        sections = self._service.sections
        not_past = [one for one in sections if not one.section.answers_past]
        absent = embedding.topics(not_past, language)
        return {
            "words": text.page(language, embedding.topics(sections, language)),
            "language": language,
            "version": __version__,
            "places_licence": CC_BY,  # GeoNames'
            "state": state,
            "fields": fields,
            "was": form.shown_before(fields),
            "zone": text.zone(state.timezone, language) if state.timezone else "",
            "nights": text.nights(stay, language) if stay else "",
            "mode": text.mode(stay, state.today, language, absent) if stay else "",
            "shown": text.shown(language),
            "others": _others(state, language),
            "default_accent": DEFAULT_ACCENT,
            "swatches": form.SWATCHES,
            "measured": form.measured(given.accent, given.theme, language) if given else [],
            "languages": _named(self._service.languages, given),
            "sections": [(one.name, one.section.summary(language)) for one in sections],
            "embed": _embed(self._service, given, language) if given else None,
        }


def _embed(service: Service, given: Parameters, language: Language) -> dict[str, Any]:
    """The two lines, in parts for their colours, and the preview."""
    title = embedding.title(service.sections, given.place, given.language or language)
    height = heights.reserved(service, given)
    lines = [
        embedding.iframe(service.settings, given, title, height),
        embedding.script(service.settings),
    ]
    return {
        "lines": [_MARKS.split(line) for line in lines],
        "preview": f"v1/pulse?{embedding.widget_query(given)}",
        "title": title,
        "height": height,
        "sandbox": embedding.SANDBOX,
    }


def _others(state: form.Form, language: Language) -> list[dict[str, str]]:
    """Links to the other places of a name that was looked up, and back to the point before."""
    fields, found = state.fields, state.found
    named = zip(found.places, places.named(found.places, language), strict=True)
    links = [
        {
            "name": place.name,
            "detail": place.detail,
            "to": embedding.query({**fields, **form.place_fields(city)}),
        }
        for city, place in list(named)[1:]
    ]
    if found.before:
        lat, lng = found.before
        kept = embedding.query({**fields, "place": found.name, "lat": lat, "lng": lng})
        links.append({"name": found.name, "detail": f"{lat}, {lng}", "to": kept})
    return links


def _named(languages: Languages, given: Parameters | None) -> list[tuple[str, str]]:
    """Every language under its own name, and the one that was asked for."""
    tags = set(languages.tags)
    if given and given.language:
        tags.add(given.language.tag)
    names = [(tag, Locale.parse(tag, sep="-").get_display_name() or tag) for tag in tags]
    return sorted(((tag, name[0].upper() + name[1:]) for tag, name in names), key=lambda n: n[1])


def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_file("builder.html"))


def _style() -> str:
    """The sheet, over the colours that the widget has with its default accent."""
    light, dark = (variables(DEFAULT_ACCENT, scheme) for scheme in ("light", "dark"))
    tag = palette(DEFAULT_ACCENT, "dark")["accent"]
    colours = f":root{{{light}--tag:{tag}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return colours + _file("builder.css")


def _file(name: str) -> str:
    return resources.files("location_context.widget.builder").joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
