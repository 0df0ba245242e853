"""The page at `/`: configure a widget, preview it, and copy its two lines of code.

The server renders the page from its query, so it works without JavaScript. With JavaScript,
builder.js requests the page again after each change and replaces the parts that differ. So all
texts, checks and snippets come from the server. The page contains its style and script, which its
Content-Security-Policy allows by their hashes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cached_property
from typing import Any

from babel import Locale
from jinja2 import Template
from starlette.responses import Response

from location_context import __version__
from location_context.exchange import Exchange, Route
from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Language, Languages
from location_context.parameters import DEFAULT_ACCENT, Parameters
from location_context.sections.cached_section import CachedSection
from location_context.sections.contract import CC_BY, Query
from location_context.service import Service, chosen
from location_context.stay import HORIZON_DAYS, Stay, horizon
from location_context.upstream.deadline import Deadline
from location_context.widget import calendar, embedding
from location_context.widget.builder import form
from location_context.widget.colour import palette, variables
from location_context.widget.fonts import Typeface
from location_context.widget.png import Painter
from location_context.widget.render import digest, read_file, template_environment
from location_context.widget.static_card import read_and_draw

PHONE = 390  # px; an iframe without the script gets its height at this width, the largest one
_PACKAGE = "location_context.widget.builder"
_HIGHLIGHTED = re.compile(r'(</?(?:div|iframe|script)|(?<=height=")\d+)')
_HIGHLIGHTED_MAIL = re.compile(r"(</?(?:a|img)\b)")


def routes(service: Service, painter: Painter) -> list[Route]:
    """Return the routes of `/` and `/v1/places`; `painter` has fonts for the picture in e-mails."""
    page = Page(service, painter)
    return [Route("/", page.respond), *form.places_routes(service)]


class Page:
    """Handles requests for the builder's page."""

    def __init__(self, service: Service, painter: Painter) -> None:
        self._service, self._painter = service, painter
        self._style, self._script = _style(), read_file(f"{_PACKAGE}:builder.js")
        self._policy = "; ".join(
            (
                "default-src 'none'",
                f"style-src {digest(self._style)}",
                f"script-src 'self' {digest(self._script)}",
                "connect-src 'self'",
                "frame-src 'self'",
                "img-src data:",
                "form-action 'self'",
                "base-uri 'none'",
                "frame-ancestors 'none'",
            )
        )

    @cached_property
    def _template(self) -> Template:
        """The template, compiled on first use."""
        return template_environment().get_template(f"{_PACKAGE}:builder.html")

    async def respond(self, request: Exchange) -> Response:
        language = self._service.languages.accept(request.accept_language)
        body = await self._body(request, language)
        headers = {
            "Cache-Control": "no-cache",
            "Content-Language": language.tag,
            "Content-Security-Policy": self._policy,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Referrer-Policy": "same-origin",
            "Vary": "Accept-Language",
        }
        return Response(body, headers=headers, media_type="text/html")

    async def _body(self, request: Exchange, language: Language) -> bytes:
        fmt = Formatter(language)
        state = await form.read(self._service, request.query, fmt)
        if state.parameters and state.parameters.language is None:
            # the code names a language, so that a CDN caches one page, not one for each browser
            state = replace(state, parameters=replace(state.parameters, language=language))
        view = self._view(state, fmt)
        if state.code == "mail" and state.parameters:
            view["png"] = typeface = await self._painter.typeface_of(state.parameters.language)
            view["embed"]["lines"] = [await self._mail(request, state.parameters, typeface)]
        page = self._template.render(style=self._style, script=self._script, **view)
        return page.encode()

    async def _mail(
        self, request: Exchange, parameters: Parameters, typeface: Typeface | None
    ) -> list[str]:
        """Return the HTML to paste into an e-mail (`mail_snippet`), split at tags to highlight."""
        service = self._service
        language = parameters.language
        assert language is not None
        point = service.gazetteer.point(parameters.lat, parameters.lng)
        stay = parameters.stay_from(point.today(service.clock()))
        query = Query(point, stay, parameters.units, language, parameters.guide, public=True)
        deadline = Deadline(request.arrived_at + service.settings.widget_deadline)
        card, _ = await read_and_draw(service, parameters, query, deadline, typeface)
        code = embedding.mail_snippet(service.settings, parameters, card)
        return _HIGHLIGHTED_MAIL.split(code)

    def _view(self, state: form.Form, fmt: Formatter) -> dict[str, Any]:
        parameters, fields, language = state.parameters, state.fields, fmt.language
        stay = parameters.stay_from(state.today) if parameters else None
        sections = self._service.sections
        shown = chosen(sections, parameters.sections if parameters else ())
        not_past = [cached for cached in shown if not cached.section.answers_past]
        absent = embedding.topics(not_past, language)
        return {
            "_": language.gettext,
            "pgettext": language.pgettext,
            "topics": Formatter.capitalise(embedding.topics(chosen(sections, ()), language)),
            "language": language,
            "version": __version__,
            "places_licence": CC_BY,  # GeoNames'
            "form": state,
            "png": None,
            "fields": fields,
            "was": form.encode_place(fields),
            "zone": fmt.gettext("{zone} time.").format(zone=state.timezone.replace("_", " "))
            if state.timezone
            else "",
            "nights": _nights(stay, fmt) if stay else "",
            "mode": _mode(stay, state.today, fmt, absent) if stay and not fields["days"] else "",
            "days": range(1, HORIZON_DAYS + 1),
            "preview_sentences": _preview_sentences(fmt),
            "choices": _choices(sections, shown, fmt),
            "all_sections": ",".join(cached.name for cached in chosen(sections, ())),
            "alternatives": _alternatives(state, fmt),
            "guides": sorted(self._service.choices.get("guide", ())),
            "default_accent": DEFAULT_ACCENT,
            "swatches": form.SWATCHES,
            "contrasts": form.contrasts(parameters.accent, parameters.theme, fmt)
            if parameters
            else [],
            "languages": _language_names(self._service.languages, parameters),
            "sections": [(cached.name, cached.section.summary(language)) for cached in sections],
            "embed": _embed(self._service, parameters, language, state) if parameters else None,
        }


