"""The conformance kit: tests providers and sections against a fake server that can have faults.

    from location_context.testing import FakeResponse, check_provider, check_section

    def respond(request):  # the answer of the provider's server, in its own shape
        return FakeResponse({"days": ["2027-02-03"], "tmax": [283.15], "tmin": [278.15]})

    def test_skyline_passes_the_conformance_kit():
        check_provider(Skyline, respond)

The kit builds a provider from its settings, whose `<name>_url` is the URL of a fake server. The
provider must return data from the correct answer. For each fault in `FAULTS`, the provider must end
the call within the time limit, with a `ProviderError` or, if it is an event provider, with a result
without events. It must work again afterwards. For each fault, a section must return a degraded
answer or raise `UpstreamUnavailable`, within the time limit. Its answers must match its Struct, and
its description must be complete. One `ConformanceError` lists all that fails.
"""

import asyncio
import inspect
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import numpy as np

from location_context.errors import ProviderBackoff, ProviderError, UpstreamUnavailable
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.localisation.formatter import Formatter
from location_context.localisation.language import Language, Languages
from location_context.parameters import names_of, parse
from location_context.point import Point
from location_context.sections.cached_section import CachedSection
from location_context.sections.card import CardContext
from location_context.sections.contract import Applicable, Query, SectionResult
from location_context.sections.events.providers.base import EventProvider
from location_context.sections.section import Section, SectionContext
from location_context.sections.weather.providers import base
from location_context.sections.weather.records import Cell
from location_context.settings import Settings
from location_context.settings.parsers import variable
from location_context.stay import Clock, Stay, system_clock
from location_context.testing.server import FAULTS, FakeResponse, FakeServer, Fault, Respond
from location_context.upstream.deadline import Deadline
from location_context.upstream.http import HttpClient
from location_context.widget.content import Content
from location_context.widget.render import Appearance, Renderer

PARIS = Point(48.8566, 2.3522, "Europe/Paris", "FR", "FR-IDF")
PATIENCE = 1.0  # time limit of a call in seconds; shorter than the delay of a late answer
GOOD_PATIENCE = 30.0  # time limit for a good answer in seconds, long enough on a busy machine
MARGIN = 0.5  # seconds that a section may take longer than its provider's calls
TOO_LATE = 5.0  # seconds after which a call has ignored its time limit, even on a busy machine


class ConformanceError(AssertionError):
    """A provider or section does not conform; the message lists each problem on a line."""


@dataclass
class _Trial:
    """A run of the kit: how to build a context for each fault, and the problems found."""

    respond: Respond
    settings: Mapping[str, str]
    clock: Clock
    problems: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def context(
        self, fault: Fault | None = None
    ) -> AsyncIterator[tuple[SectionContext, FakeServer]]:
        """Start a fake server, with a fault or none, and yield a context whose settings use it."""
        with tempfile.TemporaryDirectory() as folder, FakeServer(self.respond).running() as server:
            given = {"data_dir": folder, "contact": "kit@example.org", **self.settings}
            environ = {variable(n): text.replace("{url}", server.url) for n, text in given.items()}
            settings = Settings.read(environ)
            if fault:
                server.respond = lambda request: fault(self.respond(request))
            async with HttpClient(settings.user_agent) as client:
                yield SectionContext(settings, self.clock, client, environ=environ), server

    def query(self, *, dated: bool = True) -> Query:
        """Return a query for Paris: three nights from tomorrow, or no dates if not `dated`."""
        today = PARIS.today(self.clock())
        stay = Stay(today + timedelta(days=1), today + timedelta(days=4)) if dated else None
        return Query(PARIS, stay, "metric", Languages({}).english)

    def note(self, fault: str, problem: str) -> None:
        self.problems.append(f"{fault}: {problem}")

    def finish(self, name: str) -> None:
        if self.problems:
            raise ConformanceError("\n".join((f"{name} does not conform:", *self.problems)))


def check_provider(
    provider: type[base.ForecastProvider | base.ArchiveProvider | EventProvider],
    respond: Respond,
    *,
    settings: Mapping[str, str] | None = None,
    clock: Clock = system_clock,
) -> None:
    """Test a provider against a server that answers correctly, then with each fault in `FAULTS`.

    Args:
        provider: the class that the entry point names.
        respond: returns a correct answer of the provider's server to a request.
        settings: values by name, in which `{url}` stands for the server's URL. The default
            is `<name>_url = {url}`.
        clock: returns the current time; set it if the answers of `respond` have fixed dates.

    Raises:
        ConformanceError: the provider does not conform.
    """
    trial = _Trial(respond, settings or {f"{provider.name}_url": "{url}"}, clock)
    asyncio.run(_check_provider(provider, trial))
    trial.finish(provider.name)


