"""Audit of the generated load: no alarm if the load is as specified, an alarm if it is not, and no result for loads
that cannot be tested.
"""

from __future__ import annotations

import json

import pytest
from audit_runs import RAMP_S, WEIGHTS, closed_load, closed_plan, open_load, open_plan, write_audit_run
from results_1 import copy_of_results_1
from synthetic_runs import Script, Stage, closed_queue, write_run

from towtank.analysis import summarize_run
from towtank.analysis.audit import FAMILY_LEVEL, LEVEL, audit
from towtank.analysis.laws import accounting
from towtank.analysis.measurement import Measurement
from towtank.documents import document_of
from towtank.results import TotalsForm, segments
from towtank.results.folder import RunFolder, write_json

SECONDS, RATE = 20.0, 60.0
EXPONENTIAL = {"dist": "exponential", "mean_s": 1.0}
# Mean response times of the five transactions. They differ by a factor of 100, so slow transactions are a larger
# share of the transactions in progress than of the started transactions. [s]
TIMES_S = [0.02, 0.05, 0.1, 0.4, 2.0]
SEEDS = range(200)


def audited(run):
    plan = json.loads(run.plan.read_text("utf-8")) if run.plan.is_file() else None
    return document_of(audit(plan, Measurement(segments.read(run.engine)), None, accounting(TotalsForm())))


def closed(path, seed, *, mean_s=1.0, weights=WEIGHTS, plan=None):
    picks, pauses = closed_load(
        seed,
        users=50,
        seconds=SECONDS,
        pause=lambda stream: stream.exponential(mean_s),
        times_s=TIMES_S,
        weights=weights,
    )
    plan = plan or closed_plan(SECONDS, EXPONENTIAL)
    return write_audit_run(path, plan, SECONDS, picks=picks, pauses=pauses, every_s=SECONDS)


def opened(path, seed, gap=None, *, arrivals="poisson", shares=(0.7, 0.3), asked_rate=RATE):
    gap = gap or (lambda stream: stream.exponential(1 / RATE))
    picks, came = open_load(seed, rate=RATE, seconds=SECONDS, gap=gap, shares=shares)
    plan = open_plan(SECONDS, asked_rate, arrivals, (0.7, 0.3))
    return write_audit_run(path, plan, SECONDS, picks=picks, arrivals=came, groups=2)


def by_name(found):
    return {(test["test"], test["group"]): test for test in found["tests"]}


def smallest(found, *names):
    return min(test["p_value"] for test in found["tests"] if test["test"] in names)


@pytest.mark.waits
def test_a_closed_load_as_asked_raises_no_alarm(tmp_path):
    found = [audited(closed(tmp_path / str(seed), seed)) for seed in SEEDS]
    assert {outcome["verdict"] for outcome in found} == {"ok"}
    assert all({"mix", "think time"} == {test["test"] for test in outcome["tests"]} for outcome in found)
    # If the loads are correct, 0.05 * 400 = 20 of the 400 p-values are expected below 0.05, with a standard deviation
    # of sqrt(400 * 0.05 * 0.95) = 4.4.
    assert 5 <= sum(test["p_value"] < 0.05 for outcome in found for test in outcome["tests"]) <= 38


@pytest.mark.waits
@pytest.mark.parametrize("first", [0, 100])
def test_an_open_load_as_asked_raises_no_alarm(tmp_path, first):
    names = set()
    for seed in range(first, first + 100):
        found = audited(opened(tmp_path / str(seed), seed))
        assert found["verdict"] == "ok", found
        names |= {test["test"] for test in found["tests"]}
    assert names == {"mix", "group shares", "number of arrivals", "gaps between arrivals", "arrivals per second"}


def test_another_mix_is_found(tmp_path):
    # A run has about 700 transactions. 0.03 * 700 = 21 of them are of the first kind, instead of the specified 0.15 *
    # 700 = 105.
    for seed in range(20):
        found = audited(closed(tmp_path / str(seed), seed, weights=[3.0, 33.0, 28.0, 23.0, 13.0]))
        assert by_name(found)["mix", "readers"]["verdict"] == "suspect"
        assert by_name(found)["think time", "readers"]["verdict"] == "ok"


