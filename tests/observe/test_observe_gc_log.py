"""Logs of four garbage collectors, recorded from a program with known allocation, and the statistics page of Jetty.

The program created 60,000 arrays of 16,384 bytes with a header of 16 bytes. It kept at most 1,200 arrays in a heap of
96 MiB, and requested one full collection at its end. It ran on OpenJDK 17.0.15 with
`-Xlog:gc*=info:file=...:timenanos,level,tags`. The sums of pauses were computed from the logs with awk.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from metric_tables import metric_names

from towtank.observe import ScrapeError, gc_log, jetty
from towtank.observe.gc_log import GcCounts, GcLogScraper
from towtank.observe.scraper import series_name

LOGS = Path(__file__).parents[1] / "data" / "gc"
ALLOCATED = 60000 * (16384 + 16)
# Relative tolerance of the allocated bytes: the JVM itself allocates about 5 MB at its start, and the log states whole
# MiB.
OWN_SHARE = 0.02
MIB = 2**20
PAUSES = {
    "g1": {"young": 19, "full": 1},
    "parallel": {"young": 39, "full": 1},
    "serial": {"young": 37, "full": 1},
    "z": {"mark_start": 15, "mark_end": 15, "relocate_start": 15},
}
PAUSE_S = {"g1": 0.037034, "parallel": 0.041834, "serial": 0.028319, "z": 0.00012}


def read(path: Path) -> dict[str, float]:
    return GcLogScraper("content-jvm", "cmis_repository", path).scrape()


@pytest.mark.parametrize("collector", PAUSES)
def test_pauses_of_each_collector_are_counted_by_kind(collector: str) -> None:
    values = read(LOGS / f"{collector}.log")
    for kind, number in PAUSES[collector].items():
        assert values[series_name("jvm_gc_pauses_total", kind=kind)] == number
    assert sum(1 for name in values if name.startswith("jvm_gc_pauses_total")) == len(PAUSES[collector])
    took = sum(value for name, value in values.items() if name.startswith("jvm_gc_pause_seconds_total"))
    assert took == pytest.approx(PAUSE_S[collector], abs=1e-9)


@pytest.mark.parametrize("collector", PAUSES)
def test_allocation_is_what_the_program_allocated(collector: str) -> None:
    allocated = read(LOGS / f"{collector}.log")["jvm_allocated_bytes_total"]
    assert ALLOCATED * (1 - OWN_SHARE) < allocated < ALLOCATED * (1 + OWN_SHARE)


@pytest.mark.parametrize(("collector", "after", "committed"), [("g1", 19, 74), ("parallel", 19, 93), ("z", 24, 96)])
def test_the_heap_is_reported_after_the_last_collection(collector: str, after: int, committed: int) -> None:
    values = read(LOGS / f"{collector}.log")
    assert values["jvm_heap_after_gc_bytes"] == after * MIB
    assert values["jvm_heap_committed_bytes"] == committed * MIB
    assert values["jvm_heap_limit_bytes"] == 96 * MIB


def test_z_reports_the_work_beside_the_program_and_the_waits_for_memory() -> None:
    values = read(LOGS / "z.log")
    assert values["jvm_gc_concurrent_seconds_total"] == pytest.approx(0.054355, abs=1e-9)
    assert (values["jvm_gc_stalls_total"], values["jvm_gc_stall_seconds_total"]) == (11, pytest.approx(0.051163))
    assert read(LOGS / "parallel.log")["jvm_gc_concurrent_seconds_total"] == 0


# Lines from a longer run of the same program with collector G1.
CYCLE = """\
[26193906956448ns][info][gc          ] GC(157) Concurrent Mark Cycle
[26193908610038ns][info][gc,marking  ] GC(157) Concurrent Mark From Roots 1.632ms
[26193908667918ns][info][gc,start    ] GC(157) Pause Remark
[26193909052108ns][info][gc          ] GC(157) Pause Remark 50M->50M(96M) 0.381ms
[26193909577978ns][info][gc          ] GC(157) Pause Cleanup 50M->50M(96M) 0.032ms
[26193909747208ns][info][gc          ] GC(157) Concurrent Mark Cycle 2.831ms
[26193915434727ns][info][gc,start    ] GC(158) Pause Young (Prepare Mixed) (G1 Evacuation Pause)
[26193915947807ns][info][gc          ] GC(158) Pause Young (Prepare Mixed) (G1 Evacuation Pause) 79M->34M(96M) 0.513ms
"""


def test_a_concurrent_cycle_of_g1_is_counted_once() -> None:
    counts = GcCounts()
    for line in CYCLE.splitlines():
        counts.take(line)
    assert counts.concurrent_s == pytest.approx(0.002831)
    assert counts.pauses == {"remark": 1, "cleanup": 1, "young": 1}
    # 50 MiB were allocated before the first line of the log, and 29 MiB between the cleanup and the next collection.
    assert (counts.allocated, counts.used, counts.committed) == (79 * MIB, 34 * MIB, 96 * MIB)
    assert counts.take_longest() == pytest.approx(0.000513)
    assert counts.take_longest() == 0


def test_a_log_is_read_as_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "gc.log"
    scraper = GcLogScraper("content-jvm", "cmis_repository", path)
    with pytest.raises(ScrapeError, match=r"gc\.log cannot be read"):
        scraper.scrape()
    lines = CYCLE.encode()
    middle = lines.index(b"Remark 50M")
    path.write_bytes(lines[:middle])
    assert "jvm_heap_after_gc_bytes" not in scraper.scrape()
    with path.open("ab") as log:
        log.write(lines[middle:])
    assert scraper.scrape()[series_name("jvm_gc_pauses_total", kind="remark")] == 1
    assert scraper.scrape()[series_name("jvm_gc_pauses_total", kind="young")] == 1
    assert scraper.scrape()["jvm_gc_longest_pause_seconds"] == 0


def test_rounding_never_makes_the_allocation_shrink(tmp_path: Path) -> None:
    path = tmp_path / "gc.log"
    scraper = GcLogScraper("content-jvm", "cmis_repository", path)
    first = "[1ns][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 50M->10M(96M) 1.000ms\n"
    path.write_text(first)
    assert scraper.scrape()["jvm_allocated_bytes_total"] == 50 * MIB
    path.write_text(first + "[2ns][info][gc] GC(2) Pause Remark 9M->9M(96M) 0.100ms\nnot a line of the log\n")
    assert scraper.scrape()["jvm_allocated_bytes_total"] == 50 * MIB


@pytest.mark.parametrize("collector", PAUSES)
def test_the_table_names_what_is_reported(collector: str) -> None:
    reported = {name.partition("{")[0] for name in read(LOGS / f"{collector}.log")}
    assert reported <= metric_names("Java virtual machines")
    assert gc_log.GcLogScraper.source == "gc_log"


# Page of Jetty 9.4.57 after four requests; some lines are omitted.
PAGE = """\
statistics:
  connections:
    connection:
      bytesIn: 242
      bytesOut: 3625
      connections: 3
      connectionsOpen: 1
      name: org.eclipse.jetty.server.ServerConnector@4D41CEE
      protocols:
        protocol: http/1.1
  memory:
    heapMemoryUsage: 37399552
    nonHeapMemoryUsage: 43984352
  requests:
    requests: 4
    requestsActive: 1
    requestsTimeTotal: 54
  responses:
    responses1xx: 0
    responses2xx: 1
    responses3xx: 2
    responses4xx: 0
    responses5xx: 0
"""


def test_jetty_reports_requests_connections_and_heap() -> None:
    values = jetty.parse(PAGE)
    assert values == {
        "jetty_requests_total": 4,
        "jetty_requests_active": 1,
        "jetty_request_seconds_total": pytest.approx(0.054),
        "jetty_connections_total": 3,
        "jetty_connections": 1,
        "jetty_received_bytes_total": 242,
        "jetty_sent_bytes_total": 3625,
        "jvm_heap_used_bytes": 37399552,
        "jvm_non_heap_used_bytes": 43984352,
        series_name("jetty_answers_total", status="2xx"): 1,
        series_name("jetty_answers_total", status="3xx"): 2,
        series_name("jetty_answers_total", status="4xx"): 0,
        series_name("jetty_answers_total", status="5xx"): 0,
    }
    assert {name.partition("{")[0] for name in values} == metric_names("Jetty")


@pytest.mark.parametrize("text", ["", "<html>no</html>", PAGE.replace("requestsTimeTotal: 54", "requestsTimeTotal: x")])
def test_what_is_no_page_of_jetty_is_refused(text: str) -> None:
    with pytest.raises(ScrapeError, match="must"):
        jetty.parse(text)
