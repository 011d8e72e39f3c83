"""Export as CSV: a row for every second, whose counts and times follow from the simulated exchanges."""

from __future__ import annotations

import csv
import math
from collections import Counter
from pathlib import Path

import pytest
from mixed_run import EXCHANGES, TRANSACTIONS, UNTIMED
from synthetic_runs import Exchange, Script, Stage, write_run


@pytest.fixture
def rows(towtank, mixed, tmp_path) -> list[dict[str, str]]:
    path = tmp_path / "out.csv"
    assert towtank("export", mixed.path, "--to", "csv", "--out", path).status == 0
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_counts_are_those_of_the_exchanges(rows):
    for number, name in enumerate(TRANSACTIONS):
        own = [exchange for exchange in EXCHANGES if exchange.transaction == number]
        result = [row for row in rows if row["of"] == "transaction" and row["name"] == name]
        assert sum(int(row["ok"]) for row in result) == sum(exchange.failure is None for exchange in own)
        failed: Counter[str] = Counter()
        for row in result:
            for pair in row["failed_by_kind"].split():
                kind, count = pair.split("=")
                failed[kind] += int(count)
        assert failed == Counter(exchange.failure for exchange in own if exchange.failure)
        assert sum(int(row["timed"]) for row in result) == sum(exchange.failure not in UNTIMED for exchange in own)


def test_threads_are_one_row_and_no_row_spans_two_stages(rows):
    keys = [(row["start_s"], row["of"], row["name"]) for row in rows]
    assert len(set(keys)) == len(keys)
    edges = {(row["start_s"], row["end_s"]): row["phase"] for row in rows}
    assert edges == {
        ("0", "1"): "ramp_up",
        ("1", "1.5"): "ramp_up",
        ("1.5", "2"): "steady",
        ("2", "3"): "steady",
        ("3", "4"): "steady",
    }
    assert {row["users"] for row in rows} == {"5"}
    assert rows[0]["started_at"] == "2026-05-28T20:26:40.000Z"
    assert (rows[0]["factor_users"], rows[0]["factor_search index"]) == ("5", 'a "b"\\c')


def test_times_are_within_a_bucket_of_the_truth(rows):
    row = next(row for row in rows if row["of"] == "all" and row["start_s"] == "2")
    times = sorted(
        1e9 * (exchange.end - exchange.intended)
        for exchange in EXCHANGES
        if 2 < exchange.end <= 3 and exchange.failure not in UNTIMED
    )
    assert int(row["timed"]) == len(times)
    assert float(row["response_mean_s"]) == pytest.approx(sum(map(round, times)) / len(times) / 1e9, abs=1e-9)
    for name, probability in (("response_p50_s", 0.5), ("response_p90_s", 0.9), ("response_max_s", 1.0)):
        truth = times[math.ceil(probability * len(times)) - 1] / 1e9
        assert truth <= float(row[name]) * (1 + 1e-9) <= truth * 1.001


def test_what_only_steps_record_is_empty_elsewhere(rows):
    for row in rows:
        assert (row["offered"] == "") == (row["of"] != "step")
        assert (row["bytes_in"] == "") == (row["of"] != "step")
        assert row["status_codes"] == "", "this recording, of an older version, has no status codes"
    steps = [row for row in rows if row["of"] == "step"]
    assert sum(int(row["offered"]) for row in steps) == len(EXCHANGES)
    assert sum(int(row["bytes_in"]) for row in steps) == 4_000 * len(EXCHANGES)


def test_second_without_a_time_has_no_time(towtank, tmp_path):
    only = [Exchange(0, 0.2, 0.2, 0.4, 0.0, 0.1, 0, "connect"), Exchange(0, 1.2, 1.2, 1.4, 0.0, 0.1, 0)]
    stages = [Stage("steady", "steady", 2.0, 1)]
    run = write_run(tmp_path / "r1", Script("r1", ["read"], stages, only, {}, 1, user_starts=[0.0], user_ends=[2.0]))
    assert towtank("export", run.path, "--to", "csv", "--out", tmp_path / "out.csv").status == 0
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as stream:
        first, second = [row for row in csv.DictReader(stream) if row["of"] == "transaction"]
    assert (first["ok"], first["failed_by_kind"], first["timed"]) == ("0", "connect=1", "0")
    assert (first["response_mean_s"], first["response_p50_s"], first["response_max_s"]) == ("", "", "")
    assert (second["timed"], second["response_mean_s"]) == ("1", "0.2")


def test_all_runs_of_a_study_are_in_one_file(towtank, results):
    assert towtank("export", results, "--to", "csv").status == 0
    path = results / "exports" / "intervals.csv"
    with Path(path).open(encoding="utf-8", newline="") as stream:
        found = {(row["run"], row["factor_users"], row["factor_search_index"]) for row in csv.DictReader(stream)}
    assert len(found) == 8
    assert ("r001", "48", "absent") in found


def test_no_name_is_a_formula_to_a_spreadsheet(towtank, tmp_path):
    names = ["=HYPERLINK(1)", "+1+1", "-1+1", "@SUM(1)", "\t=1", "-1", "read = all"]
    stages = [Stage("=now", "steady", 2.0, 1)]
    exchanges = [Exchange(number, 0.2, 0.2, 0.4, 0.0, 0.1, 0) for number in range(len(names))]
    factors = {"size": "=1+1", "offset": "-5"}
    script = Script("r1", names, stages, exchanges, factors, 1, user_starts=[0.0], user_ends=[2.0])
    run = write_run(tmp_path / "r1", script)
    assert towtank("export", run.path, "--to", "csv", "--out", tmp_path / "out.csv").status == 0
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["of"] == "transaction"]
    assert [row["name"] for row in rows] == [*(f"'{name}" for name in names[:5]), *names[5:]]
    assert {(row["stage"], row["factor_size"], row["factor_offset"]) for row in rows} == {("'=now", "'=1+1", "-5")}
