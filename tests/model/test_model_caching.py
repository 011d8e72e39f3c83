"""Hit ratios of caches from traces, access logs and popularity distributions, and the disk load that misses cause."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from towtank.errors import EngineError, StudyError
from towtank.model.caching import CachedIndex, CacheDisk, CacheRequest, index_document, trace_document, zipf_document
from towtank.model.caching.engine import run_caches


def write(folder: Path, text: str, name: str = "trace.csv") -> str:
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


def test_what_misses_goes_to_the_disk(tmp_path: Path) -> None:
    # The keys of the trace are a b a c a b. In a cache of two entries a has two hits, and the other 4 of 6 references
    # miss.
    source = write(tmp_path, "time,key,bytes\n0,a,10\n1,b,20\n2,a,10\n3,c,5\n4,a,10\n5,b,20\n")
    request = CacheRequest(entries=(2,), bytes=(15, 35), disk=CacheDisk(reads=3, time_s=0.3))
    document = trace_document(source, request)
    assert document["trace"] == {
        "references": 6,
        "warm_up_references": 0,
        "keys": 3.0,
        "first_reference_ratio": 0.5,
        "requested_bytes": 75.0,
        "footprint_bytes": 35.0,
        "references_per_s": 1.0,
    }
    small, large = document["limits"]
    # In a cache of 15 bytes, the reference to b (20 bytes) evicts a. Later a (10 bytes) and c (5 bytes) fit together.
    # So the only hit is the reference to a after c.
    assert small["miss_ratio"] == pytest.approx(5 / 6)
    assert small["byte_miss_ratio"] == pytest.approx(65 / 75)
    assert large["miss_ratio"] == pytest.approx(4 / 6)
    assert large["entry_miss_ratio"] == pytest.approx(4 / 6)
    # With the miss ratio m, r references of a transaction, and the service time S = 0.3 s of a miss: V = m r = 4/6 x 3
    # = 2 disk visits, the demand D = V S = 0.6 s, and the utilization U = X m S = 1 /s x 4/6 x 0.3 s = 0.2.
    assert large["disk_visits"] == pytest.approx(2.0)
    assert large["disk_demand_s"] == pytest.approx(0.6)
    assert large["disk_utilization"] == pytest.approx(0.2)


def test_an_access_log_is_a_trace(tmp_path: Path) -> None:
    line = '127.0.0.1 - - [10/Oct/2000:13:55:{:02} +0000] "{} {} HTTP/1.1" {} {}\n'
    text = "".join(
        line.format(*row)
        for row in (
            (0, "GET", "/a", 200, 100),
            (1, "GET", '/b\\"c,d', 200, 50),
            (2, "GET", "/a", 200, 100),
            (3, "POST", "/a", 200, 1),
            (4, "GET", "/gone", 404, 9),
            (4, "GET", "/a", 304, "-"),
            (4, "GET", '/b\\"c,d', 206, 50),
        )
    )
    text += "not a line of a log\n"
    for name in ("access.log", "access.log.gz"):
        source = tmp_path / name
        source.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
        document = trace_document(str(source), CacheRequest(entries=(1, 2)))
        assert document["trace"]["references"] == 4
        assert document["trace"]["footprint_bytes"] == 150
        assert document["trace"]["references_per_s"] == pytest.approx(0.75)
        assert [row["miss_ratio"] for row in document["limits"]] == [1.0, 0.5]
        found = "1 with method POST, 1 with status 304, 1 with status 404"
        assert document["warnings"] == [
            "1 times in the log, line is not in common or combined format",
            f"log lines that do not record a successful read of a file were skipped: {found}",
        ]


def test_a_sample_is_near_the_exact_curve(tmp_path: Path) -> None:
    numbers = np.random.default_rng(5)
    keys = numbers.zipf(1.2, 300_000) % 1_000_000
    source = write(tmp_path, "key\n" + "\n".join(map(str, keys)) + "\n")
    sizes = (1000, 10_000, 40_000)
    exact = trace_document(source, CacheRequest(entries=sizes))
    sampled = trace_document(source, CacheRequest(entries=sizes, rate=1.0, samples=4096))
    assert exact["sampling"] is None
    assert exact["exact"]
    assert not sampled["exact"]
    assert sampled["sampling"]["keys"] == 4096
    for exact_row, other in zip(exact["limits"], sampled["limits"], strict=True):
        assert exact_row["miss_ratio"] == pytest.approx(other["miss_ratio"], abs=0.02)
        assert other["half_width"] is None or 0 < other["half_width"] < 0.06
    assert 0 < sampled["sampling"]["mean_half_width"] <= sampled["sampling"]["largest_half_width"]
    assert trace_document(source, CacheRequest(entries=sizes, rate=1.0, samples=4096)) == sampled


def test_a_law_in_place_of_a_trace() -> None:
    document = zipf_document(1000, 0.0, CacheRequest(entries=(250, 1000), disk=CacheDisk(reads=2)))
    # All keys are equally popular, so the hit ratio is exactly the share of keys that fit in the cache.
    assert [row["miss_ratio"] for row in document["curve"]] == pytest.approx([0.75, 0.0], abs=1e-9)
    assert document["curve"][0]["disk_visits"] == pytest.approx(1.5)
    steep = zipf_document(1000, 1.5, CacheRequest(entries=(250,)))
    assert steep["curve"][0]["miss_ratio"] < 0.1


def test_an_index_that_does_not_fit_is_read_in_part() -> None:
    document = index_document(CachedIndex(75 * 10**9, 64 * 10**9, 24 * 10**9, 8192), CacheDisk(reads=10, time_s=0.008))
    assert not document["index"]["fits"]
    assert document["index"]["memory_needed_bytes"] == 99 * 10**9
    rows = document["by_skew"]
    # In the first row all pages are equally popular, so the hit ratio is the share of pages that fit in the cache.
    assert rows[0]["hit_ratio"] == pytest.approx(40 / 75, abs=1e-6)
    assert [row["hit_ratio"] for row in rows] == sorted(row["hit_ratio"] for row in rows)
    assert rows[0]["disk_demand_s"] == pytest.approx(10 * (1 - 40 / 75) * 0.008, rel=1e-5)
    fitting = index_document(CachedIndex(75 * 10**9, 128 * 10**9, 24 * 10**9, skew=0.8))
    assert fitting["index"]["fits"]
    assert [row["skew"] for row in fitting["by_skew"]] == [0.8]
    assert fitting["warnings"] == []


def test_a_trace_that_is_no_file_is_reported(tmp_path: Path) -> None:
    for path, got in ((tmp_path, "a folder"), (tmp_path / "none.csv", "a path that does not exist")):
        with pytest.raises(StudyError, match=got):
            trace_document(str(path), CacheRequest())


def test_a_pipe_is_a_trace(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("key\na\nb\na\n",))
    writer.start()
    document = trace_document(str(pipe), CacheRequest(entries=(2,)))
    writer.join()
    assert document["limits"][0]["miss_ratio"] == pytest.approx(2 / 3)


def test_faults_beyond_those_reported_are_counted(tmp_path: Path) -> None:
    source = write(tmp_path, "key,bytes\n" + "a,-1\n" * 130)
    with pytest.raises(StudyError, match="30 more faults are not shown") as caught:
        trace_document(source, CacheRequest())
    assert len(caught.value.faults) == 100
    assert (caught.value.faults[0].line, caught.value.faults[0].column) == (2, 3)


def test_an_engine_that_says_nothing_is_our_fault() -> None:
    with pytest.raises(EngineError, match="is not an option"):
        run_caches(["--nonsense", "1"])
