"""The `events` commands, run as an operator runs them."""

import json

import pytest
from typer.testing import CliRunner

from location_context.cli.events import events as commands
from location_context.errors import OperatorError
from tests.fakes.server import FakeResponse, FakeServer
from tests.web.commands import command

ICS = (
    b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSUMMARY:Choir\nDTSTART;VALUE=DATE:%b\n"
    b"RRULE:FREQ=DAILY;COUNT=3\nEND:VEVENT\nEND:VCALENDAR\n"
)

pytestmark = pytest.mark.usefixtures("logs_of_commands")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCATION_CONTEXT_DATA_DIR", str(tmp_path / "data"))

    def _run(*arguments: str):
        result = CliRunner().invoke(commands, list(arguments))
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return _run


@pytest.fixture
def calendar(tmp_path):
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415  only here

    file = tmp_path / "town.ics"
    soon = datetime.now(UTC).date() + timedelta(days=5)  # the command's own clock is the system's
    file.write_bytes(ICS % f"{soon:%Y%m%d}".encode())
    return file


def test_imported_calendar_is_reported_listed_and_removed(run, calendar):
    shown = json.loads(run("import", str(calendar), "--country", "FR", "--json").stdout)
    assert (shown["calendar"]["rows"], shown["refused"]) == (3, [])
    (listed,) = json.loads(run("list", "--json").stdout)
    assert listed["source"] == str(calendar)
    assert "3" in run("list").stdout
    assert json.loads(run("feed", "remove", listed["id"], "--json").stdout) == {
        "removed": listed["id"]
    }
    assert json.loads(run("list", "--json").stdout) == []


def test_import_reads_times_without_a_zone_in_the_country_s_zone(run, tmp_path):
    table = tmp_path / "town.csv"
    table.write_text("title,start\nChoir,2026-12-05T19:30\n")
    shown = json.loads(run("import", str(table), "--country", "fr", "--json").stdout)
    assert shown["calendar"]["timezone"] == "Europe/Paris"
    assert shown["calendar"]["country"] == "FR"


def test_import_stores_and_lists_the_attribution_and_chosen_columns(run, tmp_path):
    table = tmp_path / "ville.json"
    table.write_text('{"results": [{"nom": "Chorale", "jour": "2026-12-05"}]}')
    given = (
        "--list", "results", "--column", "title=nom", "--column", "start=jour",
        "--attribution", "Ville de Paris", "--attribution-url", "https://opendata.paris.fr",
        "--license", "ODbL 1.0",
    )  # fmt: skip
    run("import", str(table), "--country", "FR", *given)
    (listed,) = json.loads(run("list", "--json").stdout)
    assert listed["rows"] == 1
    assert listed["attribution"] == "Ville de Paris"
    assert listed["attribution_url"] == "https://opendata.paris.fr"
    assert listed["license"] == "ODbL 1.0"
    assert listed["list_path"] == "results"
    assert listed["columns"] == {"title": ["nom"], "start": ["jour"]}
    assert "Ville de Paris, ODbL 1.0" in run("list").stdout


@pytest.mark.parametrize("name", [("import",), ("feed", "add")])
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (("--license", "ODbL 1.0"), "--license and --attribution-url also need --attribution"),
        (("--attribution-url", "https://a.example"), "also need --attribution"),
        (("--attribution", "  ", "--license", "ODbL"), "also need --attribution"),
        (("--attribution", "A", "--attribution-url", "ftp://a"),
         "--attribution-url is 'ftp://a'; accepted: http://… or https://…"),
        (("--attribution", "A\nB"), "'A\\nB' with 3 characters; accepted: one line of at most 300"),
        (("--attribution", "A" * 301), "with 301 characters; accepted: one line of at most 300"),
        (("--attribution", "A", "--license", "B" * 101), "--license is 'BBB"),
        (("--column", "nom"), "--column is 'nom'; accepted: FIELD=COLUMN such as title=nom"),
        (("--column", "title="), "--column is 'title='"),
        (("--column", "name=nom"), "the field 'name'; accepted: title, start, time, end"),
    ],
)  # fmt: skip
def test_import_with_an_invalid_attribution_or_column_names_the_invalid_option(
    run, name, given, reason
):
    with pytest.raises(OperatorError) as error:
        run(*name, "https://a.example/events.csv", "--country", "FR", *given)
    assert reason in error.value.message


def test_import_of_a_missing_column_exits_1_and_names_the_existing_columns(tmp_path):
    (tmp_path / "ville.csv").write_text("nom;date_debut\nChorale;2026-12-05\n")
    given = ("--country", "FR", "--column", "title=nom", "--column", "start=debut")
    file = str(tmp_path / "ville.csv")
    result = command(tmp_path / "data", "events", "import", file, *given, fails=True)
    assert result.code == 1
    assert "the table lacks the columns debut; it has: nom, date_debut" in result.stderr


