"""Claims about all levels of a factor: a trend, and where something is highest or lowest."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from towtank.analysis.claims.places import Levels, Places, UntestableError
from towtank.analysis.statistics import difference_interval, ratio_interval
from towtank.analysis.statistics.estimates import CONFIDENCE, Estimate
from towtank.study.claim_holds import AtLevels, Direction
from towtank.study.claims import HIGHEST, CourseMeasure

Json = dict[str, Any]
Course = list[tuple[str, Estimate]]
# Fewer levels have no inside.
_INSIDE_AT_LEAST = 3
# Share of the way from the first level to the last by which one step may go back.
_OF_THE_WAY = 0.1


def trend(given: CourseMeasure, holds: Direction, places: Places) -> Json:
    """Whether a quantity rises, falls or stays over the levels of a factor.

    Notes
    -----
    It rises where the last level is certainly above the first (95 %), and every step certainly above minus the share
    that is allowed, or minus a tenth of the whole way: levels that are nearly equal where little happens do not keep a
    quantity that grows tenfold afterwards from rising. The steps share 5 % of error (Bonferroni). One step certainly
    below, or a last level certainly below the first, refutes it. It stays where every level differs from the first by
    certainly less than the share allowed.
    """
    course = _course(given, places, skip_inner=True)
    if len(course) < 2:
        raise UntestableError(f"{given.over} has one level only in this preset")
    seen = _stays(course, given.allow) if holds.name == "stays" else _moves(course, given.allow, holds.name)
    return {
        "verdict": seen,
        "measured": ratio_interval(course[-1][1], course[0][1]).document(),
        "levels": [{"level": level, "measured": estimate.document()} for level, estimate in course],
    }


def extreme(kind: str, given: CourseMeasure, holds: AtLevels, places: Places) -> Json:
    """Whether the level at which a quantity is highest or lowest is one of those named.

    Notes
    -----
    A level may be the one where no other is certainly beyond it, all comparisons of one level together at 95 %
    (Bonferroni): so the true one is left out with a probability of at most 5 % [1]_.

    References
    ----------
    .. [1] S. S. Gupta, "On some multiple decision (selection and ranking) rules", Technometrics 7(2), 225-245, 1965,
           doi:10.1080/00401706.1965.10490251 (the idea of a subset that holds the best; bounds here by Bonferroni).
    """
    course = _course(given, places, skip_inner=False)
    names = [level for level, _ in course]
    allowed = _allowed(given.over, holds, names)
    upward = kind == HIGHEST
    may_be = [level for level in names if _may_be(level, course, upward=upward)]
    best = (max if upward else min)(course, key=lambda pair: pair[1].value or 0.0)[0]
    inside = [level in allowed for level in may_be]
    return {
        "verdict": True if all(inside) else None if any(inside) else False,
        "measured": None,
        "found": best,
        "may_be": may_be,
        "levels": [{"level": level, "measured": estimate.document()} for level, estimate in course],
    }


def _allowed(factor: str, holds: AtLevels, names: list[str]) -> list[str]:
    if not holds.levels:
        if len(names) < _INSIDE_AT_LEAST:
            raise UntestableError(f"{factor} has fewer than three levels in this preset")
        return names[1:-1]
    words = {"first": names[0], "last": names[-1]}
    found = [level if level in names else words.get(level) for level in holds.levels]
    allowed = [level for level in found if level in names]
    if not allowed:
        raise UntestableError(f"{factor} {' or '.join(holds.levels)} is not in this preset")
    return [str(level) for level in allowed]


def _course(given: CourseMeasure, places: Places, *, skip_inner: bool) -> Course:
    """The quantity at each level; an inner level without runs may be left out, and is named."""
    at, levels = places.one_place(given.at), places.levels_of(given.over)
    found: Course = []
    for number, level in enumerate(levels):
        try:
            found.append((level, _there(given, {**at, given.over: level}, places)))
        except UntestableError as why:
            if not skip_inner or number in (0, len(levels) - 1):
                raise
            places.left_out.append(str(why))
    return found


def _there(given: CourseMeasure, place: Levels, places: Places) -> Estimate:
    here = places.quantity(given.of, given.per, place)
    if not given.to:
        return here
    return ratio_interval(here, places.quantity(given.of, given.per, {**place, **places.one_place(given.to)}))


def _moves(course: Course, allow: float, direction: str) -> bool | None:
    confidence = 1 - (1 - CONFIDENCE) / (len(course) - 1)
    steps, way = [], abs((course[-1][1].value or 0.0) - (course[0][1].value or 0.0))
    for (_, before), (_, after) in pairwise(course):
        first, second = (before, after) if direction == "falls" else (after, before)
        free = max(allow * abs(before.value or 0.0), _OF_THE_WAY * way)
        steps.append(_above(difference_interval(first, second, confidence), -free))
    ends = (course[0][1], course[-1][1]) if direction == "falls" else (course[-1][1], course[0][1])
    whole = _above(difference_interval(*ends), 0.0)
    return _together([*steps, whole])


def _stays(course: Course, allow: float) -> bool | None:
    first = course[0][1]
    free = allow * abs(first.value or 0.0)
    confidence = 1 - (1 - CONFIDENCE) / (len(course) - 1)
    found = []
    for _, other in course[1:]:
        change = difference_interval(other, first, confidence)
        opposite = Estimate(None) if change.value is None else difference_interval(first, other, confidence)
        found.append(_together([_above(change, -free), _above(opposite, -free)]))
    return _together(found)


def _above(difference: Estimate, bound: float) -> bool | None:
    """Whether a difference is certainly above a bound (true), certainly below (false), or neither."""
    if difference.low is None or difference.high is None:
        return None
    return True if difference.low > bound else False if difference.high < bound else None


def _together(parts: list[bool | None]) -> bool | None:
    """All must hold; one that certainly does not is enough to refute them."""
    if any(part is False for part in parts):
        return False
    return True if all(parts) else None


def _may_be(level: str, course: Course, *, upward: bool) -> bool:
    """Whether no other level is certainly beyond this one."""
    mine = dict(course)[level]
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(course) - 1)
    for name, other in course:
        if name != level:
            beyond = (
                difference_interval(other, mine, confidence) if upward else difference_interval(mine, other, confidence)
            )
            if _above(beyond, 0.0):
                return False
    return True
