"""API keys: how a key is created, checked, stored and revoked.

A key is `lc_live_` or `lc_test_`, then 32 random bytes as 43 base62 characters, then 6 characters
of a CRC32 checksum. So a mistyped key is rejected without a database query, and secret scanners
find a leaked key. Test keys receive made-up answers; their ids begin with `key_test_`. The database
stores only the key's HMAC-SHA-256 under the pepper, so a stolen database reveals no keys.
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
    """The stored record of a key; `replaced_by` is the id of its successor after a rotation."""

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
        """True for a test key, which receives made-up answers."""
        return is_test(self.id)

    @cached_property
    def limits(self) -> Limits:
        """The key's quotas: requests a minute and a UTC day."""
        return Limits(Limit("minute", self.per_minute, 60), Limit("day", self.per_day, DAY))

    def status(self, now: datetime) -> KeyStatus:
        if self.revoked_at is not None and self.revoked_at <= now:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= now:
            return "expired"
        return "active"


@dataclass(frozen=True)
class MintedKey:
    """A new key with its secret, which is shown once and not stored."""

    record: ApiKey
    secret: str = field(repr=False)


class KeyStore(Protocol):
    """A store of API keys. Every change to a key also changes `version`."""

    @property
    def damaged(self) -> Sequence[str]:
        """The ids of the unreadable rows that the last call of `all` skipped."""
        ...

    async def version(self) -> str: ...

    async def all(self) -> Sequence[ApiKey]:
        """Return all keys, also expired and revoked ones, oldest first."""
        ...

    async def add(self, record: ApiKey) -> None: ...

    async def revoke(self, key_id: str, at: datetime) -> ApiKey | None:
        """Revoke a key, unless it is revoked already; return it, or None if it does not exist."""
        ...

    async def retire(self, key_id: str, until: datetime, successor_id: str) -> None:
        """Record a key's successor; let the key expire at `until`, unless it expires earlier."""
        ...

    async def pepper_check(self) -> str | None: ...

    async def set_pepper_check(self, value: str) -> None: ...


def mint(prefix: str = LIVE_PREFIX) -> str:
    """Return the text of a new random key."""
    body = prefix + _base62(int.from_bytes(secrets.token_bytes(32)), _RANDOM_CHARACTERS)
    return body + _check(body)


def is_well_formed(key: str) -> bool:
    """Return True if a key has the right form and checksum, so that it may exist."""
    if not _FORM.fullmatch(key):
        return False
    return key[-_CHECK_CHARACTERS:] == _check(key[:-_CHECK_CHARACTERS])


def is_test(key_id: str) -> bool:
    """Return True if the id is that of a test key."""
    return key_id.startswith(_TEST_ID)


def digest(pepper: bytes, key: str) -> bytes:
    """Return the HMAC-SHA-256 that is stored instead of the key."""
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
    """The operator's commands on keys: create, list, find, revoke, rotate."""

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
        """Create and store a key; if `test`, requests with the key receive made-up answers.

        Raises:
            OperatorError: the name is empty, too long or unprintable; or the expiry is past.
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
        """Return all keys, also expired and revoked ones, oldest first."""
        return await self._store.all()

    async def find(self, key_id: str) -> ApiKey:
        """Return the key with this id.

        Raises:
            OperatorError: there is no such key.
        """
        found = next((key for key in await self._store.all() if key.id == key_id), None)
        if found is None:
            raise _unknown_key(key_id)
        return found

    async def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key now, and return it.

        Raises:
            OperatorError: there is no such key.
        """
        if (record := await self._store.revoke(key_id, self._clock())) is None:
            raise _unknown_key(key_id)
        return record

    async def rotate(
        self, key_id: str, grace: timedelta, show: Callable[[MintedKey], None] = lambda _: None
    ) -> MintedKey:
        """Create a successor with equal name, limits and expiry; the old key expires after `grace`.

        `show` receives the new key before the old key's expiry is set. So an interrupted command
        never leaves an expiring key whose successor was not shown.

        Raises:
            OperatorError: the key is unknown, expired, revoked or rotated already.
        """
        now = self._clock()
        old = await self.find(key_id)
        if old.status(now) != "active":
            raise OperatorError(f"The key {key_id} is {old.status(now)}; create a new key.")
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
    # if the caller passed a key, the message must not repeat it
    if any(prefix in key_id for prefix in PREFIXES):
        return OperatorError("This is the key itself; pass its id, which `keys list` shows.")
    return OperatorError(f"There is no key {key_id[:64]!r}; `keys list` shows all ids.")
