"""Records of long runs are shortened when they are read: sums are exact, samples are fewer, and no file changes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic_runs import MONOTONIC_NS, SECOND, Script, Stage, closed_queue, write_run

from towtank.analysis import Measurement, compact, read_run, summarize_run
from towtank.errors import EngineError
from towtank.files import NotAFileError
from towtank.results import RunFolder, lines, long_runs, observe, segments
from towtank.results.stream_forms import RecordedStage, SegmentHeader

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
    return write_run(tmp_path / "runs" / "r001", script)


def shorten(patch: pytest.MonkeyPatch) -> None:
    """Count runs of more than 20 s as long, and shorten those of a minute to intervals of 10 s."""
    patch.setattr(long_runs, "LONG_S", 20.0)
    patch.setattr(long_runs, "INTERVALS_AT_MOST", SECONDS // WIDTH_S)
    patch.setattr(long_runs, "_INTERVALS_OF_STAGE", 2)
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


@pytest.mark.parametrize("offset_ms", [-2, -1, 0, 1, 2])
def test_threads_that_start_a_little_apart_share_their_intervals(
    offset_ms: int, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = run.engine.glob("worker-01.*.ndjson")
    path.write_bytes(b"".join(lines.encode(shifted(each, offset_ms * 10**6)) for each in lines.read(path)))
    shorten(monkeypatch)
    for intervals in (3, 5, 6, 7, 10, 12, 30):
        monkeypatch.setattr(long_runs, "INTERVALS_AT_MOST", intervals)
        monkeypatch.setattr(long_runs, "_kept", long_runs._Kept())
        found = Measurement(segments.read(run.engine))
        assert found.bins <= intervals + 4
        assert found.mean_users[found.stage == 1] == pytest.approx(8.0, rel=0.01)


def shifted(line: Mapping[str, Any], offset_ns: int) -> dict[str, Any]:
    """Return the line of an interval whose inner edges are shifted."""
    return {key: value + offset_ns if key in ("t0_ns", "t1_ns") and value > 0 else value for key, value in line.items()}


def test_counters_grow_alike_and_no_gap_is_seen_or_lost(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = run.observe / "probe.ndjson"
    kept = [line for line in probe.read_bytes().splitlines(keepends=True) if not in_gap(line)]
    probe.write_bytes(b"".join(kept))
    before = summarize_run(run, tables=False)
    shorten(monkeypatch)
    stream = observe.read_probe(run.observe, segments.shortening(run.engine))
    assert stream.times_ns is not None
    assert (len(stream.samples) < 0.6 * SECONDS, len(stream.times_ns)) == (True, len(kept) - 1)
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

    before = measured(run)
    shorten(monkeypatch)
    monkeypatch.setattr(long_runs, "binary", missing)
    assert len(segments.read(run.engine).intervals) >= 2 * SECONDS
    assert measured(run) == {key: pytest.approx(value) for key, value in before.items()}


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
    intervals, metrics = compact(run, read_run(run).records)
    assert intervals.is_file()
    assert metrics.is_file()
    assert {path: path.read_bytes() for path in sorted(run.path.rglob("*.ndjson"))} == before


def test_a_span_has_the_recorded_seconds(run: RunFolder) -> None:
    found = segments.read_span(run.engine, 20, 30)
    assert found.header is not None
    spans = {(interval.start_s, interval.end_s) for interval in found.intervals}
    assert sorted(spans) == [(float(second), second + 1.0) for second in range(20, 30)]
    assert {interval.worker for interval in found.intervals} == {0, 1}


@pytest.mark.parametrize(
    ("length_s", "steady_s", "every_s", "width_s"),
    [
        (7_201, 7_000, [], 6),
        (86_400, 86_000, [], 60),
        (86_400, 1_800, [], 30),
        (86_400, 100, [], 1),
        (86_400, 86_000, [600.0], 60),
        (86_400, 86_000, [90.0], 9),
        (86_400, 86_000, [90.0, 100.0], 5),
        (86_400, 86_000, [5.0], 1),
        (86_400, 86_000, [90.5], 1),
        (1e12, 1e12, [], 300),
    ],
)
def test_the_width_suits_length_stages_and_objectives(
    length_s: float, steady_s: float, every_s: list[float], width_s: int
) -> None:
    stages = [RecordedStage(phase="ramp_up", end_s=10.0), RecordedStage(phase="steady", start_s=10.0)]
    stages[1].end_s = 10.0 + min(steady_s, 1e8)
    assert long_runs._width_s(length_s, SegmentHeader(stages=stages), every_s) == width_s


def test_neither_a_short_run_nor_one_with_a_search_is_shortened(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert segments.shortening(run.engine) is None
    shorten(monkeypatch)
    assert segments.shortening(run.engine) is not None
    run.update(search={"start": 1})
    assert segments.shortening(run.engine) is None


def test_objectives_in_windows_keep_the_intervals_short(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch)
    study = run.path.parent.parent / "study.json"
    study.write_text(json.dumps({"study": {"objectives": [{"every_s": 30.0}, {"every_s": None}]}}))
    found = segments.shortening(run.engine)
    assert found is not None
    assert found.width_ns == 3 * SECOND
    study.write_text(json.dumps({"study": {"objectives": [{"every_s": 5.0}]}}))
    assert segments.shortening(run.engine) is None


def test_a_damaged_time_does_not_make_a_run_long(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_runs, "LONG_S", 100.0)
    monkeypatch.setattr(long_runs, "_INTERVAL_BYTES", 0)
    for path in run.engine.glob("worker-*.ndjson"):
        text = path.read_bytes().splitlines(keepends=True)
        text[-3] = text[-3].replace(b'"t1_ns":', b'"t1_ns":9')
        path.write_bytes(b"".join(text))
    assert segments.shortening(run.engine) is None


def test_a_last_segment_without_intervals_does_not_make_a_run_short(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch)
    for path in list(run.engine.glob("worker-*.0000.ndjson")):
        header = path.read_bytes().splitlines(keepends=True)[0]
        path.with_name(path.name.replace(".0000.", ".0001.")).write_bytes(header)
    assert segments.shortening(run.engine) is not None


def test_a_torn_segment_does_not_run_into_the_next(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in list(run.engine.glob("worker-*.0000.ndjson")):
        text = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(text[:30]) + text[30][:50])
        path.with_name(path.name.replace(".0000.", ".0001.")).write_bytes(text[0] + b"".join(text[31:]))
    before, whole = measured(run), segments.read(run.engine)
    shorten(monkeypatch)
    found = segments.read(run.engine)
    assert found.damage == whole.damage
    assert found.damage.torn_tail
    assert found.header == whole.header
    assert measured(run) == {key: pytest.approx(value) for key, value in before.items()}


@pytest.mark.parametrize("is_removed", [True, False])
def test_lost_records_cost_only_their_seconds(
    is_removed: bool, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, path in enumerate(sorted(run.engine.glob("worker-*.0000.ndjson"))):
        text, first = path.read_bytes().splitlines(keepends=True), 23 + 9 * number
        lost = [] if is_removed else [line[:30] + b"#" + line[31:] for line in text[first : first + 6]]
        path.write_bytes(b"".join([*text[:first], *lost, *text[first + 6 :]]))
    before, whole = measured(run), summarize_run(run, tables=False)
    shorten(monkeypatch)
    assert measured(run) == {key: pytest.approx(value) for key, value in before.items()}
    recording = segments.read(run.engine)
    assert len(recording.whole_cells) in (2, 3)
    assert Measurement(recording).bins < SECONDS - 20
    found: Any = summarize_run(run, tables=False)
    for key in ("cpus_used", "cpu_demand_s"):
        used = [each["tiers"]["content"][key]["value"] for each in (whole, found)]  # type: ignore[index]
        assert used[1] == pytest.approx(used[0], rel=0.02)


def test_rotated_segments_of_several_threads_share_their_intervals(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, path in enumerate(sorted(run.engine.glob("worker-*.0000.ndjson"))):
        text, split = path.read_bytes().splitlines(keepends=True), 23 + 9 * number
        path.write_bytes(b"".join(text[:split]))
        path.with_name(path.name.replace(".0000.", ".0001.")).write_bytes(text[0] + b"".join(text[split:]))
    before = measured(run)
    shorten(monkeypatch)
    assert measured(run) == {key: pytest.approx(value) for key, value in before.items()}


def test_a_pipe_in_place_of_a_segment_is_refused(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(run.engine / "worker-00.0001.ndjson")
    with pytest.raises(NotAFileError):
        segments.read(run.engine)
    shorten(monkeypatch)
    with pytest.raises(NotAFileError):
        segments.read(run.engine)


def test_stalls_are_those_of_the_recorded_seconds(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    for worker, path in enumerate(sorted(run.engine.glob("worker-*.0000.ndjson"))):
        path.write_bytes(b"".join(lines.encode(stalled(each, worker)) for each in lines.read(path)))
    before: Any = summarize_run(run, tables=False)
    shorten(monkeypatch)
    after: Any = summarize_run(run, tables=False)
    assert len(before["generator"]["long_stalls"]) == 1
    assert after["generator"]["long_stalls"] == before["generator"]["long_stalls"]
    for key in ("longest_gap_s", "stalled_s"):
        assert after["generator"][key] == pytest.approx(before["generator"][key], rel=0.02), key


def stalled(line: Mapping[str, Any], worker: int) -> dict[str, Any]:
    """Return a line with a stall of 150 ms in each fifth second of one load thread, and one of 1.2 s in another."""
    second = line.get("t0_ns", -SECOND) // SECOND
    if worker == 0 and second in (27, 28):
        return {**line, "gap_ns": 1_200_000_000, "stalled_ns": 600_000_000}
    return {**line, "gap_ns": 150_000_000, "stalled_ns": 150_000_000} if second % 5 == worker else dict(line)


def test_rare_values_and_steps_of_the_clock_are_seen(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = run.observe / "probe.ndjson"
    probe.write_bytes(b"".join(lines.encode(with_rare_values(each)) for each in lines.read(probe)))
    before: Any = summarize_run(run, tables=False)
    shorten(monkeypatch)
    short = segments.shortening(run.engine)
    stream = observe.read_probe(run.observe, short)
    rare = [sample for sample in stream.samples if "rare_value_of_some_samples_only" in sample["host"]]
    assert len(rare) >= 5
    after: Any = summarize_run(run, tables=False)
    jumps = [
        [each for each in found["verdict"]["reasons"] if each["kind"] == "clock_jump"] for found in (before, after)
    ]
    assert jumps[0]
    assert jumps[0] == jumps[1]


def with_rare_values(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sample in which the host has a further value in each seventh second, and whose wall clock is ahead by a
    second for two seconds.
    """
    if line["k"] != "sample":
        return dict(line)
    second = (line["t_ns"] - MONOTONIC_NS) // SECOND
    host = {**line["host"], "rare_value_of_some_samples_only": 1.0} if second % 7 == 3 else line["host"]
    return {**line, "host": host, "wall_ns": line["wall_ns"] + (SECOND if second in (27, 28) else 0)}


