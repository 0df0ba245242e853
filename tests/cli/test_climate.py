"""`climate`: from an archive to a store, its list, its checks, its map and its end."""

import json
from datetime import date

import numpy as np
import pytest

from tests.sections.weather.climate.archives import write_power
from tests.web.commands import command

FIRST = date(2015, 12, 1)
LATS, LNGS = np.arange(43.0, 45.0, 0.5), np.arange(-2.5, 0.5, 0.625)
PLACES = "lat,lng\n43.6,-1.4\n"


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    shape = ((date(2026, 4, 20) - FIRST).days, len(LATS), len(LNGS))
    random = np.random.default_rng(1)
    high, rain = random.normal(18, 5, shape), random.gamma(0.4, 8, shape)
    days = {"T2M_MAX": high, "T2M_MIN": high - 8, "PRECTOTCORR": rain}
    return write_power(tmp_path_factory.mktemp("archive"), days, FIRST, LATS, LNGS)


def test_climate_commands_build_list_verify_draw_and_remove_a_climate_store(tmp_path, archive):
    (tmp_path / "places.csv").write_text(PLACES, encoding="utf-8")
    source = ("--source", str(archive))
    places = ("--places", str(tmp_path / "places.csv"))
    years = ("--years", "2016-2025", "--workers", "1")
    built = command(tmp_path, "climate", "build", "--from", "power", *places, *source, *years)
    assert "The store is ready" in built.stdout
    assert "1 of 1 tiles; " in built.stderr
    assert "The source has no field T2M;" in built.stderr
    assert "The terrain file is missing" in built.stderr
    (state,) = json.loads(command(tmp_path, "climate", "list", "--json").stdout)
    assert (state["name"], state["cells"], state["years"]) == ("power-2016-2025", 9, [2016, 2025])
    assert "power-2016-2025: intact" in command(tmp_path, "climate", "verify", *source).stdout
    picture = tmp_path / "map.svg"
    command(tmp_path, "climate", "map", "--month", "7", "--output", str(picture))
    assert "Typical daily high, °C · July" in picture.read_text("utf-8")
    stay = ("--lat", "43.6", "--lng", "-1.4", "--start", "2030-07-01", "--end", "2030-07-03")
    body = json.loads(command(tmp_path, "read", "weather", *stay, "--json").stdout)
    assert body["basis"]["provider"] == "NASA POWER"
    command(tmp_path, "climate", "remove", "power-2016-2025")
    assert "There is no climate store." in command(tmp_path, "climate", "list").stdout


def test_damaged_climate_store_is_listed_with_the_reason(tmp_path):
    (tmp_path / "climate" / "power-2016-2025").mkdir(parents=True)
    assert "manifest.json: No such file" in command(tmp_path, "climate", "list").stdout
    verified = command(tmp_path, "climate", "verify", fails=True)
    assert "manifest.json: No such file" in verified.stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("build", "--from", "power"),
            "Use exactly one of --places FILE, --region",
        ),
        (
            ("build", "--from", "power", "--world", "--region", "0,0,1,1"),
            "Use exactly one of --places",
        ),
        (("build", "--from", "gfs", "--world"), "There is no source 'gfs'. Accepted: "),
        (
            ("build", "--from", "power", "--world", "--years", "2016-2019"),
            "--years is '2016-2019'; accepted: ten years",
        ),
        (("build", "--from", "power", "--world", "--source", "/none"), "/none cannot be read as Z"),
        (("remove", "x"), "There is no climate store 'x'; there are: none"),
        (("map",), "there are: none; create one with climate build"),
    ],
)
def test_climate_command_with_a_wrong_option_exits_with_a_message(tmp_path, options, sentence):
    done = command(tmp_path, "climate", *options, fails=True)
    assert sentence in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_climate_build_with_an_invalid_region_exits_with_a_message(tmp_path, archive):
    for region in ("1,2,3", "a,b,c,d", "0,50,10,40", "200,0,10,10"):
        options = ("--from", "power", "--source", str(archive), "--region", region)
        done = command(tmp_path, "climate", "build", *options, fails=True)
        assert f"--region is {region!r}; accepted: " in " ".join(done.stderr.split())