@pytest.mark.parametrize("region", ["bavaria", "DE"])
def test_import_with_a_malformed_region_names_the_option(run, region):
    with pytest.raises(OperatorError) as error:
        run("import", "https://a.example/events.csv", "--region", region)
    assert f"--region is '{region}'; accepted: codes such as DE-BY" in error.value.message


@pytest.mark.parametrize(
    ("row", "place", "warned"),
    [
        ("Wine tasting,2026-12-05T19:30,Bodega", ("--country", "ES"), True),
        ("Wine tasting,2026-12-05T19:30,Bodega", ("--lat", "43.3", "--lng", "-1.98"), False),
        ("Wine tasting,2026-12-05T19:30,Bodega", ("--region", "ES-PV"), False),
        ("Wine tasting,2026-12-05T19:30,", ("--country", "ES"), False),
        ("Wine week,2026-12-05,Bodega", ("--country", "ES"), False),
    ],
)
def test_import_warns_of_events_with_a_time_whose_venue_names_only_a_country(
    run, tmp_path, row, place, warned
):
    table = tmp_path / "hotel.csv"
    table.write_text(f"title,start,venue\n{row}\n")
    result = run("import", str(table), *place)
    assert ("shown everywhere in ES" in " ".join(result.stderr.split())) is warned


def test_chosen_column_that_no_json_object_has_is_reported_and_the_objects_are_imported(
    run, tmp_path
):
    table = tmp_path / "ville.json"
    table.write_text('[{"title": "Choir", "start": "2026-12-05"}]')
    columns = ("--list", ".", "--column", "url=link")
    result = run("import", str(table), "--country", "FR", *columns)
    assert "1 event imported, 0 refused" in result.stdout
    assert "--column url=link: no object has this field" in " ".join(result.stderr.split())


def test_import_counts_all_refused_rows_and_lists_the_first_of_them(run, tmp_path):
    table = tmp_path / "town.csv"
    table.write_text("title,start\nChoir,2026-12-05\n" + "Organ,soon\n" * 1200)
    result = run("import", str(table), "--country", "FR")
    assert "1 event imported, 1,200 refused" in result.stdout
    assert "the rest: 200 more entries were rejected" in result.stderr


def test_import_reports_refused_rows_with_line_and_reason(run, tmp_path):
    table = tmp_path / "town.csv"
    table.write_text("title,start\nChoir,2026-12-05\nOrgan,soon\n")
    result = run("import", str(table), "--country", "FR")
    assert "1 event " in result.stdout
    assert "1 refused" in result.stdout
    assert "line 3: the dates cannot be read: soon" in result.stderr


@pytest.mark.parametrize("as_json", [True, False])
def test_import_of_an_unreadable_file_exits_1_and_changes_nothing(
    run, calendar, tmp_path, monkeypatch, as_json
):
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    command(data, "events", "import", str(calendar), "--country", "FR")
    for content, reason in [
        (b"<html>Back soon</html>", "the page has no schema.org event"),
        (b"", "the file is not a calendar"),
    ]:  # fmt: skip
        calendar.write_bytes(content)
        result = command(data, "events", "import", "town.ics", *["--json"] * as_json, fails=True)
        assert result.code == 1
        assert reason in result.stderr
        assert "Nothing was changed" in result.stderr
        if as_json:
            shown = json.loads(result.stdout)
            assert (shown["calendar"], len(shown["refused"])) == (None, 1)
            assert set(shown["refused"][0]) == {"where", "why"}
        (listed,) = json.loads(run("list", "--json").stdout)
        assert listed["rows"] == 3


def test_import_of_an_empty_calendar_exits_1_unless_an_option_allows_the_import(
    run, calendar, tmp_path
):
    run("import", str(calendar), "--country", "FR")
    calendar.write_bytes(b"BEGIN:VCALENDAR\nEND:VCALENDAR\n")
    arguments = ("events", "import", str(calendar), "--country", "FR", "--json")
    result = command(tmp_path / "data", *arguments, fails=True)
    assert result.code == 1
    assert json.loads(result.stdout) == {"calendar": None, "refused": []}
    assert (
        "its last import had 3. Nothing was changed. To drop those, use --allow-empty."
        in result.stderr
    )
    assert "0 events" in run("import", str(calendar), "--allow-empty").stdout
    (listed,) = json.loads(run("list", "--json").stdout)
    assert listed["rows"] == 0


