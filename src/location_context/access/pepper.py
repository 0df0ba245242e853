"""The pepper: the secret for the HMACs that are stored instead of API keys, and its verification.

The pepper is a setting, or is created once in the data directory in a file that only its owner can
read. At startup, a check value stored with the keys reveals a wrong pepper, with which every key
would be rejected.
"""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

import anyio

from location_context.access.keys import KeyStore
from location_context.errors import OperatorError
from location_context.settings import Settings
from location_context.settings.data_dir import PEPPER_FILE


async def open_pepper(settings: Settings, store: KeyStore) -> bytes:
    """Return the pepper that matches the stored keys.

    Raises:
        OperatorError: the pepper is missing or does not match; the message says what to do.
    """
    path = settings.data_dir / PEPPER_FILE
    check = await store.pepper_check()
    given = settings.key_pepper.reveal().encode()
    pepper = given or await anyio.to_thread.run_sync(_read, path)
    if not pepper:
        if check is not None and await store.all():
            raise OperatorError(
                f"The pepper of the stored keys is missing: restore {path} from a backup, or set "
                "LOCATION_CONTEXT_KEY_PEPPER to its text. Without it, no stored key can be checked."
            )
        pepper = await anyio.to_thread.run_sync(_make, path)
    await _verify(store, pepper, check, "LOCATION_CONTEXT_KEY_PEPPER" if given else str(path))
    return pepper


async def _verify(store: KeyStore, pepper: bytes, check: str | None, origin: str) -> None:
    """Reject a pepper that does not match the stored keys; otherwise store its check value."""
    if check is not None and hmac.compare_digest(check, _check(pepper)):
        return
    if check is not None and await store.all():
        raise OperatorError(
            f"The pepper in {origin} does not match the stored keys, so every key would be "
            "rejected. Provide the pepper that the keys were created with."
        )
    await store.set_pepper_check(_check(pepper))


def _check(pepper: bytes) -> str:
    return hmac.digest(pepper, b"location-context: the pepper of these keys", hashlib.sha256).hex()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes().strip()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise OperatorError(f"The pepper {path} cannot be read: {error.strerror}") from None


def _make(path: Path) -> bytes:
    """Create the file with a random pepper, unless it exists; return the pepper in it."""
    draft = path.with_name(f"{PEPPER_FILE}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            os.fsync(descriptor)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first: use its pepper
        finally:
            draft.unlink()
    except OSError as error:
        raise OperatorError(f"The pepper {path} cannot be written: {error.strerror}") from None
    return _read(path)
