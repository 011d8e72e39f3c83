"""Defines classes for the values of expressions in a script that Python values cannot represent.

Texts, numbers, lists and mappings that are known before the run are Python values. The classes represent texts with
placeholders, responses and their parts, rows of data, random numbers, functions, and unknown values.
"""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tree_sitter import Node

from towtank.workload.importers.draft import DraftPool, ImportDraft, Step, identifier, literal, unique

_NAME = re.compile(r"[A-Za-z_$][\w$]*")
# Values of names in each scope, with the innermost scope first.
Environment = ChainMap[str, Any]


@dataclass(frozen=True)
class Text:
    """Text with placeholders, in the form of a template. `number` is True if the text stands for a number of the
    script.
    """

    template: str
    number: bool = False


@dataclass(frozen=True)
class JsonText:
    """Value that the script converts to a JSON text."""

    value: Any


@dataclass(frozen=True)
class Answer:
    """Response to a request."""

    step: Step


@dataclass(frozen=True)
class Checked:
    """Result of a call `check(...)`, which is True if the checks of the responses passed. `steps` are the checked
    requests; with `prompt`, each response is tested before any further step.
    """

    steps: tuple[Step, ...]
    prompt: bool = True


@dataclass(frozen=True)
class Part:
    """Part of a response: its headers, one header, its body, or a value in its JSON body by path."""

    step: Step
    kind: str
    path: str = "$"

    def member(self, name: str | int) -> Part | None:
        """Return a member of this part of a response; None if the member cannot be extracted."""
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
    """Data pool of a workload. If its data file does not exist, the pool gets the columns that the script reads."""

    pool: str
    columns: list[str]
    length: int
    plain: bool = False
    open: bool = False
    names: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """Row that was read from a data pool, with the name by which templates refer to it."""

    table: Table
    name: str


@dataclass(frozen=True)
class Random:
    """Random number in [`low`, `high`); with `whole`, rounded down to an integer. `draw` is the index of the random
    number in [0, 1) from which it is computed; numbers that are computed from the same one have the same index.
    """

    low: float
    high: float
    whole: bool = False
    draw: int = field(default_factory=count().__next__, compare=False)

    def template(self) -> str | None:
        """Return the template placeholder for the random number; None if templates cannot represent it."""
        # Templates support random integers whose bounds are integers of at most 18 digits.
        between = not float(self.low).is_integer() or not float(self.high).is_integer()
        if not self.whole or between or self.high - self.low < 1 or max(abs(self.low), abs(self.high)) >= 1e17:
            return None
        return f"${{random.int({int(self.low)}, {int(self.high) - 1})}}"


@dataclass(frozen=True)
class Function:
    """JavaScript function of the script, with the scope in which it was defined."""

    node: Node
    environment: Environment


@dataclass(frozen=True)
class File:
    """File that the script opens; `text` is None if it cannot be read."""

    path: str
    text: str | None


@dataclass(frozen=True)
class FilePart:
    """File of a multipart body, as created by `http.file`: content, file name, and media type."""

    content: Any
    name: Any = None
    media: Any = None


@dataclass(frozen=True)
class Namespace:
    """Built-in object or function of k6 or JavaScript by name, such as `http`, `Math` or `http.get`."""

    name: str


@dataclass(frozen=True)
class Unknown:
    """Value that is not known before the run, with the reason for notes."""

    why: str = "is not understood"


class Writer:
    """Converts values to templates, and adds the extractions to which these templates refer."""

    def __init__(self, draft: ImportDraft) -> None:
        self.draft = draft
        self.variables: dict[tuple[int, str, str], str] = {}
        # Function that returns a template for a random number. A step of the workload generates the number.
        self.random: Callable[[Random], str | None] = Random.template
        # Script variable to which a value is being assigned. If the value is extracted, the extraction uses the name of
        # this variable.
        self.hint = ""

    def text(self, value: Any) -> str | None:  # noqa: PLR0911 - one line per kind of value
        """Return a value as a template; None if a template cannot represent it."""
        if isinstance(value, Text):
            return value.template
        if isinstance(value, Random):
            return self.random(value)
        if isinstance(value, JsonText):
            written = self.json(value.value)
            return None if written is None else json.dumps(written[0], ensure_ascii=False)
        if isinstance(value, Part):
            return self.extracted(value)
        if isinstance(value, Row) and value.table.plain:
            return f"${{{value.name}.value}}"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        if isinstance(value, str):
            return literal(value)
        return str(value) if isinstance(value, int | float) else None

    def json(self, value: Any) -> tuple[Any] | None:
        """Return a value for a JSON body as the only element of a tuple; None if a JSON body cannot represent it.

        The tuple distinguishes the JSON value null from None.
        """
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
        """Return the placeholder for a part of a response.

        For a new part, an extraction into a new variable is added to the step.
        """
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
        """Return a placeholder for a column of a row; None if the column does not exist."""
        table = row.table
        if name not in table.names:
            if not table.open:
                return None
            column = unique(identifier(name, "column"), table.columns)
            table.names[name] = column
            table.columns.append(column)
            pool = self.draft.data[table.pool]
            pool.columns = list(table.columns)
            pool.rows = [[f"change-me-{each}" for each in table.columns]]
        return Text(f"${{{row.name}.{table.names[name]}}}")

    def table(self, name: str, rows: list[Any], at_most: int) -> Table | None:
        """Create a pool from a list of texts or of mappings of texts; return None if the list is empty or has other
        items.
        """
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
        self.draft.data[pool] = DraftPool(columns=table.columns, rows=written)
        return table


def literal_text(value: Any) -> str:
    """Return a value as text for a row of a data pool, in which templates are not evaluated."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return json.dumps(value)
