"""Converts conditions on random numbers to branches with probabilities.

A script may generate a random number once and test it several times (`p < 0.5`, else `p < 0.84`). Each condition
divides the range of values that the enclosing conditions permit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from tree_sitter import Node

from towtank.workload.importers.draft import Step
from towtank.workload.importers.k6.intervals import ALL, LEAST, Intervals, length, meet, rest
from towtank.workload.importers.k6.syntax import is_first_round, named, shown, text_of
from towtank.workload.importers.k6.values import Environment, Random
from towtank.workload.importers.mixing import choice

if TYPE_CHECKING:
    from towtank.workload.importers.k6.script import Script

_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
# Calls that are allowed in a condition on a random number, because they make no request.
_PURE = re.compile(r"(?:Math\.\w+|randomIntBetween|Number|parseInt|parseFloat)\s*\(")
_CALL = re.compile(r"[\w$.\])`]+\s*\(")


class Chances:
    """Converts conditions on random numbers to branches."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.draws = script.calls.draws

    def of(self, node: Node | None, environment: Environment) -> tuple[int, Intervals] | None:
        """Return the index of the random number that a condition tests, and the intervals of its values that meet the
        condition.

        The result is None for any other condition.
        """
        return self._of(node, environment) if node is not None and _pure(node) else None

    def _of(self, node: Node, environment: Environment) -> tuple[int, Intervals] | None:
        if node.type == "parenthesized_expression":
            return self._of(named(node)[0], environment)
        sign = text_of(node.child_by_field_name("operator"))
        if node.type == "unary_expression" and sign == "!":
            inner = self._of(named(node)[0], environment)
            return None if inner is None else (inner[0], rest(inner[1]))
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if node.type != "binary_expression" or left is None or right is None or is_first_round(node):
            return None
        if sign in {"&&", "||"}:
            both = self._of(left, environment), self._of(right, environment)
            return _combined(sign, *both)
        value = self.script.calls.value
        return holds(sign, value(left, environment), value(right, environment))

    def follow(
        self, node: Node, found: tuple[int, Intervals], environment: Environment, following: list[Node] | None
    ) -> bool:
        """Convert an `if` on a random number to branches. Return True if the following statements have been converted
        as well.

        `found` contains the index of the random number, and the intervals of its values that meet the condition.
        `following` are the statements after the `if` in the function, which a `return` in a branch skips; it is None in
        an inner block.
        """
        draw, part = found
        consequence, alternative = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        after = following if alternative is None and _leaves(consequence) else None
        parts = [(part, consequence), (rest(part), alternative)]
        probabilities = [self._probability(draw, each) for each, _ in parts]
        if max(probabilities) > 1 - LEAST:
            taken = parts[probabilities.index(max(probabilities))][1]
            self.script.statements(statements_of(taken), environment)
            return False
        self._note_if_asked(node, draw)
        followed: list[list[Step]] = []
        with self._branches(draw) as within:
            for each, block in parts:
                with within(each):
                    statements = statements_of(block) if block is not None or after is None else after
                    followed.append(self.script.part(statements, environment, leaves=after is not None, place=block))
        self.script.calls.out += choice(list(zip(probabilities, followed, strict=True)))
        return after is not None

    def _note_if_asked(self, node: Node, draw: int) -> None:
        if self.draws.depends(draw):
            why = "depends on a new random number; in k6 it depends on the number that was generated before"
            self.script.calls.note(node, shown(node), why)

    def _probability(self, draw: int, part: Intervals) -> float:
        """Return the probability that a random number lies in the given intervals, under the enclosing conditions."""
        left = self.draws.left.get(draw, ALL)
        return length(meet(left, part)) / length(left)

    @contextmanager
    def _branches(self, draw: int) -> Iterator[Callable[[Intervals], AbstractContextManager[None]]]:
        """Restrict a random number to a part of its values, while the branches of a condition on it are converted.

        Yields a function that returns a context for one branch. Within this context, the number is restricted to the
        values of the branch and counts as untested. After the condition, the number and all numbers that a branch
        tested count as tested.
        """
        left, asked = self.draws.left.get(draw, ALL), set(self.draws.asked)
        behind = {*asked, draw}

        @contextmanager
        def within(part: Intervals) -> Iterator[None]:
            self.draws.left[draw] = meet(left, part)
            self.draws.asked = asked - {draw}
            yield
            behind.update(self.draws.asked)

        yield within
        self.draws.left[draw] = left
        self.draws.asked = behind

    def switch(self, node: Node, environment: Environment) -> None:
        """Convert a `switch` on a random number or on a known value. Any other `switch` becomes a note."""
        subject = node.child_by_field_name("value")
        pure = subject is not None and _pure(subject)
        value = self.script.calls.value(subject, environment) if pure else None
        cases = _cases(node.child_by_field_name("body"))
        labels = [None if case is None else self.script.calls.value(case, environment) for case, _ in cases or []]
        known = all(label is None or isinstance(label, int | float | str) for label in labels)
        if cases is None or not known or not (pure and isinstance(value, Random | int | float | str)):
            why = "left out: only a switch on a random number, with known cases that end with break, is supported"
            self.script.leave_out(node, why, environment)
        elif isinstance(value, Random):
            self._drawn_switch(node, value, list(zip(labels, [part for _, part in cases], strict=True)), environment)
        else:
            same = [type(label) is type(value) and label == value for label in labels]
            taken = same.index(True) if True in same else labels.index(None) if None in labels else None
            self.script.statements(cases[taken][1] if taken is not None else [], environment)

    def _drawn_switch(
        self, node: Node, value: Random, cases: list[tuple[Any, list[Node]]], environment: Environment
    ) -> None:
        """Convert a `switch` on a random number into steps with probabilities.

        The default, at any position in the `switch`, covers those values of the number that no case covers.
        """
        self._note_if_asked(node, value.draw)
        left, parts = ALL, []
        for label, statements in sorted(cases, key=lambda case: case[0] is None):
            found = holds("===", value, label) if isinstance(label, int | float) else None
            part = left if label is None else meet(left, found[1]) if found is not None else ()
            left = meet(left, rest(part))
            parts.append((part, statements))
        alternatives = []
        chances = [self._probability(value.draw, part) for part, _ in parts]
        with self._branches(value.draw) as within:
            for probability, (part, statements) in zip(chances, parts, strict=True):
                if probability > LEAST:
                    with within(part):
                        alternatives.append((probability, self.script.part(statements, environment)))
        self.script.calls.out += choice(alternatives)


