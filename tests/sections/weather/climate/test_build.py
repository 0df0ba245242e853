"""The builder: whole or not at all, resumed at any moment, from a source as it is published."""

import os
import signal
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import distributed
import numpy as np
import pytest

from location_context.errors import OperatorError
from location_context.point import Point
from location_context.sections.weather.climate import build as builder
from location_context.sections.weather.climate import layout
from location_context.sections.weather.climate.layout import Tile
from location_context.sections.weather.climate.power import Power
from location_context.sections.weather.climate.store import ClimateStore
from location_context.sections.weather.climate.verify import findings
from location_context.sections.weather.records import ROW
from location_context.stay import Stay
from tests.sections.weather.climate.archives import s3_server, write_power

# distributed leaves pipes of ended workers to the garbage collector
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
NOW = datetime(2026, 11, 21, tzinfo=UTC)
YEARS = range(2016, 2026)
FIRST = date(2015, 12, 1)
DAYS = (date(2026, 4, 20) - FIRST).days
LATS, LNGS = np.arange(40.0, 48.0, 0.5), np.arange(-5.0, 14.3, 0.625)  # 16 x 31: six tiles
PLACES = [(43.3, -1.98), (41.4, 2.2), (47.4, 4.4), (45.5, 9.2), (43.7, 7.3), (47.5, 13.75)]


def series() -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    shape = (DAYS, len(LATS), len(LNGS))
    high = np.round(random.normal(18, 6, shape), 2)
    rain = np.round(random.gamma(0.4, 8, shape), 2)
    return {"T2M_MAX": high, "T2M_MIN": np.round(high - 8, 2), "PRECTOTCORR": rain}


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    return write_power(tmp_path_factory.mktemp("power"), series(), FIRST, LATS, LNGS)


@pytest.fixture(scope="module")
def client():
    with builder.cluster(None, 1) as made:
        yield made


def plan(data_dir: Path, archive: Path) -> builder.Build:
    source = Power.open(str(archive))
    job = builder.Job("power", str(archive), YEARS)
    region = builder.around(source, [Point(*place, "UTC") for place in PLACES])
    return builder.Build(data_dir, job, source, region)


def ignore(_: builder.Progress) -> None: ...


@pytest.fixture(scope="module")
def whole(tmp_path_factory, archive, client) -> Path:
    """A store built without any interruption."""
    build = plan(tmp_path_factory.mktemp("whole"), archive)
    progress = build.run(client, ignore)
    assert not progress.failed
    return build.publish(NOW)


def same_bytes(one: Path, other: Path) -> bool:
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in other.iterdir())
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


def test_nasa_power_zarr_archive_is_read_over_s3_as_from_disk(archive, monkeypatch):
    with s3_server(archive) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        remote, local = Power.open("s3://nasa-power/power.zarr"), Power.open(str(archive))
        assert remote.grid == local.grid == layout.Grid(40, -5, 0.5, 0.625, 16, 31)
        assert (remote.first, remote.last) == (date(1981, 1, 1), date(2026, 4, 19))
        assert remote.lacking == ("T2M", "WS10M_MAX", "WD10M", "CLOUD_AMT", "RH2M")
        tile, days = Tile(0, 15, 15, 15), (date(2020, 2, 27), date(2020, 3, 5))
        values = remote.read(tile, *days)
        assert np.array_equal(values, local.read(tile, *days), equal_nan=True)
    place = (days[0] - FIRST).days
    expected = series()["T2M_MAX"][place : place + 8, :15, 15:30].transpose(1, 2, 0)
    assert values[:, ROW["temperature_max"]] == pytest.approx(expected.reshape(225, 8))


def test_every_requested_place_is_in_the_built_store_and_checks_report_no_errors(whole, archive):
    store = ClimateStore.open(whole)
    assert store.manifest.slots == 46  # nine a place; fewer at the edge, and where two meet
    assert len(store.manifest.tiles) == 6
    assert store.manifest.attribution[0].name == "NASA POWER"
    for lat, lng in PLACES:
        found = store.series(Point(lat, lng, "UTC"), Stay(date(2027, 7, 1), date(2027, 7, 7)))
        assert found.columns["temperature_max"] == pytest.approx([18] * 7, abs=1.5)
    assert not list(findings(store, Power.open(str(archive)), lambda: None))


