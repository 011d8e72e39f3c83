from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import towtank
from results_1 import RESULTS_1
from two_tiers import (
    DEMANDS_S,
    ELSEWHERE_S,
    LEVELS,
    SHARES,
    STATIONS,
    THINK_S,
    TIERS,
    TRANSACTIONS,
    measured,
    write_two_tiers,
)

from towtank.cli.network_table import _held_out, _held_out_classes, _levels
from towtank.errors import MeasurementError, ModelError
from towtank.model import FittedNetwork, load_model, solve_models
from towtank.model.fitting.goodness import FIT_DOUBTFUL, FIT_REJECTED, FIT_SUPPORTED
from towtank.model.fitting.held_out import error_of_band
from towtank.model.fitting.intervals import Bounded
from towtank.model.fitting.measured import _resource
from towtank.model.fitting.networks.answers import _carried, limits, network_answers, predicted
from towtank.model.fitting.networks.closed import CLASS, Condition, conditions, safe_names, solve
from towtank.model.fitting.networks.estimate import Parameters, noise_of
from towtank.model.fitting.networks.judging import NetworkVerdict, _error_against, held_out_levels, hold_out, judged
from towtank.model.fitting.networks.replicates import fit_network
from towtank.model.fitting.networks.seconds import Levels, Measured, Run
from towtank.model.fitting.networks.spread import spread
from towtank.model.fitting.networks.written import network_text

BACKGROUND = np.array([0.1, 0.05])
TRUTH = Parameters(np.array([DEMANDS_S[tier] for tier in TIERS]), BACKGROUND, np.array(ELSEWHERE_S))
# Factors by which the rates of the classes vary over the intervals of a level. Their mean is 1, and they differ between
# the classes, so that the demands can be distinguished.
WAVES = np.array([[1.3, 0.8], [0.7, 1.0], [1.1, 1.4], [0.9, 0.8], [1.0, 1.0], [1.0, 1.0]])


def exact() -> Measured:
    """Return measurements without errors, computed from the exact solution of the network."""
    empty = Measured(
        "exact",
        TRANSACTIONS,
        STATIONS,
        np.array(LEVELS, dtype=float),
        np.full(len(LEVELS), THINK_S),
        np.zeros((len(LEVELS), len(STATIONS))),
        np.ones(len(TRANSACTIONS)),
        (),
    )
    at = [Condition(users, THINK_S, np.array(SHARES), np.zeros(len(STATIONS))) for users in LEVELS]
    solved = solve(empty, [(TRUTH, condition) for condition in at])
    runs = []
    for level in range(len(LEVELS)):
        rates = WAVES * solved.throughput[level] * np.array(SHARES)
        seconds = np.full(len(WAVES), 100.0)
        counts = rates * seconds[:, None]
        busy = (BACKGROUND + rates @ TRUTH.demands.T) * seconds[:, None]
        runs.append(Run(level, seconds, counts, counts * solved.responses[level], busy))
    return dataclasses.replace(empty, runs=tuple(runs))


@pytest.fixture(scope="module")
def known() -> Measured:
    return exact()


def test_exact_measurements_give_back_the_network_and_its_answers(known: Measured) -> None:
    network = fit_network(known, count=3)
    assert [grouping.groups for grouping in network.groupings] == [((0,), (1,))] * 2
    np.testing.assert_allclose(network.parameters.demands, TRUTH.demands, rtol=1e-7)
    np.testing.assert_allclose(network.parameters.background, BACKGROUND, rtol=1e-6)
    # The delays are determined in three rounds. Each round multiplies the error of the delays by the fraction of the
    # response time that the delays make up.
    np.testing.assert_allclose(network.parameters.delays, ELSEWHERE_S, rtol=1e-5)
    solved = solve(known, [(network.parameters, condition) for condition in conditions(known)])
    np.testing.assert_allclose(solved.throughput, known.levels().throughput, rtol=1e-7)
    np.testing.assert_allclose(solved.responses, known.levels().responses, rtol=1e-6)
    np.testing.assert_allclose(solved.utilization * [2, 1], known.levels().busy, rtol=1e-6)


