"""Converts JMeter texts with `${name}` and `${__function(...)}` to workload templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote_plus

from towtank.errors import StudyError
from towtank.workload.importers.draft import ImportDraft, identifier, literal, unique

_FUNCTION = re.compile(r"__(\w+)(?:\((.*)\))?", re.DOTALL)
_WHOLE = re.compile(r"-?\d{1,18}")
# `_DRAWN` matches JMeter functions that return a different value at each call. Some of them store the value in a
# variable: `_VARIABLE` has the index of the argument that names the variable.
_DRAWN = re.compile(r"\$\{__(?:UUID|Random|RandomString|RandomDate|time|counter|threadNum)\b")
_VARIABLE = {"Random": 2, "RandomString": 2, "counter": 1}
# JMeter functions that read a property, each with the index of the argument that contains the default value.
_DEFAULT_OF_PROPERTY = {"P": 1, "property": 2}
# Largest total number of characters of all expanded variables. Each expansion counts with its length plus `_EXPANSION`.
EXPANDED_AT_MOST = 20_000_000
_EXPANSION = 100
# Largest number in a test plan that is accepted. Numbers are users, times and rates, so a larger number is a mistake.
# [1]
_NUMBER_AT_MOST = 1e12
Place = tuple[int, int]


class Texts:
    """Converts JMeter texts to templates, depending on which element of the test plan sets each variable."""

    def __init__(self, draft: ImportDraft) -> None:
        self.draft = draft
        self.columns: dict[str, tuple[str, str]] = {}
        # `rows`: values of the columns whose data files exist. `behind_slash`: extracted variables whose values follow
        # a slash.
        self.rows: dict[tuple[str, str], list[str]] = {}
        self.behind_slash: set[str] = set()
        self.constants: dict[str, str] = {}
        self.extracted: set[str] = set()
        self.assigned: set[str] = set()
        # Variables that are read before they are set in a round. JMeter keeps their values from the previous iteration.
        self.early: set[str] = set()
        self.pools: set[str] = set()
        self.counters: set[str] = set()
        self._inside: list[str] = []
        # Name of the workload parameter for each variable or property of JMeter, by kind and JMeter name.
        self._parameters: dict[tuple[str, str], str] = {}
        # Number of characters that may still be expanded. Nested variables may double in size at each level, so the
        # total is limited.
        self._left = EXPANDED_AT_MOST

    def _spend(self, text: str) -> str:
        self._left -= _EXPANSION + len(text)
        if self._left < 0:
            most = EXPANDED_AT_MOST // 10**6
            raise StudyError.at(self.draft.source, f"must have variables of at most {most} MB in total, got more")
        return text

    def template(self, text: str, place: Place, fixed: Callable[[str], str] = literal) -> str:
        """Convert a JMeter text to a template. The function `fixed` converts the literal text outside the placeholders
        `${...}`.
        """
        written = ""
        for kind, piece in _pieces(text):
            if kind == "text":
                written += fixed(piece)
                continue
            reference = self._reference(piece, place)
            if reference is not None and written.endswith("$"):
                why = "a $ before a placeholder would turn it into text: the $ is left out"
                self.draft.notes.add(place, f"${{{piece}}}", why)
                written = written.rstrip("$")
            written += reference if reference is not None else fixed(f"${{{piece}}}")
        return written

    def static(self, text: str, inside: tuple[str, ...] = ()) -> str:
        """Return a text with constants and properties replaced by their values, if the text must be known before the
        run.

        A property is replaced by its default value.
        """
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

    def opened(self, text: str, beginnings: tuple[str, ...]) -> str:
        """Substitute leading constants until a text begins with one of `beginnings`.

        If the text never begins in this way, it is returned unchanged.
        """
        pieces = [piece if kind == "text" else f"${{{piece}}}" for kind, piece in _pieces(text)]
        heads = (self.static("".join(pieces[:count])) for count in range(len(pieces) + 1))
        for count, head in enumerate(heads):
            if head.startswith(beginnings):
                return head + "".join(pieces[count:])
        return text

    def first_variable(self, text: str) -> str | None:
        """Return the column or extracted variable with which a text begins; None if the text begins with anything
        else.
        """
        kind, piece = next(_pieces(text), ("text", ""))
        name = piece.strip()
        known = kind == "place" and name not in self.counters and (name in self.columns or name in self.extracted)
        return name if known else None

    def values_in(self, text: str) -> tuple[list[str], dict[str, list[str]]]:
        """Return the values of the constants in a text, and the values of its data columns by column name."""
        places = [piece.strip() for kind, piece in _pieces(text) if kind == "place"]
        rows = {name: self.values_of(name) for name in places if name in self.columns}
        known = [self.static(f"${{{name}}}") for name in places if name not in rows]
        return [value for value in known if "${" not in value], rows

    def values_of(self, variable: str) -> list[str]:
        """Return the values of a data column whose file exists; an empty list for all other variables."""
        return self.rows.get(self.columns[variable], []) if variable in self.columns else []

    def number(self, text: str, place: Place, what: str, default: float = 0.0) -> float:
        """Return a number that must be known before the run.

        If it is not known, a note is added and the default is returned.
        """
        if not text.strip():
            return default
        try:
            value = float(self.static(text).strip())
        except ValueError:
            self.draft.notes.add(place, what, f"is not known before the run ({text[:60]}): {default:g} is used")
            return default
        if abs(value) < _NUMBER_AT_MOST:
            return value
        why = f"is no number below {_NUMBER_AT_MOST:g} ({text[:60]}): {default:g} is used"
        self.draft.notes.add(place, what, why)
        return default

    def _reference(self, name: str, place: Place) -> str | None:
        """Return the template placeholder for a JMeter reference.

        If the workload has no counterpart, a note is added and None is returned.
        """
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
            return self._parameter("variable", name, self.constants[name], place)
        function = _FUNCTION.fullmatch(name)
        if function is not None:
            return self._function(function.group(1), _arguments(function.group(2) or ""), name, place)
        self.draft.notes.add(place, f"${{{name}}}", "no element of the plan sets it: the text itself is sent")
        return None

    def _parameter(self, kind: str, name: str, value: str, place: Place) -> str:
        """Return the placeholder of the workload parameter that replaces a variable or property.

        A value that contains variables or functions is substituted directly.
        """
        if kind == "variable" and _DRAWN.search(value):
            why = "JMeter evaluates its functions once, before the test; the workload evaluates them at each use"
            self.draft.notes.add(place, f"variable {name[:60]}", why)
        if "${" in value and name not in self._inside:
            self._inside.append(name)
            written = self._spend(self.template(value, place))
            self._inside.pop()
            return written
        parameter = self._parameters.get((kind, name))
        if parameter is None:
            parameter = unique(identifier(name, "parameter"), self.draft.parameters)
            self._parameters[kind, name] = parameter
            self.draft.parameters[parameter] = literal(value)
        if self.draft.parameters[parameter] != literal(value):
            why = "has several defaults in the plan: the first one is the value of the parameter for all uses"
            self.draft.notes.add(place, f"{kind} {name[:60]}", why)
        return f"${{parameters.{parameter}}}"

    def _note_variable(self, function: str, arguments: list[str], place: Place) -> None:
        """Add a note about the variable in which a JMeter function stores its value."""
        variable = arguments[_VARIABLE[function]] if len(arguments) > _VARIABLE.get(function, len(arguments)) else ""
        if variable:
            why = f"__{function} stores its value in it; in the workload, other uses do not have this value"
            self.draft.notes.add(place, f"variable {variable[:60]}", why)

    def _function(self, function: str, arguments: list[str], name: str, place: Place) -> str | None:  # noqa: PLR0911 - one line per function
        self._note_variable(function, arguments, place)
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
            return self._parameter("property", arguments[0], _property(function, arguments), place)
        if function == "Random" and len(arguments) >= 2 and all(_WHOLE.fullmatch(each) for each in arguments[:2]):
            low, high = sorted(map(int, arguments[:2]))
            return f"${{random.int({low}, {high})}}"
        if function == "RandomString" and arguments and arguments[0].isdecimal() and 1 <= int(arguments[0]) <= 2**20:
            self.draft.notes.add(
                place, f"${{{name[:60]}}}", "consists of letters and digits, not of the characters given in the plan"
            )
            return f"${{random.text({int(arguments[0])})}}"
        if function == "urlencode" and len(arguments) == 1:
            known = self.static(arguments[0])
            if "${" not in known:
                return literal(quote_plus(known))
            inside = self.template(arguments[0], place)
            if re.fullmatch(r"\$\{(?!parameters\.)[a-z]\w*(\.\w+)?\}", inside):
                return f"{inside[:-1]}|url}}"
        self.draft.notes.add(place, f"${{{name[:60]}}}", "has no counterpart in a workload: the text itself is sent")
        return None


def _property(function: str, arguments: list[str]) -> str:
    """Return the value that a JMeter property has if JMeter's command line does not set it."""
    place = _DEFAULT_OF_PROPERTY[function]
    if len(arguments) > place:
        return arguments[place]
    # Without a default, the function __P returns 1, and __property returns the name of the property (JMeter 5.5).
    return "1" if function == "P" else (arguments or [""])[0]


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield literal texts, and the contents of placeholders `${...}`, in their order. Placeholders may be nested."""
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
    r"""Return the arguments of a function, separated by commas that are neither escaped nor in placeholders."""
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
