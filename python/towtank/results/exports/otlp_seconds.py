"""Creates the OTLP data points of one second of a run. The run may be in progress or complete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from towtank.results.exports import otlp_points
from towtank.results.exports.material import HistogramReader
from towtank.results.exports.otlp_points import PointSpan
from towtank.results.exports.seconds import RecordedSecond, SecondItem

Labels = Mapping[str, str]
Point = tuple[str, Mapping[str, object]]


def otlp_resource_of(version: str, study: str, run: str, factors: Labels) -> dict[str, str]:
    """Return the attributes of the OTLP resource: program, study, run and factor levels."""
    return {
        "service.name": "towtank",
        "service.version": version,
        "towtank.study": study,
        "towtank.run": run,
        **{f"towtank.factor.{name}": level for name, level in factors.items()},
    }


def otlp_points_of(
    second: RecordedSecond, wall_ns: int, histograms: HistogramReader, about_all: Labels
) -> Iterator[Point]:
    """Yield the OTLP data points of a second, each with the name of its metric and with the attributes `about_all`. The
    run started at `wall_ns`. [ns since 1970]
    """
    span = PointSpan(wall_ns + round(second.start_s * 1e9), wall_ns + round(second.end_s * 1e9))
    yield "towtank.users", otlp_points.otlp_gauge(span, about_all, second.users)
    yield "towtank.requests.in_flight", otlp_points.otlp_gauge(span, about_all, float(second.in_flight))
    for name, encoded in (("start_lag", second.lag), ("connection_wait", second.connection_wait)):
        if merged := histograms.merged(encoded):
            yield f"towtank.{name}", otlp_points.histogram(span, about_all, merged, None)
    for item in second.of("transaction"):
        about = {**about_all, "towtank.transaction": item.name}
        yield from _ended("towtank.transaction", span, about, item)
        if merged := histograms.merged(item.response):
            point = otlp_points.histogram(span, about, merged, item.response_sum_s)
            yield "towtank.transaction.response_time", point
    for item in second.of("step"):
        yield from _request(span, {**about_all, "towtank.step": item.name}, item, histograms)


def _request(span: PointSpan, about: Labels, item: SecondItem, histograms: HistogramReader) -> Iterator[Point]:
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


def _ended(prefix: str, span: PointSpan, about: Labels, item: SecondItem) -> Iterator[Point]:
    for outcome, count in {"ok": item.ok, **item.failed}.items():
        if count:
            yield f"{prefix}.ended", otlp_points.count(span, {**about, "towtank.outcome": outcome}, count)
