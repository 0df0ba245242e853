"""The OpenAPI document as generators of clients need it, and its examples.

What can be proved without a generator; `./scripts/check clients` runs six of them.
"""

import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from location_context.sections import registry
from location_context.web.error_responses import ErrorEnvelope
from location_context.web.fixed_answers import CASE, CASES, NOW
from tests.web.conftest import Client
from tests.web.examples import FOLDER

IDENTIFIER = re.compile(r"[A-Z][A-Z0-9_]*")
UNSEEN = {
    *(
        "method_not_allowed",
        "not_available",
        "invalid_place",
        "invalid_theme",
        "invalid_accent",
        "invalid_background",
        "invalid_font",
        "invalid_radius",
        "invalid_title",
    ),
    "invalid_layout",
}


@pytest.fixture(scope="module")
def document(whole: Client) -> dict:
    return whole.get("/v1/openapi.json").json()


def schemas_in(value: Any, path: str = "") -> Iterator[tuple[str, dict]]:
    """Every object of the document that could be a schema, with where it stands."""
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from schemas_in(one, f"{path}/{number}")
    elif isinstance(value, dict):
        yield path, value
        for name, one in value.items():
            if name not in {"examples", "example"}:
                yield from schemas_in(one, f"{path}/{name}")


def properties(document: dict) -> Iterator[tuple[str, dict]]:
    for name, schema in document["components"]["schemas"].items():
        for field, value in schema.get("properties", {}).items():
            yield f"{name}.{field}", value


def kinds(schema: dict) -> set[str]:
    kind = schema.get("type", [])
    return {kind} if isinstance(kind, str) else set(kind)


def test_schema_title_is_its_unique_name(document) -> None:
    schemas = document["components"]["schemas"]
    assert {name: schema["title"] for name, schema in schemas.items()} == {n: n for n in schemas}
    assert len({name.lower() for name in schemas}) == len(schemas)


def test_enum_schema_declares_the_type_of_its_values(document) -> None:
    names = {str: "string", int: "integer", bool: "boolean", type(None): "null"}
    enums = [(path, one) for path, one in schemas_in(document) if isinstance(one.get("enum"), list)]
    assert len(enums) > 40
    for path, one in enums:
        assert kinds(one) == {names[type(value)] for value in one["enum"]}, path
        assert "boolean" not in kinds(one), path


def test_schema_description_has_no_indented_lines(document) -> None:
    assert [path for path, one in schemas_in(document) if "\n " in one.get("description", "")] == []


def test_enum_schema_gives_identifier_names_to_values_that_are_not_identifiers(document) -> None:
    for path, one in schemas_in(document):
        values = [value for value in one.get("enum", []) if value is not None]
        if all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*|1\.0", value) for value in values):
            continue
        assert one["x-enum-varnames"] == one["x-enumNames"], path
        assert len(set(one["x-enum-varnames"])) == len(values), path
        assert all(map(IDENTIFIER.fullmatch, one["x-enum-varnames"])), path


def test_property_has_a_single_type_or_that_type_and_null(document) -> None:
    for name, one in properties(document):
        choices = [choice for choice in one.get("anyOf", []) if choice != {"type": "null"}]
        if choices:
            assert len(choices) == 1, name
            assert set(choices[0]) == {"$ref"}, name
        else:
            assert "$ref" in one or len(kinds(one) - {"null"}) == 1, name


def test_schema_of_a_time_or_url_declares_its_format(document) -> None:
    found = {"date-time": 0, "uri": 0}
    for name, one in properties(document):
        field = name.partition(".")[2]
        address = field in {"url", "license_url", "image", "website", "provider_url"}
        moment = "string" in kinds(one) and re.search(
            r"(_at|_dawn|_dusk|^as_of|^at|rise|set|_noon|^maximum)$", field
        )
        if name in {"Span.start", "Span.end", "Details.start", "Details.end"} or moment:
            assert one.get("format") == "date-time", name
            found["date-time"] += 1
        if address:
            assert one.get("format") == "uri", name
            found["uri"] += 1
    assert found == {"date-time": 29, "uri": 7}
    event = document["components"]["schemas"]["Event"]["properties"]
    for field in ("start", "end"):  # a date or a moment: no format is both
        for text in ("2026-11-28", "2026-11-28T20:00:00+01:00", "2026-11-28T19:00:00.5Z"):
            assert re.search(event[field]["pattern"], text)
        assert not re.search(event[field]["pattern"], "2026-11-28T20:00:00")


def test_schema_property_has_a_description(document) -> None:
    assert [name for name, one in properties(document) if not one.get("description")] == []


