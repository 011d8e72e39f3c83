"""Renders the limit of a configuration and its cause, for all tables and texts of a report."""

from __future__ import annotations

from towtank.analysis import Configuration
from towtank.report import format as people

REACHED, PROBABLY, PROBABLY_NOT, NOT, UNDECIDED = (
    "reached",
    "probably reached",
    "probably not reached",
    "not reached",
    "not decided",
)
_CAUSES = {
    "cpu": "CPU of {resource}",
    "errors": "errors",
    "overload": "overload of an unknown resource",
    "unknown": "unknown",
    "none": NOT,
}


def limit_state(configuration: Configuration) -> str:
    """Render if a configuration reached its limit, such as `reached` or `probably not reached`.

    The load levels determine the state. If they are not conclusive, the result of a search for the limit does.
    Otherwise, a likely diagnosis decides, with the word `probably`.
    """
    reached, found = _reached(configuration), configuration.found_limit
    if reached is None and found is not None and found.value is not None:
        return NOT if found.is_lower_bound else REACHED
    if reached is not None:
        return REACHED if reached else NOT
    diagnosis = configuration.diagnosis
    if diagnosis is not None and diagnosis.is_likely:
        return PROBABLY
    return PROBABLY_NOT if diagnosis is not None and diagnosis.excludes_limit else UNDECIDED


def limiting(configuration: Configuration) -> str:
    """Render the cause that limits a configuration, such as `the CPU of app`.

    If the cause is not known, return the text of `limit_state` or `unknown`.
    """
    diagnosis = configuration.diagnosis
    if diagnosis is not None and diagnosis.is_likely and diagnosis.clause is not None:
        return diagnosis.clause
    limit = configuration.limit
    if limit is None:
        return "unknown"
    if limit.kind == "undecided":
        return limit_state(configuration)
    return _CAUSES.get(limit.kind, "unknown").format(resource=limit.resource)


def limiting_resource(configuration: Configuration) -> str:
    """Render the cause that limits a configuration if the limit was reached or probably reached; otherwise a dash."""
    # If the load levels are not conclusive, a limit is known from a search only.
    is_searched = _reached(configuration) is None and configuration.found_limit is not None
    reached = limit_state(configuration) in (REACHED, PROBABLY)
    return limiting(configuration) if reached and not is_searched else people.ABSENT


def _reached(configuration: Configuration) -> bool | None:
    return None if configuration.limit is None else configuration.limit.reached
