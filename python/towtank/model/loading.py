"""Reads model files and converts them to the engine's format.

The classes in the module `file` check keys and types; the engine checks the meaning. Faults refer to lines of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from towtank import yamlfile
from towtank.errors import COMMAND_LINE, Fault, StudyError
from towtank.model.behaviour import behaviour_document, behaviour_faults
from towtank.model.between import Between, mean_of
from towtank.model.engine_model import (
    EngineModel,
    Fork,
    JobClass,
    Pool,
    Route,
    Service,
    Station,
    Transaction,
    Variation,
)
from towtank.model.file import FittedFile, ModelFile, StationFile
from towtank.model.solved import SolverFault
from towtank.model.solving import check_models
from towtank.spelling import did_you_mean
from towtank.treecheck import validate_tree
from towtank.yamlfile import Document, Node, fault_at, find

_Value = TypeVar("_Value")
SHARES_WITHIN = 1e-6
"""Largest accepted difference between 1 and the sum of transaction shares; decimal numbers are rounded. [ratio]"""


@dataclass
class ModelProblem:
    """Model in the form of the engine, with the YAML tree of its file.

    Attributes
    ----------
    tree : Node
        YAML tree of the file, with the changes from the command line. It is needed to find the lines of the engine's
        faults.
    document : EngineModel
        The model in the engine's form, with times in seconds.
    """

    tree: Node
    document: EngineModel

    @property
    def fitted(self) -> FittedFile | None:
        """Measurements behind a fitted model; None for a model that was not fitted."""
        node = self.tree.child("fitted")
        return None if node is None else FittedFile.model_validate(node.plain())

    def faults(self, found: Iterable[SolverFault]) -> list[Fault]:
        """Return faults from the engine, each with its line in the model file."""
        return sorted({self._fault(each.path, each.message) for each in found})

    def _fault(self, path: tuple[str, ...], message: str) -> Fault:
        for other in _spellings(path):
            if find(self.tree, other)[0].path[-1:] == other[-1:]:
                return fault_at(self.tree, other, message)
        return fault_at(self.tree, path, message)


def _spellings(path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the keys of the model file that can cause a fault at this path of the engine's model.

    For example, `service_time` of the engine stems from `service_time` or `demand`.
    """
    others = {"service_time": ["demand"], "scv": ["distribution"], "think": ["think_scv", "think_distribution"],
              "arrivals": ["arrival_scv", "arrival_distribution"], "services": ["demand", "service_time"]}  # fmt: skip
    if len(path) < 3:
        return [path]
    keys = [path[2], *others.get(path[2], [])]
    whole = [(path[0], path[1], key, *path[3:]) for key in keys]
    return whole + [(path[0], path[1], key) for key in keys]


def load_model(path: Path | str, changes: Mapping[str, str] | None = None) -> ModelProblem:
    """Read and check a model file.

    The changes are values from the command line by dotted path, as YAML text, such as `stations.cpu.servers`: `8`.

    Raises
    ------
    StudyError
        If the file is invalid; contains every fault.
    """
    return load_document(yamlfile.load(path), changes)


def load_document(document: Document, changes: Mapping[str, str] | None = None) -> ModelProblem:
    """Check a parsed model file, after applying changes from the command line; raises StudyError with all faults."""
    problem, faults = _read(_with_changes(document.root, changes or {}))
    if problem is None:
        raise StudyError(faults)
    if faults:
        raise StudyError(sorted({*faults, *_more_faults(problem, faults)}))
    return problem


def check_model(document: Document) -> list[Fault]:
    """Return all faults of a model file, including faults that the engine finds. The model is not solved."""
    problem, faults = _read(document.root)
    return faults if problem is None else sorted({*faults, *_more_faults(problem, faults)})


def _more_faults(problem: ModelProblem, faults: list[Fault]) -> list[Fault]:
    """Return the faults that the engine finds and that are not consequences of the faults already found."""
    more = problem.faults(check_models([problem.document])[0])
    wrong = {tuple(fault.where.split(".")[:2]) for fault in faults}
    names = [f'"{part[-1]}"' for part in wrong if len(part) == 2]
    # A fault in a demand also makes the engine report that the class visits no station.
    follows = {f"classes.{fault.where.rpartition('.')[2]}" for fault in faults if ".demand." in fault.where}
    return [
        fault
        for fault in more
        if tuple(fault.where.split(".")[:2]) not in wrong
        and fault.where not in follows
        and not any(name in fault.message for name in names)
    ]


