"""Sources: read the operator's dataset (file, URL or Wikidata query) and labels of tiers.

The file with the labels is JSON, or TOML as in this example:

    [three_star]
    label = "Three rosettes"
    meaning = { en = "Worth crossing the country for", de = "Eine Reise durchs Land wert" }

A string is for all languages; a table has a text for each language tag.
"""

import re
import tomllib
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from location_context.errors import OperatorError
from location_context.sections.guide.imports.formats import MAX_BYTES
from location_context.sections.guide.records import TIERS, Tier, TierTexts
from location_context.settings import Settings
from location_context.upstream.download import download
from location_context.upstream.http import HttpClient

_DATE = re.compile(r"(?<!\d)(20\d\d)-?([01]\d)-?([0-3]\d)(?!\d)")
_MAX_LENGTH = {"label": 60, "meaning": 200}  # characters; the widget shows them in one line
_TIMEOUT = 300.0  # seconds; Wikidata may run a query for a minute before it answers

# finds restaurants that hold the award (Q20824563), with its number of stars and its year
WIKIDATA_URL = "https://query.wikidata.org/sparql"
WIKIDATA_QUERY = (resources.files(__package__) / "wikidata.sparql").read_text("utf-8").strip()


@dataclass(frozen=True)
class Dataset:
    """A dataset's bytes, and their origin.

    `source` is the name of the file or host. `dated` is the date of the data, None if unknown.
    """

    data: bytes = field(repr=False)
    source: str
    dated: date | None


async def fetch(client: HttpClient, source: str, settings: Settings) -> Dataset:
    """Read a dataset from a file, or download it if `source` is a URL.

    Raises:
        OperatorError: the file cannot be read or is too large, or the URL is not allowed.
        ProviderError: the URL cannot be reached, or its answer is unusable.
    """
    if re.match(r"[a-z][a-z0-9+.-]*://", source, re.IGNORECASE):
        return await _download(client, source, settings)
    return _read(Path(source))


async def fetch_wikidata(client: HttpClient) -> Dataset:
    """Download the restaurants that Wikidata returns for `WIKIDATA_QUERY`, as JSON.

    Raises:
        ProviderError: Wikidata cannot be reached, or its answer is unusable.
    """
    address = f"{WIKIDATA_URL}?{urlencode({'query': WIKIDATA_QUERY, 'format': 'json'})}"
    response = await download(
        client,
        address,
        allow_private=True,  # the address is a constant, so it needs no check
        max_bytes=MAX_BYTES,
        headers={"Accept": "application/sparql-results+json"},
        timeout=_TIMEOUT,
    )
    return Dataset(response.body, urlsplit(WIKIDATA_URL).hostname or "wikidata", None)


def _read(path: Path) -> Dataset:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise OperatorError(f"{path} is larger than {MAX_BYTES // 1_000_000} MB, the limit.")
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC).date()
        return Dataset(path.read_bytes(), path.name, _date_in_name(path.name) or changed)
    except OSError as error:
        raise OperatorError(f"{path} cannot be read: {error.strerror}.") from None


async def _download(client: HttpClient, url: str, settings: Settings) -> Dataset:
    response = await download(
        client,
        url,
        allow_private=settings.feeds_allow_private,
        max_bytes=MAX_BYTES,
        timeout=_TIMEOUT,
    )
    parts = urlsplit(response.final_url)
    name = Path(parts.path).name or parts.hostname or "address"
    return Dataset(
        response.body,
        name,
        _date_in_name(name) or _date_of_header(response.headers.get("last-modified")),
    )


def _date_in_name(name: str) -> date | None:
    """Return the date (`2026-01-31` or `20260131`) that a file's name contains, or None."""
    try:
        return date(*map(int, match.groups())) if (match := _DATE.search(name)) else None
    except ValueError:
        return None


def _date_of_header(header: str | None) -> date | None:
    try:
        return parsedate_to_datetime(header).date() if header else None
    except (ValueError, OverflowError):
        return None


def read_labels(path: Path) -> dict[Tier, TierTexts]:
    """Read the operator's labels and meanings of tiers from a file, as in the module's example.

    Raises:
        OperatorError: the file cannot be read, or a name or text in it is not accepted.
    """
    try:
        text = path.read_text(encoding="utf-8")
        value = msgspec.json.decode(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise OperatorError(f"The labels in {path} cannot be read: {error}") from None
    labels: dict[Tier, TierTexts] = {}
    for name, texts in value.items():
        tier = next((tier for tier in TIERS if tier == name), None)
        if tier is None:
            raise OperatorError(f"{path} names the tier {name!r}; accepted: {', '.join(TIERS)}")
        if not isinstance(texts, dict) or not texts.keys() <= _MAX_LENGTH.keys():
            raise OperatorError(
                f"The texts of {tier} have an unknown field; accepted: label and meaning"
            )
        by_language = {field: _by_language(tier, field, value) for field, value in texts.items()}
        labels[tier] = TierTexts(**by_language)
    return labels


def _by_language(tier: str, field: str, value: Any) -> dict[str, str]:
    texts = value if isinstance(value, dict) else {"": value}
    for text in texts.values():
        if not isinstance(text, str) or not 0 < len(text.strip()) <= _MAX_LENGTH[field]:
            raise OperatorError(
                f"The {field} of {tier} is {text!r}; "
                f"accepted: a text of at most {_MAX_LENGTH[field]} characters"
            )
        if not text.isprintable():
            raise OperatorError(f"The {field} of {tier} contains control characters; remove them")
    return {str(tag).lower(): text.strip() for tag, text in texts.items()}
