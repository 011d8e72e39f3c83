"""Texts of JMeter with `${name}` and `${__function(...)}` in them, as templates of a workload."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from towtank.errors import StudyError
from towtank.workload.importers.draft import Draft, identifier, literal

_FUNCTION = re.compile(r"__(\w+)(?:\((.*)\))?", re.DOTALL)
_WHOLE = re.compile(r"-?\d{1,18}")
# Functions that read a property of JMeter, and which of their arguments says what stands where it is not set.
_DEFAULT_OF_PROPERTY = {"P": 1, "property": 2}
# Characters that variables may come to where they stand for each other, and for how many an empty one counts.
EXPANDED_AT_MOST = 20_000_000
_EXPANSION = 100
Place = tuple[int, int]


class Texts:
    """Translates texts; knows which names mean what.

    Parameters
    ----------
    draft : Draft
        Gets parameters and notes.
    """

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.columns: dict[str, tuple[str, str]] = {}
        self.constants: dict[str, str] = {}
        self.extracted: set[str] = set()
        self.assigned: set[str] = set()
        # What is read before it is set: JMeter keeps values from one iteration to the next.
        self.early: set[str] = set()
        self.pools: set[str] = set()
        self.counters: set[str] = set()
        self._inside: list[str] = []
        # What texts may still grow by: variables of variables of variables double with each step.
        self._left = EXPANDED_AT_MOST

    def _spend(self, text: str) -> str:
        self._left -= _EXPANSION + len(text)
        if self._left < 0:
            most = EXPANDED_AT_MOST // 10**6
            raise StudyError.at(self.draft.source, f"must have variables of at most {most} MB in all, got more")
        return text

    def template(self, text: str, place: Place, fixed: Callable[[str], str] = literal) -> str:
        """A text as a template; `fixed` translates what stands between the places."""
        written = ""
        for kind, piece in _pieces(text):
            if kind == "text":
                written += fixed(piece)
                continue
            reference = self._reference(piece, place)
            if reference is not None and written.endswith("$"):
                why = "a $ in front of a value makes text of it: the $ is left out"
                self.draft.notes.add(place, f"${{{piece}}}", why)
                written = written.rstrip("$")
            written += reference if reference is not None else fixed(f"${{{piece}}}")
        return written

    def static(self, text: str, inside: tuple[str, ...] = ()) -> str:
        """A text with constants and defaults of properties put in: for what must be known before the run."""
        written = ""
        for kind, piece in _pieces(text):
            function = _FUNCTION.fullmatch(piece.strip()) if kind == "place" else None
            if kind == "text":
                written += piece
            elif piece.strip() in self.constants and piece.strip() not in inside:
                inner = self.static(self.constants[piece.strip()], (*inside, piece.strip()))
                written += self._spend(inner)
            elif function is not None and function.group(1) in _DEFAULT_OF_PROPERTY:
                written += _property(function.group(1), _arguments(function.group(2) or ""))
            else:
                written += f"${{{piece}}}"
        return written

    def number(self, text: str, place: Place, what: str, default: float = 0.0) -> float:
        """A number that must be known before the run."""
        known = self.static(text).strip()
        try:
            value = float(known) if known else default
        except ValueError:
            self.draft.notes.add(place, what, f"is not known before the run ({text[:60]}): {default:g} is taken")
            return default
        return value if abs(value) < 1e12 else default

    def _reference(self, name: str, place: Place) -> str | None:
        """The place of a template for a place of JMeter; None where there is none, which is noted."""
        name = name.strip()
        if name in self.columns:
            pool, column = self.columns[name]
            self.pools.add(pool)
            return f"${{{pool}.{column}}}"
        if name in self.counters:
            return "${iteration}"
        if name in self.extracted:
            if name not in self.assigned:
                self.early.add(name)
            return f"${{{identifier(name, 'value')}}}"
        if name in self.constants:
            return self._parameter(name, self.constants[name], place)
        function = _FUNCTION.fullmatch(name)
        if function is not None:
            return self._function(function.group(1), _arguments(function.group(2) or ""), name, place)
        self.draft.notes.add(place, f"${{{name}}}", "no element of the plan sets it: it is sent as this text")
        return None

    def _parameter(self, name: str, value: str, place: Place) -> str:
        """A user-defined variable is a parameter; one with functions in it stands where it is used."""
        if "${" in value and name not in self._inside:
            self._inside.append(name)
            written = self._spend(self.template(value, place))
            self._inside.pop()
            return written
        parameter = identifier(name, "parameter")
        self.draft.parameters.setdefault(parameter, literal(value))
        return f"${{parameters.{parameter}}}"

    def _function(self, function: str, arguments: list[str], name: str, place: Place) -> str | None:  # noqa: PLR0911 - one line per function
        if function == "UUID":
            return "${uuid}"
        if function == "time" and not any(arguments):
            return "${now.ms}"
        if function == "threadNum":
            self.draft.notes.add(place, f"${{{name}}}", "JMeter counts users from 1, ${user.number} from 0")
            return "${user.number}"
        if function == "counter":
            self.draft.notes.add(place, f"${{{name}}}", "${iteration} counts transactions of one user, from 1")
            return "${iteration}"
        if function in _DEFAULT_OF_PROPERTY and arguments:
            return self._parameter(arguments[0], _property(function, arguments), place)
        if function == "Random" and len(arguments) >= 2 and all(_WHOLE.fullmatch(each) for each in arguments[:2]):
            low, high = sorted(map(int, arguments[:2]))
            return f"${{random.int({low}, {high})}}"
        if function == "RandomString" and arguments and arguments[0].isdecimal() and 1 <= int(arguments[0]) <= 2**20:
            self.draft.notes.add(
                place, f"${{{name[:60]}}}", "is made of letters and digits, not of those that JMeter takes"
            )
            return f"${{random.text({int(arguments[0])})}}"
        if function == "urlencode" and len(arguments) == 1:
            inside = self.template(arguments[0], place)
            if re.fullmatch(r"\$\{(?!parameters\.)[a-z]\w*(\.\w+)?\}", inside):
                return f"{inside[:-1]}|url}}"
        self.draft.notes.add(place, f"${{{name[:60]}}}", "has no counterpart in a workload: it is sent as this text")
        return None


def _property(function: str, arguments: list[str]) -> str:
    """What a property is where the command line of JMeter does not set it."""
    place = _DEFAULT_OF_PROPERTY[function]
    if len(arguments) > place:
        return arguments[place]
    # Without a default, __P gives 1, and __property the name of the property (JMeter 5.5).
    return "1" if function == "P" else (arguments or [""])[0]


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Texts and what stands in `${...}`, which may have `${...}` inside."""
    position = 0
    while (start := text.find("${", position)) >= 0:
        end, depth = start + 2, 1
        while end < len(text) and depth:
            depth += text.startswith("${", end) - (text[end] == "}")
            end += 1
        if depth:
            break
        if start > position:
            yield "text", text[position:start]
        yield "place", text[start + 2 : end - 1]
        position = end
    if position < len(text):
        yield "text", text[position:]


def _arguments(text: str) -> list[str]:
    r"""Arguments of a function: divided by commas that are neither escaped by `\` nor inside a place."""
    arguments, depth, current, escaped = [], 0, "", False
    for index, char in enumerate(text):
        if escaped:
            current, escaped = current + char, False
        elif char == "\\":
            escaped = True
        elif char == "," and depth == 0:
            arguments.append(current.strip())
            current = ""
        else:
            depth += text.startswith("${", index) - (char == "}" and depth > 0)
            current += char
    return [*arguments, current.strip()] if text.strip() else []
