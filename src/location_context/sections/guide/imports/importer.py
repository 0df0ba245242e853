"""Importer: stores a dataset as a new version of a guide; if it fails, nothing is changed.

The whole file is rejected if more than half of its rows are wrong. A strict import rejects the file
if any row is wrong.
"""

from datetime import date
from importlib import resources

import msgspec
import structlog

from location_context.errors import OperatorError
from location_context.sections.contract import MIT
from location_context.sections.guide import records
from location_context.sections.guide.imports import matching
from location_context.sections.guide.imports.reading import ImportReport, Progress, Read
from location_context.stay import Clock

# Well-known restaurants written from general knowledge (name, tier, city, coordinates within 500 m,
# year of the award), not from any dataset, so that a first run shows real restaurants. Each answer
# calls it a demonstration. Awards are of 2024, or of 2023.
SAMPLE = records.Provenance(
    source="sample.csv",
    dated=date(2024, 6, 30),
    kind="sample",
    attribution="Sample guide",
    license=MIT.name,
)


class ImportRejected(OperatorError):
    """The error raised when a whole file is rejected; `report` lists the errors of its rows."""

    def __init__(self, message: str, report: ImportReport) -> None:
        super().__init__(message)
        self.report = report


class Importer:
    """An importer of datasets into a store.

    `read` turns a dataset's bytes into restaurants, in a sandbox unless the bytes are trusted.
    """

    def __init__(self, store: records.GuideStore, clock: Clock, read: Read) -> None:
        self._store = store
        self._clock = clock
        self._read = read

    async def run(
        self,
        data: bytes,
        provenance: records.Provenance,
        *,
        name: str = "",
        strict: bool = False,
        progress: Progress | None = None,
    ) -> tuple[records.GuideVersion, ImportReport]:
        """Store a dataset as a new version of the guide called `name`, and make it active.

        Raises:
            OperatorError: `data` is not a dataset, or too many rows are wrong; nothing is changed.
        """
        reading = self._read(data, progress or (lambda _done, _all: None))
        report = reading.report
        _check(report, strict=strict)
        active = (await self._store.active()).get(name)
        former = await self._store.load(active.number) if active else []
        notice = f"Restaurant guide, as of {provenance.dated.isoformat()}"
        version = await self._store.replace(
            msgspec.structs.replace(
                provenance,
                kind=provenance.kind or report.kind,
                attribution=provenance.attribution or notice,
            ),
            matching.assign_ids(reading.restaurants, former),
            self._clock(),
            name,
        )
        structlog.get_logger().info(
            "import_done", kind="guide", guide=name, version=version.number, rows=version.rows
        )
        return version, msgspec.structs.replace(report, version=version.number)


async def import_sample(
    importer: Importer, name: str = "", radii: tuple[float, ...] = ()
) -> tuple[records.GuideVersion, ImportReport]:
    """Store the built-in sample guide as a new version of the guide `name`, and make it active.

    `radii` are the guide's search radii in km, one for each tier; if empty, the settings' apply.
    """
    sample = msgspec.structs.replace(SAMPLE, radii=radii)
    return await importer.run(sample_data(), sample, name=name, strict=True)


def sample_data() -> bytes:
    """Return the built-in sample guide, in the plain CSV format."""
    return (resources.files("location_context.sections.guide") / "sample.csv").read_bytes()


def _check(report: ImportReport, *, strict: bool) -> None:
    """Raise `ImportRejected` if more than half of the rows (if `strict`, any row) are wrong."""
    wrong = len(report.refused)
    if strict and wrong:
        raise ImportRejected(
            f"{wrong} of {report.rows} rows are wrong, which a strict import does not accept; "
            "nothing was changed.",
            report,
        )
    if wrong * 2 > report.rows:
        first = report.refused[0]
        raise ImportRejected(
            f"{wrong:,} of {report.rows:,} rows are wrong: over half, so the file is rejected and "
            f"nothing was changed. The first: {report.counted_in} {first.line}: {first.reason}.",
            report,
        )
