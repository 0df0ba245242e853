"""The examples of the OpenAPI document: real answers, kept in `examples/` (scripts/examples.py).

Those of a section are kept in its own folder. A file holds an operation's good answers by name;
`errors` holds an envelope for each code, `pages` a page of the widget for each status of an error.
Pages and what is large are shortened.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

import msgspec

Examples = dict[str, dict[str, Any]]


def of(operation: str, *names: str) -> Examples:
    """An operation's examples, of these names or all; none where there is no file."""
    file = resources.files("location_context.web") / "examples" / f"{operation}.json"
    if not file.is_file():
        return {}
    kept: dict[str, Any] = msgspec.json.decode(file.read_bytes())
    return shown({name: kept[name] for name in kept if name in names or not names})


def shown(samples: Mapping[str, Any]) -> Examples:
    """Examples by their names, as OpenAPI has them."""
    return {
        name: {"summary": name.replace("_", " ").capitalize(), "value": value}
        for name, value in samples.items()
    }
