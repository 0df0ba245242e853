"""Formats: turn a dataset's bytes into rows; field names are the same for every format.

In a column's name, only letters and digits matter, in either case: `PhoneNumber`, `phone_number`
and `Phone Number` are the same field. Unknown columns are ignored.
"""

import gzip
import io
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from location_context.errors import OperatorError

MAX_ROWS = 200_000
MAX_BYTES = 64_000_000  # unpacked: 200,000 rows of 320 bytes
_MEGABYTE = 1_000_000
_PACKED = {
    b"PK\x03\x04": "a zip archive",
    b"PK\x05\x06": "a zip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"%PDF": "a PDF",
}
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_FIELDS = {
    "id", "name", "award", "tier", "stars", "lat", "lng", "coordinates", "address", "location",
    "city", "country", "cuisine", "price", "price_level", "min_price", "max_price", "currency",
    "url", "website", "phone", "award_year", "note",
}  # fmt: skip
_OTHER_NAMES = {
    "restaurant": "name", "title": "name", "itemlabel": "name", "distinction": "award",
    "latitude": "lat", "lon": "lng", "long": "lng", "longitude": "lng", "coord": "coordinates",
    "streetaddress": "address", "citylabel": "city", "countrycode": "country",
    "cuisines": "cuisine", "cuisinelabel": "cuisine", "item": "url", "websiteurl": "website",
    "phonenumber": "phone", "tel": "phone", "year": "award_year",
}  # fmt: skip
_FIELD_OF_COLUMN = {name.replace("_", ""): name for name in _FIELDS} | _OTHER_NAMES


def known_field(column: str) -> str | None:
    """Return the name of a column's field, such as `phone` for `PhoneNumber`; None if unknown."""
    return _FIELD_OF_COLUMN.get("".join(c for c in column.casefold() if c.isalnum()))