def test_the_level_held_out_is_predicted_and_the_verdict_supports_it(known: Measured) -> None:
    test = hold_out(known, 1)
    assert test is not None
    found = held_out_levels(test)
    assert abs(found.worst_error) < 1e-6
    row = found.points[0]
    assert row.load == LEVELS[-1]
    assert abs(row.response_error) < 1e-5
    # Little's law gives the bands of the response time from those of the throughput.
    for band in ("band_80", "band_95"):
        low, high = getattr(row, f"throughput_{band}")
        assert low < row.measured_throughput < high
        assert getattr(row, f"response_{band}") == pytest.approx([row.load / rate - THINK_S for rate in (high, low)])
    assert row.within_95
    network = fit_network(known, count=3)
    solved = solve(known, [(network.parameters, condition) for condition in conditions(known)])
    assert judged(network, solved, found, []).level == FIT_SUPPORTED


def test_a_level_that_the_others_do_not_foretell_is_rejected(known: Measured) -> None:
    """At the highest level everything takes twice as long, as with a lock. Measurements at lower levels do not show
    this.
    """
    runs = tuple(
        dataclasses.replace(run, counts=run.counts / 2, response_sums=run.response_sums, busy=run.busy / 2)
        if run.level == len(LEVELS) - 1
        else run
        for run in known.runs
    )
    spoilt = dataclasses.replace(known, runs=runs)
    test = hold_out(spoilt, 1)
    assert test is not None
    found = held_out_levels(test)
    assert found.worst_error > 0.5
    network = fit_network(spoilt, count=3)
    solved = solve(spoilt, [(network.parameters, condition) for condition in conditions(spoilt)])
    verdict = judged(network, solved, found, [])
    assert verdict.level == FIT_REJECTED
    assert f"fitted without the level of {LEVELS[-1]} users, the network predicts the throughput there" in str(
        verdict.reasons
    )


@pytest.mark.filterwarnings("error")
def test_a_station_that_had_nothing_to_do_at_one_level_comes_back_as_such(known: Measured) -> None:
    first = known.runs[0]
    idle = dataclasses.replace(first, busy=first.busy * [1.0, 0.0])
    noise = noise_of(dataclasses.replace(known, runs=(idle, *known.runs[1:])), TRUTH, np.random.default_rng(3))
    assert noise.shape == (len(LEVELS), len(STATIONS))
    assert (noise[:, 0] > 0).all()
    assert np.isfinite(noise).all()


def test_transactions_that_always_come_together_are_taken_as_one(known: Measured) -> None:
    waves = WAVES[:, :1]
    runs = []
    for run in known.runs:
        mean = run.counts.mean(axis=0)
        rates = waves * mean / run.seconds[0]
        busy = (BACKGROUND + rates @ TRUTH.demands.T) * run.seconds[:, None]
        runs.append(dataclasses.replace(run, counts=waves * mean, busy=busy))
    network = fit_network(dataclasses.replace(known, runs=tuple(runs)), count=3)
    assert [grouping.groups for grouping in network.groupings] == [((0, 1),)] * 2
    # The data determine only one demand for both classes together. For the measured mix this demand is right.
    np.testing.assert_allclose(network.parameters.demands @ SHARES, TRUTH.demands @ SHARES, rtol=1e-6)
    assert not any(grouping.unsure for grouping in network.groupings)


def test_other_programs_take_their_share_of_the_servers(known: Measured) -> None:
    at = Condition(LEVELS[-1], THINK_S, np.array(SHARES), np.array([0.0, 0.45]))
    freed = dataclasses.replace(at, others=np.zeros(2))
    held_up, free = (solve(known, [(TRUTH, condition)]) for condition in (at, freed))
    assert held_up.throughput[0] < free.throughput[0]
    # Other programs take half of the only CPU of `app`, so the throughput is at most 0.5 / demand.
    crowd = dataclasses.replace(at, users=2000)
    limit = 0.5 / float(TRUTH.demands[1] @ SHARES)
    assert solve(known, [(TRUTH, crowd)]).throughput[0] == pytest.approx(limit, rel=1e-6)


