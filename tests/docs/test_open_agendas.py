"""docs/open-agendas.md is true: each recipe is run as it stands there, up to the widget's footer.

Only the host of an address becomes that of a server here, which gives an answer rebuilt from the
sources that the page names (`portals/`): its fields and their types, nulls, markup and odd dates.
"""

import html
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from location_context.cli import events as events_command
from location_context.sections.events.imports.tables import FIELDS
from location_context.settings import Settings
from tests.conftest import ROOT
from tests.docs.commands import Shown, of_page
from tests.fakes.server import FakeRequest, FakeResponse, FakeServer
from tests.moved_clock import MovedClock
from tests.serving import serve
from tests.web.commands import command
from tests.web.conftest import Client, make_key
from tests.web.full_app import OFF

PAGE = ROOT / "docs" / "open-agendas.md"
PORTALS = Path(__file__).parent / "portals"
STAY = {"start": "2026-12-01", "end": "2026-12-04"}
RECIPES = list(of_page(PAGE))
ODS = "/api/explore/v2.1/catalog/datasets"


@dataclass(frozen=True)
class Portal:
    """A portal's answer, where its agenda is looked at, and what is seen there."""

    file: str
    path: str
    place: tuple[str, str]
    notice: tuple[str, str | None, str]
    shown: dict[str, dict[str, Any]]
    refused: str | None = None
    query: dict[str, str] = field(default_factory=dict)


ALL = {
    "public.opendatasoft.com": Portal(
        "openagenda.csv",
        f"{ODS}/evenements-publics-openagenda/exports/csv",
        ("47.2184", "-1.5536"),
        ("OpenAgenda, Licence Ouverte", "Licence Ouverte", "https://openagenda.com"),
        {
            "Carmen, opéra en plein air": {
                "start": "2026-12-02T20:00:00+01:00", "end": "2026-12-02T22:30:00+01:00",
                "category": "performing_arts", "venue": "Théâtre Graslin",
                "url": "https://openagenda.com/agendas/9153/events/11420931",
                "image": "https://cdn.openagenda.com/main/carmen.base.image.jpg",
            },
            "Marché de Noël ; artisans d'ici": {
                "start": "2026-11-27T10:00:00+01:00", "category": "community", "image": None,
            },
        },
        refused="Visite en ligne du château: the entry names no place",
        query={
            "where": "within_distance(location_coordinates,geom'POINT(-1.5536 47.2184)',30km)"
            " and lastdate_end>=now() and firstdate_begin<=now(days=90)"
        },
    ),
    "opendata.paris.fr": Portal(
        "paris.json",
        f"{ODS}/que-faire-a-paris-/exports/json",
        ("48.8530", "2.3499"),
        ("Ville de Paris, Que faire à Paris ?", "ODbL 1.0", "https://opendata.paris.fr"),
        {
            "Nocturne baroque & clavecin": {
                "start": "2026-12-02T19:30:00+01:00", "category": "concert",
                "venue": "Église Saint-Gervais", "address": "13 rue des Barres",
                "image": "https://cdn.paris.fr/qfapv4/2026/10/01/baroque.jpg",
            },
            "Estampes du Japon": {"start": "2026-10-15T10:00:00+02:00", "category": "exhibition"},
        },
        refused="object 3: the start is missing",
    ),
    "data.toulouse-metropole.fr": Portal(
        "toulouse.csv",
        f"{ODS}/agenda-des-manifestations-culturelles-so-toulouse/exports/csv",
        ("43.6045", "1.4442"),
        ("Toulouse Métropole, So Toulouse", "etalab-2.0", "https://data.toulouse-metropole.fr"),
        {
            "ALBA MOLINA": {
                "start": "2026-12-02T20:30:00+01:00", "end": None, "category": "concert",
                "venue": "SALLE NOUGARO", "url": None,
            },
            "FESTIVAL DU FILM D'ENVIRONNEMENT": {
                "start": "2026-11-28", "end": "2026-12-04", "all_day": True,
            },
        },
        refused="line 5: the title is missing",
    ),
    "datos.madrid.es": Portal(
        "madrid.json",
        "/egob/catalogo/206974-0-agenda-eventos-culturales-100.json",
        ("40.4168", "-3.7038"),
        ("Origen de los datos: Ayuntamiento de Madrid", None, "https://datos.madrid.es"),
        {
            "4. Concierto Romántico": {
                "start": "2026-12-02T18:00:00+01:00", "end": None, "category": "concert",
                "venue": "Centro Cultural Conde Duque", "address": "CALLE CONDE DUQUE 11",
            },
            "35º Certamen coreográfico de Madrid": {
                "start": "2026-12-01", "end": "2026-12-05", "all_day": True,
            },
            "Taller de títeres": {"start": "2026-12-03T17:30:00+01:00", "distance": 0},
        },
        query={"distrito_nombre": "CENTRO"},
    ),
    "api.euskadi.eus": Portal(
        "euskadi.json",
        "/culture/events/v1.0/events/upcoming",
        ("43.3183", "-1.9812"),
        ("Gobierno Vasco, Open Data Euskadi", "CC BY 4.0", "https://opendata.euskadi.eus"),
        {
            "Orfeón Donostiarra: Un réquiem alemán": {
                "start": "2026-12-02T19:30:00+01:00", "end": None, "category": "concert",
                "venue": "Kursaal", "url": "https://www.donostiakultura.eus/es/agenda/requiem",
                "image": "https://opendata.euskadi.eus/contenidos/requiem.jpg",
            },
            "Hamlet": {
                "start": "2026-12-03", "all_day": True, "category": "performing_arts", "url": None,
            },
            "Oteiza en papel": {
                "start": "2026-10-01", "end": "2027-01-31", "category": "exhibition", "url": None,
            },
        },
        query={"provinceNoraCode": "20", "municipalityNoraCode": "69"},
    ),
    "api.hel.fi": Portal(
        "helsinki.json",
        "/linkedevents/v1/event/",
        ("60.1719", "24.9414"),
        ("City of Helsinki, Linked Events", "CC BY 4.0", "https://api.hel.fi/linkedevents/v1/"),
        {
            "Finnish Radio Symphony Orchestra": {
                "start": "2026-12-02T19:00:00+02:00", "end": "2026-12-02T21:15:00+02:00",
                "category": "concert", "venue": "Helsinki Music Centre",
                "address": "Karamzininranta 4", "url": "https://musiikkitalo.fi/tapahtuma",
                "image": None,
            },
            "Satutunti": {"start": "2026-12-03", "venue": "Oodi", "all_day": True, "url": None},
        },
        refused="Etäluento: the entry names no place",
        query={"include": "location,keywords", "dwithin_origin": "24.9414,60.1719"},
    ),
}  # fmt: skip


