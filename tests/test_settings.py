"""Settings: read from a mapping, all problems at once, secrets never shown."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from location_context.errors import OperatorError
from location_context.settings import PREFIX, Secret, Settings, not_a_setting, read_table, unknown
from location_context.settings.parsers import FILE, GROUP, secrets_of


def read(**given: str) -> Settings:
    return Settings.read({PREFIX + name.upper(): value for name, value in given.items()})


def test_default_settings_are_valid():
    settings = read()
    assert settings.database.startswith("sqlite:////")
    assert settings.database.endswith("/location-context.sqlite3")
    assert settings.forecast_url == "https://api.open-meteo.com/v1/forecast"
    assert settings.uses_open_meteo_free


def test_data_directory_is_the_platform_default_unless_the_current_folder_has_a_database(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    place = Settings.read({"XDG_DATA_HOME": str(tmp_path / "home")}).data_dir
    assert place == tmp_path / "home" / "location-context"
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "location-context.sqlite3").touch()
    assert Settings.read({"XDG_DATA_HOME": str(tmp_path / "home")}).data_dir == tmp_path / "data"


def test_open_meteo_key_selects_the_hosts_for_paying_customers():
    settings = read(open_meteo_api_key="k")
    assert settings.forecast_url == "https://customer-api.open-meteo.com/v1/forecast"
    assert settings.archive_url == "https://customer-archive-api.open-meteo.com/v1/archive"
    assert not settings.uses_open_meteo_free


def test_empty_provider_url_setting_disables_the_provider():
    settings = read(open_meteo_forecast_url="", nasa_power_url="")
    assert settings.forecast_url == ""
    assert settings.nasa_power_url == ""


def test_all_wrong_settings_are_listed_and_secrets_masked():
    with pytest.raises(OperatorError) as raised:
        read(
            redis_url="ftp://user:hunter2@host",
            database_url="mysql://root:hunter2@host/db",
            max_in_flight="many",
            guide_radii="1,2,3,4,5",
            trusted_proxies="10.0.0.0/8, nonsense",
            embed_hosts="https://a.example, b.example",
            json_deadline="-1",
            log_level="loud",
            feeds_allow_private="maybe",
        )
    message = raised.value.message
    for name in (
        "REDIS_URL", "DATABASE_URL", "MAX_IN_FLIGHT", "GUIDE_RADII", "TRUSTED_PROXIES",
        "EMBED_HOSTS", "JSON_DEADLINE", "LOG_LEVEL", "FEEDS_ALLOW_PRIVATE", "KEY_PEPPER",
    ):  # fmt: skip
        assert f"- {PREFIX}{name}" in message
    assert "hunter2" not in message


@pytest.mark.parametrize(
    "text",
    ["https://a.example", "http://localhost:8080", "https://*.a.example:*", "https://A.example,"],
)
def test_embed_hosts_accept_origins(text: str):
    assert Settings.read({f"{PREFIX}EMBED_HOSTS": text}).embed_hosts == (text.rstrip(","),)


@pytest.mark.parametrize(
    "text",
    [
        "a.example", "https://", "https://a.example/", "https://a.example/path", "'self'", "*",
        "https:", "https://a.example; script-src *", "https://a.example https://b.example",
        "https://*", "https://a.*.example", "ftp://a.example", "https://u@a.example",
        "https://a.example:0", "https://mañana.example", "https://a\n.example",
    ],
)  # fmt: skip
def test_embed_hosts_refuse_texts_that_are_not_origins(text: str):
    with pytest.raises(OperatorError, match="EMBED_HOSTS: the value must be origins like https://"):
        Settings.read({f"{PREFIX}EMBED_HOSTS": text})


def test_unknown_setting_is_reported():
    given = {f"{PREFIX}PUBLIC_ULR": "x", f"{PREFIX}CONFIG": "", f"{PREFIX}CONTACT": "", "HOME": "/"}
    assert unknown(given) == [f"{PREFIX}PUBLIC_ULR"]


@pytest.mark.parametrize("value", ["nan", "inf", "0"])
def test_deadline_must_be_a_positive_number(value: str):
    with pytest.raises(OperatorError, match="JSON_DEADLINE"):
        read(json_deadline=value)


@pytest.mark.parametrize("radii", ["nan,40,15,2,1", "80,40,15,2,nan", "80,40,15,2", "80,80,15,2,1"])
def test_guide_radii_must_be_five_strictly_decreasing_numbers(radii: str):
    with pytest.raises(OperatorError, match="GUIDE_RADII"):
        read(guide_radii=radii)


@pytest.mark.parametrize("name", ["contact", "predicthq_api_key", "met_norway_url"])
def test_setting_value_with_a_line_break_is_refused(name: str):
    with pytest.raises(OperatorError, match=name.upper()):
        read(**{name: "https://a.example/\r\nX-Forged: 1"})


@given(st.sampled_from(Settings.__struct_fields__), st.text())
def test_any_setting_value_is_accepted_or_refused_with_the_name_of_its_setting(
    name: str, text: str
):
    assert name.upper() in outcome(**{name: text})


@pytest.mark.parametrize("name", Settings.__struct_fields__)
def test_default_value_of_each_setting_can_be_given_as_text(name: str):
    default = getattr(Settings(), name)
    text = ",".join(map(str, default)) if isinstance(default, tuple) else str(default or "")
    # an empty address is switched off, and an empty budget has no limit
    emptied = {"open_meteo_budget": ()}.get(name, "" if name.endswith("_url") else default)
    assert getattr(read(**{name: text}), name) == (emptied if default is None else default)


def outcome(**given: str) -> str:
    """The sentence about what is wrong, or the names of the settings that were taken."""
    try:
        read(**given)
    except OperatorError as error:
        return error.message
    return " ".join(given).upper()


SECRETS = secrets_of(Settings)
A_SECRET = {
    "database_url": "postgresql://a:hunter2@b/c",
    "redis_url": "redis://:hunter2@b",
}


def test_each_secret_and_no_other_setting_can_be_read_from_a_file():
    assert {"database_url", "redis_url", "key_pepper", "predicthq_api_key"} <= set(SECRETS)
    assert set(SECRETS) == {
        name for name in Settings.__struct_fields__ if isinstance(getattr(Settings(), name), Secret)
    }


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_secret_file_is_read_without_its_last_newline(name: str, end: str, tmp_path: Path):
    value, file = A_SECRET.get(name, "hunter2"), tmp_path / "secret"
    file.write_bytes((value + end).encode())
    given = {"key_pepper": "p", name + FILE: str(file)}
    given = {key: text for key, text in given.items() if key + FILE not in given}
    assert getattr(read(**given), name).reveal() == value


def test_unreadable_secret_file_is_reported_by_path_without_content(tmp_path: Path):
    for name, content in {
        "empty": b" \n", "binary": b"hunter2\xff", "long": b"hunter2" * 10_000,
        "strange": b"hunter2\r\nX-Forged: 1",
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(content)
    for name, report in {
        "empty": "is empty", "binary": "UTF-8", "long": "65,536 bytes",
        "none": "No such file", ".": "Is a directory", "\0": "not a path",
    }.items():  # fmt: skip
        path = str(tmp_path / name)
        said = outcome(ticketmaster_api_key_file=path)
        assert f"{PREFIX}TICKETMASTER_API_KEY_FILE: the file {path} " in said
        assert report in said
        assert path in said
        assert "hunter2" not in said
    said = outcome(ticketmaster_api_key_file=str(tmp_path / "strange"))
    assert f"{PREFIX}TICKETMASTER_API_KEY: the value must be printable ASCII, not ***" in said


def test_secret_given_instead_of_the_path_of_its_file_is_masked():
    said = outcome(redis_url_file="redis://:hunter2@b")
    assert "REDIS_URL_FILE: the value must be the absolute path of a file" in said
    assert "hunter2" not in said


def test_secret_given_as_value_or_file_in_the_environment_overrides_the_settings_file(
    tmp_path: Path,
):
    file, toml = tmp_path / "pepper", tmp_path / "settings.toml"
    file.write_text("of the file")
    assert "only one of the two" in outcome(key_pepper="p", key_pepper_file=str(file))
    assert read(key_pepper="", key_pepper_file=str(file)).key_pepper.reveal() == "of the file"
    toml.write_text(f'key_pepper_file = "{file}"\n')
    assert read(config=str(toml)).key_pepper.reveal() == "of the file"
    assert read(config=str(toml), key_pepper="p").key_pepper.reveal() == "p"
    toml.write_text(f'key_pepper_file = "{tmp_path / "none"}"\n')
    assert read(config=str(toml), key_pepper_file=str(file)).key_pepper.reveal() == "of the file"
    assert "No such file" in outcome(config=str(toml))


@pytest.mark.parametrize(
    ("wrong", "report"),
    [
        ("KEY_PEPER_FILE", f"did you mean {PREFIX}KEY_PEPPER_FILE?"),
        ("REDIS_URL_FLE", f"did you mean {PREFIX}REDIS_URL_FILE?"),
        ("PUBLIC_ULR", f"did you mean {PREFIX}PUBLIC_URL?"),
        ("CONTACT_FILE", "only secrets are read from files (DATABASE_URL, REDIS_URL, KEY_PEPPER"),
        ("COLOUR", "COLOUR is not a setting"),
    ],
)
def test_unknown_setting_gets_a_hint_in_addition_to_other_errors(wrong: str, report: str):
    assert unknown({PREFIX + wrong: ""}) == [PREFIX + wrong]
    assert report in not_a_setting(PREFIX + wrong)
    with pytest.raises(OperatorError, match="KEY_PEPPER is missing") as raised:
        Settings.read({f"{PREFIX}DATABASE_URL": "postgresql://b/c", PREFIX + wrong: "/x"})
    assert report in raised.value.message


def test_postgresql_setting_requires_a_key_pepper():
    with pytest.raises(OperatorError, match="KEY_PEPPER is missing"):
        read(database_url="postgresql://127.0.0.1/x")
    assert read(database_url="postgresql://127.0.0.1/x", key_pepper="p").key_pepper.reveal() == "p"


def test_environment_overrides_the_settings_file(tmp_path: Path):
    file = tmp_path / "settings.toml"
    file.write_text(
        'contact = "a@b.example"\nguide_radii = [50, 20, 10, 2, 1]\nlog_level = "error"\n'
    )
    settings = read(config=str(file), log_level="debug")
    assert settings.contact == "a@b.example"
    assert settings.guide_radii == (50.0, 20.0, 10.0, 2.0, 1.0)
    assert settings.log_level == "debug"


def test_missing_settings_file_or_unknown_name_in_it_is_refused(tmp_path: Path):
    file = tmp_path / "settings.toml"
    file.write_text("colour = 1\n")
    with pytest.raises(OperatorError, match="COLOUR is not a setting"):
        read(config=str(file))
    with pytest.raises(OperatorError, match="cannot be read"):
        read(config=str(tmp_path / "none.toml"))


def test_secret_is_shown_only_by_reveal():
    secret = Secret("hunter2")
    shown = f"{secret} {secret!r} {secret!s} {[secret]}"
    assert "hunter2" not in shown
    assert secret.reveal() == "hunter2"
    assert "hunter2" not in repr(read(key_pepper="hunter2"))


@pytest.mark.parametrize(
    ("name", "text", "accepted"),
    [
        ("events_radius", "201", "a number of km above 0, at most 200, not '201'"),
        ("max_in_flight", "2.5", "a whole number above 0, at most 100,000, not '2.5'"),
        ("log_level", "loud", "debug, info, warning or error, not 'loud'"),
        ("redis_url", "ftp://user:hunter2@host", r"redis://… or rediss://…, not \*\*\*"),
        ("osrm_url", "http://x:hunter2@h:99999/", r"an .* or https, not 'http://\*\*\*@h:99999/'"),
        ("osrm_url", "x:hun/t@er2@h", r"an address with http or https, not '\*\*\*@h'"),
    ],
)
def test_wrong_setting_value_is_refused_with_the_accepted_form(name: str, text: str, accepted: str):
    with pytest.raises(OperatorError, match=f"{name.upper()}: the value must be {accepted}"):
        read(**{name: text})


TIDES = """
from typing import Annotated
import msgspec
from location_context.settings import Secret
from location_context.settings.parsers import Address, Count, SecretText

