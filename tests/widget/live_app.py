"""The served application that the widget's tests ask, with a clock that stands at noon."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import httpx2
import pytest

from location_context.settings import Settings
from tests.moved_clock import MovedClock
from tests.serving import free_port, serve
from tests.widget.samples.sections import sample_sections

DONOSTIA = {"lat": "43.3183", "lng": "-1.9812", "start": "2026-11-28", "end": "2026-12-05"}


class Site:
    """A served application by its address, which is its PUBLIC_URL too."""

    def __init__(self, url: str, http: httpx2.Client) -> None:
        self.url = url
        self._http = http

    def get(
        self, path: str, headers: dict[str, str] | None = None, **params: str
    ) -> httpx2.Response:
        query = "?" + urlencode(params) if params else ""
        return self._http.get(self.url + path + query, headers=headers)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The application with its sky and made-up other sections, at noon of 21 November 2026."""
    folder: Path = tmp_path_factory.mktemp("site")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    settings = Settings(
        data_dir=folder, public_url=url, widget_per_minute=10_000, log_level="warning"
    )
    clock = MovedClock()
    with (
        serve(settings, clock=clock, sections=sample_sections(clock), port=port) as served,
        httpx2.Client(trust_env=False, timeout=20) as http,
    ):
        yield Site(served.url, http)
