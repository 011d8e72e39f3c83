from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mixed_run import EXCHANGES, TRANSACTIONS, UNTIMED
from small_receiver import Receiver, listening, nobody
from synthetic_runs import WALL_NS

from towtank.errors import TargetError
from towtank.results.exports import otlp_sending
from towtank.results.exports.otlp_points import buckets
from towtank.workload import targets

Json = dict[str, Any]
DELTA = 1


def metrics(lines: list[Json]) -> dict[str, list[Json]]:
    """Return, by metric name, the data points of the metric, each with the type of the metric."""
    found: dict[str, list[Json]] = defaultdict(list)
    for document in lines:
        (resource,) = document["resourceMetrics"]
        (scope,) = resource["scopeMetrics"]
        for metric in scope["metrics"]:
            (form,) = set(metric) - {"name", "unit", "description"}
            if form != "gauge":
                assert metric[form]["aggregationTemporality"] == DELTA
            found[metric["name"]] += [{**point, "form": form} for point in metric[form]["dataPoints"]]
    return found


def attributes(holder: Json) -> dict[str, str]:
    return {attribute["key"]: attribute["value"]["stringValue"] for attribute in holder["attributes"]}


@pytest.fixture
def document(towtank, mixed, tmp_path) -> Json:
    out = tmp_path / "out.jsonl"
    assert towtank("export", mixed.path, "--to", "otlp", "--out", out).status == 0
    (line,) = out.read_text("utf-8").splitlines()  # A short run is exported as a single document.
    return dict(json.loads(line))


@pytest.fixture
def points(document) -> dict[str, list[Json]]:
    return metrics([document])


def test_resource_says_what_was_run(document):
    found = attributes(document["resourceMetrics"][0]["resource"])
    assert found["service.name"] == "towtank"
    assert (found["towtank.run"], found["towtank.factor.users"]) == ("r001", "5")
    assert found["towtank.factor.search index"] == 'a "b"\\c'


def test_counts_are_those_of_the_exchanges(points):
    for metric, key, names in (
        ("towtank.transaction.ended", "towtank.transaction", TRANSACTIONS),
        ("towtank.request.ended", "towtank.step", [f"{name} / request" for name in TRANSACTIONS]),
    ):
        found: Counter[tuple[str, str]] = Counter()
        for point in points[metric]:
            result = attributes(point)
            assert (point["form"], isinstance(point["asInt"], str)) == ("sum", True)
            found[result[key], result["towtank.outcome"]] += int(point["asInt"])
        assert found == Counter((names[exchange.transaction], exchange.failure or "ok") for exchange in EXCHANGES)


def test_histograms_hold_every_time_once_and_its_exact_sum(points):
    found = points["towtank.transaction.response_time"]
    times = [exchange.end - exchange.intended for exchange in EXCHANGES if exchange.failure not in UNTIMED]
    for point in found:
        counts = [int(count) for count in point["positive"]["bucketCounts"]]
        assert (sum(counts), point["zeroCount"]) == (int(point["count"]), "0")
        assert len(counts) <= 160
        assert counts[0] > 0 < counts[-1]
    assert sum(int(point["count"]) for point in found) == len(times)
    assert sum(point["sum"] for point in found) == pytest.approx(sum(times), abs=1e-7)
    assert min(point["min"] for point in found) == pytest.approx(min(times), rel=0.001)
    assert max(point["max"] for point in found) == pytest.approx(max(times), rel=0.001)


def test_values_lie_in_their_buckets(points):
    for point in points["towtank.transaction.response_time"]:
        number = TRANSACTIONS.index(attributes(point)["towtank.transaction"])
        start, end = ((int(point[key]) - WALL_NS) / 1e9 for key in ("startTimeUnixNano", "timeUnixNano"))
        own = sorted(
            exchange.end - exchange.intended
            for exchange in EXCHANGES
            if exchange.transaction == number and start < exchange.end <= end and exchange.failure not in UNTIMED
        )
        base, offset = 2 ** (2 ** -point["scale"]), point["positive"]["offset"]
        counts = [int(count) for count in point["positive"]["bucketCounts"]]
        buckets_of = [place for place, count in enumerate(counts) for _ in range(count)]
        for time, place in zip(own, buckets_of, strict=True):
            assert base ** (offset + place) * 0.999 <= time <= base ** (offset + place + 1) * 1.001


