from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from even_runs import even_script, stages_of
from synthetic_runs import encode_histogram, write_run

from towtank.analysis import drive_document, summarize_run
from towtank.analysis.aggregation import aggregate
from towtank.analysis.claims.places import Places
from towtank.analysis.ideal import ideal_line
from towtank.analysis.laws import Laws
from towtank.analysis.limits.of_levels import limit
from towtank.analysis.load_point import IdealScaling
from towtank.analysis.narrative import observations
from towtank.analysis.run_summary import RunSummary
from towtank.results import lines, read_object
from towtank.results.folder import write_json

# Largest relative error of a recorded time: half of a histogram bucket, which is at most 0.1 % wide. [1]
MIDDLE = 0.0005
MS = 1e6


def point_of(kind, load, runs):
    return aggregate(kind, load, list(map(RunSummary.read, runs)))


def script(**changes):
    """Return a run of ten users with 50 requests/s of 100 ms each.

    The users continue until the end of the run, so all seconds are equal.
    """
    base = even_script(
        stages_of(10, 2.0, 20.0),
        users=10,
        response_s=0.1,
        think_s=0.1,
        seconds=23.0,
        service_s=0.01,
        transactions=["get"],
    )
    return replace(base, **changes)


def add(run, of_second):
    """Add keys to each recorded interval of one second; `of_second` takes the number of the interval and returns the
    keys.
    """
    for path in run.engine.glob("worker-*.ndjson"):
        documents = [
            {**document, **of_second(document["seq"])} if document["k"] == "interval" else document
            for document in list(lines.read(path))
        ]
        path.write_bytes(b"".join(lines.encode(document) for document in documents))


def connecting(seq):
    """Return the connection times of a second: ten connections in the first second, and two each in seconds 5 and 6."""
    if seq == 0:
        values = [1 * MS] * 9 + [11 * MS]
        return {"connect": encode_histogram(values), "tls": encode_histogram([3 * MS] * 10)}
    return {"connect": encode_histogram([2 * MS] * 2)} if seq in (5, 6) else {}


def waiting(seq):
    """Return the waits for a connection in a second: 44 x 0 ms, 5 x 10 ms and 1 x 50 ms."""
    return {"connection_wait": encode_histogram([0] * 44 + [10 * MS] * 5 + [50 * MS])}


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "r001", script())


def summary(run):
    return summarize_run(run, tables=False)


def test_without_connections_of_their_own_there_is_nothing(run):
    result = summary(run)["connections"]
    assert result["open_mean"] == 10.0
    assert (result["opened"], result["opened_in_run"]) == (0, 0)
    assert result["opened_per_s"]["value"] == 0.0
    assert [result[key] for key in ("connect_time_s", "tls_time_s", "handshakes", "wait_time_s")] == [None] * 4
    assert result["connect_failures"] == {}


def test_connect_times_cover_the_whole_run_and_counts_the_window_too(run):
    add(run, connecting)
    result = summary(run)["connections"]
    assert (result["opened"], result["opened_in_run"]) == (4, 14)
    assert result["opened_per_s"]["value"] == pytest.approx(4 / 20)
    connect = result["connect_time_s"]
    assert connect["mean"] == pytest.approx((9 * 1 + 11 + 4 * 2) / 14 / 1e3, rel=MIDDLE)
    assert connect["p50"] == pytest.approx(0.001, rel=2 * MIDDLE)
    assert connect["p95"] == connect["p99"] == connect["max"] == pytest.approx(0.011, rel=2 * MIDDLE)
    assert result["tls_time_s"]["mean"] == pytest.approx(0.003, rel=MIDDLE)


def test_handshakes_and_failures_are_those_of_the_engine(run):
    document = read_object(run.engine / "engine.json")
    failures = {"Connection refused (os error 111)": 3}
    result = {**document, "handshakes": {"full": 1, "resumed": 9}, "connect_failures": failures}
    write_json(run.engine / "engine.json", result)
    found = summary(run)["connections"]
    assert found["handshakes"] == {"full": 1, "resumed": 9}
    assert found["connect_failures"] == failures


def test_handshakes_of_a_killed_engine_are_those_of_its_segments(run):
    (run.engine / "engine.json").unlink()
    add(run, lambda seq: {"handshakes": {"full": 2, "resumed": 1}} if seq < 3 else {})
    assert summary(run)["connections"]["handshakes"] == {"full": 6, "resumed": 3}


def test_waits_are_of_those_that_waited_within_the_window(run):
    add(run, waiting)
    result = summary(run)["connections"]["wait_time_s"]
    assert (result["requests"], result["waited"]) == (20 * 50, 20 * 6)
    assert result["share_waited"] == pytest.approx(0.12)
    assert result["mean"] == pytest.approx((5 * 0.010 + 0.050) / 6, rel=MIDDLE)
    assert result["p50"] == pytest.approx(0.010, rel=2 * MIDDLE)
    assert result["p99"] == result["max"] == pytest.approx(0.050, rel=2 * MIDDLE)
    # In each second, waits take 100 ms in total, and responses take 50 x 100 ms = 5 s.
    assert result["share_of_response_time"] == pytest.approx(0.1 / 5.0, rel=2 * MIDDLE)


