"""Status and doctor name the setting to change behind a proxy that is not trusted."""

import contextlib
import io
import json
from pathlib import Path

from location_context.settings import Settings
from location_context.web import logs
from tests.serving import serve
from tests.web.commands import command
from tests.web.conftest import HTTP
from tests.web.sections import FakeSection

LINE = "LOCATION_CONTEXT_TRUSTED_PROXIES=127.0.0.1/32"


def test_log_and_status_and_doctor_each_mention_the_trusted_proxies_setting(tmp_path: Path) -> None:
    command(tmp_path, "setup", "--without-fallback")
    settings, written = Settings(data_dir=tmp_path, log_level="warning"), io.StringIO()
    with contextlib.redirect_stderr(written), serve(settings, sections=[FakeSection()]) as served:
        logs.configure(settings)
        assert "PROXIES" not in HTTP.get(f"{served.url}/v1/status").text
        for number in range(50):
            sent = {"X-Forwarded-For": f"198.51.100.{number}"}
            for path in ("/v1/pulse?lat=1&lng=1&start=2027-01-01&end=2027-01-02", "/v1/places?q=x"):
                HTTP.get(served.url + path, headers=sent)
        report = HTTP.get(f"{served.url}/v1/status").json()["notices"]
        nothing = {"LOCATION_CONTEXT_OPEN_METEO_FORECAST_URL": ""}
        done = command(
            tmp_path, "doctor", "--server", served.url, "--json", more=nothing, fails=True
        )
    assert [notice.endswith(LINE) for notice in report if "Forwarded" in notice] == [True]
    lines = [line for line in written.getvalue().splitlines() if "forwarded_header" in line]
    assert len(lines) == 1
    assert json.loads(lines[0])["set"] == LINE
    assert "198.51" not in written.getvalue()
    found = [one["message"] for one in json.loads(done.stdout) if one["check"] == "server"]
    assert any(message.endswith(LINE) for message in found)
