from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import optimize, stats

from towtank.model import fitted_error, load_model, solve_models
from towtank.model.demand_file import LevelDemand
from towtank.model.fitting.capacity import _of_line
from towtank.model.fitting.curves import LINEAR, USL
from towtank.model.fitting.demand_levels import DemandOfLevels, demand_from_levels
from towtank.model.fitting.demands import ResourceDemand
from towtank.model.fitting.fit import fit_curve
from towtank.model.fitting.goodness import judge
from towtank.model.fitting.intervals import Bounded
from towtank.model.fitting.observations import observations
from towtank.model.fitting.replicates import further_measurement
from towtank.model.fitting.shape import CPU_TIME, Evidence, _sentence
from towtank.model.percentiles import EXACT_PERCENTILES, erlang_c, response_percentiles
from towtank.model.stations import stations_of

SHARES = (0.5, 0.9, 0.95, 0.99)


def percentiles(folder: Path, stations: dict[str, Any], classes: dict[str, Any], name: str) -> list[float]:
    """Return percentiles of the response time, which are approximated from its moments."""
    path = folder / "model.yaml"
    path.write_text(json.dumps({"classes": classes, "stations": stations}), "utf-8")
    model = load_model(path).document
    answer = solve_models([model])[0].solution
    found, method = response_percentiles(model, answer, stations_of(answer), name)
    assert method != EXACT_PERCENTILES
    return [found(share) for share in SHARES]


def gamma(mean: float, variance: float) -> list[float]:
    return [float(stats.gamma.ppf(share, mean**2 / variance, scale=variance / mean)) for share in SHARES]


def test_moments_of_m_m_2_and_a_delay_are_the_known_ones(tmp_path: Path) -> None:
    """The percentiles are those of a gamma distribution with the exact mean and variance of an M/M/2 queue and a delay.

    The wait at the queue is 0 with probability 1 - C, otherwise exponential with rate theta = m mu - lambda (Gross et
    al., section 2.3). So its mean is C / theta, and its variance C (2 - C) / theta^2. The delay d adds to the mean; an
    exponential delay also adds d^2 to the variance.
    """
    rate, service, delay = 12.0, 0.1, 0.05
    waits, theta = erlang_c(2, rate * service), 2 / service - rate
    mean = service + waits / theta + delay
    variance = service**2 + waits * (2 - waits) / theta**2
    queue = {"servers": 2, "demand": {"a": f"{service} s"}}
    classes = {"a": {"rate": f"{rate} /s"}}
    for variation, more in (("deterministic", 0.0), ("exponential", delay**2)):
        lan = {"discipline": "delay", "demand": {"a": f"{delay} s"}, "distribution": variation}
        found = percentiles(tmp_path, {"q": queue, "lan": lan}, classes, "a")
        assert found == pytest.approx(gamma(mean, variance + more), rel=1e-6), variation


@pytest.mark.parametrize("used", [0.3, 0.8])
def test_the_moments_of_a_shared_server_are_those_of_coffman(used: float, tmp_path: Path) -> None:
    """The percentiles are those of a gamma distribution with the exact mean and variance of processor sharing.

    For M/M/1, these are r = S / (1 - U) and r^2 (2 + U) / (2 - U) (Coffman, Muntz and Trotter, 1970). Three visits with
    a third of the demand each count as independent, so their means and their variances are added.
    """
    service = 0.1
    classes = {"a": {"rate": f"{used / service} /s"}}
    time = service / (1 - used)
    once = {"cpu": {"servers": 1, "discipline": "ps", "demand": {"a": f"{service} s"}}}
    variance = time**2 * (2 + used) / (2 - used)
    assert percentiles(tmp_path, once, classes, "a") == pytest.approx(gamma(time, variance), rel=1e-6)
    visits = {"a": {"visits": 3, "service_time": f"{service / 3!r} s"}}
    thrice = {"cpu": {"servers": 1, "discipline": "ps", **_by_visits(visits)}}
    assert percentiles(tmp_path, thrice, classes, "a") == pytest.approx(gamma(time, variance / 3), rel=1e-6)


