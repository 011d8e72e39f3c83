"""Generates JSON Schemas and reference tables of all files that users write, from the models that check the files."""

from __future__ import annotations

import json
import re
from collections.abc import Container
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from reference_pages.import_tables import import_table
from towtank.model import ModelFile
from towtank.record import ScriptFile
from towtank.sizing import MachineFile, RuleFile, SizingFile
from towtank.sizing.rules.facts import COMMON, OF_A_KIND, OF_A_TIER, TIER
from towtank.study import StudyFile
from towtank.system import SERVICE_KINDS, SystemFile
from towtank.workload import WorkloadFile

FILES: dict[str, type[BaseModel]] = {
    "study": StudyFile,
    "workload": WorkloadFile,
    "system": SystemFile,
    "browser-script": ScriptFile,
    "model": ModelFile,
    "machine": MachineFile,
    "sizing": SizingFile,
    "rule-file": RuleFile,
}
REFERENCES = tuple(
    Path("docs/reference") / f"{name}.md"
    for name in ("files", "model", "machine", "size", "rules", "services", "imports")
)
_BLOCK = re.compile(r"(<!-- keys of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_FORMS = re.compile(r"(<!-- forms of ([\w-]+) -->\n).*?(<!-- end forms -->)", re.DOTALL)
_NAMED = re.compile(r"<!-- keys of (\w+) -->")
_IMPORTS = re.compile(r"(<!-- imports of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_FACTS = re.compile(r"(<!-- facts -->\n).*?(<!-- end facts -->)", re.DOTALL)


class _Schema(GenerateJsonSchema):
    """Generates JSON Schemas in which the defaults of quantities are written with a unit, such as `3 s`."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        written = super().default_schema(schema)
        writer = _writer_of(schema["schema"])
        if writer is not None and schema.get("default") is not None:
            written["default"] = writer(schema["default"])
        return written


def _writer_of(schema: Any) -> Any:
    """Return the serializer that writes a quantity with its unit; None if the value is not a quantity."""
    while isinstance(schema, dict):
        serialization = schema.get("serialization", {})
        if serialization.get("type") == "function-plain":
            return serialization["function"]
        schema = schema["choices"].get("<plain>") if schema.get("type") == "tagged-union" else schema.get("schema")
    return None


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a kind of file, which must be a key of `FILES`."""
    schema = FILES[kind].model_json_schema(by_alias=True, mode="validation", schema_generator=_Schema)
    if kind == "system":
        _add_services(schema)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"towtank/{kind}/1",
        "title": f"Towtank {kind.removesuffix('-file').replace('-', ' ')} file",
    }
    return {**head, **{key: value for key, value in schema.items() if key != "title"}}


def _add_services(schema: dict[str, Any]) -> None:
    """Add the registered kinds of services to the schema of system files, sorted by name."""
    kinds = dict(sorted(SERVICE_KINDS.items()))
    definitions = schema.setdefault("$defs", {})
    for model in kinds.values():
        part = model.model_json_schema(by_alias=True, mode="validation", schema_generator=_Schema)
        definitions.update(part.pop("$defs", {}))
        definitions[model.__name__] = part
    services = schema["properties"]["services"]
    services["additionalProperties"] = {
        "oneOf": [{"$ref": f"#/$defs/{model.__name__}"} for model in kinds.values()],
        "discriminator": {
            "propertyName": "kind",
            "mapping": {kind: f"#/$defs/{model.__name__}" for kind, model in kinds.items()},
        },
    }
    schema["$defs"] = dict(sorted(definitions.items()))


def documents(root: Path) -> dict[Path, str]:
    """Return the text of each generated file of a source checkout: schemas and reference pages."""
    texts = {root / "schema" / f"{kind}.json": _text(json_schema(kind)) for kind in FILES}
    pages = {root / name: (root / name).read_text("utf-8") for name in REFERENCES if (root / name).exists()}
    tabled = {model for text in pages.values() for model in _NAMED.findall(text)}
    return texts | {path: with_tables(text, tabled) for path, text in pages.items()}


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def with_tables(text: str, tabled: Container[str] = ()) -> str:
    """Fill the generated blocks of a reference page: tables of the keys of models, and of names for rules.

    Parameters
    ----------
    text : str
        Text of the page. A table is between `<!-- keys of Model -->` and `<!-- end -->`.
    tabled : container of str
        Names of the models that already have a table on a page; the block `<!-- forms of KIND -->` contains tables of
        all other models.
    """
    schemas = {kind: json_schema(kind) for kind in FILES}
    definitions: dict[str, Any] = {model.__name__: schemas[kind] for kind, model in FILES.items()}
    for schema in schemas.values():
        definitions |= schema.get("$defs", {})
    text = _IMPORTS.sub(lambda block: f"{block[1]}{import_table(block[2])}{block[3]}", text)
    text = _FACTS.sub(lambda block: f"{block[1]}{facts_table()}{block[2]}", text)
    text = _FORMS.sub(lambda block: f"{block[1]}{forms(schemas[block[2]], tabled)}{block[3]}", text)
    return _BLOCK.sub(lambda block: f"{block[1]}{table(definitions[block[2]])}{block[3]}", text)


def facts_table() -> str:
    """Render the system properties that study results provide as a Markdown table for the reference."""
    rows = [(name, *rest) for name, rest in COMMON.items()]
    rows += [(f"{TIER}.{name}", *rest) for name, rest in OF_A_TIER.items()]
    rows += [(f"{kind}.{name}", *rest) for kind, facts in OF_A_KIND.items() for name, rest in facts.items()]
    lines = ["| fact | unit | meaning |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| `{name}` | {unit} | {meaning} |" for name, unit, meaning in rows)]) + "\n"


