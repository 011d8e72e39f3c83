"""Records of the engine are read completely; damaged records are read up to the damage."""

from __future__ import annotations

import json
import zlib

import pytest
from synthetic_runs import Script, Stage, even_schedule, write_run

from towtank.results import lines, segments
from towtank.results.folder import RunFolder
from towtank.results.following import Follower
from towtank.results.stream_forms import SeriesForm

STAGES = [Stage("ramp_up", "ramp_up", 1.5, 4), Stage("steady", "steady", 3.0, 4)]


@pytest.fixture
def run(tmp_path):
    exchanges, starts, ends = even_schedule(
        users=4, response_s=0.25, think_s=0.25, seconds=4.5, service_s=0.05, transactions=2
    )
    script = Script(
        name="r001",
        transactions=["read", "write"],
        stages=STAGES,
        exchanges=exchanges,
        factors={},
        users=4,
        user_starts=starts,
        user_ends=ends,
        workers=2,
    )
    return write_run(tmp_path / "r001", script)


def test_a_whole_recording(run):
    recording = segments.read(run.engine)
    assert recording.header.transactions == ["read", "write"]
    assert (recording.workers, recording.workers_found, recording.finished) == (2, {0, 1}, True)
    # Whole seconds and ends of stages divide the run at 0, 1, 1.5, 2, 3, 4 and 4.5 s: six intervals for each of the two
    # threads.
    assert [record.start_s for record in recording.intervals if record.worker == 0] == [0, 1, 1.5, 2, 3, 4]
    assert [record.stage for record in recording.intervals if record.worker == 1] == [0, 0, 1, 1, 1, 1]
    assert recording.damage == lines.Damage()
    ended = sum(
        series.ok for interval in recording.intervals for series in interval.series if series.of == "transaction"
    )
    # Four users start 0.125 s apart, and each completes a cycle every half second until 4.5 s. So user n completes
    # (4.5 - 0.125 n) / 0.5 cycles, rounded down.
    assert ended == sum(int((4.5 - 0.125 * user) / 0.5) for user in range(4))


def test_names_of_pages_and_steps_include_their_transaction(run):
    recording = segments.read(run.engine)
    assert list(segments.names_of(recording, "transaction")) == ["read", "write"]
    assert list(segments.names_of(recording, "step")) == ["read / request", "write / request"]


def test_no_folder_is_an_empty_recording(tmp_path):
    recording = segments.read(tmp_path / "missing")
    assert (recording.header, recording.intervals, recording.workers, recording.finished) == (
        None,
        [],
        0,
        False,
    )


@pytest.mark.waits
def test_a_torn_file_gives_all_its_whole_lines_whatever_the_byte(run):
    path = run.engine / "worker-01.0000.ndjson"
    whole = path.read_bytes()
    first = max(0, len(whole) - 2048)
    for length in range(first, len(whole) + 1):
        path.write_bytes(whole[:length])
        recording = segments.read(run.engine)
        kept = whole[:length].count(b"\n")
        found = sum(interval.worker == 1 for interval in recording.intervals) + (1 in recording.ends)
        assert found == kept - 1, f"file truncated at byte {length}"
        assert recording.damage.torn_tail == (not whole[:length].endswith(b"\n"))
        assert recording.damage.bad_lines == 0


def test_a_flipped_byte_costs_its_line_only(run):
    path = run.engine / "worker-00.0000.ndjson"
    rows = path.read_bytes().split(b"\n")
    rows[2] = rows[2][:40] + b"#" + rows[2][41:]
    path.write_bytes(b"\n".join(rows))
    recording = segments.read(run.engine)
    assert recording.damage.bad_lines == 1
    assert sum(interval.worker == 0 for interval in recording.intervals) == 5


def test_a_line_with_a_right_checksum_and_a_wrong_form_is_damage(run):
    path = run.engine / "worker-00.0000.ndjson"
    with path.open("ab") as stream:
        stream.write(lines.encode({"k": "interval", "seq": 99}))
        stream.write(lines.encode({"nothing": True}))
        stream.write(lines.encode({"k": "interval", "t0_ns": "x", "t1_ns": 1, "series": []}))
    assert segments.read(run.engine).damage.bad_lines == 3


def test_a_run_is_recorded_up_to_the_time_of_its_slowest_thread(run):
    """The intervals of each thread end at 1, 1.5, 2, 3, 4 and 4.5 s. Thread 0 has written all of them; thread 1 first
    nothing, then its header and two intervals, then all.
    """
    path = run.engine / "worker-01.0000.ndjson"
    rows = path.read_bytes().splitlines(keepends=True)
    path.unlink()
    follower = Follower(run.engine)
    assert (len(follower.read()), follower.recorded_until) == (6, 0.0)
    path.write_bytes(b"".join(rows[:3]))
    assert (len(follower.read()), follower.recorded_until) == (2, 1.5)
    path.write_bytes(b"".join(rows))
    assert (len(follower.read()), follower.recorded_until) == (4, 4.5)


def test_a_lost_header_is_taken_from_another_thread(run):
    path = run.engine / "worker-00.0000.ndjson"
    path.write_bytes(path.read_bytes().split(b"\n", 1)[1])
    recording = segments.read(run.engine)
    assert recording.header.model_extra["worker"] == 1
    assert sum(interval.worker == 0 for interval in recording.intervals) == 6


