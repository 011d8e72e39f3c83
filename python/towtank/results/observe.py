"""Reads the records of probes and scrapers: the samples of each probe, and the metrics of each service. Damaged lines
are skipped and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from towtank.files import open_regular, version_of
from towtank.results import lines, long_runs
from towtank.results.stream_forms import MetricsForm, ProbeHeader, SampleForm, has_form

_SAMPLE = re.compile(rb'[0-9a-f]{8} \{"k":"(?:sample|metrics)","t_ns":(\d{1,19}),')
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
    damage : Damage
        Counts of the unreadable lines.
    """

    header: ProbeHeader | None = None
    samples: list[dict[str, Any]] = field(default_factory=list)
    times_ns: list[int] | None = None
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


def read_probe(folder: Path, edges_ns: Sequence[int] = ()) -> ProbeStream:
    """Read `RUN/observe/probe.ndjson`. If the file does not exist, the stream is empty.

    Of a long run, samples at the given times are read in any case, such as those at the edges of stages. [ns]
    """
    return _read_probe(folder / PROBE_FILE, edges_ns)


def read_remote_probes(folder: Path) -> dict[str, ProbeStream]:
    """Read the streams of probes on other machines, `RUN/observe/HOST.probe.ndjson`, by host. The times in a stream are
    from the clock of the machine on which the probe ran.
    """
    paths = sorted(folder.glob(f"*{REMOTE_PROBE_ENDING}"))
    return {path.name.removesuffix(REMOTE_PROBE_ENDING): _read_probe(path) for path in paths}


def _read_probe(path: Path, edges_ns: Sequence[int] = ()) -> ProbeStream:
    if not path.is_file():
        return ProbeStream()
    width = _width_ns(path)
    if width is None:
        return _probe(path, None, ())
    key = "probe", version_of([path]), tuple(edges_ns)
    return long_runs.kept(path.parent.parent, key, partial(_probe, path, width, edges_ns))


def _probe(path: Path, width: int | None, edges_ns: Sequence[int]) -> ProbeStream:
    stream = ProbeStream()
    stream.times_ns = None if width is None else []
    for document in _documents(path, stream.damage, width, edges_ns, stream.times_ns):
        if document.get("k") == "header" and has_form(ProbeHeader, document):
            stream.header = stream.header or ProbeHeader.model_validate(document)
        elif document.get("k") == "sample" and has_form(SampleForm, document):
            stream.samples.append(document)
        else:
            stream.damage.bad_lines += 1
    stream.samples.sort(key=lambda sample: int(sample["t_ns"]))
    if stream.times_ns is not None:
        stream.times_ns.sort()
    return stream


def _width_ns(path: Path) -> int | None:
    """Return the length of the time of which one sample is read; None if all samples are read. [ns]"""
    return long_runs.width_ns(long_runs.first_time(path, "t_ns"), long_runs.last_time(path, "t_ns"))


def _documents(
    path: Path,
    damage: lines.Damage,
    width: int | None,
    edges_ns: Sequence[int],
    times_ns: list[int] | None = None,
) -> Iterator[dict[str, object]]:
    """Yield the documents of a stream; of a long stream, only one sample in each `width` [ns], those at the given
    edges, and the last one. The times of all samples are then added to `times_ns`.
    """
    if width is None:
        yield from lines.read(path, damage)
        return
    near = {(edge + beside) // _NEAR_NS for edge in edges_ns for beside in (-_NEAR_NS, 0, _NEAR_NS)}
    last, skipped = None, b""
    with open_regular(path) as stream:
        for line in stream:
            found = _SAMPLE.match(line)
            if found is None or not lines.is_intact(line):
                yield from lines.documents([line], damage)
                continue
            at = int(found[1])
            if times_ns is not None:
                times_ns.append(at)
            if at // width == last and at // _NEAR_NS not in near:
                skipped = line
                continue
            last, skipped = at // width, b""
            yield from lines.documents([line], damage)
    if skipped:
        yield from lines.documents([skipped], damage)


def read_services(folder: Path, edges_ns: Sequence[int] = ()) -> dict[str, ServiceStream]:
    """Read the streams of all services in `RUN/observe`, by service name; `edges_ns` is as for `read_probe`."""
    paths = sorted(
        path
        for path in folder.glob("*.ndjson")
        if path.name != PROBE_FILE and not path.name.endswith(REMOTE_PROBE_ENDING)
    )
    return {path.stem: _read_service(path, edges_ns) for path in paths}


def _read_service(path: Path, edges_ns: Sequence[int]) -> ServiceStream:
    width = _width_ns(path)
    if width is None:
        return _service(path, None, ())
    key = "service", version_of([path]), tuple(edges_ns)
    return long_runs.kept(path.parent.parent, key, partial(_service, path, width, edges_ns))


def _service(path: Path, width: int | None, edges_ns: Sequence[int]) -> ServiceStream:
    stream = ServiceStream(path.stem)
    for document in _documents(path, stream.damage, width, edges_ns):
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
