"""Measures the engine's memory over an hour of constant load, and the share of the requests that started."""

from __future__ import annotations

import resource
import subprocess
import tempfile
import time
from pathlib import Path

import harness
import towtank_load

RATE_PER_S = 1_000.0
EVERY_S = 10.0
MINUTES = 60.0
QUICK_MINUTES = 2.0
# Time of the first memory sample; by then, every code path of a run has been executed. [s]
_FIRST_S = 60.0
# Time for starting the process and for the last memory sample, in addition to the load. [s]
_SPARE_S = 5.0


def run(*, quick: bool, minutes: float | None = None) -> None:
    """Run the load; print the growth of memory and the share of requests that were started; store the samples.

    Parameters
    ----------
    quick : bool
        If true, the load lasts two minutes instead of an hour.
    minutes : float or None
        Length of the load; overrides `quick`. [min]
    """
    length_s = 60.0 * (minutes or (QUICK_MINUTES if quick else MINUTES))
    with (
        harness.null_server() as (address, _),
        tempfile.TemporaryDirectory(prefix="towtank-bench-") as name,
    ):
        samples, engine = _drive(address, Path(name), length_s)
    totals = engine["totals"]
    early = next(sample for sample in samples if sample["t_s"] >= min(_FIRST_S, length_s / 2))
    growth = samples[-1]["rss_bytes"] / early["rss_bytes"]
    achieved = totals["started"] / (RATE_PER_S * length_s)
    answered = totals["ok"] / totals["offered"]
    print(
        f"  resident memory after {samples[-1]['t_s']:,.0f} s / after {early['t_s']:,.0f} s, same load: {growth:.4f} "
        f"({early['rss_bytes']:,.0f} and {samples[-1]['rss_bytes']:,.0f} bytes)"
    )
    print(f"  started / requested: {achieved:.5f}; answered without error / requested: {answered:.6f}")
    results = {"growth": growth, "achieved_share": achieved, "answered_share": answered}
    harness.keep(
        "endurance",
        {"rate_per_s": RATE_PER_S, "length_s": length_s, "every_s": EVERY_S},
        results=results,
        samples=samples,
        engine=engine,
    )


def _drive(address: str, folder: Path, length_s: float) -> tuple[list[dict[str, float]], dict[str, object]]:
    """Run the load; return a sample of the resident memory every ten seconds, and the content of `engine.json`."""
    load = towtank_load.opened(RATE_PER_S, length_s, "constant", users=1_000)
    command = [*towtank_load.command(address, load, folder), "--until-stdin-closes"]
    pinned = ["taskset", "-c", str(harness.cores()[1]), *command]
    samples = []
    with subprocess.Popen(pinned, stdin=subprocess.PIPE, start_new_session=True) as engine:
        started = time.monotonic()
        try:
            while (t_s := time.monotonic() - started) < length_s - _SPARE_S:
                samples.append({"t_s": t_s, "rss_bytes": float(_resident(engine.pid))})
                time.sleep(EVERY_S)
            engine.wait(length_s)
        finally:
            engine.terminate()
    return samples, towtank_load.read(folder, harness.Spent("", 0.0, 0.0)).engine


def _resident(pid: int) -> int:
    """Return the resident memory of a process. [bytes]"""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()
