"""One gazetteer for all tests: it takes half a second to load."""

import pytest

from location_context.gazetteer.gazetteer import Gazetteer


@pytest.fixture(scope="session")
def gazetteer() -> Gazetteer:
    return Gazetteer.load()
