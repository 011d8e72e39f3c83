from __future__ import annotations

import errno

import duckdb
import pytest
from synthetic_runs import Script, Stage, even_schedule, write_run

from towtank.analysis import compact, read_run
from towtank.files import engine_path
from towtank.results import tables


@pytest.fixture
def run(tmp_path):
    exchanges, starts, ends = even_schedule(users=2, response_s=0.25, think_s=0.25, seconds=4.0, service_s=0.05)
    return write_run(
        tmp_path / "r'1",  # The quote in this path must not break the SQL query that writes the file.
        Script(
            name="r1",
            transactions=["read"],
            stages=[Stage("steady", "steady", 4.0, 2)],
            exchanges=exchanges,
            factors={},
            users=2,
            user_starts=starts,
            user_ends=ends,
        ),
    )


def rows(path, query):
    with duckdb.connect() as connection:
        quoted = engine_path(path).replace("'", "''")
        return connection.execute(query.format(table=f"'{quoted}'")).fetchall()


def test_intervals_hold_what_was_counted(run):
    path, _ = compact(run, read_run(run).records)
    found = rows(path, "SELECT sum(ok), sum(timed), max(phase), max(name) FROM {table} WHERE of = 'transaction'")
    # A cycle takes 0.5 s, and user 1 starts half a cycle after user 0. By 4 s, user 0 completes 8 cycles and user 1
    # completes 7, so the steady stage has 15.
    assert found == [(15, 15, "steady", "read")]
    total = rows(path, "SELECT sum(response_sum_s) / sum(timed) FROM {table} WHERE of = 'transaction'")
    assert total[0][0] == pytest.approx(0.25, rel=1e-9)
    median = rows(path, "SELECT min(response_p50_s), max(response_max_s) FROM {table} WHERE of = 'step'")
    assert median[0] == pytest.approx((0.25, 0.25), rel=0.001)


def test_metrics_hold_probe_and_services_on_the_clock_of_the_run(run):
    _, path = compact(run, read_run(run).records)
    found = rows(path, "SELECT source, min(t_s), max(t_s) FROM {table} GROUP BY 1 ORDER BY 1")
    assert [source for source, *_ in found] == ["content", "probe"]
    # The synthetic observers sample every second, from a second before the start to a second after the end.
    for _, first, last in found:
        assert (first, last) == pytest.approx((-0.963, 5.037), abs=0.1)
    cpu = rows(
        path,
        "SELECT t_s, value FROM {table} WHERE metric = 'groups.content.cpu_user_s_total' ORDER BY 1 LIMIT 1",
    )
    assert cpu[0] == pytest.approx((-0.963, 0.0), abs=1e-9)


def test_tables_of_an_empty_run_are_empty_tables(run):
    for folder in (run.engine, run.observe):
        for path in folder.iterdir():
            path.unlink()
    intervals, metrics = compact(run, read_run(run).records)
    assert rows(intervals, "SELECT count(*) FROM {table}") == [(0,)]
    assert rows(metrics, "SELECT count(*) FROM {table}") == [(0,)]
    kinds = dict(row[:2] for row in rows(intervals, "DESCRIBE SELECT * FROM {table}"))
    assert (kinds["ok"], kinds["name"], kinds["start_s"]) == ("BIGINT", "VARCHAR", "DOUBLE")


def test_no_temporary_file_is_left(run):
    compact(run, read_run(run).records)
    assert not [path for path in run.path.iterdir() if path.name.endswith(".tmp")]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        # DuckDB raises this message if the disk becomes full between two writes.
        (
            'IO Error: Async write failed: {"exception_message":"Could not write file \\"/proc/self/fd/4\\": '
            'No space left on device","errno":"28"}',
            errno.ENOSPC,
        ),
        ("IO Error: Could not write file: Input/output error", errno.EIO),
    ],
)
def test_a_full_disk_behind_a_table_is_reported_as_one(text, number):
    assert tables._number_of(duckdb.IOException(text)) == number
