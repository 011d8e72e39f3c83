"""Values that a script draws in a round: random numbers and texts, times, rows of data.

A script draws a value once and may read it several times. Each draw is therefore a step (`set` or `draw`) with its own
name until all statements are converted; then a value that is read once is written in its place, and rows get the name
of their pool again where no other row of the pool is read.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from towtank.workload.importers.draft import Draft, Step, identifier, method_of, unique
from towtank.workload.importers.k6.intervals import ALL, Intervals, meet
from towtank.workload.importers.k6.values import Random, Row, Table, Text

Place = tuple[int, int]
# Names of draws until all statements are converted; identifiers have no two underscores in a row.
_PREFIX = "draw__"
_VALUE = re.compile(r"\$\{(draw__\d+)(\|\w+)?\}")
_ROW = re.compile(r"\$\{(\w+__row\d+)\.")
# Longest random text of a template. [character]
_TEXT_AT_MOST = 2**20
_AGAIN = "is drawn once in k6; here it is drawn again at each of the places that use it in different ways"


@dataclass
class _Number:
    """A random number: where it is drawn, its step, and how it has been used.

    Attributes
    ----------
    written : list of (Intervals, str)
        Part of the draw that the enclosing conditions leave at each use, and the kind of the use.
    """

    place: Place
    shown: str
    base: str
    step: Step = field(default_factory=lambda: {"set": {}})
    written: list[tuple[Intervals, str]] = field(default_factory=list)


class Draws:
    """Creates the steps of draws, and completes them when all statements are converted.

    Parameters
    ----------
    draft : Draft
        Draft that receives notes.
    add : callable
        Adds a step at the current position.
    """

    def __init__(self, draft: Draft, add: Callable[[Step], None]) -> None:
        self.draft = draft
        self.add = add
        # Remaining part of each number at this point, and numbers that a condition before has tested.
        self.left: dict[int, Intervals] = {}
        self.asked: set[int] = set()
        # First number that is drawn inside the current loop: a loop repeats the uses of those before it.
        self.loop_from = 0
        self._numbers: dict[int, _Number] = {}
        self._bases: dict[str, str] = {}
        self._count = 0

    def _named(self, base: str) -> str:
        self._count += 1
        name = f"{_PREFIX}{self._count}"
        self._bases[name] = identifier(base, "value")
        return name

    def called(self, name: str, values: list[Any], place: Place, shown: str, hint: str) -> Text | Random | None:
        """Return the value of a function that draws a value; None for other functions.

        Parameters
        ----------
        name : str
            Name of the function.
        values : list
            Arguments of the call.
        place : (int, int)
            Position of the call, for notes.
        shown : str
            Text of the call, for notes.
        hint : str
            Script variable that gets the value; empty without one.
        """
        numbers = [each for each in values if isinstance(each, int | float)]
        base = hint or name.rpartition(".")[2]
        if name == "Math.random":
            return self._number(Random(0.0, 1.0), _Number(place, shown, base))
        if name == "randomIntBetween" and len(numbers) == 2:
            return self._number(Random(numbers[0], numbers[1] + 1, whole=True), _Number(place, shown, base))
        if name == "randomString" and numbers and 1 <= numbers[0] <= _TEXT_AT_MOST:
            return self._text(f"${{random.text({int(numbers[0])})}}", base)
        if name in {"uuidv4", "crypto.randomUUID"}:
            return self._text("${uuid}", base)
        if name in {"Date.now", "Date"} and not values:
            return self._text("${now.ms}", base, number=True)
        return None

    def _text(self, template: str, base: str, *, number: bool = False) -> Text:
        name = self._named(base)
        self.add({"set": {name: template}})
        return Text(f"${{{name}}}", number)

    def _number(self, drawn: Random, number: _Number) -> Random:
        self._numbers[drawn.draw] = number
        self.add(number.step)
        return drawn

    def row(self, table: Table) -> Row:
        """Return a row that is drawn here."""
        self._count += 1
        name = f"{table.pool}__row{self._count}"
        self.add({"draw": table.pool, "as": name})
        return Row(table, name)

    def template(self, value: Random) -> str | None:
        """Return the place for a random number; equal numbers of one draw have the same place."""
        found = self._numbers.get(value.draw)
        left = self.left.get(value.draw, ALL)
        part = _part(value, left)
        template = (part or value).template()
        if template is None or found is None:
            return template
        if part is None or self._differs(value.draw, left, template):
            self.draft.notes.add(found.place, found.shown, _AGAIN)
        found.written.append((left, template))
        known = next((name for name, text in found.step["set"].items() if text == template), None)
        name = known or self._named(found.base)
        found.step["set"][name] = template
        return f"${{{name}}}"

    def paused(self, value: Random) -> None:
        """Note a pause by a random number that is used elsewhere, too: a pause has a time of its own."""
        found = self._numbers.get(value.draw)
        if found is None:
            return
        if value.draw < self.loop_from or self._differs(value.draw, ALL, ""):
            self.draft.notes.add(found.place, found.shown, _AGAIN)
        found.written.append((ALL, ""))

    def _differs(self, draw: int, left: Intervals, use: str) -> bool:
        """Return True if a number has been used in another way before; an empty use differs from every use."""
        return draw in self.asked or any(
            (use, other) == ("", "") or use != other for part, other in self._numbers[draw].written if meet(part, left)
        )

    def depends(self, draw: int) -> bool:
        """Return True if a condition on a number depends on what has been decided or sent before."""
        sent = self._numbers[draw].written if draw in self._numbers else []
        again = draw in self.asked or draw < self.loop_from
        return again or any(meet(part, self.left.get(draw, ALL)) for part, _ in sent)

    def fence(self) -> int:
        """Return the number of the next draw."""
        return Random(0.0, 1.0).draw

    def settle(self, steps: list[Step], first: list[Step], before: list[Step]) -> tuple[list[Step], list[Step]]:
        """Complete the draws of a transaction.

        Parameters
        ----------
        steps : list of dict
            Steps of each round.
        first : list of dict
            Steps of a user's first round.
        before : list of dict
            Draws outside of functions, which a user makes once.

        Returns
        -------
        (list of dict, list of dict)
            Steps of each round and of the first round, with the draws that they read.
        """
        early = _names(json.dumps(first))
        own = {name for step in _all(steps) for name in _drawn(step)}
        # The first round is a transaction of its own, before the others: it draws its values itself.
        lent = [step for step in _all(steps) if early & set(_drawn(step))]
        for name in sorted(early & {name for step in lent for name in _drawn(step)}):
            why = "is drawn anew for the first round, which is a transaction of its own"
            self.draft.notes.add((1, 0), self._bases.get(name, name.partition("__")[0]), why)
        outside = (early | _names(json.dumps(steps))) - own
        head = [step for step in before if outside & set(_drawn(step))]
        whole = {"once": [*head, *lent, *first], "steps": steps}
        text = json.dumps(whole)
        times = Counter(found[1] for found in _VALUE.finditer(text))
        inlined = {name: each for part in whole.values() for name, each in _inlined(part, times).items()}
        inlined |= _before_their_draw(list(_all([*whole["once"], *whole["steps"]])))
        names = self._final(whole, text)
        text = json.dumps({key: _without(part, inlined, names) for key, part in whole.items()})
        text = _VALUE.sub(lambda found: _value(found, inlined, names), text)
        text = _ROW.sub(lambda found: f"${{{names.get(found[1], found[1])}.", text)
        done = json.loads(text)
        return done["steps"], done["once"]

    def _final(self, whole: dict[str, list[Step]], text: str) -> dict[str, str]:
        """Return the names of variables and rows in the workload."""
        extracted = [name for part in whole.values() for step in _all(part) for name in step.get("extract", {})]
        taken = [*self.draft.data, *extracted]
        names: dict[str, str] = {}
        for name in sorted(_names(text) & set(self._bases), key=lambda each: int(each.removeprefix(_PREFIX))):
            names[name] = unique(self._bases[name], [*taken, *names.values()])
        return {**names, **_rows(whole, [*taken, *names.values()])}


def _part(value: Random, left: Intervals) -> Random | None:
    """Return the part of a whole random number that conditions leave; None if it is no range of whole numbers."""
    if left == ALL:
        return value
    size = value.high - value.low
    low, high = left[0][0] * size if left else 0.5, left[-1][1] * size if left else 0.5
    whole = abs(low - round(low)) < _WHOLE and abs(high - round(high)) < _WHOLE
    if len(left) != 1 or not whole or round(high) <= round(low):
        return None
    return Random(value.low + round(low), value.low + round(high), value.whole, value.draw)


# Bounds of conditions are computed in ratios, and rounded there. [1]
_WHOLE = 1e-6


def _drawn(step: Step) -> list[str]:
    """Return the values or the row that a step draws, by their names until all statements are converted."""
    if "__row" in str(step.get("as", "")):
        return [step["as"]]
    return [name for name in step.get("set", {}) if name.startswith(_PREFIX)]


def is_draw(step: Step) -> bool:
    """Return True for the step of a draw, which has no effect of its own."""
    return "set" in step or "draw" in step


def _all(steps: list[Step]) -> Iterator[Step]:
    """Yield steps and the steps inside them, in their order."""
    for step in steps:
        yield step
        for key in ("steps", "then", "else"):
            yield from _all(step.get(key, []))


def _names(text: str) -> set[str]:
    """Return the draws that a text reads."""
    return {found[1] for pattern in (_VALUE, _ROW) for found in pattern.finditer(text)}


def _inlined(steps: list[Step], times: Counter[str]) -> dict[str, str]:
    """Return the values that are read once, in a step that follows the draw and is not repeated without it."""
    inlined: dict[str, str] = {}
    for index, step in enumerate(steps):
        for key in ("steps", "then", "else"):
            inlined |= _inlined(step.get(key, []), times)
        for name in _drawn(step):
            template = step.get("set", {}).get(name, "")
            if template and times[name] == 1 and _follows(name, template, steps[index + 1 :]):
                inlined[name] = template
    return inlined


def _before_their_draw(order: list[Step]) -> dict[str, str]:
    """Return the values that a step before their draw reads, such as the check of a request."""
    read: set[str] = set()
    drawn: set[str] = set()
    found: dict[str, str] = {}
    for step in order:
        own = _drawn(step) if "set" in step else []
        found |= {name: step["set"][name] for name in own if name in read - drawn}
        drawn.update(own)
        read |= _names(_shallow(step))
    return found


def _follows(name: str, template: str, steps: list[Step]) -> bool:
    """Return True if a value can be written where it is read: not in a loop, and a time not after other steps."""
    for step in steps:
        if name in _names(json.dumps(step)):
            timely = method_of(step) is not None or not template.startswith("${now.")
            loops = [each for each in _all([step]) if "loop" in each]
            return timely and not any(name in _names(json.dumps(each)) for each in loops)
        if template.startswith("${now.") and not is_draw(step):
            return False
    return False


def _without(steps: list[Step], inlined: dict[str, str], names: dict[str, str]) -> list[Step]:
    """Return steps with the names of the workload, without draws that are not needed."""
    kept: list[Step] = []
    for step in steps:
        if "set" in step:
            values = {names[name]: text for name, text in step["set"].items() if name in names and name not in inlined}
            if values and kept and "set" in kept[-1]:
                kept[-1] = {"set": {**kept[-1]["set"], **values}}
            elif values:
                kept.append({"set": values})
        elif "__row" in str(step.get("as", "")):
            name = names.get(step["as"], step["draw"])
            kept.append({"draw": step["draw"], **({} if name == step["draw"] else {"as": name})})
        else:
            inner: Step = {key: _without(step[key], inlined, names) for key in ("steps", "then", "else") if key in step}
            kept.append({**step, **inner})
    return kept


def _value(found: re.Match[str], inlined: dict[str, str], names: dict[str, str]) -> str:
    """Return what stands in the place of a draw."""
    filters = found[2] or ""
    return f"{inlined[found[1]][:-1]}{filters}}}" if found[1] in inlined else f"${{{names[found[1]]}{filters}}}"


def _rows(whole: dict[str, list[Step]], taken: list[str]) -> dict[str, str]:
    """Return the names of rows: that of the pool, unless another row of the pool with this name is still read."""
    order = list(_all([*whole["once"], *whole["steps"]]))
    once = len(list(_all(whole["once"])))
    loops = [(at, at + len(list(_all(step["steps"])))) for at, step in enumerate(order) if "loop" in step]
    reads = {name: at for at, step in enumerate(order) for name in _names(_shallow(step))}
    names: dict[str, str] = {}
    free_from: dict[str, int] = {}
    for at, step in enumerate(order):
        for row in _drawn(step) if "draw" in step else []:
            read = reads.get(row, at)
            # A loop that begins after the draw reads the row in each of its rounds; a row of the first round stays.
            last = max([read, *(end for begin, end in loops if at < begin <= read <= end)])
            last = len(order) if at < once <= read else last
            others = (f"{step['draw']}_{number}" for number in count(2))
            usable = chain([step["draw"]], (each for each in others if each not in taken))
            names.setdefault(row, next(each for each in usable if free_from.get(each, -1) < at))
            free_from[names[row]] = max(free_from.get(names[row], -1), last)
    return names


def _shallow(step: Step) -> str:
    """Return the text of a step without the steps inside it."""
    return json.dumps({key: value for key, value in step.items() if key not in {"steps", "then", "else"}})
