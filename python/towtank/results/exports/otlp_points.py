"""Creates data points of OTLP metrics in JSON, with 64-bit integers as text and enumerations as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from towtank.results.exports.material import DecodedHistogram

Part = Mapping[str, object]
"""Part of a message of OTLP in JSON."""

_DELTA = 1  # AGGREGATION_TEMPORALITY_DELTA
# Largest number of buckets of an exponential histogram, as in the OpenTelemetry SDKs; and the finest scale, which is
# the finest that Prometheus stores. At scale 8, buckets are 0.27 % wide. [1]
_BUCKETS_AT_MOST = 160
_FINEST_SCALE = 8

# Data type, unit and description of each exported metric.
_METRICS = {
    "towtank.users": ("gauge", "{user}", "Mean number of active virtual users"),
    "towtank.requests.in_flight": ("gauge", "{request}", "Requests without a response at the end of the interval"),
    "towtank.connections": ("gauge", "{connection}", "Open connections at the end of the interval"),
    "towtank.generator.cpus_used": ("gauge", "{cpu}", "Number of CPUs that the load threads used"),
    "towtank.tier.cpus_used": ("gauge", "{cpu}", "Number of CPUs that a tier used"),
    "towtank.connection_wait": (
        "exponentialHistogram",
        "s",
        "Time that a request waited for a pooled connection, 0 if a connection was free",
    ),
    "towtank.start_lag": ("exponentialHistogram", "s", "Actual minus planned start of requests"),
    "towtank.transaction.ended": ("sum", "{transaction}", "Transactions that ended, by outcome"),
    "towtank.transaction.response_time": ("exponentialHistogram", "s", "End minus planned start, without pauses"),
    "towtank.request.ended": ("sum", "{request}", "Requests that ended, by outcome"),
    "towtank.request.response_time": ("exponentialHistogram", "s", "End minus planned start"),
    "towtank.request.exchange_time": ("exponentialHistogram", "s", "End minus actual start"),
    "towtank.request.io": ("sum", "By", "Bytes sent and received"),
}


@dataclass(frozen=True)
class PointSpan:
    """Time range of a data point. [ns since 1970]"""

    start_ns: int
    end_ns: int


def otlp_request(resource: Mapping[str, str], version: str, points: Mapping[str, Sequence[Part]]) -> Part:
    """Return one `ExportMetricsServiceRequest` with data points."""
    metrics = []
    for name, (form, unit, meaning) in _METRICS.items():
        if not points.get(name):
            continue
        data: dict[str, object] = {"dataPoints": list(points[name])}
        if form != "gauge":
            data["aggregationTemporality"] = _DELTA
        if form == "sum":
            data["isMonotonic"] = True
        metrics.append({"name": name, "description": meaning, "unit": unit, form: data})
    scope = {"scope": {"name": "towtank.export", "version": version}, "metrics": metrics}
    return {"resourceMetrics": [{"resource": {"attributes": _attributes(resource)}, "scopeMetrics": [scope]}]}


def _attributes(values: Mapping[str, str]) -> list[Part]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]


def _point(span: PointSpan, attributes: Mapping[str, str]) -> Part:
    return {
        "attributes": _attributes(attributes),
        "startTimeUnixNano": str(span.start_ns),
        "timeUnixNano": str(span.end_ns),
    }


def otlp_gauge(span: PointSpan, attributes: Mapping[str, str], value: float) -> Part:
    """Return a data point with the value of a gauge."""
    return {**_point(span, attributes), "asDouble": value}


def count(span: PointSpan, attributes: Mapping[str, str], value: int) -> Part:
    """Return a data point with a count over a time range."""
    return {**_point(span, attributes), "asInt": str(value)}


def histogram(span: PointSpan, attributes: Mapping[str, str], values: DecodedHistogram, sum_s: float | None) -> Part:
    """Return a data point with a histogram of times [s]. `sum_s` is the exact sum of the times; None if the sum was not
    recorded.
    """
    scale, offset, counts = buckets(values.middles_s, values.counts)
    return {
        **_point(span, attributes),
        "count": str(values.total),
        **({} if sum_s is None else {"sum": sum_s}),
        "scale": scale,
        "zeroCount": "0",
        "positive": {"offset": offset, "bucketCounts": [str(number) for number in counts.tolist()]},
        "min": values.minimum_s,
        "max": values.maximum_s,
    }


def buckets(values: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> tuple[int, int, npt.NDArray[np.int64]]:
    """Return the exponential histogram of the given values.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Values in ascending order, > 0. [s]
    counts : ndarray of shape (n_values,)
        Number of occurrences of each value. [1]

    Returns
    -------
    scale : int
        Finest scale, at most 8, at which 160 buckets suffice.
    offset : int
        Index of the first bucket.
    counts : ndarray of shape (n_buckets,)
        Number of values in each bucket, from the offset on. [1]

    Notes
    -----
    Bucket i holds base^i < v <= base^(i+1) with base = 2^(2^-scale) [1]_, so i = ceil(2^scale log2 v) - 1.
    The base bounds the relative error of a value: 0.27 % at scale 8, 4.4 % at scale 4.

    References
    ----------
    .. [1] OpenTelemetry, *Metrics Data Model*, section "ExponentialHistogram",
           https://opentelemetry.io/docs/specs/otel/metrics/data-model/#exponentialhistogram

    Examples
    --------
    >>> scale, offset, found = buckets(np.array([1.0, 2.0]), np.array([3, 4]))
    >>> scale, offset, int(found[0]), int(found[-1]), len(found)
    (7, -1, 3, 4, 129)
    """
    exponents = np.log2(values)
    scale = _FINEST_SCALE
    while True:
        indices = np.ceil(exponents * 2.0**scale).astype(np.int64) - 1
        offset = int(indices[0])
        if int(indices[-1]) - offset < _BUCKETS_AT_MOST:
            return scale, offset, np.bincount(indices - offset, weights=counts).astype(np.int64)
        scale -= 1
