"""States whether the importer converts, notes or ignores each key of OpenAPI 3.0 and 3.1."""

from __future__ import annotations

from towtank.workload.importers.accounting import Key, Table, carried, harmless, noted
from towtank.workload.importers.tree_account import EACH, ONE, VALUES, Shape

_WORDS: dict[str, Key] = {
    **harmless("text for readers", "description", "summary", "title", "externalDocs", "tags", "$comment"),
    **harmless("resolved wherever it occurs", "$ref"),
}
_VALUE: dict[str, Key] = {**carried("example", "examples", "schema", why="value that is sent"), **_WORDS}
_MADE = "the generated value may violate it: check that the server accepts it"

KEYS: Table = {
    "openapi": {
        **carried("openapi", "info", "paths", "servers", "security", "webhooks", why="transactions, targets, logins"),
        **harmless("read through the references to it", "components"),
        **harmless("concerns the syntax of schemas", "jsonSchemaDialect"),
        **_WORDS,
    },
    "server": {**carried("url", "variables", why="target, and the beginning of its paths"), **_WORDS},
    "pathitem": {
        **carried("get", "put", "post", "delete", "head", "patch", "parameters", why="one transaction for each"),
        **carried("options", "trace", why="a note: left out"),
        **noted("servers", "requests of this path go to the first server of the description"),
        **_WORDS,
    },
    "operation": {
        **carried("operationId", "parameters", "requestBody", "responses", "security"),
        **carried("callbacks", "deprecated", why="a note"),
        **noted("servers", "requests of this operation go to the first server of the description"),
        **_WORDS,
    },
    "parameter": {
        **carried("name", "in", "required", why="path, query, header or cookie"),
        **carried("content", why="value that is sent"),
        **_VALUE,
        **noted("style", "values are sent as text, lists joined with commas", "form", "simple"),
        **noted("explode", "lists are sent as one value, joined with commas", "false"),
        **noted("allowReserved", "reserved characters are encoded", "false"),
        **noted("allowEmptyValue", "a value is sent", "false"),
        **noted("deprecated", "is sent like other parameters", "false"),
    },
    "requestBody": {**carried("content"), **harmless("a described body is always sent", "required"), **_WORDS},
    "mediatype": {**_VALUE, **noted("encoding", "parts are sent with the media type of their kind")},
    "response": {
        **noted("links", "links are not followed: extract values from responses with `extract`"),
        **harmless("only the status of a response is checked", "headers", "content"),
        **_WORDS,
    },
    "schema": {
        **carried(
            "type", "format", "default", "example", "examples", "enum", "const", "properties", "items", "required"
        ),
        **carried("oneOf", "anyOf", "allOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        **carried("multipleOf", "minItems", "minLength", "maxLength", "pattern", "readOnly"),
        **harmless(
            "a value can be generated without it", "nullable", "writeOnly", "deprecated", "maxItems", "maxProperties"
        ),
        **harmless(
            "a value can be generated without it",
            "additionalProperties",
            "patternProperties",
            "$defs",
            "$schema",
            "$id",
        ),
        **noted("discriminator", _MADE),
        **noted("not", _MADE),
        **noted("xml", "XML bodies are not generated"),
        **noted("uniqueItems", _MADE, "false"),
        **noted("minProperties", _MADE, "0"),
        **_WORDS,
    },
}

_SCHEMAS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("oneOf", "anyOf", "allOf"), (EACH, "schema")),
    "items": (ONE, "schema"),
    "properties": (VALUES, "schema"),
}
SHAPE: Shape = {
    "openapi": {"paths": (VALUES, "pathitem"), "servers": (EACH, "server")},
    "pathitem": {
        **dict.fromkeys(("get", "put", "post", "delete", "head", "patch"), (ONE, "operation")),
        "parameters": (EACH, "parameter"),
    },
    "operation": {
        "parameters": (EACH, "parameter"),
        "requestBody": (ONE, "requestBody"),
        "responses": (VALUES, "response"),
    },
    "parameter": {"schema": (ONE, "schema"), "content": (VALUES, "mediatype")},
    "requestBody": {"content": (VALUES, "mediatype")},
    "mediatype": {"schema": (ONE, "schema")},
    "schema": _SCHEMAS,
}