@pytest.mark.parametrize(
    "think",
    [
        {"dist": "exponential", "mean_s": 1.5},
        {"dist": "uniform", "min_s": 0.0, "max_s": 2.0},
        {"dist": "normal", "mean_s": 1.0, "sd_s": 0.3, "min_s": 0.0, "max_s": 2.0},
        {"dist": "fixed", "mean_s": 1.0},
    ],
)
def test_other_pauses_are_found(tmp_path, think):
    for seed in range(10):
        found = audited(closed(tmp_path / str(seed), seed, plan=closed_plan(SECONDS, think)))
        assert by_name(found)["think time", "readers"]["verdict"] == "suspect"
        assert by_name(found)["mix", "readers"]["verdict"] == "ok"


@pytest.mark.parametrize(
    ("think", "draw"),
    [
        ({"dist": "fixed", "mean_s": 0.5}, lambda _: 0.5),
        ({"dist": "uniform", "min_s": 0.2, "max_s": 0.9}, lambda stream: stream.uniform(0.2, 0.9)),
        ({"dist": "uniform", "min_s": 0.4, "max_s": 0.4}, lambda _: 0.4),
        ({"dist": "exponential", "mean_s": 0.0}, lambda _: 0.0),
    ],
)
def test_every_pause_of_a_plan_is_known(tmp_path, think, draw):
    picks, pauses = closed_load(9, users=20, seconds=SECONDS, pause=draw, times_s=TIMES_S)
    run = write_audit_run(
        tmp_path / "r", closed_plan(SECONDS, think), SECONDS, picks=picks, pauses=pauses, every_s=SECONDS
    )
    found = by_name(audited(run))["think time", "readers"]
    assert found["verdict"] == "ok"
    assert found["asked"] == think


def test_pauses_longer_than_the_window_raise_no_alarm_where_they_count_when_they_begin(tmp_path):
    # The mean pause is 30 s. Only short pauses end within the window of 20 s, so the observed pauses are biased.
    plan = closed_plan(SECONDS, {"dist": "exponential", "mean_s": 30.0})
    picks, pauses = closed_load(
        3, users=400, seconds=SECONDS, pause=lambda stream: stream.exponential(30.0), times_s=TIMES_S
    )
    ended = [(at + pause, group, pause) for at, group, pause in pauses]
    verdicts = []
    for name, events in (("begun", pauses), ("ended", ended)):
        run = write_audit_run(tmp_path / name, plan, SECONDS, picks=picks, pauses=events, every_s=SECONDS)
        verdicts.append(by_name(audited(run))["think time", "readers"]["verdict"])
    assert verdicts == ["ok", "suspect"]


@pytest.mark.waits
@pytest.mark.parametrize(
    ("gap", "test"),
    [
        # The rate and the mean gap between arrivals are as specified, but the gaps are too regular.
        (lambda _: 1 / RATE, "gaps between arrivals"),
        # About half of the gaps between arrivals are tiny, so arrivals come in groups.
        (lambda stream: stream.exponential(2 / RATE) * (stream.random() < 0.5) + 1e-6, "gaps between arrivals"),
        # The arrival rate is 1 / 0.8 = 1.25 times the specified rate.
        (lambda stream: stream.exponential(0.8 / RATE), "number of arrivals"),
    ],
)
def test_other_arrivals_are_found(tmp_path, gap, test):
    for seed in range(5):
        found = audited(opened(tmp_path / str(seed), seed, gap))
        assert by_name(found)[test, None]["verdict"] == "suspect"


def test_even_arrivals_are_too_regular_second_by_second(tmp_path):
    found = audited(opened(tmp_path / "r", 1, lambda _: 1 / RATE))
    test = by_name(found)["arrivals per second", None]
    assert test["verdict"] == "suspect"
    assert test["seen"]["dispersion"] < 0.1


def test_constant_arrivals_are_exact(tmp_path):
    found = audited(opened(tmp_path / "right", 1, lambda _: 1 / RATE, arrivals="constant"))
    assert found["verdict"] == "ok"
    assert {"number of arrivals", "gaps between arrivals"} <= {test["test"] for test in found["tests"]}
    wrong = audited(opened(tmp_path / "wrong", 1, lambda _: 1.001 / RATE, arrivals="constant"))
    assert by_name(wrong)["gaps between arrivals", None]["p_value"] == 0.0


def test_groups_that_got_other_shares_are_found(tmp_path):
    found = audited(opened(tmp_path / "r", 1, shares=(0.6, 0.4)))
    assert by_name(found)["group shares", None]["verdict"] == "suspect"
    assert by_name(found)["group shares", None]["asked"] == {
        "group 0": pytest.approx(0.7),
        "group 1": pytest.approx(0.3),
    }


