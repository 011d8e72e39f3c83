import json
import tracemalloc
from itertools import product

import pytest
from changed_recordings import script
from synthetic_runs import MONOTONIC_NS, SECOND, write_run

from towtank.analysis import service_logs, summarize_run
from towtank.log_lines import TEXT_AT_MOST, folded_line, level_of_line, troubles

ENTRY = "2026-11-23 18:22:{:02d}.{:03d} [{:x}] "
BEFORE = [
    "ERROR: could not bind to 10.0.0.5:8080, trying 8081",
    "WARNING: cache is cold, 3 of 100 pages",
    "ready",
]


def tier_of(run):
    return next(iter(run.manifest["tiers"]))


def write_log(run, before, during, after=(), looks=()):
    """Write the log of the first tier, and the events of the start and the end of the load."""
    name = tier_of(run)
    parts = ["".join(f"{line}\n" for line in lines).encode() for lines in (before, during, after)]
    (run.logs / f"{name}.log").write_bytes(b"".join(parts))
    begin, end = len(parts[0]), len(parts[0]) + len(parts[1])
    growth = [(MONOTONIC_NS + round(at_s * SECOND), begin + size) for at_s, size in looks]
    run.event("engine_started", pid=1, log_bytes={name: begin})
    run.event("engine_ended", status=0, log_bytes={name: end}, log_growth={name: growth})
    return name


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "r001", script())


def logs_of(run):
    return summarize_run(run, tables=False)["logs"][tier_of(run)]


def test_new_lines_of_trouble_are_grouped_with_counts_and_the_first_time(run):
    many = [
        ENTRY.format(k % 60, k, 40960 + k) + f"accept on 10.0.0.{k % 9}:8080: Too many open files" for k in range(50)
    ]
    slow = ["WARN slow answer of 812 ms", "request 17 done, 0 errors", "WARN slow answer of 1,403.5 ms"]
    after = ["error: could not bind to 10.0.0.7:9090, trying 9091"]
    write_log(run, BEFORE, [*slow, *many], after, looks=[(3.0, 20), (7.5, 1500), (8.5, 10**6)])
    found = logs_of(run)
    assert (found["lines"], found["unread_bytes"], found["groups_left_out"]) == (52, 0, 0)
    assert found["groups"] == [
        {"text": many[0], "count": 50, "level": "error", "first_s": 7.5},
        {"text": slow[0], "count": 2, "level": "warning", "first_s": 7.5},
    ]


def test_lines_from_before_or_after_the_load_do_not_count(run):
    write_log(run, BEFORE, ["ERROR: could not bind to 10.0.0.6:8080, trying 8082"], ["FATAL: the end"])
    assert logs_of(run)["groups"] == []


def test_a_traceback_is_reduced_to_its_exception(run):
    trace = [
        "Traceback (most recent call last):",
        '  File "x.py", line 3, in error',
        "    raise Oops(3)",
        "shop.Oops: full",
    ]
    write_log(run, BEFORE, [*trace, "", *trace])
    assert [(group["text"], group["count"]) for group in logs_of(run)["groups"]] == [("shop.Oops: full", 2)]


def test_a_missing_log_and_an_unrecorded_start_of_the_load_are_null(run):
    assert summarize_run(run, tables=False)["logs"] is None
    name = write_log(run, BEFORE, ["ERROR: a"])
    (run.logs / f"{name}.log").unlink()
    assert summarize_run(run, tables=False)["logs"][name] is None


def test_a_log_without_times_of_its_growth_has_no_first_time(run):
    write_log(run, BEFORE, ["ERROR: a"])
    assert [group["first_s"] for group in logs_of(run)["groups"]] == [None]


def test_groups_and_their_texts_are_bounded_and_the_rest_is_counted(run):
    words = ["".join(letters) + " failed" + "!" * 400 for letters in product("ghijklmnopqrstuvwxyz", repeat=2)]
    write_log(run, BEFORE, words)
    found = logs_of(run)
    assert (found["lines"], len(found["groups"]), found["groups_left_out"]) == (400, 20, 380)
    assert max(len(group["text"]) for group in found["groups"]) <= TEXT_AT_MOST


