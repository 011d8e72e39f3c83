"""Renders the output of `towtank drive` as text."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import RenderableType
from rich.table import Table

from towtank.analysis import Diagnosis, DoubtLevel, Estimate, estimate_of, relaxed_words
from towtank.conduct import DriveDoubt, DriveGenerator, DriveResult
from towtank.estimates import column_texts, few_digits, number_estimate
from towtank.report import failure_lines
from towtank.terminal import visible
from towtank.verdict_words import verdict_words

_HEADS = {DoubtLevel.INVALID: "not valid", DoubtLevel.SUSPECT: "suspect", DoubtLevel.NOTE: "note"}
# Kinds of failures whose response times are counted: a response arrived, or the engine waited until the timeout.
_WITH_RESPONSE_TIME = ("timeout", "status_4xx", "status_5xx", "status_other", "check", "extract", "refused")
_PERCENTILES = ("mean", "p50", "p90", "p95", "p99", "p99.9", "max")
_OF_TRANSACTIONS = ("mean", "p50", "p95", "p99")
_EXCHANGES_AT_MOST = 3  # failed exchanges that are printed [1]
_DOUBTS_AT_MOST = 3  # Largest number of printed doubts; the JSON document contains all doubts. [1]


def drive_table(document: Mapping[str, object]) -> list[RenderableType]:
    """Render the result of a measurement: throughput, response times, errors, resource use of the load generator,
    verdict.
    """
    result = DriveResult.model_validate(document)
    return [
        _headline(result),
        _times(result),
        *_transactions(result),
        *_statuses(result),
        *_errors(result),
        *failure_lines(document, _EXCHANGES_AT_MOST, "in the output of --json"),
        *_connections(result),
        _generator(result.generator),
        *([] if result.diagnosis is None else map(visible, Diagnosis.read(result.diagnosis).lines)),
        *_verdict(result),
    ]


def _headline(result: DriveResult) -> str:
    known = estimate_of(result.estimates.throughput_per_s)
    counts = f"{result.requests:,} requests, {result.errors:,} errors"
    if result.in_flight:
        counts += f", {result.in_flight:,} in flight at the end"
    later = {kind: count for kind, count in (result.failed_later or {}).items() if count}
    if later:
        counts += "; failed after the window: " + ", ".join(f"{kind} {count:,}" for kind, count in later.items())
    seconds = result.measured_s or result.window_s
    return f"{result.target}: {_throughput(result.throughput_per_s, known)} over {seconds:g} s ({counts})"


def _throughput(rate: float | None, known: Estimate) -> str:
    if rate is None:
        return "no throughput"
    if known.low is None or known.high is None:
        return f"{few_digits(rate)} requests/s"
    return number_estimate(rate, known.low, known.high, "requests/s")


def _times(result: DriveResult) -> Table:
    """Render response times and exchange times, with their confidence intervals in further rows. Without an interval, a
    time has three digits.
    """
    table, known = Table("time, ms", *_PERCENTILES), result.estimates
    for title, times, estimates in (
        ("response", result.response_time_ms, known.response_time_s),
        ("exchange", result.exchange_time_ms, known.exchange_time_s),
    ):
        columns = [_time((times or {}).get(name), estimate_of(estimates, name)) for name in _PERCENTILES]
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


def _transactions(result: DriveResult) -> list[Table]:
    """Render a row for each transaction; empty for a measurement of a single request."""
    if len(result.transactions) < 2:
        return []
    titles = ("count", "1/s", *(f"{name}, ms" for name in _OF_TRANSACTIONS), "errors")
    table = Table("transaction", *titles, box=None, pad_edge=False)
    for name, each in result.transactions.items():
        times = (_number(each.response_time_ms.get(statistic)) for statistic in _OF_TRANSACTIONS)
        table.add_row(visible(name), f"{each.count:,}", _number(each.throughput_per_s), *times, f"{each.errors:,}")
    for column in table.columns[1:]:
        column.justify = "right"
    return [table]


def _statuses(result: DriveResult) -> list[str]:
    """Render the number of responses by HTTP status code; empty if there are no HTTP responses."""
    counts = result.status_codes
    if counts is None:
        return ["status codes: not recorded"]
    return ["status codes: " + ", ".join(f"{code}: {count:,}" for code, count in counts.items())] if counts else []


def _errors(result: DriveResult) -> list[str]:
    kinds = {kind: count for kind, count in result.errors_by_kind.items() if count}
    lines = ["errors: " + ", ".join(f"{kind} {count:,}" for kind, count in kinds.items())] if kinds else []
    if among := sum(kinds.get(kind, 0) for kind in _WITH_RESPONSE_TIME):
        lines.append(f"the times above include {among:,} failed requests")
    if overflow := result.not_started.get("overflow", 0):
        lines.append(f"not started because all users were busy and the backlog was full: {overflow:,} arrivals")
    for title, reasons in (
        ("no connection", result.connect_failures),
        ("no whole answer", result.broken_answers),
        ("not sent", result.unsendable),
    ):
        lines += [f"{title}, {count:,} times: {reason}" for reason, count in (reasons or {}).items()]
    return lines


def _connections(result: DriveResult) -> list[str]:
    """Render the times to open connections, and the waiting times of requests for a free connection, if recorded."""
    found = result.connections
    if found is None:
        return []
    opening = (("connect", found.connect_time_s), ("TLS handshake", found.tls_time_s))
    parts = [f"{title} {_mean_and_p99(times.mean, times.p99)}" for title, times in opening if times]
    lines = [f"connections: {found.opened_in_run:,} opened; " + "; ".join(parts)] if parts else []
    waits = found.wait_time_s
    if waits and waits.mean is not None and waits.p99 is not None:
        share = f"{100 * waits.share_waited:.3g} % of the requests"
        lines.append(f"waited for a connection of the pool: {share}, {_mean_and_p99(waits.mean, waits.p99)}")
    return lines


def _mean_and_p99(mean: float, p99: float) -> str:
    return f"mean {1e3 * mean:,.3g} ms, p99 {1e3 * p99:,.3g} ms"


def _generator(used: DriveGenerator) -> str:
    each = few_digits(used.cpu_us_per_request or 0.0)
    return (
        f"generator: {used.cpu_s or 0.0:.2f} s CPU, {each} µs per request, start lag p99 "
        f"{_number(used.start_lag_ms_p99)} ms, {(used.peak_rss_bytes or 0) / 2**20:.0f} MiB"
    )


def _verdict(result: DriveResult) -> list[str]:
    """Render the verdict on the measurement, up to three doubts with advice, the most serious first, and the checks
    that could not be made.
    """
    order = list(_HEADS)
    doubts = sorted(result.doubts, key=lambda doubt: order.index(doubt.level))
    missing = ", ".join(entry.check.replace("_", " ") for entry in result.not_checked)
    lines = [line for doubt in doubts[:_DOUBTS_AT_MOST] for line in _doubt(doubt)]
    if len(doubts) > _DOUBTS_AT_MOST:
        lines.append(f"further doubts and notes: {len(doubts) - _DOUBTS_AT_MOST} (in the output of --json)")
    unchecked = [f"not checked: {missing} (reasons in the output of --json)"] if missing else []
    relaxed = relaxed_words(result.relaxed_limits)
    is_valid = result.valid and all(doubt.level == DoubtLevel.NOTE for doubt in doubts)
    verdict = (
        ["; ".join([verdict_words("valid", relaxed=relaxed), *([relaxed] if relaxed else [])])] if is_valid else []
    )
    return [*verdict, *lines, *([relaxed] if relaxed and not is_valid else []), *unchecked]


def _doubt(doubt: DriveDoubt) -> list[str]:
    """Render a doubt and the first step of its advice."""
    step = (doubt.hint or "").partition("; ")[0]
    return [f"{_HEADS[doubt.level]}: {doubt.message}", *([f"  do: {step}"] if step else [])]