class RowError(Exception):
    """Raised if a row is rejected. Its message is a clause, such as "the name is missing"."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a dataset.

    Attributes:
        line: the line on which the row begins, or in JSON the record's number; the first is 1.
        fields: texts, without spaces around them, by the field names that `known_field` returns.
        broken: why the row could not be split into fields; None if it could.
    """

    line: int
    fields: Mapping[str, str]
    broken: str | None = None

    def get(self, name: str) -> str:
        """Return the text of a field, "" if the row does not have the field."""
        return self.fields.get(name, "")

    @property
    def names_tier(self) -> bool:
        """True if the row has a tier, an award or stars."""
        return not self.fields.keys().isdisjoint({"tier", "award", "stars"})


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of a file.

    Attributes:
        kind: the name of the format in reports and lists of versions.
        rows: at least one and at most `MAX_ROWS`, in the order of the file.
        counted_in: the thing that `Row.line` counts, such as `line` or `feature`.
    """

    kind: str
    rows: list[Row] = field(repr=False)
    counted_in: str = "line"

    @classmethod
    def of(cls, kind: str, rows: Iterable[Row], counted_in: str = "line") -> "Table":
        """Return a table with these rows.

        Raises:
            OperatorError: there are no rows, or more than `MAX_ROWS`.
        """
        taken: list[Row] = []
        for row in rows:
            if len(taken) == MAX_ROWS:
                raise OperatorError(
                    f"The file has more than {MAX_ROWS:,} rows, which is the limit."
                )
            taken.append(row)
        if not taken:
            raise OperatorError("The file has no rows.")
        return cls(kind, taken, counted_in)


class GuideFormat(ABC):
    r"""A file format of guide datasets.

    A format only splits bytes into rows of named texts. The importer then interprets the rows
    (tiers, prices, coordinates), and finds duplicates and errors. A package adds a format through
    an entry point of the group `location_context.guide_importers`:

        [project.entry-points."location_context.guide_importers"]
        pipe = "my_package.pipe:PipeFormat"

    Attributes:
        name: the name under which the format is registered.
        order: formats are tried from the lowest `order` to the highest. The built-in ones come
            last, and CSV at the very end, since it accepts any text.

    Example: restaurants as lines "name|tier|latitude,longitude" below a line "#guide".

        >>> class PipeFormat(GuideFormat):
        ...     name = "pipe"
        ...
        ...     def recognises(self, data: bytes) -> bool:
        ...         return data.startswith(b"#guide")
        ...
        ...     def read(self, data: bytes) -> Table:
        ...         lines = decode_text(data).splitlines()
        ...         return Table.of("pipe", map(self._row, range(2, len(lines) + 1), lines[1:]))
        ...
        ...     def _row(self, number: int, line: str) -> Row:
        ...         name, tier, place = line.split("|")
        ...         lat, lng = place.split(",")
        ...         return Row(number, {"name": name, "tier": tier, "lat": lat, "lng": lng})
        >>> table = read_table(b"#guide\nChez Pipe|one_star|48.85,2.35", [PipeFormat()])
        >>> table.kind, table.rows[0].line, table.rows[0].get("tier")
        ('pipe', 2, 'one_star')
    """

    name: str
    order: int = 100

    @abstractmethod
    def recognises(self, data: bytes) -> bool:
        """Return True if the file begins like this format; must be quick and must not raise.

        Args:
            data: the whole file, of at most `MAX_BYTES`; gzip is already unpacked.
        """

    @abstractmethod
    def read(self, data: bytes) -> Table:
        """Return the rows of a file that `recognises` accepted.

        For a row that cannot be split into fields, return a `Row` with `broken`, and read on.

        Raises:
            OperatorError: nothing can be read; the message says why.
        """


def read_table(data: bytes, formats: Sequence[GuideFormat]) -> Table:
    """Return the rows of a dataset, plain or in gzip, read by the first format that recognises it.

    Raises:
        OperatorError: no format recognises the dataset, or it is damaged or too large.
    """
    data = _unpacked(data)
    for candidate in formats:
        if candidate.recognises(data):
            return candidate.read(data)
    if found := next((what for magic, what in _PACKED.items() if data.startswith(magic)), None):
        raise OperatorError(f"The file is {found}: import the CSV or JSON that it contains.")
    start = decode_text(data)[:2000].lstrip().lower()
    if not start:
        raise OperatorError("The file is empty.")
    if start.startswith(("<!doctype", "<html", "<?xml", "<head", "<body")):
        raise OperatorError(
            "The file is a web page or XML, not a dataset: open it in a browser to see why."
        )
    raise OperatorError("The file's format is unknown; accepted: CSV, GeoJSON, SPARQL results.")


def first_character(data: bytes) -> str:
    """Return the first character that is not blank; "" if the data is empty or is not text."""
    if data.startswith((*_UTF16_MARKS, *_PACKED)) or b"\0" in data[:2000]:
        return ""
    return data[:2000].decode("utf-8-sig", "ignore").lstrip()[:1]


def decode_text(data: bytes) -> str:
    """Return the text of a file in UTF-8.

    Raises:
        OperatorError: the file is in another encoding, or is not text.
    """
    if data.startswith(_UTF16_MARKS):
        raise OperatorError("The file is UTF-16: save it as UTF-8.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise OperatorError(
            f"The file is not UTF-8: byte {error.start:,} on line {line:,} is "
            f"0x{data[error.start]:02x}. Save it as UTF-8."
        ) from None
    if (at := text.find("\x00")) >= 0:
        line = text.count("\n", 0, at) + 1
        raise OperatorError(f"The file is not text: it has a zero byte on line {line:,}.")
    return text


def _unpacked(data: bytes) -> bytes:
    if data.startswith(b"\x1f\x8b"):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
                data = packed.read(MAX_BYTES + 1)
        except (OSError, EOFError, zlib.error):
            raise OperatorError("The file is a damaged or incomplete gzip file.") from None
    if len(data) > MAX_BYTES:
        raise OperatorError(f"The file is larger than {MAX_BYTES // _MEGABYTE} MB, the limit.")
    return data
