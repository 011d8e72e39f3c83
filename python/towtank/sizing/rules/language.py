"""Parses the language of rules: arithmetic, comparisons and a few functions of named inputs.

    expression  a or b, a and b, not a, a < b (<= > >= == !=), a + b, a - b, a * b, a / b, -a, a ^ b, (a)
    function    min max floor ceil round sqrt log exp abs if(condition, then, else)
    number      12, 0.75, 1e6, with a unit behind it: 3 KiB, 400 B, 70 %, 120 s
    name        an input or a step of the rule

A formula is parsed into a tree. `checking_units` checks the units in the tree. `working` evaluates the tree, and
renders it with numbers instead of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from towtank.sizing.rules.quantities import LITERAL_UNITS, Dimension, literal
from towtank.spelling import did_you_mean

# Bounds of a formula. They limit the time and the stack depth for an untrusted rule file. Shipped formulas have about
# fifty characters.
CHARACTERS_AT_MOST = 1000
TOKENS_AT_MOST = 200
DEPTH_AT_MOST = 30

# Functions that formulas may call, each with its smallest and largest number of arguments.
FUNCTIONS = {
    "min": (2, 20),
    "max": (2, 20),
    "floor": (1, 1),
    "ceil": (1, 1),
    "round": (1, 1),
    "sqrt": (1, 1),
    "log": (1, 1),
    "exp": (1, 1),
    "abs": (1, 1),
    "if": (3, 3),
}
_WORDS = frozenset({"and", "or", "not", "true", "false"})
RESERVED = _WORDS | frozenset(FUNCTIONS)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d{1,2})?)|(?P<name>[A-Za-zµ_][A-Za-z0-9_]*)|(?P<sign><=|>=|==|!=|[-+*/^()<>,%]))"
)
_LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"or"}),
    frozenset({"and"}),
    frozenset({"<", "<=", ">", ">=", "==", "!="}),
    frozenset({"+", "-"}),
    frozenset({"*", "/"}),
)
_COMPARISONS = 2
_UNARY = 5


class FormulaError(ValueError):
    """Error in the text of a formula; `position` is the index of the character at fault."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


@dataclass(frozen=True)
class Literal:
    """Number in base units, with the text as written in the formula."""

    value: float
    dimension: Dimension
    text: str
    position: int


@dataclass(frozen=True)
class Truth:
    """Truth value in a formula: `true` or `false`."""

    value: bool
    position: int


@dataclass(frozen=True)
class Name:
    """Name of an input or a step in a formula."""

    name: str
    position: int


@dataclass(frozen=True)
class Unary:
    """Negation in a formula: `-a` or `not a`."""

    operator: str
    operand: Tree
    position: int


@dataclass(frozen=True)
class Binary:
    """Binary operator with two operands."""

    operator: str
    left: Tree
    right: Tree
    position: int


@dataclass(frozen=True)
class Call:
    """Call of a function in a formula."""

    function: str
    arguments: tuple[Tree, ...]
    position: int


Tree = Literal | Truth | Name | Unary | Binary | Call


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    position: int


def parse(text: str) -> Tree:
    """Parse a formula.

    Raises
    ------
    FormulaError
        If the text is not a formula; contains the position of the fault.

    Examples
    --------
    >>> parse("0.75 * users").operator
    '*'
    """
    if len(text) > CHARACTERS_AT_MOST:
        raise FormulaError(f"must have at most {CHARACTERS_AT_MOST} characters, got {len(text)}", 0)
    tokens = list(_tokens(text))
    if len(tokens) > TOKENS_AT_MOST:
        message = f"must have at most {TOKENS_AT_MOST} numbers, names and signs, got {len(tokens)}"
        raise FormulaError(message, tokens[TOKENS_AT_MOST].position)
    parser = _Parser(tokens, text)
    tree = parser.expression(0, 0)
    parser.expect_end()
    return tree


def names(tree: Tree) -> list[str]:
    """Return the names that a formula uses, in order of appearance and without repetitions."""
    return list(dict.fromkeys(leaf.name for leaf in leaves(tree)))


def leaves(tree: Tree) -> Iterator[Name]:
    """Yield the nodes of a formula's tree that are names."""
    if isinstance(tree, Name):
        yield tree
    parts: tuple[Tree, ...] = ()
    if isinstance(tree, Unary):
        parts = (tree.operand,)
    elif isinstance(tree, Binary):
        parts = (tree.left, tree.right)
    elif isinstance(tree, Call):
        parts = tree.arguments
    for part in parts:
        yield from leaves(part)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            place = at + len(text[at:]) - len(text[at:].lstrip())
            raise FormulaError(f"must have numbers, names, operators and functions only, got {text[place]!r}", place)
        kind = str(match.lastgroup)
        yield _Token(kind, match[kind], match.start(kind))
        at = match.end()


