"""Every doubt is raised by the evidence it is made for, and by nothing in a sound run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from harmed_runs import (
    CASES,
    SECOND,
    above_envelope,
    carried_over,
    change_engine,
    costly,
    died,
    died_and_stopped,
    generator_saturated,
    on_samples,
    out_of_files,
    reasons,
    rewrite,
    script,
    stopped,
)
from synthetic_runs import MONOTONIC_NS, write_run

from towtank.analysis import summarize_run
from towtank.analysis.doubts import EXPLANATIONS, Kind
from towtank.results import lines

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "summary.md"


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "r001", script())


def test_a_sound_run_has_no_doubt_but_its_length(run):
    summary = summarize_run(run, tables=False)
    assert summary["verdict"]["level"] == "valid"
    notes = {(one["kind"], one["level"]) for one in summary["verdict"]["reasons"]}
    assert notes == {("rest_not_shown", "note"), ("too_few_samples", "note")}


@pytest.mark.parametrize(("harm", "kind", "level"), CASES, ids=[one[0].__name__ for one in CASES])
def test_a_doubt_is_raised_with_number_reason_and_hint(run, harm, kind, level):
    harm(run)
    found = reasons(run)
    assert kind in found
    one = found[kind]
    assert one["level"] == level
    assert one["message"]
    assert (one["why"], one["hint"]) == EXPLANATIONS[kind]


@pytest.mark.parametrize("lasts_s", [1, 5, 12])
def test_a_window_starts_once_its_backlog_is_worked_off(run, lasts_s):
    """Forty in flight from before the window on, where two are needed."""
    carried_over(run, seconds=lasts_s)
    summary = summarize_run(run, tables=False)
    window = summary["window"]
    # The first second with no more than is needed belongs to what is cut off: its end is the first such reading.
    assert window["start_s"] == window["asked_start_s"] + lasts_s + 1
    assert window["note"] == f"the first {lasts_s + 1} s of the steady stage were left out as transient"
    assert Kind.BACKLOG not in {reason["kind"] for reason in summary["verdict"]["reasons"]}
    assert summary["backlog"]["excess_at_start"] == 0


def test_the_share_of_the_envelope_is_told_and_below_the_limit_no_doubt(run):
    run.update(envelope={"rate_per_core_per_s": 16.0})
    summary = summarize_run(run, tables=False)
    # Eight users, one request each second, one load thread; cycles that would not end in time are not begun.
    rate = sum(2.0 <= one.actual < 42.0 for one in script().exchanges) / 40
    assert summary["generator"]["requests_started_per_s"] == pytest.approx(rate)
    assert summary["generator"]["envelope_per_s"] == 16.0
    assert summary["generator"]["envelope_share"] == pytest.approx(rate / 16)
    assert "generator_saturated" not in reasons(run)
    above_envelope(run)
    assert "started 8 requests/s, 86.9 % of the 9 /s" in reasons(run)["generator_saturated"]["message"]


def test_without_a_calibration_there_is_no_share(run):
    told = summarize_run(run, tables=False)["generator"]
    assert (told["envelope_per_s"], told["envelope_share"]) == (None, None)
    assert told["limits"] == {"open_files": None, "connections_by_ports": None}


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


def test_a_death_is_told_once_and_is_no_interruption(run):
    died(run)
    died_and_stopped(run)
    told = [one["kind"] for one in summarize_run(run, tables=False)["verdict"]["reasons"]]
    assert told.count("service_died") == 1
    assert "interrupted" not in told


@pytest.mark.parametrize(("lag_s", "level"), [(0.03, "suspect"), (0.2, "invalid")])
def test_start_lag(tmp_path, lag_s, level):
    base = script()
    late = [replace(one, actual=one.intended + lag_s) for one in base.exchanges]
    one = reasons(write_run(tmp_path / "r", replace(base, exchanges=late)))["start_lag"]
    assert one["level"] == level
    assert one["seen"] == pytest.approx(lag_s, rel=0.001)
    assert (one["limit"], one["unit"]) == (0.010, "s")


def test_the_limit_of_an_open_load_is_a_millisecond(tmp_path):
    base = script()
    late = [replace(one, actual=one.intended + 0.003) for one in base.exchanges]
    run = write_run(tmp_path / "r", replace(base, exchanges=late))
    assert "start_lag" not in reasons(run)
    run.update(users=None, rate=8.0)
    found = reasons(run)
    assert found["start_lag"]["limit"] == 0.001
    assert "little_law" not in found


def test_errors_above_the_limit(tmp_path):
    base = script()
    failing = [
        replace(one, failure="timeout" if number % 20 == 0 else None) for number, one in enumerate(base.exchanges)
    ]
    one = reasons(write_run(tmp_path / "r", replace(base, exchanges=failing)))["errors_above_limit"]
    assert one["level"] == "invalid"
    assert "timeout" in one["message"]


def test_no_steady_state(tmp_path):
    base = script()
    slower = [
        replace(one, end=one.end + 0.01 * one.intended, think=one.think - 0.01 * one.intended) for one in base.exchanges
    ]
    assert "no_steady_state" in reasons(write_run(tmp_path / "r", replace(base, exchanges=slower)))


def test_what_goes_away_again_in_the_middle_is_no_steady_state(tmp_path):
    base = script()

    def disturbed(one):
        # Twelve seconds of three times the response time, as by a job in the background; think times make up for it.
        late = 0.5 if 16.0 <= one.intended < 28.0 else 0.0
        return replace(one, end=one.end + late, think=one.think - late)

    found = reasons(write_run(tmp_path / "r", replace(base, exchanges=[disturbed(one) for one in base.exchanges])))
    one = found["no_steady_state"]
    # Requests that began at 16 s end within the second after, so that this one is of both levels: 0.75 / 0.25 is +200
    # %, less what the seconds at both edges take from it.
    assert one["message"].startswith("response time steps by +171 % at 17 s")
    assert one["level"] == "invalid"


def test_every_kind_has_a_test_an_explanation_and_a_place_in_the_reference():
    elsewhere = {Kind.START_LAG, Kind.ERRORS_ABOVE_LIMIT, Kind.NO_STEADY_STATE, Kind.REST_NOT_SHOWN, Kind.COPIED_RUN}
    assert {kind for _, kind, _ in CASES} | elsewhere == set(Kind)
    assert set(EXPLANATIONS) == set(Kind)
    listed = re.search(r"Kinds \(closed list\):\s*`([^`]+)`", REFERENCE.read_text("utf-8"))
    assert set(re.split(r",\s*", listed[1])) == {str(kind) for kind in Kind}


def test_the_heaviest_reason_comes_first(run):
    costly(run)
    stopped(run)
    levels = [one["level"] for one in summarize_run(run, tables=False)["verdict"]["reasons"]]
    order = ["invalid", "suspect", "note"]
    assert levels == sorted(levels, key=order.index)


def test_a_death_that_was_asked_for_is_no_doubt_and_ends_the_window(run):
    origin = MONOTONIC_NS

    def told(kind, at_s, **more):
        return lines.encode(
            {"k": kind, "t_ns": origin + round(at_s * SECOND), "event": "lost", "on": "content", **more}
        )

    begins = told("event_begins", 25.5, do="restart", processes=["content"])
    (run.path / "events.ndjson").write_bytes(begins + told("event_ends", 28.0, do="restart"))

    def change(document, at):
        group = document["groups"]["content"]
        group["alive"] = not 25.5 < at < 27.5
        group["root_start_ticks"] += 777 if at > 27.5 else 0

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    summary = summarize_run(run, tables=False)
    kinds = {one["kind"] for one in summary["verdict"]["reasons"]}
    assert not kinds & {"service_died", "service_restarted", "observation_gap"}
    assert (summary["window"]["asked_start_s"], summary["window"]["asked_end_s"]) == (2.0, 25.0)
    assert summary["window"]["note"] == "it ends where event lost begins"
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
    missing = {each["check"]: each["why"] for each in summarize_run(run, tables=False)["verdict"]["not_checked"]}
    assert ("accounting" in missing) == (harm != "whole")
    assert "engine.json" in missing.get("accounting", "engine.json")
