"""Claims about a course of levels: falls, rises and stays, with what is allowed, by hand."""

from __future__ import annotations

import pytest

from towtank.analysis.claims.courses import Course, _may_be, _moves, _stays
from towtank.analysis.statistics.estimates import Estimate


def course(*values: float, half: float = 0.5) -> Course:
    """Levels with means of nine runs each and intervals of 95 % of this half width."""
    return [
        (str(number), Estimate(value, value - half, value + half, "runs", 9)) for number, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "allow", "falls"),
    [
        ((100, 90, 80), 0.0, True),
        ((100, 105, 80), 0.0, False),
        # Five more than before are within a tenth of 100.
        ((100, 105, 80), 0.1, True),
        ((100, 115, 80), 0.1, False),
        # A step back within a tenth of the whole way is allowed; 2.0 of 20 is at its edge.
        ((100, 100.2, 80), 0.0, True),
        ((100, 102, 80), 0.0, None),
        # Each step may rise a little, but the last level is above the first.
        ((100, 102, 104), 0.1, False),
    ],
)
def test_a_course_falls_by_its_steps_and_as_a_whole(
    values: tuple[float, ...], allow: float, falls: bool | None
) -> None:
    assert _moves(course(*values), allow, "falls") is falls
    mirrored = course(*(200 - value for value in values))
    if allow == 0.0:
        assert _moves(mirrored, 0.0, "rises") is falls


@pytest.mark.parametrize(
    ("values", "allow", "stays"),
    [
        ((100, 104, 96), 0.1, True),
        ((100, 104, 85), 0.1, False),
        ((100, 104, 115), 0.1, False),
        ((100, 104, 110), 0.1, None),
        ((100, 100, 100), 0.0, None),
    ],
)
def test_a_course_stays_within_a_share_of_its_first_level(
    values: tuple[float, ...], allow: float, stays: bool | None
) -> None:
    assert _stays(course(*values), allow) is stays


def test_a_level_may_be_the_highest_unless_another_one_is_certainly_above() -> None:
    found = course(100, 100.3, 90)
    assert [_may_be(level, found, upward=True) for level in "012"] == [True, True, False]
    assert [_may_be(level, found, upward=False) for level in "012"] == [False, False, True]
