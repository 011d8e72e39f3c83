"""Gaps in the recording of a probe or of the load generator raise doubts that state their times."""

from __future__ import annotations

import pytest
from changed_recordings import SECOND, reasons, rewrite, script
from even_runs import even_script, stages_of
from harmed_loads import stood_still
from synthetic_runs import MONOTONIC_NS, Stage, write_run

from towtank.analysis import summarize_run
from towtank.analysis.doubts import DoubtKind
from towtank.analysis.system.gaps import Gap
from towtank.results import lines

# Event that reports the end of the probe.
KILLED = "probe: was ended by signal 9"


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "r001", script())


def without_samples(run, start_s, end_s):
    """Remove the samples of the probe between two times of a run."""

    def change(document):
        at = (document["t_ns"] - MONOTONIC_NS) / SECOND if document["k"] == "sample" else None
        return None if at is not None and start_s < at < end_s else document

    rewrite(run.observe / "probe.ndjson", change)


def killed(run, at_s):
    """Remove the samples of the probe after a time, and add the event that reports its end."""
    without_samples(run, at_s, 1e9)
    event = {"k": "observation_stopped", "t_ns": MONOTONIC_NS + 43 * SECOND, "failures": [KILLED]}
    with (run.path / "events.ndjson").open("ab") as stream:
        stream.write(lines.encode(event))


def gaps(run):
    return [
        (gap["host"], gap["start_s"], gap["end_s"]) for gap in summarize_run(run, tables=False)["observation"]["gaps"]
    ]


def test_a_sound_run_has_no_gap(run):
    assert gaps(run) == []


@pytest.mark.parametrize(
    ("start_s", "end_s", "inside_s"),
    [(20, 23, 3.0), (0, 3, 1.0), (39, 42, 3.0)],
    ids=["inside", "across the start", "before the end"],
)
def test_a_probe_that_was_held_is_a_doubt_with_times(run, start_s, end_s, inside_s):
    # Samples are taken some hundredths of a second after each whole second. So none is
    # near the edges of the gap, which are at half seconds.
    without_samples(run, start_s + 0.5, end_s - 0.5)
    assert gaps(run) == [("this_machine", pytest.approx(start_s, abs=0.1), pytest.approx(end_s, abs=0.1))]
    doubt = reasons(run)[DoubtKind.OBSERVATION_GAP]
    assert doubt["level"] == "suspect"
    assert doubt["seen"] == pytest.approx(inside_s, abs=0.1)
    assert f"from {start_s}.0 s to {end_s}.0 s of the run" in doubt["message"]


def test_one_late_sample_is_no_gap(run):
    without_samples(run, 20.5, 21.5)
    assert gaps(run) == []
    assert DoubtKind.OBSERVATION_GAP not in reasons(run)


@pytest.mark.parametrize("at_s", [2.5, 20.5, 40.5, 41.5])
def test_a_probe_that_was_killed_in_the_window_is_a_doubt_however_little_is_missing(run, at_s):
    killed(run, at_s)
    doubt = reasons(run)[DoubtKind.OBSERVATION_GAP]
    assert doubt["level"] == "suspect"
    assert KILLED in doubt["message"]
    assert doubt["seen"] == pytest.approx(42.0 - int(at_s), abs=0.1)


def test_checks_without_samples_at_the_end_of_the_window_were_not_made(run):
    killed(run, 40.5)
    summary = summarize_run(run, tables=False)
    missing = {entry["check"]: entry["why"] for entry in summary["verdict"]["not_checked"]}
    whys = {missing[check] for check in ("steal_time", "listen_overflow", "retransmits")}
    assert whys == {"the probe recorded too little of the window"}
    assert "not checked for that reason: steal_time" in reasons(run)[DoubtKind.OBSERVATION_GAP]["message"]


def test_a_probe_that_was_killed_after_the_window_is_a_note(tmp_path):
    stages = [*stages_of(8, 2.0, 40.0), Stage("ramp_down", "ramp_down", 5.0, 0)]
    longer = even_script(stages, users=8, response_s=0.25, think_s=0.75, seconds=42.0, service_s=0.05)
    run = write_run(tmp_path / "r001", longer)
    killed(run, 43.5)
    doubt = reasons(run)[DoubtKind.OBSERVATION_GAP]
    assert doubt["level"] == "note"
    assert KILLED in doubt["message"]


@pytest.mark.parametrize(("seconds", "level"), [(3.0, "suspect"), (6.0, "invalid")])
def test_a_generator_that_was_held_is_a_doubt_with_times(run, seconds, level):
    stood_still(run, seconds)
    doubt = reasons(run)[DoubtKind.GENERATOR_STALLED]
    assert doubt["level"] == level
    assert f"from 20.0 s to {20.0 + seconds:.1f} s of the run" in doubt["message"]


def test_a_generator_that_was_held_before_the_window_is_a_note(run):
    def stall(document):
        if document["k"] == "interval":
            document["gap_ns"] = 1_000_000
            if document["t1_ns"] <= 2 * SECOND:
                document |= {"gap_ns": 1_700_000_000, "stalled_ns": 700_000_000 + 300_000_000 * (document["t0_ns"] > 0)}
        return document

    rewrite(run.engine / "worker-00.0000.ndjson", stall)
    doubt = reasons(run)[DoubtKind.GENERATOR_STALLED]
    assert doubt["level"] == "note"
    assert "from 0.3 s to 2.0 s of the run, outside the window" in doubt["message"]


def test_a_gap_counts_as_far_as_it_lies_between_two_instants():
    gap = Gap("this_machine", 1.0, 4.0)
    assert (gap.within_s(0.0, 9.0), gap.within_s(2.0, 3.0), gap.within_s(3.0, 9.0), gap.within_s(5.0, 9.0)) == (
        3,
        1,
        1,
        0,
    )
