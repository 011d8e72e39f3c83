"""Evaluates those expressions of a script whose values do not depend on the run."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tree_sitter import Node

from towtank.workload.importers.draft import identifier, literal
from towtank.workload.importers.k6.syntax import named, number_of, shown, text_of, throws, unescaped
from towtank.workload.importers.k6.values import (
    Answer,
    Checked,
    Environment,
    Function,
    Namespace,
    Part,
    Random,
    Row,
    Table,
    Text,
    Unknown,
    Writer,
)

# Largest length of a text [characters] and of a list [items]. Without these limits, each line of a script could double
# a length.
TEXT_AT_MOST = 1_000_000
ITEMS_AT_MOST = 100_000
_LONG = f"is longer than {TEXT_AT_MOST} characters"
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": math.fmod,
    "**": operator.pow,
}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    **{"===": operator.eq, "==": operator.eq, "!==": operator.ne, "!=": operator.ne},
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
}
# Names that k6 and JavaScript predefine. If the script defines one of these names, its definition applies.
GLOBALS = {"Math", "JSON", "Date", "console", "Object", "Array", "String", "Number", "Boolean"}
GLOBALS |= {"parseInt", "parseFloat", "open", "encodeURIComponent"}
# Placeholders that replace k6's numbers of users and rounds, each with the text of a note, because k6 counts
# differently.
_OF_USER = ("${user.number}", "counts users from 0, k6 from 1")
_OF_ROUND = ("${iteration}", "counts the transactions of a user from 1, k6 its rounds from 0")
_OF_ALL = ("${iteration}", "counts the transactions of one user from 1, k6 the rounds of all users from 0")
_EXECUTION = {
    "__VU": _OF_USER,
    "exec.vu.idInTest": _OF_USER,
    "exec.vu.idInInstance": _OF_USER,
    "__ITER": _OF_ROUND,
    "exec.vu.iterationInInstance": _OF_ROUND,
    "exec.vu.iterationInScenario": _OF_ROUND,
    "exec.scenario.iterationInTest": _OF_ALL,
    "exec.scenario.iterationInInstance": _OF_ALL,
}
Call = Callable[[Node, Environment], Any]
_PARTS = {"body": "body", "headers": "headers", "status": "status", "timings": "timings"}


class Expressions:
    """Evaluates the expressions of a script.

    `call` returns the value of a call, and may add steps; `draw` returns a list element that is selected at run time,
    and adds a step that reads it; `ends` makes the round end if a tested request fails.
    """

    def __init__(
        self, writer: Writer, call: Call, draw: Callable[[Any, Any, Node], Any], ends: Callable[..., None]
    ) -> None:
        self.writer = writer
        self.call = call
        self.drawn = draw
        self.ends = ends
        self._kinds: dict[str, Callable[[Node, Environment], Any]] = {
            "string": self._string,
            "template_string": self._template,
            "number": lambda node, _: number_of(text_of(node)),
            "true": lambda *_: True,
            "false": lambda *_: False,
            "null": lambda *_: None,
            "undefined": lambda *_: None,
            "identifier": self._identifier,
            "object": self._object,
            "array": self._array,
            "member_expression": self._member,
            "subscript_expression": self._subscript,
            "binary_expression": self._binary,
            "unary_expression": self._unary,
            "ternary_expression": self._ternary,
            "arrow_function": Function,
            "function_expression": Function,
            "call_expression": call,
            "new_expression": call,
            "parenthesized_expression": lambda node, environment: self.value(named(node)[0], environment),
            "await_expression": lambda node, environment: self.value(named(node)[0], environment),
        }

    def value(self, node: Node | None, environment: Environment) -> Any:
        """Return the value of an expression; an `Unknown` if it is not known before the run."""
        if node is None:
            return None
        kind = self._kinds.get(node.type)
        return kind(node, environment) if kind is not None else Unknown(f"{shown(node)} is not understood")

    def _string(self, node: Node, _: Environment) -> str:
        return "".join(unescaped(text_of(child)) for child in named(node))

    def _template(self, node: Node, environment: Environment) -> Any:
        whole: Any = ""
        for child in named(node):
            if child.type == "template_substitution":
                whole = self.joined(whole, self.value(named(child)[0], environment))
            else:
                whole = self.joined(whole, unescaped(text_of(child)))
        return whole

    def joined(self, left: Any, right: Any) -> Any:
        """Concatenate two values as texts; the result is `Unknown` if a value is not known or too long."""
        for side in (left, right):
            if isinstance(side, Unknown):
                return side
        first, second = (side if isinstance(side, str) else self.writer.text(side) for side in (left, right))
        if first is None or second is None:
            return Unknown("has a value that is not known before the run")
        if len(first) + len(second) > TEXT_AT_MOST:
            return Unknown(_LONG)
        return self._together(left, right)

    def _together(self, left: Any, right: Any) -> Any:
        """Concatenate two values. A value known only at run time becomes a placeholder in the resulting template."""
        if isinstance(left, str) and isinstance(right, str):
            return left + right
        first, second = self.writer.text(left) or "", self.writer.text(right) or ""
        if isinstance(left, str | int | float) and isinstance(right, str | int | float):
            return first.replace("$${", "${") + second.replace("$${", "${")
        if first.endswith("$") and second.startswith("${"):
            return Unknown("has a $ before a value, which would turn the value into text")
        return Text(first + second)

    def _identifier(self, node: Node, environment: Environment) -> Any:
        name = text_of(node)
        if name in environment:
            return environment[name]
        if name in _EXECUTION:
            return self._execution(name, node)
        if name in GLOBALS or name.startswith("__"):
            return Namespace(name)
        return None if name == "undefined" else Unknown(f"{name} is not known")

    def _object(self, node: Node, environment: Environment) -> Any:
        fields: dict[str, object] = {}
        for child in named(node):
            if child.type == "pair":
                key = self._key(child.child_by_field_name("key"), environment)
                if key is None:
                    return Unknown(f"{shown(child)}: its key is not known")
                fields[key] = self.value(child.child_by_field_name("value"), environment)
            elif child.type == "shorthand_property_identifier":
                fields[text_of(child)] = self._identifier(child, environment)
            elif child.type == "spread_element":
                inner = self.value(named(child)[0], environment)
                if not isinstance(inner, dict):
                    return Unknown(f"{shown(child)} is not known")
                fields.update(inner)
            elif child.type == "method_definition":
                fields[text_of(child.child_by_field_name("name"))] = Function(child, environment)
            else:
                return Unknown(f"{shown(child)} is not understood")
        return fields

    def _key(self, node: Node | None, environment: Environment) -> str | None:
        if node is None:
            return None
        if node.type == "string":
            return self._string(node, environment)
        if node.type == "computed_property_name":
            value = self.value(named(node)[0], environment)
            return str(value) if isinstance(value, str | int) else None
        return text_of(node)

    def _array(self, node: Node, environment: Environment) -> Any:
        items: list[Any] = []
        for child in named(node):
            if child.type != "spread_element":
                items.append(self.value(child, environment))
                continue
            inner = self.value(named(child)[0], environment)
            if not isinstance(inner, list):
                return Unknown(f"{shown(child)} is not known")
            items += inner
            if len(items) > ITEMS_AT_MOST:
                return Unknown(f"{shown(child)} results in more than {ITEMS_AT_MOST} items")
        return items

    def _member(self, node: Node, environment: Environment) -> Any:
        holder = self.value(node.child_by_field_name("object"), environment)
        return self.member(holder, text_of(node.child_by_field_name("property")), node)

    def member(self, holder: Any, name: str, node: Node) -> Any:  # noqa: PLR0911 - one return per kind
        """Return a member of a value, such as `length` of a list."""
        if isinstance(holder, Namespace):
            if holder.name == "__ENV":
                return self._environment_variable(name)
            whole = f"{holder.name}.{name}"
            return self._execution(whole, node) if whole in _EXECUTION else Namespace(whole)
        if isinstance(holder, dict):
            return holder.get(name)
        if name == "length" and isinstance(holder, str | list):
            return len(holder)
        if name == "length" and isinstance(holder, Table):
            return holder.length
        if isinstance(holder, Answer) and name in _PARTS:
            return Part(holder.step, _PARTS[name])
        if isinstance(holder, Part):
            found = self._part(holder, name)
            if found is not None and found.kind == "json_length" and found.path != "$":
                why = "is the number of items of a list; for a text, k6 returns the number of characters"
                self.writer.draft.notes.add(_place(node), f"length of {found.path}", why)
            if found is not None:
                return found
        if isinstance(holder, Row):
            column = self.writer.column(holder, name)
            if column is not None:
                return column
        return holder if isinstance(holder, Unknown) else Unknown(f"{shown(node)} is not understood")

    def _execution(self, name: str, node: Node) -> Text:
        """Return the template for the number of the user or round, and note that k6 counts differently."""
        place, counts = _EXECUTION[name]
        self.writer.draft.notes.add(_place(node), name, f"{place} {counts}")
        return Text(place)

    @staticmethod
    def _part(part: Part, name: str) -> Part | None:
        if part.kind == "body" and name == "length":
            return Part(part.step, "body_length")
        if part.kind == "timings":
            return Part(part.step, "duration")
        return part.member(name)

    def _environment_variable(self, name: str) -> Text:
        parameter = identifier(name, "parameter")
        self.writer.draft.parameters.setdefault(parameter, "change-me")
        return Text(f"${{parameters.{parameter}}}")

    def _subscript(self, node: Node, environment: Environment) -> Any:
        holder = self.value(node.child_by_field_name("object"), environment)
        index = self.value(node.child_by_field_name("index"), environment)
        if isinstance(index, str):
            return self.member(holder, index, node)
        if isinstance(holder, list) and isinstance(index, int) and 0 <= index < len(holder):
            return holder[index]
        if isinstance(holder, Part) and isinstance(index, int):
            return holder.member(index) or Unknown(f"{shown(node)} is not understood")
        if isinstance(holder, list | Table):
            return self.drawn(holder, index, node)
        return holder if isinstance(holder, Unknown) else Unknown(f"{shown(node)} is not known")

    def _binary(self, node: Node, environment: Environment) -> Any:
        sign = text_of(node.child_by_field_name("operator"))
        left = self.value(node.child_by_field_name("left"), environment)
        if sign in {"||", "??"}:
            return self._otherwise(left, node.child_by_field_name("right"), environment)
        if sign == "&&":
            return self._both(left, node, environment)
        return self.combined(sign, left, self.value(node.child_by_field_name("right"), environment), node)

    def _both(self, left: Any, node: Node, environment: Environment) -> Any:
        """Evaluate `left && right`. The right side is evaluated only if the left side is true."""
        right = node.child_by_field_name("right")
        if isinstance(left, Checked):
            other = self.value(right, environment)
            if isinstance(other, Checked):
                return Checked((*left.steps, *other.steps), left.prompt and other.prompt)
            return Unknown(f"{text_of(right)[:60]} runs only if a check passes")
        if left is None or isinstance(left, bool | int | float | str):
            return self.value(right, environment) if left else left
        return left if isinstance(left, Unknown) else Unknown(f"{shown(node)} is not known before the run")

    def combined(self, sign: str, left: Any, right: Any, node: Node) -> Any:
        """Apply an operator to two values."""
        for side in (left, right):
            if isinstance(side, Unknown):
                return side
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        if sign in _COMPARISONS and (numbers or (isinstance(left, str) and isinstance(right, str))):
            return _COMPARISONS[sign](left, right)
        if sign in _ARITHMETIC and numbers:
            return self._computed(sign, left, right, node)
        if isinstance(left, Random) or isinstance(right, Random):
            found = _random(sign, left, right)
            if found is not None:
                return found
        if sign == "+":
            return self.joined(left, right)
        return Unknown(f"{shown(node)} is not known before the run")

    @staticmethod
    def _computed(sign: str, left: float, right: float, node: Node) -> Any:
        try:
            value = _ARITHMETIC[sign](left, right)
        except (ArithmeticError, ValueError):
            return Unknown(f"{shown(node)} is no number")
        if isinstance(value, complex) or abs(value) > 1e300:
            return Unknown(f"{shown(node)} is no number")
        return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value

    def _otherwise(self, left: Any, right: Node | None, environment: Environment) -> Any:
        """Evaluate `left || right`. For `__ENV.NAME || 'value'`, the value becomes the default of the parameter."""
        if isinstance(left, Checked):
            if throws(right):
                self.ends(left, right, thrown=True)
                return left
            return Unknown(f"{text_of(right)[:60]} runs only if a check fails")
        if isinstance(left, Text) and left.template.startswith("${parameters."):
            default = self.value(right, environment)
            name = left.template.removeprefix("${parameters.").removesuffix("}")
            self._default(name, literal(default) if isinstance(default, str) else default, right)
            return left
        known = left is None or isinstance(left, str | int | float | list | dict)
        return (left or self.value(right, environment)) if known else left

    def _default(self, name: str, value: Any, node: Node | None) -> None:
        """Set the default of a parameter. The first default in the script applies to all uses."""
        parameters = self.writer.draft.parameters
        if isinstance(value, str | int | float) and parameters.get(name) == "change-me":
            parameters[name] = value
        elif parameters.get(name) != value and node is not None:
            why = "has several defaults in the script, or an unknown one: the parameter has one value for all uses"
            self.writer.draft.notes.add(_place(node), f"parameters.{name}", why)

    def _unary(self, node: Node, environment: Environment) -> Any:
        value = self.value(node.child_by_field_name("argument"), environment)
        sign = text_of(node.child_by_field_name("operator"))
        if sign in {"-", "+"} and isinstance(value, int | float):
            return -value if sign == "-" else value
        if sign == "!" and (value is None or isinstance(value, bool | int | float | str | Answer)):
            return not value
        if sign == "void":
            return None
        return Unknown(f"{shown(node)} is not known before the run")

    def _ternary(self, node: Node, environment: Environment) -> Any:
        condition = self.value(node.child_by_field_name("condition"), environment)
        if isinstance(condition, Unknown) or not (condition is None or isinstance(condition, bool | int | float | str)):
            return Unknown(f"{shown(node)}: its condition is not known before the run")
        return self.value(node.child_by_field_name("consequence" if condition else "alternative"), environment)


def _place(node: Node) -> tuple[int, int]:
    return node.start_point[0] + 1, node.start_point[1] + 1


def _random(sign: str, left: Any, right: Any) -> Random | Unknown | None:
    """Return the sum or product of a random and a known number; None if the operation is not supported."""
    if isinstance(right, Random) and isinstance(left, int | float) and sign in {"+", "*"}:
        left, right = right, left
    if not isinstance(left, Random) or not isinstance(right, int | float):
        return None
    if sign in {"+", "-"}:
        if left.whole and right != int(right):
            return Unknown("adds a fraction to a random integer, which is not supported")
        more = right if sign == "+" else -right
        return replace(left, low=left.low + more, high=left.high + more)
    if sign in {"*", "/"} and right > 0 and not left.whole:
        factor = right if sign == "*" else 1 / right
        return replace(left, low=left.low * factor, high=left.high * factor)
    return None