def test_parts_of_a_thread_follow_each_other(run):
    path = run.engine / "worker-00.0000.ndjson"
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(rows[:4]))
    (run.engine / "worker-00.0001.ndjson").write_bytes(b"".join([rows[0], *rows[4:]]))
    recording = segments.read(run.engine)
    assert [interval.start_s for interval in recording.intervals if interval.worker == 0] == [0, 1, 1.5, 2, 3, 4]
    assert recording.finished


def test_engine_document(run):
    assert segments.read_engine_document(run.engine).reason == "finished"
    (run.engine / "engine.json").write_text("[1]")
    assert segments.read_engine_document(run.engine) is None
    (run.engine / "engine.json").write_text('{"half')
    assert segments.read_engine_document(run.engine) is None
    (run.engine / "engine.json").unlink()
    assert segments.read_engine_document(run.engine) is None


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"message": 5}, "message must be text, got 5 instead"),
        ({"reason": ["failed"]}, "reason must be text, got a list instead"),
        ({"totals": {"in_flight": "text"}}, "totals.in_flight must be a whole number, got 'text' instead"),
        ({"totals": [1]}, "totals must be a mapping of keys to values, got a list instead"),
        ({"identity": [1]}, "identity must be a mapping of keys to values, got a list instead"),
    ],
)
def test_only_a_malformed_entry_of_an_engine_document_is_lost_and_it_is_named(run, change, fault):
    path = run.engine / "engine.json"
    whole = segments.read_engine_document(run.engine)
    assert whole.left_out == {}
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | change), "utf-8")
    found = segments.read_engine_document(run.engine)
    (key,) = change
    assert found.left_out == {key: fault}
    assert found.model_dump() == {**whole.model_dump(), key: None}


def test_lines_are_plain_ndjson_after_nine_characters(run):
    for row in (run.engine / "worker-00.0000.ndjson").read_text().splitlines():
        assert json.loads(row[9:])["k"] in ("header", "interval", "end")


def test_the_run_folder_is_where_it_says(run):
    assert RunFolder(run.path).engine == run.path / "engine"


def _header(part, stages, **more):
    return {
        "k": "header",
        "schema": "towtank/segment/1",
        "worker": 0,
        "workers": 2,
        "part": part,
        "stages": stages,
        **more,
    }


def _write(folder, name, *documents):
    folder.mkdir(exist_ok=True)
    texts = (json.dumps(document) for document in documents)
    (folder / name).write_text("".join(f"{zlib.crc32(text.encode()):08x} {text}\n" for text in texts))


def test_the_header_with_most_edits_gives_the_stages(tmp_path):
    planned = [{"name": "settle", "phase": "settle", "start_s": 0.0, "end_s": 600.0}]
    actual = [{"name": "settle", "phase": "settle", "start_s": 0.0, "end_s": 3.05}]
    interval = {
        "k": "interval", "t0_ns": 0, "t1_ns": 10**9, "stage": 0, "users": 1, "user_ns": 1, "in_flight": 0,
        "waiting": 7, "cpu_ns": 1, "series": [],
    }  # fmt: skip
    _write(tmp_path, "worker-00.0000.ndjson", _header(0, planned), interval)
    _write(tmp_path, "worker-00.0001.ndjson", _header(1, actual, edits=1))
    # Thread 1 was killed before it began a segment file with the changed stages. Its second file only continues the
    # first one, which was full.
    _write(tmp_path, "worker-01.0000.ndjson", _header(0, planned))
    _write(tmp_path, "worker-01.0001.ndjson", _header(1, planned))
    recording = segments.read(tmp_path)
    assert [stage.model_dump(exclude_unset=True) for stage in segments.stages_of(recording)] == actual
    assert recording.intervals[0].waiting == 7


def test_counts_that_a_thread_left_out_are_zero():
    empty, full = (
        segments._series(SeriesForm.model_validate({"of": "step", "id": 2, **more}))
        for more in ({}, {"offered": 3, "ok": 1})
    )
    counts = ("offered", "started", "ok", "bytes_out", "bytes_in")
    assert [getattr(empty, name) for name in counts] == [0] * 5
    assert [getattr(full, name) for name in counts] == [3, 0, 1, 0, 0]
    assert (empty.number, empty.failed, empty.not_started, empty.response_sum_s) == (2, {}, {}, 0.0)


def test_times_of_an_interval_are_seconds():
    common = {"t0_ns": 1_500_000_000, "t1_ns": 2_250_000_000, "user_ns": 3_000_000_000, "cpu_ns": 125_000_000}
    given = {**common, "stage": 1, "users": 4, "in_flight": 2, "series": []}
    bare = segments.interval(given, 3)
    assert (bare.worker, bare.start_s, bare.end_s, bare.user_s, bare.cpu_s) == (3, 1.5, 2.25, 3.0, 0.125)
    assert (bare.gap_s, bare.stalled_s, bare.gaps_sum_s, bare.waiting) == (None, 0.0, 0.0, 0)
    whole = segments.interval(given | {"gap_ns": 250_000_000, "stalled_ns": 125_000_000, "gaps_sum_ns": 5 * 10**8}, 3)
    assert (whole.gap_s, whole.stalled_s, whole.gaps_sum_s) == (0.25, 0.125, 0.5)