def test_store_check_detects_a_changed_value_and_a_different_source(whole, tmp_path):
    copied = tmp_path / layout.FOLDER / whole.name
    copied.mkdir(parents=True)
    for path in whole.iterdir():
        (copied / path.name).write_bytes(path.read_bytes())
    stats = np.load(copied / "stats.npy", mmap_mode="r+")
    stats[30, 3, 0] = 32000
    stats.flush()
    store = ClimateStore.open(copied)
    found = list(findings(store, None, lambda: None))
    assert any("differs from the manifest" in sentence for sentence in found)
    assert any("temperature_max is beyond -95" in sentence for sentence in found)
    warmer = {name: values + 1 for name, values in series().items()}
    other = write_power(tmp_path / "other", warmer, FIRST, LATS, LNGS)
    compared = list(findings(ClimateStore.open(whole), Power.open(str(other)), lambda: None))
    assert len(compared) == 6
    assert all("differ from the source" in sentence for sentence in compared)


def test_resumed_climate_build_reuses_finished_tiles_and_gives_identical_bytes(
    whole, archive, client, tmp_path
):
    class Stop(Exception):
        pass

    def stop_after_two(progress: builder.Progress) -> None:
        if progress.done == 2:
            raise Stop

    with pytest.raises(Stop):
        plan(tmp_path, archive).run(client, stop_after_two)
    assert not layout.folders(tmp_path)
    (part,) = (tmp_path / layout.FOLDER).iterdir()
    with (part / builder.DONE).open("ab") as file:
        file.write(b"\n[[0,15,")  # a record that a kill cut short
    again = plan(tmp_path, archive)
    assert len(again.done) == 2
    seen: list[int] = []
    again.run(client, lambda progress: seen.append(progress.done))
    assert seen == [2, 3, 4, 5, 6]
    assert len(plan(tmp_path, archive).done) == 6
    assert same_bytes(again.publish(NOW), whole)


def test_killed_climate_build_resumes_with_all_finished_tiles(
    whole, archive, client, tmp_path, monkeypatch
):
    build = plan(tmp_path, archive)
    build.run(client, ignore)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", lambda *_: sys.exit("killed"))
        with pytest.raises(SystemExit):
            build.publish(NOW)
    again = plan(tmp_path, archive)
    assert len(again.done) == 6
    assert same_bytes(again.publish(NOW), whole)


RUN = """
import sys
from pathlib import Path
from tests.sections.weather.climate.test_build import NOW, builder, plan
if __name__ == "__main__":
    build = plan(Path(sys.argv[1]), Path(sys.argv[2]))
    with builder.cluster(None, 1) as client:
        print(*client.run(lambda: __import__("os").getpid()).values(), flush=True)
        build.run(client, lambda progress: print("done", progress.done, flush=True))
    build.publish(NOW)
"""


def test_climate_build_survives_a_kill_of_its_client_and_of_a_worker(whole, archive, tmp_path):
    """Each is killed while tasks are under way; ten moments: `benchmarks/climate_store.py`."""
    script = tmp_path / "run.py"
    script.write_text(RUN, encoding="utf-8")
    command = [sys.executable, str(script), str(tmp_path), str(archive)]
    root = Path(__file__).parents[4]
    environment = os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"}
    for victim in ("client", "worker"):
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
        ) as started:
            worker = int(started.stdout.readline())
            while started.stdout.readline() != ("done 2\n" if victim == "client" else "done 3\n"):
                pass
            os.kill(started.pid if victim == "client" else worker, signal.SIGKILL)
            started.communicate(timeout=120)
            if victim == "client":
                assert started.returncode == -signal.SIGKILL
                assert not layout.folders(tmp_path)
                os.killpg(started.pid, signal.SIGKILL)
    assert started.returncode == 0
    (folder,) = layout.folders(tmp_path)
    assert same_bytes(folder, whole)