class TidesSettings(msgspec.Struct, frozen=True):
    tides_key: Annotated[SecretText, "Their key."] = Secret()
    tides_url: Annotated[Address, "Tide tables."] = "https://tides.example"
    tides_per_day: Annotated[Count, "Calls a day."] = 100
"""


@pytest.fixture
def tides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[msgspec.Struct]]:
    """The table of an installed package, with its entry point."""
    (tmp_path / "tides_settings.py").write_text(TIDES)
    info = tmp_path / "tides-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tides\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\ntides = tides_settings:TidesSettings\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("tides_settings").TidesSettings
    sys.modules.pop("tides_settings")


def test_package_settings_are_read_from_environment_and_file(tides, tmp_path: Path):
    file = tmp_path / "settings.toml"
    file.write_text('tides_url = "https://file.example"\nlog_level = "error"\n')
    environ = {f"{PREFIX}CONFIG": str(file), f"{PREFIX}TIDES_PER_DAY": "7"}
    given = read_table(tides, environ)
    assert (given.tides_url, given.tides_per_day) == ("https://file.example", 7)
    assert Settings.read(environ).log_level == "error"
    assert unknown({**environ, f"{PREFIX}TIDES_PER_DAI": "7"}) == [f"{PREFIX}TIDES_PER_DAI"]
    assert read_table(tides, {}) == tides()


def test_package_secret_is_read_from_a_file(tides, tmp_path: Path):
    secret, toml = tmp_path / "secret", tmp_path / "settings.toml"
    secret.write_text("hunter2\n")
    toml.write_text(f'tides_key_file = "{secret}"\n')
    for environ in (
        {f"{PREFIX}CONFIG": str(toml)},
        {f"{PREFIX}TIDES_KEY_FILE": str(secret)},
    ):
        assert Settings.read(environ) == read()
        assert unknown(environ) == []
        assert read_table(tides, environ).tides_key.reveal() == "hunter2"
    assert "TIDES_KEY_FILE?" in not_a_setting(f"{PREFIX}TIDE_KEY_FILE")


def test_wrong_package_settings_are_listed(tides):
    wrong = {f"{PREFIX}TIDES_URL": "nowhere", f"{PREFIX}TIDES_PER_DAY": "-1"}
    with pytest.raises(OperatorError, match=r"TIDES_URL: the value .*\n.*TIDES_PER_DAY: the value"):
        read_table(tides, wrong)


def test_budgets_have_defaults_that_a_setting_or_a_paid_api_key_overrides():
    free = read()
    assert free.limits("open_meteo") == {60.0: 480, 3600.0: 4_000, 86_400.0: 8_000}
    assert free.limits("nasa_power") == {60.0: 24, 86_400.0: 2_000}
    assert free.limits("ticketmaster") == {1.0: 4, 86_400.0: 4_000}
    assert free.limits("someone_else") == {}
    paid = read(open_meteo_api_key="k")
    assert paid.limits("open_meteo") == {}
    given = read(
        open_meteo_api_key="k", open_meteo_budget="1000000/month", predicthq_budget="9/month,2/day"
    )
    assert given.limits("open_meteo") == {31 * 86_400.0: 1_000_000}
    assert given.limits("predicthq") == {31 * 86_400.0: 9, 86_400.0: 2}
    assert read(open_meteo_budget="").limits("open_meteo") == {}
    assert read(nasa_power_budget="").limits("nasa_power") == {}


def test_each_budget_belongs_to_a_provider():
    names = [name for name in Settings.__struct_fields__ if name.endswith("_budget")]
    with_address = {
        name.removesuffix("_url").removesuffix("_forecast").removesuffix("_archive")
        for name in Settings.__struct_fields__
        if name.endswith("_url")
    } - {"database", "redis", "public"}
    assert {name.removesuffix("_budget") for name in names} == with_address


@pytest.mark.parametrize(
    "wrong", ["480", "0/minute", "1/week", "1/minute,2/minute", "x/day", "1/minute 2/day"]
)
def test_malformed_budget_is_refused_with_the_accepted_form(wrong: str):
    with pytest.raises(OperatorError, match="must be units per window like 30/minute,2000/day"):
        read(nasa_power_budget=wrong)


def test_error_for_a_too_small_budget_states_the_cost_of_a_week_at_a_new_place():
    with pytest.raises(OperatorError, match=r"at least 100 \(what a week at a new place"):
        read(open_meteo_budget="99/minute")
    assert read(open_meteo_budget="100/minute").limits("open_meteo") == {60.0: 100}


@pytest.mark.parametrize(
    ("removed", "instead"),
    [
        ("PURGE_URL", "a CDN is up to date within an hour"),
        ("KEY_HOLD", "valid for 60 seconds"),
        ("OPEN_METEO_PER_DAY", "set LOCATION_CONTEXT_OPEN_METEO_BUDGET"),
        ("TICKETMASTER_PER_SECOND", "set LOCATION_CONTEXT_TICKETMASTER_BUDGET"),
    ],
)
def test_removed_setting_is_named_with_its_replacement(removed: str, instead: str):
    name = f"{PREFIX}{removed}"
    assert unknown({name: "1"}) == [name]
    assert not_a_setting(name).startswith(f"{name} is no longer a setting: ")
    assert instead in not_a_setting(name)


def test_there_are_at_most_forty_settings():
    assert len(Settings.__struct_fields__) <= 40
