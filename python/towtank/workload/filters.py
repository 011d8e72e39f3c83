"""Parses LDAP filters in text form (RFC 4515) for the engine.

    filter  = "(" (("&" | "|") filter* | "!" filter | item) ")"
    item    = attribute ("=" | "~=" | ">=" | "<=") value
            | attribute "=*"
            | attribute "=" [value] "*" (value "*")* [value]
            | [attribute] [":dn"] [":" rule] ":=" value
    value   = text, placeholders `${...}`, and a backslash with two hexadecimal digits for ( ) * and the backslash

Placeholders are allowed only in values, so that the value of a variable never becomes part of the filter syntax.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from towtank.workload import templates

ATTRIBUTE = r"(?:[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+)(?:;[A-Za-z0-9-]+)*"
"""Pattern of the name or number of an LDAP attribute with its options (RFC 4512, section 2.5)."""
_ATTRIBUTE = re.compile(ATTRIBUTE)
_RULE = re.compile(r"[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+")
_TOKEN = re.compile(r"\$\$\{|\$\{[^}]*\}|.", re.DOTALL)
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]{2}")
_COMPARISONS = {"~": "approximate", ">": "greater_or_equal", "<": "less_or_equal"}
# Largest nesting depth of brackets in a filter. [1]
_DEEPEST = 30


@dataclass(frozen=True)
class Filter:
    """LDAP filter in the form of the engine's plan, which refers to the values by index. The values are templates."""

    plan: dict[str, object]
    values: list[str]


def parse(text: str, first: int = 0) -> Filter:
    """Parse an LDAP filter, whose first value has the index `first` among all values of the call.

    Raises
    ------
    ValueError
        If the filter is invalid.

    Examples
    --------
    >>> parse("(&(uid=${name})(mail=*))").plan
    {'and': [{'equal': {'attribute': 'uid', 'value': 0}}, {'present': 'mail'}]}
    """
    templates.check(text)
    reader = _Reader(text, first)
    plan = reader.filter(0)
    if reader.at != len(reader.tokens):
        raise reader.wrong("must be one filter in brackets")
    return Filter(plan, reader.values)


@dataclass
class _Reader:
    text: str
    first: int
    at: int = 0
    values: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tokens = _TOKEN.findall(self.text)

    def wrong(self, message: str) -> ValueError:
        return ValueError(f"{message}, such as (&(uid=ada)(mail=*)), got {self.text!r} instead")

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, token: str) -> None:
        if self.next != token:
            place = f"after {''.join(self.tokens[: self.at])!r}" if self.at else "at its beginning"
            raise self.wrong(f"must be a filter with {token} {place}")
        self.at += 1

    def filter(self, depth: int) -> dict[str, object]:
        if depth > _DEEPEST:
            raise ValueError(f"must be a filter with brackets nested at most {_DEEPEST} deep, got more")
        self.take("(")
        sign = self.next
        if sign in ("&", "|", "!"):
            self.at += 1
            plan = self._combined(sign, depth)
        else:
            plan = self._item()
        self.take(")")
        return plan

    def _combined(self, sign: str, depth: int) -> dict[str, object]:
        if sign == "!":
            return {"not": self.filter(depth + 1)}
        inside = []
        while self.next == "(":
            inside.append(self.filter(depth + 1))
        return {"and" if sign == "&" else "or": inside}

    def _until(self, ends: str) -> str:
        """Read literal text up to the first character that is in `ends`."""
        start = self.at
        while self.next and self.next not in ends:
            if self.next.startswith("${"):
                raise self.wrong("must have placeholders ${...} in values only")
            self.at += 1
        return "".join(self.tokens[start : self.at])

    def _item(self) -> dict[str, object]:
        left = self._until("=~<>()")
        if left.endswith(":") and self.next == "=":
            return {"extensible": self._rule(left[:-1])}
        if not _ATTRIBUTE.fullmatch(left):
            raise self.wrong("must be a filter with the name of an attribute before each comparison")
        kind = "equal"
        if self.next in _COMPARISONS:
            kind = _COMPARISONS[self.next]
            self.at += 1
        self.take("=")
        parts = self._parts()
        if kind == "equal" and len(parts) > 1:
            return self._with_stars(left, parts)
        if len(parts) > 1:
            raise self.wrong("must be a filter with * only in values that are compared with =")
        return {kind: {"attribute": left, "value": self._number(parts[0])}}

    def _with_stars(self, attribute: str, parts: list[str]) -> dict[str, object]:
        if parts == ["", ""]:
            return {"present": attribute}
        if "" in parts[1:-1]:
            raise self.wrong("must be a filter without two adjacent *")
        numbers = [self._number(part) if part else None for part in parts]
        return {
            "substrings": {"attribute": attribute, "initial": numbers[0], "any": numbers[1:-1], "final": numbers[-1]}
        }

    def _rule(self, left: str) -> dict[str, object]:
        attribute, *more = left.split(":")
        of_name = bool(more) and more[0].lower() == "dn"
        rules = more[1:] if of_name else more
        right = (not attribute or _ATTRIBUTE.fullmatch(attribute)) and all(_RULE.fullmatch(rule) for rule in rules)
        if not right or len(rules) > 1 or not (attribute or rules):
            raise self.wrong("must be a filter with an attribute or a rule before :=")
        self.take("=")
        parts = self._parts()
        if len(parts) > 1:
            raise self.wrong("must be a filter with * only in values that are compared with =")
        return {
            "rule": rules[0] if rules else None,
            "attribute": attribute or None,
            "of_name": of_name,
            "value": self._number(parts[0]),
        }

    def _number(self, value: str) -> int:
        self.values.append(value)
        return self.first + len(self.values) - 1

    def _parts(self) -> list[str]:
        """Split the value of a filter at its `*` signs; return a template for each part."""
        parts, literal = [""], bytearray()
        while self.next and self.next not in "()":
            token = self.next
            self.at += 1
            if token == "\\":
                literal += self._escaped()
            elif token == "*" or token.startswith("${"):
                parts[-1] += self._literal(literal, ends=token != "*")
                literal.clear()
                if token == "*":
                    parts.append("")
                else:
                    parts[-1] += token
            else:
                literal += ("${" if token == "$${" else token).encode()
        parts[-1] += self._literal(literal, ends=False)
        return parts

    def _escaped(self) -> bytes:
        digits = "".join(self.tokens[self.at : self.at + 2])
        if not _HEXADECIMAL.fullmatch(digits):
            raise self.wrong("must be a filter with two hexadecimal digits after each backslash")
        self.at += 2
        return bytes.fromhex(digits)

    def _literal(self, text: bytearray, *, ends: bool) -> str:
        """Return literal text as a template.

        If `ends` is true, a placeholder `${...}` follows the text. The text must then not end with a dollar sign, which
        would escape the placeholder.
        """
        try:
            shown = text.decode()
        except UnicodeDecodeError:
            raise self.wrong("must be a filter whose values are texts") from None
        if ends and shown.endswith("$"):
            raise self.wrong("must be a filter without $ before a placeholder ${...}")
        return shown.replace("${", "$${")
