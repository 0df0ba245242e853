"""A stand-in for OpenHolidays: school holidays of Bavaria and of a whole country."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.standins.server import Answered

if TYPE_CHECKING:
    from tests.standins.server import Asked


def holiday(
    first: str, last: str, names: dict[str, str], *codes: str, groups: tuple[str, ...] = ()
) -> dict[str, Any]:
    """One row as the service has it; nationwide without codes and groups."""
    return {
        "id": f"{first}-{'-'.join(codes + groups)}",
        "startDate": first,
        "endDate": last,
        "type": "School",
        "name": [{"language": tag.upper(), "text": text} for tag, text in names.items()],
        "regionalScope": "Regional" if codes or groups else "National",
        "temporalScope": "FullDay",
        "nationwide": not codes and not groups,
        **({"subdivisions": [{"code": c, "shortName": c} for c in codes]} if codes else {}),
        **({"groups": [{"code": c, "shortName": c} for c in groups]} if groups else {}),
    }


CHRISTMAS = {"de": "Weihnachtsferien", "en": "Christmas Holidays"}
ROWS = {
    "DE": [
        holiday("2026-12-24", "2027-01-08", CHRISTMAS, "DE-BY"),
        holiday("2026-12-23", "2027-01-02", CHRISTMAS, "DE-BE", "DE-BB"),
    ],
    "LU": [holiday("2026-12-19", "2027-01-03", {"fr": "Vacances de Noël"})],
}


def respond(asked: Asked) -> Answered:
    """As the service answers; anything but school holidays is not found."""
    if asked.path != "/SchoolHolidays":
        return Answered({"title": "Not Found"}, status=404)
    return Answered(ROWS.get(asked.query.get("countryIsoCode", ""), []))
