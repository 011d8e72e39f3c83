"""`otlp`: OpenTelemetry metrics, second by second, as JSON lines; also sent over HTTP where asked.

Every line is one whole `ExportMetricsServiceRequest` in the JSON encoding of OTLP: what a collector reads from a
file, and what it takes as the body of a request to `/v1/metrics`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from towtank.errors import Fault
from towtank.results.exports import otlp_points, otlp_sending
from towtank.results.exports.format import File, Format, Options
from towtank.results.exports.material import HistogramReader, Material, RunMaterial
from towtank.results.exports.otlp_points import Span
from towtank.results.exports.seconds import Item, Second, seconds

# About 2 MiB of JSON; collectors take 20 MiB at most as they come, other receivers 4 MiB.
_POINTS_AT_MOST = 2_000


def _files(material: Material) -> list[File]:
    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            for run in material.runs:
                for document in documents(material, run):
                    json.dump(document, stream, separators=(",", ":"), ensure_ascii=False)
                    stream.write("\n")

    return [File("metrics.otlp.jsonl", write)]


def documents(material: Material, run: RunMaterial) -> Iterator[dict[str, Any]]:
    """The requests of one run, each with a bounded number of data points."""
    recording = run.recording()
    wall_ns = run.wall_ns(recording) or 0
    host = ((recording.header or {}).get("host") or {}).get("name") or run.manifest.get("host")
    resource = {
        "service.name": "towtank",
        "service.version": material.version,
        "towtank.study": material.study,
        "towtank.run": run.name,
        **({"host.name": host} if isinstance(host, str) else {}),
        **{f"towtank.factor.{name}": level for name, level in run.factors.items()},
    }
    batch: dict[str, list[dict[str, Any]]] = {}
    for second in seconds(recording):
        for metric, point in _points(second, wall_ns, material.histograms):
            batch.setdefault(metric, []).append(point)
        if sum(map(len, batch.values())) >= _POINTS_AT_MOST:
            yield otlp_points.request(resource, material.version, batch)
            batch = {}
    if batch:
        yield otlp_points.request(resource, material.version, batch)


def _points(second: Second, wall_ns: int, histograms: HistogramReader) -> Iterator[tuple[str, dict[str, Any]]]:
    """All data points of a second, each with the name of its metric."""
    span = Span(wall_ns + round(second.start_s * 1e9), wall_ns + round(second.end_s * 1e9))
    phase = {"towtank.phase": second.phase}
    yield "towtank.users", otlp_points.gauge(span, phase, second.users)
    yield "towtank.requests.in_flight", otlp_points.gauge(span, phase, float(second.in_flight))
    if lag := histograms.merged(second.lag):
        yield "towtank.start_lag", otlp_points.histogram(span, phase, lag, None)
    for item in second.of("transaction"):
        about = {**phase, "towtank.transaction": item.name}
        yield from _ended("towtank.transaction", span, about, item)
        if merged := histograms.merged(item.response):
            point = otlp_points.histogram(span, about, merged, item.response_sum_s)
            yield "towtank.transaction.response_time", point
    for item in second.of("step"):
        yield from _request(span, {**phase, "towtank.step": item.name}, item, histograms)


def _request(
    span: Span, about: Mapping[str, str], item: Item, histograms: HistogramReader
) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from _ended("towtank.request", span, about, item)
    for name, encoded, total in (
        ("response_time", item.response, item.response_sum_s),
        ("exchange_time", item.exchange, item.exchange_sum_s),
    ):
        if merged := histograms.merged(encoded):
            yield f"towtank.request.{name}", otlp_points.histogram(span, about, merged, total)
    for direction, count in (("transmit", item.bytes_out), ("receive", item.bytes_in)):
        if count:
            yield "towtank.request.io", otlp_points.count(span, {**about, "network.io.direction": direction}, count)


def _ended(prefix: str, span: Span, about: Mapping[str, str], item: Item) -> Iterator[tuple[str, dict[str, Any]]]:
    for outcome, count in {"ok": item.ok, **item.failed}.items():
        if count:
            yield f"{prefix}.ended", otlp_points.count(span, {**about, "towtank.outcome": outcome}, count)


def _check(options: Options) -> list[Fault]:
    return otlp_sending.faults(options)


def _deliver(paths: Sequence[Path], options: Options) -> Mapping[str, object]:
    if options.endpoint is None:
        return {}
    with paths[0].open("rb") as stream:
        sent = otlp_sending.send((line.rstrip(b"\n") for line in stream), options.endpoint, options.headers)
    return {"endpoint": otlp_sending.address(options.endpoint), "requests_sent": sent}


FORMAT = Format(
    "otlp",
    "OpenTelemetry metrics of every second, with exponential histograms",
    _files,
    needs_records=True,
    check=_check,
    deliver=_deliver,
)