def test_a_quota_leaves_so_much_of_a_server() -> None:
    """At a high load, transactions use the whole quota of 0.1 CPUs except the background load.

    So the throughput is (0.1 - background load) / demand.
    """
    whole = exact()
    web, app = whole.stations
    tight = dataclasses.replace(whole, stations=(web, dataclasses.replace(app, part=0.1)))
    crowd = Condition(2000, THINK_S, np.array(SHARES), np.zeros(2))
    solved = solve(tight, [(TRUTH, crowd)])
    assert solved.throughput[0] == pytest.approx((0.1 - BACKGROUND[1]) / float(TRUTH.demands[1] @ SHARES), rel=1e-6)
    assert solved.utilization[0, 1] == pytest.approx(1.0, rel=1e-6)
    resource = _resource(["app"], 1.5)
    assert (resource.servers, resource.part) == (2, 0.75)
    assert (_resource(["app"], 0.1).servers, _resource(["app"], 4.0).part) == (1, 1.0)


@pytest.mark.waits
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """For each of the four demands, at least 24 of 30 intervals must contain the true value. If 95 % of all intervals
    contain it, this has a probability of 0.998.
    """
    inside = np.zeros((len(TIERS), len(TRANSACTIONS)))
    mixes = np.zeros(len(TIERS))
    sets = 30
    for seed in range(sets):
        network = fit_network(measured(65.0, 1000 * (seed + 1)), count=80)
        drawn = np.array([draw.demands for draw in network.draws])
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        inside += (low <= TRUTH.demands) & (TRUTH.demands <= high)
        low, high = np.quantile(drawn @ SHARES, [0.025, 0.975], axis=0)
        mixes += (low <= TRUTH.demands @ SHARES) & (TRUTH.demands @ SHARES <= high)
    assert inside.min() >= 0.8 * sets
    assert mixes.min() >= 0.85 * sets


def test_the_bottleneck_after_the_next_is_reported_in_order(known: Measured) -> None:
    network = fit_network(known, count=3)
    rows = limits(network)
    carried = [(servers - base) / (np.array(DEMANDS_S[tier]) @ SHARES)
               for (tier, servers), base in zip(TIERS.items(), BACKGROUND, strict=True)]  # fmt: skip
    assert [row.station for row in rows] == ["app", "web"]
    assert rows[0].limit_throughput.value == pytest.approx(carried[1], rel=1e-6)
    assert rows[1].limit_throughput.value == pytest.approx(carried[0], rel=1e-6)
    far = predicted(network, [1000])[0]
    assert far.throughput.curve == pytest.approx(carried[1], rel=1e-6)


def test_one_level_or_no_resource_make_no_network(known: Measured) -> None:
    with pytest.raises(MeasurementError, match="needs 2 load levels or more, got 1"):
        fit_network(known.below(len(LEVELS) - 1))
    blind = dataclasses.replace(known, stations=(), others=np.zeros((len(LEVELS), 0)))
    with pytest.raises(MeasurementError, match="no resource was observed in every run"):
        fit_network(blind)
    assert hold_out(known.below(2), 1) is None