def forms(schema: dict[str, Any], tabled: Container[str]) -> str:
    """Render a table of each model in `schema` that is not in `tabled`, with the model's name as heading."""
    parts = {
        name: part for name, part in schema.get("$defs", {}).items() if name not in tabled and "properties" in part
    }
    return "\n".join(f"**{_words(name)}**\n\n{table(part)}" for name, part in sorted(parts.items()))


def table(schema: dict[str, Any]) -> str:
    """Render the table of the keys of one pydantic model: key, form, default, meaning."""
    required = schema.get("required", [])
    lines = ["| key | form | default | meaning |", "|---|---|---|---|"]
    for key, part in schema["properties"].items():
        default = "required" if key in required else _default(part)
        lines.append(f"| `{key}` | {form(part)} | {default} | {part.get('description', '')} |")
    return "\n".join(lines) + "\n"


def _default(part: dict[str, Any]) -> str:
    value = part.get("default")
    if value is None or value in ({}, [], ""):
        return ""
    return f"`{value}`" if not isinstance(value, bool) else f"`{str(value).lower()}`"


def form(part: dict[str, Any]) -> str:
    """Describe the form of a key's value in a few words."""
    if "$ref" in part:
        return _words(part["$ref"].rpartition("/")[2])
    if "const" in part:
        return f"`{part['const']}`"
    if "enum" in part:
        return ", ".join(f"`{value}`" for value in part["enum"])
    for key in ("anyOf", "oneOf"):
        if key in part:
            forms = [form(option) for option in part[key] if option.get("type") != "null"]
            return " or ".join(dict.fromkeys(forms))
    if "examples" in part:
        return f"as `{part['examples'][0]}`"
    return _plain(part)


def _plain(part: dict[str, Any]) -> str:
    kind = part.get("type", "any")
    if kind == "array":
        return f"list of {form(part.get('items', {}))}"
    if kind == "object":
        inner = part.get("additionalProperties")
        return f"mapping to {form(inner)}" if isinstance(inner, dict) and inner else "mapping"
    names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}
    if isinstance(kind, list):
        return "text"
    return names.get(kind, "any value")


def _words(name: str) -> str:
    """Render the name of a class as words: `ContentServerSettings` as `content server settings`."""
    return re.sub(r"(?<!^)([A-Z])", r" \1", name).lower()
