"""Fixtures of the widget's tests; see `browser` and `service`."""

from tests.widget.browser import (  # noqa: F401  fixtures
    chromium,
    open_host,
    open_page,
    serve_host,
    windows,
)
from tests.widget.service import service  # noqa: F401  a fixture
