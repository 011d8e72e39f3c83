"""Converts the statements of a script, such as loops and conditions, to steps."""

from __future__ import annotations

from collections import ChainMap
from typing import Any

from tree_sitter import Node

from towtank.workload.importers.draft import ROUNDS_AT_MOST, ImportDraft, Step
from towtank.workload.importers.k6.calls import Calls
from towtank.workload.importers.k6.chances import statements_of
from towtank.workload.importers.k6.conditions import Conditions, Returned
from towtank.workload.importers.k6.settling import is_draw
from towtank.workload.importers.k6.syntax import Source, named, shown, text_of
from towtank.workload.importers.k6.values import Environment, Function, Namespace, Part, Unknown

# Largest number of list elements for which a loop is unrolled. Further elements are skipped. [1]
_ELEMENTS_AT_MOST = 100
# Largest number of steps of a script. Without this limit, nested unrolled loops could create any number of steps. [1]
_STEPS_AT_MOST = 20_000
# Largest number of statements that are converted, counting repetitions. Calls of functions, and cases without `break`,
# convert the same statements again; each level of nesting may double the number. [1]
_CONVERSIONS_AT_MOST = 50_000
_IGNORED = frozenset({"comment", "empty_statement", "import_statement", "hash_bang_line", "debugger_statement"})
# Modules of k6 whose functions are supported, each with the prefix of its functions in `calls`.
_MODULES = {
    **{"k6": "k6", "k6/data": "k6", "k6/http": "http", "k6/encoding": "encoding"},
    **{"k6/crypto": "crypto", "k6/execution": "exec", "k6/metrics": "metrics"},
}