def test_spans_of_a_stream_follow_each_other_without_overlap(points):
    for name, found in points.items():
        streams: dict[frozenset[tuple[str, str]], list[tuple[int, int]]] = defaultdict(list)
        for point in found:
            span = int(point["startTimeUnixNano"]), int(point["timeUnixNano"])
            streams[frozenset(attributes(point).items())].append(span)
        for spans in streams.values():
            assert all(start < end for start, end in spans), name
            assert all(first[1] <= other[0] for first, other in pairwise(spans)), name


def test_start_lag_has_no_sum_for_none_is_recorded(points):
    assert points["towtank.start_lag"]
    assert not any("sum" in point for point in points["towtank.start_lag"])


def test_documents_of_a_study_are_bounded(towtank, results):
    assert towtank("export", results, "--to", "otlp").status == 0
    lines = (results / "exports" / "metrics.otlp.jsonl").read_text("utf-8").splitlines()
    runs = [attributes(json.loads(line)["resourceMetrics"][0]["resource"])["towtank.run"] for line in lines]
    assert list(dict.fromkeys(runs)) == [f"r{number:03d}" for number in range(1, 9)]
    assert all(sum(map(len, metrics([json.loads(line)]).values())) < 2_200 for line in lines)


def test_scale_of_the_specification():
    # Example of the OpenTelemetry metrics data model: at scale 3 the base is 2^(1/8) = 1.09051. The values cover 20
    # octaves, which need 20 x 8 = 160 buckets. Scale 4 would need more than the 160 buckets that are allowed.
    values = np.array([1.0 + 1e-9, 2.0**20])
    scale, offset, counts = buckets(values, np.array([1, 2]))
    assert (scale, offset, len(counts)) == (3, 0, 160)
    assert (counts[0], counts[-1], counts.sum()) == (1, 2, 3)


@given(
    st.lists(st.tuples(st.floats(1e-9, 4e3), st.integers(1, 10**9)), min_size=1, max_size=60, unique_by=lambda t: t[0])
)
def test_every_value_is_in_one_of_at_most_160_buckets(pairs):
    pairs.sort()
    values, counts = np.array([value for value, _ in pairs]), np.array([count for _, count in pairs])
    scale, offset, found = buckets(values, counts)
    assert len(found) <= 160
    assert found.sum() == counts.sum()
    base = 2.0 ** (2.0**-scale)
    for value in values:
        inside = [
            place
            for place in np.flatnonzero(found)
            if base ** (offset + place) * (1 - 1e-9) <= value <= base ** (offset + place + 1) * (1 + 1e-9)
        ]
        assert inside


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with listening() as found:
        yield found


@pytest.fixture
def send(towtank, results, receiver):
    def run(*more: object) -> Any:
        return towtank("export", results, "--to", "otlp", "--run", "r004", "--endpoint", receiver.url, *more)

    return run


@pytest.mark.parametrize("path", ["", "/", "/v1/metrics", "/v1/metrics/"])
def test_every_line_of_the_file_is_sent(towtank, results, receiver, path):
    answer = towtank(
        "export", results, "--to", "otlp", "--endpoint", receiver.url + path, "--header", "X-Key: a b", "--json"
    )
    assert answer.status == 0
    lines = (results / "exports" / "metrics.otlp.jsonl").read_bytes().splitlines()
    assert [body for _, _, body in receiver.requests] == lines
    assert {place for place, _, _ in receiver.requests} == {"/v1/metrics"}
    headers = receiver.requests[0][1]
    assert (headers["Content-Type"], headers["X-Key"]) == ("application/json", "a b")
    assert json.loads(answer.out)["requests_sent"] == len(lines)
    assert json.loads(answer.out)["endpoint"] == f"{receiver.url}/v1/metrics"


def test_path_below_another_is_kept(towtank, results, receiver):
    assert towtank("export", results, "--to", "otlp", "--run", "r004", "--endpoint", f"{receiver.url}/otlp").status == 0
    assert {place for place, _, _ in receiver.requests} == {"/otlp/v1/metrics"}


def test_request_is_repeated_when_the_receiver_is_busy(send, receiver):
    receiver.answers = [(503, {"Retry-After": "0"}, b""), (429, {"Retry-After": "0"}, b"")]
    assert send().status == 0
    assert len({body for _, _, body in receiver.requests}) == 1
    assert len(receiver.requests) == 3


