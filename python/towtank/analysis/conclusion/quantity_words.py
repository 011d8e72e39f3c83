"""Renders the quantities of claims in words, such as `mean response time of search` for `mean of search`."""

from __future__ import annotations

from contextlib import suppress

from towtank.analysis.study_summary import ObjectiveAnswer
from towtank.study import read_metric, unit_of_metric

_TIMES = {"mean": "mean response time", "min": "least response time", "max": "longest response time"}
_NAMES = {
    "throughput_per_s": "throughput",
    "request_throughput_per_s": "throughput of requests",
    "errors_share": "failed transactions",
    "cpus_used": "CPU use",
    "cpu_demand_s": "CPU time per transaction",
    "cpu_us_per_request": "CPU time per request [µs]",
    "recovery_s": "recovery time",
    "response_mean_s": "mean response time",
    "mean_s": "mean response time",
    "p95_s": "p95 of the response time",
    "worst_p95_s": "largest p95 of the response time",
    "memory_bytes": "memory",
    "socket_memory_bytes": "memory of sockets",
    "lost": "lost objects",
    "different": "altered objects",
    "unreadable": "unreadable objects",
    "acknowledged": "confirmed objects",
}
# Words before the name of a metric of a service, which stays as the service writes it.
_OF_METRICS = {"per_s": "rate of", "mean": "mean", "max": "largest"}
_PHASES = {"ramp_up": "ramp-up", "ramp_down": "ramp-down"}
# Parts of a path that a name follows, which the user may have chosen.
_BEFORE_NAMES = {"transactions", "tiers", "hosts", "services", "kinds", "mounts", "servers", "disks", "parts"}
_BEFORE_NAMES |= {"balance", "spread", "members", "phases", "events"}
# Parts of a path that only group other parts.
_GROUPS = _BEFORE_NAMES | {"host", "machine", "stored", "generator", "connections", "storage", "during", "tcp"}
_GROUPS |= {"errors", "response_time_s", "exchange_time_s", "not_attributed"}
SHARES = ("share", "errors_share")
"""Last parts of the paths of quantities that are shares of all transactions, in [0, 1]."""


def quantity_words(of: str) -> str:
    """Render a quantity of a claim in words; the text of the claim if it is no known quantity.

    Examples
    --------
    >>> quantity_words("p95 of search"), quantity_words("stored.lost")
    ('p95 of the response time of search', 'lost objects')
    >>> quantity_words("hosts.*.disks.*.read_operations_per_s"), quantity_words("tiers.*.cpus_used")
    ('read operations of all disks', 'CPU use of all tiers')
    >>> quantity_words('services.*.jvm_gc_pauses_total{kind="full"}.per_s')
    'rate of jvm_gc_pauses_total{kind="full"} of all services'
    >>> quantity_words("tiers.storage.cpus_used"), quantity_words("storage.mounts.area.servers.store-1.read_share")
    ('CPU use of storage', 'read share of area, store-1')
    >>> quantity_words("phases.ramp_up.tiers.database.cpus_used")
    'CPU use of database in the ramp-up'
    >>> quantity_words("events.disk_filled.during.throughput_per_s")
    'throughput while disk was filled'
    """
    try:
        path = read_metric(of)
    except ValueError:
        return of
    if path[0] == "services" and path[-1] in _OF_METRICS:
        return f"{_OF_METRICS[path[-1]]} {path[-2]}{_owner(path[:-1])}{_when(path)}"
    return f"{_head(path)}{_owner(path)}{_when(path)}"


def comparing_adjective(of: str) -> str:
    """Return the word that compares values of a quantity, as in `4 times as long`."""
    with suppress(ValueError):
        path = read_metric(of)
        if "cpu" not in path[-1]:
            return {"s": "long", "/s": "high"}.get(unit_of_metric(path), "much")
    return "much"


def readable(name: str) -> str:
    """Render a name of a file of the study with blanks instead of underscores."""
    return name.replace("_", " ")


def _head(path: tuple[str, ...]) -> str:
    last = path[-1]
    if path[-2:-1] == ("parts",):
        return _NAMES["cpus_used"]
    if "response_time_s" in path[:-1]:
        return _TIMES.get(last, f"{last} of the response time")
    if path == ("errors", "share"):
        return _NAMES["errors_share"]
    return _NAMES.get(last) or readable(last.removesuffix("_per_s").removesuffix("_bytes").removesuffix("_s"))


def _owner(path: tuple[str, ...]) -> str:
    """Render the transaction, service, host or kind of object to which a quantity belongs; empty without one."""
    apart = {place + 1 for place, part in enumerate(path) if part in ("phases", "events")}
    owners = path if path[-2:-1] == ("parts",) else path[:-1]
    names, is_name = [], False
    for place, part in enumerate(owners):
        is_name = not is_name and place > 0 and owners[place - 1] in _BEFORE_NAMES
        if (part in _GROUPS and not is_name) or place in apart:
            continue
        if part != "*":
            names.append(part)
        elif "*" not in owners[place + 1 :]:
            names.append(f"all {owners[place - 1]}" if place else "all")
    if path[0] in ("host", "machine"):
        names = ["the machine", *names]
    elif path[0] == "generator":
        names = ["the load generator", *names]
    if names == ["reached"]:
        return " that reach the disk"
    if not names:
        return ""
    return f" of {', '.join(map(readable, names))}"


def _when(path: tuple[str, ...]) -> str:
    """Render the phase or event to which a quantity is limited; empty if it concerns the steady state."""
    if "phases" in path:
        phase = path[path.index("phases") + 1]
        return f" in the {_PHASES.get(phase, phase)}"
    if path[0] == "events":
        return f" {_event(path[1], is_during='during' in path)}"
    return ""


def _event(name: str, *, is_during: bool) -> str:
    """Render the time of an event: `while node was restarted` if its name has a noun and a participle."""
    thing, _, happened = name.rpartition("_")
    if thing and happened.endswith("ed"):
        return f"{'while' if is_during else 'after'} {readable(thing)} was {happened}"
    return f"{'during' if is_during else 'after'} {readable(name)}"


def objective_words(text: str) -> str:
    """Render an objective in words.

    Examples
    --------
    >>> objective_words("stored.lost <= 0"), objective_words("p95 of search < 1 s")
    ('lost objects ≤ 0', 'p95 of search < 1 s')
    """
    first, _, rest = text.partition(" ")
    name = quantity_words(first) if first.startswith("stored.") else first
    return f"{name} {rest}".rstrip().replace("<=", "≤").replace(">=", "≥")


def objective_load(objective: ObjectiveAnswer) -> str:
    """Render the load that an objective names, such as `500 users`; empty if it applies to every load."""
    if objective.users is not None:
        return f"{objective.users:,.10g} users"
    return "" if objective.rate is None else f"{objective.rate:,.10g} /s"


def transactions_words(of: str) -> str:
    """Render the transactions of a share of failed transactions, with the name of a transaction if it has one.

    Examples
    --------
    >>> transactions_words("errors of add_document"), transactions_words("errors")
    ('add document transactions', 'transactions')
    """
    name = quantity_words(of).partition(" of ")[2]
    return f"{name} transactions" if name else "transactions"


def is_count(of: str) -> bool:
    """Return True if a quantity is a number of objects, such as lost ones."""
    with suppress(ValueError):
        return read_metric(of)[0] == "stored"
    return False