class Unreliable(Power):
    """A source that fails for one tile as long as it is `broken`."""

    broken = True

    def read(self, tile, first, last):
        if tile.column == 15 and self.broken:
            raise OSError("connection reset")
        return super().read(tile, first, last)


def test_climate_build_tries_a_failing_tile_three_times_then_names_it_and_builds_the_rest(
    whole, archive, tmp_path, monkeypatch
):
    pauses: list[float] = []
    monkeypatch.setattr(builder.time, "sleep", pauses.append)
    source = Unreliable.open(str(archive))
    monkeypatch.setattr(builder, "_source_of", lambda _: source)
    build = plan(tmp_path, archive)
    with distributed.Client(processes=False, dashboard_address="127.0.0.1:0") as client:
        progress = build.run(client, ignore)
    source.broken = False
    assert {tile.column for tile in progress.failed} == {15}
    assert sorted(pauses) == [0.0] * progress.tiles + [5.0] * 2 * len(progress.failed)
    assert set(progress.failed.values()) == {"OSError: connection reset"}
    assert progress.done == progress.tiles - len(progress.failed)
    with distributed.Client(processes=False, dashboard_address="127.0.0.1:0") as client:
        again = plan(tmp_path, archive)
        again.run(client, ignore)
    assert same_bytes(again.publish(NOW), whole)


def test_climate_build_that_loses_its_scheduler_ends_with_a_message(archive, tmp_path):
    with distributed.Client(processes=False, dashboard_address="127.0.0.1:0") as client:

        def lose_tasks(progress: builder.Progress) -> None:
            if progress.done == 1:
                client.cancel([distributed.Future(key, client) for key in list(client.futures)])

        with pytest.raises(OperatorError, match="the Dask scheduler was lost"):
            plan(tmp_path, archive).run(client, lose_tasks)
    assert len(plan(tmp_path, archive).done) >= 1


def test_climate_build_names_years_missing_in_the_source(tmp_path, archive):
    source = Power.open(str(archive))
    with pytest.raises(
        OperatorError, match="1981-01-01 to 2026-04-19; the years 2017-2026 need 2017-01-01"
    ):
        builder.Build(
            tmp_path, builder.Job("power", None, range(2017, 2027)), source,
            builder.rectangle(source, -5, 40, 0, 45),
        )  # fmt: skip


def test_climate_build_names_variables_missing_in_the_source(tmp_path):
    days = {"T2M_MAX": np.zeros((10, 3, 3)), "RH2M": np.zeros((10, 3, 3))}
    folder = write_power(tmp_path / "x", days, FIRST, LATS[:3], LNGS[:3], begin=FIRST)
    with pytest.raises(OperatorError, match="lacks T2M_MIN, PRECTOTCORR; it has: RH2M, T2M_MAX"):
        Power.open(str(folder))


def test_weather_codes_are_computed_only_if_the_source_has_cloud_cover(archive, tmp_path):
    assert "weather_code" not in Power.open(str(archive)).fields
    days = {name: np.full((10, 3, 3), 20.0) for name in (*series(), "T2M", "CLOUD_AMT")}
    days["PRECTOTCORR"][:] = 0
    folder = write_power(tmp_path / "x", days, FIRST, LATS[:3], LNGS[:3], begin=FIRST)
    source = Power.open(str(folder))
    assert source.fields[-1] == "weather_code"
    values = source.read(Tile(0, 0, 3, 3), FIRST, FIRST)
    assert set(values[:, ROW["weather_code"]].flat) == {0}


@pytest.mark.parametrize("location", ["/nowhere", "http://127.0.0.1:9/power.zarr"])
def test_climate_build_with_a_missing_source_ends_with_a_message(location):
    with pytest.raises(OperatorError, match="cannot be read as Zarr"):
        Power.open(location)


@pytest.mark.parametrize(
    ("rectangle", "cells"),
    [((-5, 40, -5, 40), 1), ((-5, 40, 0, 42), 45), ((170, 0, -170, 9), 0), ((13, 46, -4, 47), 15)],
)  # fmt: skip
def test_climate_region_contains_its_cells_even_across_the_date_line(archive, rectangle, cells):
    region = builder.rectangle(Power.open(str(archive)), *rectangle)
    assert region.wanted.sum() == cells