def _with_changes(tree: Node, changes: Mapping[str, str]) -> Node:
    """Apply changes from the command line to the YAML tree of a model file.

    The path of a change must lead to a key that exists or is allowed.
    """
    tree = tree.copy()
    for path, text in changes.items():
        parts = tuple(path.split("."))
        parent = find(tree, parts[:-1])[0]
        if parent.path != parts[:-1] or not isinstance(parent.value, dict):
            known = ", ".join(parent.value) if isinstance(parent.value, dict) else "a value without keys"
            place = yamlfile.where(parent.path) or "the top"
            message = f"must lead to a key of the model, got {path!r} instead: at {place} there is {known}"
            raise StudyError.of_option(path, message)
        value = yamlfile.parse_value(text, COMMAND_LINE, path)
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
    """Return those faults in the meaning of a model that the engine does not detect."""
    faults = []
    for name, load in model.classes.items():
        if load.rate is not None and load.think is not None:
            message = "must be left out: arrivals of an open class do not wait for responses"
            faults.append(fault_at(tree, ("classes", name, "think"), message))
        for key in ("think_distribution", "think_scv"):
            if isinstance(load.think, Between) and getattr(load, key) is not None:
                message = f"must be left out: {load.think} is a distribution"
                faults.append(fault_at(tree, ("classes", name, key), message))
    faults += _transaction_faults(tree, model)
    for name, station in model.stations.items():
        faults += _station_faults(whole, tree, model, name, station)
        faults += _bounds_faults(tree, model, name, station)
    for name, pool in model.pools.items():
        if not pool.holds:
            faults.append(fault_at(tree, ("pools", name, "holds"), "must have at least one station or pool, got none"))
    faults += _draw_faults(tree, model)
    return [*faults, *behaviour_faults(tree, model)]


def _transaction_faults(tree: Node, model: ModelFile) -> list[Fault]:
    """Check that only closed classes have transactions, with unique names and shares that add up to 100 %."""
    faults, owner = [], dict.fromkeys(model.classes, "a class")
    for name, load in model.classes.items():
        path = ("classes", name, "transactions")
        if load.transactions and load.rate is not None:
            message = "must be left out: an open class has no users; give each transaction a class of its own"
            faults.append(fault_at(tree, path, message, key=True))
        if load.transactions and name in model.routing:
            message = "must be left out for a class with a routing: set `visits` of the stations instead of the routing"
            faults.append(fault_at(tree, path, message, key=True))
        total = sum(transaction.share for transaction in load.transactions.values())
        if load.transactions and abs(total - 1) > SHARES_WITHIN:
            faults.append(fault_at(tree, path, f"must be shares that add up to 100 %, got {100 * total:.6g} %"))
        for each in load.transactions:
            if each in owner:
                message = f"must be a unique name, got {each!r}, which is also {owner[each]}"
                faults.append(fault_at(tree, (*path, each), message, key=True))
            owner.setdefault(each, f"a transaction of {name}")
    return faults


def _draw_faults(tree: Node, model: ModelFile) -> list[Fault]:
    """Check that all replicates of demands belong to stations of the model, and that all stations have the same number
    of replicates.
    """
    rows = model.fitted.draws if model.fitted is not None else {}
    counts = {name: len(row) for name, row in rows.items()}
    faults = []
    for name, count in counts.items():
        at = ("fitted", "draws", name)
        if name not in model.stations:
            near = did_you_mean(name, list(model.stations))
            faults.append(fault_at(tree, at, f"must be a station of the model, got {name!r} instead{near}", key=True))
        if count != max(counts.values()):
            faults.append(fault_at(tree, at, f"must have as many values as the other stations, got {count} instead"))
    return faults


def _station_faults(whole: Node, tree: Node, model: ModelFile, name: str, station: StationFile) -> list[Fault]:
    faults = []

    def add(key: str, message: str, *rest: str) -> None:
        faults.append(fault_at(tree, ("stations", name, key, *rest), message, key=bool(rest)))

    chains = _chains(model)
    known = [*model.classes, *chains]
    if station.demand is not None and (station.service_time is not None or station.visits is not None):
        add("demand", "must not be given together with 'service_time' and 'visits': it is their product")
    given = find(whole, ("stations", name))[0].value
    if "demand" not in given and "service_time" not in given:
        add(name, "must have the key 'demand' or 'service_time', got none")
    for key in ("demand", "service_time", "visits", "scv", "distribution"):
        value = getattr(station, key)
        for named in value if isinstance(value, dict) else ():
            if named not in known:
                near = did_you_mean(named, known)
                add(key, f"must be a class of the model ({', '.join(known)}), got {named!r} instead{near}", named)
    if station.demand is not None:
        routed = [job_class for job_class in model.routing if job_class in _times(model, station)]
        if routed:
            add("demand", f"must be 'service_time' here: the routing of {routed[0]!r} gives the number of visits")
    if station.at_once is not None and (station.discipline != "ps" or station.at_once < station.servers):
        add("at_once", f"must be used with discipline ps, and be at least {station.servers}, the number of servers")
    if station.priority is not None:
        if station.discipline != "priority":
            add("priority", "must be left out: the discipline is not priority")
        coming = dict.fromkeys(chains.get(job_class, job_class) for job_class in _times(model, station))
        missing = [job_class for job_class in coming if job_class not in station.priority]
        unknown = [job_class for job_class in station.priority if job_class not in model.classes]
        if missing or unknown:
            got = f"{missing[0]!r} is missing" if missing else f"{unknown[0]!r} is no class"
            add(
                "priority",
                f"must list the classes that visit the station, each of them once, got a list in which {got}",
            )
    return faults