def test_a_pool_that_nobody_waits_for_has_no_times(run):
    add(run, lambda seq: {"connection_wait": encode_histogram([0] * 50)})
    result = summary(run)["connections"]["wait_time_s"]
    assert result == {"requests": 1000, "waited": 0, "share_waited": 0.0, "share_of_response_time": 0.0}


def test_drive_reports_the_same(run):
    add(run, waiting)
    result = drive_document(run, "http://127.0.0.1:1/")["connections"]
    assert result["wait_time_s"]["share_waited"] == pytest.approx(0.12)
    assert "histogram" not in result["wait_time_s"]
    assert result["open_mean"] == 10.0


def heavy(seq):
    """Return waits for a connection of 50 ms for half of the requests; on average this is a quarter of the response
    time.
    """
    return {"connection_wait": encode_histogram([0] * 25 + [50 * MS] * 25)}


def waits_of(tmp_path, name, milliseconds):
    """Return the summary of a run in which requests wait for a connection. `milliseconds` are the waits in each second
    of the window.
    """
    run = write_run(tmp_path / name, script(name=name))
    add(run, lambda seq: {"connection_wait": encode_histogram([0] * 5 + [each * MS for each in milliseconds])})
    return summary(run)


@pytest.mark.parametrize(
    ("first", "second", "p99_ms"),
    [
        # A tenth of all waits take 400 ms, so their p99 is 400 ms.
        ([1] * 45, [400] * 5, 400),
        # Only 0.7 % of all waits take 400 ms, so their p99 is 1 ms.
        ([1] * 300, [400] * 2, 1),
        ([1] * 45, [], 1),  # no request of the second run waited for a connection
    ],
)
def test_p99_over_runs_is_that_of_all_waits(tmp_path, first, second, p99_ms):
    runs = [waits_of(tmp_path, name, each) for name, each in (("r001", first), ("r002", second))]
    point = point_of("users", 10.0, runs)
    expected = float(np.quantile([*first, *second], 0.99, method="inverted_cdf"))
    assert expected == p99_ms
    document = point.document()
    assert document["connections"]["wait_time_s"]["p99"] == pytest.approx(p99_ms / 1e3, rel=2 * MIDDLE)
    claimed = Places([], point.usable).quantity("connections.wait_time_s.p99", None, {})
    assert claimed.value == point.wait("p99"), "claims and load levels use the same value"
    of_runs = [max(each) / 1e3 for each in (first, second) if each]
    assert document["of_runs"]["wait_time_s"]["p99"] == pytest.approx([min(of_runs), max(of_runs)], rel=2 * MIDDLE)


def test_p99_of_a_run_without_histogram_is_averaged(tmp_path):
    runs = [waits_of(tmp_path, "r001", [1] * 45), waits_of(tmp_path, "r002", [400] * 5)]
    del runs[1]["connections"]["wait_time_s"]["histogram"]
    assert point_of("users", 10.0, runs).wait("p99") == pytest.approx(0.2005, rel=2 * MIDDLE)


def test_a_point_and_the_narrative_name_the_pool(run):
    add(run, heavy)
    point = point_of("users", 10.0, [summary(run)])
    document = point.document()
    waits = document["connections"]["wait_time_s"]
    assert waits["share_waited"] == pytest.approx(0.5)
    assert waits["share_of_response_time"] == pytest.approx(0.25, rel=2 * MIDDLE)
    # Throughput is the same with one user and with ten users, so it does not grow. Without a think time, the line of
    # ideal scaling starts at the lowest load.
    alone = replace(point.usable[0], laws=Laws())
    first = replace(point, load=1.0, usable=[alone])
    found = limit([first, point], ideal_line([first, point])).model_dump(mode="json")
    assert (found["kind"], found["resource"]) == ("unknown", None)
    assert (
        "the generator's connection pool: requests wait for a connection for 25 % of response time" in found["evidence"]
    )
    result = {
        "configurations": [
            {"key": {}, "label": "", "points": [document], "ideal": ideal_line([first, point]), "limit": found}
        ],
        "comparisons": [],
        "objectives": [],
        "verdict": {"valid_runs": 1, "suspect_runs": 0, "invalid_runs": 0, "missing_runs": 0},
    }
    sentence = next(observation for observation in observations(result) if observation.kind == "connection_wait")
    assert "at 10 users 50 % of the requests waited" in sentence.text.replace("At", "at")
    assert "The pool may limit throughput before the system does." in sentence.text


def test_a_short_wait_is_neither_doubt_nor_observation(run):
    add(run, waiting)
    result = summary(run)
    assert "connection_wait" not in {reason["kind"] for reason in result["verdict"]["reasons"]}
    point = point_of("users", 10.0, [result])
    assert "pool" not in limit([point], IdealScaling(users=1, load=1, per_user_per_s=10.0)).evidence
