from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from towtank.model.fitting.demand_estimators import Series
from towtank.model.fitting.demand_series import RunSeries, _busy, pooled
from towtank.model.fitting.measured import Resource
from towtank.model.fitting.mix import _scatter
from towtank.model.fitting.networks.groups import BY_RESPONSE, grouped
from towtank.model.fitting.networks.seconds import Measured, Run, _classes, _run
from towtank.robust import huber, robust_scale

SECONDS = 4


def observed(disks: dict[str, list[float]], last: set[str]) -> Any:
    """Return observations of a tier and of disks. The part `unseen` of the tier has no data; only the disks in `last`
    exist at the end.
    """
    parts = [SimpleNamespace(name="database"), SimpleNamespace(name="unseen")]
    tracks = {name: SimpleNamespace(by_bin=lambda *_, name=name: np.array(disks[name])) for name in disks}
    return SimpleNamespace(
        tiers={"content": {}},
        cpu_s=lambda tier, measurement: np.full(SECONDS, 0.3),
        parts=lambda tier: parts,
        part_cpu_s=lambda tier, part, measurement: np.full(SECONDS, 0.1) if part.name == "database" else None,
        samples=SimpleNamespace(
            samples=[{"disks": dict.fromkeys(disks)}, {"disks": dict.fromkeys(disks)}, {"disks": dict.fromkeys(last)}],
            track=lambda kind, disk, key: tracks[disk],
        ),
    )


def test_busy_time_is_reported_by_resource_part_and_disk() -> None:
    """Busy time is reported for the tier, for its part `database`, and for the disk `vda`.

    Each second, the tier uses 0.3 s of CPU time. With a quota of half a CPU, its only server is then busy for 0.3 / 0.5
    = 0.6 s, and the 0.1 s of the database are 0.2 s. A disk that is almost idle, or no longer exists, is left out.
    """
    starts = np.arange(SECONDS, dtype=float)
    measurement = SimpleNamespace(starts=starts, ends=starts + 1, lengths=np.ones(SECONDS))
    disks = {"vda": [0.2] * SECONDS, "idle": [0.01] * SECONDS, "gone": [0.2] * SECONDS}
    data: Any = SimpleNamespace(measurement=measurement, observed=observed(disks, {"vda", "idle"}))
    found = _busy(data, [Resource("content", 1, ("content",), 0.5)])
    assert set(found) == {"content", "content / database", "disk vda"}
    assert found["content"] == pytest.approx(0.6)
    assert found["content / database"] == pytest.approx(0.2)
    assert found["disk vda"] == pytest.approx(0.2)


def run_series(name: str, counts: dict[str, list[float]], busy: list[float]) -> RunSeries:
    columns = {key: np.array(values) for key, values in counts.items()}
    sums = {key: 0.5 * values for key, values in columns.items()}
    return RunSeries(name, np.full(len(busy), 2.0), columns, sums, {"cpu": np.array(busy)})


def test_intervals_of_runs_are_pooled_as_rates() -> None:
    first = run_series("r1", {"a": [4, 2, 0, 2, 4, 2]}, [1.0, 0.5, 0.1, 0.5, 1.0, np.nan])
    second = run_series("r2", {"a": [2, 2, 2, 2], "b": [6, 4, 2, 0]}, [1.2, 1.0, 0.8, 0.6])
    found = pooled([first, second], "cpu", 2, timed=True)
    assert found is not None
    series, names = found
    assert names == ["a", "b"]
    assert series.busy == pytest.approx([0.5, 0.25, 0.05, 0.25, 0.5, 0.6, 0.5, 0.4, 0.3])
    assert series.rates[:, 0] == pytest.approx([2, 1, 0, 1, 2, 1, 1, 1, 1])
    assert series.rates[:, 1] == pytest.approx([0, 0, 0, 0, 0, 3, 2, 1, 0])
    assert list(series.stretches) == [0] * 5 + [1] * 4
    assert series.responses is not None
    assert np.isnan(series.responses[2, 0])
    assert series.responses[5] == pytest.approx([0.5, 0.5])
    # Two classes and a background are three demands, which need at least nine intervals. With fewer, there is no
    # series.
    assert pooled([first, run_series("r2", {"b": [6, 4, 2]}, [1.2, 1.0, 0.8])], "cpu", 2, timed=True) is None


def test_scatter_of_a_run_is_what_its_own_demands_leave() -> None:
    """The scatter is the part of the variation of busy time that the given demands leave unexplained.

    The demands of each run itself explain all of its variation, so the scatter is 0.
    """
    rates = np.array([[1.0, 3.0], [2.0, 1.0], [3.0, 2.0]])
    demands = [np.array([0.1, 0.3]), np.array([0.4, 0.1])]
    busy = np.concatenate([rates @ demand for demand in demands])
    series = Series(busy, np.vstack([rates, rates]), None, 1, np.repeat([0.0, 1.0], 3))
    assert _scatter(series, demands) == pytest.approx(0.0, abs=1e-12)
    # The scatter with equal demands of all classes is the unit, so it is 1 here.
    assert _scatter(series, [np.ones(2)] * 2) == pytest.approx(1.0)
    # One of the two runs has demands that explain all of its scatter, so half of the scatter is left.
    assert _scatter(series, [demands[0], np.ones(2)]) == pytest.approx(0.5)