def _by_visits(entries: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {key: {name: entry[key] for name, entry in entries.items()} for key in ("visits", "service_time")}


def test_percentiles_of_two_transactions_are_those_of_their_mixture(tmp_path: Path) -> None:
    """At a delay station, the times of both transactions are exponential, with means of 10 and 100 ms.

    80 % of the transactions are short, and 20 % are long. So the percentile t for the fraction p satisfies 1 - p = 0.8
    exp(-t / 10 ms) + 0.2 exp(-t / 100 ms).
    """
    transactions = {"short": {"share": "80 %"}, "long": {"share": "20 %"}}
    classes = {"a": {"users": 3, "think": "1 s", "transactions": transactions}}
    lan = {"discipline": "delay", "demand": {"short": "10 ms", "long": "100 ms"}, "distribution": "exponential"}
    found = percentiles(tmp_path, {"lan": lan}, classes, "a")

    def beyond(time: float) -> float:
        return 0.8 * math.exp(-time / 0.01) + 0.2 * math.exp(-time / 0.1)

    known = [optimize.brentq(lambda at, part=share: beyond(at) - (1 - part), 1e-6, 5.0, xtol=1e-12) for share in SHARES]
    assert found == pytest.approx(known, rel=1e-6)


def test_the_bend_of_busy_time_is_that_of_statsmodels() -> None:
    """The measured busy time is a parabola of the throughput X, plus noise.

    The p-value of the quadratic term, and the slopes at both ends, equal those of a regression on 1, X and X^2 by
    statsmodels.
    """
    rate = np.array([5.0, 10, 20, 35, 60, 80])
    busy = 0.05 + 0.008 * rate + 2e-5 * rate**2 + 0.01 * np.array([1, -2, 1, 2, -2, 0.5])
    found = demand_from_levels(rate, busy, 2)
    assert found is not None
    bend = found.load_dependence
    known = sm.OLS(busy, np.column_stack([np.ones(6), rate, rate**2])).fit()
    assert bend.p_value == pytest.approx(known.pvalues[2], rel=1e-6)
    slopes = [known.params[1] + 2 * known.params[2] * at for at in (5.0, 80.0)]
    assert [bend.demand_at_lowest_s, bend.demand_at_highest_s] == pytest.approx(slopes, rel=1e-6)
    for name, at in (("lowest", 5.0), ("highest", 80.0)):
        (ends,) = known.t_test([0.0, 1.0, 2 * at]).conf_int(0.05)
        assert getattr(bend, f"demand_at_{name}_interval") == pytest.approx(ends, rel=1e-6), name
    line = sm.OLS(busy, sm.add_constant(rate)).fit()
    for name, place in (("background", 0), ("demand_s", 1)):
        ends = line.conf_int(0.05)[place]
        estimate = getattr(found, name)
        assert [estimate.low, estimate.value, estimate.high] == pytest.approx(
            [ends[0], line.params[place], ends[1]], rel=1e-6
        ), name


@pytest.mark.parametrize("with_errors", [False, True])
def test_a_further_measurement_scatters_as_the_points_do(with_errors: bool) -> None:
    """The random error of a further measurement is s times a Student's t with f degrees of freedom.

    Its variance is s^2 f / (f - 2). s is the standard deviation of the residuals; if the errors of the points are
    known, residuals are first divided by these errors. 40,000 random errors show the standard deviation to 2 %.
    """
    load = np.array([1.0, 2, 4, 8, 12, 16, 24, 32, 40, 48])
    noise = 0.03 * np.array([1, -1, 2, -1, 0.5, -2, 1, 1, -1, -0.5])
    true = USL.throughput(np.array([[100.0, 0.04, 0.0005]]), load)[0]
    fit = fit_curve(USL, observations(load, true * (1 + noise), error=0.02 * true if with_errors else None))
    curves = np.tile(fit.throughput(np.array([10.0])), (40_000, 1))
    scatter = further_measurement(fit, np.array([10.0]), curves) - curves
    freedom = len(load) - 3
    # The load of 10 is midway between two levels, so its relative error is the mean of their relative errors.
    shares = fit.points.deviations / fit.points.throughput
    between = (shares[3] + shares[4]) / 2 * fit.throughput(np.array([10.0]))[0]
    scale = float(between if with_errors else fit.points.deviations[0])
    size = math.sqrt(float(fit.misses @ fit.misses) / freedom) * scale
    # Before residuals are drawn at random, their mean is subtracted, which reduces their variance.
    centred = math.sqrt(1 - len(load) * float(fit.misses.mean()) ** 2 / float(fit.misses @ fit.misses))
    assert float(np.std(scatter)) == pytest.approx(size * centred * math.sqrt(freedom / (freedom - 2)), rel=0.02)
    assert float(np.mean(scatter)) == pytest.approx(0.0, abs=4 * size / 200 * 1.3)


def test_lack_of_fit_is_the_test_of_two_nested_regressions() -> None:
    """The test compares a line through the origin with a separate mean for each level (Draper and Smith, section
    2.1).
    """
    load = np.repeat([1.0, 2.0, 4.0, 8.0], 3)
    rate = 10 * load * (1 + np.tile([0.01, -0.02, 0.015], 4)) - 0.02 * load**2
    fit = fit_curve(LINEAR, observations(load, rate))
    found = next(each for each in judge(fit, None).tests if each.test == "lack of fit")
    own = (load[:, None] == np.unique(load)[None, :]).astype(float)
    statistic, p_value, extra = sm.OLS(rate, own).fit().compare_f_test(sm.OLS(rate, load).fit())
    assert found.freedom == (extra, 8)
    assert (found.statistic, found.p_value) == pytest.approx((statistic, p_value), rel=1e-6)


def test_a_resource_beside_the_bottleneck_is_used_along_its_line() -> None:
    """The number of busy servers is a linear function of throughput, with the demand as slope.

    A demand of 10 ms with an interval of +-1.96 ms has a standard error of 1 ms. At the mean of the levels,
    20 transactions/s, this error has no effect.
    """
    levels = (LevelDemand(10.0, 0.1, 0.02), LevelDemand(30.0, 0.2, 0.0133))

    def resource(demand_s: Bounded) -> ResourceDemand:
        return ResourceDemand(2, (), DemandOfLevels(demand_s, Bounded(None), levels))

    rates = np.tile([20.0, 30.0, 10.0], (20_000, 1))
    busy = _of_line(resource(Bounded(0.010, 0.00804, 0.01196)), rates)
    assert busy is not None
    assert busy.mean(axis=0) == pytest.approx([0.3, 0.4, 0.2], rel=0.01)
    # At a distance of 10 transactions/s from the mean of the levels, the error is 10 x 1 ms. Estimated from 20,000
    # random demands, this error is known to 0.5 %.
    assert busy.std(axis=0) == pytest.approx([0.0, 0.01, 0.01], rel=0.02, abs=1e-12)
    assert busy[:, 1] - 0.3 == pytest.approx(0.3 - busy[:, 2], rel=1e-9)
    sure = _of_line(resource(Bounded(0.010)), rates)
    assert sure is not None
    assert sure[0] == pytest.approx([0.3, 0.4, 0.2], rel=1e-12)
    assert _of_line(resource(Bounded(None)), rates) is None


@pytest.mark.parametrize(("highest", "said"), [(0.012, True), (0.0119, False), (0.005, False)])
def test_cpu_time_that_grows_by_a_fifth_is_named(highest: float, said: bool) -> None:
    changes = [Evidence("response time", 1.0, 3.0, None, None), Evidence("throughput", 0.0, 0.25, None, None)]
    evidence = [*changes, Evidence(f"{CPU_TIME} app", 0.010, highest, None, "cpu")]
    text = _sentence("cpu", "app", evidence, by_queues=False)
    assert "response time grew by a factor of 3 and throughput is 25 % below" in text
    assert (f"takes {highest / 0.010:.2g} times as much CPU time" in text) == said


@pytest.mark.parametrize(("models", "known"), [(1, 3), (2, 3), (3, 0)])
def test_so_many_models_are_solved_for_intervals(
    models: int, known: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Intervals are computed only if at most 6 models must be solved, one for each model and replicate.

    With three replicates, 2 models need 2 x 3 = 6, so they have intervals. 3 models need 3 x 3 = 9, so they have none.
    """
    monkeypatch.setattr(fitted_error, "MODELS_AT_MOST", 6)
    text = {"classes": {"a": {"rate": "5 /s"}}, "stations": {"cpu": {"servers": 1, "demand": {"a": "0.1 s"}}}}
    (tmp_path / "model.yaml").write_text(json.dumps(text), "utf-8")
    document = load_model(tmp_path / "model.yaml").document
    answers = [solve_models([document])[0].solution for _ in range(models)]
    found = fitted_error.with_intervals(answers, [document] * models, {"cpu": [0.9, 1.0, 1.1]}, "auto")
    assert [answer.document()["fitted"]["draws"] for answer in found] == [known] * models