def _pure(node: Node) -> bool:
    """Return True if evaluating an expression makes no request and reads no data row."""
    text = text_of(node)
    return "[" not in text and all(_PURE.fullmatch(call) for call in _CALL.findall(text))


def holds(sign: str, left: Any, right: Any) -> tuple[int, Intervals] | None:
    """Return the index of the random number that a comparison tests, and the intervals of its values that meet the
    comparison.

    The result is None for any other comparison.

    Examples
    --------
    >>> holds("<=", Random(1, 4, whole=True, draw=7), 2)
    (7, ((0.0, 0.6666666666666666),))
    """
    if isinstance(right, Random):
        left, right, sign = right, left, _SWAPPED.get(sign, sign)
    number = isinstance(right, int | float) and not isinstance(right, bool)
    if not isinstance(left, Random) or not number or left.high <= left.low:
        return None
    # A random integer is a uniformly distributed number rounded down, so the bound of a comparison is rounded, too.
    below = _below(left, math.ceil(right) if left.whole else right)
    up_to = _below(left, math.floor(right) + 1 if left.whole else right)
    inside = meet(rest(below), up_to)
    part = {"<": below, "<=": up_to, ">": rest(up_to), ">=": rest(below), "===": inside, "==": inside}
    part |= {"!==": rest(inside), "!=": rest(inside)}
    return (left.draw, part[sign]) if sign in part else None


def _below(value: Random, limit: float) -> Intervals:
    """Return the part of the interval [0, 1) for which a random number is below a limit."""
    bound = min(max((limit - value.low) / (value.high - value.low), 0.0), 1.0)
    return ((0.0, bound),) if bound > 0 else ()


def _combined(
    sign: str, left: tuple[int, Intervals] | None, right: tuple[int, Intervals] | None
) -> tuple[int, Intervals] | None:
    """Combine two conditions on the same random number; None if the numbers differ."""
    if left is None or right is None or left[0] != right[0]:
        return None
    if sign == "&&":
        return left[0], meet(left[1], right[1])
    return left[0], rest(meet(rest(left[1]), rest(right[1])))


def _cases(body: Node | None) -> list[tuple[Node | None, list[Node]]] | None:
    """Return the label and the statements of each case of a `switch`; None if a nested statement contains `break`.

    The label of the default is None.
    """
    cases = [case for case in named(body) if case.type in {"switch_case", "switch_default"}]
    found: list[tuple[Node | None, list[Node]]] = []
    for count, case in enumerate(cases):
        statements: list[Node] = []
        # A `switch` case without `break` continues with the statements of the next case.
        for node in [node for each in cases[count:] for node in _body(each)]:
            if node.type == "break_statement":
                break
            statements.append(node)
            if node.type in {"return_statement", "throw_statement"}:
                break
        if any(re.search(r"\bbreak\b", text_of(node)) for node in statements):
            return None
        found.append((case.child_by_field_name("value"), statements))
    return found


def _body(case: Node) -> list[Node]:
    """Return the statements of a case of a `switch`, without a block that encloses them."""
    nodes = [node for node in case.children_by_field_name("body") if node.type != "comment"]
    if nodes and nodes[0].type == "statement_block":
        return [*named(nodes[0]), *nodes[1:]]
    return nodes


def _leaves(consequence: Node | None) -> bool:
    """Return True if a branch ends with a `return` without a value."""
    statements = statements_of(consequence)
    return bool(statements) and statements[-1].type == "return_statement" and not named(statements[-1])


def statements_of(node: Node | None) -> list[Node]:
    if node is None:
        return []
    inner = named(node)
    if node.type == "else_clause" and len(inner) == 1 and inner[0].type == "statement_block":
        return named(inner[0])
    return inner if node.type in {"statement_block", "else_clause"} else [node]
