"""Renders for the headline which objectives a configuration meets, as in `meets p95 < 300 ms up to 180 users`."""

from __future__ import annotations

from collections.abc import Sequence

from towtank.analysis.study_summary import Configuration, ObjectiveAnswer

_NAMED = 3
"""Largest number of objectives that the headline lists individually. [1]"""


def answered(configuration: Configuration, objectives: Sequence[ObjectiveAnswer]) -> str:
    """Render which objectives a configuration meets up to which load, and at which load it misses them.

    Parameters
    ----------
    configuration : Configuration
    objectives : sequence of ObjectiveAnswer
        All evaluated objectives of the study.

    Returns
    -------
    str
        Predicate such as `meets p95 < 300 ms up to 180 users, misses it at 450`; missed objectives come first. Empty if
        this configuration has no objectives. The objective that determined the limit of a search is not included,
        because the headline reports the limit.
    """
    own = [
        objective
        for objective in objectives
        if objective.configuration == configuration.key and objective.up_to is None
    ]
    own.sort(key=lambda objective: (objective.met is not False, objective.met is not None))
    shown = [_answer(objective, configuration) for objective in own[:_NAMED]]
    left = own[_NAMED:]
    if left:
        met = sum(objective.met is True for objective in left)
        shown.append(f"meets {met} of {len(left)} further objectives")
    return " and ".join(shown) if len(shown) < 3 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _answer(objective: ObjectiveAnswer, configuration: Configuration) -> str:
    met, text = objective.met, objective.text
    doubt, unsure_holds, unsure_miss = (
        ", not for certain" if certain is False else ""
        for certain in (objective.certain, objective.holds_certain, objective.missed_certain)
    )
    if objective.names_load:
        verb = {True: "meets", False: "misses", None: "was not tested against"}[met]
        return f"{verb} {text}{doubt}"
    holds, missed = objective.holds_up_to, objective.missed_at
    if holds is None:
        if missed is None:
            return f"was not tested against {text}"
        return f"misses {text} at {_load(configuration, missed)}{_already(configuration, missed)}{unsure_miss}"
    met_words = f"meets {text} up to {_load(configuration, holds)}{unsure_holds}"
    if missed is not None:
        return f"{met_words}, misses it at {missed:,.10g}{unsure_miss}"
    return f"{met_words}{', without a verdict at higher loads' if met is None else ''}"


def _load(configuration: Configuration, level: float) -> str:
    is_open = any(point.users is None and point.rate is not None for point in configuration.points)
    return f"{level:,.10g} {'arrivals per second' if is_open else 'users'}"


def _already(configuration: Configuration, level: float) -> str:
    lowest = min(point.level for point in configuration.points)
    return " already" if level <= lowest and len(configuration.points) > 1 else ""
