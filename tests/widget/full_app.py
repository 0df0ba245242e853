"""The application with all four cards, made of samples, for tests of the widget's page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import httpx2
import pytest

from location_context.sections.section import Section
from location_context.settings import Settings
from tests.moved_clock import MovedClock
from tests.serving import free_port, serve
from tests.widget.samples.sections import Sample, sample_sections

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


@dataclass
class Full:
    """A served application, its clock and the samples it answers from."""

    url: str
    clock: MovedClock
    sections: Sequence[Section]
    http: httpx2.Client

    def address(self, given: dict[str, str] = STAY, **more: str) -> str:
        return f"{self.url}/v1/pulse?{httpx2.QueryParams({**given, **more})}"

    def get(
        self, given: dict[str, str] = STAY, headers: dict[str, str] | None = None, **more: str
    ) -> httpx2.Response:
        return self.http.get(self.address(given, **more), headers=headers)

    def sample(self, name: str) -> Sample:
        found = next(section for section in self.sections if section.name == name)
        assert isinstance(found, Sample)
        return found


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Full]:
    """Served at noon of 21 November 2026 with PUBLIC_URL its own address."""
    clock, port = MovedClock(), free_port()
    url = f"http://127.0.0.1:{port}"
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("full"),
        public_url=url,
        widget_per_minute=100_000,
        widget_deadline=30.0,  # a card that comes late on a busy machine would be missing
    )
    sections = sample_sections(clock)
    with (
        serve(settings, clock=clock, sections=sections, port=port) as served,
        httpx2.Client(trust_env=False, timeout=20) as http,
    ):
        yield Full(served.url, clock, sections, http)
