"""Every form of result file is recognised by its content and read. Each example file has the format that its tool
writes.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import pytest

from towtank.errors import StudyError
from towtank.foreign import read_foreign
from towtank.foreign.forms import FORMS

JMETER = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,"
    "grpThreads,allThreads,URL,Latency,IdleTime,Connect\n"
    "1700000000000,12,login,200,OK,Users 1-1,text,true,,100,50,1,1,http://h/,11,0,1\n"
    '1700000000500,20,search,500,"Server Error, again",Users 1-1,text,false,"bad, very",100,50,1,1,http://h/,19,0,0\n'
)
JMETER_XML = """<?xml version="1.0" encoding="UTF-8"?>
<testResults version="1.2">
<httpSample t="12" lt="11" ts="1700000000000" s="true" lb="login" rc="200" tn="Users 1-1">
  <httpSample t="5" ts="1700000000001" s="true" lb="part" rc="200" tn="Users 1-1"/>
</httpSample>
<sample t="20" ts="1700000000500" s="false" lb="search" rc="500" tn="Users 1-1"/>
</testResults>
"""
K6_JSON = (
    '{"type":"Metric","data":{"name":"http_req_duration","type":"trend"},"metric":"http_req_duration"}\n'
    '{"metric":"http_reqs","type":"Point","data":{"time":"2026-01-01T00:00:00.012Z","value":1,"tags":{}}}\n'
    '{"metric":"http_req_duration","type":"Point","data":{"time":"2026-01-01T00:00:00.012345678Z","value":12,'
    '"tags":{"expected_response":"true","name":"login","status":"200"}}}\n'
    '{"metric":"http_req_duration","type":"Point","data":{"time":"2026-01-01T01:00:00.520345678+01:00","value":20,'
    '"tags":{"expected_response":"false","name":"search","status":"500","error_code":"1500"}}}\n'
    '{"metric":"dropped_iterations","type":"Point","data":{"time":"2026-01-01T00:00:00.6Z","value":3,"tags":{}}}\n'
)
K6_CSV = (
    "metric_name,timestamp,metric_value,check,error,error_code,expected_response,group,method,name,proto,scenario,"
    "service,status,subproto,tls_version,url,extra_tags,metadata\n"
    "http_reqs,1700000000,1.000000,,,,true,,GET,login,HTTP/1.1,default,,200,,,http://h/,,\n"
    "http_req_duration,1700000000,12.000000,,,,true,,GET,login,HTTP/1.1,default,,200,,,http://h/,,\n"
    "http_req_duration,1700000001,20.000000,,,1500,false,,GET,search,HTTP/1.1,default,,500,,,http://h/,,\n"
)
GATLING = (
    "RUN\tsimulations.Shop\tshop\t1700000000000\t \t3.9.5\n"
    "USER\tcustomers\tSTART\t1700000000000\n"
    "REQUEST\t\tlogin\t1700000000000\t1700000000012\tOK\t \n"
    "REQUEST\tgroup\tsearch\t1700000000500\t1700000000520\tKO\tstatus.find.is(200), but actually found 500\n"
)
GATLING_2 = (
    "RUN\tsimulations.Shop\tshop\t1500000000000\t \t2.3\n"
    "REQUEST\tcustomers\t1\t\tlogin\t1500000000000\t1500000000012\tOK\t \n"
    "REQUEST\tcustomers\t1\t\tsearch\t1500000000500\t1500000000520\tKO\tfailed\n"
)
HEY = (
    "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n"
    "0.0120,0.0005,0.0000,0.0000,0.0119,0.0000,200,0.0000\n"
    "0.0200,0.0000,0.0000,0.0000,0.0199,0.0000,500,0.5000\n"
)
OHA = (
    "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status\n"
    "0.000000000,0.0003,0.0005,0.0119,0.012000000,11,200\n"
    "0.500000000,0.0,0.0,0.0199,0.020000000,11,500\n"
)
VEGETA_JSON = (
    '{"attack":"","seq":0,"code":200,"timestamp":"2026-01-01T00:00:00.000000000+01:00","latency":12000000,'
    '"bytes_out":0,"bytes_in":5,"error":"","body":null,"method":"GET","url":"http://h/","headers":{}}\n'
    '{"attack":"","seq":1,"code":500,"timestamp":"2026-01-01T00:00:00.500000000+01:00","latency":20000000,'
    '"bytes_out":0,"bytes_in":5,"error":"500 Internal Server Error","body":null,"method":"GET","url":"http://h/"}\n'
)
VEGETA_CSV = (
    "1700000000000000000,200,12000000,0,5,,aGVsbG8=,,0,GET,http://h/,\n"
    "1700000000500000000,500,20000000,0,5,500 Internal Server Error,,,1,GET,http://h/,\n"
)
PGBENCH = "0 1 12000 0 1700000000 12000\n0 2 failed 0 1700000000 500000\n1 3 skipped 0 1700000000 600000\n"


@dataclass(frozen=True)
class Case:
    """A result file of another tool with two requests.

    The first request took 12 ms and succeeded. The second was sent half a second later, took 20 ms and failed.
    """

    form: str
    text: str
    names: tuple[str, ...] = ("login", "search")
    start_s: float = 0.5
    elapsed_s: float = 0.02
    not_sent: int = 0


CASES = (
    Case("plain CSV", "start_s,elapsed_ms,ok,transaction\n7,12,1,login\n7.5,20,0,search\n"),
    Case("JMeter JTL (CSV)", JMETER),
    Case("JMeter JTL (XML)", JMETER_XML),
    Case("k6 JSON", K6_JSON, not_sent=3),
    Case("k6 CSV", K6_CSV, start_s=0.992),
    Case("Gatling simulation.log (text)", GATLING),
    Case("Gatling simulation.log (text)", GATLING_2),
    Case("hey CSV", HEY, ("",)),
    Case("oha CSV", OHA, ("",)),
    Case("vegeta JSON", VEGETA_JSON, ("",)),
    Case("vegeta CSV", VEGETA_CSV, ("",)),
    Case("pgbench log", PGBENCH, ("script 0",), elapsed_s=0.0, not_sent=1),
)
FIO = """fio: a note that fio prints before its document
{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "total_err": 0,
 "read": {"total_ios": 1000, "iops": 100.0, "runtime": 10000, "lat_ns": {"min": 1000000, "mean": 2000000.0},
  "clat_ns": {"min": 900000, "mean": 1900000.0, "percentile":
   {"50.000000": 1500000, "90.000000": 2500000, "95.000000": 3000000, "99.000000": 5000000}}},
 "write": {"total_ios": 0}}]}