def _address(recipe: Shown) -> str:
    return next(word for word in recipe.arguments or () if word.startswith("https://"))


def _host(recipe: Shown) -> str:
    return urlsplit(_address(recipe)).hostname or ""


def _answer(request: FakeRequest) -> FakeResponse:
    """Return the answer of the portal with that path to the query of its recipe, else 404."""
    for portal in ALL.values():
        if request.path == portal.path and portal.query.items() <= request.query.items():
            kind = "text/csv" if portal.file.endswith(".csv") else "application/json"
            body = (PORTALS / portal.file).read_bytes()
            return FakeResponse(body, headers={"Content-Type": kind})
    return FakeResponse(status=404)


@pytest.fixture(scope="module")
def reports() -> dict[str, str]:
    """What the command of each recipe reported, by host."""
    return {}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, reports: dict[str, str]) -> Iterator[Client]:
    """The service after all recipes of the page, run as they stand there."""
    folder = tmp_path_factory.mktemp("agendas")
    settings = Settings(data_dir=folder, log_level="error", widget_deadline=30.0, **OFF)
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(events_command, "system_clock", MovedClock())
        portal = stack.enter_context(FakeServer(_answer).running())
        allowed = {"LOCATION_CONTEXT_FEEDS_ALLOW_PRIVATE": "true"}
        for recipe in RECIPES:
            arguments = [
                word.replace(f"https://{_host(recipe)}", portal.url)
                if word == _address(recipe)
                else word
                for word in recipe.arguments or ()
            ]
            reports[_host(recipe)] = command(folder, *arguments, more=allowed).stderr
        key = make_key(settings)
        yield Client(stack.enter_context(serve(settings, clock=MovedClock())), key)


def test_docs_page_has_a_recipe_for_each_open_data_portal() -> None:
    assert len(RECIPES) >= 6
    assert [_host(recipe) for recipe in RECIPES] == list(ALL)


def test_data_docs_page_names_every_column_of_an_event_table() -> None:
    page = (ROOT / "docs" / "data.md").read_text("utf-8")
    assert [name for name in FIELDS if f"`{name}`" not in page] == []


@pytest.mark.parametrize("host", ALL)
def test_recipe_imports_the_events_of_its_portal_with_their_attribution(
    client: Client, host: str
) -> None:
    portal = ALL[host]
    lat, lng = portal.place
    answer = client.get("/v1/pulse/events", {"lat": lat, "lng": lng, **STAY}).json()
    found = {one["title"]: one for one in answer["events"] if "calendars" in one["sources"]}
    assert found.keys() == portal.shown.keys()
    for title, expected in portal.shown.items():
        event = found[title]
        venue = event["venue"]
        seen = {**event, "venue": venue["name"], "address": venue["address"],
                "distance": venue["distance"]}  # fmt: skip
        assert {name: seen[name] for name in expected} == expected
    text, licence, url = portal.notice
    (notice,) = [one for one in answer["attribution"] if one["text"] == text]
    assert (notice["license"], notice["url"], notice["adapted"]) == (licence, url, True)
    others = {one.notice[0] for one in ALL.values()} - {text}
    assert not others & {one["text"] for one in answer["attribution"]}


@pytest.mark.parametrize("host", ALL)
def test_widget_shows_the_events_of_a_recipe_with_their_attribution(
    client: Client, host: str
) -> None:
    portal = ALL[host]
    lat, lng = portal.place
    page = client.get("/v1/pulse", {"lat": lat, "lng": lng, "lang": "en", **STAY}, key=None).text
    footer = page[page.index("<footer") :]
    seen = html.unescape(re.sub(r"<[^>]+>", "", page)).replace("\u00a0", " ")
    assert all(title in seen for title in portal.shown)
    text, _, url = portal.notice
    assert text in html.unescape(re.sub(r"<[^>]+>", "", footer)).replace("\u00a0", " ")
    assert f'href="{url}"' in footer


@pytest.mark.parametrize("host", ALL)
@pytest.mark.usefixtures("client")
def test_recipe_reports_the_refused_rows(reports: dict[str, str], host: str) -> None:
    refused = ALL[host].refused
    report = " ".join(reports[host].split())
    assert refused in report if refused else "- " not in report
