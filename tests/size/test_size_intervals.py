from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certification import Certified
from scipy.stats import norm
from sizing import sized, written

from towtank.cli import main
from towtank.estimates import interval_texts
from towtank.sizing.interval import (
    Interval,
    between,
    duration_text,
    number_text,
    rate_text,
    share_between,
    share_text,
    size_text,
)
from towtank.sizing.scores import scores

OPEN = """
classes:
  in: {rate: 30 /s}
stations:
  app: {servers: 1, discipline: ps, demand: 20 ms}
"""
FITTED = """
fitted:
  users: [1, 100]
  throughput: 100 /s
  verdict: supported
  percentiles: {in: [0.9, 0.6, 2.5]}
"""
ESTIMATE = re.compile(r"(-?[\d.,]+) \[(-?[\d.,]+), (-?[\d.,]+)\]")


def ends(found: dict[str, float]) -> tuple[float, float]:
    return found["low"], found["high"]


@pytest.mark.parametrize(
    ("key", "text"),
    [("", "-1.1 %"), ("\n  held_out_interval: [-0.1062, 0.0971]", "-1 [-11, 10] %")],
    ids=["older file", "file with the interval"],
)
def test_the_error_of_a_model_file_has_its_interval(tmp_path: Path, capsys: Any, key: str, text: str) -> None:
    model = written(tmp_path, "model.yaml", f"{OPEN}{FITTED.rstrip()}\n  held_out_error: -0.01094{key}\n")
    options = (model, "--objective", "mean < 80 ms", "--cpus", "app=1")
    found = sized(capsys, *options)
    assert found["trust"]["held_out_interval"] == ([-0.1062, 0.0971] if key else None)
    assert main(["size", *options]) == 0
    assert f"the highest load, left out of the fit, was predicted with an error of {text}\n" in capsys.readouterr().out


def test_intervals_are_those_of_an_open_queue(tmp_path: Path, capsys: Any) -> None:
    """The response time R = D / (1 - 30 D) and the utilization U = 30 D increase with the demand D, so their quantiles
    follow from the quantiles of D.

    The demand D is log-normal with a mean of 20 ms and a relative standard deviation of 5 %.
    """
    model = written(tmp_path, "model.yaml", OPEN)
    found = sized(capsys, model, "--objective", "mean < 80 ms", "--cpus", "app=1", "--uncertainty", "5 %")
    width = math.sqrt(math.log1p(0.05**2))
    demands = [0.020 * math.exp(sign * 1.959964 * width - width**2 / 2) for sign in (-1, 1)]
    (scenario,) = found["answer"]["scenarios"]
    # The 200 values of D are equidistant in probability, so the interval ends at the quantiles of 2.75 and 97.25 %.
    # These differ from the quantiles of 2.5 and 97.5 % by 0.2 %.
    assert ends(scenario["utilization_interval"]["app"]) == pytest.approx([30 * d for d in demands], rel=0.005)
    covered = [norm.cdf((math.log(end / 0.6) + width**2 / 2) / width) for end in
               ends(scenario["utilization_interval"]["app"])]  # fmt: skip
    assert covered[1] - covered[0] == pytest.approx(0.95, abs=0.01)
    # At the load limit for a given demand D, the mean response time D / (1 - U) is 80 ms, so that U = 1 - D / 80 ms.
    bottleneck = found["bottlenecks"][0]
    assert ends(bottleneck["utilization_interval"]) == pytest.approx([1 - d / 0.080 for d in demands[::-1]], rel=0.01)
    times = [d / (1 - 30 * d) for d in demands]
    figures = scenario["classes"]["in"]
    assert ends(figures["response_time_interval"]) == pytest.approx(times, rel=0.02)
    assert ends(figures["throughput_interval"]) == pytest.approx((30, 30), rel=1e-9)
    users = [30 * time for time in times]
    assert ends(figures["users_in_system_interval"]) == pytest.approx(users, rel=0.02)
    assert ends(scenario["objectives"][0]["interval"]) == ends(figures["response_time_interval"])
    # The load limit lambda satisfies D / (1 - lambda D) = 80 ms, so lambda = 1 / D - 12.5 /s. It falls
    # as D rises, so the ends of its interval come from those of D in reverse order.
    carried = [1 / d - 12.5 for d in reversed(demands)]
    assert ends(found["answer"]["load_at_limit_interval"]) == pytest.approx(carried, rel=0.01)
    spare = [each / 30 - 1 for each in carried]
    assert ends(found["answer"]["headroom_interval"]) == pytest.approx(spare, abs=0.01)


