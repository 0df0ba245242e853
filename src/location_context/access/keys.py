"""API keys: how a key is created, checked, stored and revoked.

A key is `lc_live_` or `lc_test_`, 43 base62 characters of 32 random bytes, and 6 of the CRC32 of
all before it, so that a mistyped key is refused without a look-up and a leaked one is found by
secret scanners. A test key receives fixed answers; its id says so, and it never becomes a live one.
Only its HMAC-SHA-256 under the pepper is stored, so that a copy of the database holds no keys.
"""

import hashlib
import hmac
import re
import secrets
import string
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Literal, Protocol

from location_context.access.quota import DAY, Limit, Limits
from location_context.errors import OperatorError
from location_context.stay import Clock

LIVE_PREFIX, TEST_PREFIX = PREFIXES = ("lc_live_", "lc_test_")
_ID, _TEST_ID = "key_", "key_test_"
DEFAULT_PER_MINUTE, DEFAULT_PER_DAY = 600, 50_000
_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_FORM = re.compile(rf"({'|'.join(PREFIXES)})[0-9A-Za-z]{{49}}", re.ASCII)
_RANDOM_CHARACTERS, _CHECK_CHARACTERS = 43, 6

KeyStatus = Literal["active", "expired", "revoked"]


@dataclass(frozen=True, kw_only=True)
class ApiKey:
    """The record of a key. `replaced_by` is the id of the key that a rotation made."""

    id: str
    name: str
    digest: bytes = field(repr=False)
    per_minute: int = DEFAULT_PER_MINUTE
    per_day: int = DEFAULT_PER_DAY
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    replaced_by: str | None = None

    @property
    def test(self) -> bool:
        """True if it receives fixed answers."""
        return is_test(self.id)

    @cached_property
    def limits(self) -> Limits:
        """The limits under which its requests are counted."""
        return Limits(Limit("minute", self.per_minute, 60), Limit("day", self.per_day, DAY))

    def status(self, now: datetime) -> KeyStatus:
        if self.revoked_at is not None and self.revoked_at <= now:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= now:
            return "expired"
        return "active"


@dataclass(frozen=True)
class MintedKey:
    """A new key; its secret is never available again."""

    record: ApiKey
    secret: str = field(repr=False)


class KeyStore(Protocol):
    """A store of keys. Every change gives `version` a new value."""

    @property
    def damaged(self) -> Sequence[str]:
        """The ids of the rows that the last `all` could not read and left out."""
        ...

    async def version(self) -> str: ...

    async def all(self) -> Sequence[ApiKey]:
        """Return every key ever made, oldest first."""
        ...

    async def add(self, record: ApiKey) -> None: ...

    async def revoke(self, key_id: str, at: datetime) -> ApiKey | None:
        """Revoke a key; an earlier revocation stays. None if the key does not exist."""
        ...

    async def retire(self, key_id: str, until: datetime, successor_id: str) -> None:
        """Record a key's successor, and let the key expire at `until` or earlier."""
        ...

    async def pepper_check(self) -> str | None: ...

    async def set_pepper_check(self, value: str) -> None: ...


def mint(prefix: str = LIVE_PREFIX) -> str:
    """Return a new key."""
    body = prefix + _base62(int.from_bytes(secrets.token_bytes(32)), _RANDOM_CHARACTERS)
    return body + _check(body)


def is_well_formed(key: str) -> bool:
    """Return True if the form and the checksum are right; if not, no look-up is needed."""
    if not _FORM.fullmatch(key):
        return False
    return key[-_CHECK_CHARACTERS:] == _check(key[:-_CHECK_CHARACTERS])


def is_test(key_id: str) -> bool:
    """Return True for the id of a test key."""
    return key_id.startswith(_TEST_ID)


def digest(pepper: bytes, key: str) -> bytes:
    """Return the digest that is stored instead of a key."""
    return hmac.digest(pepper, key.encode(), hashlib.sha256)


def _check(text: str) -> str:
    return _base62(zlib.crc32(text.encode()), _CHECK_CHARACTERS)


def _base62(number: int, width: int) -> str:
    characters = []
    for _ in range(width):
        number, remainder = divmod(number, 62)
        characters.append(_BASE62[remainder])
    return "".join(reversed(characters))


class ApiKeys:
    """The operations on keys that the operator has."""

    def __init__(self, store: KeyStore, pepper: bytes, clock: Clock) -> None:
        self._store = store
        self._pepper = pepper
        self._clock = clock

    async def create(
        self,
        name: str,
        *,
        per_minute: int = DEFAULT_PER_MINUTE,
        per_day: int = DEFAULT_PER_DAY,
        expires_at: datetime | None = None,
        test: bool = False,
    ) -> MintedKey:
        """Make a key, or a test key.

        Raises:
            OperatorError: the name is empty or too long, or the expiry is not in the future.
        """
        name = " ".join(name.split())
        if not 1 <= len(name) <= 200 or not name.isprintable():
            raise OperatorError("The name of a key must have 1 to 200 printable characters.")
        if expires_at is not None and expires_at <= self._clock():
            raise OperatorError("A key must expire in the future.")
        minted = self._mint(
            ApiKey(
                id="",
                name=name,
                digest=b"",
                per_minute=per_minute,
                per_day=per_day,
                created_at=self._clock(),
                expires_at=expires_at,
            ),
            test=test,
        )
        await self._store.add(minted.record)
        return minted

    async def list(self) -> Sequence[ApiKey]:
        """Return every key ever made, oldest first."""
        return await self._store.all()

    async def find(self, key_id: str) -> ApiKey:
        """Return a key.

        Raises:
            OperatorError: there is no such key.
        """
        found = next((key for key in await self._store.all() if key.id == key_id), None)
        if found is None:
            raise _unknown_key(key_id)
        return found

    async def revoke(self, key_id: str) -> ApiKey:
        """End a key now.

        Raises:
            OperatorError: there is no such key.
        """
        if (record := await self._store.revoke(key_id, self._clock())) is None:
            raise _unknown_key(key_id)
        return record

    async def rotate(
        self, key_id: str, grace: timedelta, show: Callable[[MintedKey], None] = lambda _: None
    ) -> MintedKey:
        """Create a key of the same kind with the same name, limits and expiry.

        The old key keeps working for `grace`.

        `show` receives the new key before the old one's expiry is set. So a killed command never
        ends a key whose successor nobody has seen.

        Raises:
            OperatorError: the key is unknown, has ended or was rotated already.
        """
        now = self._clock()
        old = await self.find(key_id)
        if old.status(now) != "active":
            raise OperatorError(f"The key {key_id} is {old.status(now)}; create a new one.")
        if old.replaced_by is not None:
            raise OperatorError(
                f"The key {key_id} was rotated already; its successor is {old.replaced_by}."
            )
        minted = self._mint(replace(old, created_at=now), test=old.test)
        await self._store.add(minted.record)
        show(minted)
        await self._store.retire(key_id, now + grace, minted.record.id)
        return minted

    def _mint(self, record: ApiKey, *, test: bool) -> MintedKey:
        secret = mint(TEST_PREFIX if test else LIVE_PREFIX)
        key_id = (_TEST_ID if test else _ID) + _base62(secrets.randbits(80), 14)
        return MintedKey(replace(record, id=key_id, digest=digest(self._pepper, secret)), secret)


def _unknown_key(key_id: str) -> OperatorError:
    # a key is never repeated, not even to its operator's terminal
    if any(prefix in key_id for prefix in PREFIXES):
        return OperatorError("This is a key itself; give its id, which `keys list` shows.")
    return OperatorError(f"There is no key {key_id[:64]!r}; `keys list` shows them.")
