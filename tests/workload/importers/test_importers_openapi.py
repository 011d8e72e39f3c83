"""Descriptions of interfaces: operations, values made of schemas, references."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from towtank.workload.importers.accounting import Fate
from towtank.workload.importers.jsonfile import parse
from towtank.workload.importers.openapi_table import KEYS
from towtank.workload.importers.openapi_values import DEPTH_AT_MOST, Maker, References

LISTS = json.loads((Path(__file__).parents[2] / "data/imports/keys/openapi.json").read_text("utf-8"))["objects"]
Importer = Callable[..., Any]


def made(schema: dict[str, Any], **components: Any) -> Any:
    """The value made of a schema."""
    root = parse(json.dumps({"schema": schema, **components}), "x.json")
    references = References(root, lambda *_: None)
    return Maker(references, lambda *_: None).value(root.child("schema"))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 1),
        ({"type": "integer", "minimum": 5, "multipleOf": 4}, 8),
        ({"type": "integer", "exclusiveMinimum": 5}, 6),
        ({"type": "integer", "maximum": 0, "exclusiveMaximum": True}, -1),
        ({"type": "number", "minimum": 0.5, "maximum": 0.75}, 0.75),
        ({"type": ["null", "boolean"]}, True),
        ({"type": "string", "maxLength": 2}, "te"),
        ({"type": "string", "minLength": 9}, "${random.text(9)}"),
        ({"type": "string", "format": "date"}, "2026-01-01"),
        ({"type": "string", "enum": ["b", "a"]}, "b"),
        ({"const": "${c}"}, "$${c}"),
        ({"type": "string", "examples": ["e"], "default": "d"}, "d"),
        ({"type": "array", "minItems": 2, "items": {"type": "integer"}}, [1, 1]),
        ({"properties": {"a": {"type": "integer"}, "b": {"readOnly": True}}}, {"a": 1}),
        ({"properties": {"a": {"example": 1}}, "required": [{"a": 1}, "a"]}, {"a": 1}),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, 1),
        (
            {"allOf": [{"properties": {"a": {"example": 1}}}], "properties": {"b": {"example": 2}}},
            {"a": 1, "b": 2},
        ),
    ],
)
def test_values_of_schemas(schema: dict[str, Any], value: Any) -> None:
    assert made(schema) == value


def test_references_with_escapes() -> None:
    assert made({"$ref": "#/parts/a~1b%25/0"}, parts={"a/b%": [{"example": "found"}]}) == "found"


def test_a_schema_that_contains_itself_ends() -> None:
    node = {"properties": {"name": {"example": "n"}, "next": {"$ref": "#/node"}}, "required": ["next"]}
    assert made({"$ref": "#/node"}, node=node) == {"name": "n", "next": None}


def test_schemas_nested_without_end_are_bounded() -> None:
    levels = {f"l{n}": {"properties": {"in": {"$ref": f"#/l{n + 1}"}}} for n in range(30)}
    value, depth = made({"$ref": "#/l0"}, **levels), 0
    while value is not None:
        value, depth = value.get("in"), depth + 1
    assert depth == DEPTH_AT_MOST


def test_references_that_lead_nowhere_are_told(import_text: Importer) -> None:
    text = """openapi: 3.1.0
paths:
  /a:
    get:
      parameters:
        - $ref: "#/components/parameters/missing"
        - $ref: other.yaml#/x
        - {name: circle, in: query, required: true, schema: {$ref: "#/components/schemas/a"}}
components:
  schemas:
    a: {$ref: "#/components/schemas/b"}
    b: {$ref: "#/components/schemas/a"}
