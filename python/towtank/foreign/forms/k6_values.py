"""Collects values of k6's metrics: times of requests, and the number of dropped iterations."""

from __future__ import annotations

from collections.abc import Mapping

from towtank.foreign.forms.found import Found
from towtank.foreign.requests import Collector, text_of

TIMES = {
    "http_req_duration": "response times are http_req_duration, which excludes connection setup and TLS handshakes",
    "grpc_req_duration": "response times are grpc_req_duration",
    "iteration_duration": "the file has no times of requests, so each iteration counts as a request",
}
"""Metrics of k6 that contain response times, in order of preference, each with a note for the report."""
DROPPED = "dropped_iterations"
_NAMES = ("name", "group", "scenario")
METRICS = (*TIMES, DROPPED)


class Values:
    """Values of a k6 result file by metric. `best` returns the requests of the most suitable metric."""

    def __init__(self) -> None:
        self._collected = {name: Collector() for name in TIMES}
        self._dropped = 0.0

    def add(self, metric: str, end_s: float, value: float, tags: Mapping[str, object]) -> None:
        """Add a value of a metric, with the time at which the measured request ended.

        Raises
        ------
        BadRowError
            If the value is negative or not finite.
        """
        if metric == DROPPED:
            self._dropped += value
            return
        ok = text_of(tags, "expected_response").lower() != "false" and not text_of(tags, "error_code")
        name = next((found for tag in _NAMES if (found := text_of(tags, tag))), "")
        # Values of all metrics are added here, because only the caller of this method knows the line of a faulty value.
        self._collected[metric].add(end_s - value / 1e3, value / 1e3, ok, name)

    def best(self, rows: Collector) -> Found:
        """Move the requests of the most suitable metric into `rows`."""
        for metric, note in TIMES.items():
            if len(self._collected[metric]):
                rows.take(self._collected[metric])
                return Found(notes=(note,), not_sent=round(self._dropped))
        return Found(not_sent=round(self._dropped))
