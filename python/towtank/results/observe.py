"""Reads the records of probes and scrapers: the samples of each probe, and the metrics of each service. Damaged lines
are skipped and counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from towtank.files import open_regular, version_of
from towtank.results import lines, long_runs
from towtank.results.long_runs import Shortening
from towtank.results.stream_forms import MetricsForm, ProbeHeader, SampleForm, has_form

_SAMPLE = re.compile(rb'[0-9a-f]{8} \{"k":"(?:sample|metrics)","t_ns":(\d{1,19}),(?:"wall_ns":(\d{1,19}),)?')
# A sample that is longer than another by this has values that the other lacks. [byte]
_MORE_BYTES = 20
# The probe reads these values only near a limit.
_RARE = (b'"user_tasks"', b'"towards"')
_NEAR_NS = 2 * 10**9  # Samples at least this close to an edge are read.
PROBE_FILE = "probe.ndjson"
REMOTE_PROBE_ENDING = ".probe.ndjson"
"""Ending of the name of a file with the stream of a probe on another machine. The name of the machine precedes the
ending. The file of a service cannot have this ending, because a service name contains no dot.
"""
GENERATOR_GROUP = "generator"
"""Name of the load generator's process group in the samples of the probe; this group is not a tier."""
WATCHED_KIND = "process"
"""Kind of a tier whose processes Towtank observes but did not start."""
THIS_MACHINE = "this_machine"
"""Name of this machine in lists of machines."""
NOT_ATTRIBUTED = "not attributed"
"""Label for the resource use on a machine that belongs to no tier of the machine."""
MEMBER_REQUESTS = "balancer_member_requests_total"
"""Name of the metric that counts the requests that a load balancer sent to each of its servers. The label `member`
names the server.
"""


class ConnectionSeries:
    """Names of the stream about connections between servers of this machine, and of the series in the stream.

    Series of a target have the label `of`. Series of a server to which a target has connections have the label `to`.
    """

    STREAM = "connections.here"  # A service name contains no dot, so no service has this stream.
    CONNECTIONS = "server_connections"
    BUSY = "server_connections_busy"
    SENT = "server_segments_sent"
    WAITING_FOR_LOCK = "server_connections_waiting_for_lock"
    ACCEPT_QUEUE = "accept_queue"
    ACCEPT_QUEUE_LIMIT = "accept_queue_limit"
    ACCEPT_QUEUE_IN_USE = "accept_queue_in_use"


@dataclass
class ProbeStream:
    """Samples of a probe on one host, in order of time.

    Attributes
    ----------
    header : ProbeHeader or None
        Header line; None if it is missing.
    samples : list of dict
        Samples; of a long run, only some of them, see `long_runs`.
    times_ns : list of int or None
        Times of all samples of a long run, in ascending order; None if `samples` has all samples. [ns]
    clock_jump_s : float or None
        Largest step of the wall clock between two samples of a long run, relative to the monotonic clock; None if
        `samples` has all samples. [s]
    damage : Damage
        Counts of the unreadable lines.
    """

    header: ProbeHeader | None = None
    samples: list[dict[str, Any]] = field(default_factory=list)
    times_ns: list[int] | None = None
    clock_jump_s: float | None = None
    damage: lines.Damage = field(default_factory=lines.Damage)


@dataclass
class ServiceStream:
    """Metrics that one service reported during a run.

    Attributes
    ----------
    service, kind : str
        Name of the service in the system file, and its kind.
    samples : list of dict
        Lines with `t_ns`, `took_s` and `values`, in the order of time; of a long run, only some of them, see
        `long_runs`.
    failures : list of str
        Messages of the failed scrapes.
    conclusion : dict
        Result of the query that is made once after the load; empty if no such query was made.
    """

    service: str
    kind: str = ""
    samples: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    conclusion: Mapping[str, object] = field(default_factory=dict)
    damage: lines.Damage = field(default_factory=lines.Damage)


def read_probe(folder: Path, short: Shortening | None = None) -> ProbeStream:
    """Read `RUN/observe/probe.ndjson`, shortened if the run is long. Without the file, the stream is empty."""
    return _read_probe(folder / PROBE_FILE, short)


def read_remote_probes(
    folder: Path, short: Shortening | None = None, offsets_ns: Mapping[str, int] | None = None
) -> dict[str, ProbeStream]:
    """Read the streams of probes on other machines, `RUN/observe/HOST.probe.ndjson`, by host, shortened if the run is
    long. The times in a stream are from the clock of the machine on which the probe ran, which is ahead of the clock of
    this machine by an offset. [ns] All samples are read if the offset is not given.
    """
    found = {}
    for path in sorted(folder.glob(f"*{REMOTE_PROBE_ENDING}")):
        host = path.name.removesuffix(REMOTE_PROBE_ENDING)
        offset = (offsets_ns or {}).get(host)
        found[host] = _read_probe(path, None if short is None or offset is None else short.moved(offset))
    return found


def _read_probe(path: Path, short: Shortening | None) -> ProbeStream:
    if not path.is_file():
        return ProbeStream()
    if short is None:
        return _probe(lines.Damage(), lambda damage: lines.read(path, damage))
    return long_runs.kept(
        path.parent.parent, path.name, (version_of([path]), short), partial(_short_probe, path, short)
    )


