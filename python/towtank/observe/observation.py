"""Observes one run: starts the probe, scrapes the services, and writes each sample to disk at once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self

from towtank import engine, marking
from towtank.errors import TargetError
from towtank.observe.scraper import Scraper
from towtank.observe.scraping import ScrapingThread
from towtank.results import REMOTE_PROBE_ENDING, RunFolder

PROBE_STREAM = "probe.ndjson"
PROBE_LOG = "probe.log"
STOP_WITHIN_S = 5.0
"""Time limit for the probe to end. It normally ends milliseconds after its input is closed. [s]"""
_LOG_TAIL_BYTES = 2000


class RemoteProbe(Protocol):
    """Probe on another machine, whose samples are copied to this machine."""

    host: str

    def start(self, stream: Path, log: Path, interval_s: float) -> None:
        """Start the probe, and append its samples to `stream` as they arrive. Their times are on the other
        machine's clock.
        """

    def clock(self) -> dict[str, int]:
        """Return the other machine's CLOCK_MONOTONIC minus that of this machine, as `offset_ns`, and the largest
        possible error of this difference, as `uncertainty_ns`.
        """

    def stop(self) -> list[str]:
        """End the probe on the other machine. Return one sentence for each failure of the probe."""


class Observation:
    """Samples the host and groups of processes, and scrapes services, while its `with` block runs.

    Failures of the observed system raise no exception. The method `failures` returns descriptions of missing data.

    Parameters
    ----------
    run : RunFolder
        Folder of the run. Receives `observe/probe.ndjson`, `observe/SERVICE.ndjson` and `logs/probe.log`.
    groups : mapping of str to int
        Root process of each group, by name.
    scrapers : sequence of Scraper
        Scrapers, one for each service; the names of the services must differ.
    interval_s : float, default 1.0
        Interval between samples. [s]
    probes : sequence of RemoteProbe
        Probes, one for each other machine. Their samples are written to `observe/HOST.probe.ndjson`, and the offsets
        of their clocks to `run.json`.

    Raises
    ------
    EngineError
        If the engine is not installed; raised when the block is entered.
    """

    def __init__(
        self,
        run: RunFolder,
        groups: Mapping[str, int],
        scrapers: Sequence[Scraper] = (),
        interval_s: float = 1.0,
        probes: Sequence[RemoteProbe] = (),
    ) -> None:
        names = [scraper.service for scraper in scrapers]
        if len(set(names)) < len(names) or Path(PROBE_STREAM).stem in names:
            raise ValueError(f"each service must have one scraper and a name other than `probe`, got {names} instead")
        self._run, self._groups = run, dict(groups)
        self._scrapers, self._interval_s = list(scrapers), interval_s
        self._remote, self._clocks = list(probes), dict[str, list[dict[str, int]]]()
        self._probe: subprocess.Popen[bytes] | None = None
        self._scraping: ScrapingThread | None = None
        self._failures: list[str] = []
        self._stopped = False

    def __enter__(self) -> Self:
        self._probe = self._start_probe()
        try:
            self._scraping = ScrapingThread(self._scrapers, self._run.observe, self._interval_s)
            self._scraping.start()
            self._start_remote()
        except BaseException:
            self._stop_probe(self._probe)
            raise
        return self

    def _start_remote(self) -> None:
        for probe in self._remote:
            try:
                stream = self._run.observe / f"{probe.host}{REMOTE_PROBE_ENDING}"
                probe.start(stream, self._run.logs / f"{probe.host}.probe.log", self._interval_s)
            except TargetError as error:
                self._failures.append(f"host {probe.host}: {error}")
        self._read_clocks()

    def _read_clocks(self) -> None:
        """Measure the offsets of the other machines' clocks from this machine's, and write them to `run.json`."""
        for probe in self._remote:
            try:
                self._clocks.setdefault(probe.host, []).append(probe.clock())
            except TargetError as error:
                self._failures.append(f"host {probe.host}: its clock cannot be read: {error}")
        if self._clocks:
            self._run.update(clocks=self._clocks)

    def _stop_remote(self) -> None:
        self._read_clocks()
        for probe in self._remote:
            self._failures += probe.stop()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._scraping is not None:
                self._scraping.stop()
            self._stop_remote()
        finally:
            if self._probe is not None:
                self._stop_probe(self._probe)

    def add_group(self, name: str, pid: int) -> None:
        """Observe a process tree that was started during the observation, or restarted under its earlier name."""
        self._groups[name] = pid
        self._tell(f"group {name} {pid}")

    def failures(self) -> list[str]:
        """Return one sentence for each failure of the probes and scrapers; empty if no data is missing."""
        probe = self._probe
        early = probe is not None and not self._stopped and probe.poll() is not None
        ended = self._judge(probe.returncode) if probe is not None and early else []
        scraping = self._scraping.failures() if self._scraping is not None else []
        return [*self._failures, *ended, *scraping]

    def _start_probe(self) -> subprocess.Popen[bytes]:
        groups = [word for name, pid in self._groups.items() for word in ("--group", f"{name}={pid}")]
        command = [str(engine.binary()), "probe", "--out", str(self._run.observe / PROBE_STREAM)]
        command += ["--interval", str(self._interval_s), "--until-stdin-closes", *groups]
        command += ["--observer", str(os.getpid())]
        with (self._run.logs / PROBE_LOG).open("ab") as log:
            # The separate session protects the probe from Ctrl-C on the terminal, so that it samples until the run is
            # finished.
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=marking.environment(),
                start_new_session=True,
            )

    def _tell(self, line: str) -> None:
        if self._probe is None or self._probe.stdin is None:
            raise RuntimeError("groups can be changed only while the observation runs")
        # If the probe has ended, writing to it fails; `failures` reports the end of the probe.
        with suppress(BrokenPipeError, ValueError):
            self._probe.stdin.write(line.encode() + b"\n")
            self._probe.stdin.flush()

    def _stop_probe(self, probe: subprocess.Popen[bytes]) -> None:
        self._stopped = True
        stdin: IO[bytes] | None = probe.stdin
        if stdin is not None:
            with suppress(BrokenPipeError):
                stdin.close()
        try:
            status = probe.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            probe.kill()
            probe.wait()
            self._failures.append(f"probe: did not end within {STOP_WITHIN_S:g} s and was killed")
            return
        if status != 0:
            self._failures += self._judge(status)

    def _judge(self, status: int) -> list[str]:
        """Return one sentence with the exit status of the probe and the last lines of its log."""
        how = f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
        log = self._run.logs / PROBE_LOG
        said = log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace").strip() if log.exists() else ""
        return [f"probe: {how}" + (f": {said}" if said else "")]
