"""The pepper: made once, for its owner only, and a wrong one stops the start."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from location_context.access.keys import ApiKeys
from location_context.access.pepper import _make, open_pepper
from location_context.errors import OperatorError
from location_context.settings import Secret, Settings
from location_context.settings.data_dir import PEPPER_FILE as FILE
from location_context.storage.access import SqlApiKeyStore
from location_context.storage.database import Database
from tests.moved_clock import MovedClock


@pytest.fixture
def store(database: Database) -> SqlApiKeyStore:
    return SqlApiKeyStore(database)


def names_in(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if FILE in file.name]


async def make_key(store: SqlApiKeyStore, pepper: bytes) -> None:
    await ApiKeys(store, pepper, MovedClock()).create("Hotel")


async def test_pepper_file_is_created_once_and_only_its_owner_can_read_it(
    store: SqlApiKeyStore, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path)
    made = await open_pepper(settings, store)
    assert len(made) >= 32
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    await make_key(store, made)
    assert await open_pepper(settings, store) == made
    assert names_in(tmp_path) == [FILE]


async def test_configured_pepper_creates_no_file(store: SqlApiKeyStore, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, key_pepper=Secret("of the settings"))
    assert await open_pepper(settings, store) == b"of the settings"
    assert not (tmp_path / FILE).exists()


async def test_server_start_fails_if_the_pepper_does_not_match_the_stored_keys(
    store: SqlApiKeyStore, tmp_path: Path
) -> None:
    right = Settings(data_dir=tmp_path, key_pepper=Secret("right"))
    await make_key(store, await open_pepper(right, store))
    wrong = Settings(data_dir=tmp_path, key_pepper=Secret("wrong"))
    with pytest.raises(OperatorError, match="KEY_PEPPER does not match") as said:
        await open_pepper(wrong, store)
    assert "wrong" not in str(said.value)
    assert await open_pepper(right, store) == b"right"


async def test_server_start_fails_if_the_pepper_is_lost(
    store: SqlApiKeyStore, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path)
    await make_key(store, await open_pepper(settings, store))
    (tmp_path / FILE).unlink()
    with pytest.raises(OperatorError, match="restore"):
        await open_pepper(settings, store)
    assert not (tmp_path / FILE).exists()


async def test_pepper_may_change_before_the_first_key_is_created(
    store: SqlApiKeyStore, tmp_path: Path
) -> None:
    await open_pepper(Settings(data_dir=tmp_path), store)
    other = Settings(data_dir=tmp_path, key_pepper=Secret("other"))
    await make_key(store, await open_pepper(other, store))
    assert await open_pepper(other, store) == b"other"


def test_concurrent_processes_agree_on_a_pepper(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: _make(tmp_path / FILE), range(32)))
    assert len(made) == 1
