"""Reads the quantities of claims. A quantity is a metric as in objectives, or a path in the summary of a run.

Each quantity on the left is converted to the path on the right:

    p95 of search                       transactions.search.response_time_s.p95
    mean of search in ramp_up           transactions.search.phases.ramp_up.mean_s
    throughput                          throughput_per_s
    tiers.database.cpus_used            the value at this path of the summary
    hosts.*.disks.*.read_bytes_per_s    the sum over all hosts and disks
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from towtank.spelling import did_you_mean, misnamed
from towtank.study.objectives import METRICS, PHASES, STORED, TIMES

PER_LOAD = "load"
"""Keyword in `per` of a claim that divides a quantity by the load of the run: number of users [1] or arrival rate
[1/s].
"""
EACH_NAME = "*"
_WORDS = re.compile(r"(?P<metric>[a-z][\w.]*)(?:\s+of\s+(?P<transaction>[A-Za-z][\w-]*))?(?:\s+in\s+(?P<phase>\w+))?")
_DISK = (
    *("read_bytes_per_s", "write_bytes_per_s", "read_operations_per_s", "write_operations_per_s"),
    *("utilization", "busy_share", "queue_length", "free_bytes_least", "free_inodes_least"),
)
_EARLIER_STORED = {"told": "acknowledged"}
"""Earlier names of counts under the key `stored`, each with its present name; claims may use both."""
_STORED = ("acknowledged", "removed", "uncertain", "read", "found", *(name.removeprefix("stored.") for name in STORED))
_TCP = ("listen_overflows", "listen_drops", "retransmits", "needless_retransmits", "timeouts", "probe_recoveries")
_NETWORK = ("receive_bytes_per_s", "transmit_bytes_per_s", "receive_packets_per_s", "transmit_packets_per_s")
_SHARES = ("fairness", "utilization", "steal")
"""Metrics that are shares (numbers from 0 to 1) although their names do not end in `share`."""

# Permitted paths in the summary of a run. A placeholder such as `<transaction>` stands for a name; the value at each
# path is a number or an estimate.
_FORMS: tuple[str, ...] = (
    *("throughput_per_s", "request_throughput_per_s", "users.mean", "errors.share", "limit"),
    *(f"{kind}.{time}" for kind in ("response_time_s", "exchange_time_s") for time in TIMES),
    "transactions.<transaction>.throughput_per_s",
    "transactions.<transaction>.errors_share",
    *(f"transactions.<transaction>.response_time_s.{time}" for time in TIMES),
    *(f"transactions.<transaction>.phases.<phase>.{key}" for key in ("count", "mean_s", "p95_s")),
    *(f"phases.<phase>.{key}" for key in ("throughput_per_s", "response_mean_s")),
    *(f"not_attributed.<any>.{key}" for key in ("cpus_used", "memory_bytes")),
    *(f"not_attributed.<any>.{key}" for key in ("disk_read_bytes_per_s", "disk_write_bytes_per_s")),
    "phases.<phase>.tiers.<service>.cpus_used",
    "phases.<phase>.tiers.<service>.parts.<any>",
    *(f"tiers.<service>.{key}" for key in ("cpus_used", "cpu_user", "cpu_system", "utilization", "cpu_demand_s")),
    *(f"tiers.<service>.{key}" for key in ("memory_bytes", "resident_sets_bytes", "major_faults_per_s")),
    *(f"tiers.<service>.{key}" for key in ("disk_read_bytes_per_s", "disk_write_bytes_per_s")),
    *(f"tiers.<service>.parts.<any>.{key}" for key in ("cpus_used", "cpu_demand_s")),
    *(f"host.{key}" for key in ("cpus_used", "steal", "memory_available_bytes", "pressure.<any>")),
    *(f"host.tcp.{key}" for key in _TCP),
    "host.tcp_memory_bytes",
    *(f"host.disks.<any>.{key}" for key in _DISK[:5]),
    *(f"hosts.<host>.{key}" for key in ("cpus_used", "utilization", "throttled_share", "throttled_s_per_s")),
    *(
        f"hosts.<host>.{key}"
        for key in ("memory_bytes", "memory_cache_bytes", "socket_memory_bytes", "page_cache_refaults_per_s")
    ),
    *(f"hosts.<host>.{key}" for key in ("major_faults_per_s", "out_of_memory_kills", *_NETWORK)),
    *(f"hosts.<host>.{key}" for key in ("receive_drops", "transmit_drops", "pressure.<any>")),
    *(f"hosts.<host>.tcp.{key}" for key in _TCP),
    *(f"hosts.<host>.disks.<any>.{key}" for key in _DISK),
    *(
        f"hosts.<host>.disks.<any>.{key}"
        for key in ("size_bytes", "size_inodes", "bytes_full_in_s", "inodes_full_in_s")
    ),
    *(f"storage.{side}.{key}" for side in ("asked", "reached") for key in _DISK[:2]),
    *(f"storage.reached.{key}" for key in _DISK[2:4]),
    "storage.asked.calls_per_s",
    *(f"storage.mounts.<service>.{key}" for key in (*_DISK[:2], "calls_per_s", "server_calls_per_s")),
    *(f"storage.mounts.<service>.{key}" for key in ("cache_limit_bytes", "cache_bytes", "cache_files")),
    *(f"storage.mounts.<service>.servers.<service>.{key}" for key in ("calls_per_s", "read_share")),
    *(f"machine.{key}" for key in ("cpus_used", "overcommit", "throttled_s_per_s", "steal")),
    *(f"balance.<service>.{key}" for key in ("fairness", "members.<any>.share")),
    *(f"spread.<any>.{key}" for key in ("fairness", "members.<service>.throughput_per_s", "members.<service>.share")),
    *(f"stored.{key}" for key in _STORED),
    *(f"stored.kinds.<kind>.{key}" for key in _STORED),
    "events.<event>.recovery_s",
    "events.<event>.during.failed_requests.<any>",
    *(f"events.<event>.during.{key}" for key in ("throughput_per_s", "missed_transactions", "worst_p95_s")),
    *(f"services.<service>.<any>.{key}" for key in ("per_s", "mean", "max")),
    *(f"generator.{key}" for key in ("cpus_used", "cpu_us_per_request")),
    *(f"connections.{key}" for key in ("open_mean", "opened_per_s", "wait_time_s.mean", "wait_time_s.p99")),
    *(f"connections.wait_time_s.{key}" for key in ("share_waited", "share_of_response_time")),
)


@dataclass(frozen=True)
class Names:
    """Names that a path may contain, by kind of name. None means that every name of this kind is allowed."""

    transactions: Sequence[str] | None = None
    services: Sequence[str] | None = None
    hosts: Sequence[str] | None = None
    events: Sequence[str] | None = None
    kinds: Sequence[str] | None = None

    def of(self, place: str) -> Sequence[str] | None:
        """Return the names allowed in place of a placeholder; None if any name is allowed."""
        known: dict[str, Sequence[str] | None] = {
            "transaction": self.transactions,
            "service": self.services,
            "host": self.hosts,
            "event": self.events,
            "kind": self.kinds,
            "phase": PHASES,
        }
        return known.get(place)


def read_metric(text: str) -> tuple[str, ...]:
    """Read the path of a quantity in the summary of a run.

    Raises
    ------
    ValueError
        If the text is neither a metric of objectives nor a path in a summary.

    Examples
    --------
    >>> read_metric("p99.9 of search")
    ('transactions', 'search', 'response_time_s', 'p99.9')
    >>> read_metric("mean of search in ramp_up")
    ('transactions', 'search', 'phases', 'ramp_up', 'mean_s')
    """
    words = _WORDS.fullmatch(text.strip())
    if words is not None and words["metric"] in METRICS and words["metric"] not in STORED:
        return _path_of_words(text, words["metric"], words["transaction"], words["phase"])
    path = _present(_split(text.strip()))
    if not any(_fits(path, form) for form in _SPLIT_FORMS):
        allowed = f"one of {', '.join(METRICS)} [of TRANSACTION] [in PHASE], or a path of the summary of a run"
        near = _near(path)
        raise ValueError(f"must be {allowed} such as tiers.SERVICE.cpus_used, got {text!r} instead{near}")
    return path


def _present(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return a path in which the earlier name of a stored count is replaced by the present name."""
    return (*path[:-1], _EARLIER_STORED.get(path[-1], path[-1])) if path[0] == "stored" else path


