"""Reading model files: the form by the models of `file`, the meaning by the engine, all faults at their places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from towtank import yamlfile
from towtank.errors import Fault, StudyError
from towtank.model.behaviour import behaviour_document, behaviour_faults
from towtank.model.file import ClassFile, FittedFile, ModelFile, StationFile
from towtank.model.solving import check_models
from towtank.treecheck import validate_tree
from towtank.yamlfile import Document, Node, fault_at, find

COMMAND_LINE = "<command line>"
SHARES_WITHIN = 1e-6
"""Shares are decimal numbers: their sum is off by their rounding. [ratio]"""


@dataclass
class ModelProblem:
    """A model as the engine reads it, with the tree it came from.

    Attributes
    ----------
    tree : Node
        The file with changes laid over it; faults of the engine are told at its places.
    document : dict
        The model in the engine's form, times in seconds.
    """

    tree: Node
    document: dict[str, Any]

    @property
    def fitted(self) -> FittedFile | None:
        """What the numbers rest on; None of a model that was not fitted."""
        node = self.tree.child("fitted")
        return None if node is None else FittedFile.model_validate(node.plain())

    def faults(self, found: list[dict[str, Any]]) -> list[Fault]:
        """Put faults of the engine at their places in the file."""
        return sorted({self._fault(each["path"], each["message"]) for each in found})

    def _fault(self, path: list[str], message: str) -> Fault:
        for other in _spellings(path):
            if find(self.tree, other)[0].path[-1:] == other[-1:]:
                return fault_at(self.tree, other, message)
        return fault_at(self.tree, tuple(path), message)


def _spellings(path: list[str]) -> list[tuple[str, ...]]:
    """Where a fault of the engine may stand in the file: `service_time` may be written as `demand`, and so on."""
    others = {"service_time": ["demand"], "scv": ["distribution"], "think": ["think_scv", "think_distribution"],
              "arrivals": ["arrival_scv", "arrival_distribution"], "services": ["demand", "service_time"]}  # fmt: skip
    if len(path) < 3:
        return [tuple(path)]
    keys = [path[2], *others.get(path[2], [])]
    whole = [(path[0], path[1], key, *path[3:]) for key in keys]
    return whole + [(path[0], path[1], key) for key in keys]


def load_model(path: Path | str, changes: Mapping[str, str] | None = None) -> ModelProblem:
    """Read a model file.

    Parameters
    ----------
    path : Path or str
        The file.
    changes : mapping of str to str, optional
        Values from the command line by dotted path, as YAML: `stations.cpu.servers` to `8`.

    Raises
    ------
    StudyError
        With every fault.
    """
    return load_document(yamlfile.load(path), changes)


def load_document(document: Document, changes: Mapping[str, str] | None = None) -> ModelProblem:
    """Check a model that was read, with changes laid over it; raises as `load_model` does."""
    problem, faults = _read(_with_changes(document.root, changes or {}))
    if problem is None:
        raise StudyError(faults)
    if faults:
        raise StudyError(sorted({*faults, *_more_faults(problem, faults)}))
    return problem


def check_model(document: Document) -> list[Fault]:
    """All faults of a model file, those of meaning included; whether it has a steady state is not asked."""
    problem, faults = _read(document.root)
    return faults if problem is None else sorted({*faults, *_more_faults(problem, faults)})


def _more_faults(problem: ModelProblem, faults: list[Fault]) -> list[Fault]:
    """What the engine finds in a model of which faulty parts were left out, but nothing that follows from these."""
    more = problem.faults(check_models([problem.document])[0])
    wrong = {tuple(fault.where.split(".")[:2]) for fault in faults}
    names = [f'"{part[-1]}"' for part in wrong if len(part) == 2]
    return [
        fault
        for fault in more
        if tuple(fault.where.split(".")[:2]) not in wrong and not any(name in fault.message for name in names)
    ]


def _with_changes(tree: Node, changes: Mapping[str, str]) -> Node:
    """Lay changes from the command line over a tree; a change must lead to a key that there is or could be."""
    tree = tree.copy()
    for path, text in changes.items():
        parts = tuple(path.split("."))
        parent = find(tree, parts[:-1])[0]
        if parent.path != parts[:-1] or not isinstance(parent.value, dict):
            known = ", ".join(parent.value) if isinstance(parent.value, dict) else "a value without keys"
            place = yamlfile.where(parent.path) or "the top"
            message = f"must lead to something in the model, got {path!r} instead: at {place} there is {known}"
            raise StudyError.at(COMMAND_LINE, message, where=path)
        value = yamlfile.parse_value(text, COMMAND_LINE)
        value.path = parts
        yamlfile.put(tree, parts, value, (0, 0))
    return tree


def _read(tree: Node) -> tuple[ModelProblem | None, list[Fault]]:
    checked = validate_tree(tree, ModelFile)
    faults = list(checked.faults)
    model = checked.model
    if model is None:
        return None, faults
    faults += _meaning(tree, checked.tree, model)
    return ModelProblem(tree, _document(model)), sorted(set(faults))


def _meaning(whole: Node, tree: Node, model: ModelFile) -> list[Fault]:
    """What only the file can get wrong; the engine checks the rest."""
    faults = []
    for name, load in model.classes.items():
        if load.rate is not None and load.think is not None:
            message = "must be left out: arrivals of an open class do not wait for answers"
            faults.append(fault_at(tree, ("classes", name, "think"), message))
    faults += _transaction_faults(tree, model)
    for name, station in model.stations.items():
        faults += _station_faults(whole, tree, model, name, station)
    for name, pool in model.pools.items():
        if not pool.holds:
            faults.append(fault_at(tree, ("pools", name, "holds"), "must have at least one station or pool, got none"))
    faults += _draw_faults(tree, model)
    return [*faults, *behaviour_faults(tree, model)]


def _transaction_faults(tree: Node, model: ModelFile) -> list[Fault]:
    """Transactions are of closed classes, have names of their own, and shares that make a whole."""
    faults, owner = [], dict.fromkeys(model.classes, "a class")
    for name, load in model.classes.items():
        path = ("classes", name, "transactions")
        if load.transactions and load.rate is not None:
            message = "must be left out: an open class has no users that do one after the other; give it a class each"
            faults.append(fault_at(tree, path, message, key=True))
        if load.transactions and name in model.routing:
            message = "must be left out for a class with a routing: give the stations visits"
            faults.append(fault_at(tree, path, message, key=True))
        total = sum(one.share for one in load.transactions.values())
        if load.transactions and abs(total - 1) > SHARES_WITHIN:
            faults.append(fault_at(tree, path, f"must be shares that make 100 % together, got {100 * total:.6g} %"))
        for each in load.transactions:
            if each in owner:
                message = f"must be a name of its own, got {each!r}, which is {owner[each]} too"
                faults.append(fault_at(tree, (*path, each), message, key=True))
            owner.setdefault(each, f"a transaction of {name}")
    return faults


def _draw_faults(tree: Node, model: ModelFile) -> list[Fault]:
    """Replicates are of stations of the model, and each has as many as the others: they were drawn together."""
    rows = model.fitted.draws if model.fitted is not None else {}
    counts = {name: len(row) for name, row in rows.items()}
    faults = []
    for name, count in counts.items():
        at = ("fitted", "draws", name)
        if name not in model.stations:
            near = yamlfile.did_you_mean(name, list(model.stations))
            faults.append(fault_at(tree, at, f"must be a station of the model, got {name!r} instead{near}", key=True))
        if count != max(counts.values()):
            faults.append(fault_at(tree, at, f"must have as many values as the others, got {count} instead"))
    return faults


def _station_faults(whole: Node, tree: Node, model: ModelFile, name: str, station: StationFile) -> list[Fault]:
    faults = []

    def tell(key: str, message: str, *rest: str) -> None:
        faults.append(fault_at(tree, ("stations", name, key, *rest), message, key=bool(rest)))

    chains = _chains(model)
    known = [*model.classes, *chains]
    if station.demand is not None and (station.service_time is not None or station.visits is not None):
        tell("demand", "must not be given together with 'service_time' and 'visits': it is their product")
    given = find(whole, ("stations", name))[0].value
    if "demand" not in given and "service_time" not in given:
        tell(name, "must have the key 'demand' or 'service_time', got none")
    for key in ("demand", "service_time", "visits", "scv", "distribution"):
        value = getattr(station, key)
        for one in value if isinstance(value, dict) else ():
            if one not in known:
                near = yamlfile.did_you_mean(one, known)
                tell(key, f"must be a class of the model ({', '.join(known)}), got {one!r} instead{near}", one)
    if station.demand is not None:
        routed = [one for one in model.routing if one in _times(model, station)]
        if routed:
            tell("demand", f"must be 'service_time' here: the routing of {routed[0]!r} says how often it comes")
    if station.at_once is not None and (station.discipline != "ps" or station.at_once < station.servers):
        tell("at_once", f"must be at discipline ps, and {station.servers} at least, which is the number of servers")
    if station.priority is not None:
        if station.discipline != "priority":
            tell("priority", "must be left out: the discipline is not priority")
        coming = dict.fromkeys(chains.get(one, one) for one in _times(model, station))
        missing = [one for one in coming if one not in station.priority]
        unknown = [one for one in station.priority if one not in model.classes]
        if missing or unknown:
            got = f"{missing[0]!r} is missing" if missing else f"{unknown[0]!r} is no class"
            tell("priority", f"must name every class that comes here once, got a list where {got}")
    return faults


def _times(model: ModelFile, station: StationFile) -> dict[str, float]:
    """Service time, or demand, of each class that comes to a station."""
    value = station.demand if station.demand is not None else station.service_time
    return {} if value is None else _each(model, value)


def _chains(model: ModelFile) -> dict[str, str]:
    """The class of each transaction."""
    return {each: name for name, load in model.classes.items() for each in load.transactions}


def _each(model: ModelFile, value: Any) -> dict[str, Any]:
    """One value for each class, or transaction of one, that is meant."""
    given = value if isinstance(value, dict) else dict.fromkeys(model.classes, value)
    found: dict[str, Any] = {}
    for name, load in model.classes.items():
        for each in load.transactions or (name,):
            if each in given or name in given:
                # What is said of a transaction goes before what is said of its class.
                found[each] = given.get(each, given.get(name))
    return found


def _document(model: ModelFile) -> dict[str, Any]:
    """The model in the engine's form."""
    return {
        "classes": [
            {
                "name": name,
                "users": load.users,
                "think_time_s": load.think or 0.0,
                "think": _variation(load.think_distribution, load.think_scv),
                "arrival_rate_per_s": load.rate,
                "arrivals": _variation(load.arrival_distribution, load.arrival_scv),
                "priority": load.priority,
                **_transactions(load),
            }
            for name, load in model.classes.items()
        ],
        "stations": [_station(model, name, station) for name, station in model.stations.items()],
        "pools": [{"name": name, **pool.model_dump()} for name, pool in model.pools.items()],
        "forks": [{"name": name, **fork.model_dump()} for name, fork in model.forks.items()],
        "routing": [
            {"class": name, "start": route.get("start", {}), "next": {k: v for k, v in route.items() if k != "start"}}
            for name, route in model.routing.items()
        ],
        "behaviour": behaviour_document(model),
    }


