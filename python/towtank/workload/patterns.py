"""Checks that a regular expression has the same meaning in Python and in the engine.

The engine uses the Rust crate `regex`, which matches in linear time, supports neither look-around nor back-references,
and differs from Python in some syntax. Only syntax with the same meaning in both is accepted. Other syntax is reported
with its position when the file is checked, so that the engine need not reject the pattern at the start of the load.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field

# Letters that may follow a backslash, outside (`_ESCAPES`) and inside a character class. All other letters have a
# different meaning or none in the engine.
_ESCAPES = frozenset("dDwWsSbBAntrfva")
_CLASS_ESCAPES = frozenset("dDwWsSntrfva")
_CODE = re.compile(r"x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}")
_COUNTED = re.compile(r"\{([0-9]{1,6})(,([0-9]{0,6}))?\}")
_GROUP = re.compile(r"\(\?(?::|P<[A-Za-z_][A-Za-z0-9_]*>|(?P<flags>[imsu]*)(?:-[ims]+)?[:)])")
_LOOKING = re.compile(r"\(\?(?:=|!|<=|<!|P=|\()")
_SET_OPERATIONS = ("&&", "--", "~~")
_SURROGATES = range(0xD800, 0xE000)
_LAST_CHARACTER = 0x10FFFF
# Largest size of a regular expression with its counts expanded, where an ASCII character has size 1. At twice this
# size, the engine reaches its limit of 10 MiB. The sizes of character classes were measured by this limit: the engine
# accepts `\w{200}`, `\d{2000}`, `[^"]{10000}` and `a{100000}`.
_SIZE_AT_MOST = 50_000
# Sizes of `\w`, of `\d`, of `\s`, `.` and negated classes, and of a class with a character outside ASCII.
_LETTERS_SIZE = 400
_DIGITS_SIZE = 40
_OTHERS_SIZE = 8
_FAR_SIZE = 20
# Factor by which the size of a letter grows if case is ignored, because the letter then matches several
# characters. [1]
_CASELESS = 5
# Largest nesting depth of groups. [1]
_DEPTH_AT_MOST = 100


@dataclass
class _Level:
    """Size of an open group of a regular expression.

    `last` is the size of the last atom of the group, which a count may still multiply. `before` is the total size of
    all earlier atoms.
    """

    before: int = 0
    last: int = 0


@dataclass
class _Reader:
    pattern: str
    at: int = 0
    levels: list[_Level] = field(default_factory=lambda: [_Level()])
    factor: int = 1

    def wrong(self, message: str) -> ValueError:
        return ValueError(f"{message}, got an error at position {self.at + 1} of {self.pattern[:200]!r}")

    def read(self) -> None:
        while self.at < len(self.pattern):
            self._piece(self.pattern[self.at])

    def _piece(self, sign: str) -> None:
        if sign == "\\":
            self._put(self._escape(_ESCAPES))
        elif sign == "[":
            self._put(self._class())
        elif sign == "(":
            self._open()
        elif sign == ")":
            self.at += 1
            inner = self.levels.pop()
            self._put(inner.before + inner.last)
        elif sign == "{":
            self._count()
        elif sign in "*+?":
            self._repeat()
        else:
            self.at += 1
            self._put(_OTHERS_SIZE if sign == "." else 1 if sign.isascii() else 2)

    def _put(self, size: int) -> None:
        """Add the size of an atom of the regular expression.

        Raises ValueError if the total exceeds `_SIZE_AT_MOST`, because the memory of the engine is limited.
        """
        level = self.levels[-1]
        level.before, level.last = level.before + level.last, size
        if self.factor * sum(each.before + each.last for each in self.levels) > _SIZE_AT_MOST:
            raise ValueError(
                f"must be a regular expression of a moderate size, got one whose counts make it too large for the "
                f"engine: {self.pattern[:200]!r}"
            )

    def _escape(self, letters: frozenset[str]) -> int:
        """Read an escape sequence in a regular expression, and return the size of the characters that it matches."""
        sign = self.pattern[self.at + 1]
        code = _CODE.match(self.pattern, self.at + 1)
        if code is not None:
            number = int(code.group()[1:], 16)
            if number in _SURROGATES or number > _LAST_CHARACTER:
                raise self.wrong("must be the code of an existing character")
            self.at = code.end()
            return 1 if number < 0x80 else _OTHERS_SIZE
        if sign in "123456789" and letters is _ESCAPES:
            raise self.wrong("must be a regular expression without look-around and back-references")
        if sign in "<>":
            raise self.wrong(f"must write {sign} without a backslash")
        if not (sign in letters or (sign.isascii() and not sign.isalnum())):
            raise self.wrong(f"must be a regular expression without \\{sign}")
        self.at += 2
        return {"w": _LETTERS_SIZE, "d": _DIGITS_SIZE, "s": _OTHERS_SIZE}.get(sign.lower(), 1)

    def _class(self) -> int:
        """Read a character class of a regular expression.

        In a class, the engine reads `[` as a nested class and doubled signs such as `&&` as operators, so both are
        refused.
        """
        self.at += 1
        size, first, least = 0, True, 1
        if self.pattern.startswith("^", self.at):
            self.at += 1
            least = _OTHERS_SIZE
        while first or self.pattern[self.at] != "]":
            first = False
            sign = self.pattern[self.at]
            if sign == "\\":
                size = max(size, self._escape(_CLASS_ESCAPES))
                continue
            if sign == "[":
                raise self.wrong("must write \\[ for a bracket inside brackets")
            if self.pattern.startswith(_SET_OPERATIONS, self.at):
                raise self.wrong(f"must write \\{sign} if the sign occurs twice inside brackets")
            size = max(size, 1 if sign.isascii() else _FAR_SIZE)
            self.at += 1
        self.at += 1
        return max(size, least)

    def _open(self) -> None:
        if not self.pattern.startswith("(?", self.at):
            self.at += 1
        elif _LOOKING.match(self.pattern, self.at):
            raise self.wrong("must be a regular expression without look-around and back-references")
        elif (group := _GROUP.match(self.pattern, self.at)) is None:
            raise self.wrong("must be a regular expression with groups as (...), (?:...), (?P<name>...) and (?i)")
        else:
            self.at = group.end()
            if "i" in (group["flags"] or ""):
                self.factor = _CASELESS
            if group.group().endswith(")"):
                return
        self.levels.append(_Level())
        if len(self.levels) > _DEPTH_AT_MOST:
            raise self.wrong(f"must nest groups at most {_DEPTH_AT_MOST} deep")

    def _count(self) -> None:
        counted = _COUNTED.match(self.pattern, self.at)
        if counted is None:
            raise self.wrong("must write \\{ for a brace that is not part of a count such as {2} or {2,5}")
        most = int(counted.group(3) or counted.group(1))
        self.at = counted.end()
        self._repeated(most)

    def _repeat(self) -> None:
        self.at += 1
        self._repeated(1)

    def _repeated(self, times: int) -> None:
        level = self.levels[-1]
        size, level.last = level.last, 0
        self._put(max(1, size * times))
        if self.pattern.startswith("?", self.at):
            self.at += 1
        elif self.pattern.startswith("+", self.at):
            raise self.wrong("must be a regular expression without possessive counts")


def regex(pattern: str) -> str:
    """Return a regular expression after a check that it is valid and supported by the engine.

    Raises
    ------
    ValueError
        If the expression is invalid or not supported by the engine; the message gives the position.
    """
    try:
        with warnings.catch_warnings():
            # Python warns about possible nested sets. The warning is suppressed, because the check below refuses nested
            # sets with a clear message.
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"must be a regular expression, got {pattern[:200]!r} instead: {error}") from None
    _Reader(pattern).read()
    return pattern


def capturing_regex(pattern: str) -> str:
    """Return a regular expression that extracts a value, after a check that it has at most one group."""
    groups = re.compile(regex(pattern)).groups
    if groups > 1:
        raise ValueError(f"must have one group in parentheses at most (others as (?:...)), got {groups} in {pattern!r}")
    return pattern