def _near(path: tuple[str, ...]) -> str:
    """Return a hint that suggests the metric or path most similar to an unknown path."""
    forms = [
        ".".join(mine if part.startswith("<") else part for mine, part in zip(path, form, strict=True))
        for form in _SPLIT_FORMS
        if len(form) == len(path)
    ]
    return did_you_mean(".".join(path), [*METRICS, *forms])


def wrong_names(path: tuple[str, ...], names: Names) -> list[str]:
    """Return a message for each unknown name in a path. If `names` has None for a kind, names of this kind are not
    checked.
    """
    found = []
    form = next(form for form in _SPLIT_FORMS if _fits(path, form))
    for part, place in zip(path, form, strict=True):
        known = names.of(place.strip("<>")) if place.startswith("<") else None
        if known is not None and part != EACH_NAME and part not in known:
            kind = place.strip("<>")
            allowed = f"{'an' if kind == 'event' else 'a'} {kind} of the study ({', '.join(known) or 'it has none'})"
            found.append(misnamed(f"about {allowed}", part, known))
    return found


def adds_up(text: str) -> bool:
    """Return True if values of a quantity may be added up over several runs. The sum of percentiles, extremes or
    ratios has no meaning.

    The result for an unknown quantity is True, because another check reports this fault.
    """
    try:
        last = read_metric(text)[-1]
    except ValueError:
        return True
    if last.endswith("share") or last in _SHARES:
        return False
    return last == "mean" or last not in (*TIMES, "p95_s")


