"""The source that `docs/adding.md` shows: it builds a store as any other."""

import re
from datetime import date

import distributed
import numpy as np
import pytest

from location_context.point import Point
from location_context.sections.weather.climate import build as builder
from location_context.sections.weather.climate.store import ClimateStore
from location_context.stay import Stay
from tests.conftest import ROOT
from tests.sections.weather.climate.test_build import NOW

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def test_documented_example_source_builds_a_climate_store(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "adding.md").read_text("utf-8")
    (code,) = (one for one in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "tile" in one)
    names: dict = {}
    exec(code, names)
    shape = ((date(2026, 6, 30) - date(2000, 1, 1)).days + 1, 3, 4)
    high = np.random.default_rng(2).normal(20, 4, shape)
    for name, values in (("high", high), ("low", high - 9), ("rain", np.zeros(shape))):
        np.save(tmp_path / f"{name}.npy", values)
    source = names["Folder"].open(str(tmp_path))
    monkeypatch.setattr(builder, "_source_of", lambda _: source)
    job = builder.Job("folder", str(tmp_path), range(2016, 2026))
    build = builder.Build(tmp_path, job, source, builder.rectangle(source, 0, 40, 1, 41))
    with distributed.Client(processes=False, dashboard_address="127.0.0.1:0") as client:
        assert not build.run(client, lambda _: None).failed
    store = ClimateStore.open(build.publish(NOW))
    found = store.series(Point(40.3, 0.6, "UTC"), Stay(date(2027, 5, 1), date(2027, 5, 3)))
    assert found.columns["temperature_max"] == pytest.approx([20] * 3, abs=1)
    assert (found.provider, found.attribution[0].name) == ("Acme Weather", "Acme")
