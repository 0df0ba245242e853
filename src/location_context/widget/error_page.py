"""Problem: an error as a page in the widget's own style, which still tells its height.

Theme, accent and language hold where they were valid, each by itself. The sentence is localised;
the detail is the message that a developer gets in JSON, in English.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import cast

from starlette.requests import Request
from starlette.responses import Response

from location_context.errors import InvalidRequest, PublicError
from location_context.localisation.formats import Formats
from location_context.localisation.language import Language, Languages
from location_context.parameters import DEFAULT_ACCENT, Theme, decode
from location_context.widget.render import Appearance, Content, ErrorView, Renderer

FRAME_HEADERS = {
    "Cross-Origin-Embedder-Policy": "require-corp",  # else hosts that have it may not frame us
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
}
_ACCENT = re.compile(r"#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})")


def problem(
    renderer: Renderer, languages: Languages
) -> Callable[[PublicError, str, Request], Response]:
    """Makes the answer for an error."""

    def answer(error: PublicError, request_id: str, request: Request) -> Response:
        given: Mapping[str, str] = {}
        with suppress(PublicError):
            given = dict(decode(request.scope["query_string"]))
        words = Formats(_language(given, request, languages))
        trouble = ErrorView(
            label=words.gettext("Cannot show this stay"),
            sentence=sentence(error, words),
            detail=error.message if isinstance(error, InvalidRequest) else "",
            code=error.code,
            request_id=request_id,
        )
        page = renderer.page(
            Content(title=trouble.label, problem=trouble), words, _appearance(given)
        )
        headers = {
            "Cache-Control": "no-store",
            "Content-Language": words.language.tag,
            "Content-Security-Policy": page.policy,
            **FRAME_HEADERS,
            **error.headers,
        }
        return Response(page.html, error.status, headers, media_type="text/html")

    return answer


def _appearance(given: Mapping[str, str]) -> Appearance:
    theme, accent = given.get("theme", ""), given.get("accent", "")
    return Appearance(
        theme=cast("Theme", theme if theme in {"light", "dark", "auto"} else "light"),
        accent=accent if _ACCENT.fullmatch(accent) else DEFAULT_ACCENT,
    )


def _language(given: Mapping[str, str], request: Request, languages: Languages) -> Language:
    with suppress(PublicError):
        if tag := given.get("lang"):
            return languages.choose(tag)
    return languages.accept(request.headers.get("accept-language", ""))


def sentence(error: PublicError, words: Formats) -> str:
    """What is wrong, for a person."""
    said = {
        "missing_parameter": words.gettext("The address of this widget is not complete."),
        "duplicate_parameter": words.gettext("The address of this widget says something twice."),
        "unknown_parameter": words.gettext("The address of this widget misspells something."),
        "invalid_latitude": words.gettext("The latitude is not a place on Earth."),
        "invalid_longitude": words.gettext("The longitude is not a place on Earth."),
        "invalid_date": words.gettext("A date of the stay is not a date."),
        "invalid_date_range": words.gettext("The departure date is before the arrival date."),
        "date_range_too_long": words.gettext("The stay is longer than can be shown."),
        "invalid_units": words.gettext("The units are not known."),
        "invalid_language": words.gettext("The language is not known."),
        "invalid_place": words.gettext("The name of the place is too long."),
        "invalid_theme": words.gettext("The theme is not known."),
        "invalid_accent": words.gettext("The accent colour is not a colour."),
        "malformed_request": words.gettext("The address of this widget is damaged."),
        "method_not_allowed": words.gettext("This page can only be read."),
        "rate_limit_exceeded": words.gettext("Too many pages at once; try again in a moment."),
        "service_overloaded": words.gettext("Too many guests at once; try again in a moment."),
    }
    return said.get(error.code, words.gettext("Something went wrong on our side."))
