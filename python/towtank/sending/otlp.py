"""Encodes metrics for OTLP over HTTP, as JSON. They are the metrics of the export format `otlp`."""

from __future__ import annotations

import json
from collections.abc import Mapping

from towtank.results import HistogramReader, PointSpan, otlp_gauge, otlp_points_of, otlp_request, otlp_resource_of
from towtank.sending.update import Body, SentRun, Update
from towtank.version import __version__

HEADERS = (("Content-Type", "application/json"),)
_SECOND_NS = 1e9


class OtlpEncoder:
    """Encodes each update as one OTLP export request."""

    def __init__(self, source: SentRun, histograms: HistogramReader) -> None:
        self._histograms = histograms
        self._resource = otlp_resource_of(__version__, source.study, source.run, source.factors)

    def encode(self, update: Update) -> list[Body]:
        """Return one request with the data points of an update; an empty list if the update has none.

        Metrics of a second have delta temporality; metrics of tiers are gauges.
        """
        points: dict[str, list[Mapping[str, object]]] = {}
        for second in update.seconds:
            stage = {"towtank.stage": second.stage, "towtank.phase": second.phase}
            span = _span(update.wall_ns, second.start_s, second.end_s)
            for name, point in otlp_points_of(second, update.wall_ns, self._histograms, stage):
                points.setdefault(name, []).append(point)
            plain = {"connections": float(second.connections)}
            if second.end_s > second.start_s:
                plain["generator.cpus_used"] = second.cpu_s / (second.end_s - second.start_s)
            for name, value in plain.items():
                points.setdefault(f"towtank.{name}", []).append(otlp_gauge(span, stage, value))
        for sample in update.tiers:
            span = _span(update.wall_ns, sample.start_s, sample.end_s)
            for tier, used in sample.cpus_used.items():
                about = {"towtank.stage": sample.stage, "towtank.phase": sample.phase, "towtank.tier": tier}
                points.setdefault("towtank.tier.cpus_used", []).append(otlp_gauge(span, about, used))
        document = otlp_request(self._resource, __version__, points)
        content = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
        return [Body(content, sum(map(len, points.values())))] if points else []

    def finish(self) -> list[Body]:
        """Return an empty list: with delta temporality, no request is needed at the end."""
        return []


def _span(wall_ns: int, start_s: float, end_s: float) -> PointSpan:
    return PointSpan(wall_ns + round(start_s * _SECOND_NS), wall_ns + round(end_s * _SECOND_NS))