def _short_probe(path: Path, short: Shortening) -> ProbeStream:
    chosen = _Chosen(short, SampleForm)
    stream = _probe(lines.Damage(), lambda damage: chosen.documents(path, damage))
    stream.times_ns, stream.clock_jump_s = sorted(chosen.times_ns), chosen.clock_jump_ns / 1e9
    return stream


def _probe(damage: lines.Damage, documents: Callable[[lines.Damage], Iterator[dict[str, object]]]) -> ProbeStream:
    stream = ProbeStream(damage=damage)
    for document in documents(damage):
        if document.get("k") == "header" and has_form(ProbeHeader, document):
            stream.header = stream.header or ProbeHeader.model_validate(document)
        elif document.get("k") == "sample" and has_form(SampleForm, document):
            stream.samples.append(document)
        else:
            stream.damage.bad_lines += 1
    stream.samples.sort(key=lambda sample: int(sample["t_ns"]))
    return stream


class _Chosen:
    """Samples of a long run that are read: in each merged interval the first, the longest, which has values that other
    samples lack, and the first with values that are read near a limit only; those near the edges of stages; and the
    last.

    Parameters
    ----------
    short : Shortening
    form : SampleForm or MetricsForm
        Form of the samples. A sample without this form is not chosen, but yielded.

    Attributes
    ----------
    times_ns : list of int
        Times of all samples. [ns]
    clock_jump_ns : int
        Largest step of the wall clock between two samples, relative to the monotonic clock. [ns]
    """

    def __init__(self, short: Shortening, form: type[SampleForm] | type[MetricsForm]) -> None:
        self.times_ns: list[int] = []
        self.clock_jump_ns = 0
        self._short, self._form = short, form
        self._near = {(edge + beside) // _NEAR_NS for edge in short.edges_ns for beside in (-_NEAR_NS, 0, _NEAR_NS)}
        self._ahead_ns: int | None = None

    def documents(self, path: Path, damage: lines.Damage) -> Iterator[dict[str, object]]:
        """Yield the documents of a stream without the samples that are not chosen. Damaged lines are counted."""
        slot, length, longest, last, has_rare = None, 0, b"", b"", False
        with open_regular(path) as stream:
            for line in stream:
                found = _SAMPLE.match(line)
                if found is None or not lines.is_intact(line):
                    yield from lines.documents([line], damage)
                    continue
                at = int(found[1])
                own = (at - self._short.origin_ns) // self._short.width_ns
                is_rare = own == slot and not has_rare and any(name in line for name in _RARE)
                if own == slot and at // _NEAR_NS not in self._near and not is_rare:
                    self._pass(at, found[2])
                    last = line
                    if len(line) > max(length + _MORE_BYTES, len(longest)):
                        longest = line
                    continue
                if own != slot and longest:
                    yield from lines.documents([longest], damage)
                    longest = b""
                has_rare = is_rare or (has_rare and own == slot)
                for document in lines.documents([line], damage):
                    if has_form(self._form, document):
                        self._pass(at, found[2])
                        if own != slot:
                            slot, length, longest = own, len(line), b""
                        last = b""
                    yield document
        for line in dict.fromkeys((longest, last)):
            yield from lines.documents([line] if line else [], damage)

    def _pass(self, at: int, wall: bytes | None) -> None:
        self.times_ns.append(at)
        if wall is not None:
            ahead = int(wall) - at
            if self._ahead_ns is not None:
                self.clock_jump_ns = max(self.clock_jump_ns, abs(ahead - self._ahead_ns))
            self._ahead_ns = ahead


def read_services(folder: Path, short: Shortening | None = None) -> dict[str, ServiceStream]:
    """Read the streams of all services in `RUN/observe`, by service name, shortened if the run is long."""
    paths = sorted(
        path
        for path in folder.glob("*.ndjson")
        if path.name != PROBE_FILE and not path.name.endswith(REMOTE_PROBE_ENDING)
    )
    return {path.stem: _read_service(path, short) for path in paths}


def _read_service(path: Path, short: Shortening | None) -> ServiceStream:
    if short is None:
        return _service(path, lambda damage: lines.read(path, damage))
    version = version_of([path]), short
    return long_runs.kept(path.parent.parent, path.name, version, partial(_short_service, path, short))


def _short_service(path: Path, short: Shortening) -> ServiceStream:
    chosen = _Chosen(short, MetricsForm)
    return _service(path, lambda damage: chosen.documents(path, damage))


def _service(path: Path, documents: Callable[[lines.Damage], Iterator[dict[str, object]]]) -> ServiceStream:
    stream = ServiceStream(path.stem)
    for document in documents(stream.damage):
        kind = document.get("k")
        if kind == "header":
            stream.kind = str(document.get("kind", ""))
        elif kind == "metrics" and has_form(MetricsForm, document):
            stream.samples.append(document)
        elif kind == "failure" and _is_time(document.get("t_ns")):
            stream.failures.append(str(document.get("message", "")))
        elif kind == "conclusion" and isinstance(conclusion := document.get("conclusion"), dict):
            stream.conclusion = conclusion
        else:
            stream.damage.bad_lines += 1
    stream.samples.sort(key=lambda sample: int(sample["t_ns"]))
    return stream


def _is_time(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
