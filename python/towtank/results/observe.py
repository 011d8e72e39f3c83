"""Reads the records of the observers: the probe's samples and the streams of the services.

As with the engine's segments, whole lines are kept and the rest is counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from towtank.results import lines
from towtank.results.stream_forms import has_form

PROBE = "probe.ndjson"
REMOTE_PROBE = ".probe.ndjson"
"""Ending of the stream of a probe on another machine, after the name of the host; no service has a dot in its name."""
GENERATOR_GROUP = "generator"
"""Group of the load generator in the probe's samples; it is no tier."""
TARGET_GROUP = "target"
"""Beginning of the names of groups that are servers of this machine which Towtank did not start; they are no tiers."""
THIS_MACHINE = "this_machine"
"""Name of the conductor's machine beside those of other machines."""
NOT_ATTRIBUTED = "not attributed"
"""Stands beside the tiers for the use of a machine that belongs to none of them."""
MEMBER_REQUESTS = "balancer_member_requests_total"
"""Requests that a balancer gave to a member, whatever the balancer; with the label `member`."""


@dataclass
class ProbeStream:
    """Samples of one host.

    Attributes
    ----------
    header : dict
        First line; empty if it is missing.
    samples : list of dict
        In the order of their time.
    damage : Damage
        What could not be read.
    """

    header: dict[str, Any] = field(default_factory=dict)
    samples: list[dict[str, Any]] = field(default_factory=list)
    damage: lines.Damage = field(default_factory=lines.Damage)


@dataclass
class ServiceStream:
    """Metrics that one service reports.

    Attributes
    ----------
    service, kind : str
        Name of the service in the system file, and its kind.
    samples : list of dict
        Lines with `t_ns`, `took_s` and `values`, in the order of their time.
    failures : list of dict
        Scrapes that failed, with `t_ns` and `message`.
    conclusion : dict
        Answer of the service to a single query after the load; empty without a query.
    """

    service: str
    kind: str = ""
    samples: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    conclusion: dict[str, Any] = field(default_factory=dict)
    damage: lines.Damage = field(default_factory=lines.Damage)


def read_probe(folder: Path) -> ProbeStream:
    """Read `RUN/observe/probe.ndjson`; an empty stream if it does not exist."""
    return _read_probe(folder / PROBE)


def read_remote_probes(folder: Path) -> dict[str, ProbeStream]:
    """Read `RUN/observe/HOST.probe.ndjson`, the streams of probes on other machines, by host; on their own clocks."""
    paths = sorted(folder.glob(f"*{REMOTE_PROBE}"))
    return {path.name.removesuffix(REMOTE_PROBE): _read_probe(path) for path in paths}


def _read_probe(path: Path) -> ProbeStream:
    stream = ProbeStream()
    if not path.is_file():
        return stream
    for document in lines.read(path, stream.damage):
        if document.get("k") == "header":
            stream.header = stream.header or document
        elif document.get("k") == "sample" and has_form("sample", document):
            stream.samples.append(document)
        else:
            stream.damage.bad_lines += 1
    stream.samples.sort(key=_time)
    return stream


def read_services(folder: Path) -> dict[str, ServiceStream]:
    """Read the streams of all services in `RUN/observe`, by name of the service."""
    paths = sorted(
        path for path in folder.glob("*.ndjson") if path.name != PROBE and not path.name.endswith(REMOTE_PROBE)
    )
    return {path.stem: _read_service(path) for path in paths}


def _read_service(path: Path) -> ServiceStream:
    stream = ServiceStream(path.stem)
    for document in lines.read(path, stream.damage):
        kind = document.get("k")
        if kind == "header":
            stream.kind = str(document.get("kind", ""))
        elif kind == "metrics" and has_form("metrics", document):
            stream.samples.append(document)
        elif kind == "failure" and _is_time(document.get("t_ns")):
            stream.failures.append(document)
        elif kind == "conclusion" and isinstance(document.get("conclusion"), dict):
            stream.conclusion = document["conclusion"]
        else:
            stream.damage.bad_lines += 1
    stream.samples.sort(key=_time)
    return stream


def _is_time(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _time(document: dict[str, Any]) -> int:
    return int(document["t_ns"])