def test_names_of_the_model_are_allowed_and_their_own() -> None:
    names = ("GET /a", "GET  a", "users", "7", "buy")
    assert safe_names(names, CLASS) == ["GET_a", "GET_a_2", "users_2", "a_7", "buy"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("two") / "results"
    write_two_tiers(path)
    return path


@pytest.mark.waits
def test_a_results_folder_becomes_a_model_file_that_says_the_same(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.yaml"
    done = towtank("model", "fit", "network", folder, "--out", out, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["schema"] == "towtank/model-network/1"
    configuration = found["configurations"][0]
    assert list(configuration["stations"]) == ["web", "app"]
    assert {name: row["servers"] for name, row in configuration["stations"].items()} == TIERS
    for tier, row in configuration["stations"].items():
        for name, truth in zip(TRANSACTIONS, DEMANDS_S[tier], strict=True):
            assert row["demands_s"][name]["low"] < truth < row["demands_s"][name]["high"]
    held = configuration["held_out"]["points"][0]
    assert held["load"] == LEVELS[-1]
    assert abs(held["error"]) < 0.1
    assert configuration["verdict"]["level"] in (FIT_SUPPORTED, FIT_DOUBTFUL)
    low, high = (end / held["measured_throughput"] - 1 for end in held["throughput_band_95"])
    kept = load_model(out).fitted
    assert kept is not None
    assert kept.held_out_interval == pytest.approx([low, high], rel=1e-3)
    # At the highest level, the model file and the JSON document must give the same result.
    answer = solve_models([load_model(out).document])[0].solution.document()["classes"]["users"]
    row = next(row for row in configuration["predictions"] if row["load"] == LEVELS[-1])
    assert answer["throughput_per_s"] == pytest.approx(row["throughput"]["curve"], rel=1e-6)
    for name in TRANSACTIONS:
        said = answer["transactions"][name]["response_time_s"]
        assert said == pytest.approx(row["responses_s"][name]["curve"], rel=1e-5)
    assert towtank("validate", out).returncode == 0


@pytest.mark.waits
def test_sizing_takes_the_network_where_tiers_can_be_distinguished(folder: Path) -> None:
    done = towtank("size", folder, "--users", 100, "--objective", "p95 of buy < 800 ms", "--json",
                   "--what-if", "demand app.buy x0.5", "--what-if", "mix buy=100 %")  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["trust"]["model"] == "network"
    assert "web, app can be distinguished" in found["trust"]["model_why"]
    tiers = found["answer"]["tiers"]
    assert set(tiers) == set(TIERS)
    # At 100 users, the work at `app` is 100 / (1 s + R) x 20.6 ms = about 2 CPUs. So both tiers are named as the next
    # bottlenecks.
    assert {bottleneck["station"] for bottleneck in found["bottlenecks"]} == set(TIERS)
    plain, halved, bought = (row["classes"]["users"] for row in found["what_if"])
    assert halved["response_time_s"] < plain["response_time_s"] < bought["response_time_s"]


@pytest.mark.waits
def test_one_tier_is_sized_by_the_curve_and_it_is_said_why() -> None:
    arguments = ("size", RESULTS_1, "--configuration", "present", "--users", 100, "--objective", "p95 < 2 s", "--json")
    found = json.loads(towtank(*arguments).stdout)
    assert found["trust"]["model"] == "curve"
    assert "content is the only observed resource" in found["trust"]["model_why"]
    asked = json.loads(towtank(*arguments, "--model", "network").stdout)
    assert asked["trust"]["model"] == "network"
    assert asked["answer"] is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--servers", 2), "--servers: must not be given with network"),
        (("--think", "1 s"), "--think: must not be given with network"),
    ],
)
def test_what_a_network_takes_from_results_must_not_be_given(arguments: tuple[Any, ...], words: str) -> None:
    done = towtank("model", "fit", "network", RESULTS_1, *arguments)
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.waits
def test_fitted_values_at_the_levels_have_the_digits_that_the_replicates_support() -> None:
    document = network_answers(RESULTS_1, "present")[0].document
    for row in document["levels"]:
        for value, band in (("fitted_throughput", "fitted_throughput_band_95"),
                            ("fitted_response_s", "fitted_response_band_95"),
                            ("throughput", "throughput_interval"), ("response_s", "response_interval")):  # fmt: skip
            low, high = row[band]
            assert low <= row[value] <= high
        used = row["utilization"]["content"]
        assert used["fitted_band_95"][0] <= used["fitted"] <= used["fitted_band_95"][1]
        assert used["measured_interval"][0] < used["measured"] < used["measured_interval"][1]
    fitted = FittedNetwork.model_validate(document)
    assert fitted.held_out is not None
    columns = {str(column.header): list(column.cells) for column in _levels(fitted).columns}
    shown = [cell for head in ("throughput, 1/s", "fitted", "response time", "fitted ") for cell in columns[head]]
    assert len(shown) == 4 * len(document["levels"])
    assert all("[" in cell for cell in shown)
    assert all(cell.count("[") == 2 or "99.9" in cell for cell in columns["content used, fitted"])
    (held,) = document["held_out"]["points"]
    columns = {str(column.header): list(column.cells) for column in _held_out(fitted.held_out).columns}
    for head, key in (("measured, 1/s", "measured_throughput"), ("R measured", "measured_response_s")):
        low, high = held[f"{key.removesuffix('_s')}_interval"]
        assert low < held[key] < high
        assert all("[" in cell for cell in columns[head])
    measured = [str(cell) for cell in _held_out_classes(fitted.held_out.points[-1]).columns[2].cells]
    assert len(measured) == len(held["classes"])
    assert all("[" in cell for cell in measured)


@pytest.mark.waits
def test_the_intervals_of_a_level_have_the_spread_of_its_runs() -> None:
    """The interval of the throughput at a level has the half width 1.96 x 1.9 /s, from the variation of its runs.

    The throughputs of 40 runs are spread evenly from 80 to 120 /s. Their standard deviation is 12 /s, so the standard
    error of their mean is 12 / sqrt(40) = 1.9 /s.
    """
    rates = np.linspace(80.0, 120.0, 40)
    one = np.ones((1, 1))
    runs = tuple(Run(0, np.ones(1), rate * one, rate * 0.2 * one, 0.5 * one) for rate in rates)
    station = dataclasses.replace(STATIONS[0], servers=2)
    of = Measured("many", ("a",), (station,), np.array([10.0]), np.ones(1), np.zeros((1, 1)), np.ones(1), runs)
    found = spread(of, 2000)
    low, high = found.throughput(0)
    assert high is not None
    assert low is not None
    error = rates.std() / math.sqrt(40)
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.06)
    assert (high + low) / 2 == pytest.approx(100.0, abs=0.5)
    assert found.response(0) == pytest.approx((0.2, 0.2))
    assert found.response_of(0, 0) == pytest.approx((0.2, 0.2))
    assert found.utilization(0, 0) == pytest.approx((0.25, 0.25))


