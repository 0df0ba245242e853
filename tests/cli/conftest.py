"""Fixtures of the tests of commands."""

from pathlib import Path

import pytest

from tests.sections.weather.conftest import write_grid
from tests.web.commands import command


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory as `setup` leaves it, with the fallback grid."""
    folder = tmp_path_factory.mktemp("prepared")
    command(folder, "setup", "--without-fallback")
    write_grid(folder)
    return folder
