"""Values of expressions of a script: known values, or values that only the run knows.

Known values are those of Python (texts, numbers, lists, mappings). The classes here stand for the others: texts with
places, answers to requests and their parts, rows of data, random numbers, functions.
"""

from __future__ import annotations

import json
import re
from collections import ChainMap
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tree_sitter import Node

from towtank.workload.importers.draft import Draft, Step, identifier, literal, unique

_NAME = re.compile(r"[A-Za-z_$][\w$]*")
# Names and their values, innermost scope first.
Environment = ChainMap[str, Any]


@dataclass(frozen=True)
class Text:
    """A text with places in it, as a template."""

    template: str


@dataclass(frozen=True)
class Json:
    """The JSON text of a value."""

    value: Any


@dataclass(frozen=True)
class Answer:
    """The answer to a request."""

    step: Step


@dataclass(frozen=True)
class Checked:
    """The value of `check(...)`: True if the answers to requests passed.

    Attributes
    ----------
    steps : tuple of dict
        The requests.
    prompt : bool
        Whether each answer is tested before anything else is done.
    """

    steps: tuple[Step, ...]
    prompt: bool = True


@dataclass(frozen=True)
class Part:
    """A part of an answer: `headers` of it, one of them, its body, or a value of its JSON by a path."""

    step: Step
    kind: str
    path: str = "$"

    def member(self, name: str | int) -> Part | None:
        """Return a part of the part; None if it cannot be extracted."""
        if self.kind == "headers":
            return Part(self.step, "header", str(name))
        if self.kind != "json":
            return None
        if name == "length":
            return Part(self.step, "json_length", self.path)
        if isinstance(name, int):
            return Part(self.step, "json", f"{self.path}[{name}]")
        if _NAME.fullmatch(name):
            return Part(self.step, "json", f"{self.path}.{name}")
        return Part(self.step, "json", f"{self.path}['{name}']") if "'" not in name else None


@dataclass
class Table:
    """A pool of data; if its file does not exist, its columns are those that the script reads."""

    pool: str
    columns: list[str]
    length: int
    plain: bool = False
    open: bool = False
    names: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """The row drawn last from a table."""

    table: Table


@dataclass(frozen=True)
class Random:
    """A random number from `low` up to, not including, `high`; with `whole`, the floor of one.

    Attributes
    ----------
    draw : int
        Number of the draw; numbers that are computed from one draw share it.
    """

    low: float
    high: float
    whole: bool = False
    draw: int = field(default_factory=count().__next__, compare=False)

    def template(self) -> str | None:
        """Return its place in a template; None if it is not a whole number."""
        # Templates have whole numbers of at most 18 digits.
        between = not float(self.low).is_integer() or not float(self.high).is_integer()
        if not self.whole or between or self.high - self.low < 1 or max(abs(self.low), abs(self.high)) >= 1e17:
            return None
        return f"${{random.int({int(self.low)}, {int(self.high) - 1})}}"


@dataclass(frozen=True)
class Function:
    """A function of the script."""

    node: Node
    environment: Environment


@dataclass(frozen=True)
class File:
    """A file that the script opens."""

    path: str
    text: str | None


@dataclass(frozen=True)
class Namespace:
    """An object of k6 or JavaScript, by its name: `http`, `Math`, `http.get`."""

    name: str


@dataclass(frozen=True)
class Unknown:
    """A value that is not known, with the reason for the note."""

    why: str = "is not understood"


class Writer:
    """Writes values as templates, and adds the extractions that they need.

    Parameters
    ----------
    draft : Draft
        Draft, to which columns of pools are added.
    """

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.variables: dict[tuple[int, str, str], str] = {}
        # Name of the variable of the script in the current assignment.
        self.hint = ""

    def text(self, value: Any) -> str | None:  # noqa: PLR0911 - one line per kind of value
        """Return a value as a template; None if there is no counterpart."""
        if isinstance(value, Text):
            return value.template
        if isinstance(value, Random):
            return value.template()
        if isinstance(value, Json):
            written = self.json(value.value)
            return None if written is None else json.dumps(written[0], ensure_ascii=False)
        if isinstance(value, Part):
            return self.extracted(value)
        if isinstance(value, Row) and value.table.plain:
            return f"${{{value.table.pool}.value}}"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        if isinstance(value, str):
            return literal(value)
        return str(value) if isinstance(value, int | float) else None

    def json(self, value: Any) -> tuple[Any] | None:
        """Return a value inside a JSON body, in a tuple as null is a value; None if there is no counterpart."""
        if isinstance(value, dict):
            fields = {key: self.json(inner) for key, inner in value.items()}
            return None if None in fields.values() else ({key: each[0] for key, each in fields.items() if each},)
        if isinstance(value, list):
            items = [self.json(inner) for inner in value]
            return None if None in items else ([each[0] for each in items if each],)
        if value is None or isinstance(value, bool | int | float):
            return (value,)
        text = self.text(value)
        return None if text is None else (text,)

    def extracted(self, part: Part) -> str | None:
        """Return the variable with a part of an answer; add its extraction if it is new."""
        key = (id(part.step), part.kind, part.path)
        if key not in self.variables:
            spec = self._extraction(part)
            if spec is None:
                return None
            last = re.findall(r"[A-Za-z]\w*", part.path)
            name = identifier(self.hint or (last[-1] if last else part.kind), "value")
            self.variables[key] = unique(name, self.variables.values())
            part.step.setdefault("extract", {})[self.variables[key]] = spec
        return f"${{{self.variables[key]}}}"

    @staticmethod
    def _extraction(part: Part) -> Any:
        if part.kind == "json":
            return part.path
        if part.kind == "header":
            return {"header": part.path}
        if part.kind == "json_length":
            return {"json": f"{part.path}[*]", "pick": "count"}
        return {"regex": "(?s).+"} if part.kind == "body" else {"status": True} if part.kind == "status" else None

    def column(self, row: Row, name: str) -> Text | None:
        """Return a column of a row."""
        table = row.table
        if name not in table.names:
            if not table.open:
                return None
            column = unique(identifier(name, "column"), table.columns)
            table.names[name] = column
            table.columns.append(column)
            pool = self.draft.data[table.pool]
            pool["columns"] = list(table.columns)
            pool["rows"] = [[f"change-me-{each}" for each in table.columns]]
        return Text(f"${{{table.pool}.{table.names[name]}}}")

    def table(self, name: str, rows: list[Any], at_most: int) -> Table | None:
        """Make a pool of a list of texts, or of mappings of texts; return None of other lists."""
        if not rows:
            return None
        pool = unique(identifier(name, "data"), self.draft.data)
        kept = rows[:at_most]
        if all(isinstance(row, str | int | float) and not isinstance(row, bool) for row in kept):
            table = Table(pool, ["value"], len(rows), plain=True)
            written = [[literal_text(row)] for row in kept]
        elif all(isinstance(row, dict) for row in kept):
            keys = list(dict.fromkeys(key for row in kept for key in row))
            names: dict[str, str] = {}
            for key in keys:
                names[key] = unique(identifier(key, "column"), names.values())
            table = Table(pool, list(names.values()), len(rows), names=names)
            written = [[literal_text(row.get(key, "")) for key in keys] for row in kept]
        else:
            return None
        self.draft.data[pool] = {"columns": table.columns, "rows": written}
        return table


def literal_text(value: Any) -> str:
    """Return a value in the form of a row of data, which has no places."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return json.dumps(value)
