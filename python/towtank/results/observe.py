"""Reads the records of probes and scrapers: the samples of each probe, and the metrics of each service. Damaged lines
are skipped and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from towtank.results import lines
from towtank.results.stream_forms import MetricsForm, ProbeHeader, SampleForm, has_form

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
    """Samples of a probe on one host, in order of time. The header is None if it is missing, and `damage` counts the
    unreadable lines.
    """

    header: ProbeHeader | None = None
    samples: list[dict[str, Any]] = field(default_factory=list)
    damage: lines.Damage = field(default_factory=lines.Damage)


@dataclass
class ServiceStream:
    """Metrics that one service reported during a run.

    Attributes
    ----------
    service, kind : str
        Name of the service in the system file, and its kind.
    samples : list of dict
        Lines with `t_ns`, `took_s` and `values`, in the order of time.
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


def read_probe(folder: Path) -> ProbeStream:
    """Read `RUN/observe/probe.ndjson`. If the file does not exist, the stream is empty."""
    return _read_probe(folder / PROBE_FILE)


def read_remote_probes(folder: Path) -> dict[str, ProbeStream]:
    """Read the streams of probes on other machines, `RUN/observe/HOST.probe.ndjson`, by host. The times in a stream are
    from the clock of the machine on which the probe ran.
    """
    paths = sorted(folder.glob(f"*{REMOTE_PROBE_ENDING}"))
    return {path.name.removesuffix(REMOTE_PROBE_ENDING): _read_probe(path) for path in paths}


def _read_probe(path: Path) -> ProbeStream:
    stream = ProbeStream()
    if not path.is_file():
        return stream
    for document in lines.read(path, stream.damage):
        if document.get("k") == "header" and has_form(ProbeHeader, document):
            stream.header = stream.header or ProbeHeader.model_validate(document)
        elif document.get("k") == "sample" and has_form(SampleForm, document):
            stream.samples.append(document)
        else:
            stream.damage.bad_lines += 1
    stream.samples.sort(key=lambda sample: int(sample["t_ns"]))
    return stream


def read_services(folder: Path) -> dict[str, ServiceStream]:
    """Read the streams of all services in `RUN/observe`, by service name."""
    paths = sorted(
        path
        for path in folder.glob("*.ndjson")
        if path.name != PROBE_FILE and not path.name.endswith(REMOTE_PROBE_ENDING)
    )
    return {path.stem: _read_service(path) for path in paths}


def _read_service(path: Path) -> ServiceStream:
    stream = ServiceStream(path.stem)
    for document in lines.read(path, stream.damage):
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
