"""Fitted curves, knees and demands, compared with published results: NIST, R package usl, usl4j, LibReDE."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
import pytest
from cases import DATA, case, column

from towtank.errors import ModelError
from towtank.model.fitting import goodness, intervals, knees
from towtank.model.fitting.curves import USL, WIDER
from towtank.model.fitting.demand_classes import demands_of_classes
from towtank.model.fitting.demand_estimators import (
    Series,
    non_negative,
    non_negative_without_background,
    response_times,
    service_demand_law,
)
from towtank.model.fitting.fit import Fit, fit_curve
from towtank.model.fitting.least_squares import Bounds, fit
from towtank.model.fitting.observations import Observations, observations

# Relative tolerances. The reference values are from another optimizer with its own stopping tolerance. Standard errors
# depend on the curvature near the minimum, so they differ more than parameters.
PARAMETERS, ERRORS = 1e-5, 2e-4


def known(identity: str) -> dict[str, Any]:
    return case(identity)


def points_of(identity: str) -> Observations:
    """Return the points of a published case, from its CSV file or from its inputs."""
    inputs = known(identity)["inputs"]
    if "csv" not in inputs:
        return observations(np.array(inputs["x"], dtype=float), np.array(inputs["y"]))
    with (DATA / inputs["csv"]).open(encoding="utf-8", newline="") as stream:
        header = next(csv.reader(stream))
    x, y = (column(inputs.get(key, header[place]), inputs["csv"]) for place, key in enumerate("xy"))
    first, last = inputs.get("rows", (1, len(x)))
    return observations(x[first - 1 : last], y[first - 1 : last])


def usl_of(identity: str) -> tuple[Fit, dict[str, Any]]:
    return fit_curve(USL, points_of(identity)), known(identity)["verified"]


def rational(name: str) -> Any:
    """Return the model function of a NIST data set. The function accepts arrays of parameter vectors."""

    def misra1a(b: Any, x: Any) -> Any:
        return b[0] * (1 - np.exp(-b[1] * x))

    def mgh09(b: Any, x: Any) -> Any:
        return b[0] * (x**2 + b[1] * x) / (x**2 + b[2] * x + b[3])

    def thurber(b: Any, x: Any) -> Any:
        return (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3) / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3)

    return {"V61": misra1a, "V62": mgh09, "V63": thurber}[name]


@pytest.mark.parametrize("identity", ["V61", "V62", "V63"])
def test_nist_parameters_and_standard_deviations(identity: str) -> None:
    published = known(identity)
    x, y = (column(name, published["inputs"]["csv"]) for name in "xy")
    start = np.array([published["inputs"]["start"]], dtype=float)
    free = Bounds(np.full(start.shape[1], -np.inf), np.full(start.shape[1], np.inf))
    equation = rational(identity)
    found = fit(lambda b: equation(b.T[:, :, None], x), start, y, np.ones(len(y)), free)
    certified = published["published"]
    # The source prints ten digits. Numerical derivatives limit the agreement of standard deviations to eight digits.
    assert found.parameters == pytest.approx(certified["params"], rel=1e-6)
    assert found.sum_of_squares == pytest.approx(certified["rss"], rel=1e-9)
    errors = np.sqrt(np.diag(found.covariance(certified["dof"])))
    assert errors == pytest.approx(certified["sd"], rel=2e-5)


@pytest.mark.parametrize("identity", ["V43", "V44", "V45", "V46", "V48"])
def test_usl_parameters_errors_and_intervals(identity: str) -> None:
    found, verified = usl_of(identity)
    names = ("sigma", "kappa", "gamma")
    values = dict(zip(("gamma", "sigma", "kappa"), found.parameters, strict=True))
    assert [values[name] for name in names] == pytest.approx([verified[name] for name in names], rel=PARAMETERS)
    assert found.freedom == verified["dof"]
    # The residuals of case V48 are about one unit of the seventh printed digit, so its standard errors are dominated by
    # rounding.
    tolerance = 0.02 if identity == "V48" else ERRORS
    errors = intervals.standard_errors(found)
    assert [errors["sigma"], errors["kappa"], errors["lambda"]] == pytest.approx(verified["se"], rel=tolerance)
    assert found.residual_error == pytest.approx(verified["residual_se"], rel=tolerance)
    result = intervals.t_intervals(found)
    for name, key in (("sigma", "sigma"), ("kappa", "kappa"), ("lambda", "gamma")):
        width = verified["ci95"][key][1] - verified["ci95"][key][0]
        assert result[name] == pytest.approx(
            verified["ci95"][key], abs=tolerance * width + PARAMETERS * abs(verified[key])
        )
    derived = USL.derived(found.parameters[None, :])
    assert derived["peak_load"][0] == pytest.approx(verified["n_peak"], rel=PARAMETERS)
    assert derived["peak_throughput"][0] == pytest.approx(verified["x_peak"], rel=PARAMETERS)
    assert derived["limit_throughput"][0] == pytest.approx(verified["amdahl_limit"], rel=PARAMETERS)


def test_the_interval_that_a_package_prints_as_95_percent_is_not_printed() -> None:
    result = intervals.t_intervals(usl_of("V43")[0])
    # R's usl prints the interval (0.0075, 0.0413) for sigma, a 90 % interval with the wrong degrees of freedom.
    assert result["sigma"][0] < 0
    assert result["sigma"][1] > 0.05


def test_kappa_at_its_bound_is_said_and_leaves_the_model() -> None:
    found, verified = usl_of("V42")
    assert found.held.tolist() == [False, False, True]
    assert found.parameters[:2] == pytest.approx([verified["gamma"], verified["sigma"]], rel=PARAMETERS)
    result = intervals.t_intervals(found)
    fixed = verified["ci95_with_kappa_fixed_at_bound"]
    assert result["sigma"] == pytest.approx(fixed["sigma"], rel=ERRORS)
    assert result["lambda"] == pytest.approx(fixed["gamma"], rel=ERRORS)
    assert result["kappa"][0] == 0.0
    assert 0 < result["kappa"][1] < 1e-3
    rates = found.throughput(np.array([96.0, 128.0]))
    assert rates == pytest.approx([verified["predict"]["96"], verified["predict"]["128"]], rel=PARAMETERS)
    judgement = goodness.judge(found, None)
    assert judgement.level == goodness.FIT_REJECTED
    assert any("kappa is at its bound" in text for _, text in judgement.reasons)
    assert any("kappa = -0.000201" in text for _, text in judgement.reasons)


def test_the_unbounded_fit_of_the_same_points() -> None:
    verified = known("V42")["verified"]["unbounded_fit"]
    found = fit_curve(WIDER["usl"], points_of("V42"))
    expected = [verified[name] for name in ("gamma", "sigma", "kappa")]
    assert found.parameters == pytest.approx(expected, rel=1e-4)


def test_six_points_predict_a_peak_that_the_machine_went_beyond() -> None:
    found, verified = usl_of("V43")
    peak = USL.derived(found.parameters[None, :])["peak_throughput"][0]
    assert peak == pytest.approx(verified["x_peak"], rel=PARAMETERS)
    assert peak < 0.7 * points_of("V42").throughput.max()


def test_four_points_for_three_parameters_are_rejected() -> None:
    load, rate = np.array([1.0, 5, 10, 15]), np.array([1.8, 7.6, 11.5, 11.3])
    found = fit_curve(WIDER["usl"], observations(load, rate))
    verified = known("V49")["verified"]["java_unbounded"]
    expected = [verified[name] for name in ("gamma", "sigma", "kappa")]
    assert found.parameters == pytest.approx(expected, rel=1e-4)
    judgement = goodness.judge(fit_curve(USL, observations(load, rate)), None)
    assert judgement.level == goodness.FIT_REJECTED
    assert any("1 degree of freedom" in text for _, text in judgement.reasons)
    with pytest.raises(ModelError, match="at least 4 different loads"):
        fit_curve(USL, observations(load[:3], rate[:3]))


def test_node_of_paypal() -> None:
    x, y = (column(name, "usl_paypal_node_java.csv") for name in ("concurrency", "node"))
    found = fit_curve(USL, observations(x, y))
    verified = known("V49")["verified"]["node"]
    expected = [verified[name] for name in ("gamma", "sigma", "kappa")]
    assert found.parameters == pytest.approx(expected, rel=1e-4)
    assert intervals.t_intervals(found)["kappa"] == pytest.approx(verified["ci95"]["kappa"], rel=1e-3)


def test_the_knee_of_the_kneedle_paper() -> None:
    inputs, verified = known("V58")["inputs"], known("V58")["verified"]
    at = knees.distance_knee(np.array(inputs["x"]), np.array(inputs["y"]))
    assert at == pytest.approx(verified["knee_x"], rel=1e-12)


def librede() -> Series:
    file = known("V65")["inputs"]["csv"]
    rates = np.stack([column(f"x{number}", file) for number in range(3)], axis=1)
    times = np.stack([column(f"r{number}", file) for number in range(3)], axis=1)
    busy = column("util", file)
    return Series(busy, rates, times, 1, np.zeros(len(busy)))


def test_demands_of_the_librede_sample() -> None:
    series, verified = librede(), known("V65")["verified"]
    # Exact methods with equal input may differ only by rounding.
    assert non_negative(series) == pytest.approx(verified["nnls_with_intercept"], rel=1e-9)
    assert non_negative_without_background(series)[1:] == pytest.approx(verified["nnls_no_intercept"], rel=1e-9)
    by_law, by_times = service_demand_law(series), response_times(series)
    assert by_law is not None
    assert by_times is not None
    assert by_law[1:] == pytest.approx(verified["service_demand_law"], rel=1e-9)
    assert by_times[1:] == pytest.approx(verified["response_time_R_times_1_minus_U"], rel=1e-9)


def test_a_mix_that_hardly_varies_is_reported() -> None:
    found = demands_of_classes(librede(), ["a", "b", "c"])
    assert not found.identified
    assert found.condition_number is not None and found.condition_number > 30
    first = found.classes["a"]
    assert first.highest_estimate_s / first.lowest_estimate_s > 1.9
    assert "these data do not determine" in found.sentence
