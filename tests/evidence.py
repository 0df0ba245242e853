"""Evidence: the tests that docs/accessibility.md names pass in every run of the whole suite."""

import os

import pytest

from scripts.generators import accessibility


class Evidence:
    """A plugin that remembers which tests passed; a run of all tests needs every named one."""

    def __init__(self) -> None:
        self._passed: set[str] = set()

    def missing(self) -> list[str]:
        """The named tests of which nothing has passed."""
        return sorted(accessibility.tests() - self._passed)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            name = report.nodeid.partition("[")[0]
            self._passed.add(name.removeprefix("tests/"))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        config = session.config
        whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
        if not whole or config.option.keyword or config.option.collectonly or session.shouldstop:
            return
        if missing := self.missing():
            reporter = config.pluginmanager.get_plugin("terminalreporter")
            assert reporter is not None
            reporter.write_line("\ndocs/accessibility.md names tests that did not pass:")
            reporter.write_line("\n".join(missing))
            if os.environ.get("CI") == "true":  # elsewhere a browser may be missing
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