def _bounds_faults(tree: Node, model: ModelFile, name: str, station: StationFile) -> list[Fault]:
    """Check that a station gives no other distribution for a time that is given as two bounds."""
    faults = []
    for job_class, time in _given_times(model, station).items():
        for key in ("distribution", "scv", "samples"):
            value = getattr(station, key)
            if value is not None and job_class in _each(model, value) and isinstance(time, Between):
                message = f"must be left out for {job_class!r}: {time} is a distribution"
                faults.append(fault_at(tree, ("stations", name, key), message))
    return faults


def _given_times(model: ModelFile, station: StationFile) -> dict[str, float | Between]:
    """Return the service time, or the demand, of each class that visits a station, in the form of the file. [s]"""
    value = station.demand if station.demand is not None else station.service_time
    return {} if value is None else _each(model, value)


def _times(model: ModelFile, station: StationFile) -> dict[str, float]:
    """Return the mean service time, or the demand, of each class that visits a station. [s]"""
    return {name: mean_of(time) for name, time in _given_times(model, station).items()}


def _chains(model: ModelFile) -> dict[str, str]:
    """Return the class of each transaction, by name of the transaction."""
    return {each: name for name, load in model.classes.items() for each in load.transactions}


def _each(model: ModelFile, value: Mapping[str, _Value] | _Value) -> dict[str, _Value]:
    """Return the value of each class, or of each transaction of a class, by name. Names without a value are
    left out.
    """
    given: Mapping[str, _Value] = value if isinstance(value, Mapping) else dict.fromkeys(model.classes, value)
    found = {}
    for name, load in model.classes.items():
        for each in load.transactions or (name,):
            if each in given or name in given:
                # A value for the transaction takes precedence over the value for its class.
                found[each] = given[each if each in given else name]
    return found


def _document(model: ModelFile) -> EngineModel:
    return EngineModel(
        [
            JobClass(
                name,
                load.users,
                mean_of(load.think or 0.0),
                _variation(load.think_distribution, load.think_scv, load.think),
                load.rate,
                _variation(load.arrival_distribution, load.arrival_scv),
                load.priority,
                tuple(Transaction(key, each.share, each.think) for key, each in load.transactions.items()),
            )
            for name, load in model.classes.items()
        ],
        [_station(model, name, station) for name, station in model.stations.items()],
        [Pool(name, pool.size, pool.holds, pool.classes) for name, pool in model.pools.items()],
        [Fork(name, fork.branches, fork.classes) for name, fork in model.forks.items()],
        [
            Route(name, route.get("start", {}), {key: each for key, each in route.items() if key != "start"})
            for name, route in model.routing.items()
        ],
        behaviour_document(model),
    )


def _variation(distribution: str | None, scv: float | None, time: float | Between | None = None) -> Variation:
    """Return the variation of a time; a time between two bounds is uniform."""
    return Variation("uniform", time.scv) if isinstance(time, Between) else Variation(distribution, scv)


def _station(model: ModelFile, name: str, station: StationFile) -> Station:
    visits = _each(model, station.visits) if station.visits is not None else {}
    scv = _each(model, station.scv) if station.scv is not None else {}
    forms = _each(model, station.distribution) if station.distribution is not None else {}
    chains = _chains(model)
    ranks = {job_class: place for place, job_class in enumerate(station.priority or (), start=1)}
    services = [
        Service(
            job_class,
            visits.get(job_class),
            mean_of(time),
            _variation(forms.get(job_class), scv.get(job_class), time),
            ranks.get(chains.get(job_class, job_class)),
        )
        for job_class, time in _given_times(model, station).items()
    ]
    limits = station.capacity, station.at_once, station.preemptive
    return Station(name, station.discipline, station.servers, station.rates or (), *limits, services)
