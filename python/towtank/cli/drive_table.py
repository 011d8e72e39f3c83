"""Renders the output of `towtank drive` as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from towtank.analysis import Diagnosis, DoubtLevel, Estimate, estimate_of, relaxed_words
from towtank.digging import dig
from towtank.estimates import column_texts, few_digits, number_estimate
from towtank.report import failure_lines
from towtank.terminal import visible
from towtank.verdict_words import verdict_words

_HEADS = {DoubtLevel.INVALID: "not valid", DoubtLevel.SUSPECT: "suspect", DoubtLevel.NOTE: "note"}
# Kinds of failures whose response times are counted: a response arrived, or the engine waited until the timeout.
_WITH_RESPONSE_TIME = ("timeout", "status_4xx", "status_5xx", "status_other", "check", "extract", "refused")
_REASONS = (("no connection", "connect_failures"), ("no whole answer", "broken_answers"), ("not sent", "unsendable"))
_PERCENTILES = ("mean", "p50", "p90", "p95", "p99", "p99.9", "max")
_OF_TRANSACTIONS = ("mean", "p50", "p95", "p99")
_EXCHANGES_AT_MOST = 3  # failed exchanges that are printed [1]
_DOUBTS_AT_MOST = 3  # Largest number of printed doubts; the JSON document contains all doubts. [1]


def drive_table(document: dict[str, Any]) -> list[RenderableType]:
    """Render the result of a measurement: throughput, response times, errors, resource use of the load generator,
    verdict.
    """
    return [
        _headline(document),
        _times(document),
        *_transactions(document),
        *_statuses(document),
        *_errors(document),
        *_connections(document),
        _generator(document),
        *_diagnosis(document),
        *_verdict(document),
    ]


def _headline(document: dict[str, Any]) -> str:
    throughput = _throughput(document["throughput_per_s"], estimate_of(document, "estimates", "throughput_per_s"))
    counts = f"{document['requests']:,} requests, {document['errors']:,} errors"
    if document.get("in_flight"):
        counts += f", {document['in_flight']:,} in flight at the end"
    later = {kind: count for kind, count in (document.get("failed_later") or {}).items() if count}
    if later:
        counts += "; failed after the window: " + ", ".join(f"{kind} {count:,}" for kind, count in later.items())
    seconds = document.get("measured_s") or document["window_s"]
    return f"{document['target']}: {throughput} over {seconds:g} s ({counts})"


def _throughput(rate: float | None, known: Estimate) -> str:
    if rate is None:
        return "no throughput"
    if known.low is None or known.high is None:
        return f"{few_digits(rate)} requests/s"
    return number_estimate(rate, known.low, known.high, "requests/s")


def _times(document: dict[str, Any]) -> Table:
    """Render response times and exchange times, with their confidence intervals in further rows. Without an interval, a
    time has three digits.
    """
    table = Table("time, ms", *_PERCENTILES)
    for title in ("response", "exchange"):
        times, known = document.get(f"{title}_time_ms") or {}, document["estimates"][f"{title}_time_s"]
        columns = [_time(times.get(name), estimate_of(known, name)) for name in _PERCENTILES]
        table.add_row(title, *(value for value, _, _ in columns))
        if any(low for _, low, _ in columns):
            table.add_row("  95 % from", *(low or "-" for _, low, _ in columns))
            table.add_row("  to", *(high or "-" for _, _, high in columns))
    return table


def _time(value_ms: float | None, known: Estimate) -> tuple[str, str, str]:
    """Render a time and the two ends of its confidence interval; the ends are empty if the interval is unknown."""
    if value_ms is None or known.low is None or known.high is None:
        return _number(value_ms), "", ""
    return column_texts(value_ms, 1e3 * known.low, 1e3 * known.high, "ms")


def _number(value: float | None) -> str:
    return "-" if value is None else few_digits(value)


def _transactions(document: Mapping[str, Any]) -> list[Table]:
    """Render a row for each transaction; empty for a measurement of a single request."""
    found = dig(document, "transactions") or {}
    if len(found) < 2:
        return []
    titles = ("count", "1/s", *(f"{name}, ms" for name in _OF_TRANSACTIONS), "errors")
    table = Table("transaction", *titles, box=None, pad_edge=False)
    for name, each in found.items():
        times = (_number(dig(each, "response_time_ms", statistic)) for statistic in _OF_TRANSACTIONS)
        count, errors = (f"{dig(each, key):,}" for key in ("count", "errors"))
        table.add_row(visible(name), count, _number(dig(each, "throughput_per_s")), *times, errors)
    for column in table.columns[1:]:
        column.justify = "right"
    return [table]


def _statuses(document: dict[str, Any]) -> list[str]:
    """Render the number of responses by HTTP status code; empty if there are no HTTP responses."""
    counts = document.get("status_codes", {})
    if counts is None:
        return ["status codes: not recorded"]
    return ["status codes: " + ", ".join(f"{code}: {count:,}" for code, count in counts.items())] if counts else []


def _errors(document: dict[str, Any]) -> list[str]:
    kinds = {kind: count for kind, count in document.get("errors_by_kind", {}).items() if count}
    lines = ["errors: " + ", ".join(f"{kind} {count:,}" for kind, count in kinds.items())] if kinds else []
    if among := sum(kinds.get(kind, 0) for kind in _WITH_RESPONSE_TIME):
        lines.append(f"the times above include {among:,} failed requests")
    overflow = document.get("not_started", {}).get("overflow", 0)
    lines += (
        [f"not started because all users were busy and the backlog was full: {overflow:,} arrivals"] if overflow else []
    )
    for title, key in _REASONS:
        reasons = document.get(key) or {}
        lines += [f"{title}, {count:,} times: {reason}" for reason, count in reasons.items()]
    return [*lines, *failure_lines(document, _EXCHANGES_AT_MOST, "in the output of --json")]


def _connections(document: dict[str, Any]) -> list[str]:
    """Render the times to open connections, and the waiting times of requests for a free connection, if recorded."""
    found = document.get("connections") or {}
    parts = []
    for title, times in (("connect", found.get("connect_time_s")), ("TLS handshake", found.get("tls_time_s"))):
        if times:
            parts.append(f"{title} mean {_millis(times['mean'])}, p99 {_millis(times['p99'])}")
    lines = [f"connections: {found['opened_in_run']:,} opened; " + "; ".join(parts)] if parts else []
    waits = found.get("wait_time_s")
    if waits and waits["waited"]:
        lines.append(
            f"waited for a connection of the pool: {100 * waits['share_waited']:.3g} % of the requests, mean "
            f"{_millis(waits['mean'])}, p99 {_millis(waits['p99'])}"
        )
    return lines


def _millis(value: float) -> str:
    return f"{1e3 * value:,.3g} ms"


def _generator(document: dict[str, Any]) -> str:
    used = document["generator"]
    lag = used.get("start_lag_ms_p99")
    each = few_digits(used.get("cpu_us_per_request") or 0.0)
    return (
        f"generator: {used.get('cpu_s') or 0.0:.2f} s CPU, {each} µs per request, start lag p99 {_number(lag)} ms, "
        f"{(used.get('peak_rss_bytes') or 0) / 2**20:.0f} MiB"
    )


def _diagnosis(document: Mapping[str, Any]) -> list[str]:
    """Render the diagnosis of the target; empty if the document is from a version of Towtank without diagnoses."""
    found = document.get("diagnosis")
    return [] if found is None else [visible(line) for line in Diagnosis.read(found).lines]


def _verdict(document: dict[str, Any]) -> list[str]:
    """Render the verdict on the measurement, up to three doubts with advice, the most serious first, and the checks
    that could not be made.
    """
    order = list(_HEADS)
    doubts = sorted(map(_Doubt.read, document["doubts"]), key=lambda doubt: order.index(doubt.level))
    missing = ", ".join(entry["check"].replace("_", " ") for entry in document["not_checked"])
    lines = [line for doubt in doubts[:_DOUBTS_AT_MOST] for line in doubt.lines]
    if len(doubts) > _DOUBTS_AT_MOST:
        lines.append(f"further doubts and notes: {len(doubts) - _DOUBTS_AT_MOST} (in the output of --json)")
    unchecked = [f"not checked: {missing} (reasons in the output of --json)"] if missing else []
    relaxed = relaxed_words(dig(document, "relaxed_limits") or ())
    is_valid = document["valid"] and all(doubt.level == DoubtLevel.NOTE for doubt in doubts)
    verdict = (
        ["; ".join([verdict_words("valid", relaxed=relaxed), *([relaxed] if relaxed else [])])] if is_valid else []
    )
    return [*verdict, *lines, *([relaxed] if relaxed and not is_valid else []), *unchecked]


@dataclass(frozen=True)
class _Doubt:
    """Doubt about a measurement with the first step of its advice."""

    level: DoubtLevel
    message: str
    step: str

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> _Doubt:
        level, message, hint = (str(document.get(key) or "") for key in ("level", "message", "hint"))
        return cls(DoubtLevel(level), message, hint.partition("; ")[0])

    @property
    def lines(self) -> list[str]:
        return [f"{_HEADS[self.level]}: {self.message}", *([f"  do: {self.step}"] if self.step else [])]