def test_import_prints_progress_even_if_the_output_is_no_terminal(tmp_path):
    rows = (f"Event {n},2026-12-{n % 28 + 1:02}\n" for n in range(12_000))
    (tmp_path / "town.csv").write_text("title,start\n" + "".join(rows))
    arguments = ("events", "import", str(tmp_path / "town.csv"), "--country", "FR", "--json")
    result = command(tmp_path / "data", *arguments, more={"XDG_DATA_HOME": str(tmp_path)})
    assert result.stderr.splitlines() == ["12,000 events read"]
    assert json.loads(result.stdout)["calendar"]["rows"] == 12_000


def test_import_recognises_the_same_file_by_different_paths(run, calendar, tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    for folder, name in [
        (tmp_path, "town.ics"), (tmp_path / "a", "../town.ics"), (tmp_path, str(calendar)),
        (tmp_path, "./a/../town.ics"),
    ]:  # fmt: skip
        monkeypatch.chdir(folder)
        run("import", name, "--country", "FR")
        (listed,) = json.loads(run("list", "--json").stdout)
        assert listed["source"] == str(calendar)
    run("feed", "remove", "town.ics")
    assert json.loads(run("list", "--json").stdout) == []


def test_file_imported_under_the_name_of_another_calendar_replaces_its_events(
    run, calendar, tmp_path
):
    run("import", str(calendar), "--country", "FR", "--name", "Town")
    (first,) = json.loads(run("list", "--json").stdout)
    newer = calendar.rename(tmp_path / "town-2.ics")
    shown = run("import", str(newer), "--country", "FR", "--name", "Town")
    assert f"Replaced Town, until now {calendar}." in " ".join(shown.stderr.split())
    (listed,) = json.loads(run("list", "--json").stdout)
    assert listed == {**first, "source": str(newer), "imported_at": listed["imported_at"],
                      "checked_at": listed["checked_at"]}  # fmt: skip
    run("feed", "remove", "Town")
    assert json.loads(run("list", "--json").stdout) == []


@pytest.mark.parametrize(("again", "name"), [((), "Town"), (("--name", "Hall"), "Hall")])
def test_calendar_imported_again_keeps_its_name_unless_a_new_name_is_given(
    run, calendar, again, name
):
    run("import", str(calendar), "--country", "FR", "--name", "Town")
    assert "Replaced" not in run("import", str(calendar), "--country", "FR", *again).stderr
    (listed,) = json.loads(run("list", "--json").stdout)
    assert listed["name"] == name


def test_list_shows_whole_ids_and_sources_in_a_narrow_terminal(run, tmp_path, monkeypatch):
    folder = tmp_path / "a-rather-long-name-of-a-folder-as-they-are"
    folder.mkdir()
    file = folder / "and-a-rather-long-name-of-a-file.csv"
    file.write_text("title,start\nChoir,2026-12-05\n")
    run("import", str(file), "--country", "FR", "--name", "What happens in our little town")
    (listed,) = json.loads(run("list", "--json").stdout)
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("list").stdout
    assert listed["id"] in shown
    assert str(file) in shown
    assert "1" in shown


def test_feed_at_a_loopback_url_needs_the_setting_that_allows_private_addresses(
    run, calendar, monkeypatch
):
    with FakeServer(lambda _: FakeResponse(calendar.read_bytes())).running() as server:
        with pytest.raises(OperatorError, match="private"):
            run("feed", "add", server.url + "/a.ics", "--lat", "48.85", "--lng", "2.35")
        monkeypatch.setenv("LOCATION_CONTEXT_FEEDS_ALLOW_PRIVATE", "true")
        result = run("feed", "add", server.url + "/a.ics", "--lat", "48.85", "--lng", "2.35")
        assert "3 events" in result.stdout


@pytest.mark.parametrize(
    "wrong",
    [
        ("--lat", "48"), ("--lat", "98", "--lng", "2"), ("--country", "France"),
        ("--category", "circus"),
    ],
)  # fmt: skip
def test_wrong_import_options_are_refused(run, calendar, wrong):
    with pytest.raises(OperatorError):
        run("import", str(calendar), *wrong)


def test_missing_file_or_feed_is_reported(run, tmp_path):
    with pytest.raises(OperatorError, match="cannot be read"):
        run("import", str(tmp_path / "none.ics"))
    with pytest.raises(OperatorError, match="no feed or import"):
        run("feed", "remove", "none")


def test_events_import_for_a_guide_that_does_not_exist_is_refused(run, calendar):
    with pytest.raises(OperatorError, match="--guide is 'mira'; accepted: none"):
        run("import", str(calendar), "--lat", "48.85", "--lng", "2.35", "--guide", "mira")
    assert json.loads(run("list", "--json").stdout) == []
