from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from towtank.analysis import Estimate
from towtank.sizing import simulated_pool
from towtank.sizing.interval import Interval
from towtank.sizing.resources import PoolSize
from towtank.sizing.rules.measured import _above_one


@pytest.mark.parametrize(
    ("wait_s", "high", "waits", "enlarged"),
    [
        (0.1, 0.1, [], False),
        (0.1, 0.11, [], True),
        (0.11, 0.11, [], True),
        (0.09, 0.2, [0.1] * 9 + [0.2], False),
        (0.09, 0.2, [0.1] * 8 + [0.2] * 2, True),
        (0.11, 0.2, [0.1] * 10, True),
    ],
)
def test_a_pool_is_enlarged_until_enough_draws_wait_no_longer_than_the_limit(
    monkeypatch: pytest.MonkeyPatch, wait_s: float, high: float, waits: list[float], enlarged: bool
) -> None:
    """A pool of 16 units is enlarged to 18 if its wait is above 0.1 s, or if this is so in over 10 % of the samples.

    Without random samples, it is enlarged if the upper end of the interval of the wait is above 0.1 s.
    """
    first = simulated_pool._Wait(16, wait_s, Interval(0.0, high))
    found = iter([first, simulated_pool._Wait(18, 0.05, Interval(0.0, 0.06))])
    drawn = iter([waits, [0.05] * len(waits)])
    monkeypatch.setattr(simulated_pool, "_is_coarse", lambda *_: True)
    monkeypatch.setattr(simulated_pool, "_simulated_wait", lambda *_: next(found))
    monkeypatch.setattr(simulated_pool, "_drawn_waits", lambda *_: next(drawn))
    question: Any = SimpleNamespace(file=SimpleNamespace(probability=0.9))
    outcomes: Any = [SimpleNamespace(job=None)]
    pool = PoolSize("db", 16, 2.0, 4, 0.1, 0.1)
    steps: Any = SimpleNamespace(add=lambda _: None)
    made = simulated_pool.simulated_pool(question, None, outcomes, pool, steps)  # type: ignore[arg-type]
    assert (made.size, made.simulated) == (18 if enlarged else 16, True)
    assert made.probability == (None if not waits else 1.0 if enlarged else 0.9)


@pytest.mark.parametrize(
    ("given", "above"),
    [
        ((0.5, 0.4, 0.8), (2.0, 1.25, 2.5)),
        ((1.0, 0.9, 1.2), (1.0, 0.9, 1.2)),
        ((2.0, 1.5, 3.0), (2.0, 1.5, 3.0)),
        ((0.5, None, None), (2.0, None, None)),
    ],
)
def test_a_ratio_below_one_is_turned_with_its_interval(given: tuple[Any, ...], above: tuple[Any, ...]) -> None:
    found = _above_one(Estimate(*given))
    assert (found.value, found.low, found.high) == above
