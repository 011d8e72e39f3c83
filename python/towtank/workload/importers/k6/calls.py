"""Evaluates the calls in k6 scripts, such as requests, checks, pauses, groups, and JavaScript functions."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from tree_sitter import Node

from towtank.workload.importers.draft import DraftPool, ImportDraft, Step, page, seconds, think, unique
from towtank.workload.importers.expected import Expected
from towtank.workload.importers.k6.checks import Checks, NotSayable
from towtank.workload.importers.k6.draws import Draws
from towtank.workload.importers.k6.expressions import ITEMS_AT_MOST, TEXT_AT_MOST, Expressions
from towtank.workload.importers.k6.functions import OF_NUMBERS, base64_of, of_number
from towtank.workload.importers.k6.requests import Requests
from towtank.workload.importers.k6.settling import is_draw
from towtank.workload.importers.k6.syntax import Source, json_of, named, shown, text_of
from towtank.workload.importers.k6.values import (
    Answer,
    Checked,
    Environment,
    File,
    FilePart,
    Function,
    JsonText,
    Namespace,
    Part,
    Random,
    Table,
    Unknown,
    Writer,
)
from towtank.workload.importers.textfile import beside

# Largest number of data rows that are written into the workload file. [1]
ROWS_AT_MOST = 5000
# Largest depth of nested function calls. The limit stops infinite recursion in the script. [1]
_CALLS_AT_MOST = 30
# Largest size of a file that a script opens and the importer reads. [bytes]
_FILE_AT_MOST = 50_000_000
_HTTP = frozenset({"get", "head", "post", "put", "patch", "del", "request"})


class Calls:
    """Evaluates calls, and converts them to steps and values."""

    def __init__(self, draft: ImportDraft, source: Source) -> None:
        self.draft = draft
        self.source = source
        self.writer = Writer(draft)
        self.expressions = Expressions(self.writer, self.call, self.drawn, self.ends)
        self.requests = Requests(draft, self.writer)
        self.out: list[Step] = []
        self.draws = Draws(draft, self._append)
        self.writer.random = self.draws.template
        self.pages: list[str] = []
        self.depth = 0
        # State of the conversion: last added step, number of added steps, and depth of nested loops.
        self.last: Step | None = None
        self.made = 0
        self.loops = 0
        # Tests after whose failure k6 leaves only the current function, whereas the workload ends the round.
        # `_leaving`: tests in functions that are being converted, each with its call depth. `left`: tests in converted
        # functions, each with the number of steps at the end of the function.
        self._leaving: list[tuple[Node, int]] = []
        self.left: list[tuple[Node, int]] = []
        self.inside_group = False
        self.tables: dict[int, Table | None] = {}
        self.body: Callable[[Node, Environment], Any] = lambda *_: None

    def note(self, node: Node, what: str, why: str) -> None:
        self.draft.notes.add(self.source.place(node), what, why)

    def value(self, node: Node | None, environment: Environment) -> Any:
        return self.expressions.value(node, environment)

    def call(self, node: Node, environment: Environment) -> Any:
        """Return the value of a call, and add the steps that the called function makes."""
        constructor = node.type == "new_expression"
        callee = node.child_by_field_name("constructor" if constructor else "function")
        arguments = node.child_by_field_name("arguments")
        if callee is not None and callee.type == "member_expression":
            return self._method(node, callee, arguments, environment)
        function = self.value(callee, environment)
        if isinstance(function, Function):
            return self.run(function, [self.value(each, environment) for each in named(arguments)], node)
        if isinstance(function, Namespace):
            return self._known(function.name, node, arguments, environment)
        return function if isinstance(function, Unknown) else Unknown(f"{shown(node)} is not understood")

    def _method(self, node: Node, callee: Node, arguments: Node | None, environment: Environment) -> Any:
        holder = self.value(callee.child_by_field_name("object"), environment)
        name = text_of(callee.child_by_field_name("property"))
        if isinstance(holder, Namespace):
            return self._known(f"{holder.name}.{name}", node, arguments, environment)
        values = [self.value(each, environment) for each in named(arguments)]
        if isinstance(holder, Answer) and name == "json":
            path = values[0] if values else ""
            return self._json(holder, path) if isinstance(path, str) else Unknown("its path is not known")
        if isinstance(holder, dict) and isinstance(holder.get(name), Function):
            return self.run(holder[name], values, node)
        found = self._of_list(holder, name, values, node)
        if found is not None:
            return found
        if name in {"toString", "trim"} and self.writer.text(holder) is not None:
            return holder
        return holder if isinstance(holder, Unknown) else Unknown(f"{shown(node)} is not understood")

    def _of_list(self, holder: Any, name: str, values: list[Any], node: Node) -> Any:  # noqa: PLR0911 - one per method
        """Return the result of a method of a string or a list; None if the method is not supported."""
        if isinstance(holder, File):
            return self._of_list(holder.text, name, values, node) if holder.text is not None else holder
        bounds = all(isinstance(each, int) and not isinstance(each, bool) for each in values)
        if name == "slice" and isinstance(holder, str | list) and bounds:
            return holder[slice(*values[:2])] if len(values) > 1 else holder[(values or [0])[0] :]
        if name == "split" and isinstance(holder, str) and values and isinstance(values[0], str):
            return holder.split(values[0]) if values[0] else list(holder)
        if name == "trim" and isinstance(holder, str):
            return holder.strip()
        if not isinstance(holder, list) or not values:
            return None
        if name == "join" and all(isinstance(each, str) for each in [*holder, values[0]]):
            length = sum(map(len, holder)) + len(values[0]) * len(holder)
            return str(values[0]).join(holder) if length <= TEXT_AT_MOST else None
        if name == "concat" and isinstance(values[0], list):
            return [*holder, *values[0]] if len(holder) + len(values[0]) <= ITEMS_AT_MOST else None
        if name == "filter" and isinstance(values[0], Namespace) and values[0].name == "Boolean":
            return [each for each in holder if each]
        if name in {"map", "filter"} and isinstance(values[0], Function):
            made = [self.run(values[0], [each], node) for each in holder[: ROWS_AT_MOST + 1]]
            if name == "map":
                return made
            if all(isinstance(each, bool) for each in made):
                return [each for each, kept in zip(holder, made, strict=False) if kept]
        return None

    @staticmethod
    def _json(answer: Answer, path: str) -> Part:
        """Return the part of a response that `res.json('a.0.b')` selects, or the whole body if the path is empty."""
        part = Part(answer.step, "json")
        for each in path.split(".") if path else []:
            part = part.member(int(each) if each.isdecimal() else each) or part
        return part

    def _known(self, name: str, node: Node, arguments: Node | None, environment: Environment) -> Any:  # noqa: PLR0911 - one line per function
        """Return the result of a function of k6 or JavaScript, and add the steps that the function makes."""
        name = name.removeprefix("k6.")
        module, _, method = name.rpartition(".")
        if name == "http.url":
            return self.value(arguments, environment)
        if name == "check":
            return self._check(node, named(arguments), environment)
        if name == "SharedArray":
            return self._shared(node, [self.value(each, environment) for each in named(arguments)])
        values = [self.value(each, environment) for each in named(arguments)]
        if module == "http" and method in _HTTP:
            step = self.requests.call(method, values, self.source.place(node))
            return self._made(step)
        if name in {"http.batch", "group", "sleep"}:
            return {"http.batch": self._batch, "group": self._group, "sleep": self._sleep}[name](node, values)
        if module == "console":
            return None
        if method in {"setResponseCallback", "expectedStatuses"}:
            self.note(
                node,
                shown(node),
                "left out: a status of 2xx or 3xx counts as success, unless `check` names other statuses",
            )
            return None
        return self._pure(name, node, values)

    def _made(self, step: Step | None) -> Any:
        if step is None:
            return Unknown("is the response to a request that was left out")
        # After a failed request or a failed check, k6 continues the round, so the workload does the same.
        step["on_failure"] = "go_on"
        self._add(step)
        return Answer(step)

    def _append(self, step: Step) -> None:
        self.out.append(step)

    def _add(self, step: Step) -> None:
        self.out.append(step)
        self.last = step
        self.made += 1

    def checked(self, step: Step) -> Checked:
        """Return the value of an expression that tests the response to a request."""
        return Checked((step,), prompt=step is self.last)

    def ends(self, checked: Checked, node: Node, *, thrown: bool) -> None:
        """Make a failure of the tested requests end the round, because the script stops after such a failure.

        `thrown` is True if k6 ends the round, and False if k6 leaves only the function that contains the test.
        """
        for step in checked.steps:
            step.pop("on_failure", None)
        if not checked.prompt or checked.steps[-1] is not self.last:
            why = "is tested after other steps; in the workload, a failed request ends the round before these steps"
            self.note(node, shown(node), why)
        if not thrown and self.depth > 1:
            self._leaving.append((node, self.depth))

    def _leave(self) -> None:
        """Move tests from `_leaving` to `left` when the conversion of their function ends."""
        while self._leaving and self._leaving[-1][1] == self.depth:
            self.left.append((self._leaving.pop()[0], -1 if self.loops else self.made))

    def settle(self) -> None:
        """Add a note for each test that ends only a function in k6, if the workload has steps after that function."""
        for node, made in self.left:
            if made < self.made:
                why = "leaves only its function in k6; in the workload, a failed request ends the whole round"
                self.note(node, shown(node), why)
        self.left.clear()

    def _pure(self, name: str, node: Node, values: list[Any]) -> Any:  # noqa: PLR0911 - one line per function
        """Return the result of a function call that adds no steps."""
        first = values[0] if values else None
        if name in OF_NUMBERS and isinstance(first, int | float | Random):
            return of_number(name, first, node)
        drawn = self.draws.called(name, values, self.source.place(node), shown(node), self.writer.hint)
        if drawn is not None:
            return drawn
        if name == "randomItem" and values:
            return self.drawn(first, Random(0, 1, whole=True), node)
        if name == "Object.assign" and values and all(isinstance(each, dict) for each in values):
            return {key: value for each in values for key, value in each.items()}
        if name == "JSON.stringify" and values:
            return JsonText(first)
        if name == "String" and values:
            return first
        if name == "encodeURIComponent" and values:
            return self._encoded(first, node)
        if name in {"encoding.b64encode", "b64encode"} and isinstance(first, str):
            return base64_of(first, values[1] if len(values) > 1 else "std") or Unknown(
                f"{shown(node)} is not understood"
            )
        return self._files(name, node, values)

    def _encoded(self, value: Any, node: Node) -> Any:
        """Percent-encode a text; the engine encodes values that are known only at run time."""
        if isinstance(value, str):
            return quote(value, safe="-_.!~*'()")
        self.note(node, shown(node), "is encoded in a query or a form, but not in a path")
        return value

    def _files(self, name: str, node: Node, values: list[Any]) -> Any:
        first = values[0] if values else None
        if name == "http.file" and values:
            return FilePart(*values[:3])
        if name == "open" and isinstance(first, str):
            return self._open(first)
        if name == "JSON.parse" and isinstance(first, File):
            return first if first.text is None else json_of(first.text)
        if name == "JSON.parse" and isinstance(first, Part) and first.kind == "body":
            return Part(first.step, "json")
        if name == "papaparse.parse" and isinstance(first, File):
            rows = first if first.text is None else list(csv.DictReader(io.StringIO(first.text)))
            return {"data": rows}
        return Unknown(f"{shown(node)} has no counterpart in a workload")

    def _open(self, name: str) -> File:
        path = beside(self.draft.source, name)
        try:
            if path is None or path.stat().st_size > _FILE_AT_MOST:
                return File(name, None)
            return File(name, path.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError):
            return File(name, None)

    def _shared(self, node: Node, values: list[Any]) -> Any:
        """Convert `new SharedArray(name, function)` to a data pool."""
        if len(values) != 2 or not isinstance(values[1], Function):
            return Unknown(f"{shown(node)} is not understood")
        rows = self.run(values[1], [], node)
        name = values[0] if isinstance(values[0], str) else "data"
        if isinstance(rows, File):
            table = self.writer.table(name, [{}], 1)
            assert table is not None  # a list with one row can always be converted to a table
            table.open = True
            self.draft.data[table.pool] = DraftPool(columns=["row"], rows=[["change-me"]])
            why = "does not exist: one row with placeholders replaces it"
            self.note(node, f"file {rows.path}", why)
            return table
        return self._table(name, rows, node) or Unknown(f"{shown(node)} is not a list of texts or mappings")

    def _table(self, name: str, rows: Any, node: Node) -> Table | None:
        table = self.writer.table(name, rows, ROWS_AT_MOST) if isinstance(rows, list) else None
        if table is not None and table.length > ROWS_AT_MOST:
            self.note(node, f"data {name!r}", f"the first {ROWS_AT_MOST} of {table.length} rows are kept")
        return table

    def drawn(self, holder: Any, index: Any, node: Node) -> Any:
        """Return a row of a pool for a list element selected at run time, and add the step that reads the row."""
        if isinstance(holder, list):
            key = id(holder)
            if key not in self.tables:
                self.tables[key] = self._table("values", holder, node)
            holder = self.tables[key]
        if not isinstance(holder, Table):
            return Unknown(f"{shown(node)} is not understood")
        if not isinstance(index, Random):
            self.note(node, shown(node), "rows are drawn in order: each draw gets the next row, regardless of the user")
            self.draft.data[holder.pool].order = "sequential"
        return self.draws.row(holder, index)

    def run(self, function: Function, values: list[Any], node: Node) -> Any:
        """Evaluate a function of the script: add its steps and return its value."""
        if self.depth >= _CALLS_AT_MOST:
            self.note(node, shown(node), "left out: the calls of functions are nested too deeply")
            return Unknown("is the value of a function that was left out")
        environment = function.environment.new_child()
        parameters = function.node.child_by_field_name("parameters") or function.node.child_by_field_name("parameter")
        names = [parameters] if parameters is not None and parameters.type == "identifier" else named(parameters)
        for index, name in enumerate(names):
            given = values[index] if index < len(values) else None
            self.bind(name, given, environment)
        body = function.node.child_by_field_name("body")
        self.depth += 1
        try:
            if body is not None and body.type == "statement_block":
                return self.body(body, environment)
            return self.value(body, environment)
        finally:
            self._leave()
            self.depth -= 1

    def bind(self, pattern: Node, value: Any, environment: Environment) -> None:
        """Assign a value to a name, or to the names of a pattern `{a, b}`."""
        if pattern.type == "assignment_pattern":
            left, right = pattern.child_by_field_name("left"), pattern.child_by_field_name("right")
            assert left is not None  # the grammar gives every assignment pattern a left side
            self.bind(left, self.value(right, environment) if value is None else value, environment)
        elif pattern.type == "object_pattern":
            for child in named(pattern):
                if child.type == "shorthand_property_identifier_pattern":
                    environment[text_of(child)] = self.expressions.member(value, text_of(child), child)
                elif child.type == "pair_pattern":
                    inner = child.child_by_field_name("value")
                    key = text_of(child.child_by_field_name("key"))
                    assert inner is not None  # the grammar gives every pair a value
                    self.bind(inner, self.expressions.member(value, key, child), environment)
        else:
            environment[text_of(pattern)] = value

    def _check(self, node: Node, arguments: list[Node], environment: Environment) -> Any:
        """Convert `check(response, {...})` to checks of the request; tests without a counterpart become notes."""
        subject: Any = self.value(arguments[0], environment) if arguments else None
        answer = Answer(subject.step) if isinstance(subject, Part) else subject
        tests = self._tests(arguments[1] if len(arguments) > 1 else None, environment)
        if not isinstance(answer, Answer) or tests is None:
            self.note(node, shown(node), "left out: it does not check the response to a request")
            return True
        for place, name, test in tests:
            what = f"check {name}"
            if not isinstance(test, Function):
                self.note(place, what, "left out: the test is not a function")
                continue
            try:
                Expected(answer.step.setdefault("check", {})).merge(self._test(test, subject))
            except (NotSayable, ValueError) as reason:
                self.note(place, what, f"cannot be checked: {reason}")
        if not answer.step.get("check"):
            answer.step.pop("check", None)
        return self.checked(answer.step)

    def _tests(self, node: Node | None, environment: Environment) -> list[tuple[Node, str, Any]] | None:
        """Return the tests of a `check` call with positions and names; None if unknown before the run."""
        if node is not None and node.type == "object":
            pairs = [(pair, pair.child_by_field_name("key"), pair.child_by_field_name("value")) for pair in named(node)]
            return [(pair, text_of(key) or shown(pair), self.value(test, environment)) for pair, key, test in pairs]
        known = self.value(node, environment)
        return (
            [(node, name, test) for name, test in known.items()]
            if node is not None and isinstance(known, dict)
            else None
        )

    def _test(self, test: Function, subject: Answer | Part) -> Expected:
        """Return the check for a single test.

        The check is built separately, so that a test that cannot be converted adds nothing to the request's check.
        """
        environment = test.environment.new_child()
        parameters = test.node.child_by_field_name("parameters") or test.node.child_by_field_name("parameter")
        names = [parameters] if parameters is not None and parameters.type == "identifier" else named(parameters)
        if names:
            environment[text_of(names[0])] = subject
        body = test.node.child_by_field_name("body")
        if body is not None and body.type == "statement_block":
            statements = named(body)
            if len(statements) != 1 or statements[0].type != "return_statement" or not named(statements[0]):
                raise NotSayable("it is more than one expression")
            body = named(statements[0])[0]
        if body is None:
            raise NotSayable("it has no expression")
        check = Expected()
        Checks(lambda node: self.value(node, environment), self.writer.text).add(body, check)
        return check

    def _batch(self, node: Node, values: list[Any]) -> Any:
        """Convert `http.batch([...])` to consecutive requests."""
        batch = values[0] if values else None
        if not isinstance(batch, list | dict):
            self.note(node, shown(node), "left out: its requests are not known before the run")
            return Unknown("contains the responses to requests that were left out")
        self.note(node, "http.batch", "its requests are sent one after the other, because a user has one connection")
        items = batch.items() if isinstance(batch, dict) else enumerate(batch)
        answers = {key: self._made(self._batched(each, node)) for key, each in items}
        return answers if isinstance(batch, dict) else list(answers.values())

    def _batched(self, each: Any, node: Node) -> Step | None:
        place = self.source.place(node)
        if isinstance(each, list) and each:
            method, url, body, params = (each + [None] * 4)[:4]
        elif isinstance(each, dict):
            method, url, body, params = each.get("method", "GET"), each.get("url"), each.get("body"), each.get("params")
        else:
            method, url, body, params = "GET", each, None, None
        return self.requests.make(str(method).upper(), url, body, params, place)

    def _group(self, node: Node, values: list[Any]) -> Any:
        """Convert `group(name, function)` to a page; think times divide it into several pages."""
        if len(values) != 2 or not isinstance(values[1], Function):
            self.note(node, shown(node), "left out: it is not supported")
            return None
        outer, self.out = self.out, []
        nested, self.inside_group = self.inside_group, True
        result = self.run(values[1], [], node)
        steps, self.out, self.inside_group = self.out, outer, nested
        name = values[0] if isinstance(values[0], str) and values[0] else "group"
        if nested:
            self.note(
                node,
                f"group {name}",
                "a page cannot be inside another page: its steps are kept, but its time is not measured",
            )
            self.out += steps
        else:
            self._divide(name, steps)
        return result

    def _divide(self, name: str, steps: list[Step]) -> None:
        chunk: list[Step] = []
        for step in [*steps, {}]:
            if step and "think" not in step:
                chunk.append(step)
                continue
            if all(map(is_draw, chunk)):
                self.out += chunk
                chunk = []
            if chunk:
                title = unique(name, self.pages)
                self.pages.append(title)
                self.out.append(page(title, chunk))
                chunk = []
            self.out += [step] if step else []

    def _sleep(self, node: Node, values: list[Any]) -> Any:
        pause = values[0] if values else None
        if isinstance(pause, int | float) and not isinstance(pause, bool) and 0 <= pause < 1e9:
            if pause > 0:
                self._add(think(seconds(pause)))
        elif isinstance(pause, Random) and 0 <= pause.low <= pause.high < 1e9:
            self.draws.paused(pause)
            high = pause.high - 1 if pause.whole else pause.high
            self._add(think({"uniform": {"min": seconds(pause.low), "max": seconds(max(high, pause.low))}}))
            if pause.whole:
                self.note(node, shown(node), "the pause may have any length between the bounds, not only whole seconds")
        else:
            self.note(node, shown(node), "its length is not known before the run: 1 s is assumed")
            self._add(think("1 s"))
        return None
