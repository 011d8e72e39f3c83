"""Readers of external files and responses get damaged input. Each must accept it, or refuse it with its documented
error.
"""

from __future__ import annotations

import doctest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import damaged as damaging
import pytest
from damaged import EXAMPLES, damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from towtank.errors import StudyError, TargetError
from towtank.filecheck import check_file
from towtank.log_lines import level_of_line, troubles
from towtank.model.fitting.table import PointColumns, read_points
from towtank.observe import haproxy, prometheus, redis
from towtank.observe.gc_log import GcCounts
from towtank.results import lines
from towtank.results.folder import ResultsFolder, RunFolder
from towtank.sizing.history import read_history
from towtank.study.model import Trace
from towtank.study.traces import read_trace
from towtank.workload import datafiles
from towtank.workload.importers import IMPORT_FORMATS, ImportOptions, read_import
from towtank.workload.importers.writing import finish_import

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
FILES = TESTS / "data"
KEPT = FILES / "results-1"
INPUTS = {
    "har": ["imports/shop.har"],
    "jmx": ["imports/plan.jmx"],
    "k6": ["imports/script.js"],
    "openapi": ["imports/pets.yaml"],
    "curl": ["imports/commands.sh"],
    "accesslog": ["imports/access.log"],
}
YAML = [*sorted((ROOT / "examples").glob("*/*.yaml")), *sorted((ROOT / "studies").glob("*/*.yaml"))]
MODEL = b"""classes: {web: {users: 50, think: 1 s}, batch: {rate: 2 /s}}
stations:
  cpu: {servers: 4, discipline: ps, demand: {web: 20 ms, batch: 100 ms}}
  lan: {discipline: delay, demand: {web: 30 ms}}
"""
POINTS = b"users,throughput,response_s\n1,9.5,0.1\n10,80,0.12\n50,200,0.25\n"
HISTORY = b"day,load\n" + b"".join(f"2026-01-{day:02},{90 + day}\n".encode() for day in range(1, 29))
MEASURED = (
    b'{"schema": "towtank/history/1", "series": [{"metric": "throughput", "transaction": null, "points": ['
    + b", ".join(f'{{"started": "2026-01-{day:02}T09:30:00+00:00", "value": {day}.5}}'.encode() for day in range(1, 9))
    + b"]}]}"
)
TRACE = b"time,rate\n0,10\n60,20\n120,5\n"
PAGE = b"""# TYPE a counter
a_total{b="c d",e="\\"f\\n"} 3 1700000000000
load 0.5
latency_bucket{le="+Inf"} 7
"""
INFO = (
    b"# Server\r\nconnected_clients:3\r\ndb0:keys=2,expires=0\r\ncmdstat_get:calls=21,usec=175,usec_per_call=8.33\r\n"
)
HAPROXY = b"Name: HAProxy\nCurrConns: 1\nUptime_sec: 10\nMaxconn: 200\n"
STAT = b"# pxname,svname,qcur,scur,stot,hrsp_2xx,status\nfront,FRONTEND,,1,5,4,OPEN\nback,one,0,0,5,4,UP\n"
LOG = b"2026-01-01 10:00:00 ERROR no such table\n\tat Main.run(Main.java:7)\n[warn] slow\n"


def contents(paths: list[Path]) -> list[bytes]:
    return [path.read_bytes() for path in paths]


def text_reader(parse: Callable[[str], Any]) -> Callable[[Path], None]:
    """Return a function that decodes the bytes of a file as UTF-8, replaces invalid bytes, and parses the text."""

    def run(path: Path) -> None:
        parse(path.read_bytes().decode("utf-8", "replace"))

    return run


def a_file(path: Path) -> None:
    assert all(fault.message for fault in check_file(path).faults)


def a_trace(path: Path) -> None:
    curve, faults = read_trace(path, Trace(csv=path.name))
    assert (curve is None) == bool(faults)


def a_log(path: Path) -> None:
    found = path.read_bytes().splitlines()
    list(troubles(enumerate(found)))
    level_of_line(path.read_bytes().decode("utf-8", "replace"))


def a_gc_log(path: Path) -> None:
    counts = GcCounts()
    for line in path.read_bytes().decode("utf-8", "replace").splitlines():
        counts.take(line)


def a_stream(path: Path) -> None:
    damage = lines.Damage()
    assert len(list(lines.read(path, damage))) + damage.bad_lines <= path.read_bytes().count(b"\n") + 1


def rows(path: Path) -> None:
    datafiles.header(path)
    datafiles.check_rows(path, "weight")


def a_manifest(path: Path) -> None:
    folder = path.parent / "folder"
    folder.mkdir(exist_ok=True)
    for name, made in (("study.json", ResultsFolder), ("run.json", RunFolder)):
        (folder / name).write_bytes(path.read_bytes())
        assert isinstance(made(folder).manifest, dict)


STREAM = lines.encode({"k": "header", "run": "r001"}) + lines.encode({"k": "interval", "t0_ns": 0, "t1_ns": 10**9})
READERS: dict[str, tuple[list[bytes], Callable[[Path], object], tuple[type[Exception], ...]]] = {
    "files of studies": (contents(YAML), a_file, ()),
    "models": ([MODEL], a_file, ()),
    "points": ([POINTS], lambda path: read_points(path, PointColumns()), (StudyError,)),
    "histories": ([HISTORY], lambda path: read_history(path, "day", "load", "none"), (StudyError,)),
    "histories of results": (
        [MEASURED],
        lambda path: read_history(path.replace(path.with_suffix(".json")), "", "", "none"),
        (StudyError,),
    ),
    "traces": ([TRACE], a_trace, ()),
    "rows": ([b"name,weight\nann,1\nbob,2.5\n", (FILES / "imports/quoted.csv").read_bytes()], rows, (ValueError,)),
    "pages of metrics": ([PAGE], text_reader(prometheus.parse), (TargetError,)),
    "answers of Redis": ([INFO], text_reader(redis.parse), (TargetError,)),
    "facts of HAProxy": ([HAPROXY], text_reader(haproxy.parse_info), (TargetError,)),
    "tables of HAProxy": ([STAT], text_reader(haproxy.parse_stat), (TargetError,)),
    "logs of services": ([LOG], a_log, ()),
    "logs of collectors": (contents(sorted((FILES / "gc").glob("*.log"))), a_gc_log, ()),
    "recorded streams": ([STREAM * 3], a_stream, ()),
    "manifests": (
        contents([FILES / "results-1/study.json", FILES / "results-1/runs/r001/run.json"]),
        a_manifest,
        (StudyError,),
    ),
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_reader_takes_or_refuses_whatever_it_is_given(name: str, data: st.DataObject, tmp_path: Path) -> None:
    inputs, run, refusals = READERS[name]
    path = tmp_path / "input"
    path.write_bytes(data.draw(damaged(inputs)))
    try:
        run(path)
    except refusals as refused:
        assert str(refused)


@pytest.mark.waits
@pytest.mark.timeout(600)
@pytest.mark.parametrize("form", IMPORT_FORMATS)
@given(data=st.data())
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_an_import_writes_what_is_valid_or_refuses(form: str, data: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(data.draw(damaged(contents([FILES / name for name in INPUTS[form]]))))
    try:
        made = finish_import(read_import(form, path, ImportOptions((), tmp_path)), tmp_path)
    except StudyError as refused:
        assert str(refused)
        return
    (tmp_path / "workload.yaml").write_text(made.text, "utf-8")
    assert check_file(tmp_path / "workload.yaml").faults == []


def test_edits_are_as_they_say() -> None:
    assert doctest.testmod(damaging).failed == 0
