"""Export as an HdrHistogram log. The tests read the log with the Python reader of the HdrHistogram project."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from mixed_run import EXCHANGES, UNTIMED
from synthetic_runs import MONOTONIC_NS, WALL_NS

from towtank.analysis.statistics import histograms
from towtank.results import lines

# In this format a tag ends at a comma or a blank, so the export replaces each sequence of these characters by an
# underscore.
TAGS = ["read_all", 'write_"x"_|_<y>']


def read_back(path: Path) -> list[HdrHistogram]:
    reader = HistogramLogReader(str(path), HdrHistogram(1_000, 3_600_000_000_000, 3))
    try:
        found = []
        while (histogram := reader.get_next_interval_histogram()) is not None:
            found.append(histogram)
        return found
    finally:
        reader.close()


@pytest.fixture
def log(towtank, mixed, tmp_path) -> Path:
    path = tmp_path / "out.hlog"
    assert towtank("export", mixed.path, "--to", "hlog", "--out", path).status == 0
    return path


def test_header_is_that_of_version_1_3(log):
    head = log.read_text("utf-8").splitlines()[:5]
    assert head[1] == "#[Histogram log format version 1.3]"
    assert re.fullmatch(
        r"#\[StartTime: 1780000000\.000 \(seconds since epoch\), Thu May 28 20:26:40 UTC 2026\]", head[2]
    )
    assert head[3] == "#[BaseTime: 1780000000.000 (seconds since epoch)]"
    assert head[4] == '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'


def test_every_transaction_is_read_back_second_by_second(log):
    found = read_back(log)
    for number, tag in enumerate(TAGS):
        own = [exchange for exchange in EXCHANGES if exchange.transaction == number and exchange.failure not in UNTIMED]
        seen = {
            histogram.get_start_time_stamp() - WALL_NS / 1e6: histogram
            for histogram in found
            if histogram.get_tag() == tag
        }
        assert sum(histogram.get_total_count() for histogram in seen.values()) == len(own)
        for start, length in ((0.0, 1.0), (1000.0, 0.5), (1500.0, 0.5), (2000.0, 1.0), (3000.0, 1.0)):
            truth = [exchange for exchange in own if start < 1e3 * exchange.end <= start + 1e3 * length]
            # The log has one line for the interval, with the counts of both load threads.
            assert seen[start].get_total_count() == len(truth)
            most = max(1e9 * (exchange.end - exchange.intended) for exchange in truth)
            assert seen[start].get_max_value() == pytest.approx(most, rel=0.001)
            assert seen[start].get_end_time_stamp() - WALL_NS / 1e6 - start == pytest.approx(1e3 * length)


def test_sum_over_the_log_counts_nothing_twice(log):
    whole = HdrHistogram(1_000, 3_600_000_000_000, 3)
    reader = HistogramLogReader(str(log), whole)
    while reader.add_next_interval_histogram() is not None:
        pass
    reader.close()
    times = sorted(
        1e9 * (exchange.end - exchange.intended) for exchange in EXCHANGES if exchange.failure not in UNTIMED
    )
    assert whole.get_total_count() == len(times)
    assert whole.get_value_at_percentile(50) == pytest.approx(times[(len(times) + 1) // 2 - 1], rel=0.001)


def test_maximum_of_a_line_is_in_milliseconds(log):
    for line in log.read_text("utf-8").splitlines()[5:]:
        most, encoded = line.split(",")[3:]
        assert float(most) == pytest.approx(1e3 * histograms.decode(encoded).maximum_s, abs=0.0005)


def test_single_thread_keeps_its_histograms_byte_by_byte(towtank, results):
    assert towtank("export", results, "--to", "hlog").status == 0
    segment = (results / "runs" / "r004" / "engine" / "worker-00.0000.ndjson").read_bytes().splitlines()
    recorded = Counter(
        series["response"]
        for line in segment
        for series in (lines.decode(line) or {}).get("series", [])
        if series["of"] == "transaction" and "response" in series
    )
    written = (results / "exports" / "r004.hlog").read_text("utf-8").splitlines()[5:]
    assert Counter(line.rpartition(",")[2] for line in written) == recorded
    assert len(list((results / "exports").glob("*.hlog"))) == 8


def test_names_with_the_same_tag_stay_apart(towtank, mixed, tmp_path):
    for path in mixed.engine.glob("worker-*"):
        first, *rest = path.read_bytes().splitlines(keepends=True)
        header = lines.decode(first.rstrip(b"\n"))
        assert header is not None
        assert header["monotonic_ns"] == MONOTONIC_NS
        header["transactions"] = ["a b", "a,b"]
        path.write_bytes(lines.encode(header) + b"".join(rest))
    assert towtank("export", mixed.path, "--to", "hlog", "--out", tmp_path / "x").status == 0
    assert {histogram.get_tag() for histogram in read_back(tmp_path / "x")} == {"a_b", "a_b_2"}


def test_rubbish_in_place_of_a_histogram_is_left_out_and_reported(towtank, mixed, tmp_path):
    path = mixed.engine / "worker-00.0000.ndjson"
    written = []
    for line in path.read_bytes().splitlines():
        document = lines.decode(line)
        assert document is not None
        for series in document.get("series", []):
            series["response"] = "HISTrubbish"
        written.append(lines.encode(document))
    path.write_bytes(b"".join(written))
    answer = towtank("export", mixed.path, "--to", "hlog", "--out", tmp_path / "x")
    assert answer.status == 0
    assert "could not be read: left out" in answer.err
    other = [exchange for exchange in EXCHANGES if exchange.user % 2 == 1 and exchange.failure not in UNTIMED]
    assert sum(histogram.get_total_count() for histogram in read_back(tmp_path / "x")) == len(other)
