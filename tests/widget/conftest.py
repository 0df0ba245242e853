"""What the widget's tests share; see `browser` and `site`."""

from tests.widget.browser import chromium, open_page, windows  # noqa: F401  fixtures
from tests.widget.full_app import full  # noqa: F401  a fixture
from tests.widget.live_app import site  # noqa: F401  a fixture
from tests.widget.queries import gazetteer  # noqa: F401  a fixture
