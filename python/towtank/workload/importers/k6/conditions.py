"""Converts conditions in scripts. A condition may choose at random, or test for the first round of a user, a
successful response, or an existing value.

Each condition is evaluated exactly once, as in k6, because its evaluation may add requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tree_sitter import Node

from towtank.workload.importers.expected import Expected
from towtank.workload.importers.k6.chances import Chances, statements_of
from towtank.workload.importers.k6.checks import Checks, NotSayable
from towtank.workload.importers.k6.syntax import EQUAL, ROUNDS, is_first_round, named, shown, text_of, throws
from towtank.workload.importers.k6.values import Checked, Environment, Part

if TYPE_CHECKING:
    from towtank.workload.importers.k6.script import Script

# Types whose values are true in JavaScript exactly if they are true in Python.
_KNOWN = (bool, int, float, str)
_AGAIN = "k6 repeats it in the next round if it failed"


class Returned(Exception):  # noqa: N818 - it is not an error of the program
    """Signals that a function of the script has returned a value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


@dataclass(frozen=True)
class Condition:
    """Condition without leading `!`, with its value or, for a comparison, with the values of both sides."""

    node: Node
    negated: bool
    value: Any
    left: Any = None
    right: Any = None
    sign: str = ""


class Conditions:
    """Converts `if` statements."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.calls = script.calls
        self.chances = Chances(script)

    def follow(self, node: Node, environment: Environment) -> None:
        if self.by_chance(node, environment, None) is not None:
            return
        condition = self._read(node.child_by_field_name("condition"), environment)
        consequence, alternative = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        if self._first_round(condition, environment):
            self._once(node, (consequence, alternative), environment)
        elif self._tested(node, condition, environment):
            return
        elif isinstance(condition.value, Part) and condition.value.kind in {"json", "header"}:
            self._filled(condition.value, condition.negated, consequence, alternative, environment)
        elif condition.value is None or isinstance(condition.value, _KNOWN):
            taken = consequence if bool(condition.value) != condition.negated else alternative
            self.script.statements(statements_of(taken), environment)
        else:
            why = "left out: its condition is not known before the run"
            self.script.leave_out(node, why, environment)

    def by_chance(self, node: Node, environment: Environment, rest: list[Node] | None) -> bool | None:
        """Convert an `if` on a random number. Return True if the following statements have been converted as well; None
        if the condition tests no random number. `rest` are the statements that follow in the function; None in an inner
        block.
        """
        found = self.chances.of(node.child_by_field_name("condition"), environment)
        return None if found is None else self.chances.follow(node, found, environment, rest)

    def _read(self, node: Node | None, environment: Environment) -> Condition:
        """Evaluate a condition, and return it in the form of a `Condition`."""
        negated, subject = False, node
        while subject is not None and subject.type in {"unary_expression", "parenthesized_expression"}:
            if subject.type == "unary_expression" and text_of(subject.child_by_field_name("operator")) != "!":
                break
            negated ^= subject.type == "unary_expression"
            subject = named(subject)[-1]
        assert subject is not None  # the grammar gives every `if` a condition
        sign = text_of(subject.child_by_field_name("operator")) if subject.type == "binary_expression" else ""
        if not sign or sign in {"&&", "||", "??"}:
            return Condition(subject, negated, self.calls.value(subject, environment))
        if is_first_round(subject) and not negated:
            return Condition(subject, negated, None, right=0, sign=sign)
        left = self.calls.value(subject.child_by_field_name("left"), environment)
        right = self.calls.value(subject.child_by_field_name("right"), environment)
        value = self.calls.expressions.combined(sign, left, right, subject)
        return Condition(subject, negated, value, left, right, sign)

    def _first_round(self, condition: Condition, environment: Environment) -> bool:
        """Return True if a condition holds only in the first round of a user, such as `!token` or `__ITER === 0`."""
        if condition.sign:
            left = condition.node.child_by_field_name("left")
            if condition.negated or condition.sign not in EQUAL or left is None:
                return False
            if condition.right == 0 and not isinstance(condition.right, bool):
                return text_of(left) in ROUNDS
            subject = left if condition.right is None else None
        else:
            subject = condition.node if condition.negated else None
        # A variable that is declared outside of functions keeps its value between rounds. If it is empty initially, a
        # test for emptiness selects the first round.
        name = text_of(subject) if subject is not None and subject.type == "identifier" else ""
        holder = next((scope for scope in environment.maps if name in scope), None)
        return name in self.script.kept and holder is self.script.globals.maps[0] and not holder[name]

    def _once(self, node: Node, branches: tuple[Node | None, Node | None], environment: Environment) -> None:
        """Add the steps of a branch that runs only in a user's first round to the steps of this round."""
        consequence, alternative = branches
        outer, self.calls.out = self.calls.out, []
        rows = dict(self.calls.draws.rows)
        try:
            self.script.statements(statements_of(consequence), environment)
        except Returned:
            self.calls.note(node, shown(node), "ends the first round in k6; in the workload the user continues")
        self.script.once += self.calls.out
        self.calls.out, self.calls.draws.rows = outer, rows
        why = "is executed once by each user, before its rounds"
        # If a request in the branch fails, the tested variable stays empty in k6, and the branch runs again in the next
        # round. A branch that tests the round number runs only once.
        asked = text_of(node.child_by_field_name("condition"))
        again = "" if any(name in asked for name in ROUNDS) else f"; {_AGAIN}"
        self.calls.note(node, shown(node), f"{why}{again}")
        self.script.statements(statements_of(alternative), environment)

    def _tested(self, node: Node, condition: Condition, environment: Environment) -> bool:
        """Convert a condition that tests whether a response was successful.

        If the script returns after a failure, a failed step ends the round in the workload.
        """
        consequence, alternative = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        leaves, otherwise = _leaves(consequence), _leaves(alternative)
        if not leaves and alternative is not None and not otherwise:
            return False
        good = self._good(condition, environment, negated=condition.negated ^ leaves)
        if good is None:
            return False
        if isinstance(condition.value, Checked) and leaves != condition.negated:
            why = "it runs only after a successful response" if leaves else "it runs only after a failed response"
            self.script.leave_out(node, f"left out: {why}", environment)
            return True
        bad, going_on = (consequence, alternative) if leaves else (alternative, consequence)
        ends = statements_of(bad)
        self.calls.ends(good, node, thrown=not (ends and ends[-1].type == "return_statement"))
        if not leaves and not otherwise:
            why = "if the condition is not met, the workload ends the round here"
            self.calls.note(node, shown(condition.node), why)
        if _does_something(ends):
            self.calls.note(node, shown(node), "steps before the end of the round are left out")
        self.script.statements(statements_of(going_on), environment)
        return True

    def _good(self, condition: Condition, environment: Environment, *, negated: bool) -> Checked | None:
        """Return the requests whose responses a condition tests; None if the condition tests no response.

        If the condition compares a status, the comparison is added to the check of the request.
        """
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

        check = Expected()
        try:
            Checks(value_of, self.calls.writer.text).add(condition.node, check, negated=negated)
        except (NotSayable, ValueError):
            return None
        Expected(part.step.setdefault("check", {})).merge(check)
        self.calls.note(condition.node, shown(condition.node), "with any other status, the step counts as failed")
        return self.calls.checked(part.step)

    def _filled(
        self, value: Part, negated: bool, consequence: Node | None, alternative: Node | None, environment: Environment
    ) -> None:
        """Convert a condition on a value in a response to a condition on a variable.

        The extraction gets an empty default, so that a missing value does not fail the request.
        """
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


def id_of(node: Node | None) -> int:
    """Return the identity of a node of the syntax tree; 0 for None."""
    return node.id if node is not None else 0


def _leaves(node: Node | None) -> bool:
    """Return True if a branch ends its function or the round."""
    statements = statements_of(node)
    return bool(statements) and (statements[-1].type == "return_statement" or throws(statements[-1]))


def _does_something(statements: list[Node]) -> bool:
    """Return True if a branch that ends the round contains statements other than console output, or returns the result
    of a call.
    """
    if any(not text_of(node).startswith("console.") for node in statements[:-1]):
        return True
    returned = named(statements[-1]) if statements and statements[-1].type == "return_statement" else []
    return any(node.type in {"call_expression", "await_expression"} for node in returned)
