"""Measures the start lag of requests at fractions of the highest rate of one load thread (the envelope).

The start lag is the actual minus the intended start of a request. First, the bench measures the envelope with a closed
load without think time. Then it runs an open Poisson load at 25, 50, 60 and 75 % of the envelope; measurement begins
after one second. The bench also reports the fraction of due requests that were started.

If the machine does not run the generator for some time, requests lag by this time. So before and after the load, a
program that only reads the clock runs on both cores. It reports the fraction of time that it lost in gaps of more than
1 ms. Each round reports the CPU time of other programs. The bench prints results of all rounds, and of the half of the
rounds in which other programs took the least CPU time.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import harness
import towtank_load

SHARES = (0.25, 0.50, 0.60, 0.75)


def run(*, quick: bool) -> None:
    """Measure start lag and achieved rate at each fraction of the envelope, print both, and store the single
    results.
    """
    rounds, seconds = (2, 4) if quick else (6, 6)
    lost = [_hiccups(seconds)]
    with harness.null_server() as (address, server):
        envelope = _started_per_s(towtank_load.drive(address, towtank_load.closed(64, seconds)))
        print(f"  envelope: {envelope:,.0f} requests/s of one load thread")
        runs = harness.turns(
            [f"{share:.0%}" for share in SHARES],
            rounds,
            lambda name: _once(address, server, envelope * float(name.rstrip("%")) / 100, seconds),
        )
    lost.append(_hiccups(seconds))
    for share in SHARES:
        own = [row for row in runs if row["generator"] == f"{share:.0%}"]
        found = {key: harness.interval([row[key] for row in own]) for key in ("lag_p50_us", "lag_p99_us", "achieved")}
        lags = f"start lag p50 {harness.shown(found['lag_p50_us'])} us, p99 {harness.shown(found['lag_p99_us'])} us"
        print(f"  {share:.0%}: {lags}, achieved / offered {harness.shown(found['achieved'], 6)}")
        print(f"       quieter half: {_quieter(own)}")
    harness.keep("start-lag", {"seconds": seconds, "rounds": rounds}, envelope_per_s=envelope, hiccups=lost, runs=runs)


def _quieter(runs: list[dict[str, float]]) -> str:
    """Format start lags and other programs' CPU time, for the half of the rounds with the least of this CPU time."""
    chosen = harness.quieter_half(runs)
    lags = ", ".join(f"{row['lag_p99_us']:,.0f}" for row in chosen)
    others = ", ".join(f"{row['other_work']:.1%}" for row in chosen)
    return f"start lag p99 {lags} us, with other work on {others} of the CPUs"


def _hiccups(seconds: int) -> list[dict[str, float]]:
    """Measure the share of time that a program loses in gaps of more than 1 ms, on both cores concurrently."""
    compiler = harness.program("cc")
    if compiler is None:
        print("  skipped: hiccups of the machine, no C compiler is installed (apt-get install gcc libc6-dev)")
        return []
    with tempfile.TemporaryDirectory(prefix="towtank-bench-") as folder:
        binary = str(Path(folder) / "hiccups")
        subprocess.run([compiler, "-O2", "-o", binary, str(harness.HERE / "hiccups.c")], check=True)
        commands = [["taskset", "-c", str(core), binary, str(seconds)] for core in harness.cores()]
        started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
        outputs = [process.communicate()[0].split() for process in started]
    found = [{"lost": float(lost), "longest_ms": float(longest)} for lost, longest in outputs]
    each = ", ".join(f"{gap['lost']:.2%} (longest {gap['longest_ms']:.1f} ms)" for gap in found)
    print(f"  lost to the machine in gaps over 1 ms, server's core and generator's: {each}")
    return found


def _started_per_s(done: towtank_load.Done) -> float:
    chosen, measurement = done.steady, done.measurement
    return float(measurement.requests.started[chosen].sum() / measurement.lengths[chosen].sum())


def _once(address: str, server: int, rate: float, seconds: int) -> dict[str, float]:
    with harness.other_work([server]) as other:
        done = towtank_load.drive(address, towtank_load.opened(rate, seconds, "poisson", settle_s=1.0))
    lag = done.times_s("lag")
    started = float(done.measurement.requests.started[done.staged].sum())
    return {
        "rate_per_s": rate,
        "achieved": started / done.engine["totals"]["offered"],
        "other_work": other[0],
        **{f"lag_{name}_us": 1e6 * value for name, value in lag.items()},
    }
