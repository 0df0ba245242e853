"""The commands `guide import`, `list` and `rollback`, as an operator runs them."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

from location_context.cli.guide import guide as commands
from location_context.errors import LocationContextError
from location_context.gazetteer.gazetteer import Gazetteer
from location_context.sections.guide.imports import reading, sources
from tests.fakes.server import FakeResponse, FakeServer
from tests.sections.guide.samples import open_csv, open_row
from tests.sections.guide.test_rows import binding

pytestmark = pytest.mark.usefixtures("logs_of_commands")


class Operator:
    """Runs commands in a data directory of its own."""

    def __init__(self, folder: Path, **environ: str) -> None:
        self.folder = folder
        self.environ = {"LOCATION_CONTEXT_DATA_DIR": str(folder / "data"), **environ}

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(commands, arguments, env=self.environ)

    def json(self, *arguments: str) -> Any:
        """The JSON that a command prints."""
        done = self.run(*arguments, "--json")
        assert done.exception is None, done.output
        return json.loads(done.stdout)

    def refused(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert isinstance(done.exception, LocationContextError), done.output
        return done.exception.message

    @property
    def guide(self) -> str:
        """A file of two good rows and a wrong one."""
        return self.file("guide.csv", ROWS)

    def file(self, name: str, data: bytes) -> str:
        (self.folder / name).write_bytes(data)
        return str(self.folder / name)


@pytest.fixture(autouse=True)
def _load_the_gazetteer_once(monkeypatch: pytest.MonkeyPatch, gazetteer: Gazetteer) -> None:
    monkeypatch.setattr(Gazetteer, "load", lambda: gazetteer)


@pytest.fixture
def operator(tmp_path: Path) -> Operator:
    return Operator(tmp_path, LOCATION_CONTEXT_FEEDS_ALLOW_PRIVATE="true")


ROWS = open_csv(open_row(1), open_row(2), open_row(3, Award="4 Stars"))


def test_import_prints_the_accepted_and_refused_rows(operator):
    done = operator.run("import", operator.guide)
    assert "3 rows (guide_csv): 2 restaurants, 0 merged into others, 1 refused." in done.stdout
    assert "Version 1 is active: 2 one_star." in done.stdout
    assert "line 4: the award '4 Stars' is not known" in done.stderr


def test_json_import_report_counts_every_row_as_taken_merged_or_refused(operator):
    report = operator.json("import", operator.guide)
    assert report["rows"] == report["taken"] + len(report["merged"]) + len(report["refused"])
    assert report["refused"] == [{"line": 4, "reason": "the award '4 Stars' is not known"}]


def test_guide_file_that_parses_into_millions_of_lists_is_refused_for_its_memory_use(operator):
    """A gzip of 56 kB; its lists would take 1.2 GB, more than the reading process may have."""
    bomb = gzip.compress(b"[" + b"[]," * 19_000_000 + b"[]]", 9)
    message = operator.refused("import", operator.file("bomb.json.gz", bomb))
    assert message == "The file cannot be imported: reading it took too much memory, or failed."
    assert operator.json("list") == []


def test_file_that_takes_too_long_to_read_is_refused_and_the_time_limit_is_named(
    operator, monkeypatch
):
    monkeypatch.setattr(reading, "CPU_SECONDS", 1)
    rows = open_csv(*(open_row(n, Price="45–90 EUR") for n in range(30_000)))
    message = operator.refused("import", operator.file("guide.csv", rows))
    assert "more than 1 second of processor time" in message


def test_strict_import_of_a_file_with_a_wrong_row_fails_and_changes_nothing(operator):
    assert "1 of 3 rows are wrong" in operator.refused("import", operator.guide, "--strict")
    assert operator.json("list") == []


def test_list_command_shows_and_rollback_command_changes_the_active_guide_version(operator):
    operator.run("import", "--sample")
    operator.run("import", operator.file("2025-04-03.csv.gz", gzip.compress(ROWS)))
    listed = operator.json("list")
    assert [(one["version"], one["active"], one["rows"]) for one in listed] == [
        (2, True, 2),
        (1, False, listed[1]["rows"]),
    ]
    assert listed[0]["provenance"]["dated"] == "2025-04-03"
    assert operator.json("rollback")["version"] == 1
    assert [one["active"] for one in operator.json("list")] == [False, True]
    assert "2025-04-03" in operator.run("list").stdout
    assert "no earlier version" in operator.refused("rollback")


@pytest.mark.parametrize(
    ("changed", "dated"),
    [
        ("Tue, 01 Apr 2025 10:00:00 GMT", "2025-04-01"),
        ("Tue, 01 Apr 99999999999999999999 10:00:00 GMT", None),
    ],
)
def test_import_from_a_url_stores_the_last_modified_date(operator, changed, dated):
    headers = {"Last-Modified": changed, "Content-Type": "text/csv"}
    with FakeServer(lambda _: FakeResponse(ROWS, headers=headers)).running() as host:
        assert operator.json("import", f"{host.url}/guide.csv")["taken"] == 2
    provenance = operator.json("list")[0]["provenance"]
    assert provenance["source"] == "guide.csv"
    assert dated in {None, provenance["dated"]}  # else the day of the import


def test_import_from_a_private_url_is_refused_unless_a_setting_allows_the_import(tmp_path):
    message = Operator(tmp_path).refused("import", "http://127.0.0.1:9/guide.csv")
    assert "FEEDS_ALLOW_PRIVATE" in message


def test_import_from_a_url_that_answers_with_an_error_page_changes_nothing(operator):
    page = FakeResponse(b"<!doctype html><h1>Moved</h1>", headers={"Content-Type": "text/html"})
    with FakeServer(lambda _: page).running() as host:
        assert "web page" in operator.refused("import", f"{host.url}/guide.csv")
    assert operator.json("list") == []


def test_wikidata_import_sends_the_documented_query_and_stores_the_licence(tmp_path, monkeypatch):
    found = binding(
        item="http://www.wikidata.org/entity/Q1", itemLabel="Chez Wiki", coord="Point(2.35 48.85)",
        stars="3", country="FR",
    )  # fmt: skip
    answer = FakeResponse({"head": {"vars": []}, "results": {"bindings": [found]}})
    with FakeServer(lambda _: answer).running() as wikidata:
        monkeypatch.setattr(sources, "WIKIDATA_URL", f"{wikidata.url}/sparql")
        operator = Operator(tmp_path)
        report = operator.json("import", "--wikidata")
    assert report["by_tier"] == {"three_star": 1}
    (request,) = wikidata.requests
    assert request.query["query"].startswith("SELECT ?item ?itemLabel ?coord ?stars")
    provenance = operator.json("list")[0]["provenance"]
    assert (provenance["attribution"], provenance["license"]) == ("Wikidata", "CC0 1.0")


COUNTRIES = re.findall("..", "ATBECHCNDEDKESFRGBHKIEITJPKRLUMCNLNOPTSESGTHUS")


@pytest.fixture
def wikidata_of_23_countries(operator):
    """A result with a restaurant in each country and a second one in France, as a file."""
    places = [(f"Chez {n}", country) for n, country in enumerate(COUNTRIES)]
    bindings = [
        binding(itemLabel=name, coord=f"Point(2.{n:02} 48.85)", stars="2", country=country,
                year=f"{2000 + n}")
        for n, (name, country) in enumerate([*places, ("Encore", "FR")])
    ]  # fmt: skip
    answer = {"head": {"vars": []}, "results": {"bindings": bindings}}
    return operator.file("wikidata.json", msgspec.json.encode(answer))


def test_wikidata_import_prints_twenty_countries_and_a_total(operator, wikidata_of_23_countries):
    said = operator.run("import", wikidata_of_23_countries).stdout
    lines = [line.split() for line in said.splitlines()]
    at = next(n for n, line in enumerate(lines) if line[:1] == ["country"])
    assert lines[at + 1] == ["FR", "2", "0", "2", "0", "2023"]
    assert lines[at + 21] == ["all", "23", "24", "0", "24", "0", "2023"]
    assert " ".join(lines[-1]).startswith("This is not a complete guide")


def test_wikidata_import_as_json_has_every_country(operator, wikidata_of_23_countries):
    coverage = operator.json("import", wikidata_of_23_countries)["coverage"]
    assert {one["country"] for one in coverage} == set(COUNTRIES)
    assert coverage[0] == {
        "country": "FR", "restaurants": 2, "three_star": 0, "two_star": 2, "one_star": 0,
        "newest_award": 2023,
    }  # fmt: skip


def test_import_counts_rows_that_have_neither_a_tier_nor_an_award_nor_stars(operator):
    rows = b"name,lat,lng\nChez Nous,48.85,2.35\nChez Eux,48.86,2.35\n"
    said = operator.run("import", operator.file("tips.csv", rows)).stdout
    assert "2 rows without tier, award or stars: tier `selected`." in said
    assert "complete guide" not in said


def test_custom_tier_labels_are_stored_with_the_guide_version(operator):
    labels = operator.file("labels.toml", b'[one_star]\nlabel = { en = "A rosette" }\n')
    operator.run("import", operator.guide, "--labels", labels)
    stored = operator.json("list")[0]["provenance"]["labels"]
    assert stored == {"one_star": {"label": {"en": "A rosette"}}}


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (b'[four_star]\nlabel = "x"', "names the tier 'four_star'"),
        (b'[one_star]\ncolour = "x"', "accepted: label and meaning"),
        (b"[one_star]\nlabel = 3", "accepted: a text"),
        (msgspec.json.encode({"one_star": {"label": "x" * 61}}), "at most 60 characters"),
        (b"one_star = ", "cannot be read"),
        (b'[one_star]\nlabel = "a\\u202eb"', "control characters"),
    ],
)
def test_invalid_tier_labels_are_refused_before_anything_is_changed(operator, labels, sentence):
    path = operator.file("labels.toml", labels)
    assert sentence in operator.refused("import", operator.guide, "--labels", path)
    assert operator.json("list") == []


def test_command_requires_exactly_one_readable_source(operator):
    assert "Use exactly one of" in operator.refused("import")
    assert "Use exactly one of" in operator.refused("import", "--sample", "--wikidata")
    assert "cannot be read" in operator.refused("import", "nowhere.csv")
    assert "accepted: a date" in operator.refused("import", operator.guide, "--dated", "soon")


def test_named_guide_is_imported_listed_and_rolled_back_by_its_name(operator):
    operator.run("import", operator.guide)
    radii = ("--radii", "300,150,50,10,5")
    operator.run("import", operator.guide, "--name", "house", *radii)
    operator.run("import", "--sample", "--name", "house")
    listed = [(one["version"], one["name"], one["active"]) for one in operator.json("list")]
    assert listed == [(3, "house", True), (2, "house", False), (1, "", True)]
    rolled = operator.json("rollback", "--name", "house")
    assert (rolled["version"], rolled["name"]) == (2, "house")
    assert rolled["provenance"]["radii"] == [300, 150, 50, 10, 5]
    assert "house" in operator.run("list").stdout
    assert "version of the guide to return" in operator.refused("rollback")
    assert "of the guide 'house'" in operator.refused("rollback", "--name", "house")
    assert operator.json("remove", "--name", "house") == {"removed": "house"}
    assert "no version of the guide 'house'" in operator.refused("remove", "--name", "house")


@pytest.mark.parametrize("name", ["House", "-a", "a b", "é", "a" * 41, "a/b", "a_b"])
def test_invalid_guide_name_is_refused_and_the_accepted_form_is_named(operator, name):
    message = operator.refused("import", operator.guide, f"--name={name}")
    assert message.startswith(
        f"--name is {name!r}; accepted: at most 40 characters (a-z, 0-9, -), the first not -"
    )
    assert operator.json("list") == []


@pytest.mark.parametrize("radii", ["1,2,3,4,5", "5,4,3,2", "inf,4,3,2,1", "5,4,3,2,0", "far"])
def test_invalid_tier_radii_are_refused_and_the_accepted_form_is_named(operator, radii):
    message = operator.refused("import", operator.guide, "--radii", radii)
    assert message.startswith("--radii: the value must be five decreasing numbers above 0")
    assert operator.json("list") == []


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (("--attribution-url", "ftp://a"), "--attribution-url is 'ftp://a'; accepted: http://…"),
        (("--attribution", "A\nB"), "accepted: one line of at most 300"),
        (("--license", "A" * 101), "with 101 characters; accepted: one line of at most 100"),
    ],
)
def test_attribution_that_cannot_be_displayed_is_refused(operator, given, reason):
    assert reason in operator.refused("import", operator.guide, *given)
