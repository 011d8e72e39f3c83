"""Completes the random values of a transaction. Values get their final names, or are moved into the steps that read
them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, count
from typing import Any

from towtank.workload.importers.draft import Step, method_of

# Prefix of temporary names for random values. No name in the workload contains two underscores in a row, so temporary
# names cannot collide with other names.
PREFIX = "draw__"
# Matches a reference to a random value. A placeholder after another `$` is literal text of the script, not a reference.
_VALUE = re.compile(r"(?<!\$)\$\{(draw__\d+)(\|\w+)?\}")
_ROW = re.compile(r"(?<!\$)\$\{(\w+__row\d+)\.")
# Keys of a step whose values are lists of inner steps.
_INNER = ("steps", "then", "else")


def settled(
    once: list[Step], steps: list[Step], bases: dict[str, str], pools: Iterable[str]
) -> tuple[list[Step], list[Step]]:
    """Return the steps of each round and the steps of the first round, with final names instead of the temporary names.

    `bases` has the preferred name of each value. A row may have the name of its own pool, but not the name of another
    pool.
    """
    text = json.dumps([once, steps])
    times = Counter(found[1] for found in _VALUE.finditer(text))
    inlined = {**_inlined(once, times), **_inlined(steps, times), **_before_their_draw(every([*once, *steps]))}
    taken = [*pools, *(name for step in every([*once, *steps]) for name in step.get("extract", {}))]
    names = _named(sorted(set(times), key=lambda each: int(each.removeprefix(PREFIX))), bases, set(taken))
    names |= _rows(once, steps, [*taken, *names.values()])
    text = json.dumps([_without(part, inlined, names) for part in (steps, once)])
    text = _VALUE.sub(lambda found: _value(found, inlined, names), text)
    each_round, first = json.loads(_ROW.sub(lambda found: f"${{{names.get(found[1], found[1])}.", text))
    return each_round, first


def _named(draws: list[str], bases: dict[str, str], taken: set[str]) -> dict[str, str]:
    """Return a final name for each random value: its preferred name, with a number appended if this name is taken."""
    names: dict[str, str] = {}
    numbers = {base: count(2) for base in bases.values()}
    for draw in draws:
        base = bases[draw]
        others = (name for number in numbers[base] if (name := f"{base}_{number}") not in taken)
        names[draw] = base if base not in taken else next(others)
        taken.add(names[draw])
    return names


def drawn(step: Step) -> list[str]:
    """Return the temporary names of the random values that a step sets, or of the pool row that it reads."""
    row = _row(step)
    return [row] if row else [name for name in _values(step) if name.startswith(PREFIX)]


def _row(step: Step) -> str:
    """Return the name of the pool row that a step reads; an empty text if the step reads no row with a name."""
    name = str(step.get("as", ""))
    return name if "__row" in name else ""


def _values(step: Step) -> dict[str, str]:
    values: dict[str, str] = step.get("set", {})
    return values


def _pool(step: Step) -> str:
    """Return the name of the pool from which a step reads a row; an empty text if the step reads no row."""
    return str(step.get("draw", ""))


def is_draw(step: Step) -> bool:
    """Return True if a step does nothing but set a random value or read a row of a pool."""
    return "set" in step or "draw" in step


def every(steps: list[Step]) -> Iterator[Step]:
    """Yield all steps, including nested steps, in the order in which they are written."""
    for step in steps:
        yield step
        for key in _INNER:
            yield from every(step.get(key, []))


def names_in(steps: Any) -> set[str]:
    """Return the temporary names of the random values and rows that steps use."""
    text = json.dumps(steps)
    return {found[1] for pattern in (_VALUE, _ROW) for found in pattern.finditer(text)}


def _inlined(steps: list[Step], times: Counter[str]) -> dict[str, str]:
    """Return the templates that can replace the references to random values, by name of the value.

    Such a value is used only once, by a later step, and outside of loops.
    """
    inlined: dict[str, str] = {}
    # For each value that is used only once: index of the step that uses it, directly or in its inner steps.
    reader = {name: index for index, step in enumerate(steps) for name in names_in(step) if times[name] == 1}
    looped = {index: _in_loops(steps[index]) for index in set(reader.values())}
    # For each index of a step: index of the next step that does more than set a random value or read a row.
    following = [len(steps)] * (len(steps) + 1)
    for index in range(len(steps) - 1, -1, -1):
        following[index] = following[index + 1] if is_draw(steps[index]) else index
    for index, step in enumerate(steps):
        for key in _INNER:
            inlined |= _inlined(step.get(key, []), times)
        for name, template in _values(step).items():
            at = reader.get(name, -1)
            if at <= index or name in looped[at]:
                continue
            # A time may be moved only into the step of the next request, because in any later step it would be a later
            # time.
            is_time = template.startswith("${now.")
            if not is_time or (following[index + 1] >= at and method_of(steps[at]) is not None):
                inlined[name] = template
    return inlined


def _in_loops(step: Step) -> set[str]:
    """Return the names of the random values that a step uses inside a loop."""
    return {name for each in every([step]) if "loop" in each for name in names_in(each)}


def _before_their_draw(order: Iterable[Step]) -> dict[str, str]:
    """Return the random values, by name, that a step uses before the step that generates them.

    An example is a value in the check of an earlier request.
    """
    read: set[str] = set()
    before: set[str] = set()
    found: dict[str, str] = {}
    for step in order:
        found |= {name: template for name, template in _values(step).items() if name in read - before}
        before.update(_values(step))
        read |= names_in(_shallow(step))
    return found


def _without(steps: list[Step], inlined: dict[str, str], names: dict[str, str]) -> list[Step]:
    """Return the steps with final names. Steps that set random values which are no longer needed are left out."""
    kept: list[Step] = []
    for step in steps:
        if is_draw(step):
            values = {
                names[name]: text for name, text in _values(step).items() if name in names and name not in inlined
            }
            drawn_row = {"as": names[_row(step)]} if names.get(_row(step), _pool(step)) != _pool(step) else {}
            if values and kept and _values(kept[-1]):
                _values(kept[-1]).update(values)
            elif values:
                kept.append({"set": values})
            elif _pool(step):
                kept.append({"draw": _pool(step), **drawn_row})
        else:
            inner: Step = {key: _without(step[key], inlined, names) for key in _INNER if key in step}
            kept.append({**step, **inner})
    return kept


def _value(found: re.Match[str], inlined: dict[str, str], names: dict[str, str]) -> str:
    """Return the text that replaces a reference to a random value: the value's template, or a placeholder with its
    final name.
    """
    filters = found[2] or ""
    return f"{inlined[found[1]][:-1]}{filters}}}" if found[1] in inlined else f"${{{names[found[1]]}{filters}}}"


def _rows(once: list[Step], steps: list[Step], taken: list[str]) -> dict[str, str]:
    """Return the final variable name of each row from a data pool: the name of the pool, with a number if another row
    of the same pool is needed at the same steps.
    """
    order, begin = list(every([*once, *steps])), len(list(every(once)))
    loops = [(at, at + len(list(every([step]))) - 1) for at, step in enumerate(order) if "loop" in step]
    reads = {name: at for at, step in enumerate(order) for name in names_in(_shallow(step))}
    names: dict[str, str] = {}
    free_from: dict[str, int] = {}
    for at, step in enumerate(order):
        row, pool = _row(step), _pool(step)
        if not row:
            continue
        read = reads.get(row, at)
        # A loop that begins after the row is read from the pool uses the row in each iteration, so the row is in use
        # until the loop ends. A row that the first round reads for later rounds is in use until the last step.
        last = max([read, *(end for start, end in loops if at < start <= read <= end)])
        last = len(order) if at < begin <= read else last
        others = (name for number in count(2) if (name := f"{pool}_{number}") not in taken)
        name = next(each for each in chain([pool], others) if free_from.get(each, -1) < at)
        names.setdefault(row, name)
        free_from[names[row]] = max(free_from.get(names[row], -1), last)
    return names


def _shallow(step: Step) -> Step:
    """Return a copy of a step that lacks the steps nested in it."""
    return {key: value for key, value in step.items() if key not in _INNER}