def _embed(
    service: Service, parameters: Parameters, language: Language, state: form.Form
) -> dict[str, Any]:
    """Return the values with which the template shows the code to copy and the preview."""
    sections = chosen(service.sections, parameters.sections)
    title = embedding.title(sections, parameters.place, parameters.language or language)
    preview = f"v1/pulse?{embedding.widget_query(parameters)}"
    height = embedding.reserved_height(service, parameters, PHONE)
    lines = embedding.snippet(service.settings, parameters, height)
    if state.code == "address":
        lines = [embedding.public_url(service.settings, f"/{preview}")]
    elif state.code == "calendar":
        lines = [calendar.address(service.settings, parameters)]
    elif state.plain:
        given = f'width="100%" height="{height}" frameborder="0"'
        lines = [embedding.iframe(service.settings, parameters, title, given)]
    return {
        "lines": [_HIGHLIGHTED.split(line) for line in lines],
        "preview": preview,
        "title": title,
        "height": height,
        "sandbox": embedding.SANDBOX,
    }


def _choices(
    sections: Sequence[CachedSection], shown: Sequence[CachedSection], fmt: Formatter
) -> list[dict[str, Any]]:
    """Return the tick boxes of the sections: first the shown ones in their order, then others."""
    others = (cached for cached in sections if cached not in shown)
    return [
        {
            "name": cached.name,
            "label": (label := Formatter.capitalise(cached.section.label(fmt.language))),
            "shown": cached in shown,
            "up": fmt.gettext("Move up: {section}").format(section=label),
        }
        for cached in (*shown, *others)
    ]


def _alternatives(state: form.Form, fmt: Formatter) -> list[dict[str, str]]:
    """Return links (name, detail, query) to other search results and to the previous point."""
    fields, search = state.fields, state.search
    described = zip(search.places, form.describe(search.places, fmt), strict=True)
    links = [
        {
            "name": place.name,
            "detail": place.detail,
            "query": embedding.query({**fields, **form.place_fields(city)}),
        }
        for city, place in list(described)[1:]
    ]
    if search.previous_point:
        lat, lng = search.previous_point
        query = embedding.query({**fields, "place": search.name, "lat": lat, "lng": lng})
        links.append({"name": search.name, "detail": f"{lat}, {lng}", "query": query})
    return links


def _language_names(languages: Languages, parameters: Parameters | None) -> list[tuple[str, str]]:
    """Return tags and native names of all languages, and of a requested variant such as `de-AT`."""
    tags = set(languages.tags)
    if parameters and parameters.language:
        tags.add(parameters.language.tag)
    names = [(tag, Locale.parse(tag, sep="-").get_display_name() or tag) for tag in tags]
    return sorted(((tag, name[0].upper() + name[1:]) for tag, name in names), key=lambda n: n[1])


def _style() -> str:
    """Return the page's style sheet, with the widget's colours for the default accent."""
    light, dark = (variables(DEFAULT_ACCENT, scheme) for scheme in ("light", "dark"))
    tag = palette(DEFAULT_ACCENT, "dark")["accent"]
    code = f"--tag:{tag};--night:#12201e;--nightink:#eef4f2"
    colours = f":root{{{light}{code}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return colours + read_file(f"{_PACKAGE}:builder.css")


def _nights(stay: Stay, fmt: Formatter) -> str:
    count = stay.days - 1
    if not count:
        return fmt.gettext("One day, no night.")
    return fmt.ngettext("{count} night.", "{count} nights.", count).format(count=fmt.number(count))


def _mode(stay: Stay, today: date, fmt: Formatter, not_past: str) -> str:
    """Return a sentence on whether the dates are past, within the forecast or beyond it.

    `not_past` names the sections that have no answer for past dates. The sentence does not
    say whether the preview shows a forecast or averages; see `_preview_sentences`.
    """
    gettext = fmt.gettext
    if stay.is_past(today):
        return gettext("These dates are in the past. Not shown: {sections}.").format(
            sections=not_past
        )
    if stay.within_horizon(today):
        return gettext("Within the 16-day forecast.")
    if stay.start <= horizon(today):
        return gettext("The first days are within the 16-day forecast, the others beyond it.")
    return gettext("Beyond the 16-day forecast.")


def _preview_sentences(fmt: Formatter) -> Mapping[str, str]:
    """Return the sentences about the preview, by kind of weather and by `degraded_reason`."""
    gettext = fmt.gettext
    return {
        "forecast": gettext("The preview shows a forecast."),
        "forecast_reanalysis": gettext(
            "The preview shows a forecast, then what past years were like."
        ),
        "forecast_monthly_mean": gettext("The preview shows a forecast, then monthly averages."),
        "reanalysis": gettext("The preview shows what past years were like."),
        "monthly_mean": gettext("The preview shows monthly averages."),
        "forecast_unavailable": gettext("No forecast is available at the moment."),
        "archive_unavailable": gettext("Data from past years is not available at the moment."),
    }
