"""Log lines of the code under test, whatever another fixture has set for the whole process."""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import structlog
from structlog.testing import capture_logs


@contextmanager
def captured_logs() -> Iterator[list[MutableMapping[str, Any]]]:
    """Yield the lines logged in the block, of every level.

    A server that another test keeps open may have raised the level for the process.
    """
    before = structlog.get_config()["wrapper_class"]
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(0))
    try:
        with capture_logs() as lines:
            yield lines
    finally:
        structlog.configure(wrapper_class=before)
