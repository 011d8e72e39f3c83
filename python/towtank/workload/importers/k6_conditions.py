"""Conditions of scripts: chance, the first round of a user, answers that are good or not, values that are there.

A condition is evaluated once, as k6 does it: the requests in it are made once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tree_sitter import Node

from towtank.units import exact_share
from towtank.workload.importers.k6_checks import Checks, NotSayable, merge
from towtank.workload.importers.k6_syntax import named, shown, text_of, throws
from towtank.workload.importers.k6_values import Checked, Environment, Part, Random

if TYPE_CHECKING:
    from towtank.workload.importers.k6_script import Script

# Values of JavaScript whose truth is that of Python.
_KNOWN = (bool, int, float, str)
_ROUNDS = frozenset({"__ITER", "exec.vu.iterationInScenario", "exec.vu.iterationInInstance"})


class Returned(Exception):  # noqa: N818 - it is no error of the program
    """A function of the script returns."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


@dataclass(frozen=True)
class Condition:
    """A condition without its `!`, and its value or those of the two sides of its comparison."""

    node: Node
    negated: bool
    value: Any
    left: Any = None
    right: Any = None
    sign: str = ""


class Conditions:
    """Follows `if` statements.

    Parameters
    ----------
    script : Script
        Follows the statements inside.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.calls = script.calls

    def follow(self, node: Node, environment: Environment) -> None:
        """Steps of an `if` statement."""
        condition = self._read(node.child_by_field_name("condition"), environment)
        consequence, alternative = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        share = _chance(condition)
        if share is not None:
            self._branch(share, consequence, alternative, environment)
        elif self._first_round(condition, environment):
            self._once(node, consequence, alternative, environment)
        elif self._tested(node, condition, environment):
            return
        elif isinstance(condition.value, Part) and condition.value.kind in {"json", "header"}:
            self._filled(condition.value, condition.negated, consequence, alternative, environment)
        elif condition.value is None or isinstance(condition.value, _KNOWN):
            taken = consequence if bool(condition.value) != condition.negated else alternative
            self.script.statements(statements_of(taken), environment)
        else:
            why = "its condition is not known before the run: what it decides about is left out"
            self.script.leave_out(node, why, environment)

    def _read(self, node: Node | None, environment: Environment) -> Condition:
        """Evaluate a condition."""
        negated, subject = False, node
        while subject is not None and subject.type in {"unary_expression", "parenthesized_expression"}:
            if subject.type == "unary_expression" and text_of(subject.child_by_field_name("operator")) != "!":
                break
            negated ^= subject.type == "unary_expression"
            subject = named(subject)[-1]
        assert subject is not None  # an `if` has a condition
        sign = text_of(subject.child_by_field_name("operator")) if subject.type == "binary_expression" else ""
        if not sign or sign in {"&&", "||", "??"}:
            return Condition(subject, negated, self.calls.value(subject, environment))
        left = self.calls.value(subject.child_by_field_name("left"), environment)
        right = self.calls.value(subject.child_by_field_name("right"), environment)
        value = self.calls.expressions.combined(sign, left, right, subject)
        return Condition(subject, negated, value, left, right, sign)

    def _first_round(self, condition: Condition, environment: Environment) -> bool:
        """Whether a condition holds in the first round of a user only: `!token`, `__ITER === 0`."""
        if condition.sign:
            left = condition.node.child_by_field_name("left")
            if condition.negated or condition.sign not in {"==", "==="} or left is None:
                return False
            if condition.right == 0 and not isinstance(condition.right, bool):
                return text_of(left) in _ROUNDS
            subject = left if condition.right is None else None
        else:
            subject = condition.node if condition.negated else None
        # A variable outside of functions keeps its value from round to round.
        name = text_of(subject) if subject is not None and subject.type == "identifier" else ""
        holder = next((scope for scope in environment.maps if name in scope), None)
        return name in self.script.kept and holder is self.script.globals.maps[0] and not holder[name]

    def _once(self, node: Node, consequence: Node | None, alternative: Node | None, environment: Environment) -> None:
        """What a user does in its first round only."""
        outer, self.calls.out = self.calls.out, []
        try:
            self.script.statements(statements_of(consequence), environment)
        except Returned:
            self.calls.note(node, shown(node), "ends the first round in k6; here the user goes on")
        self.script.once += self.calls.out
        self.calls.out = outer
        why = "is done once by each user, before its rounds; k6 tries again in the next round if it failed"
        self.calls.note(node, shown(node), why)
        self.script.statements(statements_of(alternative), environment)

    def _tested(self, node: Node, condition: Condition, environment: Environment) -> bool:
        """A condition that asks whether an answer is good: a failed step ends the round where the script returns."""
        consequence, alternative = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        leaves, otherwise = _leaves(consequence), _leaves(alternative)
        if not leaves and alternative is not None and not otherwise:
            return False
        good = self._good(condition, environment, negated=condition.negated ^ leaves)
        if good is None:
            return False
        if isinstance(condition.value, Checked) and leaves != condition.negated:
            why = "is done only where an answer is good" if leaves else "is done only where an answer is not good"
            self.script.leave_out(node, f"{why}: left out", environment)
            return True
        bad, going_on = (consequence, alternative) if leaves else (alternative, consequence)
        ends = statements_of(bad)
        self.calls.ends(good, node, thrown=not (ends and ends[-1].type == "return_statement"))
        if not leaves and not otherwise:
            why = "where it does not hold, the round ends here with what follows"
            self.calls.note(node, shown(condition.node), why)
        if _does_something(ends):
            self.calls.note(node, shown(node), "what is done before the round ends is left out")
        self.script.statements(statements_of(going_on), environment)
        return True

    def _good(self, condition: Condition, environment: Environment, *, negated: bool) -> Checked | None:
        """The requests whose answers a condition asks for; a comparison becomes a check of the request."""
        if isinstance(condition.value, Checked):
            return condition.value
        sides = [condition.left, condition.right]
        part = next((side for side in sides if isinstance(side, Part) and side.kind == "status"), None)
        if part is None:
            return None
        known = {"left": condition.left, "right": condition.right}
        values = {id_of(condition.node.child_by_field_name(side)): value for side, value in known.items()}

        def value_of(node: Node) -> Any:
            return values[id_of(node)] if id_of(node) in values else self.calls.value(node, environment)

        check: dict[str, Any] = {}
        try:
            Checks(value_of, self.calls.writer.text).add(condition.node, check, negated=negated)
        except (NotSayable, ValueError):
            return None
        merge(part.step.setdefault("check", {}), check)
        self.calls.note(condition.node, shown(condition.node), "another status counts as a failed step")
        return self.calls.checked(part.step)

    def _branch(
        self, share: float, consequence: Node | None, alternative: Node | None, environment: Environment
    ) -> None:
        then, otherwise = self.script.inside(consequence, environment), self.script.inside(alternative, environment)
        if not then:
            then, otherwise, share = otherwise, [], 1 - share
        if then:
            more = {"else": otherwise} if otherwise else {}
            self.calls.out.append({"branch": exact_share(round(share, 6)), "then": then, **more})

    def _filled(
        self, value: Part, negated: bool, consequence: Node | None, alternative: Node | None, environment: Environment
    ) -> None:
        """A condition that asks whether something was in an answer: it must not fail the request then."""
        place = self.calls.writer.extracted(value)
        if place is None:
            return
        name = place[2:-1]
        spec = value.step["extract"][name]
        value.step["extract"][name] = {**(spec if isinstance(spec, dict) else {"json": spec}), "default": ""}
        then, otherwise = self.script.inside(consequence, environment), self.script.inside(alternative, environment)
        state = "empty" if negated else "filled"
        if not then:
            then, otherwise, state = otherwise, [], "filled" if negated else "empty"
        if then:
            more = {"else": otherwise} if otherwise else {}
            self.calls.out.append({"if": {state: name}, "then": then, **more})


def _chance(condition: Condition) -> float | None:
    """`Math.random() < 0.3` as a share."""
    left, limit = condition.left, condition.right
    if not isinstance(left, Random) or not isinstance(limit, int | float) or left.high <= left.low:
        return None
    share = min(max((limit - left.low) / (left.high - left.low), 0.0), 1.0)
    below = share if condition.sign in {"<", "<="} else 1 - share if condition.sign in {">", ">="} else None
    return 1 - below if below is not None and condition.negated else below


def statements_of(node: Node | None) -> list[Node]:
    """Statements of a branch."""
    if node is None:
        return []
    inner = named(node)
    if node.type == "else_clause" and len(inner) == 1 and inner[0].type == "statement_block":
        return named(inner[0])
    return inner if node.type in {"statement_block", "else_clause"} else [node]


def id_of(node: Node | None) -> int:
    """Identity of a node of the tree; 0 for none."""
    return node.id if node is not None else 0


def _leaves(node: Node | None) -> bool:
    """Whether a branch ends the function or the round."""
    statements = statements_of(node)
    return bool(statements) and (statements[-1].type == "return_statement" or throws(statements[-1]))


def _does_something(statements: list[Node]) -> bool:
    """Whether a branch that leaves does more than that, and than telling it."""
    if any(not text_of(node).startswith("console.") for node in statements[:-1]):
        return True
    returned = named(statements[-1]) if statements and statements[-1].type == "return_statement" else []
    return any(node.type in {"call_expression", "await_expression"} for node in returned)