"""
    found = import_text("openapi", text)
    assert found.noted("$ref #/components/parameters/missing") == [6]
    assert found.noted("$ref other.yaml#/x") == [7]
    assert [why for _, what, why in found.notes() if what == "$ref"] == ["leads to itself"]


def test_the_example(import_file: Importer) -> None:
    found = import_file("openapi", "pets.yaml")
    mix = found.workload["groups"]["users"]["loop"]["mix"]
    assert mix == dict.fromkeys(["list_pets", "create_pet", "get_pets_pet_id", "delete_pets_pet_id", "put_photo"], 20)
    listed, created, _, deleted, photo = found.requests()
    assert listed["query"] == {"limit": "20"}
    assert listed["headers"] == {"X-Api-Key": "${parameters.key}"}
    assert created["json"] == {"name": "Rex $${1}", "age": 1, "kind": "dog", "friends": []}
    assert created["check"] == {"status": 201}
    assert deleted["auth"] == {"user": "${parameters.login_user}", "password": "${parameters.login_password}"}
    assert photo["put"] == "/v1/pets/rex%201/photo"
    assert found.noted("OPTIONS /pets") == [21]
    assert found.noted("POST /pets: body application/xml") == [52]


def test_json_files_are_read_with_places(import_text: Importer) -> None:
    document = {"openapi": "3.0.0", "paths": {"/a": {"trace": {}, "get": {"responses": {"2XX": {}}}}}}
    found = import_text("openapi", json.dumps(document, indent=1), "api.json")
    assert found.requests() == [{"get": "/a", "name": "GET /a", "check": {"status": "2xx"}}]
    assert found.noted("TRACE /a") == [5]


def test_weights_add_to_100(import_text: Importer) -> None:
    paths = {f"/p{number}": {"get": {}} for number in range(7)}
    found = import_text("openapi", json.dumps({"openapi": "3.0.0", "paths": paths}))
    assert sum(found.workload["groups"]["users"]["loop"]["mix"].values()) == pytest.approx(100, abs=1e-9)


def _whole() -> dict[str, Any]:
    """A description in which each kind of mapping occurs."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    operation = {
        "parameters": [{"name": "q", "in": "query", "required": True, "schema": {"type": "string"}}],
        "requestBody": {"content": {"application/json": {"schema": schema}}},
        "responses": {"200": {"description": "ok"}},
    }
    server = {"url": "http://ann:secret@a/base"}
    return {"openapi": "3.0.0", "info": {"title": "t"}, "servers": [server], "paths": {"/x": {"post": operation}}}


def _part(whole: dict[str, Any], kind: str) -> dict[str, Any]:
    item = whole["paths"]["/x"]
    operation = item["post"]
    body = operation["requestBody"]
    parts = {
        "openapi": whole,
        "pathitem": item,
        "operation": operation,
        "parameter": operation["parameters"][0],
        "requestBody": body,
        "mediatype": body["content"]["application/json"],
        "schema": body["content"]["application/json"]["schema"],
        "response": operation["responses"]["200"],
    }
    found: dict[str, Any] = parts[kind]
    return found


@pytest.mark.parametrize("kind", sorted(KEYS))
def test_every_key_is_accounted_for(kind: str, import_notes: Importer) -> None:
    """A key of OpenAPI 3.0 or 3.1, and one that nobody knows: listed, or named by a note."""
    for name in [*LISTS[kind.lower()], "newKey"]:
        entry = KEYS[kind].get(name)
        if entry is not None and entry.fate is not Fate.NOTED:
            assert entry.why or entry.fate is Fate.CARRIED
            continue
        whole = _whole()
        _part(whole, kind)[name] = [{"x": "y"}]
        found = import_notes("openapi", json.dumps(whole))
        assert any(f"{kind}: {name}" in what for _, what, _ in found.notes()), name


def test_links_are_noted_and_an_empty_body_is_sent(import_text: Importer) -> None:
    whole = _whole()
    whole["paths"]["/x"]["post"]["requestBody"]["content"]["application/json"]["example"] = {}
    whole["paths"]["/x"]["post"]["responses"]["200"]["links"] = {"next": {"operationId": "y"}}
    found = import_text("openapi", json.dumps(whole))
    assert found.requests()[0]["json"] == {}
    assert found.noted("response: links")
    assert found.workload["defaults"]["auth"] == {"user": "ann", "password": "secret"}
