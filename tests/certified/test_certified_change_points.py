"""Change points: published cases V55, V59 and V60 of Apache Otava, and cases with a known result."""

from __future__ import annotations

import numpy as np
import pytest
from cases import case, column

from towtank.analysis.statistics.change_points import change_points, lasting_steps


def indexes(values, **settings):
    return [change.index for change in change_points(values, **settings)]


@pytest.mark.parametrize("series", ["series1", "series2"])
def test_one_change_is_found_where_it_is(series):
    about = case("V55")
    found = change_points(
        about["inputs"][series], max_p_value=about["inputs"]["max_pvalue"], window=about["inputs"]["window_len"]
    )
    assert [change.index for change in found] == about["verified"][series]
    values = np.array(about["inputs"][series])
    assert found[0].before == pytest.approx(values[: found[0].index].mean())
    assert found[0].after == pytest.approx(values[found[0].index :].mean())


@pytest.mark.parametrize("setting", list(case("V59")["verified"]))
def test_a_long_series_has_the_published_changes(setting):
    level, magnitude = (float(part.partition("=")[2]) for part in setting.split(","))
    about = case("V59")
    found = indexes(
        column("value", about["inputs"]["csv"]),
        max_p_value=level,
        min_magnitude=magnitude,
        window=about["inputs"]["window_len"],
    )
    assert found == about["verified"][setting]


def test_two_steps_of_a_short_series():
    about = case("V60")
    assert indexes(about["inputs"]["series"], max_p_value=0.01) == about["verified"]["indexes"]


def test_the_energy_distance_is_that_of_its_definition():
    # The test computes the energy distances of all pairs of segments term by term, because running sums could hide
    # rounding errors. The candidate for a change point has the largest distance.
    values = np.random.default_rng(3).normal(size=12) + np.repeat([0.0, 5.0], 6)

    def mean_distance(left, right):
        return float(np.abs(left[:, None] - right[None, :]).mean())

    def within(part):
        count = len(part)
        return mean_distance(part, part) * count / (count - 1) if count > 1 else 0.0

    def quality(start, end):
        left, right = values[:start], values[start:end]
        energy = 2 * mean_distance(left, right) - within(left) - within(right)
        return len(left) * len(right) / (len(left) + len(right)) * energy

    best = max((quality(start, end), start) for end in range(2, 13) for start in range(1, end))
    assert best[1] == 6
    assert indexes(values) == [6]


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 9.0], [4.0] * 30], ids=["none", "one", "two", "constant"])
def test_nothing_is_found_if_nothing_can_be_distinguished(values):
    assert indexes(values) == []
    assert lasting_steps(np.array(values), 0.001) == []


def autoregressive(count, coefficient, seed):
    noise = np.random.default_rng(seed).normal(size=count)
    values = np.empty(count)
    values[0] = noise[0]
    for place in range(1, count):
        values[place] = coefficient * values[place - 1] + np.sqrt(1 - coefficient**2) * noise[place]
    return values


def test_a_temporary_excursion_is_found_and_noise_is_not():
    quiet = 100 + 2 * autoregressive(300, 0.4, 5)
    assert lasting_steps(quiet, 1e-6) == []
    busy = quiet.copy()
    busy[150:200] -= 15
    found = [(index, round(after - before)) for index, before, after in lasting_steps(busy, 1e-6)]
    assert [index for index, _ in found] == [150, 200]
    assert all(abs(abs(change) - 15) <= 2 for _, change in found)


def test_dependent_noise_is_no_staircase():
    # The series are first-order autoregressive noise with r = 0.8. A test for independent observations (`indexes`)
    # reports steps in more than half of them.
    series = [autoregressive(60, 0.8, seed) for seed in range(40)]
    assert sum(bool(indexes(values)) for values in series) > 20
    assert sum(bool(lasting_steps(values, 1e-6)) for values in series) <= 2