def test_a_csv_file_makes_no_network(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("users,throughput\n1,1\n2,2\n", "utf-8")
    done = towtank("model", "fit", "network", path)
    assert done.returncode == 2
    assert "must be a results folder for a network of resources" in done.stderr


@pytest.mark.waits
def test_a_rejected_network_is_not_written(known: Measured) -> None:
    (answer, *_) = network_answers(RESULTS_1, "present")
    rejected = dataclasses.replace(answer, verdict=NetworkVerdict(((FIT_REJECTED, "it misses"),)))
    with pytest.raises(ModelError, match="the network is rejected: it misses"):
        network_text(rejected, "somewhere")


def test_shares_of_a_level_at_which_nothing_ended_are_those_of_all_levels() -> None:
    rates = np.array([[3.0, 1.0], [0.0, 0.0], [6.0, 0.0]])
    levels = Levels(rates, np.ones((3, 2)), rates, np.zeros((3, 1)))
    np.testing.assert_allclose(levels.shares, [[0.75, 0.25], [0.9, 0.1], [1.0, 0.0]])


def test_a_limit_whose_error_reaches_without_bound_is_reported() -> None:
    """A disk is hardly used, so its demand is zero in some random replicates. The interval of its capacity has no upper
    end.
    """
    assert _carried(Bounded(3571.4, 1200.0, None)) == "3,600 [1,200, unbounded]"
    assert _carried(Bounded(3571.4)) == "3,571 [unbounded, unbounded]"


def test_errors_of_a_network_have_the_ends_of_what_was_measured_or_predicted() -> None:
    """If the measured interval is 8 to 12, a prediction of 9 has errors from 9 / 12 - 1 = -0.25 to 9 / 8 - 1 = 0.125.

    If 8 was measured, a predicted band from 9 to 11 has errors from 9 / 8 - 1 = 0.125 to 11 / 8 - 1 = 0.375.
    """
    assert _error_against((8.0, 12.0), 9.0) == (-0.25, 0.125)
    assert _error_against((None, 12.0), 9.0) == (-0.25, None)
    assert error_of_band((9.0, 11.0), 8.0) == (0.125, 0.375)
