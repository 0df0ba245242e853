"""The command `location-context` on a machine whose clock is wrong.

python -m tests.cluster.wrong_clock SECONDS serve …
"""

import sys
import time
from datetime import UTC, datetime, timedelta

from location_context import stay

_true_time = time.time


def main() -> None:
    ahead = float(sys.argv.pop(1))
    time.time = lambda: _true_time() + ahead
    stay.system_clock = lambda: datetime.now(UTC) + timedelta(seconds=ahead)
    from location_context.cli.main import main  # noqa: PLC0415  once the clock is moved

    main()


if __name__ == "__main__":
    main()
