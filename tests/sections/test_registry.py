"""Sections, providers and settings of other packages are found through their metadata."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from location_context.errors import OperatorError
from location_context.sections import registry
from location_context.sections.events.providers.base import EventProvider
from location_context.sections.guide.imports.reading import installed_formats
from location_context.sections.section import Section, SectionContext
from location_context.settings import Settings, unknown
from location_context.stay import system_clock

ROOT = Path(__file__).parents[2]
CODE = """
from typing import Annotated
import msgspec
from location_context.sections.contract import DatedApplicable
from location_context.sections.section import Section, SectionContext
from location_context.settings import Secret
from location_context.settings.parsers import Address, HeaderSecret

class Body(DatedApplicable, frozen=True, kw_only=True, tag="tides"):
    pass

class Tides(Section):
    name, dated, response, order = "tides", True, Body, 150
    async def read(self, query, deadline): ...

class TidesSettings(msgspec.Struct, frozen=True, kw_only=True):
    tides_url: Annotated[Address, "Tides."] = "https://tides.example/"
    tides_api_key: Annotated[HeaderSecret, "Tides' key."] = Secret()
"""


def loaded() -> list[type]:
    return registry.load(registry.SECTIONS, Section)


def test_built_in_sections_providers_and_formats_are_registered_as_entry_points_in_order():
    written = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    for group, installed in (
        (registry.SECTIONS, loaded()),
        (registry.EVENT_PROVIDERS, registry.load(registry.EVENT_PROVIDERS, EventProvider)),
        (registry.GUIDE_IMPORTERS, installed_formats()),
    ):
        assert {one.name for one in installed} >= set(written[group])
        orders = [one.order for one in installed]
        assert orders == sorted(set(orders))


def test_section_of_another_package_is_sorted_by_its_order_number(install):
    before = [one.name for one in loaded()]
    install(CODE, sections={"tides": "Tides"})
    assert [one.name for one in loaded()] == [before[0], "tides", *before[1:]]
    assert "tides" in registry.names()


@pytest.mark.parametrize(
    ("code", "target", "message"),
    [
        ("raise ValueError('no tide table')", "Tides", "ValueError: no tide table"),
        ("import no_such_part", "Tides", "No module named 'no_such_part'"),
        ("", "Tides", "has no attribute 'Tides'"),
        ("class Tides: name = 'tides'", "Tides", "is not a subclass of"),
        (
            CODE.replace('"tides", True', '"other", True'),
            "Tides",
            "a class whose `name` is 'other'",
        ),
    ],
)
def test_package_that_cannot_be_loaded_is_named_with_its_error(install, code, target, message):
    install(code, sections={"tides": target})
    with pytest.raises(OperatorError, match=re.escape(message)) as raised:
        loaded()
    assert "'tides'" in raised.value.message
    assert "made_up_0" in raised.value.message


def test_missing_package_metadata_gives_an_error_that_no_section_is_registered(monkeypatch):
    monkeypatch.setattr(registry, "entry_points", lambda **_: ())
    with pytest.raises(OperatorError, match="No section is registered"):
        registry.build(SectionContext(Settings(), system_clock, None))


def test_two_packages_cannot_register_the_same_section_name(install):
    install(CODE, sections={"tides": "Tides"})
    install(CODE, sections={"tides": "Tides"})
    with pytest.raises(OperatorError, match="Two packages register 'tides'"):
        loaded()


def test_section_of_another_package_reads_its_settings_from_the_section_context(install):
    install(CODE, settings={"tides": "TidesSettings"})
    table = import_module("made_up_0").TidesSettings
    given = {"LOCATION_CONTEXT_TIDES_API_KEY": "hunter2"}
    values = SectionContext(Settings(), system_clock, None, environ=given).settings_of(table)
    assert values.tides_api_key.reveal() == "hunter2"
    assert "hunter2" not in repr(values)


def test_plugin_settings_that_cannot_be_loaded_are_named_in_the_error(install):
    install("raise ValueError('no tide table')", settings={"tides": "TidesSettings"})
    with pytest.raises(OperatorError, match=r"settings of package 'tides' .* no tide table"):
        unknown({"LOCATION_CONTEXT_TIDES_URL": ""})
