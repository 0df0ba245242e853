"""Registry: the sections and providers that are installed, found through entry points.

A package, this one included, names its classes in its metadata:

    [project.entry-points."location_context.sections"]
    tides = "my_package.tides:Tides"

`names` reads only the metadata; `load` imports the classes and sorts them by their `order`.
"""

from importlib.metadata import EntryPoint
from typing import Any, TypeVar

from location_context.errors import OperatorError
from location_context.sections.section import DEFAULT_ORDER, Section, SectionContext
from location_context.settings.parsers import entry_points

SECTIONS = "location_context.sections"
FORECAST_PROVIDERS = "location_context.forecast_providers"
ARCHIVE_PROVIDERS = "location_context.archive_providers"
EVENT_PROVIDERS = "location_context.event_providers"
GUIDE_IMPORTERS = "location_context.guide_importers"


Kind = TypeVar("Kind")


def names() -> list[str]:
    """Return the names of the registered sections; nothing is imported."""
    return sorted({point.name for point in entry_points(group=SECTIONS)})


def load(group: str, kind: type[Kind]) -> list[type[Kind]]:
    """Return the classes of an entry-point group, sorted by `order`, then by name.

    Raises:
        OperatorError: a class cannot be imported, is not a subclass of `kind`, or is registered
            under a name that differs from its attribute `name`; or two classes have the same name.
    """
    found: dict[str, type[Kind]] = {}
    for point in dict.fromkeys(entry_points(group=group)):
        loaded = _loaded(point, kind)
        if found.setdefault(point.name, loaded) is not loaded:
            raise OperatorError(
                f"Two packages register {point.name!r} in {group}; one is {_origin(point)}."
            )
    named = sorted(found.items())
    return [one for _, one in sorted(named, key=lambda p: getattr(p[1], "order", DEFAULT_ORDER))]


def build(context: SectionContext) -> list[Section[Any]]:
    """Return every registered section, in order of display.

    Raises:
        OperatorError: a section cannot be loaded, or none is registered.
    """
    if not (sections := load(SECTIONS, Section)):
        raise OperatorError(
            "No section is registered: the package is not installed, or its metadata is old. "
            "Install it again: pip install ."
        )
    return [one.build(context) for one in sections]


def _loaded(point: EntryPoint, kind: type[Kind]) -> type[Kind]:
    try:
        loaded = point.load()
    except Exception as error:
        raise OperatorError(
            f"{_where(point)} cannot be loaded: {type(error).__name__}: {error}. "
            "Fix or uninstall that package."
        ) from error
    if not (isinstance(loaded, type) and issubclass(loaded, kind)):
        what = f"{kind.__module__}.{kind.__name__}"
        raise OperatorError(f"{_where(point)} is not a subclass of {what}.")
    if getattr(loaded, "name", None) != point.name:
        name = getattr(loaded, "name", None)
        raise OperatorError(
            f"{_where(point)} loads a class whose `name` is {name!r}; it must be {point.name!r}."
        )
    return loaded


def _where(point: EntryPoint) -> str:
    return f"The entry point {point.name!r} of {_origin(point)} ({point.value})"


def _origin(point: EntryPoint) -> str:
    return f"the package {point.dist.name}" if point.dist else "a package"
