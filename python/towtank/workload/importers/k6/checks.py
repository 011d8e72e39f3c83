"""Converts the tests of `check()` to checks of a response."""

from __future__ import annotations

import re
from typing import Any

from tree_sitter import Node

from towtank.workload import expressions
from towtank.workload.importers.expected import Expected
from towtank.workload.importers.k6.syntax import named, shown, text_of
from towtank.workload.importers.k6.values import Answer, Part

_EQUAL = frozenset({"===", "=="})
_UNEQUAL = frozenset({"!==", "!="})
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
# Check of the status for each supported bound, which is an operator and a value. `>= 200` adds nothing, because in
# a test with two bounds the upper bound determines the check.
_CLASSES: dict[tuple[str, int] | None, tuple[str, ...]] = {
    ("<", 300): ("2xx",),
    ("<", 400): ("2xx", "3xx"),
    (">=", 200): (),
}


class NotSayable(Exception):  # noqa: N818 - it is not an error of the program
    """Error for a test that a workload cannot represent; the message is the reason."""


class Checks:
    """Converts the expression that a test returns. `evaluate` returns the value of an expression in the scope of the
    test; `write` returns a value as a template, or None if a template cannot represent it.
    """

    def __init__(self, evaluate: Any, write: Any) -> None:
        self.evaluate = evaluate
        self.write = write

    def add(self, node: Node, check: Expected, *, negated: bool = False) -> None:
        """Add a test of the script to the check of a request.

        Raises
        ------
        NotSayable
            If a workload cannot represent the test; the check is then unchanged.
        """
        if node.type == "parenthesized_expression":
            self.add(named(node)[0], check, negated=negated)
        elif node.type == "unary_expression" and text_of(node.child_by_field_name("operator")) == "!":
            inner = node.child_by_field_name("argument")
            assert inner is not None  # the grammar gives every unary expression an operand
            self.add(inner, check, negated=not negated)
        elif node.type == "binary_expression":
            self._binary(node, check, negated=negated)
        elif node.type == "call_expression":
            self._call(node, check, negated=negated)
        else:
            self._there(node, check, negated=negated)

    def _binary(self, node: Node, check: Expected, *, negated: bool) -> None:
        operator = text_of(node.child_by_field_name("operator"))
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        assert left is not None and right is not None  # the grammar gives every binary expression two sides
        if operator == "&&" and not negated:
            trial = Expected()
            self.add(left, trial)
            self.add(right, trial)
            check.merge(trial)
        elif operator == "||" and not negated:
            check.merge(Expected().status(*self._statuses(node)))
        else:
            self._compare(node, operator, left, right, check, negated=negated)

    def _compare(  # noqa: PLR0912 - one branch per supported test
        self, node: Node, operator: str, left: Node, right: Node, check: Expected, *, negated: bool
    ) -> None:
        subject, value = self.evaluate(left), self.evaluate(right)
        if not isinstance(subject, Part) and isinstance(value, Part):
            subject, value = value, subject
        same = (operator in _EQUAL) != negated and operator in _EQUAL | _UNEQUAL
        searched = self._searched(left)
        if searched is not None:
            found = (operator in _UNEQUAL and value == -1) or (operator == ">" and value == -1)
            found = found or (operator == ">=" and value == 0)
            if found or (operator in _EQUAL and value == -1):
                check.merge(Expected().text(searched, negated=found == negated))
                return
        if not isinstance(subject, Part):
            raise NotSayable(shown(node))
        if subject.kind == "status" and same and isinstance(value, int):
            check.merge(Expected().status(value))
        elif subject.kind == "status" and (limit := _limit(operator, value, negated=negated)) in _CLASSES:
            check.merge(Expected().status(*classes) if (classes := _CLASSES[limit]) else Expected())
        elif subject.kind == "json" and same and self.write(value) is not None and value is not None:
            check.merge(Expected().json(expressions.json_path(subject.path), self.write(value)))
        elif subject.kind == "json" and not same and operator in _UNEQUAL and value in {None, ""} and not negated:
            check.merge(Expected().json(expressions.json_path(subject.path)))
        elif subject.kind == "header" and same and self.write(value) is not None:
            check.merge(Expected().header(subject.path, self.write(value)))
        elif subject.kind == "body_length" and operator == ">" and isinstance(value, int) and not negated:
            check.merge(Expected().least_size(value + 1))
        elif subject.kind == "json_length" and isinstance(value, int) and not negated:
            check.merge(Expected().json(expressions.json_path(_element(subject.path, operator, value, node))))
        elif subject.kind == "duration":
            raise NotSayable("time limits are objectives of the study, not checks of a response")
        else:
            raise NotSayable(shown(node))

    def _searched(self, node: Node) -> str | None:
        """Return the text that `r.body.indexOf(text)` searches for; None if the expression has another form."""
        function, arguments = node.child_by_field_name("function"), named(node.child_by_field_name("arguments"))
        if node.type != "call_expression" or function is None or len(arguments) != 1:
            return None
        if text_of(function.child_by_field_name("property")) != "indexOf":
            return None
        subject = self.evaluate(function.child_by_field_name("object"))
        text = self.write(self.evaluate(arguments[0]))
        return text if isinstance(subject, Part) and subject.kind == "body" else None

    def _statuses(self, node: Node) -> list[int | str]:
        """Return the status codes in `r.status === 200 || r.status === 201`."""
        statuses: list[int | str] = []
        for side in (node.child_by_field_name("left"), node.child_by_field_name("right")):
            trial = Expected()
            assert side is not None  # the grammar gives every binary expression two sides
            self.add(side, trial)
            if set(trial.keys) != {"status"}:
                raise NotSayable(shown(node))
            statuses += trial.statuses
        return statuses

    def _call(self, node: Node, check: Expected, *, negated: bool) -> None:
        function, arguments = node.child_by_field_name("function"), named(node.child_by_field_name("arguments"))
        name = text_of(function.child_by_field_name("property")) if function is not None else ""
        if function is not None and name in {"includes", "match", "test"} and len(arguments) == 1:
            holder, argument = function.child_by_field_name("object"), arguments[0]
            if name == "test" and holder is not None:
                holder, argument = argument, holder
            subject = self.evaluate(holder)
            if isinstance(subject, Part) and subject.kind == "body" and argument.type == "regex":
                check.merge(Expected().regex(self._regex(argument), negated=negated))
                return
            text = self.write(self.evaluate(argument))
            if isinstance(subject, Part) and text is not None and name == "includes":
                if subject.kind == "body":
                    check.merge(Expected().text(text, negated=negated))
                    return
                if subject.kind == "header" and not negated:
                    check.merge(Expected().header(subject.path, text))
                    return
        self._there(node, check, negated=negated)

    @staticmethod
    def _regex(node: Node) -> str:
        flags = re.sub(r"[^ims]", "", text_of(node.child_by_field_name("flags")))
        pattern = text_of(node.child_by_field_name("pattern")).replace("\\/", "/")
        try:
            return expressions.regex(f"(?{flags}){pattern}" if flags else pattern)
        except ValueError as error:
            raise NotSayable(str(error)) from None

    def _there(self, node: Node, check: Expected, *, negated: bool) -> None:
        """Add a test that consists of a value without a comparison, which requires that the value exists."""
        subject = self.evaluate(node)
        if isinstance(subject, Part) and subject.kind == "json" and not negated:
            check.merge(Expected().json(expressions.json_path(subject.path)))
        elif not (isinstance(subject, Answer) or subject is True) or negated:
            raise NotSayable(shown(node))


def _limit(operator: str, value: Any, *, negated: bool) -> tuple[str, int] | None:
    """Return the bound that a comparison of integers sets, with `<` or `>=`; None without such a bound."""
    sign = _OPPOSITE.get(operator, "") if negated else operator
    if sign not in _OPPOSITE or not isinstance(value, int):
        return None
    return ("<", value + (sign == "<=")) if sign.startswith("<") else (">=", value + (sign == ">"))


def _element(path: str, sign: str, length: int, node: Node) -> str:
    """Return the path of the list element that exists only if the list is long enough for the test.

    Raises
    ------
    NotSayable
        If the test requires a largest or an exact length.
    """
    least = {">": length + 1, ">=": length}.get(sign, 1 if sign in _UNEQUAL and length == 0 else 0)
    if least < 1:
        raise NotSayable(f"{shown(node)}: only a smallest number of list elements can be checked")
    return f"{path}[{least - 1}]"
