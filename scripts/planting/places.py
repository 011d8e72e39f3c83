"""Lists the faults that can be planted in Python code; each fault replaces one expression."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}
_EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
_PATHS = ("path", "folder", "MANIFEST")
# Code in which no faults are planted, because it computes no numbers: raised errors, assertions, formatted strings.
_LEFT_OUT = (ast.Raise, ast.Assert, ast.JoinedStr)


@dataclass(frozen=True)
class Place:
    """Fault that can replace one expression.

    Attributes
    ----------
    path : str
        File, relative to the package.
    line, end_line : int
        First and last line of the expression, from 1.
    start, end : int
        Offset of the expression's first byte in `line`, and of the byte after the expression in `end_line`. [bytes]
    scope : str
        Dotted name of the function or class that contains the expression; empty at module level.
    was, planted : str
        Text of the expression, without line breaks, and the text that replaces it.
    """

    path: str
    line: int
    end_line: int
    start: int
    end: int
    scope: str
    was: str
    planted: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.was}  ->  {self.planted}"

    def planted_in(self, text: str) -> str:
        """Return `text`, the content of the file, with this fault planted."""
        lines = text.encode().splitlines(keepends=True)
        before = b"".join(lines[: self.line - 1]) + lines[self.line - 1][: self.start]
        after = lines[self.end_line - 1][self.end :] + b"".join(lines[self.end_line :])
        return (before + self.planted.encode() + after).decode()


def is_text(node: ast.expr) -> bool:
    """Return True if an operand is a string or a path, so that `+`, `%` or `/` is no arithmetic."""
    if isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        return name.endswith(_PATHS)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def faults(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the faulty expressions that can replace an expression."""
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[index] = _COMPARISONS[type(operator)]()
            yield other
    elif (
        isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC and not (is_text(node.left) or is_text(node.right))
    ):
        yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield ast.Call(ast.Name("bool"), [node.operand], [])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand
    elif isinstance(node, ast.Call):
        yield from _other_extreme(node)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(node.value + 1 if isinstance(node.value, int) else node.value * 1.5 or 0.5)


def _other_extreme(node: ast.Call) -> Iterator[ast.expr]:
    if isinstance(node.func, ast.Name) and node.func.id in _EXTREMES:
        yield ast.Call(ast.Name(_EXTREMES[node.func.id]), node.args, node.keywords)
    elif isinstance(node.func, ast.Attribute) and node.func.attr in _EXTREMES:
        yield ast.Call(ast.Attribute(node.func.value, _EXTREMES[node.func.attr]), node.args, node.keywords)


def places(path: Path, package: Path) -> list[Place]:
    """Return every fault that can be planted in one file, in the order of the file."""
    found: list[Place] = []
    _walk(ast.parse(path.read_text("utf-8")), "", str(path.relative_to(package)), found)
    return found


def _walk(node: ast.AST, scope: str, path: str, found: list[Place]) -> None:
    if isinstance(node, _LEFT_OUT):
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        scope = f"{scope}.{node.name}".lstrip(".")
    if isinstance(node, ast.expr) and node.end_lineno is not None and node.end_col_offset is not None:
        for fault in faults(node):
            planted = f"({ast.unparse(fault)})"
            span = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
            found.append(Place(path, *span, scope, ast.unparse(node), planted))
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                _walk(child, scope, path, found)
