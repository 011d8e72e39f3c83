from __future__ import annotations

import math

import numpy as np
import pytest

from towtank.robust import robust_scale


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 60, 61])
def test_the_scale_is_that_of_the_medians_of_numpy(count: int) -> None:
    stream = np.random.default_rng(count)
    for _ in range(50):
        values = stream.normal(size=count) * stream.lognormal(sigma=3.0)
        known = 1.4826 * float(np.median(np.abs(values - np.median(values))))
        assert robust_scale(values) == known


def test_a_value_that_is_unknown_makes_the_scale_unknown() -> None:
    assert math.isnan(robust_scale(np.array([1.0, math.nan, 3.0])))
