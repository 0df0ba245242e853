"""The served application with all four cards, made of samples, as the widget's tests use it."""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest

from location_context.sections.section import Section
from location_context.settings import Settings
from tests.moved_clock import MovedClock
from tests.serving import free_port, serve
from tests.widget.samples.sections import Sample, sample_sections

DONOSTIA = {"lat": "43.3183", "lng": "-1.9812", "start": "2026-11-28", "end": "2026-12-05"}
STAY = {
    "lat": "43.3183", "lng": "-1.9812", "start": "2027-08-07", "end": "2027-08-14",
    "place": "San Sebastián",
}  # fmt: skip
FORECAST = {**STAY, "start": "2026-11-22", "end": "2026-11-29"}
STRADDLING = {**STAY, "start": "2026-12-03", "end": "2026-12-10"}
LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "ja", "zh-Hans", "ar")
# English, the longest words, no blanks between words, right to left: what each of these bears with
# everything else, the other languages need to show with a part of it
EXTREMES = ("en", "de", "ja", "ar")


def code_of(page: str) -> str:
    """Return the code on the builder's page as a reader copies it; empty without one."""
    found = re.search(r"<pre[^>]*><code>(.*?)</code></pre>", page, re.DOTALL)
    return html.unescape(re.sub(r"</?[bi][^>]*>", "", found[1])) if found else ""


@dataclass
class Service:
    """A served application whose PUBLIC_URL is its own address, its clock and its samples."""

    url: str
    clock: MovedClock
    sections: Sequence[Section]
    http: httpx2.Client

    @property
    def script(self) -> str:
        """The element that loads the script."""
        return f'<script src="{self.url}/v1/embed.js" async></script>'

    def get(
        self, path: str, headers: dict[str, str] | None = None, **params: str
    ) -> httpx2.Response:
        query = f"?{urlencode(params)}" if params else ""
        return self.http.get(self.url + path + query, headers=headers)

    def address(self, given: dict[str, str] = STAY, path: str = "/v1/pulse", **more: str) -> str:
        return f"{self.url}{path}?{httpx2.QueryParams({**given, **more})}"

    def page(
        self, given: dict[str, str] = STAY, headers: dict[str, str] | None = None, **more: str
    ) -> httpx2.Response:
        """Request the widget."""
        return self.http.get(self.address(given, **more), headers=headers)

    def picture(
        self, ending: str, given: dict[str, str] = STAY, headers: Any = None, **more: str
    ) -> httpx2.Response:
        """Request the widget as `svg` or `png`."""
        return self.http.get(self.address(given, f"/v1/pulse.{ending}", **more), headers=headers)

    def code(self, given: dict[str, str], **more: str) -> str:
        """Return the code that the builder gives for a stay."""
        return code_of(self.get("/", **{**given, **more}).text)

    def sample(self, name: str) -> Sample:
        found = next(section for section in self.sections if section.name == name)
        assert isinstance(found, Sample)
        return found

    @contextmanager
    def answering(self, name: str, change: Callable[[Any], Any]) -> Iterator[None]:
        """Change the answers of a section in the block; `change` receives the usual body.

        Request another point there: the page of a known point is cached.
        """
        sample = self.sample(name)
        make, sample.make = sample.make, lambda query: change(make(query))
        try:
            yield
        finally:
            sample.make = make

    @contextmanager
    def at(self, moment: datetime) -> Iterator[None]:
        """Set the clock in the block."""
        before, self.clock.now = self.clock.now, moment
        try:
            yield
        finally:
            self.clock.now = before


@contextmanager
def serving(
    folder: Path, change: Callable[[list[Section]], list[Section]] = list, **more: Any
) -> Iterator[Service]:
    """Serve the sample sections at noon of 21 November 2026, with `more` settings."""
    clock, port = MovedClock(), free_port()
    sections = change(sample_sections(clock))
    given = {"widget_per_minute": 100_000, "public_url": f"http://127.0.0.1:{port}", **more}
    with (
        serve(
            Settings(data_dir=folder, **given), clock=clock, sections=sections, port=port
        ) as served,
        httpx2.Client(trust_env=False, timeout=20) as http,
    ):
        yield Service(served.url, clock, sections, http)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    # a card that comes late on a busy machine would be missing
    with serving(tmp_path_factory.mktemp("service"), widget_deadline=30.0) as served:
        yield served