async def _check_provider(provider: Any, trial: _Trial) -> None:
    async with trial.context() as (context, server):
        built = provider.build(context)
        problem = await _fetch(built, trial, GOOD_PATIENCE)
        if problem is not None:
            trial.note("a good answer", problem)
            return  # nothing else can be judged
        if not server.requests:
            trial.note("a good answer", f"no request came to {', '.join(trial.settings)}")
        elif not server.requests[0].headers.get("user-agent", "").startswith("location-context"):
            trial.note("a good answer", "the request lacks the service's User-Agent")
        if isinstance(built, base.ArchiveProvider) and not hasattr(built, "representativeness"):
            trial.note("representativeness", "the provider must declare the error of its cells")
        await _close(built)
    for name, fault in FAULTS.items():
        async with trial.context(fault) as (context, server):
            built = provider.build(context)
            began = time.monotonic()
            problem = await _fetch(built, trial, PATIENCE)
            if time.monotonic() - began > TOO_LATE:
                trial.note(name, f"took {time.monotonic() - began:.1f} s")
            if problem is None and name != "NaN for numbers":
                trial.note(name, "the provider returned data instead of an error")
            elif problem and problem.startswith("raised"):
                trial.note(name, problem)
            server.respond = trial.respond
            problem = await _fetch(built, trial, PATIENCE)
            if problem and problem.startswith("raised"):
                trial.note(f"a good answer after {name}", problem)
            await _close(built)


async def _fetch(provider: Any, trial: _Trial, seconds: float) -> str | None:
    """Return None if the provider returned data within `seconds`, else what happened instead."""
    today = PARIS.today(trial.clock())
    try:
        if isinstance(provider, EventProvider):
            result = await provider.fetch_events(trial.query(), Deadline.after(seconds))
            return None if result.events else f"no events; the status is {result.status}"
        async with asyncio.timeout(seconds):
            if isinstance(provider, base.ForecastProvider):
                cell = Cell.of(PARIS, provider.cell_degrees)
                return _lacking(await provider.fetch_forecast(cell, today, 0, public=False))
            month = (today.year - 1, today.month)
            cell = provider.cell(PARIS)
            months = await provider.fetch_months(cell, [month], today, public=False)
            known = [one for one in months if np.isfinite(one.values).any()]
            return None if known else "no value of any month is known"
    except TimeoutError:
        return "no answer came in time"
    except ProviderError as error:
        return "calls are paused" if isinstance(error, ProviderBackoff) else error.message
    except Exception as error:  # noqa: BLE001  the kit reports any error
        return f"raised {type(error).__name__}: {error}"


def _lacking(forecast: Any) -> str | None:
    if not isinstance(forecast, base.Forecast):
        return f"raised no error and returned {type(forecast).__name__}"
    for name in ("temperature_max", "temperature_min"):
        if not np.isfinite(forecast.columns.get(name, np.full(0, np.nan))).any():
            return f"{name} is not known for any day"
    return None


async def _close(built: base.Provider | EventProvider) -> None:
    if isinstance(built, EventProvider):
        await built.close()


def check_section(
    section: type[Section[Any]],
    respond: Respond | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    clock: Clock = system_clock,
) -> None:
    """Test a section against a server that answers correctly, then with each fault in `FAULTS`.

    Args:
        section: the class that the entry point names.
        respond: returns a correct answer of the provider's server to a request; None if the
            section calls no provider.
        settings: as for `check_provider`.
        clock: as for `check_provider`.

    Raises:
        ConformanceError: the section does not conform.
    """
    trial = _section_trial(section, respond, settings, clock)
    _check_description(section, trial)
    asyncio.run(_check_section(section, trial, calls=respond is not None))
    trial.finish(section.name)


def _section_trial(
    section: type[Section[Any]],
    respond: Respond | None = None,
    settings: Mapping[str, str] | None = None,
    clock: Clock = system_clock,
) -> _Trial:
    given = {} if respond is None else {f"{section.name}_url": "{url}"}
    return _Trial(respond or (lambda _: FakeResponse(status=404)), settings or given, clock)


def _place(section: type[Section[Any]]) -> str:
    """Return `file:line` of the section's class, for messages."""
    return f"{inspect.getfile(section)}:{inspect.getsourcelines(section)[1]}"


def _check_description(section: type[Section[Any]], trial: _Trial) -> None:
    place = _place(section)
    for name in ("title", "description", "samples"):
        if not getattr(section, name):
            trial.note(place, f"`{name}` is empty")
    if section.response.__struct_config__.tag != section.name:
        trial.note(place, "the tag of `response` is not the section's name")
    samples = section.sample()
    for name in section.samples:
        if name not in samples:
            trial.note(place, f"{name!r} is missing in sample.json; `write_sample` writes it")
    for name, answer in samples.items():
        try:
            msgspec.convert(answer, section.response | section.not_applicable_type)
        except msgspec.ValidationError as error:
            trial.note("sample.json", f"{name!r} is not an answer of the section: {error}")


def description_problems(section: type[Section[Any]]) -> list[str]:
    """Return a message for each problem in a section's title, description, samples and label."""
    trial = _section_trial(section)
    _check_description(section, trial)
    _check_words(section, trial)
    return trial.problems


