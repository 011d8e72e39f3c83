"""Renders the limit of a configuration and its cause, for all tables and texts of a report."""

from __future__ import annotations

from collections.abc import Mapping

from towtank.digging import dig
from towtank.report import format as people
from towtank.report.source import diagnosis_of

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


def limit_state(configuration: Mapping[str, object]) -> str:
    """Render if a configuration reached its limit, such as `reached` or `probably not reached`.

    The load levels determine the state. If they are not conclusive, the result of a search for the limit does.
    Otherwise, a likely diagnosis decides, with the word `probably`.
    """
    reached, found = dig(configuration, "limit", "reached"), dig(configuration, "found_limit")
    if reached is None and dig(found, "value") is not None:
        return NOT if dig(found, "is_lower_bound") else REACHED
    if reached is not None:
        return REACHED if reached else NOT
    diagnosis = diagnosis_of(configuration)
    if diagnosis is not None and diagnosis.is_likely:
        return PROBABLY
    return PROBABLY_NOT if diagnosis is not None and diagnosis.excludes_limit else UNDECIDED


def limiting(configuration: Mapping[str, object]) -> str:
    """Render the cause that limits a configuration, such as `the CPU of app`.

    If the cause is not known, return the text of `limit_state` or `unknown`.
    """
    diagnosis = diagnosis_of(configuration)
    if diagnosis is not None and diagnosis.is_likely and diagnosis.clause is not None:
        return diagnosis.clause
    kind = str(dig(configuration, "limit", "kind"))
    if kind == "undecided":
        return limit_state(configuration)
    return _CAUSES.get(kind, "unknown").format(resource=dig(configuration, "limit", "resource"))


def limiting_resource(configuration: Mapping[str, object]) -> str:
    """Render the cause that limits a configuration if the limit was reached or probably reached; otherwise a dash."""
    reached = limit_state(configuration) in (REACHED, PROBABLY)
    return limiting(configuration) if reached and not _is_searched(configuration) else people.ABSENT


def _is_searched(configuration: Mapping[str, object]) -> bool:
    """Return True if the limit is known from a search only, because the load levels are not conclusive."""
    return dig(configuration, "limit", "reached") is None and dig(configuration, "found_limit") is not None