def test_a_line_that_most_points_lie_on_is_left_as_it_is() -> None:
    design = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    start = np.array([1.0, 2.0])
    assert huber(design, np.array([1.0, 3.0, 5.0, 99.0]), start) == pytest.approx(start)


@pytest.mark.parametrize("columns", ["independent", "of very different sizes", "collinear", "with a far outlier"])
def test_hubers_estimator_is_a_root_of_its_equation(columns: str) -> None:
    # The estimate is a root of sum x psi(e / s), with psi(u) = max(-k, min(k, u)) and the residuals e of scale s.
    stream = np.random.default_rng(4)
    design = np.hstack([np.ones((60, 1)), stream.poisson(5, (60, 2)).astype(float)])
    values = design @ [1.0, 2.0, 3.0] + stream.standard_normal(60)
    values[:6] += 40
    if columns == "of very different sizes":
        design *= [1.0, 1e-4, 1e5]
    elif columns == "collinear":
        design = np.hstack([design, design[:, 1:2]])
    elif columns == "with a far outlier":
        values[7] = 1e12
    start = np.linalg.lstsq(design, values, rcond=None)[0]
    found = huber(design, values, start)
    misses = values - design @ found
    psi = np.clip(misses / robust_scale(misses), -1.345, 1.345)
    # Each step reduces the distance to the root by a factor, so that after 30 steps a small part of it is left.
    sizes = np.sqrt((design**2).sum(axis=0))
    assert np.abs(design.T @ psi / sizes).max() < 1e-4
    if columns == "collinear":
        # Among all estimates with the same values, the shortest is returned, which divides equally.
        assert found[1] == pytest.approx(found[3])
        assert found[1] + found[3] == pytest.approx(2.0, abs=0.3)


def test_busy_time_of_servers_is_reported_in_cpus() -> None:
    """Two intervals are reported. A server of half a CPU that is busy for 1.2 s uses 0.6 s of CPU time."""
    run = run_series("r1", {"a": [4, 2], "rare": [1, 0]}, [1.2, 0.4])
    stations = (Resource("cpu", 1, ("content",), 0.5), Resource("disk vda", 1, ()))
    found = _run(3, run, ("a",), stations)
    assert found.level == 3
    assert found.busy[:, 0] == pytest.approx([0.6, 0.2])
    assert found.counts[:, 0] == pytest.approx([4, 2])
    assert found.response_sums[:, 0] == pytest.approx([2, 1])


def test_a_class_needs_twenty_transactions_in_all() -> None:
    runs = [
        run_series("r1", {"a": [10, 0], "b": [10, 0]}, [1, 1]),
        run_series("r2", {"a": [0, 10], "b": [9, 0]}, [1, 1]),
    ]
    assert _classes(runs) == ("a",)


def measured_of(rates: np.ndarray, busy: np.ndarray, response_s: tuple[float, ...]) -> Measured:
    """Return measurements of one level with intervals of one second; each class has the given response time."""
    classes = tuple(f"c{number}" for number in range(rates.shape[1]))
    run = Run(0, np.ones(len(busy)), rates, rates * np.array(response_s), busy[:, None])
    station = Resource("cpu", 1, ("content",))
    ones = np.ones(len(classes))
    return Measured("known", classes, (station,), np.array([10.0]), np.array([1.0]), np.zeros((1, 1)), ones, (run,))


@pytest.mark.parametrize("size", [1.0, 1e-6, 1e6])
def test_groups_do_not_depend_on_how_busy_a_resource_is(size: float) -> None:
    """Demands of 1 and 3 with little noise form separate groups, in whatever unit busy time is given."""
    stream = np.random.default_rng(6)
    rates = stream.uniform(1, 20, (200, 2))
    busy = size * (rates @ np.array([1e-3, 3e-3]) + 1e-4 * stream.standard_normal(200))
    found = grouped(measured_of(rates, busy, (1e9, 1e9)), 0)
    assert len(found.groups) == 2


def test_an_exact_line_joins_what_noise_would_not() -> None:
    """Two classes in fixed proportions cannot be distinguished, so they form one group. Rounding errors of an exact
    line must not separate them.
    """
    stream = np.random.default_rng(6)
    first = stream.uniform(1, 20, 60)
    rates = np.stack([first, 2 * first], axis=1)
    found = grouped(measured_of(rates, rates @ np.array([1e3, 3e3]), (1e9, 1e9)), 0)
    assert len(found.groups) == 1


def test_a_parameter_more_must_be_worth_its_penalty() -> None:
    """Three classes with different demands stay in one group, because the noise hides the differences.

    With 14 intervals, the criterion is 14 ln(sum of squares) plus the penalty 2 x 14 (k + 1) / (14 - k - 2) for k
    parameters. A second group reduces the first term by only 0.8, but raises the penalty from 5.1 to 8.4.
    """
    stream = np.random.default_rng(52)
    rates = stream.uniform(1, 20, (14, 3))
    busy = 0.05 + 1e-3 * rates @ np.array([1.0, 2.0, 4.0]) + 0.02 * stream.standard_normal(14)
    found = grouped(measured_of(rates, busy, (1e6, 2e6, 4e6)), 0)
    assert (found.within, found.groups) == (BY_RESPONSE, ((0, 1, 2),))
