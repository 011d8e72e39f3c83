"""Creates the result document of `towtank drive`, which applies one load to one target."""

from __future__ import annotations

from dataclasses import replace

from towtank.analysis.connections import connections
from towtank.analysis.diagnosis import Cause, Diagnosis, diagnose_run
from towtank.analysis.doubts import DoubtLevel
from towtank.analysis.failed_exchanges import failed_exchanges
from towtank.analysis.generator import Generator
from towtank.analysis.load import distribution, failed_by_kind, status_codes
from towtank.analysis.measurement import Floats, Mask, MeasuredColumn, Measurement
from towtank.analysis.merged_percentiles import HISTOGRAM, QUANTILES
from towtank.analysis.relaxed_limits import relaxed_limits
from towtank.analysis.run import SUMMARY, RunData, describe, inputs, read_run, study_limits
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.timed_histograms import TimedHistograms
from towtank.containment import attempt_or
from towtank.documents import document_of, plain
from towtank.results import RunFolder, write_json

SCHEMA = "towtank/drive/1"
_KINDS_ALWAYS_LISTED = ("timeout", "status_5xx", "connect", "check")


def drive_document(run: RunFolder, target: str) -> dict[str, object]:
    """Analyse the run of `towtank drive`, write its `summary.json`, and return the result document.

    Parameters
    ----------
    run : RunFolder
    target : str
        Target, as written by the user on the command line.

    Notes
    -----
    Throughput, times and verdict come from the run summary. They cover the analysed window, which excludes a transient
    at the start. Counts cover the whole planned steady stage. Throughput counts successful requests.
    """
    data = read_run(run)
    limits = study_limits(run)
    summary = replace(describe(data, run.run_id, limits), inputs=inputs(run, limits, ()))
    document = summary.document()
    write_json(run.path / SUMMARY, document)
    measurement, requests = data.measurement, data.measurement.requests
    asked, chosen, engine = data.asked, data.chosen, data.engine
    verdict, accounting, unfinished = summary.verdict, summary.accounting, summary.unfinished
    return {
        "schema": SCHEMA,
        "target": target,
        "valid": verdict.level != "invalid",
        "invalid_because": [reason["message"] for reason in verdict.reasons if reason["level"] == DoubtLevel.INVALID],
        "doubts": verdict.reasons,
        "not_checked": list(map(document_of, verdict.not_checked)),
        "relaxed_limits": relaxed_limits(limits),
        "diagnosis": attempt_or("diagnosis", Diagnosis(Cause.UNKNOWN), diagnose_run, document).document(),
        "window_s": round(measurement.length_of(asked), 9),
        "measured_s": round(measurement.length_of(chosen), 9),
        "users": data.asked_load("users"),
        "rate": data.asked_load("rate"),
        "load": None if data.window is None else data.window.document()["load"],
        "requests": int(requests.ended[asked].sum()),
        "errors": int(requests.failed[asked].sum()),
        "in_flight": None if unfinished is None else unfinished.in_flight,
        "failed_later": None if unfinished is None else unfinished.failed_later,
        "throughput_per_s": _throughput(requests, chosen, measurement),
        "response_time_ms": times_ms(requests.response, requests.response_sum_s, chosen),
        "exchange_time_ms": times_ms(requests.exchange, requests.exchange_sum_s, chosen),
        "estimates": _estimates(data, summary),
        "transactions": {
            name: _transaction(column, data) for name, column in measurement.columns("transaction").items()
        },
        "errors_by_kind": dict.fromkeys(_KINDS_ALWAYS_LISTED, 0) | failed_by_kind(requests, asked),
        "status_codes": status_codes(requests, asked),
        "not_started": {} if accounting is None else accounting.not_started,
        "connect_failures": (engine and engine.connect_failures) or {},
        "broken_answers": (engine and engine.broken_answers) or {},
        "unsendable": (engine and engine.unsendable) or {},
        "failed_exchanges": failed_exchanges(engine),
        "handshakes": (engine and engine.handshakes) or {"full": 0, "resumed": 0},
        "connections": document_of(connections(measurement, asked, engine)),
        "generator": _generator(data, summary.generator),
        "intervals": _intervals(measurement, asked),
    }


