"""Audit of measurements before a model is fitted. It names the violated operational law and the wrong counter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from towtank.analysis import RunSummary
from towtank.model.demand_file import ExcludedRun
from towtank.model.fitting.audit import Quantities, audit, audit_points
from towtank.model.fitting.measured import _judged
from towtank.model.fitting.observations import observations


def good(number: int, users: float) -> Quantities:
    """Return a run that satisfies N = X (R + Z): users think for 2 s, and the system responds in 0.5 s and uses 20 ms
    of CPU time per transaction.
    """
    rate = users / 2.5
    return Quantities(f"r{number:03d}", users, rate, 0.5, 2.0, users, 0.05, {"web": 0.02 * rate})


RUNS = [good(number, users) for number, users in enumerate((10.0, 20.0, 40.0, 60.0, 80.0), start=1)]


def suspects(runs: list[Quantities]) -> dict[str, str]:
    return {finding.name: finding.suspect for finding in audit(runs) if finding.suspect}


def test_runs_that_obey_the_laws_pass() -> None:
    findings = audit(RUNS)
    assert len(findings) == len(RUNS)
    assert all(finding.residual < 1e-12 and not finding.suspect for finding in findings)


@pytest.mark.parametrize(
    ("change", "suspect"),
    [
        ({"users": 30.0}, "users"),
        ({"think_s": 1.0}, "think time"),
        ({"throughput": 8.0}, "throughput"),
        ({"response_s": 0.1}, "response time"),
    ],
)
def test_one_wrong_counter_is_named(change: dict[str, float], suspect: str) -> None:
    wrong = [*RUNS[:2], replace(RUNS[2], **change), *RUNS[3:]]  # type: ignore[arg-type]
    named = {
        finding.name: finding.suspect for finding in audit(wrong) if finding.suspect and finding.law.startswith("N")
    }
    assert named == {"r003": suspect}


def test_a_run_with_untimed_transactions_is_neither_held_nor_suspect() -> None:
    # Only some transactions are timed. All of them take 0.5 s, but those that are timed have a mean of 0.1 s. With this
    # mean, N = X (R + Z) would be violated by 16 %.
    untimed = replace(RUNS[2], response_s=0.1, is_timed=False)
    findings = audit([*RUNS[:2], untimed, *RUNS[3:]])
    assert {finding.name for finding in findings} == {"r001", "r002", "r004", "r005"}
    assert all(not finding.suspect for finding in findings)
    # A run with untimed transactions must not make the think time of another run suspect.
    alone = replace(RUNS[0], think_s=1.0)
    witness = replace(RUNS[1], is_timed=False)
    assert suspects([alone, witness]) == suspects([alone])
    assert suspects([alone, RUNS[1]]) == {"r001": "think time"}
    assert suspects([*RUNS[:2], replace(untimed, cpus={"web": 0.8}), *RUNS[3:]]) == {"r003": "CPU of tier web"}


def test_the_message_has_all_numbers() -> None:
    finding = next(
        candidate for candidate in audit([*RUNS[:2], replace(RUNS[2], think_s=1.0), *RUNS[3:]]) if candidate.suspect
    )
    for found in ("r003", "N = X (R + Z)", "40 %", "limit 5 %", "X = 16/s", "R = 0.5 s", "Z = 1 s", "think time"):
        assert found in finding.message


def test_cpu_time_of_one_tier_that_stands_apart_is_named() -> None:
    wrong = [*RUNS[:2], replace(RUNS[2], cpus={"web": 0.8}), *RUNS[3:]]
    assert suspects(wrong) == {"r003": "CPU of tier web"}


def test_an_idle_tier_that_works_a_little_for_itself_excludes_no_run() -> None:
    # The store uses 0.004 CPUs more in one run. This is a large relative increase, but only 0.4 % of a CPU.
    runs = [replace(run, cpus={**run.cpus, "store": 5e-5 * run.throughput}) for run in RUNS]
    busy = replace(runs[2], cpus={**runs[2].cpus, "store": runs[2].cpus["store"] + 0.004})
    assert suspects([*runs[:2], busy, *runs[3:]]) == {}
    much = replace(runs[2], cpus={**runs[2].cpus, "store": runs[2].cpus["store"] + 0.04})
    assert suspects([*runs[:2], much, *runs[3:]]) == {"r003": "CPU of tier store"}


def test_a_small_difference_of_a_tier_is_background_although_the_tier_itself_is_not() -> None:
    # In one run the store uses 0.004 CPUs more. This is 1.25 % of the 0.32 CPUs of the web tier, below the limit of 2
    # %.
    runs = [replace(run, cpus={**run.cpus, "store": 5e-4 * run.throughput}) for run in RUNS]
    busy = replace(runs[2], cpus={**runs[2].cpus, "store": 1.5 * runs[2].cpus["store"]})
    assert suspects([*runs[:2], busy, *runs[3:]]) == {}


def test_a_wrong_counter_of_a_small_node_is_named() -> None:
    # The node has 0.1 CPUs and uses 0.032 of them, but in one run its counter shows 1.5 times as much.
    small = [replace(run, cpus={"node": 0.002 * run.throughput}) for run in RUNS]
    wrong = replace(small[2], cpus={"node": 1.5 * small[2].cpus["node"]})
    assert suspects([*small[:2], wrong, *small[3:]]) == {"r003": "CPU of tier node"}


def test_a_demand_that_changed_within_a_run_is_named() -> None:
    drifting = replace(RUNS[0], drifting={"web": (0.3, 0.05)})
    assert suspects([drifting, *RUNS[1:]]) == {"r001": "CPU of tier web"}


def test_the_same_factor_in_every_run_points_to_users_or_throughput() -> None:
    halved = [replace(run, throughput=run.throughput / 2, cpus={}) for run in RUNS]
    assert set(suspects(halved).values()) == {"users or throughput"}


def test_the_same_time_missing_in_every_cycle_points_to_the_think_time() -> None:
    # In every run, R + Z is one second shorter than N / X. Response times grow with the load, so the relative error
    # differs between the runs.
    runs = [
        Quantities(f"r{number}", users, users / (2.0 + 0.01 * users), 0.01 * users, 1.0)
        for number, users in enumerate((10.0, 50.0, 200.0, 400.0))
    ]
    assert set(suspects(runs).values()) == {"think time"}


def test_points_of_a_table_are_audited_that_have_response_times() -> None:
    load = np.array([10.0, 20, 40])
    points = observations(load, load / 2.5, response=np.full(3, 0.5), think=np.array([2.0, 2, 9]))
    failing = [finding for finding in audit_points(points) if finding.suspect]
    assert [(finding.name, finding.suspect) for finding in failing] == [("point 3", "think time")]
    assert audit_points(observations(load, load)) == []


def judged(runs: dict[str, dict[str, Any]], loads: dict[str, float]) -> Any:
    return _judged({name: RunSummary.read(run) for name, run in runs.items()}, loads)


def test_invalid_runs_are_left_out_with_what_made_them_invalid() -> None:
    reasons = [
        {"kind": "data_damaged", "level": "invalid", "message": "a thread is missing"},
        {"kind": "start_lag", "level": "suspect", "message": "late starts"},
    ]
    invalid = {"verdict": {"level": "invalid", "reasons": reasons}, "users": {"asked": 30}}
    empty = {"verdict": {"level": "valid", "reasons": []}, "users": {"asked": 40}, "laws": {"little": None}}
    findings, excluded = judged({"r001": invalid, "r002": empty}, {"r001": 30.0, "r002": 40.0})
    assert findings == []
    assert excluded == [
        ExcludedRun("r001", 30, "invalid: a thread is missing"),
        ExcludedRun("r002", 40, "no transaction ended in its window"),
    ]


def test_a_measured_run_whose_law_was_not_checked_is_modelled() -> None:
    little = {"n": 10.0, "x_per_s": 4.0, "r_s": 0.1, "z_s": 2.0, "limit": 0.05, "residual": None, "holds": None}
    run = {"verdict": {"level": "suspect", "reasons": []}, "users": {"asked": 10}, "tiers": {},
           "throughput_per_s": {"value": 3.9}, "laws": {"little": little, "utilization": []}}  # fmt: skip
    assert judged({"r001": run}, {"r001": 10.0}) == ([], [])
    checked = {**run, "laws": {"little": {**little, "residual": 0.16, "holds": False}, "utilization": []}}
    findings, excluded = judged({"r001": checked}, {"r001": 10.0})
    assert [bool(finding.suspect) for finding in findings] == [True]
    assert [each.run for each in excluded] == ["r001"]


@pytest.mark.parametrize(
    ("attribute", "factor", "counter", "unit"),
    [
        ("response_s", 1000.0, "response time", "in milliseconds"),
        ("response_s", 1 / 60, "response time", "in minutes"),
        ("response_s", 1e6, "response time", "in microseconds"),
        ("throughput", 60.0, "throughput", "per minute"),
        ("throughput", 3600.0, "throughput", "per hour"),
        ("think_s", 1000.0, "think time", "in milliseconds"),
        ("think_s", 1 / 60, "think time", "in minutes"),
    ],
)
@pytest.mark.parametrize("think_s", [2.0, 0.25])
def test_a_counter_in_another_unit_is_named_first(
    attribute: str, factor: float, counter: str, unit: str, think_s: float
) -> None:
    """The audit names the counter and the unit in which it seems to have been recorded.

    All runs satisfy N = X (R + Z), until the test multiplies one counter by the factor between two units.
    """
    runs = [replace(run, throughput=run.users / (0.5 + think_s), think_s=think_s) for run in RUNS]
    wrong = [replace(run, **{attribute: getattr(run, attribute) * factor}) for run in runs]
    findings = [finding for finding in audit(wrong) if finding.law.startswith("N")]
    assert {finding.suspect for finding in findings} == {counter}
    assert all(f"the law holds if this value was recorded {unit}" in finding.message for finding in findings)


def test_response_times_in_milliseconds_propose_no_negative_think_time() -> None:
    """In a benchmark without think time, the response time is N / X. Here it is recorded in ms instead of seconds.

    The audit must suspect the response time, and no message may propose a negative think time.
    """
    load = np.array([1.0, 2.0, 4.0, 8.0])
    rate = np.array([10.0, 19.0, 35.0, 58.0])
    points = observations(load, rate, response=1000 * load / rate)
    findings = audit_points(points)
    assert {finding.suspect for finding in findings} == {"response time"}
    assert not any("-" in finding.message.partition("suspect")[2] for finding in findings)


def test_a_cycle_that_is_too_long_by_one_time_proposes_no_negative_think_time() -> None:
    """Every cycle is 3 s too long. The think time is only 2 s, so it cannot be the cause."""
    runs = [replace(run, response_s=run.response_s + 3.0) for run in RUNS]
    assert all(finding.suspect != "think time" for finding in audit(runs))


def test_an_answer_that_takes_no_part_in_the_cycle_is_no_evidence_of_a_unit() -> None:
    """N = X (R + Z) holds without the response time R, which is 10 % of the cycle. This does not prove that R has
    another unit.
    """
    runs = [replace(run, think_s=2.0, response_s=0.21, throughput=run.users / 2.0) for run in RUNS]
    assert not any("was recorded" in finding.message for finding in audit(runs))


def suspect_of(run: Quantities, peers: list[Quantities]) -> str:
    return audit([run, *peers])[0].suspect


@pytest.mark.parametrize(
    ("think_s", "response_s", "others", "suspect"),
    [
        # The limit is 5 % of 2 s = 0.1 s. A think time that is 0.11 s from that of the other runs is suspected; at a
        # distance of 0.09 s, the response time is suspected.
        (2.11, 0.53, (2.0, 0.5), "think time"),
        (2.09, 0.55, (2.0, 0.5), "response time"),
        # The limit is 5 % of the longer of both times. Here this is the response time of 2 s, so it is again 0.1 s.
        (0.21, 2.02, (0.1, 2.0), "think time"),
        (0.19, 2.03, (0.1, 2.0), "response time"),
        # The think time differs by 1 s. But with the 2 s of the other runs, R + Z would be 2.8 s instead of N / X = 2.5
        # s. The law would still be violated by 12 %, so the think time is not suspected.
        (1.0, 0.8, (2.0, 0.5), "response time"),
    ],
)
def test_a_think_time_is_wrong_if_it_stands_apart_and_the_law_holds_with_that_of_the_others(
    think_s: float, response_s: float, others: tuple[float, float], suspect: str
) -> None:
    think, response = others
    peers = [replace(run, think_s=think, response_s=response, cpus={}) for run in RUNS]
    peers = [replace(peer, throughput=peer.users / (think + response)) for peer in peers]
    assert suspect_of(replace(peers[2], think_s=think_s, response_s=response_s), peers[:2] + peers[3:]) == suspect


@pytest.mark.parametrize(
    ("cpus", "suspect"),
    [
        ({"web": 1.09 * 0.32}, "throughput"),
        ({"web": 0.91 * 0.32}, "throughput"),
        ({"web": 1.11 * 0.32}, "response time"),
        ({"web": 0.89 * 0.32}, "response time"),
        ({"web": 0.32, "idle": 0.0}, "throughput"),
        ({}, "response time"),
    ],
)
def test_a_throughput_is_wrong_if_cpu_time_per_transaction_is_off_by_the_same_factor(
    cpus: dict[str, float], suspect: str
) -> None:
    """The run has 16 transactions/s, but only 8 of them are counted. So N / (X (R + Z)) is wrong by a factor of 2.

    The throughput is suspected only if the CPU time per transaction is wrong by about the same factor.
    """
    peers = [replace(run, cpus=run.cpus | {"idle": 0.1}) for run in RUNS[:2] + RUNS[3:]]
    assert suspect_of(replace(RUNS[2], throughput=8.0, cpus=cpus), peers) == suspect


@pytest.mark.parametrize(("throughput", "suspect"), [(17.7, "response time"), (17.9, "users, throughput")])
def test_a_response_time_is_wrong_only_if_the_cycle_is_as_long_as_that_of_the_others(
    throughput: float, suspect: str
) -> None:
    """The response time is suspected if the cycle N / X is at most 10 % shorter than the 2.5 s of the other runs.

    A cycle of 40 / 17.7 = 2.26 s is 9.6 % shorter, and a cycle of 40 / 17.9 = 2.23 s is 10.6 % shorter.
    """
    wrong = replace(RUNS[2], throughput=throughput, cpus={})
    assert suspect_of(wrong, RUNS[:2] + RUNS[3:]).startswith(suspect)


@pytest.mark.parametrize(("milliseconds", "suspect"), [(4, "response time"), (3, "")])
def test_a_mistaken_unit_explains_four_of_five_wrong_runs(milliseconds: int, suspect: str) -> None:
    """A wrong unit is named if it explains at least four of five wrong runs.

    The first `milliseconds` of the five runs have response times in ms; the others have five times as many users.
    """
    runs = [
        replace(run, response_s=500.0) if number < milliseconds else replace(run, users=5 * run.users)
        for number, run in enumerate(replace(run, users_asked=None) for run in RUNS)
    ]
    named = [finding for finding in audit(runs) if "in milliseconds" in finding.message]
    assert [finding.suspect for finding in named] == [suspect] * milliseconds if suspect else named == []


def test_users_are_wrong_beyond_the_limit_from_the_users_of_the_plan() -> None:
    peers = RUNS[:2] + RUNS[3:]
    off = [replace(RUNS[2], users=users, response_s=0.2, cpus={}) for users in (42.1, 37.9, 41.9)]
    assert [suspect_of(run, peers) for run in off] == ["users", "users", "response time"]
