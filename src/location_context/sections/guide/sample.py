"""The sample guide: so that a first run shows something true.

Well-known restaurants written from general knowledge (name, tier, city, coordinates to a few
hundred metres, year of the award), not from any dataset. It is not current, and says so wherever
it is shown. Most rows are of 2024, some of 2023; what could not be checked was left out, but for
a few plainly known mentions in the tier `selected`.
"""

from __future__ import annotations

from datetime import date
from importlib import resources
from typing import TYPE_CHECKING

from location_context.sections.guide.imports.importer import About
from location_context.sections.licences import MIT

if TYPE_CHECKING:
    from location_context.sections.guide.imports.importer import Importer, Report
    from location_context.sections.guide.records import GuideVersion

ABOUT = About(
    source="sample.csv",
    dated=date(2024, 6, 30),
    kind="sample",
    attribution="Sample guide",
    license=MIT.name,
)


def sample_data() -> bytes:
    """The sample as a plain CSV."""
    return (resources.files("location_context.sections.guide") / "sample.csv").read_bytes()


async def import_sample(importer: Importer) -> tuple[GuideVersion, Report]:
    """Make the sample guide the active version."""
    return await importer.run(sample_data(), ABOUT, strict=True)