def test_without_draws_the_reason_stands_once_and_values_have_three_digits(tmp_path: Path, capsys: Any) -> None:
    model = written(tmp_path, "model.yaml", OPEN.replace("20 ms", "21 ms"))
    options = ("--objective", "mean < 80 ms", "--cpus", "app=1", "--what-if", "cpu x1.3")
    found = sized(capsys, model, *options)
    assert found["trust"]["no_interval"] == "the model's demands are given without error"
    assert found["answer"]["objectives"][0]["interval"] is None
    assert main(["size", model, *options]) == 0
    text = capsys.readouterr().out
    assert text.count("no interval: the model's demands are given without error") == 1
    # With a demand of 21 ms at 30 /s, the utilization is 63 % and the response time is 0.021 / (1 - 0.63) = 56.757 ms.
    assert "56.8 ms" in text
    assert "63 %" in text
    assert not re.search(r"\d{2}\.\d{2,} (ms|%)", text)
    assert ESTIMATE.search(text) is None


@pytest.mark.waits
def test_a_corrected_percentile_has_the_error_of_its_correction(tmp_path: Path, capsys: Any) -> None:
    """The measured p95 is 0.9 [0.6, 2.5] times the computed p95. No other input is uncertain, so the corrected p95 has
    the same relative interval.
    """
    model = written(tmp_path, "model.yaml", OPEN + FITTED)
    options = ("--objective", "p95 < 300 ms", "--cpus", "app=1..8", "--probability", "50 %")
    found = sized(capsys, model, *options)
    objective = found["answer"]["objectives"][0]
    low, high = ends(objective["interval"])
    # The interval from 200 random values is slightly narrower than the exact interval.
    assert low / objective["value"] == pytest.approx(0.6 / 0.9, rel=0.03)
    assert high / objective["value"] == pytest.approx(2.5 / 0.9, rel=0.03)
    assert found["trust"]["counted"] == ["percentiles"]
    surer = sized(capsys, model, *options[:-1], "97 %")
    assert surer["answer"]["probability"] >= 0.97
    assert surer["answer"]["cost"] > found["answer"]["cost"]


def estimates(document: Any, key: str = "") -> list[tuple[str, float, float, float]]:
    """Return every value of a document that has an interval: `x` with `x_interval`, or `value` with `interval`. Each
    comes with its key and the two ends.
    """
    found = []
    for part in document if isinstance(document, list) else []:
        found += estimates(part, key)
    for name, part in document.items() if isinstance(document, dict) else ():
        base = name.removesuffix("_interval")
        value = next((document[each] for each in (base, f"{base}_s", f"{base}_per_s", f"{base}_bytes")
                      if each in document and each != name), None)  # fmt: skip
        if name == "interval" and part:
            value = document.get("value", document.get("utilization"))
        if name.endswith("interval") and isinstance(part, dict) and isinstance(value, int | float):
            found.append((f"{key}.{name}", value, part["low"], part["high"]))
        else:
            found += estimates(part, f"{key}.{name}")
    return found