"""
OHA_JSON = """{"summary": {"successRate": 1.0, "total": 10.0, "average": 0.02, "requestsPerSec": 100.0},
"latencyPercentiles": {"p10": 0.005, "p50": 0.01, "p90": 0.03, "p95": 0.04, "p99": 0.05},
"statusCodeDistribution": {"200": 990, "500": 6}, "errorDistribution": {"deadline": 4}}
"""
WRK2 = """Running 30s test @ http://127.0.0.1:8080/
  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.500     0.000000            1         1.00
       1.500     0.500000          500         2.00
       3.000     0.900000          900        10.00
       4.000     0.950000          950        20.00
       6.000     0.990625          990       106.67
       9.000     1.000000         1000          inf
#[Mean    =        2.000, StdDeviation   =        0.605]
#[Max     =        9.000, Total count    =         1000]
#[Buckets =           27, SubBuckets     =         2048]
----------------------------------------------------------
  1500 requests in 30.00s, 1.00MB read
  Non-2xx or 3xx responses: 15
Requests/sec:     50.00
"""
LOCUST = (
    '"Timestamp","User Count","Type","Name","Requests/s","Failures/s","50%","66%","75%","80%","90%","95%","98%","99%",'
    '"99.9%","99.99%","100%","Total Request Count","Total Failure Count","Total Median Response Time",'
    '"Total Average Response Time","Total Min Response Time","Total Max Response Time","Total Average Content Size"\n'
    "1700000000,0,,Aggregated,0.0,0.0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,0,0,0,0.0,0,0,0\n"
    "1700000001,5,,Aggregated,50.0,1.0,10,12,14,15,20,25,30,40,50,50,50,100,1,10,11.0,5,50,9\n"
    "1700000011,5,,Aggregated,50.0,1.0,10,12,14,15,20,25,30,40,50,50,50,600,6,10,12.5,5,50,9\n"
)
LOCUST_STATS = (
    "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response "
    "Time,Average Content Size,Requests/s,Failures/s,50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,100%\n"
    "GET,/,600,6,10,12.5,5,50,9,60.0,0.6,10,12,14,15,20,25,30,40,50,50,50\n"
    ",Aggregated,600,6,10,12.5,5,50,9,60.0,0.6,10,12,14,15,20,25,30,40,50,50,50\n"
)


def written(folder: Path, text: str | bytes, name: str = "results") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.form)
def test_single_requests_are_read(case: Case, tmp_path: Path) -> None:
    found = read_foreign(written(tmp_path, case.text))
    assert (found.form, found.not_sent, found.skipped.rows, found.cut) == (case.form, case.not_sent, 0, "")
    requests = found.requests
    assert requests is not None
    assert requests.start_s.tolist() == pytest.approx([0.0, case.start_s], abs=1e-6)
    assert requests.elapsed_s.tolist() == pytest.approx([0.012, case.elapsed_s])
    assert requests.ok.tolist() == [True, False]
    assert requests.names == case.names
    assert requests.transaction.tolist() == [0, len(case.names) - 1]


def test_every_form_has_an_example() -> None:
    summaries = {"oha JSON", "fio JSON", "HdrHistogram percentiles (wrk2)", "Locust stats or stats_history CSV"}
    assert {case.form for case in CASES} | summaries == {form.NAME for form in FORMS}


def test_summary_of_fio(tmp_path: Path) -> None:
    found = read_foreign(written(tmp_path, FIO)).summary
    assert found is not None
    assert (found.requests, found.errors, found.length_s, found.throughput_per_s) == (1000, 0, 10.0, 100.0)
    assert found.mean_s == pytest.approx(0.002)
    assert found.percentiles_s == pytest.approx({"p50": 0.0015, "p90": 0.0025, "p95": 0.003, "p99": 0.005})


def test_summary_of_oha_counts_answers_of_the_server_that_are_errors(tmp_path: Path) -> None:
    found = read_foreign(written(tmp_path, OHA_JSON)).summary
    assert found is not None
    assert (found.requests, found.errors, found.throughput_per_s) == (1000, 10, 99.0)
    assert {name: found.percentiles_s[name] for name in ("p50", "p99")} == {"p50": 0.01, "p99": 0.05}


def test_summary_of_wrk2(tmp_path: Path) -> None:
    found = read_foreign(written(tmp_path, WRK2))
    summary = found.summary
    assert summary is not None
    assert (summary.requests, summary.errors, summary.length_s) == (1500, 15, 30.0)
    assert summary.throughput_per_s == pytest.approx(49.5)
    assert summary.mean_s == pytest.approx(0.002)
    assert summary.percentiles_s["p50"] == pytest.approx(0.0015)
    # The file has rows for 95 % and 99.0625 % of the requests; p99 lies between them.
    assert 0.0055 < summary.percentiles_s["p99"] < 0.006
    assert any("only the 1,000 requests after" in note for note in found.notes)


@pytest.mark.parametrize("text", [LOCUST, LOCUST_STATS], ids=["history", "stats"])
def test_summary_of_locust(text: str, tmp_path: Path) -> None:
    found = read_foreign(written(tmp_path, text)).summary
    assert found is not None
    assert (found.requests, found.errors) == (600, 6)
    assert found.mean_s == pytest.approx(0.0125)
    assert found.percentiles_s == pytest.approx({"p50": 0.01, "p90": 0.02, "p95": 0.025, "p99": 0.04})
    # History file: 495 successful requests / 10 s = 49.5 /s. Statistics file: 60 - 0.6 failures/s = 59.4 /s.
    assert found.throughput_per_s == pytest.approx(49.5 if text == LOCUST else 59.4)


def test_samples_of_transaction_controllers_are_not_counted_twice(tmp_path: Path) -> None:
    controller = (
        "1700000000000,600,checkout,,"
        '"Number of samples in transaction : 2, number of failing samples : 1",Users 1-1,,false,,1,1,1,1,null,0,0,0\n'
    )
    found = read_foreign(written(tmp_path, JMETER + controller))
    assert found.requests is not None
    assert len(found.requests) == 2
    assert any("1 samples of Transaction Controllers" in note for note in found.notes)
    alone = JMETER.splitlines(keepends=True)[0] + controller
    requests = read_foreign(written(tmp_path, alone)).requests
    assert requests is not None
    assert len(requests) == 1


def test_bad_rows_are_skipped_and_counted_by_reason(tmp_path: Path) -> None:
    rows = "0,5,1\n1,x,1\n2,,1\n3,-1,1\n4,nan,1\ninf,5,1\n6,5,maybe\n7,5,0\n8\n\n9,5"
    found = read_foreign(written(tmp_path, f"start_s,elapsed_ms,ok\n{rows}"))
    assert found.requests is not None
    assert len(found.requests) == 3
    assert found.skipped.by_reason == {
        "elapsed_ms is not a number": 1,
        "elapsed_ms is missing": 1,
        "a response time is negative": 1,
        "a time is not a finite number": 2,
        "ok is not true or false": 1,
        "too few columns": 1,
    }
    assert found.skipped.first_line == 3


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators_byte_order_marks_and_line_ends(separator: str, tmp_path: Path) -> None:
    text = "\ufeffstart_s,elapsed_ms\r\n0,1\r\n1,2\r\n".replace(",", separator)
    for encoding in ("utf-8", "utf-16"):
        content = text.removeprefix("\ufeff").encode(encoding) if encoding == "utf-16" else text.encode()
        requests = read_foreign(written(tmp_path, content)).requests
        assert requests is not None
        assert requests.elapsed_s.tolist() == [0.001, 0.002]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.form)
def test_compressed_files_are_read_and_cut_ones_as_far_as_they_go(case: Case, tmp_path: Path) -> None:
    packed = gzip.compress(case.text.encode())
    requests = read_foreign(written(tmp_path, packed)).requests
    assert requests is not None
    assert len(requests) == 2
    found = read_foreign(written(tmp_path, gzip.compress((case.text * 1).encode() + b"\n" * 100_000)[:-30]))
    assert "cut off" in found.cut


@pytest.mark.parametrize("form", range(len(CASES)), ids=[case.form for case in CASES])
def test_a_file_cut_at_any_byte_is_read_or_is_an_error_of_the_input(form: int, tmp_path: Path) -> None:
    text = CASES[form].text.encode()
    for end in range(0, len(text), 7):
        try:
            found = read_foreign(written(tmp_path, text[:end]))
        except StudyError:
            continue
        assert found.requests is None or len(found.requests) <= 2


@pytest.mark.parametrize("text", [FIO, OHA_JSON, WRK2, LOCUST], ids=["fio", "oha", "wrk2", "locust"])
def test_a_summary_cut_at_any_byte_is_read_or_is_an_error_of_the_input(text: str, tmp_path: Path) -> None:
    for end in range(0, len(text), 5):
        try:
            found = read_foreign(written(tmp_path, text.encode()[:end]))
        except StudyError:
            continue
        assert found.summary is not None


@pytest.mark.parametrize(
    "content", [b"", b"\0\0\0", b"a,b\n1,2\n", b"{}", b"[1]", b"\xff\xfe\x00", b"hello\n", b"\x1f\x8bjunk"]
)
def test_a_file_of_no_known_form_is_an_error_that_names_the_forms(content: bytes, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(StudyError) as caught:
        read_foreign(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert all(form.NAME in message for form in FORMS)


def test_a_folder_and_a_missing_file_are_errors_of_the_input(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(StudyError, match="must be a result file"):
            read_foreign(path)
