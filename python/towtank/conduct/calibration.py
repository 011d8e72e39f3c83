"""Calibrates this machine as a load generator, by loading the engine's null server with one load thread.

First, the load thread sends requests as fast as it can, which gives the request rate per core. Then an open Poisson
load at several fractions of that rate gives the start lag of each request. The null server does no work for a request,
so the results describe the generator, the kernel and the timers of this machine.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from towtank.conduct.connecting import ConnectionOptions
from towtank.conduct.drive import Exchange, Load, manifest, url_plan
from towtank.conduct.envelope import SCHEMA
from towtank.conduct.pinning import Pinning, share_out
from towtank.engine import EngineProcess, binary
from towtank.errors import EngineError, MeasurementError
from towtank.results import RunFolder
from towtank.version import __version__

SHARES = (0.25, 0.50, 0.75)
"""Arrival rates at which start lags are measured, as fractions of the request rate per core. [1]"""
TIMER_RATE = 100.0
"""Arrival rate at which the precision of timers is measured. At this low rate, nothing else delays a request. [1/s]"""
USERS = 64
"""Number of users of the load that measures the request rate per core. Each user has a connection and no think time, so
that the null server is always busy. [1]
"""
BUSY = 0.95
"""Utilization of the load thread above which this thread, and not the null server, limits the request rate. [1]"""
QUIET_LOAD = 0.5
"""Load average over one minute above which other programs count as disturbing a calibration. [1]"""
_SERVERS_AT_MOST = 4
_WAIT_S = 0.5
# Time after the planned end of a load at which the engine is stopped because it hangs. [s]
_LOST_S = 60.0


@dataclass(frozen=True)
class Point:
    """Results of one calibration load: rate of started requests [1/s] and utilization of the load thread in [0, 1] in
    its steady stage, numbers of started and failed requests of the whole load [1], and start lag by quantile in the
    steady stage: `p50`, `p99`, `p99.9`, `max` [s].
    """

    rate_per_s: float
    busy: float
    started: int
    failed: int
    lag_s: dict[str, float]


Measure = Callable[[Load], Point]


def calibrate(
    measure: Measure, *, fingerprint: str, pinning: Pinning, seconds: float = 5.0, note: Callable[[str], None]
) -> dict[str, object]:
    """Measure the limits (envelope) of the load generator: request rate per core, and start lag by request rate.

    Return the document `towtank/envelope/1` of `docs/reference/run-folder.md`. `measure` runs one load, `pinning`
    assigns CPUs to the null server (`system`) and to the load thread (`generator`), `seconds` is the length of each of
    the five steady stages [s], and `note` is called with the name of each measurement before it starts.

    Raises
    ------
    MeasurementError
        If a request failed, or no request was made.
    """
    base = Load(duration_s=seconds, ramp_s=1.0, threads=1, cpus=pinning.generator)
    note("rate per core, without think time")
    full = _sound(measure(replace(base, users=USERS)))
    points = []
    for share in (None, *SHARES):
        rate = TIMER_RATE if share is None else share * full.rate_per_s
        note(f"start lag at {rate:,.0f} requests/s")
        points.append(_lag(_sound(measure(replace(base, rate=rate, arrivals="poisson"))), share, rate))
    return {
        "schema": SCHEMA,
        "towtank": __version__,
        "fingerprint": fingerprint,
        "measured_wall_ns": time.time_ns(),
        "cpus": {"server": list(pinning.system), "generator": list(pinning.generator)},
        "rate_per_core_per_s": full.rate_per_s,
        "cpu_us_per_request": 1e6 * full.busy / full.rate_per_s,
        "busy": full.busy,
        "limited_by": "generator" if full.busy > BUSY else "server or other programs",
        "timer": points[0],
        "start_lag": points[1:],
    }


def _sound(point: Point) -> Point:
    if not point.started or point.failed:
        raise MeasurementError(
            f"the machine cannot be calibrated: {point.failed:,} of {point.started:,} requests failed",
            hint="`towtank doctor` shows the limits of open files and ports; stop other programs on this machine",
        )
    return point


def _lag(point: Point, share: float | None, rate_per_s: float) -> dict[str, object]:
    return {
        "share": share,
        "rate_per_s": rate_per_s,
        "started_per_s": point.rate_per_s,
        "busy": point.busy,
        **{f"{name}_s": value for name, value in point.lag_s.items()},
    }


@contextmanager
def null_server(pinning: Pinning) -> Iterator[str]:
    """Run the null server on the CPUs of the system, and yield its address.

    Raises
    ------
    EngineError
        If the null server does not start.
    """
    threads = min(_SERVERS_AT_MOST, max(1, len(pinning.system)))
    command = [str(binary()), "null-server", "--threads", str(threads), "--body", "128", "--until-stdin-closes"]
    if pinning.system:
        command += ["--cpus", ",".join(map(str, pinning.system))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        try:
            assert server.stdout is not None
            said = server.stdout.readline().split()
            if not said:
                raise EngineError(f"the null server did not start: it ended with status {server.wait()}")
            yield said[-1]
        finally:
            server.terminate()


def measure_at(address: str) -> Measure:
    """Return a function that loads an address once, returns the results, and removes the recorded files."""

    def measure(load: Load) -> Point:
        with tempfile.TemporaryDirectory(prefix="towtank-calibrate-") as folder:
            run = RunFolder.create(Path(folder), manifest(load))
            exchange = Exchange(f"http://{address}/", timeout_s=5.0)
            run.write_plan(url_plan(run, exchange, load, [[address]], ConnectionOptions()).document())
            _drive(run, load.ramp_s + load.duration_s + _LOST_S)
            return read_point(run)

    return measure


def _drive(run: RunFolder, within_s: float) -> None:
    log = run.logs / "engine.log"
    engine = EngineProcess(run.plan, log, control=True)
    deadline = time.monotonic() + within_s
    try:
        while engine.status() is None and time.monotonic() < deadline:
            engine.frames(_WAIT_S)
        status = engine.status()
    finally:
        engine.close()
    if status != 0:
        words = log.read_text("utf-8", errors="replace").strip()
        how = "did not end in time" if status is None else f"ended with status {status}"
        raise EngineError(f"the engine {how} during the calibration" + (f": {words}" if words else ""))


def read_point(run: RunFolder) -> Point:
    """Read the results of the steady stage of a calibration load from the engine's record."""
    from towtank.analysis import Measurement  # noqa: PLC0415 - numpy: only if something was measured
    from towtank.results import segments  # noqa: PLC0415

    measurement = Measurement(segments.read(run.engine))
    steady = {number for number, stage in enumerate(measurement.stages) if stage.phase == "steady"}
    chosen = measurement.inside(0.0, float("inf")) & [number in steady for number in measurement.stage.tolist()]
    length = measurement.length_of(chosen)
    if not length:
        raise EngineError("the engine recorded nothing in the steady stage")
    requests, lag = measurement.requests, measurement.lag.merged(chosen)
    quantiles = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
    return Point(
        rate_per_s=float(requests.started[chosen].sum()) / length,
        busy=float(measurement.cpu_s[chosen].sum()) / length,
        started=int(requests.started.sum()),
        failed=int(requests.failed.sum()),
        lag_s={**{name: lag.quantile(value) for name, value in quantiles.items()}, "max": lag.maximum_s} if lag else {},
    )


def calibrate_here(note: Callable[[str], None]) -> dict[str, object]:
    """Measure the limits (envelope) of this machine as a load generator in about 35 s, without storing them."""
    from towtank.observe import host_facts  # noqa: PLC0415

    pinning = share_out()
    busy = os.getloadavg()[0]
    if busy > QUIET_LOAD:
        note(f"other programs are running (load average {busy:.2g}): the measured limits will be too low")
    with null_server(pinning) as address:
        return calibrate(measure_at(address), fingerprint=host_facts().fingerprint, pinning=pinning, note=note)
