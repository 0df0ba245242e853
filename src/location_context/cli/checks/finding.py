"""Finding: one check of `doctor` and what came of it."""

from __future__ import annotations

from typing import Literal

import msgspec

Outcome = Literal["ok", "info", "warning", "failed"]


class Finding(msgspec.Struct, frozen=True):
    """One check and what came of it; `info` is neither good nor bad, such as not configured."""

    check: str
    outcome: Outcome
    message: str