def _throughput(column: MeasuredColumn, chosen: Mask, measurement: Measurement) -> float | None:
    """Return the throughput of successful requests; None if no request ended. [1/s]"""
    length = measurement.length_of(chosen)
    return float(column.ok[chosen].sum()) / length if length > 0 and column.ended[chosen].any() else None


def _estimates(data: RunData, summary: RunSummary) -> dict[str, object]:
    """Return throughput and times of requests with their intervals; there are no intervals if the recording is too
    short.

    Response times are taken from the transactions if every transaction consists of one request.
    """
    measurement, requests = data.measurement, data.measurement.requests
    times = {"response_time_s": summary.response_time_s, "exchange_time_s": summary.exchange_time_s}
    same = requests.response.counts == measurement.transactions.response.counts
    if not (same.all() and (requests.response_sum_s == measurement.transactions.response_sum_s).all()):
        times["response_time_s"] = distribution(
            requests.response, requests.response_sum_s, data.chosen, bin_s=measurement.bin_s
        )
    return {
        "throughput_per_s": summary.request_throughput_per_s.document(),
        **{name: {key: plain(each[key]) for key in each if key != HISTOGRAM} for name, each in times.items()},
    }


def times_ms(timed: TimedHistograms, sums: Floats, chosen: Mask) -> dict[str, float | None]:
    """Return mean, minimum, maximum and quantiles of times; all are None if no response was timed. [ms]"""
    merged = timed.merged(chosen)
    if merged is None:
        return dict.fromkeys(["mean", "min", *QUANTILES, "max"])
    return {
        "mean": 1e3 * float(sums[chosen].sum()) / merged.total,
        "min": 1e3 * merged.minimum_s,
        **{name: 1e3 * merged.quantile(probability) for name, probability in QUANTILES.items()},
        "max": 1e3 * merged.maximum_s,
    }


def _transaction(column: MeasuredColumn, data: RunData) -> dict[str, object]:
    asked, chosen = data.asked, data.chosen
    return {
        "count": int(column.ended[asked].sum()),
        "errors": int(column.failed[asked].sum()),
        "throughput_per_s": _throughput(column, chosen, data.measurement),
        "response_time_ms": times_ms(column.response, column.response_sum_s, chosen),
    }


def _generator(data: RunData, found: Generator) -> dict[str, object]:
    counted = data.engine and data.engine.generator
    lag = found.start_lag_p99_s
    return {
        "cpu_s": counted.cpu_s if counted else float(data.measurement.cpu_s.sum()),
        "cpu_us_per_request": found.cpu_us_per_request,
        "start_lag_ms_p99": counted.lag_p99_ms if counted else None if lag is None else 1e3 * lag,
        "peak_rss_bytes": found.peak_rss_bytes,
        "saturated": found.saturated,
    }


def _intervals(measurement: Measurement, chosen: Mask) -> list[dict[str, float | None]]:
    """Return the results of each second of the window, or of each merged interval of a long run.

    `t_s` is the end of the second, measured from the start of the window. [s]
    """
    requests = measurement.requests
    p95 = requests.response.quantile_by_bin(0.95)
    numbers = [number for number, inside in enumerate(chosen) if inside]
    if not numbers:
        return []
    start = float(measurement.starts[numbers[0]])
    return [
        {
            "t_s": round(float(measurement.ends[number]) - start, 9),
            "requests": int(requests.ended[number]),
            "errors": int(requests.failed[number]),
            "p95_ms": None if (value := p95[number]) is None else 1e3 * value,
        }
        for number in numbers
    ]
