"""The whole service against its own OpenAPI document: whatever is made from it finds no failure.

In CI it is 2,000 cases and more, elsewhere a few hundred: the same in each run.
"""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from location_context.app import open_service
from location_context.settings import Settings
from location_context.web import openapi
from location_context.widget.oembed import OEmbed
from tests.sections.weather.conftest import write_grid
from tests.serving import serve
from tests.web.conftest import make_key
from tests.web.full_app import OFF, load_sample_guide
from tests.web.schemathesis_hooks import GUIDE

CASES_EACH = 60 if os.environ.get("CI") == "true" else 20
LEAST = 2000 if os.environ.get("CI") == "true" else 300
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The four sections with what they have of their own, and no provider."""
    folder = tmp_path_factory.mktemp("whole")
    write_grid(folder)
    settings = Settings(data_dir=folder, log_level="error", widget_per_minute=99_999, **OFF)
    for name in ("", GUIDE):
        asyncio.run(load_sample_guide(settings, name=name))
    return settings


def test_schemathesis_finds_no_violation_of_the_openapi_document(settings: Settings) -> None:
    key = make_key(settings, per_minute=1_000_000)
    # names that no parameter resembles are ignored, such as those that campaigns add to links
    config = "[generation]\nallow-extra-parameters = false\n"
    (settings.data_dir / "schemathesis.toml").write_text(config)
    with serve(settings) as served:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run"),
                f"{served.url}/v1/openapi.json",
                *("--url", served.url),
                *("--header", f"Authorization: Bearer {key}"),
                *("--checks", "all"),
                *("--phases", "examples,coverage,fuzzing"),
                *("--max-examples", str(CASES_EACH)),
                "--generation-deterministic",
                "--continue-on-failure",
            ],
            cwd=settings.data_dir,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "PYTHONWARNINGS": "ignore",
                "SCHEMATHESIS_HOOKS": "tests.web.schemathesis_hooks",
            },
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    generated = re.search(r"([\d,]+) generated", done.stdout)
    assert generated, done.stdout[-2000:]
    print(f"schemathesis: {generated[1]} cases, no failure")
    assert int(generated[1].replace(",", "")) >= LEAST


def test_openapi_document_names_no_python_module(settings: Settings) -> None:
    async def made() -> dict:
        async with open_service(settings) as service:
            return openapi.document("http://a", [one.section for one in service.sections], OEmbed)

    document = asyncio.run(made())
    assert "location_context" not in str(document)
    assert {"WeatherDay", "AstronomyDay"} <= set(document["components"]["schemas"])