def test_a_huge_log_is_read_at_both_ends_in_bounded_memory(run, monkeypatch):
    monkeypatch.setattr(service_logs, "HEAD_BYTES", 100_000)
    monkeypatch.setattr(service_logs, "TAIL_BYTES", 50_000)
    during = ["ERROR first", *(f"error {k} of a kind {'x' * (k % 900)}" for k in range(60_000)), "ERROR last"]
    write_log(run, [], during)
    tracemalloc.start()
    found = service_logs.service_logs(run, [tier_of(run)], 0)[tier_of(run)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.unread_bytes == found.bytes - 150_000 > 20_000_000
    assert peak < 4_000_000
    assert 100 < found.lines < 1000
    assert {"ERROR first", "ERROR last"} <= set(service_logs_texts(run))


def service_logs_texts(run):
    """Return the texts of all groups of error lines, including those beyond the limit."""
    name = tier_of(run)
    spans = service_logs.logs_written(run, [name])[name].ends(service_logs.HEAD_BYTES, service_logs.TAIL_BYTES)
    with (run.logs / f"{name}.log").open("rb") as stream:
        return [line.text for line in troubles(service_logs._lines(stream, spans))]


def test_an_unlimited_line_is_cut(run):
    write_log(run, BEFORE, ["ERROR " + "y" * 3_000_000 + " fatal " + "z" * 10, "panic: next"])
    texts = [group["text"] for group in logs_of(run)["groups"]]
    assert len(texts) == 2
    assert "panic: next" in texts


CANARY = "Canary7Secret"


@pytest.mark.parametrize(
    "line",
    [
        "ERROR login failed user=ann password={}",
        'error: refused {{"api_key": "{}", "user": "ann"}}',
        "error GET http://shop:{}@host/list",
        "timeout of /list?token={}&page=2",
        "denied: Authorization: Bearer {}",
        "denied: Authorization: Basic {}==",
        "denied header 'Cookie: a=1; session={}'",
        "ERROR:  duplicate key; DETAIL:  Key (email)=({}) already exists",
        "ERROR: failed STATEMENT: SELECT 1 FROM a WHERE secret = '{}'",
        "error in session {}0123456789abcdefghij",
        "error: X-Api-Key: {}",
        "error \x1b[31mpassword\x1b[0m={}",
    ],
)
def test_a_secret_in_a_line_is_redacted(run, line):
    write_log(run, BEFORE, [line.format(CANARY)])
    kept = logs_of(run)
    assert kept["lines"] == 1
    assert CANARY not in json.dumps(kept)
    assert "***" in kept["groups"][0]["text"]


@pytest.mark.parametrize(
    "line",
    [
        "request failed=0 refused=0 errors: 0",
        '{"level": "info", "error": null}',
        '10.0.0.1 - - [23/Nov/2026] "GET /errors/fatal HTTP/1.1" 404 12',
        "    at shop.ErrorHandler.refused(Shop.java:12)",
        "terror and forewarned",
        "ready",
    ],
)
def test_lines_that_report_no_trouble(line):
    assert level_of_line(line) is None


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ('2026/11/23 [crit] 7#7: *9 open() failed, request: "GET / HTTP/1.1", host: "a"', "error"),
        ("java.lang.OutOfMemoryError: Java heap space", "error"),
        ("FATAL:  remaining connection slots are reserved", "error"),
        ("upstream timed out", "error"),
        ("DeprecationWarning: x", "warning"),
        ("errors=3", "error"),
    ],
)
def test_lines_that_report_trouble(line, level):
    assert level_of_line(line) == level


def test_lines_that_differ_only_in_varying_parts_are_equal():
    first = "Mon Nov 23 18:22:48 UTC 2026 worker-3 0x7ffe12 fe80::1 1b4e28ba-2fa1-11d2-883f-0016d3cca427 refused"
    other = "Tue Dec 1 08:02:01 UTC 2027 worker-12 0x1 fe80::a2 6ba7b810-9dad-11d1-80b4-00c04fd430c8 refused"
    assert folded_line(first) == folded_line(other)


def test_a_summary_is_computed_again_when_its_log_changes(run):
    name = write_log(run, BEFORE, ["ERROR: a"])
    before = summarize_run(run, tables=False)["inputs"]
    with (run.logs / f"{name}.log").open("a") as stream:
        stream.write("more\n")
    assert summarize_run(run, tables=False)["inputs"] != before