def test_values_near_a_limit_are_read_beside_other_rare_values(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = run.observe / "probe.ndjson"
    found = list(lines.read(probe))
    for second, sample in enumerate(each for each in found if each["k"] == "sample"):
        rare = {3: "a_value_that_is_longer_than_all_others_of_this_host", 5: "user_tasks"}.get(second % 10)
        sample["host"] |= {} if rare is None else {rare: 1.0}  # type: ignore[operator]
    probe.write_bytes(b"".join(map(lines.encode, found)))
    shorten(monkeypatch)
    samples = observe.read_probe(run.observe, segments.shortening(run.engine)).samples
    times = [sample["t_ns"] for sample in samples]
    assert times == sorted(set(times))
    for name in ("a_value_that_is_longer_than_all_others_of_this_host", "user_tasks"):
        assert sum(name in sample["host"] for sample in samples) >= 5


def test_malformed_samples_do_not_hide_good_samples(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = run.observe / "probe.ndjson"
    found = list(lines.read(probe))
    bad = [
        {**each, "host": []} if each["k"] == "sample" and number % 10 < 3 else each for number, each in enumerate(found)
    ]
    probe.write_bytes(b"".join(map(lines.encode, bad)))
    shorten(monkeypatch)
    stream = observe.read_probe(run.observe, segments.shortening(run.engine))
    assert len(stream.samples) >= SECONDS / WIDTH_S
    assert stream.damage.bad_lines > 0
    whole = observe.read_probe(run.observe)
    assert {sample["t_ns"] for sample in stream.samples} <= {sample["t_ns"] for sample in whole.samples}
