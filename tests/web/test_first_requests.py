"""A server that answers health is ready: its first requests wait for no database or garbage."""

import asyncio
import gc
from collections import Counter

import msgspec

from location_context.app import ALONE, create_app
from location_context.settings import Secret, Settings
from tests.serving import serve
from tests.storage.proxy import Proxy
from tests.web.commands import command
from tests.web.conftest import STAY, Client, make_key
from tests.web.full_app import OFF
from tests.web.sections import FakeSection


async def test_server_reads_keys_and_guide_before_it_listens(
    postgresql_settings: Settings,
) -> None:
    """The database falls silent at the moment at which health says ok."""
    url = postgresql_settings.database_url.reveal()
    more = {
        "LOCATION_CONTEXT_DATABASE_URL": url,
        "LOCATION_CONTEXT_KEY_PEPPER": postgresql_settings.key_pepper.reveal(),
    }
    folder, loop = postgresql_settings.data_dir, asyncio.get_running_loop()
    await asyncio.to_thread(command, folder, "guide", "import", "--sample", more=more)
    key = await asyncio.to_thread(make_key, postgresql_settings)

    async with Proxy(url) as proxy:
        settings = msgspec.structs.replace(
            postgresql_settings, database_url=Secret(proxy.url), log_level="error", **OFF
        )

        def ask() -> Counter[str]:
            with serve(settings) as served:
                loop.call_soon_threadsafe(proxy.freeze)
                client = Client(served, key)
                answers = [
                    client.get(f"/v1/pulse/{section}", {**STAY, "lat": str(number)})
                    for number in range(20)
                    for section in ("astronomy", "guide")
                ]
                loop.call_soon_threadsafe(proxy.thaw)
                return Counter(f"{a.status_code}" for a in answers)

        assert await asyncio.to_thread(ask) == {"200": 40}


async def test_server_excludes_its_startup_objects_from_garbage_collection_only_in_a_worker(
    tmp_path,
):
    settings, sections = Settings(data_dir=tmp_path, log_level="error"), [FakeSection()]
    of_python = gc.get_freeze_count()  # 3.12 keeps some of its own apart
    try:
        for worker in (None, ALONE):
            app = create_app(settings, sections=sections, worker=worker)
            async with app.lifespan(app):
                assert (gc.get_freeze_count() > of_python) is bool(worker)
    finally:
        gc.unfreeze()
