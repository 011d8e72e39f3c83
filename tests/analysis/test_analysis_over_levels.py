"""Claims that a value falls, rises or stays over all levels of a factor, with an allowed deviation."""

from __future__ import annotations

import pytest

from towtank.analysis.claims.over_levels import LevelSeries, Step, _may_be, _moves, _stays, _together, ratio_of
from towtank.analysis.statistics import ratio_interval
from towtank.analysis.statistics.estimates import CONFIDENCE, Estimate


def series(*values: float, half: float = 0.5) -> LevelSeries:
    """Return levels with the given means over nine runs each; each mean has a 95 % interval of the given half width."""
    return [
        (str(number), Estimate(value, value - half, value + half, "runs", 9)) for number, value in enumerate(values)
    ]


def verdict(steps: list[Step]) -> bool | None:
    return _together([step.holds for step in steps])


@pytest.mark.parametrize(
    ("values", "allow", "falls"),
    [
        ((100, 90, 80), 0.0, True),
        ((100, 105, 80), 0.0, False),
        # The increase by 5 is within the allowed deviation, a tenth of the first value, 100.
        ((100, 105, 80), 0.1, True),
        ((100, 115, 80), 0.1, False),
        # Even if no deviation is allowed, a rise of 0.2 is accepted. A rise of 2.0, a tenth of the total change, makes
        # the verdict undecided.
        ((100, 100.2, 80), 0.0, True),
        ((100, 102, 80), 0.0, None),
        # Each single step is within the allowed deviation, but the last level is above the first, so the series does
        # not fall.
        ((100, 102, 104), 0.1, False),
    ],
)
def test_a_series_falls_by_its_steps_and_as_a_whole(
    values: tuple[float, ...], allow: float, falls: bool | None
) -> None:
    assert verdict(_moves(series(*values), allow, "falls", CONFIDENCE)) is falls
    mirrored = series(*(200 - value for value in values))
    if allow == 0.0:
        assert verdict(_moves(mirrored, 0.0, "rises", CONFIDENCE)) is falls


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
def test_a_series_stays_within_a_share_of_its_first_level(
    values: tuple[float, ...], allow: float, stays: bool | None
) -> None:
    assert verdict(_stays(series(*values), allow, CONFIDENCE)) is stays


def test_the_ratio_of_two_times_is_not_below_zero() -> None:
    """A ratio of two times is never negative, so its interval is computed with logarithms: 10 exp(+-1.60).

    Fieller's method would give 100 [0, 260] divided by 10 [9, 11] an interval from -5.5.
    """
    first, last = Estimate(10.0, 9.0, 11.0, "batch means", 30), Estimate(100.0, 0.0, 260.0, "batch means", 3)
    found = ratio_interval(last, first)
    assert (found.low, found.high) == (pytest.approx(2.0, abs=0.1), pytest.approx(50.0, abs=2.5))
    assert (found.low or 0.0) * (found.high or 0.0) == pytest.approx(10.0**2)
    assert ratio_of(last, first) == found
    below = Estimate(100.0, -60.0, 260.0, "batch means", 3)
    assert ratio_of(below, first).low == ratio_interval(below, first).low < 0


def test_a_level_may_be_the_highest_unless_another_one_is_certainly_above() -> None:
    found = series(100, 100.3, 90)
    assert [_may_be(level, found, CONFIDENCE, upward=True) for level in "012"] == [True, True, False]
    assert [_may_be(level, found, CONFIDENCE, upward=False) for level in "012"] == [False, False, True]


def test_a_step_that_cannot_be_explained_leaves_the_reason_to_the_next() -> None:
    """The first step has no interval, so it gives no reason for the verdict. The interval of the second step does not
    exclude a rise, which is the reason stated.
    """
    levels = [("0", Estimate(90.5)), *series(90, 90)]
    steps = [step for step in _moves(levels, 0.0, "falls", CONFIDENCE) if step.holds is None]
    texts = [step.why("users", "s") for step in steps]
    assert texts[0] == ""
    assert texts[1].startswith("from users 0 to 1 the quantity may rise by up to ")
    assert (
        Step("0 to 1", "fall", Estimate(0.0, 0.0, 0.0), 0.0)
        .why("users", "s")
        .endswith("too close to the allowed bound to decide")
    )
