from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from towtank.errors import StudyError
from towtank.workload.importers.accounting import Fate
from towtank.workload.importers.jsonfile import parse
from towtank.workload.importers.openapi.table import KEYS
from towtank.workload.importers.openapi.values import DEPTH_AT_MOST, Maker, References

LISTS = json.loads((Path(__file__).parents[2] / "data/imports/keys/openapi.json").read_text("utf-8"))["objects"]
Importer = Callable[..., Any]


def made(schema: dict[str, Any], **components: Any) -> Any:
    """Return the value generated from a schema."""
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


def test_references_that_lead_nowhere_are_reported(import_text: Importer) -> None:
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
    """Return an interface description that contains each kind of mapping in the format."""
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
        "server": whole["servers"][0],
    }
    found: dict[str, Any] = parts[kind]
    return found


@pytest.mark.parametrize("kind", sorted(KEYS))
def test_every_key_is_accounted_for(kind: str, import_notes: Importer) -> None:
    """Each key of OpenAPI 3.0 or 3.1 is in the table of keys. A key that is not in the table is named in a note."""
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


# For each key that is imported: the keys that it needs beside it, and its value.
_OTHERS: dict[tuple[str, str], tuple[dict[str, Any], Any]] = {
    ("openapi", "openapi"): ({}, "2.0"),
    ("openapi", "info"): ({}, {"title": "other"}),
    ("openapi", "servers"): ({}, [{"url": "http://b"}]),
    ("openapi", "paths"): ({}, {"/y": {"get": {}}}),
    ("openapi", "security"): ({}, [{"key": []}]),
    ("openapi", "webhooks"): ({}, {"hook": {"post": {}}}),
    ("server", "url"): ({}, "http://c"),
    ("server", "variables"): ({"url": "http://{v}"}, {"v": {"default": "d"}}),
    **{("pathitem", method): ({}, {}) for method in ("get", "put", "delete", "head", "patch", "options", "trace")},
    ("pathitem", "post"): ({}, {"operationId": "other"}),
    ("pathitem", "parameters"): ({}, [{"name": "p", "in": "query", "example": 1}]),
    ("operation", "operationId"): ({}, "other"),
    ("operation", "parameters"): ({}, [{"name": "p", "in": "query", "example": 1}]),
    ("operation", "requestBody"): ({}, {"content": {"text/plain": {"example": "x"}}}),
    ("operation", "responses"): ({}, {"204": {}}),
    ("operation", "security"): ({}, [{"key": []}]),
    ("operation", "callbacks"): ({}, {"done": {}}),
    ("operation", "deprecated"): ({}, True),
    ("parameter", "name"): ({}, "other"),
    ("parameter", "in"): ({}, "header"),
    ("parameter", "required"): ({}, False),
    ("parameter", "example"): ({}, "given"),
    ("parameter", "examples"): ({}, {"one": {"value": "given"}}),
    ("parameter", "schema"): ({}, {"type": "integer"}),
    ("parameter", "content"): ({}, {"text/plain": {"example": "given"}}),
    ("requestBody", "content"): ({}, {"text/plain": {"example": "x"}}),
    ("mediatype", "example"): ({}, {"a": 9}),
    ("mediatype", "examples"): ({}, {"one": {"value": {"a": 9}}}),
    ("mediatype", "schema"): ({}, {"type": "array", "items": {"type": "integer"}}),
    ("schema", "type"): ({}, "integer"),
    ("schema", "format"): ({}, "uuid"),
    **{("schema", key): ({}, "given") for key in ("default", "example", "const")},
    **{("schema", key): ({}, ["given"]) for key in ("examples", "enum")},
    ("schema", "properties"): ({"type": "object"}, {"b": {"type": "integer"}}),
    ("schema", "items"): ({"type": "array"}, {"type": "integer"}),
    ("schema", "required"): ({"type": "object", "properties": {"n": {"type": "null"}}}, ["n"]),
    **{("schema", key): ({"type": None}, [{"type": "integer"}]) for key in ("oneOf", "anyOf", "allOf")},
    **{("schema", key): ({"type": "integer"}, 7) for key in ("minimum", "exclusiveMinimum", "multipleOf")},
    **{("schema", key): ({"type": "integer"}, -7) for key in ("maximum", "exclusiveMaximum")},
    ("schema", "minItems"): ({"type": "array", "items": {"type": "integer"}}, 3),
    ("schema", "minLength"): ({}, 9),
    ("schema", "maxLength"): ({}, 2),
    ("schema", "pattern"): ({}, "x+"),
    ("schema", "readOnly"): ({}, True),
}


