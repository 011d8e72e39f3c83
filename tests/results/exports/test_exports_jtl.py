"""Export as JTL: fields marked as exact are exact, and every row states that it is expanded from a histogram."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest
from mixed_run import EXCHANGES, TRANSACTIONS, UNTIMED
from synthetic_runs import WALL_NS

START_MS = WALL_NS // 1_000_000
HEADER = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes,grpThreads,allThreads,Latency,"
    "Hostname,Connect"
)


@pytest.fixture
def path(towtank, mixed, tmp_path) -> Path:
    answer = towtank("export", mixed.path, "--to", "jtl", "--out", tmp_path / "out.jtl")
    assert answer.status == 0
    assert "single requests are not recorded" in answer.err
    return tmp_path / "out.jtl"


@pytest.fixture
def rows(path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_header_is_that_of_jmeter(path):
    assert path.read_text("utf-8").splitlines()[0] == HEADER


def test_every_row_says_what_it_is(rows):
    assert all(row["responseMessage"].startswith("expanded from a histogram") for row in rows)
    assert all("expanded from histograms" in row["threadName"] for row in rows)


def test_rows_are_as_many_as_requests_ended_by_step_and_outcome(rows):
    truth = Counter(
        (f"{TRANSACTIONS[exchange.transaction]} / request", exchange.failure or "ok") for exchange in EXCHANGES
    )
    assert Counter((row["label"], row["responseCode"]) for row in rows) == truth
    assert all((row["success"] == "true") == (row["responseCode"] == "ok") for row in rows)
    assert sum(int(row["bytes"]) for row in rows) == 4_000 * len(EXCHANGES)


def test_times_are_those_recorded_to_a_millisecond(rows):
    for number, name in enumerate(TRANSACTIONS):
        own = [exchange for exchange in EXCHANGES if exchange.transaction == number and exchange.failure not in UNTIMED]
        result = [row for row in rows if row["label"] == f"{name} / request" and row["responseCode"] not in UNTIMED]
        times = sorted(1e3 * (exchange.end - exchange.intended) for exchange in own)
        assert sorted(int(row["elapsed"]) for row in result) == pytest.approx(times, abs=0.7)


def test_time_outs_are_the_slowest_and_untimed_failures_say_so(rows):
    assert {row["elapsed"] for row in rows if row["responseCode"] == "timeout"} == {"310"}
    untimed = [row for row in rows if row["responseCode"] in UNTIMED]
    assert {(row["elapsed"], row["Latency"]) for row in untimed} == {("0", "0")}
    assert all("no time was recorded, so it is 0" in row["responseMessage"] for row in untimed)
    assert not any("no time was recorded, so it is 0" in row["responseMessage"] for row in rows if row not in untimed)


def test_rows_end_in_the_second_in_which_they_ended(rows):
    edges = [0, 1000, 1500, 2000, 3000, 4000]
    truth = Counter(next(edge for edge in reversed(edges) if edge < 1e3 * exchange.end) for exchange in EXCHANGES)
    ends = [int(row["timeStamp"]) + int(row["elapsed"]) - START_MS for row in rows]
    assert Counter(next(edge for edge in reversed(edges) if edge <= end) for end in ends) == truth


def test_latency_is_at_most_the_elapsed_time(rows):
    assert all(0 <= int(row["Latency"]) <= int(row["elapsed"]) for row in rows)
    answered = [row for row in rows if row["responseCode"] not in UNTIMED]
    assert sum(int(row["Latency"]) for row in answered) == pytest.approx(
        sum(0.9e3 * (exchange.end - exchange.actual) for exchange in EXCHANGES if exchange.failure not in UNTIMED),
        rel=0.02,
    )


def test_users_are_the_threads(rows):
    assert {(row["grpThreads"], row["allThreads"]) for row in rows} == {("5", "5")}


def test_each_run_has_a_file_of_its_own(towtank, results):
    assert towtank("export", results, "--to", "jtl").status == 0
    assert sorted(path.name for path in (results / "exports").iterdir()) == [f"r{n:03d}.jtl" for n in range(1, 9)]
