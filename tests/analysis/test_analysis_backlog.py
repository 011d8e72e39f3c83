from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from towtank.analysis.backlog import backlog


def measured(
    in_flight: list[float], waiting: list[float], exchange_s: float = 0.1, rate: float = 40.0, within_s: float = 0.0
) -> Any:
    """Return measured seconds with a constant rate of requests, constant exchange time, and constant wait within the
    generator.

    `in_flight` and `waiting` are the numbers of requests and arrivals at the end of each second.
    """
    count = len(in_flight)
    starts = np.arange(count, dtype=float)
    return SimpleNamespace(
        requests=SimpleNamespace(
            exchange=SimpleNamespace(counts=np.full((count, 1), rate)),
            exchange_sum_s=np.full(count, rate * exchange_s),
            response_sum_s=np.full(count, rate * (exchange_s + within_s)),
        ),
        in_flight=np.array(in_flight),
        waiting=np.array(waiting),
        starts=starts,
        ends=starts + 1,
        length_of=lambda chosen: float(chosen.sum()),
    )


def from_second(first: int, count: int) -> Any:
    return np.arange(count) >= first


def test_excess_is_what_three_deviations_do_not_explain() -> None:
    """The excess of a number is the part above its mean plus three standard deviations.

    By Little's law, on average 40 /s * 0.1 s = 4 requests are in flight. In the second half of the window, 9 arrivals
    wait. The standard deviation of a Poisson number with mean m is sqrt(m). So the excess of the 30 requests in flight
    is 30 - (4 + 3 * 2) = 20, and the excess of the 25 waiting arrivals is 25 - (9 + 3 * 3) = 7.
    """
    found = backlog(measured([30.0, 20, 5, 4, 4, 4, 4], [25.0, 20, 13, 12, 9, 9, 9]), from_second(1, 7))
    assert found is not None
    assert (found.needs, found.swing) == (pytest.approx(4.0), pytest.approx(2.0))
    assert found.excess_at_start == pytest.approx(20 + 7)
    assert (found.at_start, found.at_end) == (30, 4)
    assert (found.waiting_at_start, found.waiting_at_end) == (25, 9)
    # At 3 s, the backlog is first within 4 + 2 requests in flight and 9 + 3 arrivals waiting.
    assert found.drained_s == pytest.approx(3.0)


def test_arrivals_that_wait_are_an_excess_of_their_own() -> None:
    found = backlog(measured([4.0] * 7, [25.0, 20, 13, 12, 9, 9, 9]), from_second(1, 7))
    assert found is not None
    assert found.excess_at_start == pytest.approx(7)
    assert found.drained_s == pytest.approx(3.0)


def test_seconds_that_swing_more_than_a_poisson_number_say_so() -> None:
    """A measured standard deviation that exceeds that of a Poisson number is used instead.

    The numbers 0, 8, 0 and 8 of requests in flight have the standard deviation sqrt(4 * 4^2 / 3) = 4.6. A Poisson
    number with mean 4 has the standard deviation 2.
    """
    found = backlog(measured([30.0, 4, 4, 4, 4, 0, 8, 0, 8], [0.0] * 9), from_second(1, 9))
    assert found is not None
    assert found.swing == pytest.approx(math.sqrt(64 / 3))
    assert found.excess_at_start == pytest.approx(30 - 4 - 3 * math.sqrt(64 / 3))


def test_what_waits_within_the_generator_is_no_backlog() -> None:
    """A request waits for 165 ms in the generator and spends 35 ms at the server.

    So 40 /s * 0.2 s = 8 requests are in progress, which are no backlog.
    """
    found = backlog(measured([8.0] * 9, [0.0] * 9, exchange_s=0.035, within_s=0.165), from_second(1, 9))
    assert found is not None
    assert found.needs == pytest.approx(8.0)
    assert found.excess_at_start == 0.0


def test_what_never_rests_is_never_drained() -> None:
    found = backlog(measured([90.0] * 9, [0.0] * 9), from_second(1, 9))
    assert found is not None
    assert found.excess_at_start > 0
    assert found.drained_s is None


def test_at_the_start_of_a_run_nothing_is_in_hand() -> None:
    found = backlog(measured([4.0] * 4, [0.0] * 4), from_second(0, 4))
    assert found is not None
    assert (found.at_start, found.waiting_at_start) == (0, 0)
    assert (found.excess_at_start, found.drained_s) == (0.0, 0.0)


def test_three_seconds_have_no_halves() -> None:
    assert backlog(measured([4.0] * 4, [0.0] * 4), from_second(1, 4)) is None
