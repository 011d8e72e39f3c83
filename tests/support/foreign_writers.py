"""Writes requests in the file formats of other load generators, with the time resolution of each format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from known_requests import write_csv

from towtank.foreign import Requests

EPOCH_S = 1_800_000_000
_Rows = Iterable[tuple[float, float]]
_JTL = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success\n"
_HEY = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n"
_OHA = "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status\n"
_K6 = "metric_name,timestamp,metric_value,expected_response,name\n"


def _ms(start: float) -> int:
    return round(1e3 * (EPOCH_S + start))


def _ns(start: float) -> int:
    return EPOCH_S * 10**9 + round(1e9 * start)


def _instant(time: float) -> str:
    whole = int(time)
    text = datetime.fromtimestamp(EPOCH_S + whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{round(1e9 * (time - whole)):09d}Z" if time - whole < 1 - 1e-9 else f"{text}.999999999Z"


def _jtl_csv(rows: _Rows) -> Iterator[str]:
    yield _JTL
    yield from (f"{_ms(start)},{round(1e3 * elapsed)},look,200,OK,users 1-1,true\n" for start, elapsed in rows)


def _jtl_xml(rows: _Rows) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testResults version="1.2">\n'
    for start, elapsed in rows:
        yield f'<httpSample t="{round(1e3 * elapsed)}" ts="{_ms(start)}" s="true" lb="look" rc="200" tn="users 1-1"/>\n'
    yield "</testResults>\n"


def _k6_json(rows: _Rows) -> Iterator[str]:
    for start, elapsed in rows:
        data = {"time": _instant(start + elapsed), "value": round(1e3 * elapsed, 6), "tags": {"name": "look"}}
        yield json.dumps({"metric": "http_req_duration", "type": "Point", "data": data}) + "\n"


def _k6_csv(rows: _Rows) -> Iterator[str]:
    yield _K6
    for start, elapsed in rows:
        yield f"http_req_duration,{int(EPOCH_S + start + elapsed)},{1e3 * elapsed:.6f},true,look\n"


def _gatling(rows: _Rows) -> Iterator[str]:
    yield f"RUN\tsimulations.Look\tlook\t{_ms(0)}\t \t3.9.5\n"
    yield from (f"REQUEST\t\tlook\t{_ms(start)}\t{_ms(start + elapsed)}\tOK\t \n" for start, elapsed in rows)


def _hey(rows: _Rows) -> Iterator[str]:
    yield _HEY
    yield from (f"{elapsed:.4f},0,0,0,{elapsed:.4f},0,200,{start:.4f}\n" for start, elapsed in rows)


def _oha(rows: _Rows) -> Iterator[str]:
    yield _OHA
    yield from (f"{start:.9f},0,0,{elapsed:.9f},{elapsed:.9f},2,200\n" for start, elapsed in rows)


def _vegeta_json(rows: _Rows) -> Iterator[str]:
    for number, (start, elapsed) in enumerate(rows):
        result = {"seq": number, "code": 200, "timestamp": _instant(start), "latency": round(1e9 * elapsed)}
        yield json.dumps({"attack": "", **result, "error": ""}) + "\n"


def _vegeta_csv(rows: _Rows) -> Iterator[str]:
    for number, (start, elapsed) in enumerate(rows):
        yield f"{_ns(start)},200,{round(1e9 * elapsed)},0,2,,T0s=,,{number},GET,http://h/,\n"


def _pgbench(rows: _Rows) -> Iterator[str]:
    for number, (start, elapsed) in enumerate(rows):
        end_us = round(1e6 * (start + elapsed))
        yield f"0 {number} {round(1e6 * elapsed)} 0 {EPOCH_S + end_us // 10**6} {end_us % 10**6}\n"


WRITERS: dict[str, Callable[[_Rows], Iterator[str]]] = {
    "JMeter JTL (CSV)": _jtl_csv,
    "JMeter JTL (XML)": _jtl_xml,
    "k6 JSON": _k6_json,
    "k6 CSV": _k6_csv,
    "Gatling simulation.log (text)": _gatling,
    "hey CSV": _hey,
    "oha CSV": _oha,
    "vegeta JSON": _vegeta_json,
    "vegeta CSV": _vegeta_csv,
    "pgbench log": _pgbench,
}
"""Functions that yield the lines of a file, by the format name used in `towtank judge`."""


def write_form(path: Path, form: str, requests: Requests) -> Path:
    """Write requests in a file format, in the order of their ends, as load generators do."""
    if form not in WRITERS:
        return write_csv(path, requests)
    rows = sorted(zip(requests.start_s.tolist(), requests.elapsed_s.tolist(), strict=True), key=sum)
    path.write_text("".join(WRITERS[form](rows)), "utf-8")
    return path
