"""One ephemeris for all tests of the section: its months are slow to make and never change."""

import pytest

from location_context.sections.astronomy.section import Astronomy
from location_context.sections.astronomy.sky.ephemeris import Ephemeris
from tests.moved_clock import MovedClock
from tests.sections.astronomy.queries import SectionReader


@pytest.fixture(scope="session")
def ephemeris() -> Ephemeris:
    return Ephemeris(most=500)


@pytest.fixture(scope="session")
def reader(ephemeris: Ephemeris) -> SectionReader:
    return SectionReader(Astronomy(ephemeris, MovedClock()))
