"""Several guides beside one another: answers, caches, quotas and errors of each, over real HTTP."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlencode

import msgspec
import pytest
from markupsafe import escape

from location_context.sections.events.records import (
    OWN_SOURCE,
    Calendar,
    Place,
    ProviderEvent,
    When,
)
from location_context.sections.guide.records import GuideVersion
from location_context.settings import Settings
from location_context.storage.database import Database
from location_context.storage.datasets import SqlGuideStore
from location_context.storage.events import SqlEventStore
from tests.moved_clock import NOON, MovedClock
from tests.patience import wait_until
from tests.sections.guide.samples import PROVENANCE, restaurant
from tests.web.conftest import STAY, Client, remaining, served_client
from tests.web.full_app import OFF

T = TypeVar("T")
GUIDE = "/v1/pulse/guide"
POINT = {"lat": "48.8566", "lng": "2.3522"}
WIDGET = {**STAY, "sections": "guide"}
PATHS = {GUIDE: POINT, "/v1/pulse": WIDGET, "/v1/pulse.svg": WIDGET}
DISH = re.compile(r"Dish of (\w+) (\d+)")


@dataclass(frozen=True)
class Installation:
    """A data directory whose guides a test imports, as commands do, while it is served."""

    settings: Settings

    def on_database(self, work: Callable[[Database], Awaitable[T]]) -> T:
        async def run() -> T:
            async with await Database.open(self.settings) as database:
                return await work(database)

        return asyncio.run(run())

    def on_guides(self, work: Callable[[SqlGuideStore], Awaitable[T]]) -> T:
        return self.on_database(lambda database: work(SqlGuideStore(database)))

    def store(self, name: str, edition: int) -> GuideVersion:
        """Import a guide of one restaurant, which is named after the guide and the edition."""
        owner = name or "unnamed"
        rows = [restaurant(1, name=f"Dish of {owner} {edition}")]
        provenance = msgspec.structs.replace(PROVENANCE, attribution=f"Notice of {owner}")
        return self.on_guides(lambda guides: guides.replace(provenance, rows, NOON, name))

    def served(self) -> AbstractContextManager[Client]:
        return served_client(self.settings, clock=MovedClock())


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    """Three guides of one edition each; servers follow imports a hundred times a second."""
    monkeypatch.setattr("location_context.sections.section.FOLLOW_SECONDS", 0.01)
    given: dict[str, Any] = {"log_level": "error", "widget_per_minute": 99_999}
    made = Installation(Settings(data_dir=tmp_path, **OFF, **given))
    for name in ("", "house", "rooftop"):
        made.store(name, 1)
    return made


def ask(client: Client, name: str, path: str = GUIDE, **more: Any) -> Any:
    params = PATHS[path] | ({"guide": name} if name else {})
    return client.get(path, params, key="" if path == GUIDE else None, **more)


def dishes(answer: Any) -> set[tuple[str, int]]:
    """The guide and edition of every restaurant in an answer or page."""
    assert answer.status_code == 200, answer.text
    return {(owner, int(edition)) for owner, edition in DISH.findall(answer.text)}


def follow(client: Client, name: str, edition: int) -> None:
    """Wait until the server has followed an import."""
    wait_until(lambda: dishes(ask(client, name)) == {(name or "unnamed", edition)})


def test_each_guide_has_its_own_answer_and_etag(installation: Installation) -> None:
    with installation.served() as client:
        for path in PATHS:
            answers = {name: ask(client, name, path) for name in ("", "house", "rooftop")}
            for name, answer in answers.items():
                assert dishes(answer) == {(name or "unnamed", 1)}
                etag = {"If-None-Match": answer.headers["etag"]}
                for other in answers:
                    again = ask(client, other, path, headers=etag)
                    assert again.status_code == (304 if other == name else 200)


def test_widget_shows_the_notice_of_its_guide(installation: Installation) -> None:
    with installation.served() as client:
        for name in ("", "house"):
            notices = set(re.findall(r"Notice of \w+", ask(client, name, "/v1/pulse").text))
            assert notices == {f"Notice of {name or 'unnamed'}"}


def test_links_of_a_widget_keep_its_guide_parameter(installation: Installation) -> None:
    with installation.served() as client:
        params = {**WIDGET, "guide": "house", "layout": "compact"}
        page = client.get("/v1/pulse", params, key=None).text
        links = [unquote(link) for link in re.findall(r'href="([^"]*/v1/[^"]*)"', page)]
        assert len(links) == 2  # to the full widget, and to oEmbed
        assert [link for link in links if "guide=house" not in link] == []


@pytest.mark.parametrize("seed", range(3))
def test_answer_contains_only_the_requested_guide_in_any_order_of_requests(
    installation: Installation, seed: int
) -> None:
    chance = random.Random(seed)
    with installation.served() as client:
        for _ in range(150):
            name, path = chance.choice(("", "house", "rooftop")), chance.choice(list(PATHS))
            params = list(
                (PATHS[path] | {"guide": name, "lang": chance.choice(("en", "de"))}).items()
            )
            chance.shuffle(params)  # the order of parameters is part of a cached response's key
            coding = {"Accept-Encoding": chance.choice(("identity", "gzip", "br"))}
            key = "" if path == GUIDE else None
            answer = client.get(f"{path}?{urlencode(params)}", key=key, headers=coding)
            assert dishes(answer) == {(name or "unnamed", 1)}


def test_answers_change_only_with_imports_and_rollbacks_of_their_own_guide(
    installation: Installation,
) -> None:
    """Eight clients ask all the time; none ever sees another guide, or goes back an edition."""
    with installation.served() as client, ThreadPoolExecutor(8) as pool:
        ended = False

        def watch(name: str, path: str) -> list[set[tuple[str, int]]]:
            seen = []
            while not ended:
                seen.append(dishes(ask(client, name, path)))
            return seen

        paths = [*PATHS, GUIDE]
        watched = [(name, path) for name in ("house", "rooftop") for path in paths]
        watching = [pool.submit(watch, *one) for one in watched]
        try:
            for edition in range(2, 6):
                installation.store("house", edition)
                follow(client, "house", edition)
        finally:
            ended = True
        for (name, _), found in zip(watched, watching, strict=True):
            editions = [edition for one in found.result() for owner, edition in one]
            owners = {owner for one in found.result() for owner, _ in one}
            assert owners == {name}
            assert editions == sorted(editions)
            assert name == "house" or set(editions) == {1}
        installation.on_guides(lambda guides: guides.rollback("house"))
        follow(client, "house", 4)
        for path in PATHS:
            assert dishes(ask(client, "house", path)) == {("house", 4)}
            assert dishes(ask(client, "", path)) == {("unnamed", 1)}


def test_requests_for_all_guides_of_a_key_count_towards_the_same_quota(
    installation: Installation,
) -> None:
    with installation.served() as client:
        names = ("", "house", "house", "rooftop", "unknown")
        left = [remaining(ask(client, name)) for name in names]
        assert left == list(range(left[0], left[0] - 5, -1))


def test_guide_not_yet_imported_is_refused_with_the_names_of_the_known_guides(
    installation: Installation,
) -> None:
    sentence = "guide is 'annex'; accepted: house, rooftop."
    with installation.served() as client:
        refused = ask(client, "annex")
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (400, "invalid_guide")
        assert error["message"] == sentence
        for path in ("/v1/pulse", "/v1/pulse.svg"):
            page = ask(client, "annex", path)
            assert (page.status_code, page.headers["x-error-code"]) == (400, "invalid_guide")
            assert f"{escape(sentence)} -->" in page.text
            assert "This part of the page is not set up correctly." in page.text
        address = f"http://127.0.0.1:8000/v1/pulse?{urlencode(WIDGET | {'guide': 'annex'})}"
        link = client.get("/v1/oembed", {"url": address}, key=None)
        assert link.status_code == 404
        assert sentence in link.json()["error"]["message"]
        assert client.get("/v1/status").json()["sections"]["guide"]["status"] == "operational"
        installation.store("annex", 1)
        wait_until(lambda: ask(client, "annex").status_code != 400)
        assert dishes(ask(client, "annex", "/v1/pulse")) == {("annex", 1)}
        found = client.get("/v1/oembed", {"url": address}, key=None).json()["html"]
        assert "guide=annex" in found


def test_sections_that_need_no_guide_ignore_the_guide_parameter(installation: Installation) -> None:
    with installation.served() as client:
        params = {**STAY, "guide": "unknown"}
        assert client.get("/v1/pulse/astronomy", params).status_code == 200


def test_each_guide_gives_the_same_answers_after_a_restart_of_the_server(
    installation: Installation,
) -> None:
    installation.store("house", 2)
    seen = []
    for _ in range(2):
        with installation.served() as client:
            answers = [ask(client, name) for name in ("", "house", "rooftop")]
            seen.append([(one.headers["etag"], dishes(one)) for one in answers])
            assert client.get("/v1/status").json()["datasets"]["guide"]["named"] == 2
    assert seen[0] == seen[1]


def test_builder_offers_the_guides_and_puts_the_chosen_one_into_the_code(
    installation: Installation,
) -> None:
    with installation.served() as client:
        page = client.get("/", key=None).text
        offered = re.search(r'<select id="guide".*?</select>', page, re.DOTALL)
        assert offered
        assert re.findall(r"<option[^>]*>(.*?)</option>", offered[0]) == [
            "Default", "house", "rooftop",
        ]  # fmt: skip
        chosen = client.get("/", {**STAY, "guide": "house"}, key=None).text
        assert "<option selected>house</option>" in chosen
        assert "guide=house" in chosen  # in the preview
        assert "data-guide=" in re.sub(r"</?[bi][^>]*>", "", chosen)
        mail = client.get("/", {**STAY, "guide": "house", "code": "mail"}, key=None).text
        assert "Dish of house 1" in mail
        assert "guide=house" in mail.partition("<pre")[2]
        wrong = client.get("/", {**STAY, "guide": "annex"}, key=None).text
        assert "guide is &#39;annex&#39;; accepted: house, rooftop." in wrong
        assert re.search(r'<select id="guide"[^>]* aria-invalid="true">', wrong)


def test_builder_offers_no_guides_if_no_guide_has_a_name(tmp_path: Path) -> None:
    installation = Installation(Settings(data_dir=tmp_path, log_level="error", **OFF))
    installation.store("", 1)
    with installation.served() as client:
        assert 'id="guide"' not in client.get("/", key=None).text


def test_events_of_a_guide_appear_only_on_the_widget_of_that_guide(
    installation: Installation,
) -> None:
    stay = {**STAY, **POINT}
    calendar = Calendar(
        id="cal_a", kind="import", source="a.csv", guide="house", attribution="Hotel Mira", rows=1
    )
    place = Place(lat=float(POINT["lat"]), lng=float(POINT["lng"]))
    event = ProviderEvent(
        id="cal_a:1", source=OWN_SOURCE, title="Lobby jazz", category="concert",
        start=When(date.fromisoformat(stay["start"])), all_day=True, place=place,
    )  # fmt: skip
    installation.on_database(lambda database: SqlEventStore(database).replace(calendar, [event]))
    with installation.served() as client:
        for path in ("/v1/pulse", "/v1/pulse/events", "/v1/pulse.json", "/v1/pulse.ics"):
            shown = {
                name: "Lobby jazz" in client.get(path, {**stay, "guide": name}).text
                for name in ("", "house", "rooftop")
            }
            assert shown == {"": False, "house": True, "rooftop": False}, path
        page = client.get("/v1/pulse", {**stay, "guide": "house"}).text
        assert "Hotel Mira" in page
        refused = client.get("/v1/pulse/events", {**stay, "guide": "seine"}).json()["error"]
    assert refused["code"] == "invalid_guide"
    assert refused["message"] == "guide is 'seine'; accepted: house, rooftop."