def test_pauses_grow_and_end(receiver):
    receiver.answers = [(503, {}, b"")] * 3 + [(503, {"Retry-After": "7200"}, b'{"message": "full\\u001b[31m"}')]
    pauses: list[float] = []
    with pytest.raises(TargetError, match=r"status 503: full\[31m$"):
        otlp_sending.send([b"{}"], receiver.url, pause=pauses.append)
    assert pauses == [1.0, 2.0, 4.0]
    receiver.answers = [(503, {"Retry-After": "7200"}, b"")]
    assert otlp_sending.send([b"{}"], receiver.url, pause=pauses.append) == 1
    assert pauses[3:] == [30.0]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((400, {}, b'{"code": 3, "message": "bad point"}'), "refused the metrics with status 400: bad point"),
        ((404, {}, b"\xff\xfe"), "refused the metrics with status 404"),
        ((302, {"Location": "/elsewhere"}, b""), "refused the metrics with status 302"),
        (
            (200, {}, b'{"partialSuccess": {"rejectedDataPoints": "5", "errorMessage": "too old"}}'),
            "accepted only part of the metrics: 5 data points dropped: too old",
        ),
    ],
)
def test_refusals_are_reported_and_the_file_is_kept(send, results, receiver, answer, message):
    receiver.answers = [answer]
    said = send()
    assert said.status == 6
    assert message in said.err
    assert len(receiver.requests) == 1
    assert (results / "exports" / "metrics.otlp.jsonl").is_file()


def test_warning_of_a_receiver_that_took_everything_is_no_fault(send, receiver):
    receiver.answers = [(200, {}, b'{"partialSuccess": {"rejectedDataPoints": "0", "errorMessage": "mind"}}')]
    assert send().status == 0


def test_an_unreachable_receiver_is_reported(towtank, results):
    with nobody() as url:
        answer = towtank("export", results, "--to", "otlp", "--run", "r004", "--endpoint", url)
    assert answer.status == 6
    assert f"{url}/v1/metrics could not be reached" in answer.err
    assert "the file has been written and can be sent again" in answer.err


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:4318",
        "ftp://localhost",
        "http://",
        "http://user:secret@localhost",
        "http://h:99999",
        "http://h/?a=b",
        "http://h/a b",
        "http://h/\r\nX: y",
        "http://[::1",
    ],
)
def test_what_is_no_endpoint_is_refused(towtank, results, url):
    answer = towtank("export", results, "--to", "otlp", "--endpoint", url)
    assert answer.status == 2
    assert "--endpoint: must be a URL such as http://127.0.0.1:4318" in answer.err
    assert not (results / "exports").exists()


@pytest.mark.parametrize("header", ["Two words: x", "X-Key: λ", "X-Key: a\x1bb", "X\u00e9: a"])
def test_what_is_no_header_is_refused(send, receiver, header):
    answer = send("--header", header)
    assert answer.status == 2
    assert "--header: must be a valid HTTP header" in answer.err
    assert receiver.requests == []


def test_options_of_sending_need_each_other(towtank, results, tmp_path):
    answer = towtank("export", results, "--to", "csv", "--endpoint", "http://localhost", "--header", "A: b")
    assert (answer.status, answer.err.count("must be given with --to otlp only")) == (2, 2)
    answer = towtank("export", results, "--to", "otlp", "--header", "A: b")
    assert answer.status == 2
    assert "--header: must be given together with --endpoint" in answer.err
    answer = towtank("export", results, "--to", "otlp", "--endpoint", "http://localhost", "--out", "-")
    assert answer.status == 2
    assert not Path(results / "exports").exists()


def test_endpoint_outside_of_private_networks_needs_leave(towtank, results):
    sent = ("export", results, "--to", "otlp", "--run", "r004", "--endpoint", "http://203.0.113.9:4318")
    answer = towtank(*sent)
    assert answer.status == 2
    assert "add --i-may-send 203.0.113.9" in answer.err
    assert otlp_sending.place("http://203.0.113.9:4318", ["203.0.113.9"]) == ("203.0.113.9",)


def test_what_is_sent_goes_to_the_number_that_was_checked(towtank, results, receiver, monkeypatch):
    url = receiver.url.replace("127.0.0.1", "collector.test")
    real = targets.socket.getaddrinfo
    answers = iter(["127.0.0.1", "203.0.113.9"])

    def find(host, port, *more, **options):
        return real(next(answers) if host == "collector.test" else host, port, *more, **options)

    monkeypatch.setattr(targets.socket, "getaddrinfo", find)
    assert towtank("export", results, "--to", "otlp", "--run", "r004", "--endpoint", url).status == 0
    assert receiver.requests