def test_rates_and_shares_are_reported_as_asked_and_as_seen(tmp_path):
    """With one arrival every 16 ms, the rate is 1 / 0.016 = 62.5 /s. The specified rate is 60 /s."""
    arrivals = [(0.008 + 0.016 * number, int(number % 5 == 0), 0.016) for number in range(1375)]
    picks = [(at, 0, 0.0) for at, _, _ in arrivals]
    plan = open_plan(SECONDS, RATE, "poisson", (0.7, 0.3))
    run = write_audit_run(tmp_path / "r", plan, SECONDS, picks=picks, arrivals=arrivals, groups=2)
    found = by_name(audited(run))
    number, shares = found["number of arrivals", None], found["group shares", None]
    assert (number["asked"], number["seen"]) == (
        {"rate_per_s": pytest.approx(60.0)},
        {"rate_per_s": pytest.approx(62.5)},
    )
    assert shares["seen"] == {"group 0": pytest.approx(0.8), "group 1": pytest.approx(0.2)}
    assert found["gaps between arrivals", None]["asked"]["mean_s"] == pytest.approx(1 / 60)
    assert found["gaps between arrivals", None]["seen"]["mean_s"] == pytest.approx(0.016)


def test_a_transaction_that_is_not_in_the_mix_is_found(tmp_path):
    plan = closed_plan(SECONDS, EXPONENTIAL)
    plan["groups"][0]["mix"].pop()
    test = by_name(audited(closed(tmp_path / "r", 1, plan=plan)))["mix", "readers"]
    assert (test["p_value"], test["statistic"], test["verdict"]) == (0.0, None, "suspect")


def test_pacing_and_single_transactions_are_not_tested_and_said_so(tmp_path):
    plan = closed_plan(SECONDS, EXPONENTIAL, [1.0])
    plan["groups"][0]["pacing"] = {"dist": "fixed", "mean_s": 3.0}
    picks, pauses = closed_load(1, users=5, seconds=SECONDS, pause=lambda _: 1.0, times_s=[0.1], weights=[1.0])
    found = audited(write_audit_run(tmp_path / "r", plan, SECONDS, picks=picks, pauses=pauses))
    assert found["verdict"] == "untested"
    assert [entry["test"] for entry in found["untested"]] == ["mix", "think time"]
    assert "pacing" in found["untested"][1]["why"]


def test_many_tests_share_the_level_of_the_family(tmp_path):
    groups = 20
    plan = closed_plan(SECONDS, EXPONENTIAL)
    plan["groups"] = [{**plan["groups"][0], "name": f"group {number}"} for number in range(groups)]
    picks, pauses = closed_load(1, users=50, seconds=SECONDS, pause=lambda _: 1.0, times_s=TIMES_S)
    run = write_audit_run(tmp_path / "r", plan, SECONDS, picks=picks, pauses=pauses, every_s=SECONDS)
    path = run.engine / "worker-00.0000.ndjson"
    documents = list(segments.lines.read(path))
    for document in documents:
        if document["k"] == "interval":
            document["series"] = [{**each, "group": group} for each in document["series"] for group in range(groups)]
    path.write_bytes(b"".join(segments.lines.encode(document) for document in documents))
    found = audited(run)
    assert len(found["tests"]) == groups + 1
    assert found["level"] == pytest.approx(FAMILY_LEVEL / (groups + 1)) != LEVEL


@pytest.fixture(scope="module")
def queue():
    stages = [Stage("ramp_up", "ramp_up", 2.0, 30), Stage("steady", "steady", 30.0, 30)]
    exchanges, starts, ends = closed_queue(
        users=30, think_s=1.0, demands_s=[0.01, 0.05, 0.1], weights=[6, 3, 1], stages=[*stages, stages[0]], seed=8
    )
    return Script(
        name="r001",
        transactions=["read", "write", "report"],
        stages=stages,
        exchanges=exchanges,
        factors={},
        users=30,
        user_starts=starts,
        user_ends=ends,
    )


def queue_plan(weights):
    plan = closed_plan(30.0, EXPONENTIAL, weights)
    return {**plan, "transactions": [{"name": name} for name in ("read", "write", "report")]}


