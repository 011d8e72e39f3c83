from __future__ import annotations

import json

import numpy as np
import pytest
from audit_runs import RAMP_S, open_plan, write_audit_run

from towtank.analysis.audit import audit
from towtank.analysis.audit.asked import RateCurve, constant, of_stage
from towtank.analysis.laws import accounting
from towtank.analysis.measurement import Measurement
from towtank.documents import document_of
from towtank.results import RecordedStage, TotalsForm, lines, segments

SECONDS = 30.0
# Arrival rate with two peaks, as over a day: pairs of time [s] and rate [1/s].
DAY = [[0.0, 10.0], [10.0, 60.0], [15.0, 20.0], [20.0, 50.0], [30.0, 0.0]]
EXPECTED = 350.0 + 200.0 + 175.0 + 250.0


def curve(knots) -> RateCurve:
    times, rates = np.array(knots, dtype=float).T
    return RateCurve(times, rates)


def test_arrivals_are_the_integral_of_the_rate() -> None:
    # The rate is 2 /s before 1 s, rises linearly to 6 /s at 5 s, and is 6 /s after 5 s.
    ramp = curve([[1.0, 2.0], [5.0, 6.0]])
    edges = np.array([0.0, 1.0, 3.0, 5.0, 7.5])
    assert ramp.arrivals(edges[:-1], edges[1:]) == pytest.approx([2.0, 6.0, 10.0, 15.0])
    assert ramp.arrivals(np.array([0.0]), np.array([7.5])) == pytest.approx([33.0])
    assert curve(DAY).arrivals(np.array([0.0]), np.array([SECONDS])) == pytest.approx([EXPECTED])
    assert constant(4.0).arrivals(np.array([3.0]), np.array([5.5])) == pytest.approx([10.0])


def plan_of(stage, arrivals="poisson", groups=1):
    plan = open_plan(SECONDS, 10.0, arrivals, [1 / groups] * groups)
    for group in plan["groups"]:
        group["mix"] = group["mix"][:1]
    del plan["load"]["stages"][1]["rate"]
    plan["load"]["stages"][1] |= stage
    return plan


def thinned(stream, rate, most):
    """Simulate a Poisson process with a varying rate, by thinning.

    P. A. W. Lewis and G. S. Shedler, "Simulation of nonhomogeneous Poisson processes by thinning", Naval Research
    Logistics Quarterly 26(3), 403-413, 1979, doi:10.1002/nav.3800260304.
    """
    at = np.cumsum(stream.exponential(1 / most, size=int(4 * most * SECONDS) + 50))
    at = at[at < SECONDS]
    return at[stream.random(len(at)) * most < rate(at)]


def day(at):
    times, rates = np.array(DAY).T
    return np.interp(at, times, rates)


def events(*groups):
    """Return the arrivals of several groups of users; each group has its own gaps between arrivals."""
    found = []
    for group, at in enumerate(groups):
        gaps = np.diff(at, prepend=-RAMP_S)
        found += [(RAMP_S + float(time), group, float(gap)) for time, gap in zip(at, gaps, strict=True)]
    return sorted(found)


def audited(run):
    plan = json.loads(run.plan.read_text("utf-8"))
    return document_of(audit(plan, Measurement(segments.read(run.engine)), None, accounting(TotalsForm())))


def judged(path, plan, arrivals, groups=1):
    return audited(write_audit_run(path, plan, SECONDS, arrivals=arrivals, groups=groups))


def test_a_trace_as_asked_raises_no_alarm(tmp_path) -> None:
    low = 0
    for seed in range(60):
        at = thinned(np.random.default_rng(seed), day, 60.0)
        found = judged(tmp_path / str(seed), plan_of({"rates": DAY}), events(at))
        assert found["verdict"] == "ok", found
        assert {test["test"] for test in found["tests"]} == {"number of arrivals", "arrivals per second"}
        low += sum(test["p_value"] < 0.05 for test in found["tests"])
        gaps = next(entry for entry in found["untested"] if entry["test"] == "gaps between arrivals")
        assert gaps["why"] == "the rate changes within the stage, so the gaps have no single distribution"
    # If the loads are correct, 0.05 * 120 = 6 of the 120 p-values are expected below 0.05, with a standard deviation of
    # sqrt(120 * 0.05 * 0.95) = 2.4.
    assert low <= 15


@pytest.mark.waits
@pytest.mark.parametrize(
    ("rate", "most", "test"),
    [
        # Three wrong loads: a constant rate with the specified number of arrivals, the specified rates in reverse
        # order, and all rates higher by a fifth.
        (lambda at: np.full(len(at), EXPECTED / SECONDS), 40.0, "arrivals per second"),
        (lambda at: day(SECONDS - at), 60.0, "arrivals per second"),
        (lambda at: 1.2 * day(at), 72.0, "number of arrivals"),
    ],
)
def test_arrivals_that_do_not_follow_the_trace_are_found(tmp_path, rate, most, test) -> None:
    for seed in range(10):
        at = thinned(np.random.default_rng(seed), rate, most)
        found = judged(tmp_path / str(seed), plan_of({"rates": DAY}), events(at))
        assert {made["test"] for made in found["tests"] if made["verdict"] == "suspect"} >= {test}


