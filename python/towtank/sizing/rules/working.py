"""Evaluates formulas, and renders them with numbers instead of names."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

from towtank.errors import ModelError
from towtank.sizing.rules.language import Binary, Call, Literal, Name, Tree, Truth, Unary

Value = float | bool

_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": operator.pow,
}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "min": min,
    "max": max,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "sqrt": math.sqrt,
    "log": math.log,
    "exp": math.exp,
    "abs": abs,
}
# Relative tolerance of comparisons, floor and ceil. It is needed because decimal fractions such as 0.7 are rounded in
# binary. [ratio]
_RELATIVE = 1e-12


def work_out(tree: Tree, values: Mapping[str, Value]) -> Value:
    """Evaluate a formula.

    The values of the names are in base units.

    Raises
    ------
    ModelError
        If the formula has no value: division by zero, root of a negative number, or overflow.

    Examples
    --------
    >>> from towtank.sizing.rules.language import parse
    >>> work_out(parse("if(a > 2, a ^ 2, 0)"), {"a": 3.0})
    9.0
    """
    try:
        found = _value(tree, values)
    except (ZeroDivisionError, OverflowError, ValueError) as error:
        raise ModelError(f"{written(tree)} has no answer with these numbers: {error}") from None
    if isinstance(found, complex) or not math.isfinite(found):
        raise ModelError(f"{written(tree)} has no answer with these numbers: it is {found}")
    return found


def _value(tree: Tree, values: Mapping[str, Value]) -> Value:
    if isinstance(tree, Literal | Truth):
        return tree.value
    if isinstance(tree, Name):
        return values[tree.name]
    if isinstance(tree, Unary):
        inside = _value(tree.operand, values)
        return not inside if tree.operator == "not" else -inside
    if isinstance(tree, Binary):
        return _binary(tree, values)
    return _call(tree, values)


def _binary(tree: Binary, values: Mapping[str, Value]) -> Value:
    left = _value(tree.left, values)
    if tree.operator == "and":
        return bool(left) and bool(_value(tree.right, values))
    if tree.operator == "or":
        return bool(left) or bool(_value(tree.right, values))
    right = _value(tree.right, values)
    if tree.operator in _COMPARISONS:
        if math.isclose(left, right, rel_tol=_RELATIVE):
            return tree.operator in {"<=", ">=", "=="}
        return _COMPARISONS[tree.operator](left, right)
    found = _ARITHMETIC[tree.operator](left, right)
    if isinstance(found, complex):
        raise ValueError("the root of a negative number")
    return found


def _call(tree: Call, values: Mapping[str, Value]) -> Value:
    if tree.function == "if":
        condition, then, other = tree.arguments
        return _value(then if _value(condition, values) else other, values)
    found = [_value(argument, values) for argument in tree.arguments]
    if tree.function in {"floor", "ceil"} and math.isclose(found[0], round(found[0]), rel_tol=_RELATIVE):
        return float(round(found[0]))
    return float(_FUNCTIONS[tree.function](*found))


_STRENGTH = {"or": 0, "and": 1, "<": 2, "<=": 2, ">": 2, ">=": 2, "==": 2, "!=": 2, "+": 3, "-": 3, "*": 4, "/": 4}
_UNARY, _POWER, _ATOM = 5, 6, 7


def written(tree: Tree, texts: Mapping[str, str] | None = None) -> str:
    """Render a formula. Names are replaced by the texts in `texts`, which are numbers with units.

    Examples
    --------
    >>> from towtank.sizing.rules.language import parse
    >>> written(parse("(a + 3 KiB) * b"), {"a": "8 GiB", "b": "2"})
    '(8 GiB + 3 KiB) * 2'
    """
    return _written(tree, texts or {})[0]


def _written(tree: Tree, texts: Mapping[str, str]) -> tuple[str, int]:
    """Return the text of the tree of a formula, and the precedence of its outermost operator."""
    if isinstance(tree, Literal):
        return tree.text, _ATOM
    if isinstance(tree, Truth):
        return str(tree.value).lower(), _ATOM
    if isinstance(tree, Name):
        text = texts.get(tree.name, tree.name)
        return text, _UNARY if text.startswith("-") else _ATOM
    if isinstance(tree, Call):
        return f"{tree.function}({', '.join(written(argument, texts) for argument in tree.arguments)})", _ATOM
    return _written_operator(tree, texts)


def _written_operator(tree: Unary | Binary, texts: Mapping[str, str]) -> tuple[str, int]:
    if isinstance(tree, Unary) and tree.operator == "not":
        return f"not {_inside(tree.operand, texts, _STRENGTH['<'])}", _STRENGTH["and"]
    if isinstance(tree, Unary):
        return f"-{_inside(tree.operand, texts, _UNARY)}", _UNARY
    strength = _POWER if tree.operator == "^" else _STRENGTH[tree.operator]
    # In a - (b - c) and a / (b / c), the right operand keeps its parentheses. The base of a power keeps its parentheses
    # too.
    left = _inside(tree.left, texts, strength + (tree.operator == "^"))
    right = _inside(tree.right, texts, strength + (tree.operator != "^"))
    return f"{left} {tree.operator} {right}", strength


def _inside(tree: Tree, texts: Mapping[str, str], least: int) -> str:
    text, strength = _written(tree, texts)
    return text if strength >= least else f"({text})"