def _described(kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an interface description and, inside it, the mapping of the given kind. For schemas, this mapping is the
    schema of a property of the body.
    """
    whole = _whole()
    whole["components"] = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}}
    if kind == "schema":
        part = _part(whole, "schema")["properties"]["a"] = {"type": "string"}
    else:
        part = _part(whole, kind)
    return whole, part


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind, keys in sorted(KEYS.items()) for name, key in keys.items() if key.fate is Fate.CARRIED],
)
def test_every_carried_key_changes_the_plan(kind: str, name: str, import_notes: Importer) -> None:
    """If an imported key is added to a file, the workload or a note must change, or the file must be refused."""
    beside, value = _OTHERS[kind, name]
    found = []
    for more in ({}, {name: value}):
        whole, part = _described(kind)
        part.update({**beside, **more})
        try:
            made = import_notes("openapi", json.dumps(whole))
        except StudyError as error:
            found.append((str(error), {}, []))
        else:
            found.append((made.text, made.draft.findings, made.notes()))
    assert found[0] != found[1]


def test_cookies_that_are_described_are_a_header(import_text: Importer) -> None:
    whole, operation = _described("operation")
    whole["components"]["securitySchemes"]["key"]["in"] = "cookie"
    whole["security"] = [{"key": []}]
    operation["parameters"] = [{"name": n, "in": "cookie", "required": True, "example": n} for n in ("a", "b")]
    found = import_text("openapi", json.dumps(whole))
    assert found.requests()[0]["headers"] == {"Cookie": "a=a; b=b; X-Key=${parameters.key}"}


def test_ways_to_sign_in_that_are_not_taken_are_noted(import_text: Importer) -> None:
    whole, operation = _described("operation")
    operation["security"] = [{"missing": []}, {"key": []}]
    found = import_text("openapi", json.dumps(whole))
    assert [why for _, what, why in found.notes() if what.startswith("security")] == [
        "left out: components.securitySchemes has no entry with this name",
    ]
    assert found.noted("POST /x: security")


def test_headers_that_are_no_parameters_are_noted(import_text: Importer) -> None:
    text = """openapi: 3.1.0
paths:
  /a:
    post:
      parameters: [{name: Accept, in: header, required: true, schema: {type: string}}]
      requestBody:
        content:
          application/x-www-form-urlencoded: {example: {many: [a, b], plain: c}}
"""
    found = import_text("openapi", text)
    assert found.requests() == [{"post": "/a", "name": "POST /a", "form": {"many": '["a", "b"]', "plain": "c"}}]
    assert found.noted("POST /a: header Accept") == [5]
    assert found.noted("POST /a: field many") == [8]
    assert not found.noted("POST /a: field plain")


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ({"type": "array", "items": {"type": "string", "format": "binary"}}, ["files_1.bin"]),
        ({"type": "array", "minItems": 2, "items": {"$ref": "#/components/schemas/F"}}, ["files_1.bin", "files_2.bin"]),
        ({"type": "array", "example": [], "items": {"type": "string", "format": "binary"}}, ["files_1.bin"]),
        ({"type": "array", "example": ["a", "b"], "items": {"format": "binary"}}, ["files_1.bin", "files_2.bin"]),
        ({"items": {"format": "binary"}, "example": "a"}, ["files_1.bin"]),
        ({"type": "string", "format": "binary"}, ["files.bin"]),
    ],
)
def test_files_of_an_array_are_parts_of_one_name(
    schema: dict[str, Any], names: list[str], import_text: Importer
) -> None:
    whole = {"type": "object", "properties": {"note": {"type": "string"}, "files": schema}}
    operation = {
        "requestBody": {"content": {"multipart/form-data": {"schema": whole}}},
        "responses": {"200": {"description": "ok"}},
    }
    description = {
        "openapi": "3.0.3",
        "info": {"title": "t", "version": "1"},
        "paths": {"/up": {"post": operation}},
        "components": {"schemas": {"F": {"type": "string", "format": "binary"}}},
    }
    (step,) = import_text("openapi", json.dumps(description)).requests()
    files = [{"generated": {"size": "10 KiB"}, "filename": name} for name in names]
    if len(files) == 1:
        assert step["multipart"] == {"note": "text", "files": files[0]}
    else:
        named = [{"name": "files", **file} for file in files]
        assert step["multipart"] == [{"name": "note", "value": "text"}, *named]


@pytest.mark.parametrize(
    ("scheme", "headers", "auth", "parameters"),
    [
        ({"type": "oauth2"}, {"Authorization": "Bearer ${parameters.key}"}, None, ["key"]),
        ({"type": "openIdConnect"}, {"Authorization": "Bearer ${parameters.key}"}, None, ["key"]),
        ({"type": "http", "scheme": "Bearer"}, {"Authorization": "Bearer ${parameters.key}"}, None, ["key"]),
        (
            {"type": "http", "scheme": "basic"},
            None,
            {"user": "${parameters.key_user}", "password": "${parameters.key_password}"},
            ["key_user", "key_password"],
        ),
        ({"type": "apiKey", "in": "header", "name": "X-Key"}, {"X-Key": "${parameters.key}"}, None, ["key"]),
        ({"type": "http", "scheme": "digest"}, None, None, []),
        ({"type": "mutualTLS"}, None, None, []),
    ],
)
def test_each_way_to_sign_in_has_its_place(
    scheme: dict[str, Any],
    headers: dict[str, str] | None,
    auth: dict[str, str] | None,
    parameters: list[str],
    import_text: Importer,
) -> None:
    whole, operation = _described("operation")
    whole["components"]["securitySchemes"]["key"] = scheme
    operation["security"] = [{"key": []}]
    found = import_text("openapi", json.dumps(whole))
    step = found.requests()[0]
    assert (step.get("headers"), step.get("auth")) == (headers, auth)
    assert list(found.draft.parameters) == parameters
    whys = [why for _, what, why in found.notes() if what.startswith("security key")]
    named = " and ".join(f"parameters.{name}" for name in parameters)
    expected = f"its values are unknown: set {named}" if parameters else "left out: it has no counterpart in a workload"
    assert whys == [expected]


@pytest.mark.parametrize(("value", "query", "noted"), [([1, 2], "1,2", True), ([1], "1", False), (7, "7", False)])
def test_several_values_of_a_query_are_joined(value: Any, query: str, noted: bool, import_text: Importer) -> None:
    whole, operation = _described("operation")
    operation["parameters"] = [{"name": "a", "in": "query", "required": True, "example": value}]
    found = import_text("openapi", json.dumps(whole))
    assert str(found.requests()[0]["query"]["a"]) == query
    assert any("joined with commas" in why for _, _, why in found.notes()) is noted
