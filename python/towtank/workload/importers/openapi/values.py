"""Generates a value for an OpenAPI schema. The value is the example of the schema, if any, otherwise a value that fits
it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from towtank.workload.importers.bodies import escaped
from towtank.workload.importers.nodes import child_of, entries_of, items_of, number_of, place_of, text_of
from towtank.yamlfile import Node

# Nesting depth at which the generation of a value ends, because schemas may be recursive. Deeper values are omitted
# or null. [1]
DEPTH_AT_MOST = 8
# Largest number of generated values. Without this limit, nested schemas and arrays would multiply the number. [1]
VALUES_AT_MOST = 100_000

_FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T12:00:00Z",
    "time": "12:00:00Z",
    "email": "user${user.number}@example.com",
    "hostname": "host.example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "${uuid}",
    "byte": "dGV4dA==",
    "password": "${random.text(12)}",
}
Noter = Callable[[tuple[int, int], str, str], None]


class References:
    """Resolves `$ref` references within one file. `note` receives position, construct and reason for each unresolved
    reference.
    """

    def __init__(self, root: Node, note: Noter) -> None:
        self.root = root
        self.note = note

    def resolve(self, node: Node | None) -> Node | None:
        """Return the node to which a chain of references leads; None if a reference cannot be resolved."""
        seen: set[int] = set()
        while node is not None and isinstance(node.child("$ref"), Node):
            if id(node) in seen:
                self.note(place_of(node), "$ref", "leads to itself")
                return None
            seen.add(id(node))
            node = self._target(node, text_of(node, "$ref"))
        return node

    def _target(self, node: Node, reference: str) -> Node | None:
        if not reference.startswith("#"):
            self.note(place_of(node), f"$ref {reference[:80]}", "refers to another file: combine the files")
            return None
        found: Node | None = self.root
        for part in reference[1:].strip("/").split("/") if reference != "#" else []:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            index: str | int = (
                int(key) if found is not None and isinstance(found.value, list) and key.isdecimal() else key
            )
            found = found.child(index) if found is not None else None
        if found is None:
            self.note(place_of(node), f"$ref {reference[:80]}", "does not exist in the file")
        return found


class Maker:
    """Generates values, with templates for values that must differ from request to request. `note` receives position,
    construct and reason if a generated value may violate its schema.
    """

    def __init__(self, references: References, note: Noter) -> None:
        self.references = references
        self.note = note
        # Number of values generated so far. `_times` counts how often the value being generated will occur, since the
        # items of an array are copies.
        self._made, self._times = 0, 1
        self._is_full = False

    def value(self, schema: Node | None, stack: tuple[int, ...] = ()) -> Any:
        """Return a value for a schema, in which texts may be templates; None if no value can be generated."""
        schema = self.references.resolve(schema)
        if schema is None or id(schema) in stack or len(stack) >= DEPTH_AT_MOST:
            return None
        if self._made >= VALUES_AT_MOST:
            self._refuse_more(schema)
            return None
        self._made += self._times
        given, example = self.example(schema)
        if given:
            return example
        stack = (*stack, id(schema))
        for key in ("oneOf", "anyOf"):
            choices = items_of(schema, key)
            if choices:
                if len(choices) > 1:
                    self.note(place_of(schema), key, "the first schema is used")
                return self._merged([choices[0], schema] if entries_of(schema, "properties") else [choices[0]], stack)
        if items_of(schema, "allOf"):
            return self._merged([*items_of(schema, "allOf"), schema], stack)
        return self._typed(schema, stack)

    def _refuse_more(self, schema: Node) -> None:
        if not self._is_full:
            self._is_full = True
            why = f"describe more than {VALUES_AT_MOST} values: further values are left out"
            self.note(place_of(schema), "schemas", why)

    @staticmethod
    def example(holder: Node) -> tuple[bool, Any]:
        """Return True and the example of a schema, parameter or media type; (False, None) if it has no example."""
        for key in ("example", "default", "const"):
            node = holder.child(key)
            if node is not None and node.value is not None:
                return True, escaped(node.plain())
        for key in ("examples", "enum"):
            for node in items_of(holder, key):
                if node.value is not None:
                    return True, escaped(node.plain())
        for node in entries_of(holder, "examples").values():
            value = node.child("value")
            if value is not None:
                return True, escaped(value.plain())
        return False, None

    def _merged(self, schemas: list[Node], stack: tuple[int, ...]) -> Any:
        """Combine the values of several schemas for one property: merged mappings, or the last value."""
        whole: dict[str, object] = {}
        other: Any = None
        for part in schemas:
            resolved = self.references.resolve(part)
            if resolved is None:
                continue
            # A schema in the list may refer back to the schema that contains it. The properties of the containing
            # schema are included only once.
            own = id(resolved) in stack
            made = self._object(resolved, stack) if own else self.value(part, stack)
            if isinstance(made, dict):
                whole.update(made)
            elif made is not None:
                other = made
        return whole if whole or other is None else other

    def _typed(self, schema: Node, stack: tuple[int, ...]) -> Any:
        kind = _type(schema)
        if kind == "object":
            return self._object(schema, stack)
        if kind == "array":
            least = max(1, min(int(number_of(schema, "minItems", default=1)), 100))
            outer, self._times = self._times, self._times * least
            item = self.value(schema.child("items"), stack)
            self._times = outer
            return [] if item is None else [item] * (1 if self._is_full else least)
        if kind in {"integer", "number"}:
            return _number(schema, whole=kind == "integer")
        if kind == "boolean":
            return True
        return None if kind == "null" else self._text(schema)

    def _object(self, schema: Node, stack: tuple[int, ...]) -> dict[str, object]:
        required = {item.value for item in items_of(schema, "required") if isinstance(item.value, str)}
        made = {}
        for name, declared in entries_of(schema, "properties").items():
            resolved = self.references.resolve(declared)
            flag = child_of(resolved, "readOnly")
            if flag is not None and flag.value is True:
                continue
            value = self.value(declared, stack)
            if value is not None or name in required:
                made[name] = value
        return made

    def _text(self, schema: Node) -> str:
        form = text_of(schema, "format")
        if form in _FORMATS:
            return _FORMATS[form]
        if text_of(schema, "pattern"):
            self.note(
                place_of(schema), f"pattern {text_of(schema, 'pattern')[:60]}", "the generated value does not match it"
            )
        least = min(int(number_of(schema, "minLength")), 1_000_000)
        most = int(number_of(schema, "maxLength", default=1e9))
        if form == "binary":
            return "${random.text(1024)}"
        text = "text"
        if least > len(text):
            return f"${{random.text({least})}}"
        return text[: max(most, 0)]


def _type(schema: Node) -> str:
    """Return the type of a schema. If it has several types (OpenAPI 3.1), return the first that is not null."""
    several = [item.value for item in items_of(schema, "type") if item.value != "null"]
    kind = text_of(schema, "type") or (str(several[0]) if several else "")
    if kind:
        return kind
    for key, implied in (("properties", "object"), ("items", "array"), ("minimum", "number"), ("maximum", "number")):
        if schema.child(key) is not None:
            return implied
    return "string"


def _number(schema: Node, *, whole: bool) -> int | float:
    """Return the number closest to 1 within the bounds of a schema."""
    low, high = _bounds(schema, whole=whole)
    value = min(max(1.0, low), high)
    step = number_of(schema, "multipleOf")
    if step > 0:
        value = -(-value // step) * step if -(-value // step) * step <= high else value // step * step
    return int(value) if whole or value == int(value) else value


def _bounds(schema: Node, *, whole: bool) -> tuple[float, float]:
    """Return the smallest and the largest number that a schema allows.

    An exclusive bound is a separate number in OpenAPI 3.1; in OpenAPI 3.0, a flag marks the bound as exclusive.
    """
    low, high = number_of(schema, "minimum", default=-1e15), number_of(schema, "maximum", default=1e15)
    gap = 1.0 if whole else 1e-3
    for key, sign in (("exclusiveMinimum", 1), ("exclusiveMaximum", -1)):
        node = schema.child(key)
        if node is None or node.value is False:
            continue
        if node.value is True:
            low, high = (low + gap, high) if sign > 0 else (low, high - gap)
        elif sign > 0:
            low = max(low, number_of(node) + gap)
        else:
            high = min(high, number_of(node) - gap)
    return low, high