UNIT = re.compile(
    r"units\.\w+|[Dd]egrees|[Pp]ercent|[Ss]econds|[Mm]inutes|[Hh]ours|\bpx\b|\bDays\b|[Nn]umber"
    r"|How many|[Yy]ears?\b|`currency`|0 to 1\b|from \d+ to \d+|Level|Code|index|[Mm]agnitude"
    r"|\bUnits\b|Sum of the days' chances|part of the disc|share of days"
)


def test_description_of_each_number_names_its_unit(document) -> None:
    def holds_numbers(schema: object) -> bool:
        if not isinstance(schema, dict):
            return False
        inner = (schema.get("items"), schema.get("additionalProperties"))
        return bool(kinds(schema) & {"number", "integer"}) or any(map(holds_numbers, inner))

    numbers = {name: one for name, one in properties(document) if holds_numbers(one)}
    assert len(numbers) > 90
    assert [name for name, one in numbers.items() if not UNIT.search(one["description"])] == []


def test_schema_requires_each_property_except_the_sections_of_a_pulse(document) -> None:
    by_section = {"PulseSections", "PulseNotApplicable", "PulseUnavailable"}
    for name, schema in document["components"]["schemas"].items():
        if name in by_section:
            assert schema["required"] == []
            continue
        assert set(schema.get("required", [])) == set(schema.get("properties", {})), name


def test_schema_of_each_answer_with_several_types_has_a_discriminator(document) -> None:
    schemas = document["components"]["schemas"]
    for section in registry.names():
        answer = schemas[f"{section.title()}Answer"]
        mapping = answer["discriminator"]["mapping"]
        assert set(mapping) == {section, "not_applicable"}
        assert [{"$ref": reference} for reference in mapping.values()] == answer["oneOf"]
        for tag, reference in mapping.items():
            body = schemas[reference.rpartition("/")[2]]["properties"]
            assert body["type"]["enum"] == [tag]
            assert body["applicable"]["not"] == {"const": tag == "not_applicable"}


def test_sections_pattern_accepts_installed_sections_only(document) -> None:
    pattern = document["components"]["parameters"]["sections"]["schema"]["pattern"]
    for right in ("", "weather,guide", *registry.names(), ",".join(registry.names())):
        assert re.fullmatch(pattern, right)
    for wrong in ("tides", "weather,", ",guide", "weather guide"):
        assert not re.fullmatch(pattern, wrong)


def test_each_operation_with_a_key_takes_the_headers_of_test_keys(document) -> None:
    headers = [{"$ref": f"#/components/parameters/{name}"} for name in (NOW, CASE)]
    for path, item in document["paths"].items():
        operation = item["get"]
        found = [one for one in operation.get("parameters", ()) if one in headers]
        assert found == (headers if operation["security"] else []), path
    known = document["components"]["parameters"]
    assert [(known[name]["in"], known[name]["required"]) for name in (NOW, CASE)] == [
        ("header", False)
    ] * 2
    assert known[CASE]["schema"]["enum"] == [*CASES]
    now = re.compile(known[NOW]["schema"]["pattern"])
    assert now.search(known[NOW]["example"])
    assert not now.search("2027-03-01")


def test_openapi_document_has_contact_and_licence(document) -> None:
    assert document["info"]["contact"]["url"].endswith("/v1/docs")
    assert document["info"]["license"]["identifier"] == "MIT"


def contents(document: dict) -> Iterator[tuple[str, dict]]:
    """The content of every response of every operation."""
    shared = document["components"]["responses"]
    for path, item in document["paths"].items():
        for status, given in item["get"]["responses"].items():
            response = shared[given["$ref"].rpartition("/")[2]] if "$ref" in given else given
            for content in response.get("content", {}).values():
                yield f"{path} {status}", content


def test_operation_has_an_example_for_each_status_with_a_body(document) -> None:
    assert [name for name, content in contents(document) if not content.get("examples")] == []


def test_each_json_error_code_of_the_api_has_an_example(document) -> None:
    shown = {name for _, content in contents(document) for name in content["examples"]}
    codes = set(document["components"]["schemas"]["ErrorBody"]["properties"]["code"]["enum"])
    assert codes - shown == UNSEEN


def test_openapi_example_is_valid_by_its_schema(document) -> None:
    count = 0
    for name, content in contents(document):
        schema = {**content["schema"], "components": document["components"]}
        validator = jsonschema_rs.validator_for(schema, validate_formats=True)
        for example in content["examples"].values():
            errors = [str(error)[:300] for error in validator.iter_errors(example["value"])]
            assert not errors, (name, errors)
            count += 1
    assert count > 60


def test_openapi_example_of_an_error_has_the_form_of_the_error_envelope() -> None:
    for code, example in msgspec.json.decode((FOLDER / "errors.json").read_bytes()).items():
        assert msgspec.convert(example, ErrorEnvelope).error.code == code