@pytest.mark.waits
def test_every_value_lies_in_its_interval(tmp_path: Path, capsys: Any) -> None:
    text = """
classes:
  web: {users: 150, think: 2 s}
stations:
  app: {servers: 4, discipline: ps, demand: 40 ms}
  db: {servers: 2, discipline: ps, demand: 25 ms}
"""
    sizing = """
schema: towtank/sizing/1
load: {growth: 20 % / year, growth_interval: [10 % / year, 30 % / year], horizon: 1 year, start: 2026-01-01}
objectives: [mean < 300 ms, throughput > 50 /s]
uncertainty: 10 %
nodes_lost: 1
tiers: {app: {cpus: [2, 4, 8], nodes: 2..4}, db: {cpus: 1..8}}
memory: {app: [{what: sessions, size: 1 MiB, per: user}]}
pools: {connections: {holds: [db]}}
what_if: [cpu x1.5, nodes app=5, think 1 s]
"""
    model, file = written(tmp_path, "model.yaml", text), written(tmp_path, "sizing.yaml", sizing)
    found = sized(capsys, model, "--for", file)
    kinds = estimates(found)
    assert len(kinds) > 60
    for name, value, low, high in kinds:
        assert low is None or low <= value * (1 + 1e-9), (name, value, low, high)
        assert high is None or value <= high * (1 + 1e-9), (name, value, low, high)
    assert {name.rpartition(".")[2] for name, *_ in kinds} >= {
        "interval", "probability_interval", "load_at_limit_interval", "headroom_interval", "memory_interval",
        "throughput_interval", "response_time_interval", "held_interval", "wait_interval", "connections_interval",
        "load_interval", "limit_interval",
    }  # fmt: skip
    pool = found["pools"]["connections"]["probability_interval"]
    assert pool["low"] < found["pools"]["connections"]["probability"] <= pool["high"] + 1e-9
    (part,) = [step for step in found["steps"] if step["step"] == "memory of a node of app: sessions"]
    assert part["interval"]["low"] < part["value"] < part["interval"]["high"]
    assert main(["size", model, "--for", file, "--explain"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"allowed in \S+ \[\S+ \S+\] % of the draws", text)
    for shown in ESTIMATE.findall(text):
        value, low, high = (float(number.replace(",", "")) for number in shown)
        assert low <= value <= high, shown
        # The value and both ends of its interval are rounded to the same digit.
        places = [len(number.partition(".")[2]) for number in shown]
        assert len(set(places)) == 1, shown
        # An error has at most two printed digits. If a value is smaller than its error, only its first digit is
        # printed.
        assert places[0] == 0 or places[0] < 2 - math.log10(min((high - low) / 2, 10 * value or math.inf)), shown


def test_the_interval_of_dates_holds_the_expected_day(tmp_path: Path, capsys: Any) -> None:
    model = written(tmp_path, "model.yaml", OPEN)
    sizing = (
        "schema: towtank/sizing/1\n"
        "load: {growth: 20 % / year, growth_interval: [10 % / year, 40 % / year], horizon: 1 year, start: 2026-01-01}\n"
        "objectives: [mean < 80 ms]\ntiers: {app: {cpus: 1..8}}\n"
    )
    found = sized(capsys, model, "--for", written(tmp_path, "sizing.yaml", sizing))
    for row in found["dates"]:
        low, high = ends(row["expected_interval"])
        assert low <= row["expected_on"] <= (high or "9999")
    # Demands are exactly known, so the load limit is exactly 37.5 /s, 1.25 times the load of today. It is reached after
    # log 1.25 / log g years, with the growth factor g.
    first = found["dates"][0]
    assert first["limit_interval"]["low"] == pytest.approx(first["limit_interval"]["high"])
    for growth, day in ((1.4, first["expected_interval"]["low"]), (1.2, first["expected_on"])):
        days = 365.25 * math.log(1.25) / math.log(growth)
        assert abs((np.datetime64(day) - np.datetime64("2026-01-01")).astype(int) - days) <= 3


def test_the_interval_of_a_product_of_two_factors_covers_95_percent() -> None:
    """The interval from 200 random samples of a product of two factors covers 95 % of the distribution of the product.

    The logarithms of both factors are independent and normal with the variance 1. So the logarithm of the product is
    normal with the variance 2.
    """
    covered = []
    for number in range(100):
        pairs = zip(scores(200, f"demand {number}"), scores(200, f"speed {number}"), strict=True)
        found = between(value + other for value, other in pairs)
        low, high = (norm.cdf(end / math.sqrt(2)) for end in (found.low, found.high))
        covered.append(high - low)
    assert float(np.mean(covered)) == pytest.approx(0.95, abs=0.01)
    single = between(scores(200, "demand app"))
    assert norm.cdf(single.high) - norm.cdf(single.low) == pytest.approx(0.945, abs=1e-9)


def test_what_is_to_spare_has_the_error_of_the_growth(tmp_path: Path, capsys: Any) -> None:
    """The interval of the headroom includes the error of the demand D and of the growth factor g.

    The headroom is the load limit, 1 / D - 12.5 /s, divided by the load, 30 g /s, minus 1. D is log-normal with a
    relative standard deviation of 5 %. g = 1.2 [1.05, 1.5] is log-normal with different widths below and above 1.2.
    """
    model = written(tmp_path, "model.yaml", OPEN)
    sizing = (
        "schema: towtank/sizing/1\n"
        "load: {growth: 20 % / year, growth_interval: [5 % / year, 50 % / year], horizon: 1 year, start: 2026-01-01}\n"
        "objectives: [mean < 80 ms]\nuncertainty: 5 %\nprobability: 1 %\ntiers: {app: {cpus: 1}}\n"
    )
    answer = sized(capsys, model, "--for", written(tmp_path, "sizing.yaml", sizing))["answer"]
    at = norm.ppf((np.arange(1000) + 0.5) / 1000)
    width = math.sqrt(math.log1p(0.05**2))
    demands = 0.020 * np.exp(width * at - width**2 / 2)
    grown = 1.2 * np.exp(np.where(at > 0, math.log(1.5 / 1.2), math.log(1.2 / 1.05)) * at / 1.959964)
    truth = np.quantile((1 / demands - 12.5)[:, None] / (30 * grown)[None, :] - 1, [0.025, 0.975])
    # Each end has a standard error of 0.19 standard deviations, and the headroom has a standard deviation of 0.12.
    assert ends(answer["headroom_interval"]) == pytest.approx(truth, abs=2 * 0.19 * 0.12)
    carried = answer["load_at_limit_interval"]
    assert (answer["headroom_interval"]["high"] - answer["headroom_interval"]["low"]) > 1.5 * (
        (carried["high"] - carried["low"]) / 36
    )


CLOSED = """
classes:
  web: {users: 20, think: 1 s}
stations:
  app: {servers: 1, discipline: ps, demand: 40 ms}
"""


def closed_response(users: int, demand: float, think: float) -> float:
    """Return the mean response time of one station by mean value analysis: R(n) = D (1 + Q(n - 1)). [s]"""
    queue, response = 0.0, demand
    for count in range(1, users + 1):
        response = demand * (1 + queue)
        queue = count * response / (think + response)
    return response


@pytest.mark.waits
def test_what_is_to_spare_does_not_count_a_throughput(tmp_path: Path, capsys: Any) -> None:
    """The throughput of 20 users who think for 1 s is X = 20 / (1 s + R).

    The response time R is computed by mean value analysis for every random demand. The demand is log-normal with a mean
    of 40 ms and a relative standard deviation of 5 %.
    """
    sizing = (
        "schema: towtank/sizing/1\nobjectives: [throughput > 17.7 /s, mean < 300 ms]\nuncertainty: 5 %\n"
        "probability: 50 %\ntiers: {app: {cpus: [1]}}\nwhat_if: [as it is]\n"
    )
    model, file = written(tmp_path, "model.yaml", CLOSED), written(tmp_path, "sizing.yaml", sizing)
    found = sized(capsys, model, "--for", file)
    answer, width = found["answer"], math.sqrt(math.log1p(0.05**2))
    demands = 0.04 * np.exp(width * np.array(scores(200, "demand app")) - width**2 / 2)
    times = np.array([closed_response(20, demand, 1.0) for demand in demands])
    missed = 20 / (1 + times) < 17.7
    assert not (times > 0.3).any()
    assert answer["throughput_missed"] == found["what_if"][0]["throughput_missed"] == missed.mean() > 0.05
    assert answer["probability"] == pytest.approx(1 - missed.mean())
    assert answer["headroom_interval"]["low"] > 0
    assert main(["size", model, "--for", file]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("it serves"))
    assert "until an objective of a time or a utilization is missed: headroom " in line
    chance = share_text(missed.mean(), share_between(int(missed.sum()), 200))
    assert "[" in chance
    assert line.endswith(f"; only a throughput objective is missed in {chance} of the random samples (draws)")


def test_a_refusal_by_probability_has_its_interval(tmp_path: Path, capsys: Any) -> None:
    model = written(tmp_path, "model.yaml", OPEN)
    options = ("--objective", "mean < 80 ms", "--cpus", "app=1..2", "--uncertainty", "10 %", "--probability", "99.9 %")
    found = sized(capsys, model, *options)
    (refused,) = found["neighbours"]
    share, known = refused["probability"], share_between(round(200 * refused["probability"]), 200)
    text = f"{100 * share:.3g} [{100 * known.low:.3g}, {100 * known.high:.3g}] % of the draws, less than 99.9 %"
    assert refused["why_not"] == [f"all objectives hold in {text}"]


POOLED = """
classes:
  in: {rate: 40 /s}
stations:
  app: {servers: 1, discipline: ps, demand: 1 ms}
  held: {discipline: delay, demand: 200 ms}
"""


def erlang_wait(work: float, size: int, holding: float) -> float:
    """Return the mean wait for a unit of a pool, by the recursion of Erlang B. [s]"""
    blocked = 1.0
    for count in range(1, size + 1):
        blocked = work * blocked / (count + work * blocked)
    if work >= size:
        return math.inf
    waits = blocked / (1 - work / size * (1 - blocked))
    return waits * holding / (size - work)


@pytest.mark.parametrize("probability", [60, 95])
def test_a_pool_is_enough_with_the_probability_asked(tmp_path: Path, capsys: Any, probability: int) -> None:
    """The pool has the smallest size with which the wait is at most 20 ms in the requested fraction of the samples.

    A pool in front of a pure delay is an M/M/m queue, with the units of the pool as servers. Its holding time is
    log-normal with a mean of 200 ms and a relative standard deviation of 15 %.
    """
    sizing = (
        "schema: towtank/sizing/1\nobjectives: [mean < 1 s]\nuncertainty: 15 %\n"
        f"probability: {probability} %\ntiers: {{app: {{cpus: 1}}}}\n"
        "pools: {units: {holds: [held], wait_at_most: 20 ms}}\n"
    )
    model, file = written(tmp_path, "model.yaml", POOLED), written(tmp_path, "sizing.yaml", sizing)
    found = sized(capsys, model, "--for", file)["pools"]["units"]
    width = math.sqrt(math.log1p(0.15**2))
    times = [0.2 * math.exp(width * score - width**2 / 2) for score in norm.ppf((np.arange(200) + 0.5) / 200)]

    def least(enough: float) -> int:
        return next(
            size
            for size in range(1, 100)
            if sum(erlang_wait(40 * time, size, time) <= 0.02 for time in times) >= enough * 200
        )

    assert found["size"] == least(probability / 100)
    assert found["probability"] >= probability / 100
    assert found["size_at_best"] == next(size for size in range(1, 100) if erlang_wait(8, size, 0.2) <= 0.02)
    assert found["size"] >= found["size_at_best"]


def test_a_row_states_that_its_percentile_was_not_simulated(tmp_path: Path, capsys: Any) -> None:
    model = written(
        tmp_path, "model.yaml", OPEN.replace("servers: 1", "servers: 2") + "  db: {servers: 1, demand: 9 ms}\n"
    )
    options = ("--cpus", "app=2", "--cpus", "db=1", "--uncertainty", "5 %", "--probability", "60 %")
    found = sized(capsys, model, "--objective", "p95 < 90 ms", *options, "--what-if", "rate 60 /s")
    assert found["search"]["simulated"] == 1
    runs, faster = found["what_if"]
    assert runs["objectives"][0]["by"] == "simulated"
    assert not runs["notes"]
    assert "ratio of simulated to computed value of the answer" in faster["objectives"][0]["by"]
    assert any(note.startswith("p95 of in < 90 ms: not simulated") for note in faster["notes"])


def test_an_interval_of_draws_without_a_steady_state_is_unbounded() -> None:
    found = between([1.0] * 90 + [math.inf] * 10)
    assert (found.low, found.high) == (1.0, math.inf)
    assert found.document() == {"low": 1.0, "high": None}
    assert duration_text(0.176, between([0.12] * 50 + [math.inf] * 50)) == "180 [120, unbounded] ms"
    assert duration_text(math.inf, found) == "no steady state"


def test_values_have_the_digits_of_their_interval() -> None:
    drawn = between(np.linspace(0.9, 1.1, 201))
    assert (round(drawn.low, 3), round(drawn.high, 3)) == (0.905, 1.095)
    assert rate_text(271.47) == "271 /s"
    assert rate_text(271.47, drawn.times(271.47)) == "271 [246, 297] /s"
    assert share_text(0.60061, drawn.times(0.60061)) == "60 [54, 66] %"
    assert share_text(0.99996) == "99.996 %"
    assert share_text(1 - 1e-13) == "above 99.9 %"
    assert share_text(0.999999, Interval(0.9998, 1.0)) == "above 99.9 %"
    assert number_text(1234.0) == "1,234"
    assert number_text(14321.5) == "14,300"
    assert size_text(2.5 * 2**30, drawn.times(2.5 * 2**30)) == "2.50 [2.26, 2.74] GiB"
    assert interval_texts(0.176, 0.12, math.inf) == ("0.18", "0.12", "unbounded")


def test_the_error_of_a_share_of_draws_is_wilsons() -> None:
    """Intervals of two shares are those that are published for Wilson's method.

    The source is R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17,
    1998, table I, method 3: [0.2553, 0.3662] for 81 of 263, and [0, 0.1611] for 0 of 20.
    """
    found = share_between(81, 263)
    assert (round(found.low, 4), round(found.high, 4)) == (0.2553, 0.3662)
    none = share_between(0, 20)
    assert (none.low, round(none.high, 4)) == (0.0, 0.1611)


@pytest.mark.certify
@pytest.mark.parametrize("limit_ms", [75, 80, 90, 100, 130])
def test_the_probability_is_that_of_demands_and_growth_together(
    tmp_path: Path, capsys: Any, limit_ms: int, certified: Certified
) -> None:
    """The probability of the answer is that with which the random demand D and the growth factor g meet the objective.

    With the limit L, the objective D / (1 - 30 g D) <= L is met if D <= L / (1 + 30 g L). The true probability is an
    integral over D, with a relative standard deviation of 8 %, and over g = 1.2 [1.05, 1.5].
    """
    limit = limit_ms / 1000
    model = written(tmp_path, "model.yaml", OPEN)
    sizing = (
        "schema: towtank/sizing/1\n"
        "load: {growth: 20 % / year, growth_interval: [5 % / year, 50 % / year], horizon: 1 year, start: 2026-01-01}\n"
        f"objectives: [mean < {limit_ms} ms]\nuncertainty: 8 %\nprobability: 1 %\ntiers: {{app: {{cpus: 1}}}}\n"
    )
    found = sized(capsys, model, "--for", written(tmp_path, "sizing.yaml", sizing))
    answer = found["answer"]
    scores = norm.ppf((np.arange(4000) + 0.5) / 4000)
    ends = np.where(scores > 0, math.log(1.5 / 1.2), math.log(1.2 / 1.05)) / 1.959964
    rates = 30 * 1.2 * np.exp(ends * scores)
    width = math.sqrt(math.log1p(0.08**2))
    most = np.log(limit / (1 + rates * limit) / 0.020)
    truth = float(np.mean(norm.cdf((most + width**2 / 2) / width)))
    # The probability is a fraction of 200 random values; three of its standard errors are allowed.
    error = 3 * math.sqrt(truth * (1 - truth) / 200) + 0.005
    case = f"one server, mean < {limit_ms} ms, demand and growth uncertain"
    certified(
        "Sizing", case, "probability", truth=truth, shown=answer["probability"], unit="", relative=0.0, absolute=error
    )


def test_a_shrinking_load_is_sized_for_today(tmp_path: Path, capsys: Any) -> None:
    """The load falls by 15 % a year. The answer must be sufficient for 30 /s today, and not only for 25.5 /s
    in a year.
    """
    model = written(tmp_path, "model.yaml", OPEN)
    for interval in ("", ", growth_interval: [-25 % / year, -5 % / year]"):
        load = f"load: {{growth: -15 % / year{interval}, horizon: 1 year, start: 2026-01-01}}\n"
        text = f"schema: towtank/sizing/1\n{load}objectives: [mean < 48 ms]\ntiers: {{app: {{cpus: [1, 2]}}}}\n"
        found = sized(capsys, model, "--for", written(tmp_path, "sizing.yaml", text))
        # With one CPU the response time is 0.02 / (1 - 0.02 x 30) = 50 ms today and 0.02 / (1 - 0.02 x 25.5) = 40.8 ms
        # in a year.
        assert found["answer"]["configuration"] == "app 2 CPUs"
        assert found["load"]["rate_per_s"]["in"] == pytest.approx(30)
        assert found["dates"][1]["missed_from"] is None
        assert any(step["step"] == "load until the horizon" for step in found["steps"])


def test_no_station_is_used_more_than_fully(tmp_path: Path, capsys: Any) -> None:
    """The upper end of the interval of a utilization is 1, even if the station is saturated in a third of the samples.

    96 /s x 10 ms is a utilization of 0.96. The random demands vary by 10 %, so in a third of the samples `app` has more
    work than it can do.
    """
    model = written(
        tmp_path, "model.yaml", "classes: {web: {rate: 96 /s}}\nstations: {app: {demand: 10 ms}, db: {demand: 3 ms}}\n"
    )
    asked = ("--objective", "mean < 10 s", "--probability", "10 %", "--uncertainty", "10 %", "--cpus", "app=1")
    (scenario,) = sized(capsys, model, *asked)["answer"]["scenarios"]
    for used in scenario["utilization_interval"].values():
        assert used["low"] < 1
        assert used["high"] == 1
    assert scenario["classes"]["web"]["response_time_interval"]["high"] is None