def unit_of_metric(path: tuple[str, ...]) -> str:
    """Return the unit of a quantity: `s`, `/s`, `B`, `B/s`, or an empty string for numbers and shares."""
    if path[0] == "services":
        return ""  # The unit of a metric that a service itself defines is unknown.
    last = path[-1] if path[-1] not in TIMES else "response_time_s"
    for end, unit in (("bytes_per_s", "B/s"), ("_s_per_s", ""), ("per_s", "/s"), ("_bytes", "B"), ("_s", "s")):
        if last.endswith(end):
            return unit
    return "B" if last in ("free_bytes_least", "size_bytes") else ""


def _path_of_words(text: str, metric: str, transaction: str | None, phase: str | None) -> tuple[str, ...]:
    """Convert a metric in words, such as `p95 of search in ramp_up`, to its path in a run summary."""
    about = ("transactions", transaction) if transaction else ()
    if phase is None:
        if metric == "throughput":
            return (*about, "throughput_per_s")
        if metric == "errors":
            return (*about, "errors_share") if transaction else ("errors", "share")
        return (*about, "response_time_s", metric)
    if phase not in PHASES:
        raise ValueError(misnamed(f"in one of {', '.join(PHASES)}", phase, PHASES, is_form=True))
    if transaction and metric in ("mean", "p95"):
        return (*about, "phases", phase, f"{metric}_s")
    if not transaction and metric in ("mean", "throughput"):
        return ("phases", phase, "response_mean_s" if metric == "mean" else "throughput_per_s")
    raise ValueError(
        "must be mean or throughput in a phase, or mean or p95 of a transaction in a phase "
        f"(no other values of phases are stored), got {text!r} instead"
    )


def _split(text: str) -> tuple[str, ...]:
    """Split a path at its dots, except at dots within the name of a service metric and in `p99.9`."""
    parts = text.split(".")
    if parts[0] == "services" and len(parts) > 3:
        return (parts[0], parts[1], ".".join(parts[2:-1]), parts[-1])
    if parts[-2:] == ["p99", "9"]:
        parts[-2:] = ["p99.9"]
    return tuple(parts)


def _fits(path: tuple[str, ...], form: tuple[str, ...]) -> bool:
    """Return True if a path matches a pattern in which a placeholder matches any name."""
    return len(path) == len(form) and all(
        bool(part) if place.startswith("<") else part == place for part, place in zip(path, form, strict=True)
    )


_SPLIT_FORMS = tuple(_split(form) for form in _FORMS)