class _Parser:
    """Parser of formulas by operator precedence. Each set of operators in `_LEVELS` is one level of precedence."""

    def __init__(self, tokens: list[_Token], text: str) -> None:
        self._tokens = tokens
        self._text = text
        self._at = 0

    def _peek(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self, what: str) -> _Token:
        token = self._peek()
        if token is None:
            raise FormulaError(f"must continue with {what}, got the end of the formula instead", len(self._text))
        self._at += 1
        return token

    def _require(self, sign: str) -> None:
        token = self._take(f"{sign!r}")
        if token.text != sign:
            raise FormulaError(f"must continue with {sign!r}, got {token.text!r} instead", token.position)

    def expect_end(self) -> None:
        """Raise an error if text remains after the formula."""
        token = self._peek()
        if token is not None:
            raise FormulaError(f"must continue with an operator or end, got {token.text!r} instead", token.position)

    def expression(self, level: int, depth: int) -> Tree:
        """Parse operands joined by the operators of one precedence level. Operators of higher levels bind more
        tightly.
        """
        if depth > DEPTH_AT_MOST:
            token = self._peek()
            raise FormulaError(f"must be nested at most {DEPTH_AT_MOST} deep", token.position if token else 0)
        if level == _UNARY:
            return self._unary(depth)
        left = self._unary(depth) if level == _COMPARISONS and self._is("not") else self.expression(level + 1, depth)
        compared = False
        while (token := self._peek()) is not None and token.text in _LEVELS[level]:
            if level == _COMPARISONS and compared:
                raise FormulaError("must compare two values at a time; join comparisons with 'and'", token.position)
            compared = True
            self._at += 1
            left = Binary(token.text, left, self.expression(level + 1, depth + 1), token.position)
        return left

    def _is(self, text: str) -> bool:
        token = self._peek()
        return token is not None and token.text == text

    def _unary(self, depth: int) -> Tree:
        token = self._peek()
        if token is not None and token.text == "not":
            self._at += 1
            return Unary("not", self.expression(_COMPARISONS, depth + 1), token.position)
        if token is not None and token.text == "-":
            self._at += 1
            return Unary("-", self.expression(_UNARY, depth + 1), token.position)
        base = self._atom(depth)
        token = self._peek()
        if token is not None and token.text == "^":
            self._at += 1
            return Binary("^", base, self.expression(_UNARY, depth + 1), token.position)
        return base

    def _atom(self, depth: int) -> Tree:
        token = self._take("a number, a name or '('")
        if token.kind == "number":
            return self._literal(token)
        if token.text == "(":
            inside = self.expression(0, depth + 1)
            self._require(")")
            return inside
        if token.kind != "name":
            raise FormulaError(
                f"must continue with a number, a name or '(', got {token.text!r} instead", token.position
            )
        if token.text in {"true", "false"}:
            return Truth(token.text == "true", token.position)
        if self._is("("):
            return self._call(token, depth)
        if token.text in RESERVED:
            raise FormulaError(f"must be a name, got the word {token.text!r} of the language", token.position)
        return Name(token.text, token.position)

    def _literal(self, token: _Token) -> Literal:
        following, unit = self._peek(), None
        if following is not None and following.text in LITERAL_UNITS:
            self._at += 1
            unit = following.text
        elif following is not None and following.kind == "name" and following.text not in _WORDS:
            near = did_you_mean(following.text, sorted(LITERAL_UNITS))
            message = f"must have an operator or a unit behind a number, got {following.text!r} instead{near}"
            raise FormulaError(message, following.position)
        value, dimension = literal(token.text, unit)
        written = token.text if unit is None else f"{token.text} {unit}"
        return Literal(value, dimension, written, token.position)

    def _call(self, token: _Token, depth: int) -> Call:
        if token.text not in FUNCTIONS:
            near = did_you_mean(token.text, list(FUNCTIONS))
            known = ", ".join(FUNCTIONS)
            raise FormulaError(f"must be a function among {known}, got {token.text!r}{near}", token.position)
        self._require("(")
        arguments = [self.expression(0, depth + 1)]
        while self._is(","):
            self._at += 1
            arguments.append(self.expression(0, depth + 1))
        self._require(")")
        least, most = FUNCTIONS[token.text]
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"at least {least}"
            message = f"must give {token.text} {wanted} argument(s), got {len(arguments)}"
            raise FormulaError(message, token.position)
        return Call(token.text, tuple(arguments), token.position)
