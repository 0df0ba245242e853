"""A server that answers health is ready: its first keyed requests wait for no database."""

import asyncio
from collections import Counter

import msgspec
import pytest

from location_context.settings import Secret, Settings
from tests.serving import serve
from tests.storage.proxy import Proxy
from tests.web.commands import command
from tests.web.conftest import STAY, Client, make_key

pytestmark = pytest.mark.anyio


async def test_keys_and_guide_are_read_before_the_server_listens(
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
            postgresql_settings,
            database_url=Secret(proxy.url),
            open_holidays_url="",
            open_meteo_forecast_url="",
            open_meteo_archive_url="",
            nasa_power_url="",
            log_level="error",
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
