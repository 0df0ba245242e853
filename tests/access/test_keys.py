"""API keys: their form, and what the operator does with them."""

import string
import zlib
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.access.keys import ApiKeys, MintedKey, digest, is_well_formed, mint
from location_context.errors import OperatorError
from location_context.storage.access import SqlApiKeyStore
from location_context.storage.database import Database
from tests.moved_clock import MovedClock

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


@pytest.fixture
def keys(database: Database, clock: MovedClock) -> ApiKeys:
    return ApiKeys(SqlApiKeyStore(database), b"pepper", clock)


@pytest.mark.parametrize("prefix", ["lc_live_", "lc_test_"])
def test_new_key_has_the_documented_format(prefix: str) -> None:
    key = mint(prefix)
    assert key.startswith(prefix)
    body, check = key[:-6], key[-6:]
    assert len(body) == len("lc_live_") + 43
    number = 0
    for character in check:
        number = number * 62 + BASE62.index(character)
    assert number == zlib.crc32(body.encode())
    assert is_well_formed(key)


async def test_live_or_test_kind_of_a_key_is_stored_and_unchanged_by_rotation(
    keys: ApiKeys,
) -> None:
    live, test = await keys.create("Hotel"), await keys.create("CI", test=True)
    new = await keys.rotate(test.record.id, timedelta(hours=1))
    stored = [record.test for record in await keys.list()]
    assert sorted(stored) == [False, True, True]
    assert (live.secret[:8], test.secret[:8], new.secret[:8]) == ("lc_live_", *["lc_test_"] * 2)


def test_generated_keys_are_unique() -> None:
    assert len({mint() for _ in range(1000)}) == 1000


@given(st.integers(8, 56), st.sampled_from(BASE62))
def test_checksum_detects_a_mistyped_character_at_any_position(place: int, typed: str) -> None:
    key = mint()
    mistyped = key[:place] + typed + key[place + 1 :]
    assert is_well_formed(mistyped) == (mistyped == key)


@given(st.text(max_size=100))
def test_arbitrary_text_is_not_a_well_formed_key(text: str) -> None:
    assert not is_well_formed(text)


@pytest.mark.parametrize(
    "junk",
    ["", "lc_live_", "lc_live_" + "é" * 49, "x" * 10_000, mint() + "\n",
     mint().replace("live", "test")],
    ids=["empty", "prefix alone", "not ASCII", "too long", "line break", "live key as a test key"],
)  # fmt: skip
def test_listed_examples_of_malformed_keys_are_not_well_formed(junk: str) -> None:
    assert not is_well_formed(junk)


def test_digest_of_a_key_depends_on_the_pepper() -> None:
    key = mint()
    assert digest(b"one", key) != digest(b"two", key)
    assert len(digest(b"one", key)) == 32


async def test_key_is_stored_only_as_its_hmac(keys: ApiKeys) -> None:
    minted = await keys.create("Hotel")
    [record] = await keys.list()
    assert record == minted.record
    assert record.digest == digest(b"pepper", minted.secret)
    assert minted.secret not in repr(minted)
    assert str(record.digest) not in repr(record)


async def test_second_revocation_of_a_key_keeps_the_time_of_the_first_revocation(
    keys: ApiKeys, clock: MovedClock
) -> None:
    minted = await keys.create("Hotel")
    first = await keys.revoke(minted.record.id)
    clock.advance(60)
    again = await keys.revoke(minted.record.id)
    assert first.revoked_at == again.revoked_at
    assert again.status(clock()) == "revoked"


async def test_rotation_copies_name_limits_and_expiry_to_the_new_key_and_expires_the_old_key(
    keys: ApiKeys, clock: MovedClock
) -> None:
    ends = clock() + timedelta(days=30)
    old = await keys.create("Hotel", per_minute=7, per_day=70, expires_at=ends)
    new = await keys.rotate(old.record.id, timedelta(hours=24))
    stored = {record.id: record for record in await keys.list()}
    before, after = stored[old.record.id], stored[new.record.id]
    assert (after.name, after.per_minute, after.per_day, after.expires_at) == (
        ("Hotel", 7, 70, ends)
    )
    assert before.expires_at == clock() + timedelta(hours=24)
    assert before.replaced_by == after.id
    clock.advance(24 * 3600 - 1)
    assert before.status(clock()) == "active"
    clock.advance(1)
    assert before.status(clock()) == "expired"


async def test_rotation_shows_the_new_key_before_it_expires_the_old_key(keys: ApiKeys) -> None:
    old = await keys.create("Hotel")

    def killed(minted: MintedKey) -> None:
        raise KeyboardInterrupt(minted.record.id)

    with pytest.raises(KeyboardInterrupt) as stopped:
        await keys.rotate(old.record.id, timedelta(hours=24), show=killed)
    stored = {record.id: record for record in await keys.list()}
    assert (stored[old.record.id].expires_at, stored[old.record.id].replaced_by) == (None, None)
    assert str(stopped.value) in stored


async def test_rotation_never_postpones_the_expiry_of_the_old_key(
    keys: ApiKeys, clock: MovedClock
) -> None:
    ends = clock() + timedelta(hours=1)
    old = await keys.create("Hotel", expires_at=ends)
    await keys.rotate(old.record.id, timedelta(hours=24))
    assert next(k for k in await keys.list() if k.id == old.record.id).expires_at == ends


async def test_rotated_or_revoked_key_is_not_rotated(keys: ApiKeys) -> None:
    rotated, revoked = await keys.create("Hotel"), await keys.create("Inn")
    await keys.rotate(rotated.record.id, timedelta(hours=24))
    await keys.revoke(revoked.record.id)
    for old, reason in ((rotated, "rotated already"), (revoked, "revoked")):
        with pytest.raises(OperatorError, match=reason):
            await keys.rotate(old.record.id, timedelta(hours=24))


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\x00b", "a\u202eb"])
async def test_empty_overlong_or_unprintable_key_name_is_refused(keys: ApiKeys, name: str) -> None:
    with pytest.raises(OperatorError, match="printable"):
        await keys.create(name)


async def test_expiry_of_a_new_key_must_lie_in_the_future(keys: ApiKeys, clock: MovedClock) -> None:
    with pytest.raises(OperatorError, match="future"):
        await keys.create("Hotel", expires_at=clock())


async def test_revocation_error_names_an_unknown_id_but_never_a_key(keys: ApiKeys) -> None:
    with pytest.raises(OperatorError, match="There is no key 'key_x'"):
        await keys.revoke("key_x")
    for secret in (mint(), mint("lc_test_")):
        with pytest.raises(OperatorError) as said:
            await keys.revoke(secret)
        assert secret not in str(said.value)