def test_the_summary_has_the_audit_and_its_doubts(tmp_path, queue):
    run = write_run(tmp_path / "r001", queue)
    write_json(run.plan, queue_plan([6.0, 3.0, 1.0]))
    summary = summarize_run(run, tables=False)
    assert summary["audit"]["verdict"] == "ok"
    assert (summary["audit"]["accounting_holds"], summary["audit"]["little_holds"]) == (True, True)
    assert summary["audit"]["window"] == {"start_s": 2.0, "end_s": 32.0}
    kinds = {reason["kind"] for reason in summary["verdict"]["reasons"]}
    assert not kinds & {"mix_off", "think_time_off", "arrivals_off"}
    write_json(run.plan, queue_plan([3.0, 6.0, 1.0]))
    doubt = next(
        reason for reason in summarize_run(run, tables=False)["verdict"]["reasons"] if reason["kind"] == "mix_off"
    )
    assert doubt["level"] == "suspect"
    assert doubt["message"].startswith("mix of readers is not as requested: p = ")
    assert doubt["seen"] < doubt["limit"] == LEVEL


def without_new_keys(run):
    """Remove the keys that the audit reads, as if an engine without these keys had recorded the run."""
    path = run.engine / "worker-00.0000.ndjson"
    documents = list(segments.lines.read(path))
    for document in documents:
        document.pop("thinks", None)
        for series in document.get("series", ()):
            series.pop("picked", None)
    path.write_bytes(b"".join(segments.lines.encode(document) for document in documents))


@pytest.mark.parametrize(("weights", "verdict"), [([6.0, 3.0, 1.0], "ok"), ([3.0, 6.0, 1.0], "suspect")])
def test_the_mix_of_an_older_run_is_judged_by_what_ended(tmp_path, queue, weights, verdict):
    run = write_run(tmp_path / "r001", queue)
    without_new_keys(run)
    write_json(run.plan, queue_plan(weights))
    found = audited(run)
    assert found["verdict"] == verdict
    assert found["tests"][0]["method"] == "chi-square of ended transactions"
    assert found["untested"] == [
        {
            "test": "think time",
            "group": "readers",
            "stage": None,
            "why": "the engine version of this run did not record pauses by group",
        }
    ]


def test_old_results_are_analysed_and_say_what_is_missing(tmp_path):
    results = copy_of_results_1(tmp_path / "results")
    run = RunFolder(next(iter(sorted((results.path / "runs").glob("r*")))))
    summary = summarize_run(run, tables=False)
    assert summary["audit"]["verdict"] == "untested"
    assert "no readable plan" in summary["audit"]["untested"][0]["why"]


@pytest.mark.parametrize("plan", ["", "{", "[]", "{}", '{"groups": [{"mix": 3}]}', '{"groups": [], "load": {}}'])
def test_a_plan_that_cannot_be_read_is_said_so(tmp_path, queue, plan):
    run = write_run(tmp_path / "r001", queue)
    run.plan.write_text(plan, "utf-8")
    summary = summarize_run(run, tables=False)
    assert summary["audit"]["untested"][0]["test"] == "all"
    assert not {"mix_off", "think_time_off", "arrivals_off"} & {
        reason["kind"] for reason in summary["verdict"]["reasons"]
    }


def test_late_starts_leave_counts_per_second_untested(tmp_path):
    run = opened(tmp_path / "r", 1)
    path = run.engine / "worker-00.0000.ndjson"
    documents = list(segments.lines.read(path))
    lag = next(document["gaps"] for document in documents if document.get("gaps"))
    for document in documents:
        if document["k"] == "interval":
            # With start lags as long as the gaps between arrivals (about 17 ms), the counts per second cannot be
            # tested.
            document["lag"] = lag
    path.write_bytes(b"".join(segments.lines.encode(document) for document in documents))
    found = audited(run)
    why = {entry["test"]: entry["why"] for entry in found["untested"]}
    assert "lag" in why["arrivals per second"]
    assert found["verdict"] == "ok"


def test_nothing_in_the_steady_stage(tmp_path):
    run = write_audit_run(tmp_path / "r", closed_plan(SECONDS, EXPONENTIAL), SECONDS)
    path = run.engine / "worker-00.0000.ndjson"
    documents = [document for document in segments.lines.read(path) if document.get("t0_ns", 0) < RAMP_S * 1e9]
    path.write_bytes(b"".join(segments.lines.encode(document) for document in documents))
    found = audited(run)
    assert found["window"] is None
    assert "steady" in found["untested"][0]["why"]
