"""Measures the errors of the response times that load generators report for a server that answers after 5 ms.

The server records when each request arrives and when its answer is sent; the difference is the true time. The time that
a generator reports also includes the transfer over the loopback interface, and delays in the generator.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import harness
import numpy as np
import peers
import towtank_load

RATE, CONNECTIONS, DELAY_MS = 1_000, 8, 5.0


def run(*, quick: bool) -> None:
    """Measure the response-time errors of every generator, print them, and store the single results."""
    rounds, seconds = (2, 5) if quick else (6, 8)
    names = ["towtank", *(name for name in peers.available() if name != "minimal")]
    runs = harness.turns(names, rounds, lambda name: _once(name, seconds))
    for name in names:
        own = [row for row in runs if row["generator"] == name]
        errors = [harness.interval([row[f"{key}_error_us"] for row in own]) for key in ("p50", "p99")]
        print(
            f"  {name}: p50 {harness.shown(errors[0])} us, p99 {harness.shown(errors[1])} us above the server's clock"
        )
        quieter = ", ".join(
            f"{row['p99_error_us']:,.0f} ({row['other_work']:.1%})" for row in harness.quieter_half(own)
        )
        print(f"       quieter half, p99 and share of the CPUs with other work: {quieter}")
    arguments = {"rate": RATE, "connections": CONNECTIONS, "delay_ms": DELAY_MS, "seconds": seconds}
    harness.keep("constant-delay", arguments, runs=runs)


def _once(name: str, seconds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="towtank-bench-") as folder:
        log = Path(folder) / "server.log"
        with (
            harness.null_server("--delay", str(DELAY_MS), "--log", str(log)) as (address, server),
            harness.other_work([server]) as other,
        ):
            if name == "towtank":
                done = towtank_load.drive(address, towtank_load.opened(RATE, seconds, "constant"))
                said = done.times_s("exchange", everything=True)
            else:
                rate = RATE if peers.PEERS[name].has_rate else None
                said = peers.drive(name, peers.Case(address, CONNECTIONS, seconds, rate)).times_s
        found = np.loadtxt(log, dtype=np.int64)
    true = np.quantile((found[:, 1] - found[:, 0]) / 1e9, [0.5, 0.99])
    return {
        "p50_ms": 1e3 * said["p50"],
        "p99_ms": 1e3 * said["p99"],
        "p50_error_us": 1e6 * (said["p50"] - float(true[0])),
        "p99_error_us": 1e6 * (said["p99"] - float(true[1])),
        "other_work": other[0],
    }
