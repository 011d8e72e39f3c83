"""Exports OpenTelemetry metrics for each second as JSON lines, and can send them over HTTP.

Every line is one complete `ExportMetricsServiceRequest` in the JSON encoding of OTLP. A collector can read the line
from a file, or receive it as the body of a request to `/v1/metrics`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from towtank.results.exports import otlp_points, otlp_sending
from towtank.results.exports.format import ExportFile, ExportFormat, ExportOptions
from towtank.results.exports.material import Material, RunMaterial
from towtank.results.exports.otlp_seconds import otlp_points_of, otlp_resource_of
from towtank.results.exports.seconds import seconds

# Largest number of data points per request, which takes about 2 MiB of JSON. Collectors accept 20 MiB by default, other
# receivers 4 MiB. [1]
_POINTS_AT_MOST = 2_000


def _files(material: Material) -> list[ExportFile]:
    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            for run in material.runs:
                for document in documents(material, run):
                    # `json.dumps` has a fast encoder in C, which `json.dump` does not use.
                    stream.write(json.dumps(document, separators=(",", ":"), ensure_ascii=False) + "\n")

    return [ExportFile("metrics.otlp.jsonl", write)]


def documents(material: Material, run: RunMaterial) -> Iterator[Mapping[str, object]]:
    """Yield the export requests (`ExportMetricsServiceRequest`) of one run, each with a limited number of data
    points.
    """
    recording = run.recording()
    wall_ns = run.wall_ns(recording) or 0
    resource = otlp_resource_of(material.version, material.study, run.name, run.factors)
    batch: dict[str, list[Mapping[str, object]]] = {}
    for second in seconds(recording):
        for metric, point in otlp_points_of(second, wall_ns, material.histograms, {"towtank.phase": second.phase}):
            batch.setdefault(metric, []).append(point)
        if sum(map(len, batch.values())) >= _POINTS_AT_MOST:
            yield otlp_points.otlp_request(resource, material.version, batch)
            batch = {}
    if batch:
        yield otlp_points.otlp_request(resource, material.version, batch)


def _deliver(paths: Sequence[Path], options: ExportOptions) -> Mapping[str, object]:
    if options.endpoint is None:
        return {}
    with paths[0].open("rb") as stream:
        sent = otlp_sending.send(
            (line.rstrip(b"\n") for line in stream), options.endpoint, options.headers, allowed=options.allowed
        )
    return {"endpoint": otlp_sending.otlp_address(options.endpoint), "requests_sent": sent}


FORMAT = ExportFormat(
    "otlp",
    "OpenTelemetry metrics of every second, with exponential histograms",
    _files,
    needs_records=True,
    check=otlp_sending.faults,
    deliver=_deliver,
)
