"""A stand-in for OpenHolidays: rows as its server gives them, with true dates of its open data.

Empty lists are left out; `groups` are schools of a kind or of a community, named beside
`subdivisions` or alone; `tags` are words in one text. A request for a time is
answered with the rows that touch it.
"""

from typing import Any

from tests.fakes.server import FakeRequest, FakeResponse

Row = dict[str, Any]


def holiday(
    first: str,
    last: str,
    names: dict[str, str],
    *codes: str,
    groups: tuple[str, ...] = (),
    tags: str | None = None,
) -> Row:
    """One row as the service has it; nationwide without codes and groups."""
    return {
        "id": f"{first}-{'-'.join(codes + groups)}{tags or ''}",
        "startDate": first,
        "endDate": last,
        "type": "School",
        "name": [{"language": tag.upper(), "text": text} for tag, text in names.items()],
        "regionalScope": "Regional" if codes or groups else "National",
        "temporalScope": "FullDay",
        "nationwide": not codes and not groups,
        **({"subdivisions": [{"code": c, "shortName": c[3:]} for c in codes]} if codes else {}),
        **({"groups": [{"code": c, "shortName": c[3:]} for c in groups]} if groups else {}),
        **({"tags": tags} if tags else {}),
    }


def _in(  # noqa: PLR0917  rows read as lines of a table
    country: str, first: str, last: str, name: str, parts: str, groups: str = "", **tags: str
) -> Row:
    """A row of that country; its parts are named as in the open data, without the country."""
    codes = tuple(f"{country}-{part}" for part in parts.split())
    kinds = tuple(f"{country}-{group}" for group in groups.split())
    return holiday(first, last, {"en": name}, *codes, groups=kinds, tags=tags.get("tags"))


CHRISTMAS = {"de": "Weihnachtsferien", "en": "Christmas Holidays"}
_AUTUMN, _SPRING, _SUMMER = "Autumn holidays", "Spring holidays", "Summer holidays"
_DAY, _FLOATING = "Educational Community Day", "Floating holidays"
_GRISONS = "GR-AB GR-BN GR-EB GR-IB GR-LQ GR-ML GR-PD GR-PS GR-SS GR-VM"
_INNER = "AI-AP AI-GO AI-SH AI-SR"
ROWS: dict[str, list[Row]] = {
    "DE": [
        holiday("2026-12-24", "2027-01-08", CHRISTMAS, "DE-BY"),
        holiday("2026-12-23", "2027-01-02", CHRISTMAS, "DE-BE", "DE-BB"),
        _in("DE", "2026-07-04", "2026-08-15", _SUMMER, "SH"),
        _in("DE", "2026-07-04", "2026-08-08", _SUMMER, "SH", tags="Exception"),  # the islands
        _in("DE", "2026-10-05", "2026-10-24", _AUTUMN, "SH", tags="Exception"),
        _in("DE", "2026-10-12", "2026-10-24", _AUTUMN, "SH"),
    ],
    "LU": [holiday("2026-12-19", "2027-01-03", {"fr": "Vacances de Noël"})],
    "CH": [
        _in("CH", "2026-09-19", "2026-10-11", _AUTUMN, "BE", "BE-VS"),
        _in("CH", "2026-10-05", "2026-10-16", _AUTUMN, "BE", "BE-EO"),  # schools in French
        _in("CH", "2026-09-28", "2026-10-16", _AUTUMN, "SO", "SO-BS SO-MS"),
        _in("CH", "2026-10-05", "2026-10-16", _AUTUMN, "AR", "AR-VS"),
        _in("CH", "2026-10-10", "2026-10-25", _AUTUMN, _GRISONS, "GR-VS"),
        _in("CH", "2026-10-31", "2026-11-08", _AUTUMN, "GR-MS", "GR-VS"),
        _in("CH", "2026-07-04", "2026-08-16", _SUMMER, _INNER),
        _in("CH", "2026-07-04", "2026-08-09", _SUMMER, "AI-OB"),
        _in("CH", "2026-09-26", "2026-10-11", _AUTUMN, "BL"),
        _in("CH", "2026-09-26", "2026-10-28", _AUTUMN, "BL", tags="Exception"),  # one school
    ],
    "ES": [
        _in("ES", "2026-02-23", "2026-02-26", "White Week", "AN-MA"),
        *(_in("ES", "2026-02-27", "2026-02-27", _DAY, f"AN-{p}") for p in ("AL", "CA", "MA", "SE")),
        *(_in("ES", "2026-03-02", "2026-03-02", _DAY, f"AN-{p}") for p in ("CO", "GR", "HL", "JA")),
    ],
    "IT": [
        _in("IT", "2026-02-14", "2026-02-22", _FLOATING, "TR-BZ"),
        _in("IT", "2026-02-16", "2026-02-18", _FLOATING, "FV TR-TN VA VE"),
        _in("IT", "2026-04-02", "2026-04-08", "Easter holidays", "TR-BZ TR-TN"),
    ],
    "CZ": [
        _in("CZ", "2026-02-02", "2026-02-08", _SPRING, "ST-MB ST-PB JC-TA JC-PT JC-ST US-UL US-CV "
            "US-MO KR-JC KR-RK OL-OC OL-SU MO-OP OL-JE"),
        _in("CZ", "2026-02-09", "2026-02-15", _SPRING, "ST-BN ST-BE PL-RO JC-CB JC-CK PL-KT KR-TU "
            "PA-PU PA-CR PA-SY PA-UO MO-OV OL-PV"),
        _in("CZ", "2026-02-16", "2026-02-22", _SPRING, "PR"),  # Prague 1 to 5
        _in("CZ", "2026-02-16", "2026-02-22", _SPRING, "JM-BK JM-BM JM-BO JM-BV JM-HO JM-VY JM-ZN "
            "PL-DO PL-TC US-LN MO-KI"),
        _in("CZ", "2026-02-23", "2026-03-01", _SPRING, "PR"),  # Prague 6 to 10
        _in("CZ", "2026-02-23", "2026-03-01", _SPRING, "KA-CH KA-KV KA-SO ST-NB JC-JH US-LT US-DC "
            "OL-PR MO-FM"),
        _in("CZ", "2026-03-02", "2026-03-08", _SPRING, "ZL-KM ZL-UH ZL-VS ZL-ZL ST-PH ST-PZ ST-ME "
            "ST-RA PL-PJ PL-PM PL-PS KR-HK US-TP MO-NJ"),
        _in("CZ", "2026-03-09", "2026-03-15", _SPRING, "LI-CL LI-JN LI-LB LI-SM VY-HB VY-JI VY-PE "
            "VY-TR VY-ZR ST-KL ST-KO ST-KH JC-PI KR-NA MO-BR"),
    ],
}  # fmt: skip


def respond(request: FakeRequest) -> FakeResponse:
    """As the service answers; anything but school holidays is not found."""
    if request.path != "/SchoolHolidays":
        return FakeResponse({"title": "Not Found"}, status=404)
    first, last = request.query["validFrom"], request.query["validTo"]
    rows = ROWS.get(request.query.get("countryIsoCode", ""), [])
    touched = [row for row in rows if row["startDate"] <= last and row["endDate"] >= first]
    return FakeResponse(sorted(touched, key=lambda row: str(row["startDate"])))
