"""Generated files are what `./scripts/generate` would write."""

import pytest

from scripts.generators.__main__ import GENERATORS, outdated


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generated_file_is_up_to_date(name: str) -> None:
    assert list(outdated(name)) == [], f"run ./scripts/generate {name}"