def _transactions(load: ClassFile) -> dict[str, Any]:
    """What users of a class do, where the file says it; the engine does not know the key."""
    if not load.transactions:
        return {}
    return {
        "transactions": [
            {"name": name, "share": one.share, "think_time_s": one.think} for name, one in load.transactions.items()
        ]
    }


def _variation(distribution: str | None, scv: float | None) -> dict[str, Any]:
    return {"distribution": distribution, "scv": scv}


def _station(model: ModelFile, name: str, station: StationFile) -> dict[str, Any]:
    visits = _each(model, station.visits) if station.visits is not None else {}
    scv = _each(model, station.scv) if station.scv is not None else {}
    forms = _each(model, station.distribution) if station.distribution is not None else {}
    chains = _chains(model)
    ranks = {one: place for place, one in enumerate(station.priority or (), start=1)}
    return {
        "name": name,
        "discipline": station.discipline,
        "servers": station.servers,
        "rates": station.rates or [],
        "capacity": station.capacity,
        "at_once": station.at_once,
        "preemptive": station.preemptive,
        "services": [
            {
                "class": one,
                "visits": visits.get(one),
                "service_time_s": time,
                "variation": _variation(forms.get(one), scv.get(one)),
                "priority": ranks.get(chains.get(one, one)),
            }
            for one, time in _times(model, station).items()
        ],
    }
