"""One gazetteer for all tests, since it remembers points."""

import pytest

from location_context.gazetteer.gazetteer import Gazetteer


@pytest.fixture(scope="session")
def gazetteer() -> Gazetteer:
    return Gazetteer.load()