def test_constant_arrivals_of_a_trace_are_exact(tmp_path) -> None:
    fine = np.linspace(0.0, SECONDS, 300_001)
    until = curve(DAY).arrivals(np.zeros_like(fine), fine)
    at = np.interp(np.arange(int(EXPECTED)), until, fine)
    found = judged(tmp_path / "all", plan_of({"rates": DAY}, "constant"), events(at))
    assert [(test["test"], test["verdict"]) for test in found["tests"]] == [("number of arrivals", "ok")]
    found = judged(tmp_path / "some", plan_of({"rates": DAY}, "constant"), events(at[:-3]))
    assert found["verdict"] == "suspect"


def by_group(stream, rates):
    return [thinned(stream, lambda at, rate=rate: np.full(len(at), rate), rate) for rate in rates]


def test_groups_with_arrivals_of_their_own_are_judged_one_by_one(tmp_path) -> None:
    plan = plan_of({"rates_by_group": [40.0, 4.0, 0.0]}, groups=3)
    for seed in range(60):
        stream = np.random.default_rng(seed)
        found = judged(tmp_path / str(seed), plan, events(*by_group(stream, [40.0, 4.0])), 3)
        assert found["verdict"] == "ok", found
        kinds = [(test["test"], test["group"]) for test in found["tests"]]
        assert kinds == [
            ("number of arrivals", "group 0"),
            ("number of arrivals", "group 1"),
            ("gaps between arrivals", None),
            ("arrivals per second", None),
        ]
        assert found["tests"][2]["asked"] == {"dist": "exponential by group", "mean_s": pytest.approx(2 / 44)}
        assert not any(entry["test"] == "group shares" for entry in found["untested"])


def test_a_group_that_got_the_arrivals_of_another_is_found(tmp_path) -> None:
    plan = plan_of({"rates_by_group": [40.0, 4.0]}, groups=2)
    found = judged(tmp_path / "run", plan, events(*by_group(np.random.default_rng(1), [34.0, 10.0])), 2)
    suspect = {(test["test"], test["group"]) for test in found["tests"] if test["verdict"] == "suspect"}
    assert ("number of arrivals", "group 1") in suspect
    # Arrivals of a group whose specified rate is 0 are also a deviation that the audit must report.
    plan = plan_of({"rates_by_group": [44.0, 0.0]}, groups=2)
    found = judged(tmp_path / "none", plan, events(*by_group(np.random.default_rng(1), [40.0, 4.0])), 2)
    suspect = {(test["test"], test["group"]) for test in found["tests"] if test["verdict"] == "suspect"}
    assert ("number of arrivals", "group 1") in suspect


def test_gaps_of_groups_are_those_of_their_rates(tmp_path) -> None:
    plan = plan_of({"rates_by_group": [40.0, 4.0]}, "constant", groups=2)
    even = [np.arange(0.0, SECONDS, 1 / 40), np.arange(0.0, SECONDS, 1 / 4)]
    found = judged(tmp_path / "even", plan, events(*even), 2)
    assert found["verdict"] == "ok", found
    assert {test["test"] for test in found["tests"]} == {"number of arrivals", "gaps between arrivals"}
    uneven = [even[0], even[1] + np.random.default_rng(1).uniform(0, 0.1, len(even[1]))]
    found = judged(tmp_path / "uneven", plan, events(*uneven), 2)
    assert {test["test"] for test in found["tests"] if test["verdict"] == "suspect"} == {"gaps between arrivals"}


def test_a_stage_that_was_cut_short_is_judged_by_what_there_was_of_it(tmp_path) -> None:
    at = thinned(np.random.default_rng(3), day, 60.0)
    plan = plan_of({"rates": [*DAY[:-1], [300.0, 50.0]], "duration_s": 300.0, "until": "command"})
    found = judged(tmp_path / "run", plan, events(at[at < 20.0]), 1)
    # The recording covers 30 s. From 20 s on nothing arrives, although the specified rate is 50 /s.
    assert found["verdict"] == "suspect"
    run = write_audit_run(tmp_path / "cut", plan, 20.0, arrivals=events(at[at < 20.0]))
    assert audited(run)["verdict"] == "ok"


def test_a_stage_that_was_appended_is_known_from_the_recording(tmp_path) -> None:
    plan = plan_of({"rate": 40.0})
    del plan["load"]["stages"][1:]
    run = write_audit_run(tmp_path / "run", plan, SECONDS, arrivals=events(*by_group(np.random.default_rng(5), [40.0])))
    path = run.engine / "worker-00.0000.ndjson"
    documents = list(lines.read(path, lines.Damage()))
    documents[0]["stages"][1]["rate"] = 40.0
    path.write_bytes(b"".join(lines.encode(document) for document in documents))
    found = audited(run)
    assert {test["test"] for test in found["tests"]} == {
        "number of arrivals",
        "gaps between arrivals",
        "arrivals per second",
    }
    assert found["verdict"] == "ok"


def test_what_a_stage_asks_for_starts_with_the_stage() -> None:
    plan = plan_of({"rates_by_group": [5.0, DAY]}, groups=2)
    recorded = [RecordedStage(start_s=0.0, end_s=2.0), RecordedStage(start_s=2.0, end_s=32.0)]
    asked = of_stage(plan, recorded, 1)
    assert asked.by_group
    assert not asked.is_constant
    assert asked.curves[1].times[0] == 2.0
    assert asked.expected(np.array([2.0]), np.array([12.0])) == pytest.approx([50.0 + 350.0])
