"""A run is read while the engine writes it: every line is read exactly once, and only whole seconds are sent."""

from __future__ import annotations

from mixed_run import EXCHANGES, write_mixed_run

from towtank.results import lines
from towtank.results.folder import RunFolder
from towtank.sending.gathering import Gatherer


def ended(updates):
    return sum(item.ended for update in updates if update for second in update.seconds for item in second.of("step"))


def grown(source, run):
    """Copy the record files of a run line by line into another run. Yield after each line."""
    streams = [path.read_bytes().splitlines(keepends=True) for path in sorted(source.engine.glob("worker-*.ndjson"))]
    for number in range(max(map(len, streams))):
        for worker, stream in enumerate(streams):
            if number < len(stream):
                with (run.engine / f"worker-{worker:02d}.0000.ndjson").open("ab") as out:
                    out.write(stream[number])
                yield


def test_lines_are_read_once_and_only_when_they_are_whole(tmp_path):
    follower = lines.NewLines(tmp_path / "later", "a.ndjson")
    assert list(follower.new()) == []
    (tmp_path / "later").mkdir()
    path = tmp_path / "later" / "a.ndjson"
    first, second = lines.encode({"n": 1}), lines.encode({"n": 2})
    path.write_bytes(first + second[:9])
    assert [document for _, document in follower.new()] == [{"n": 1}]
    assert list(follower.new()) == []
    with path.open("ab") as stream:
        stream.write(second[9:] + b"00000000 {}\n" + lines.encode({"n": 3}))
    assert [document for _, document in follower.new()] == [{"n": 2}, {"n": 3}]


def test_nothing_is_sent_before_the_engine_writes(tmp_path):
    run = RunFolder.create(tmp_path / "r001", {})
    assert Gatherer(run).update() is None
    assert Gatherer(run).update(last=True) is None


def test_every_request_is_sent_once_however_the_lines_arrive(tmp_path):
    source = write_mixed_run(tmp_path / "source" / "r001")
    run = RunFolder.create(tmp_path / "r001", {})
    gatherer = Gatherer(run)
    updates = [gatherer.update() for _ in grown(source, run)]
    assert 0 < ended(updates) <= len(EXCHANGES)
    updates.append(gatherer.update(last=True))
    whole = Gatherer(source).update(last=True)
    assert ended(updates) == ended([whole])
    keys = [(second.start_s, second.stage) for update in updates if update for second in update.seconds]
    assert keys == [(second.start_s, second.stage) for second in whole.seconds], (
        "every second is sent exactly once and in order"
    )


def test_a_second_waits_for_all_threads_but_not_for_ever(tmp_path):
    source = write_mixed_run(tmp_path / "source" / "r001")
    run = RunFolder.create(tmp_path / "r001", {})
    first, second = (path.read_bytes().splitlines(keepends=True) for path in sorted(source.engine.glob("worker-*")))
    gatherer = Gatherer(run)
    (run.engine / "worker-01.0000.ndjson").write_bytes(second[0])
    path = run.engine / "worker-00.0000.ndjson"
    path.write_bytes(first[0] + first[1])
    assert gatherer.update() is None
    reported = []
    for line in first[2:]:
        with path.open("ab") as stream:
            stream.write(line)
        update = gatherer.update()
        reported += [gathered.end_s for gathered in update.seconds] if update else []
    newest = max(lines.decode(line.rstrip(b"\n")).get("t1_ns", 0) for line in first) / 1e9
    assert reported
    assert max(reported) <= newest - 2.0
