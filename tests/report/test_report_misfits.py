from __future__ import annotations

from typing import Any

import pytest

from towtank.model import FittedConfiguration
from towtank.report.content import misfits
from towtank.report.figures import residuals


def fitted(*levels: tuple[float, float, float | None, float], **more: Any) -> FittedConfiguration:
    """Return a fitted model; `more` are further values of each point.

    Each level has a load, the measured throughput, its standard error, and the throughput of the curve.

    Users think for 1 s.
    """
    points = [
        {"name": f"r{number}", "load": load, "throughput": seen, "standard_error": error, "fitted_throughput": curve,
         "response_s": load / (seen or load) - 1.0, "think_s": 1.0, **more}
        for number, (load, seen, error, curve) in enumerate(levels)
    ]  # fmt: skip
    return FittedConfiguration.model_validate({"label": "nodes one", "points": points})


def test_a_curve_that_misses_a_level_by_two_standard_errors_says_so() -> None:
    # At 160 users, the measured throughput is 55.1 /s with a standard error of 1.59 /s, while the fitted curve predicts
    # 67.1 /s.
    configuration = fitted((20, 19.2, 0.72, 18.9), (45, 41.3, 1.2, 41.2), (160, 55.1, 1.59, 67.1))
    (callout,) = misfits.callouts([configuration])
    said = callout.content[0][0].text
    assert (
        "by more than two standard errors from the throughput measured at 160; at 160 the difference is +21.8 %" in said
    )
    assert said.endswith("Its predictions there and at higher loads may have errors of this size or larger.")
    assert [found.is_beyond for found in residuals.misfits(configuration)] == [False, False, True]
    last = list(residuals.misfits(configuration))[-1]
    assert last.fitted_response_s == pytest.approx(160 / 67.1 - 1)


def test_a_miss_says_nothing_of_higher_levels_that_the_curve_meets() -> None:
    configuration = fitted((20, 19.2, 0.2, 25.0), (20, 19.1, 0.2, 25.0), (45, 41.3, 1.2, 41.2), (160, 55.1, 1.59, 55.0))
    (callout,) = misfits.callouts([configuration])
    said = callout.content[0][0].text
    assert "at 20 the difference is +30.9 %. Its predictions there may have errors of this size." in said
    assert "higher loads" not in said


def test_a_curve_within_its_intervals_or_without_any_is_not_blamed() -> None:
    configuration = fitted((20, 19.2, 0.72, 18.9), (160, 55.1, None, 67.1))
    assert list(misfits.callouts([configuration])) == []
    assert [found.is_beyond for found in residuals.misfits(configuration)] == [False, None]


def test_the_response_time_of_the_curve_is_that_of_littles_law() -> None:
    """By Little's law, 100 users who think for 4 s have the response time R = 100 / X - 4 s at the throughput X.

    This is 1 s at the 20 /s of the curve. At its band from 16 to 22.2 /s, R is from 2.25 to 0.5 s.
    """
    configuration = fitted((100, 10.0, 5.0, 20.0), think_s=4.0, fitted_throughput_band_95=[16.0, 200 / 9])
    (found,) = residuals.misfits(configuration)
    assert found.fitted_response_s == pytest.approx(1.0)
    assert found.response_band == pytest.approx((0.5, 2.25))
    assert (found.share, found.is_beyond) == (1.0, False)


def test_a_curve_above_the_rate_of_users_that_never_wait_has_no_response_time() -> None:
    """100 users who think for 4 s cause at most 100 / 4 s = 25 transactions/s, if their response time is 0.

    At 25 /s, the curve has no response time. At 24 /s it has one, and the upper end of its band is that at 23 /s.
    """
    levels = ((100, 20.0, 1.0, 25.0), (100, 20.0, 1.0, 24.0))
    configuration = fitted(*levels, think_s=4.0, fitted_throughput_band_95=[23.0, 26.0])
    above, below = residuals.misfits(configuration)
    assert (above.fitted_response_s, above.response_band) == (None, (None, None))
    assert below.fitted_response_s == pytest.approx(100 / 24 - 4)
    assert below.response_band == pytest.approx((0.0, 100 / 23 - 4))


def test_levels_come_in_order_of_load_and_only_with_both_throughputs() -> None:
    configuration = fitted((40, 20.0, 1.0, 21.0), (10, 5.0, 1.0, 5.5), (20, 10.0, 1.0, 0.0), (80, 0.0, 1.0, 21.0))
    assert [(found.load, found.run) for found in residuals.misfits(configuration)] == [(10, "r1"), (40, "r0")]
