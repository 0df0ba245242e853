"""Importer: a dataset's bytes become a new version of the guide, or an error that changes nothing.

A file with more than half of its rows rejected is rejected whole; a strict import rejects it at the
first.
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
# year of the award), not from any dataset, so that a first run shows something true. It is a
# demonstration, and says so wherever it is shown. Rows are of 2024, or of 2023.
SAMPLE = records.Provenance(
    source="sample.csv",
    dated=date(2024, 6, 30),
    kind="sample",
    attribution="Sample guide",
    license=MIT.name,
)


class ImportRejected(OperatorError):
    """An error that rejects the whole file; `report` lists the errors of its rows."""

    def __init__(self, message: str, report: ImportReport) -> None:
        super().__init__(message)
        self.report = report


class Importer:
    """Imports datasets in any installed format; `read` reads one, in a sandbox unless trusted."""

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
        """Import a dataset and make it the active version of the guide of this name.

        Raises:
            OperatorError: it is not a dataset, or too much of it is wrong; nothing is changed.
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
    """Make the sample guide of the package the active version of the guide of this name."""
    sample = msgspec.structs.replace(SAMPLE, radii=radii)
    return await importer.run(sample_data(), sample, name=name, strict=True)


def sample_data() -> bytes:
    """Return the sample guide as a plain CSV."""
    return (resources.files("location_context.sections.guide") / "sample.csv").read_bytes()


def _check(report: ImportReport, *, strict: bool) -> None:
    """Raise `ImportRejected` for a file with too many wrong rows."""
    wrong = len(report.refused)
    if strict and wrong:
        raise ImportRejected(
            f"{wrong} of {report.rows} rows are wrong, and the import is strict; "
            "nothing was changed.",
            report,
        )
    if wrong * 2 > report.rows:
        first = report.refused[0]
        raise ImportRejected(
            f"{wrong:,} of {report.rows:,} rows are wrong, so the whole file is rejected and "
            f"nothing was changed. The first: {report.counted_in} {first.line}: {first.reason}.",
            report,
        )
