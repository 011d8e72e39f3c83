"""Measures the errors of the response times that generators report when the server stops for two seconds.

The true times are computed from the server's log. A request that was due during the stall would have waited until the
end of the stall, even if the generator did not send it; any other request took the logged time. Half of the generators
wait for an answer before they send the next request, and therefore hardly report the stall (coordinated omission).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import harness
import numpy as np
import numpy.typing as npt
import peers
import towtank_load

RATE, CONNECTIONS = 1_000, 64
_NAMES = {"p99": 0.99, "p99.9": 0.999, "max": 1.0}


def run(*, quick: bool) -> None:
    """Measure the response times that each generator reports, print their errors, and store the single results."""
    rounds = 1 if quick else 3
    names = ["towtank", *peers.available(with_rate=True)]
    runs = harness.turns(names, rounds, _once)
    for name in names:
        for quantile in _NAMES:
            own = [run for run in runs if run["generator"] == name and run[f"{quantile}_ms"] is not None]
            if own:
                errors = [100 * (row[f"{quantile}_ms"] / row[f"true_{quantile}_ms"] - 1) for row in own]
                print(f"  {name}: {quantile} is off by {harness.shown(harness.interval(errors))} %")
    harness.keep("stall", {"rate": RATE, "rounds": rounds, **_shape()}, runs=runs)


def _shape() -> dict[str, int]:
    """Return the time between the starts of stalls, the length of a stall, and the length of the load. [s]"""
    return {"stall_every_s": 10, "stall_for_s": 2, "seconds": 18}


def _once(name: str) -> dict[str, float | None]:
    shape = _shape()
    with tempfile.TemporaryDirectory(prefix="towtank-bench-") as folder:
        log = Path(folder) / "server.log"
        stalls = ["--stall-every", str(shape["stall_every_s"]), "--stall-for", str(shape["stall_for_s"])]
        with harness.null_server(*stalls, "--log", str(log)) as (address, _):
            if name == "towtank":
                load = towtank_load.opened(RATE, shape["seconds"], "constant")
                done = towtank_load.drive(address, load)
                said, first_ns = done.times_s("response", everything=True), done.origin_ns
            else:
                said = peers.drive(name, peers.Case(address, CONNECTIONS, shape["seconds"], RATE)).times_s
                first_ns = None
        found = np.loadtxt(log, dtype=np.int64)
    true = truth(found, first_ns, RATE, shape["seconds"], shape["stall_for_s"])
    return {
        **{f"{key}_ms": 1e3 * said[key] if key in said else None for key in _NAMES},
        **{f"true_{key}_ms": 1e3 * true[key] for key in _NAMES},
    }


def truth(
    log: npt.NDArray[np.int64], first_ns: int | None, rate: float, seconds: float, stall_s: float
) -> dict[str, float]:
    """Compute from the server's log the quantiles of response times if requests arrived exactly when due. [s]

    Parameters
    ----------
    log : ndarray of shape (n, 2)
        Times of arrival and of answer of each request. [ns]
    first_ns : int or None
        Time at which the first request was due; if None, the time at which it arrived. [ns]
    rate, seconds : float
        Requested rate and length of the load. [1/s], [s]
    stall_s : float
        Length of the stall; the stall ends with the answer after the longest time without answers. [s]
    """
    answers = np.sort(log[:, 1])
    silence = int(np.argmax(np.diff(answers)))
    end = int(answers[silence + 1])
    start = end - round(1e9 * stall_s)
    outside = log[log[:, 1] < start]
    usual = float(np.median(outside[:, 1] - outside[:, 0])) if len(outside) else 0.0
    begin = int(log[:, 0].min()) if first_ns is None else first_ns
    due = begin + np.arange(round(rate * seconds)) * 1e9 / rate
    waited = np.where((due >= start) & (due < end), end - due, usual) / 1e9
    return {name: float(np.quantile(waited, share, method="inverted_cdf")) for name, share in _NAMES.items()}
