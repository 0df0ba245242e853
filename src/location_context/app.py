"""The composition root: builds the ASGI application from the settings.

`open_service` opens all parts that requests need, and closes them in reverse order. `create_app`
adds the HTTP routes. No other module knows which parts the service consists of.
"""

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from location_context.access.address import TrustedProxies
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.localisation.language import Languages
from location_context.sections import registry
from location_context.sections.cached_section import CachedSection
from location_context.sections.section import Section, SectionContext
from location_context.service import Measured, Service
from location_context.settings import Settings
from location_context.stay import Clock, system_clock
from location_context.storage.access import open_authenticator
from location_context.storage.budgets import SqlLedger
from location_context.storage.database import Database
from location_context.storage.datasets import (
    SqlAccuracyStore,
    SqlCacheStore,
    SqlClimateStore,
    SqlGuideStore,
)
from location_context.storage.events import SqlEventStore
from location_context.storage.redis import RedisLink
from location_context.storage.retention import Retention
from location_context.storage.shared import RedisSharedStore
from location_context.upstream.host import Hosts
from location_context.upstream.http import HttpClient
from location_context.web import drain, logs
from location_context.web.admission import Admission
from location_context.web.application import Application, json_routes, keyed_routes
from location_context.web.fixed_answers import FixedAnswers
from location_context.widget.oembed import OEmbed
from location_context.widget.pulse import routes as widget_routes


@dataclass(frozen=True)
class Worker:
    """Facts about the installation's server processes that each of them must know.

    Attributes:
        processes: the number of all server processes, this one included.
        checked: True if another process has already checked the database.
    """

    processes: int = 1
    checked: bool = False


ALONE = Worker()
RESTART_SECONDS = 5.0  # between an error in a background task and its restart


@asynccontextmanager
async def open_service(
    settings: Settings,
    *,
    clock: Clock = system_clock,
    sections: Sequence[Section[Any]] | None = None,
    prepared: bool = False,
    worker: Worker = ALONE,
) -> AsyncIterator[Service]:
    """Open the service's parts, such as the database and sections; close them after the block.

    Args:
        settings: the settings of this process.
        clock: returns the current time, with a time zone.
        sections: the sections to use instead of the installed ones.
        prepared: True to check the database, and to read keys and guides before the first request.
        worker: the number of server processes, and whether another one checked the database.

    Raises:
        OperatorError, StorageError: a part cannot be opened; the message says what to do.
    """
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(
            await Database.open(settings, read_whole=prepared and not worker.checked)
        )
        redis = open_redis(settings, stack)
        authenticator = await stack.enter_async_context(
            open_authenticator(settings, database, clock, redis)
        )
        hosts = open_hosts(database, worker.processes)
        client = await stack.enter_async_context(HttpClient(settings.user_agent))
        store = None if redis is None else RedisSharedStore(redis)
        stores, retention = _stores(database), Retention(database, clock)
        context = SectionContext(settings, clock, client, stores, hosts, shared=store)
        built = registry.build(context) if sections is None else sections
        cached = tuple(CachedSection(section, clock) for section in built)
        for one in cached:
            stack.push_async_callback(one.close)
        if prepared:
            await asyncio.gather(
                authenticator.key_cache.prepare(), *(one.section.prepare() for one in cached)
            )
        yield Service(
            settings=settings,
            clock=clock,
            started_at=clock(),
            gazetteer=Gazetteer.load(),
            languages=Languages.load(),
            sections=cached,
            authenticator=authenticator,
            hosts=hosts,
            proxies=TrustedProxies(settings.trusted_proxies),
            work=[authenticator.key_cache.run, authenticator.usage.run, hosts.run, retention.run],
            measured=Measured(
                calls=client.calls,
                unwritten=context.unwritten,
                connections=database.connections,
                looked_up={} if store is None else store.looked_up,
            ),
        )


def open_redis(settings: Settings, stack: AsyncExitStack) -> RedisLink | None:
    """Return a connection to Redis; `stack` will close it. Return None if REDIS_URL is not set."""
    if not settings.redis_url:
        return None
    link = RedisLink(settings.redis_url)
    stack.push_async_callback(link.close)
    return link


def open_hosts(database: Database, processes: int = 1) -> Hosts:
    """Return the limits on calls to providers, divided evenly among the `processes`.

    The units that calls spend are counted in the database, for all processes together.
    """
    return Hosts(partial(SqlLedger, database), processes=processes)


def _stores(database: Database) -> dict[str, Any]:
    return {
        "climate": SqlClimateStore(database),
        "guide": SqlGuideStore(database),
        "events": SqlEventStore(database),
        "answers": SqlCacheStore(database),
        "accuracy": SqlAccuracyStore(database),
    }


@asynccontextmanager
async def background(service: Service) -> AsyncIterator[None]:
    """Run the background tasks of all sections and parts; cancel them when the block ends."""
    work = [(one.name, one.section.run) for one in service.sections]
    work += [(one.__qualname__, one) for one in service.work]
    tasks = [asyncio.create_task(_supervised(name, run)) for name, run in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _supervised(name: str, run: Callable[[], Awaitable[None]]) -> None:
    """Run a background task until it returns; after an error, log it and start the task again."""
    while True:
        try:
            return await run()
        except Exception:  # noqa: BLE001  no error of a task may end the server
            structlog.get_logger().exception("background_failed", work=name)
        await asyncio.sleep(RESTART_SECONDS)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Make garbage collections rare in the block: after 10,000 new objects instead of 700.

    Concurrent requests allocate more than 700 objects, and leave no reference cycles to collect.
    """
    before = gc.get_threshold()
    gc.set_threshold(10_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def create_app(
    settings: Settings,
    *,
    clock: Clock = system_clock,
    sections: Sequence[Section[Any]] | None = None,
    worker: Worker | None = None,
) -> Application:
    """Return the ASGI application; its lifespan opens and closes the service.

    A `worker` means that the process runs only this application. Garbage collection then ignores
    objects from startup: to check them would block the event loop for 130 ms and find nothing.
    """

    @asynccontextmanager
    async def lifespan(app: Application) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.enter_context(rare_collections())
            service = await stack.enter_async_context(
                open_service(
                    settings,
                    clock=clock,
                    sections=sections,
                    prepared=True,
                    worker=worker or ALONE,
                )
            )
            routes = [*json_routes(service, app, OEmbed), *widget_routes(service)]
            admission = Admission(service.authenticator, service.proxies)
            app.serve(routes, admission, FixedAnswers(service, keyed_routes))
            if settings.metrics_address:
                # imported here, since most servers do not need the metrics' library
                from location_context.web import metrics  # noqa: PLC0415  see above

                await stack.enter_async_context(metrics.served(service, app))
            async with background(service), drain.with_parent():
                with drain.on_sigterm(app, settings):
                    if worker:
                        gc.freeze()
                    yield

    return Application(lifespan, settings, clock)


def serve_app(worker: Worker = ALONE) -> Application:
    """Configure logging, and return the application with the settings of the environment."""
    settings = Settings.read(os.environ)
    logs.configure(settings)
    return create_app(settings, worker=worker)
