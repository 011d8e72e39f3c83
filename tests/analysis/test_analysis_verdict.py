"""Every doubt has a test that causes it. An undisturbed run has no doubt."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from changed_recordings import SECOND, change_engine, on_samples, reasons, rewrite, script
from even_runs import even_script, stages_of
from harmed_loads import answered, carried_over, plan_of_steps
from harmed_runs import (
    CASES,
    above_envelope,
    costly,
    died,
    died_and_stopped,
    generator_saturated,
    held,
    interrupts,
    out_of_files,
    redirected,
    stopped,
    suspended,
    without_content,
)
from synthetic_runs import MONOTONIC_NS, write_run

from towtank.analysis import study_verdict, summarize_run
from towtank.analysis.doubts import EXPLANATIONS, DoubtKind
from towtank.analysis.run_summary import RunSummary
from towtank.results import lines

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "summary.md"


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "r001", script())


def missing_checks(run):
    """Return the checks of a run that could not be made, with the reasons."""
    return {each["check"]: each["why"] for each in summarize_run(run, tables=False)["verdict"]["not_checked"]}


def test_interrupts_are_no_other_programs(run):
    """These interrupts are caused by network packets of the tested system itself, so they are not the use of other
    programs.
    """
    interrupts(run)
    assert not {"interference", "not_attributed"} & set(reasons(run))


def test_a_sound_run_has_no_doubt_but_its_length(run):
    summary = summarize_run(run, tables=False)
    assert summary["verdict"]["level"] == "valid"
    notes = {(reason["kind"], reason["level"]) for reason in summary["verdict"]["reasons"]}
    assert notes == {("rest_not_shown", "note"), ("too_few_samples", "note")}


@pytest.mark.parametrize(("harm", "kind", "level"), CASES, ids=[case[0].__name__ for case in CASES])
def test_a_doubt_is_raised_with_number_reason_and_hint(run, harm, kind, level):
    harm(run)
    found = reasons(run)
    assert kind in found
    doubt = found[kind]
    assert doubt["level"] == level
    assert doubt["message"]
    assert (doubt["why"], doubt["hint"]) == EXPLANATIONS[kind]


def test_a_malformed_entry_of_the_engine_is_named_and_the_others_count(run):
    change_engine(run, reason="failed", message=["cannot allocate memory"], totals=7)
    found = reasons(run)
    assert found["engine_failed"]["level"] == "invalid"
    assert found["data_damaged"]["level"] == "suspect"
    assert found["data_damaged"]["message"] == (
        "engine.json: message must be text, got a list instead; totals must be a mapping of keys "
        "to values, got 7 instead; these 2 entries are left out"
    )
    assert "accounting" in missing_checks(run)


@pytest.mark.parametrize("entry", ["message", "reason", "identity"])
def test_a_run_whose_engine_has_a_malformed_entry_is_suspect(run, entry):
    change_engine(run, **{entry: 5})
    assert summarize_run(run, tables=False)["verdict"]["level"] == "suspect"


def expecting(run, **request):
    """Write a plan for the run; its only request has the given checks or extractions."""
    plan = {"transactions": [{"name": "get", "ops": [{"op": "request", "step": 0, "target": 0, **request}]}]}
    (run.path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")


@pytest.mark.parametrize(
    ("codes", "doubted"),
    [
        ({"302": 5}, True),
        ({"301": 3, "308": 3, "200": 5}, True),
        ({"302": 5, "200": 5}, False),
        ({"300": 5}, True),
    ],
)
def test_redirects_are_doubted_if_most_answers_are(run, codes, doubted):
    answered(run, codes)
    assert ("redirects" in reasons(run)) == doubted


@pytest.mark.parametrize(
    "request_",
    [
        {"checks": [{"kind": "status", "in": [302]}]},
        {"checks": [{"kind": "status", "min": 200, "max": 399}]},
        {"checks": [{"kind": "header", "name": "location", "contains": []}]},
        {"extract": [{"from": "header", "expression": "Location"}]},
    ],
)
def test_redirects_that_the_workload_expects_are_no_doubt(run, request_):
    answered(run, {"302": 5})
    expecting(run, **request_)
    assert "redirects" not in reasons(run)


def test_a_check_of_another_status_does_not_expect_redirects(run):
    answered(run, {"302": 5})
    expecting(run, checks=[{"kind": "status", "min": 200, "max": 299}, {"kind": "size", "min": 1}])
    assert "redirects" in reasons(run)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ({"304": 9}, r"all [\d,]+ responses are without content \(status 304\), but their requests have no condition"),
        (
            {"304": 3, "200": 1},
            r"[\d,]+ of [\d,]+ responses \(75 %\) are without content \(status 304\), but their requests .*",
        ),
        ({"304": 1, "200": 1}, None),
        ({"302": 1, "304": 9}, r"[\d,]+ of [\d,]+ responses \(90 %\) are without content \(status 304\), but .*"),
    ],
)
def test_a_status_for_conditional_requests_is_doubted_without_a_condition(run, codes, message):
    answered(run, codes)
    plan_of_steps(run, {"headers": [["Accept", ["*/*"]]], "checks": []})
    found = [each for each in summarize_run(run, tables=False)["verdict"]["reasons"] if each["kind"] == "not_modified"]
    assert len(found) == (message is not None)
    for doubt in found:
        assert re.fullmatch(message, doubt["message"])
        assert (doubt["level"], doubt["limit"]) == ("suspect", 0.5)
        assert (doubt["why"], doubt["hint"]) == EXPLANATIONS[DoubtKind.NOT_MODIFIED]


def test_a_study_with_redirects_and_responses_without_content_has_a_hint_for_each(tmp_path):
    """A study shows only the worst doubt of each kind. So redirects and responses without content must be of different
    kinds, or one of their hints would be missing.
    """
    summaries = []
    for name, harm in (("r001", redirected), ("r002", without_content)):
        run = write_run(tmp_path / name, script())
        harm(run)
        summaries.append(RunSummary.read({**summarize_run(run, tables=False), "run": name}))
    found = study_verdict.verdict_of([], {}, summaries)["reasons"]
    assert [(each["kind"], each["runs"]) for each in found] == [("redirects", ["r001"]), ("not_modified", ["r002"])]
    assert [each["hint"] for each in found] == [EXPLANATIONS[DoubtKind(each["kind"])][1] for each in found]


@pytest.mark.parametrize(
    "request_",
    [
        {"headers": [["Accept", ["*/*"]], ["If-None-Match", ['"a"']]]},
        {"headers": [["if-modified-since", ["Sat, 28 Nov 2026 00:00:00 GMT"]]]},
        {"checks": [{"kind": "status", "in": [304]}]},
        {"checks": [{"kind": "status", "min": 200, "max": 399}]},
    ],
)
def test_a_status_for_conditional_requests_is_expected_with_a_condition(run, request_):
    answered(run, {"304": 9})
    plan_of_steps(run, request_)
    assert "not_modified" not in reasons(run)


def test_a_status_for_conditional_requests_is_not_doubted_without_a_plan(run):
    answered(run, {"304": 9})
    assert "not_modified" not in reasons(run)


def test_status_codes_are_counted_by_run_transaction_and_step(run):
    answered(run, {"200": 3, "302": 2})
    summary = summarize_run(run, tables=False)
    counts = summary["status_codes"]
    assert set(counts) == {"200", "302"}
    assert 2 * counts["200"] == 3 * counts["302"] > 0
    parts = [*summary["transactions"].values()], [*summary["steps"].values()]
    for each in parts:
        for code, count in counts.items():
            assert sum(part["status_codes"].get(code, 0) for part in each) == count


def test_status_codes_of_an_older_recording_are_not_known(run):
    summary = summarize_run(run, tables=False)
    parts = [summary, *summary["transactions"].values(), *summary["steps"].values()]
    assert {part["status_codes"] for part in parts} == {None}
    assert "redirects" not in reasons(run)


@pytest.mark.parametrize("lasts_s", [1, 5, 12])
def test_a_window_starts_once_its_backlog_is_worked_off(run, lasts_s):
    """Forty requests that started before the window are in flight at its start; the normal number is two."""
    carried_over(run, seconds=lasts_s)
    summary = summarize_run(run, tables=False)
    window = summary["window"]
    # The window begins after the first second with a normal number of requests in flight.
    assert window["start_s"] == window["asked_start_s"] + lasts_s + 1
    assert window["note"] == f"the first {lasts_s + 1} s of the steady stage were left out as transient"
    assert DoubtKind.BACKLOG not in {reason["kind"] for reason in summary["verdict"]["reasons"]}
    assert summary["backlog"]["excess_at_start"] == 0


def test_the_share_of_the_envelope_is_reported_and_below_the_limit_no_doubt(run):
    run.update(envelope={"rate_per_core_per_s": 16.0})
    summary = summarize_run(run, tables=False)
    # Eight users make one request per second on one load thread. A user starts no cycle that would end after the load.
    rate = sum(2.0 <= exchange.actual < 42.0 for exchange in script().exchanges) / 40
    assert summary["generator"]["requests_started_per_s"] == pytest.approx(rate)
    assert summary["generator"]["envelope_per_s"] == 16.0
    assert summary["generator"]["envelope_share"] == pytest.approx(rate / 16)
    assert "generator_saturated" not in reasons(run)
    above_envelope(run)
    assert "started 8 requests/s, 86.9 % of the 9 /s" in reasons(run)["generator_saturated"]["message"]


def test_without_a_calibration_there_is_no_share(run):
    result = summarize_run(run, tables=False)["generator"]
    assert (result["envelope_per_s"], result["envelope_share"]) == (None, None)
    assert result["limits"] == {"open_files": None, "connections_by_ports": None}


def test_a_study_may_let_the_generator_be_busy(run):
    generator_saturated(run)
    assert "generator_saturated" in reasons(run)
    assert "generator_saturated" in reasons(run, limits={"generator_busy": 0.9})
    assert "generator_saturated" not in reasons(run, limits={"generator_busy": 1.0})


def test_failures_to_connect_far_from_any_limit_are_not_the_generators(run):
    out_of_files(run)
    run.update(generator_limits={"open_files": 20_000, "connections_by_ports": 28_000})
    assert "generator_saturated" not in reasons(run)


def test_open_files_of_all_tables_count(run):
    out_of_files(run)
    assert reasons(run)["generator_saturated"]["seen"] == 1.0
    change_engine(run, open_files={"limit": 8, "tables": 2, "connections_at_most": 14})
    assert summarize_run(run, tables=False)["generator"]["limits"]["open_files"] == 16.0
    assert "generator_saturated" not in reasons(run)


def test_threads_that_only_hold_connections_are_no_cores(run):
    run.update(envelope={"rate_per_core_per_s": 16.0})
    change_engine(run, threads=51, cores=2)
    assert summarize_run(run, tables=False)["generator"]["envelope_per_s"] == 32.0


def test_all_connections_in_use_without_a_failure_is_no_doubt(run):
    run.update(generator_limits={"open_files": 8})
    assert "generator_saturated" not in reasons(run)


@pytest.mark.parametrize("at_s", [1.0, 41.9])
def test_what_overflowed_outside_the_window_is_not_counted(run, at_s):
    def change(document, at):
        document["host"]["tcp_listen_overflows_total"] = 9 if at > at_s + 1 or (at_s < 2 and at > -0.5) else 0

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    assert "listen_overflow" not in reasons(run)


def test_retransmits_below_the_limit_are_no_doubt(run):
    def change(document, at):
        document["host"]["tcp_retransmits_total"] = 1

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    assert "retransmits" not in reasons(run)


def test_a_death_is_reported_once_and_is_no_interruption(run):
    died(run)
    died_and_stopped(run)
    result = [reason["kind"] for reason in summarize_run(run, tables=False)["verdict"]["reasons"]]
    assert result.count("service_died") == 1
    assert "interrupted" not in result


@pytest.mark.parametrize(("lag_s", "level"), [(0.03, "suspect"), (0.2, "invalid")])
def test_start_lag(tmp_path, lag_s, level):
    base = script()
    late = [replace(exchange, actual=exchange.intended + lag_s) for exchange in base.exchanges]
    doubt = reasons(write_run(tmp_path / "r", replace(base, exchanges=late)))["start_lag"]
    assert doubt["level"] == level
    assert doubt["seen"] == pytest.approx(lag_s, rel=0.001)
    assert (doubt["limit"], doubt["unit"]) == (0.010, "s")


def lag_doubts(run, limits):
    """Summarize a run with `limits`, but with a limit of 10 s for p99 of the start lag, so that only the share decides.

    Return the summary of the generator, and the reasons of the verdict that concern start lag.
    """
    summary = summarize_run(run, limits | {"start_lag_p99": 10.0}, tables=False)
    return summary["generator"], [reason for reason in summary["verdict"]["reasons"] if reason["kind"] == "start_lag"]


@pytest.mark.parametrize(
    ("lag_s", "limits", "level"),
    [
        (0.0120, {}, None),
        (0.0130, {}, "suspect"),
        (0.13, {}, "invalid"),
        (0.04, {"start_lag_share": 0.2}, None),
        (0.06, {"start_lag_share": 0.2}, "suspect"),
    ],
)
def test_start_lag_as_a_share_of_the_mean_response_time(tmp_path, lag_s, limits, level):
    """The start lag (from intended to actual start) does not change the end: each request ends 250 ms after its
    intended start.
    """
    base = script()
    late = [replace(exchange, actual=exchange.intended + lag_s) for exchange in base.exchanges]
    generator, doubts = lag_doubts(write_run(tmp_path / "r", replace(base, exchanges=late)), limits)
    assert generator["start_lag_share"] == pytest.approx(lag_s / 0.25, rel=0.001)
    limit = limits.get("start_lag_share", 0.05)
    assert [(doubt["level"], doubt["limit"]) for doubt in doubts] == ([] if level is None else [(level, limit)])


def many(**changes):
    """Return a run with 100 transactions per second, enough for an interval of the 99th percentile (p99)."""
    return even_script(
        stages_of(100, 2.0, 40.0), users=100, response_s=0.25, think_s=0.75, seconds=42.0, service_s=0.0, **changes
    )


def test_start_lag_of_one_request_in_fifty_is_a_share_of_p99(tmp_path):
    """One request in fifty starts 240 ms late and ends 480 ms after its intended start; all others take 250 ms."""
    base = many()
    late = [
        replace(each, actual=each.intended + 0.24, end=each.intended + 0.48) if number % 50 == 0 else each
        for number, each in enumerate(base.exchanges)
    ]
    generator, doubts = lag_doubts(write_run(tmp_path / "r", replace(base, exchanges=late)), {})
    assert generator["start_lag_share"] == pytest.approx(0.02 * 0.24 / (0.02 * 0.48 + 0.98 * 0.25), rel=0.05)
    assert generator["start_lag_share_p99"] == pytest.approx(1 - 0.25 / 0.48, rel=0.05)
    assert [doubt["level"] for doubt in doubts] == ["suspect"]
    assert "of the p99 of response times" in doubts[0]["message"]


def test_a_fast_request_that_is_mostly_start_lag_is_noted_beside_slow_ones(tmp_path):
    base = many(transactions=["export", "read"])
    quick = [
        replace(each, actual=each.intended + 0.00018, end=each.intended + 0.0002) if each.transaction else each
        for each in base.exchanges
    ]
    generator, doubts = lag_doubts(write_run(tmp_path / "r", replace(base, exchanges=quick)), {})
    assert generator["start_lag_share"] < 0.001
    assert generator["start_lag_most"]["share"] == pytest.approx(0.9, abs=0.01)
    assert [doubt["level"] for doubt in doubts] == ["note"]
    assert generator["start_lag_most"]["step"] in doubts[0]["message"]


def test_a_wait_for_a_user_of_an_open_load_is_no_lag_of_the_generator(tmp_path):
    """Eight arrivals a second wait for a free user for 125 ms each, so 8 x 0.125 = 1 arrival waits on average."""
    base = script()
    late = [replace(exchange, actual=exchange.intended + 0.125) for exchange in base.exchanges]
    run = write_run(tmp_path / "r", replace(base, exchanges=late))
    assert lag_doubts(run, {})[0]["start_lag_share"] == pytest.approx(0.5, rel=0.001)
    rewrite(
        run.engine / "worker-00.0000.ndjson",
        lambda document: {**document, "waiting": 1} if document["k"] == "interval" else document,
    )
    generator, doubts = lag_doubts(run, {})
    assert generator["start_lag_share"] == pytest.approx(0.0, abs=0.02)
    assert generator["start_lag_share_p99"] is None
    assert doubts == []
    assert missing_checks(run)["start_lag"].startswith("arrivals waited for users")


@pytest.mark.parametrize("think_s", [0.0, 0.75])
def test_start_lag_of_users_without_pauses_is_not_checked(tmp_path, think_s):
    """If users make no pauses, a request starts when the generator has read the previous response. So a late start is
    not visible.
    """
    base = even_script(stages_of(8, 2.0, 40.0), users=8, response_s=0.25, think_s=think_s, seconds=42.0, service_s=0.0)
    missing = missing_checks(write_run(tmp_path / "r", base))
    assert ("start_lag" in missing) == (think_s == 0)
    assert "users do not pause" in missing.get("start_lag", "users do not pause")


def test_the_limit_of_an_open_load_is_a_millisecond(tmp_path):
    base = script()
    late = [replace(exchange, actual=exchange.intended + 0.003) for exchange in base.exchanges]
    run = write_run(tmp_path / "r", replace(base, exchanges=late))
    assert "start_lag" not in reasons(run)
    run.update(users=None, rate=8.0)
    found = reasons(run)
    assert found["start_lag"]["limit"] == 0.001
    assert "little_law" not in found


def test_errors_above_the_limit(tmp_path):
    base = script()
    failing = [
        replace(exchange, failure="timeout" if number % 20 == 0 else None)
        for number, exchange in enumerate(base.exchanges)
    ]
    doubt = reasons(write_run(tmp_path / "r", replace(base, exchanges=failing)))["errors_above_limit"]
    assert doubt["level"] == "invalid"
    assert "timeout" in doubt["message"]


def test_no_steady_state(tmp_path):
    base = script()
    slower = [
        replace(exchange, end=exchange.end + 0.01 * exchange.intended, think=exchange.think - 0.01 * exchange.intended)
        for exchange in base.exchanges
    ]
    assert "no_steady_state" in reasons(write_run(tmp_path / "r", replace(base, exchanges=slower)))


def test_what_goes_away_again_in_the_middle_is_no_steady_state(tmp_path):
    base = script()

    def disturbed(exchange):
        # Response times are tripled for twelve seconds, as by a background job. Think times are shortened accordingly,
        # so the rate stays the same.
        late = 0.5 if 16.0 <= exchange.intended < 28.0 else 0.0
        return replace(exchange, end=exchange.end + late, think=exchange.think - late)

    found = reasons(
        write_run(tmp_path / "r", replace(base, exchanges=[disturbed(exchange) for exchange in base.exchanges]))
    )
    doubt = found["no_steady_state"]
    # The step from 0.25 to 0.75 s is +200 %. The seconds at its edges contain old and new response times, so +171 % is
    # measured.
    assert doubt["message"].startswith("response time changes abruptly by +171 % at 17 s")
    assert doubt["level"] == "invalid"


def test_every_kind_has_a_test_an_explanation_and_a_place_in_the_reference():
    elsewhere = {
        DoubtKind.START_LAG, DoubtKind.ERRORS_ABOVE_LIMIT, DoubtKind.NO_STEADY_STATE, DoubtKind.REST_NOT_SHOWN,
        DoubtKind.COPIED_RUN, DoubtKind.SHORT_WINDOW, DoubtKind.FIXED_PACE, DoubtKind.COORDINATED_OMISSION,
        DoubtKind.COARSE_TIMES, DoubtKind.SUMMARIES_ONLY, DoubtKind.LOAD_GAP,
    }  # fmt: skip
    assert {kind for _, kind, _ in CASES} | elsewhere == set(DoubtKind)
    assert set(EXPLANATIONS) == set(DoubtKind)
    listed = re.search(r"Kinds \(closed list\):\s*`([^`]+)`", REFERENCE.read_text("utf-8"))
    assert set(re.split(r",\s*", listed[1])) == {str(kind) for kind in DoubtKind}


def test_the_heaviest_reason_comes_first(run):
    costly(run)
    stopped(run)
    levels = [reason["level"] for reason in summarize_run(run, tables=False)["verdict"]["reasons"]]
    order = ["invalid", "suspect", "note"]
    assert levels == sorted(levels, key=order.index)


def test_a_death_that_was_asked_for_is_no_doubt_and_ends_the_window(run):
    origin = MONOTONIC_NS

    def written(kind, at_s, **more):
        return lines.encode(
            {"k": kind, "t_ns": origin + round(at_s * SECOND), "event": "lost", "on": "content", **more}
        )

    begins = written("event_begins", 25.5, do="restart", processes=["content"])
    (run.path / "events.ndjson").write_bytes(begins + written("event_ends", 28.0, do="restart"))

    def change(document, at):
        group = document["groups"]["content"]
        group["alive"] = not 25.5 < at < 27.5
        group["root_start_ticks"] += 777 if at > 27.5 else 0

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    summary = summarize_run(run, tables=False)
    kinds = {reason["kind"] for reason in summary["verdict"]["reasons"]}
    assert not kinds & {"service_died", "service_restarted", "observation_gap"}
    assert (summary["window"]["asked_start_s"], summary["window"]["asked_end_s"]) == (2.0, 25.0)
    assert summary["window"]["note"] == "the window ends when event lost begins"
    event = summary["events"]["lost"]
    assert (event["begin_s"], event["end_s"], event["before"]["seconds"]) == (25.5, 28.0, 23)


def test_the_same_death_unasked_is_one(run):
    def change(document, at):
        document["groups"]["content"]["alive"] = not 25.5 < at < 27.5

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    assert "service_died" in reasons(run)


@pytest.mark.parametrize("harm", ["whole", "missing", "no counts", "impossible"])
def test_without_the_counts_of_the_engine_their_check_is_not_made(run, harm):
    path = run.engine / "engine.json"
    document = json.loads(path.read_text("utf-8"))
    if harm == "missing":
        path.unlink()
    elif harm == "no counts":
        path.write_text(json.dumps({key: value for key, value in document.items() if key != "totals"}), "utf-8")
    elif harm == "impossible":
        document["totals"]["ok"] = -1
        path.write_text(json.dumps(document), "utf-8")
    missing = missing_checks(run)
    assert ("accounting" in missing) == (harm != "whole")
    assert "engine.json" in missing.get("accounting", "engine.json")


def test_what_the_clock_gained_while_the_machine_slept_is_no_jump(run):
    suspended(run)
    assert DoubtKind.CLOCK_JUMP not in reasons(run)


def test_how_long_a_service_was_held_is_summed(run):
    held(run)
    assert reasons(run)[DoubtKind.SERVICE_HELD]["seen"] == pytest.approx(6.0)