async def _check_section(section: type[Section[Any]], trial: _Trial, *, calls: bool) -> None:
    async with trial.context() as (context, _):
        cached = CachedSection(section.build(context), context.clock)
        result = await _read(cached, trial, "a good answer")
        if result is None:
            return
        if not result.complete or not isinstance(result.body, Applicable):
            trial.note("a good answer", "the section's answer is incomplete or not applicable")
        else:
            _check_looks(cached.section, result.body, trial)
        await cached.close()
    for name, fault in FAULTS.items() if calls else ():
        async with trial.context(fault) as (context, _):
            cached = CachedSection(section.build(context), context.clock)
            result = await _read(cached, trial, name)
            if result is not None and result.complete:
                trial.note(name, "the answer does not set `degraded` although data is missing")
            await cached.close()


async def _read(cached: CachedSection, trial: _Trial, name: str) -> SectionResult | None:
    """Read the section while its server has the fault `name` ("a good answer": none).

    Return the result, or None if there is none. Problems are added to `trial`.
    """
    query = trial.query(dated=cached.dated)
    good = name == "a good answer"
    began = time.monotonic()
    try:
        seconds = GOOD_PATIENCE if good else PATIENCE + MARGIN
        result = await cached.read(query, Deadline.after(seconds))
        kinds = cached.section.response | cached.section.not_applicable_type
        msgspec.json.decode(result.payload, type=kinds)
    except UpstreamUnavailable:
        if good:
            trial.note(name, "the section raised UpstreamUnavailable")
        return None
    except Exception as error:  # noqa: BLE001  the kit reports any error
        trial.note(name, f"raised {type(error).__name__}: {error}")
        return None
    finally:
        if not good and time.monotonic() - began > TOO_LATE:
            trial.note(name, f"took {time.monotonic() - began:.1f} s")
    return result


def _check_words(section: type[Section[Any]], trial: _Trial) -> None:
    """Check a section's label and summary in every language, and the cards of its samples."""
    built = section.__new__(section)  # without __init__, whose arguments the checks do not need
    languages = Languages.load()
    for language in map(languages.choose, languages.tags):
        _check_label(built, language, trial)
    for name, answer in section.sample().items():
        if answer.get("applicable"):
            body = msgspec.convert(answer, section.response)
            context = CardContext(fmt=Formatter(languages.english), now=trial.clock())
            if built.card(body, context) is None:
                trial.note(_place(section), f"`card` returns None for the sample {name!r}")


def _check_label(section: Section[Any], language: Language, trial: _Trial) -> None:
    if not (section.label(language).strip() and section.summary(language).strip()):
        trial.note(_place(type(section)), f"`label` or `summary` is empty in {language.tag}")


def _check_looks(section: Section[Any], body: Applicable, trial: _Trial) -> None:
    """Check how a section shows `body`: card, label, summary in every language; then `text`."""
    languages, renderer, place = Languages.load(), Renderer(), _place(type(section))
    for language in map(languages.choose, languages.tags):
        fmt = Formatter(language)
        try:
            _check_label(section, language, trial)
            context = CardContext(fmt=fmt, now=trial.clock())
            if card := section.card(body, context):
                renderer.brief(section.name, card, fmt)
                content = Content(
                    title=section.name, cards=[renderer.card(section.name, card, fmt)]
                )
                html = renderer.page(content, fmt, Appearance()).body.decode()
                if f'id="h-{section.name}"' not in html:
                    problem = f"has no heading with the id h-{section.name}"
                    trial.note(place, f"the card in {language.tag} {problem}")
        except Exception as error:  # noqa: BLE001  the kit reports any error
            trial.note(place, f"the card in {language.tag} raised {error!r}")
    if not list(section.text(body)):
        trial.note(place, "`text` returns nothing for `read` to print")


def write_sample(
    section: type[Section[Any]],
    respond: Respond | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    clock: Clock = system_clock,
) -> Path:
    """Write the section's answers to its `samples` into `sample.json` beside its module.

    The arguments are those of `check_section`, which fails if a sample is missing in the file or
    does not match the section's Struct. Return the path of the file.
    """
    trial = _section_trial(section, respond, settings, clock)
    file = Path(inspect.getfile(section)).with_name("sample.json")
    answers = asyncio.run(_samples(section, trial))
    file.write_bytes(msgspec.json.format(msgspec.json.encode(answers), indent=1) + b"\n")
    return file


async def _samples(section: type[Section[Any]], trial: _Trial) -> dict[str, Any]:
    languages, gazetteer = Languages.load(), Gazetteer.load()
    answers = {}
    async with trial.context() as (context, _):
        built = section.build(context)
        for name, params in section.samples.items():
            checked = parse(urlencode(params).encode(), names_of(section), languages)
            point = gazetteer.point(checked.lat, checked.lng)
            query = Query(point, checked.stay, checked.units, languages.english, checked.guide)
            answers[name] = (await built.read(query, Deadline.after(4 * PATIENCE))).body
        await built.close()
    return answers
