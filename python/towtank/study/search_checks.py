"""Checks that the levels of a search for the load limit rise, and that its stop conditions can occur."""

from __future__ import annotations

from collections.abc import Iterator

from towtank import units
from towtank.study.model import EachRamp, FindLimit, StudyFile
from towtank.study.objectives import read_objective
from towtank.study.search import STOP_WHEN, StepUp, load_amount, read_stop

Wrong = tuple[tuple[str | int, ...], str]
# Largest number of levels of a search. A larger number is assumed to be a typing error.
LEVELS_AT_MOST = 1_000


def wrongs(study: StudyFile, load: FindLimit) -> Iterator[Wrong]:
    """Yield path and message of every fault in the settings of a search."""
    levels_wrong = list(_levels(load))
    yield from levels_wrong
    if not levels_wrong:
        yield from _steps(load)
    yield from _stops(study, load)
    yield from _ramps(load)
    for name in ("users", "rate"):
        if name in study.factors:
            yield ("factors", name), f"must not be a factor besides find-limit, which chooses its levels, got {name!r}"


def _wanted(load: FindLimit) -> str:
    return "a whole number of users from 1" if load.of == "users" else "a rate above 0 such as 5 /s"


def _levels(load: FindLimit) -> Iterator[Wrong]:
    """Yield a fault for each amount of the wrong kind: users in a search for a rate, or the reverse."""
    given: list[tuple[tuple[str | int, ...], int | str | None]] = [
        (("start",), load.start),
        (("at_most",), load.at_most),
    ]
    for index, step in enumerate(load.steps):
        given += [(("steps", index, key), getattr(step, key)) for key in ("by", "up_to")]
    for path, value in given:
        if value is not None and isinstance(value, int) != (load.of == "users"):
            yield ("load", *path), f"must be {_wanted(load)}, got {units.shown(value)} instead"


def _steps(load: FindLimit) -> Iterator[Wrong]:
    start, at_most = load_amount(load.start), load_amount(load.at_most)
    if at_most <= start:
        yield ("load", "at_most"), f"must be above start ({start:g}), got {at_most:g} instead"
    reached, count = start, 0.0
    for index, step in enumerate(load.steps):
        path = ("load", "steps", index)
        if (step.by is None) == (step.times is None):
            got = "neither" if step.by is None else "both"
            yield path, f"must have either by or times, got {got} instead"
            continue
        last = index == len(load.steps) - 1
        up_to = at_most if step.up_to is None else load_amount(step.up_to)
        if not last and step.up_to is None:
            yield path, "must have the key up_to, because another step follows, got none"
        elif up_to <= reached and step.up_to is not None:
            yield (
                (*path, "up_to"),
                f"must be above the level at which this step starts ({reached:g}), got {up_to:g} instead",
            )
        else:
            count += _number(step, reached, up_to)
            reached = max(reached, up_to)
    if count > LEVELS_AT_MOST:
        yield ("load", "steps"), f"must make at most {LEVELS_AT_MOST} levels, got about {count:.0f} instead"


def _number(step: StepUp, start: float, end: float) -> float:
    """Return the approximate number of load levels that a step adds. [1]"""
    if step.by is not None:
        return (end - start) / load_amount(step.by)
    number, level = 0, start
    while level < end and number <= LEVELS_AT_MOST:
        level, number = level * (step.times or 2.0), number + 1
    return float(number)


def _stops(study: StudyFile, load: FindLimit) -> Iterator[Wrong]:
    usable = [text for text in study.objectives if is_searched(text)]
    asked = [read_stop(text)[0] for text in load.stop_when]
    for index, name in enumerate(asked):
        if name in asked[:index]:
            yield (
                ("load", "stop_when", index),
                f"must differ from all earlier conditions, got {load.stop_when[index]!r}",
            )
        if name == "achieved" and load.of == "users" and tuple(load.stop_when) != STOP_WHEN:
            message = "must only be used in a search for a rate, because users wait for responses"
            yield ("load", "stop_when", index), f"{message}, got {load.stop_when[index]!r}"
        if name == "objective_missed" and not usable and tuple(load.stop_when) != STOP_WHEN:
            message = "must only be used if an objective applies to the steady stage at every load"
            yield ("load", "stop_when", index), f"{message}, got none"
    sees = (bool(usable) and "objective_missed" in asked) or ("achieved" in asked and load.of == "rate")
    if load.refine is not None and not sees and not ("errors" in asked and tuple(load.stop_when) != STOP_WHEN):
        message = "must be used with a condition that a level can miss: an objective at every load, or errors"
        yield ("load", "refine"), f"{message}, got none"


def is_searched(text: str) -> bool:
    """Return True if an objective applies to the steady stage at any load.

    Only such objectives decide whether a plateau (a constant load during a search) passes.
    """
    objective = read_objective(text)
    return objective.users is None and objective.rate is None and objective.phase in (None, "steady")


def _ramps(load: FindLimit) -> Iterator[Wrong]:
    for name in ("ramp_up", "ramp_down"):
        if load.of == "rate" and isinstance(getattr(load.stages, name), EachRamp):
            yield ("load", "stages", name), "must be a duration with open load, got {each: ...} instead"
