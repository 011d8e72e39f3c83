"""Checks the units of formulas: the operands of sums and comparisons must have equal dimensions, and arguments must fit
functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from towtank.sizing.rules.language import Binary, Call, FormulaError, Literal, Name, Tree, Truth, Unary
from towtank.sizing.rules.quantities import NUMBER, Dimension, combined, dimension_text

# Dimension of a formula's result; None if the result is yes or no.
Kind = Dimension | None
_TRUTH: Kind = None


def dimension_of(tree: Tree, kinds: Mapping[str, Kind]) -> Kind:
    """Return the dimension of a formula's result; None if the result is yes or no.

    `kinds` has the dimension of every name; None for yes or no.

    Raises
    ------
    FormulaError
        If the units do not match.
    """
    if isinstance(tree, Literal):
        return tree.dimension
    if isinstance(tree, Truth):
        return _TRUTH
    if isinstance(tree, Name):
        return kinds[tree.name]
    if isinstance(tree, Unary):
        return _of_unary(tree, kinds)
    if isinstance(tree, Call):
        return _of_call(tree, kinds)
    return _of_binary(tree, kinds)


def _of_unary(tree: Unary, kinds: Mapping[str, Kind]) -> Kind:
    if tree.operator == "not":
        _require_truth(tree.operand, kinds)
        return _TRUTH
    return _require_number(tree.operand, kinds)


def _of_binary(tree: Binary, kinds: Mapping[str, Kind]) -> Kind:
    if tree.operator in {"and", "or"}:
        _require_truth(tree.left, kinds)
        _require_truth(tree.right, kinds)
        return _TRUTH
    if tree.operator in {"==", "!="} and dimension_of(tree.left, kinds) is None:
        _require_truth(tree.right, kinds)
        return _TRUTH
    left, right = _require_number(tree.left, kinds), _require_number(tree.right, kinds)
    if tree.operator == "*":
        return combined(left, right)
    if tree.operator == "/":
        return combined(left, right, -1)
    if tree.operator == "^":
        return _of_power(tree, left, right)
    same = _same(tree.left, left, tree.right, right, tree.position)
    return same if tree.operator in {"+", "-"} else _TRUTH


def _of_power(tree: Binary, left: Dimension, right: Dimension) -> Dimension:
    if right != NUMBER:
        raise FormulaError(f"must have a plain number as exponent, got {dimension_text(right)}", tree.position)
    if left == NUMBER:
        return NUMBER
    if not isinstance(tree.right, Literal):
        raise FormulaError("must have a literal number as exponent of a quantity with a unit", tree.position)
    return combined(NUMBER, left, Fraction(tree.right.value).limit_denominator(1000))


def _of_call(tree: Call, kinds: Mapping[str, Kind]) -> Kind:
    if tree.function == "if":
        _require_truth(tree.arguments[0], kinds)
        then, other = tree.arguments[1:]
        if dimension_of(then, kinds) is None:
            _require_truth(other, kinds)
            return _TRUTH
        return _same(then, _require_number(then, kinds), other, _require_number(other, kinds), tree.position)
    found = [_require_number(argument, kinds) for argument in tree.arguments]
    if tree.function in {"min", "max"}:
        same = found[0]
        for dimension, argument in zip(found[1:], tree.arguments[1:], strict=True):
            same = _same(tree.arguments[0], same, argument, dimension, tree.position)
        return same
    if tree.function == "abs":
        return found[0]
    if tree.function == "sqrt":
        return combined(NUMBER, found[0], Fraction(1, 2))
    if found[0] != NUMBER:
        message = f"must give {tree.function} a plain number (divide by a unit first), got {dimension_text(found[0])}"
        raise FormulaError(message, tree.position)
    return NUMBER


def _same(one: Tree, of_one: Dimension, other: Tree, of_other: Dimension, position: int) -> Dimension:
    """Return the common dimension of two operands.

    A literal zero takes the dimension of the other operand.
    """
    if of_one == of_other or _is_zero(other):
        return of_one
    if _is_zero(one):
        return of_other
    message = f"must have the same unit on both sides, got {dimension_text(of_one)} and {dimension_text(of_other)}"
    raise FormulaError(message, position)


def _is_zero(tree: Tree) -> bool:
    return isinstance(tree, Literal) and tree.value == 0 and tree.dimension == NUMBER


def _require_number(tree: Tree, kinds: Mapping[str, Kind]) -> Dimension:
    found = dimension_of(tree, kinds)
    if found is None:
        raise FormulaError("must be a number here, got a yes or no", tree.position)
    return found


def _require_truth(tree: Tree, kinds: Mapping[str, Kind]) -> None:
    if dimension_of(tree, kinds) is not None:
        raise FormulaError("must be a yes or no here, as a comparison, got a number", tree.position)
