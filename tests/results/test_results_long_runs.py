"""Records of long runs are shortened when they are read: sums are exact, samples are fewer, and no file changes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic_runs import MONOTONIC_NS, SECOND, Script, Stage, closed_queue, write_run

from towtank.analysis import Measurement, compact, read_run, summarize_run
from towtank.errors import EngineError
from towtank.results import RunFolder, lines, long_runs, observe, segments

SECONDS, WIDTH_S = 60, 10


FAILING_S = range(30, 33)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    stages = [Stage("ramp_up", "ramp_up", 3.0, 8), Stage("steady", "steady", SECONDS - 3.0, 8)]
    stages.append(Stage("ramp_down", "ramp_down", 1.0, 0))
    exchanges, starts, ends = closed_queue(
        users=8, think_s=0.25, demands_s=[0.01], weights=[1.0], stages=stages, seed=3
    )
    exchanges = [replace(each, failure="check" if int(each.end) in FAILING_S else None) for each in exchanges]
    script = Script(
        name="r001",
        transactions=["read"],
        stages=stages,
        exchanges=exchanges,
        factors={},
        users=8,
        user_starts=starts,
        user_ends=ends,
        workers=2,
    )
    return write_run(tmp_path / "r001", script)


def shorten(patch: pytest.MonkeyPatch) -> None:
    """Count runs of more than 20 s as long, and shorten those of a minute to intervals of 10 s."""
    patch.setattr(long_runs, "LONG_S", 20.0)
    patch.setattr(long_runs, "INTERVALS_AT_MOST", SECONDS // WIDTH_S)
    patch.setattr(long_runs, "_kept", long_runs._Kept())


def measured(run: RunFolder) -> dict[str, Any]:
    measurement = Measurement(segments.read(run.engine))
    every = np.ones(measurement.bins, dtype=bool)
    times = measurement.transactions.response.merged(every)
    assert times is not None
    return {
        "ok": measurement.transactions.ok.sum(),
        "offered": measurement.requests.offered.sum(),
        "user_s": measurement.user_s.sum(),
        "response_s": measurement.transactions.response_sum_s.sum(),
        "response_by_counter": dict(zip(times.indices.tolist(), times.counts.tolist(), strict=True)),
        "stages": {int(stage): measurement.length_of(measurement.stage == stage) for stage in measurement.stage},
    }


def test_merged_intervals_have_the_same_sums_and_histograms(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    before, bins = measured(run), Measurement(segments.read(run.engine)).bins
    shorten(monkeypatch)
    after, merged = measured(run), Measurement(segments.read(run.engine))
    assert after == {key: pytest.approx(value) for key, value in before.items()}
    assert bins >= SECONDS
    assert merged.bins <= SECONDS / WIDTH_S + 3
    assert merged.is_merged
    assert merged.lengths.max() == pytest.approx(WIDTH_S + 1), "with the ramp-down, the run lasts 61 s"


def test_counters_grow_alike_and_no_gap_is_seen_or_lost(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = run.observe / "probe.ndjson"
    kept = [line for line in probe.read_bytes().splitlines(keepends=True) if not in_gap(line)]
    probe.write_bytes(b"".join(kept))
    before = summarize_run(run, tables=False)
    shorten(monkeypatch)
    stream = observe.read_probe(run.observe)
    assert stream.times_ns is not None
    assert (len(stream.samples) < SECONDS / 3, len(stream.times_ns)) == (True, len(kept) - 1)
    after = summarize_run(run, tables=False)
    for found in (before, after):
        assert [(gap["start_s"], gap["end_s"]) for gap in found["observation"]["gaps"]] == [  # type: ignore[index]
            (pytest.approx(29.0, abs=1.1), pytest.approx(41.0, abs=1.1))
        ]
    used = [found["tiers"]["content"]["cpus_used"]["value"] for found in (before, after)]  # type: ignore[index]
    assert used[1] == pytest.approx(used[0], rel=0.01)
    assert after["observation"]["samples"] == before["observation"]["samples"]  # type: ignore[index]


def in_gap(line: bytes) -> bool:
    document = json.loads(line[9:])
    return document["k"] == "sample" and 30 <= (document["t_ns"] - MONOTONIC_NS) / SECOND <= 40


def test_the_check_of_single_slow_seconds_is_said_to_be_missing(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert summarize_run(run, tables=False)["pauses"] is not None
    shorten(monkeypatch)
    found: Any = summarize_run(run, tables=False)
    assert found["pauses"] is None
    assert "pauses" in [each["check"] for each in found["verdict"]["not_checked"]]


def test_recovery_from_an_event_is_measured_in_seconds(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, at in (("event_begins", FAILING_S.start), ("event_ends", FAILING_S.stop)):
        run.event(kind, event="pause", do="pause", on="content", t_ns=MONOTONIC_NS + at * SECOND)
    before: Any = summarize_run(run, tables=False)["events"]
    shorten(monkeypatch)
    monkeypatch.setattr("towtank.analysis.recovery.BEFORE_S", 15.0)
    monkeypatch.setattr("towtank.analysis.recovery.AFTER_S", 20.0)
    after: Any = summarize_run(run, tables=False)["events"]
    assert before["pause"]["before"]["seconds"] > 20
    assert before["pause"]["disturbed"]
    assert before["pause"]["recovery_s"] == pytest.approx(3.0, abs=1.0)
    assert after["pause"]["before"]["seconds"] == pytest.approx(15, abs=1)
    for key in ("begin_s", "end_s", "until_s", "disturbed", "recovery_s"):
        assert after["pause"][key] == before["pause"][key]


def test_damage_is_counted_alike(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (run.observe / "probe.ndjson", next(run.engine.glob("worker-*.ndjson"))):
        text = path.read_bytes().splitlines(keepends=True)
        text[20] = text[20][:30] + b"#" + text[20][31:]
        path.write_bytes(b"".join([*text, b'00000000 {"k":"torn']))
    before = read_run(run).damage
    shorten(monkeypatch)
    assert read_run(run).damage == before
    assert (before.bad_lines, before.torn_tail) == (2, True)


def test_without_the_engine_all_records_are_read(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise EngineError("towtank-engine is not installed")

    shorten(monkeypatch)
    monkeypatch.setattr(long_runs, "binary", missing)
    assert Measurement(segments.read(run.engine)).bins >= SECONDS


def test_a_long_run_is_read_once_until_it_changes(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch)
    first = segments.read(run.engine)
    assert segments.read(run.engine) is first
    path = next(run.engine.glob("worker-*.ndjson"))
    path.write_bytes(path.read_bytes() + lines.encode({"k": "end", "message": "changed"}))
    assert segments.read(run.engine).ends == {**first.ends, segments.worker_of(path): "changed"}


def test_tables_of_a_long_run_have_its_intervals(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch)
    before = {path: path.read_bytes() for path in sorted(run.path.rglob("*.ndjson"))}
    intervals, metrics = compact(run)
    assert intervals.is_file()
    assert metrics.is_file()
    assert {path: path.read_bytes() for path in sorted(run.path.rglob("*.ndjson"))} == before


def test_a_span_has_the_recorded_seconds(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert segments.read_span(run.engine, 20, 30) is None, "the run is not long"
    shorten(monkeypatch)
    found = segments.read_span(run.engine, 20, 30)
    assert found is not None
    assert found.header is not None
    spans = {(interval.start_s, interval.end_s) for interval in found.intervals}
    assert sorted(spans) == [(float(second), second + 1.0) for second in range(20, 30)]
    assert {interval.worker for interval in found.intervals} == {0, 1}


@pytest.mark.parametrize(
    ("length_s", "width_s"), [(None, None), (60, None), (7_200, None), (7_201, 6), (14_400, 10), (86_400, 60)]
)
def test_the_width_depends_on_the_length(length_s: int | None, width_s: int | None) -> None:
    last = None if length_s is None else length_s * SECOND
    assert long_runs.width_ns(0, last) == (None if width_s is None else width_s * SECOND)