class Script:
    """Converts the statements of a script without running the script."""

    def __init__(self, draft: ImportDraft, source: Source) -> None:
        self.source = source
        self.draft = draft
        self.calls = Calls(draft, source)
        self.calls.body = self._body
        self.globals: Environment = ChainMap()
        self.exported: dict[str, Function] = {}
        # `once`: steps of the first round of a virtual user. `kept`: names of the variables that keep their values
        # between rounds.
        self.once: list[Step] = []
        self.kept: frozenset[str] = frozenset()
        # Steps that generate random values outside of functions. Each virtual user executes these steps only once.
        self.before: list[Step] = []
        self.conditions = Conditions(self)
        self._conversions = 0
        self._kinds = {
            "expression_statement": self._expression,
            "lexical_declaration": self._declaration,
            "variable_declaration": self._declaration,
            "if_statement": self.conditions.follow,
            "switch_statement": self.conditions.chances.switch,
            "for_statement": self._for,
            "for_in_statement": self._for_of,
            "try_statement": self._try,
            "return_statement": self._return,
            "statement_block": lambda node, environment: self.statements(named(node), environment),
            "function_declaration": self._function,
            "export_statement": self._export,
        }

    def top(self) -> None:
        """Read the statements outside of functions, such as imports, constants, data and definitions of functions."""
        statements = named(self.source.root)
        # Functions are read before all other statements, because a statement may call a function above its definition.
        for node in statements:
            inner = node.child_by_field_name("declaration") if node.type == "export_statement" else node
            if node.type == "import_statement":
                self._import(node)
            elif inner is not None and inner.type in {"function_declaration", "generator_function_declaration"}:
                self._function(inner, self.globals)
        self.statements([node for node in statements if node.type != "import_statement"], self.globals)
        self.before = [step for step in self.calls.out if is_draw(step)]
        self.kept = frozenset(
            text_of(declarator.child_by_field_name("name"))
            for node in statements
            if node.type in {"lexical_declaration", "variable_declaration"} and not text_of(node).startswith("const")
            for declarator in named(node)
        )

    def steps(self, function: Function) -> list[Step]:
        """Return the steps of a function that virtual users execute in every round."""
        self.calls.out, self.calls.pages, self.once = [], [], []
        self.calls.draws.rows = {}
        before = dict(self.globals.maps[0])
        self.calls.writer.variables.clear()
        parameters = named(function.node.child_by_field_name("parameters"))
        values = [Unknown("the result of setup() is not known before the run") for _ in parameters]
        self.calls.run(function, values, function.node)
        self.calls.settle()
        self.globals.maps[0].update(before)
        steps, self.once = self.calls.draws.settle(self.calls.out, self.once, self.before)
        return steps

    def _import(self, node: Node) -> None:
        module = text_of(node.child_by_field_name("source")).strip("'\"")
        prefix = _MODULES.get(module, "papaparse" if "papaparse" in module else "")
        for child in [child for clause in named(node)[:1] for child in named(clause)]:
            if child.type == "identifier":
                self.globals[text_of(child)] = Namespace(prefix or text_of(child))
            elif child.type == "named_imports":
                for each in named(child):
                    imported = text_of(each.child_by_field_name("name"))
                    known = text_of(each.child_by_field_name("alias")) or imported
                    inside = f"{prefix}." if prefix in {"http", "exec"} else ""
                    self.globals[known] = Namespace(inside + imported)
            elif child.type == "namespace_import":
                self.globals[text_of(named(child)[0])] = Namespace(prefix or "module")
        if module not in _MODULES and "jslib.k6.io" not in module:
            self.calls.note(node, f"module {module}", "is not read: its functions and values are unknown")

    def _body(self, node: Node, environment: Environment) -> Any:
        """Convert the body of a function; return the value of the first `return` that is reached."""
        try:
            self.statements(named(node), environment, whole=True)
        except Returned as returned:
            return returned.value
        return None

    def _return(self, node: Node, environment: Environment) -> None:
        raise Returned(self.calls.value(named(node)[0], environment) if named(node) else None)

    def statements(self, nodes: list[Node], environment: Environment, *, whole: bool = False) -> None:
        """Convert statements; unsupported statements become notes.

        With `whole`, the statements are a complete function body. A `return` inside an `if` on a random number then
        skips the statements after the `if`.
        """
        for count, node in enumerate(nodes, 1):
            if node.type in _IGNORED:
                continue
            kind = self._kinds.get(node.type)
            self._conversions += 1
            if kind is None:
                self.leave_out(node, f"left out: {node.type.replace('_', ' ')} is not supported", environment)
            elif len(self.calls.out) > _STEPS_AT_MOST:
                self.leave_out(node, f"left out: the script has more than {_STEPS_AT_MOST} steps", environment)
            elif self._conversions > _CONVERSIONS_AT_MOST:
                why = (
                    f"left out: the calls and cases of the script expand to more than {_CONVERSIONS_AT_MOST} statements"
                )
                self.leave_out(node, why, environment)
            elif whole and node.type == "if_statement":
                followed = self.conditions.by_chance(node, environment, nodes[count:])
                if followed:
                    raise Returned(None)
                if followed is None:
                    kind(node, environment)
            else:
                kind(node, environment)

    def leave_out(self, node: Node, why: str, environment: Environment) -> None:
        """Add a note about an omitted part of the script. Variables that this part would set become unknown."""
        self.calls.note(node, shown(node), why)
        waiting = [node]
        while waiting:
            each = waiting.pop()
            waiting += each.named_children
            if each.type in {"assignment_expression", "augmented_assignment_expression", "update_expression"}:
                name = text_of(each.child_by_field_name("left") or each.child_by_field_name("argument"))
                for scope in environment.maps:
                    if name in scope:
                        scope[name] = Unknown(f"{name} is set in a part that is left out")
                        break

    def _expression(self, node: Node, environment: Environment) -> None:
        inner = named(node)[0]
        if inner.type == "await_expression":
            inner = named(inner)[0]
        if inner.type == "assignment_expression":
            left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
            if left is not None and left.type in {"identifier", "object_pattern"}:
                scope = next((scope for scope in environment.maps if text_of(left) in scope), environment.maps[0])
                self._assign(left, right, environment, inner)
                # An assignment sets the name in the scope in which the name was declared.
                if left.type == "identifier":
                    scope[text_of(left)] = environment.maps[0][text_of(left)]
                    if scope is not environment.maps[0]:
                        del environment.maps[0][text_of(left)]
                return
            self.calls.note(inner, shown(inner), "left out: it is not supported")
        elif inner.type == "string":
            return  # a directive such as 'use strict'
        else:
            value = self.calls.value(inner, environment)
            if isinstance(value, Unknown):
                self.leave_out(inner, f"left out: {value.why}", environment)

    def _assign(self, left: Node, right: Node | None, environment: Environment, node: Node) -> None:
        self.calls.writer.hint = text_of(left) if left.type == "identifier" else ""
        value = self.calls.value(right, environment)
        if isinstance(value, Part) and value.kind in {"json", "header", "json_length"} and value.path != "$":
            self.calls.writer.extracted(value)
        self.calls.writer.hint = ""
        if isinstance(value, Unknown):
            self.calls.note(node, shown(node), f"its value is not known: {value.why}")
        self.calls.bind(left, value, environment)

    def _declaration(self, node: Node, environment: Environment) -> None:
        for declarator in named(node):
            name, value = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
            if name is None:
                continue
            if value is None:
                environment[text_of(name)] = None
            else:
                self._assign(name, value, environment, declarator)

    def _function(self, node: Node, environment: Environment) -> None:
        environment[text_of(node.child_by_field_name("name"))] = Function(node, environment)

    def _export(self, node: Node, environment: Environment) -> None:
        declaration, value = node.child_by_field_name("declaration"), node.child_by_field_name("value")
        default = any(child.type == "default" for child in node.children)
        inner = declaration or value
        if inner is None:
            self.calls.note(node, shown(node), "left out: it is not supported")
        elif default and inner.type == "identifier":
            found = environment.get(text_of(inner))
            if isinstance(found, Function):
                self.exported["default"] = found
        elif "function" in inner.type:
            name = "default" if default else text_of(inner.child_by_field_name("name"))
            self.exported[name] = Function(inner, environment)
        else:
            self._declaration(inner, environment)
            for declarator in named(inner):
                name = text_of(declarator.child_by_field_name("name"))
                if isinstance(environment.get(name), Function):
                    self.exported[name] = environment[name]

    def inside(self, node: Node | None, environment: Environment) -> list[Step]:
        """Return the steps of a block, for use as the inner steps of another step."""
        return self.part(statements_of(node), environment, place=node)

    def part(
        self, statements: list[Node], environment: Environment, *, leaves: bool = False, place: Node | None = None
    ) -> list[Step]:
        """Return the steps of statements, for use as the inner steps of another step.

        With `leaves`, a `return` ends the statements without a note. Notes refer to the block `place`, or to the first
        statement if `place` is None.
        """
        outer, self.calls.out = self.calls.out, []
        rows = dict(self.calls.draws.rows)
        grouped, self.calls.inside_group = self.calls.inside_group, True
        before = [dict(scope) for scope in environment.maps]
        try:
            self.statements(statements, environment, whole=leaves)
        except Returned:
            why = "returns in some rounds only: in the workload, the steps after it run in all rounds"
            noted = place or (statements[0] if statements else self.source.root)
            if not leaves:
                self.calls.note(noted, shown(noted), why)
        for scope, known in zip(environment.maps, before, strict=True):
            for name, value in known.items():
                if scope[name] is not value:
                    scope[name] = Unknown(f"{name} is set in a condition or a loop and not known after it")
        steps, self.calls.out, self.calls.inside_group = self.calls.out, outer, grouped
        self.calls.draws.rows = rows  # rows that are read inside these statements are unknown after them
        return [] if all(map(is_draw, steps)) else steps

    def _for(self, node: Node, environment: Environment) -> None:
        """Convert a `for` loop that counts by one up to a known number."""
        declarators = named(node.child_by_field_name("initializer"))
        condition = node.child_by_field_name("condition")
        condition = (
            named(condition)[0] if condition is not None and condition.type == "expression_statement" else condition
        )
        increment = node.child_by_field_name("increment")
        name = text_of(declarators[0].child_by_field_name("name")) if declarators else ""
        first = self.calls.value(declarators[0].child_by_field_name("value"), environment) if declarators else None
        counts = condition is not None and text_of(condition.child_by_field_name("left")) == name
        last = self.calls.value(condition.child_by_field_name("right"), environment) if condition is not None else None
        sign = text_of(condition.child_by_field_name("operator")) if condition is not None else ""
        steps_by_one = text_of(increment).replace(" ", "") in {f"{name}++", f"++{name}", f"{name}+=1"}
        if (
            not counts
            or not steps_by_one
            or not isinstance(first, int)
            or not isinstance(last, int)
            or sign not in {"<", "<="}
        ):
            self.leave_out(node, "left out: it does not count by one up to a known number", environment)
            return
        times = last - first + (sign == "<=")
        body = node.child_by_field_name("body")
        if _reads(body, name) and 0 < times <= _ELEMENTS_AT_MOST:
            for count in range(first, first + times):
                self.statements(statements_of(body), environment.new_child({name: count}))
            return
        inner = environment.new_child({name: Unknown(f"{name} counts the rounds of a loop")})
        self.calls.loops += 1
        outer, self.calls.draws.loop_from = self.calls.draws.loop_from, self.calls.draws.fence()
        steps = self.inside(body, inner)
        self.calls.draws.loop_from = outer
        self.calls.loops -= 1
        if steps and times > 0:
            if times > ROUNDS_AT_MOST:
                why = f"has {times} rounds: a loop of a workload has at most {ROUNDS_AT_MOST}"
                self.calls.note(node, shown(node), why)
            self.calls.out.append({"loop": min(times, ROUNDS_AT_MOST), "steps": steps})

    def _for_of(self, node: Node, environment: Environment) -> None:
        """Unroll a loop over a list that is known before the run."""
        items = self.calls.value(node.child_by_field_name("right"), environment)
        left = node.child_by_field_name("left")
        if text_of(node.child_by_field_name("operator")) != "of" or not isinstance(items, list) or left is None:
            self.leave_out(node, "left out: it is not a loop over a list that is known before the run", environment)
            return
        if len(items) > _ELEMENTS_AT_MOST:
            self.calls.note(node, shown(node), f"only the first {_ELEMENTS_AT_MOST} of {len(items)} elements are used")
        for item in items[:_ELEMENTS_AT_MOST]:
            inner = environment.new_child()
            self.calls.bind(left, item, inner)
            body = node.child_by_field_name("body")
            self.statements([body] if body is not None else [], inner)

    def _try(self, node: Node, environment: Environment) -> None:
        handler, final = node.child_by_field_name("handler"), node.child_by_field_name("finalizer")
        if handler is not None:
            self.calls.note(handler, shown(handler), "left out: a workload has no exceptions")
        self.statements(named(node.child_by_field_name("body")), environment)
        for block in named(final):
            self.statements(named(block), environment)


def _reads(node: Node | None, name: str) -> bool:
    waiting = [node] if node is not None else []
    while waiting:
        each = waiting.pop()
        if each.type in {"identifier", "shorthand_property_identifier"} and text_of(each) == name:
            return True
        waiting += each.named_children
    return False
