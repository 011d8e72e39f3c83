"""Creates a sizing question from a sizing file and a model: objectives, load, hardware options and random draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np

from towtank.errors import Fault, ModelError, StudyError
from towtank.model import servers_of, waits_in_turn
from towtank.sizing.basis import DRAWS, Basis
from towtank.sizing.day_profile import DayInterval, read_profile
from towtank.sizing.factors import Factor
from towtank.sizing.growth import GivenGrowth, GrowthModel, HistoricGrowth, highest_drawn, highest_factor
from towtank.sizing.history import read_history
from towtank.sizing.interval import Interval
from towtank.sizing.load import Load, load_at_horizon, load_faults, load_now
from towtank.sizing.machines import Machine, Ratio, machine_catalogue
from towtank.sizing.question import Check, Question
from towtank.sizing.reading import contradictions
from towtank.sizing.resources import disk_room, disks_needed
from towtank.sizing.scores import scores, shares
from towtank.sizing.sizing_file import SizingFile, TierFile
from towtank.sizing.steps import Step, Steps
from towtank.sizing.tiers import Option, Tier, cost_of, machine_options, plain_options
from towtank.spelling import did_you_mean
from towtank.study import read_planned_objective
from towtank.treecheck import Checked
from towtank.yamlfile import Node, Path_, fault_at

_Place = tuple[Node, Path_]
CPUS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""Default choices for the number of CPUs of a node: the numbers of common physical and virtual machines. [1]"""


@dataclass(frozen=True)
class SizingProblem:
    """Sizing question, with the load of today by class, not multiplied by the peak factor, its day with the reason for
    its choice, and the growth of this load. The profile has the intervals of the day; empty if the load does not change
    over the day.
    """

    question: Question
    now: Load
    growing: GrowthModel | None
    start: date
    start_is: str
    steps: Steps
    profile: tuple[DayInterval, ...] = ()


def settle(checked: Checked[SizingFile], basis: Basis, folder: Path) -> SizingProblem:
    """Return the sizing question: the requirements, and the inputs that are the same for all candidates.

    Paths in the sizing file are relative to `folder`.

    Raises
    ------
    StudyError
        If the question is invalid; contains every fault.
    """
    faults, file, tree = list(checked.faults), checked.model, checked.tree
    if file is None:
        raise StudyError(faults)
    faults += contradictions(tree, file) + load_faults(tree, file, basis)
    checks = _checks(tree, file, basis, faults)
    utilization = _utilization(tree, file, basis, faults)
    machines = _machines(tree, file, folder, faults)
    names = _tier_stations(tree, file, basis, faults)
    growing = _growing(file, folder, faults)
    profile = _profile(file, folder, faults)
    for place, name in ((("pools", name, "holds"), held) for name, pool in file.pools.items() for held in pool.holds):
        _known((tree, place), name, "station", list(basis.stations), faults)
    for name, cache in file.hit_ratios.items():
        _known((tree, ("hit_ratios", name, "station")), cache.station, "station", list(basis.stations), faults)
    if not checks and not utilization and not faults:
        message = "must have an objective, such as 'p95 < 500 ms', or 'utilization_at_most', got neither"
        faults.append(fault_at(tree, (), message) if tree.line else Fault.of_option("--objective", message))
    if faults:
        raise StudyError(sorted(set(faults)))
    steps = Steps()
    now = load_now(file, basis)
    carried = load_at_horizon(steps, file, now, growing)
    # Stored data have no seasonal pattern, and do not shrink with the load. Their growth factor therefore excludes the
    # season and is at least 1.
    growth = 1.0 if growing is None else max(1.0, growing.trend(file.load.horizon))
    room = disk_room(file, growth, steps) if file.data is not None else None
    hardware = _Hardware(machines, _ratios(file, machines, steps), room)
    tiers = tuple(_tier((file, basis), name, stations, hardware, steps) for name, stations in names.items())
    cost = cost_of(tiers, _currency(tiers, machines))
    question = Question(basis, file, carried, checks, utilization, tiers, cost, growth=growth)
    start, start_is = _start(file, growing)
    drawn = _with_growth(_with_draws(question), growing)
    return SizingProblem(drawn, now, growing, start, start_is, steps, profile)


def _known(at: _Place, name: str, what: str, known: list[str], faults: list[Fault]) -> None:
    if name not in known:
        near = did_you_mean(name, known)
        faults.append(fault_at(*at, f"must be a {what} of the model ({', '.join(known)}), got {name!r} instead{near}"))


def _checks(tree: Node, file: SizingFile, basis: Basis, faults: list[Fault]) -> tuple[Check, ...]:
    found = []
    for place, text in enumerate(file.objectives):
        objective = read_planned_objective(text)
        names: list[str | None] = list(basis.classes)
        if objective.transaction is not None:
            known = [*basis.classes, *basis.transactions]
            _known((tree, ("objectives", place)), objective.transaction, "class", known, faults)
            names = [objective.transaction]
        elif objective.metric == "throughput":
            names = [None]
        found += [check for name in names if _is_answered(check := Check(objective, name), basis)]
        if not any(check.objective is objective for check in found):
            message = "must be about a class that waits in a queue ('fcfs' or 'priority'), got none instead"
            faults.append(fault_at(tree, ("objectives", place), message))
    return tuple(found)


def _is_answered(check: Check, basis: Basis) -> bool:
    """Return True if the model gives a value for an objective. If a class visits no station with a queue, it has no
    waiting time.
    """
    return not check.is_wait or check.name is None or waits_in_turn(basis.document, check.name)


def _utilization(tree: Node, file: SizingFile, basis: Basis, faults: list[Fault]) -> dict[str, float]:
    asked = file.utilization_at_most
    if isinstance(asked, dict):
        for name in asked:
            _known((tree, ("utilization_at_most", name)), name, "station", basis.queues, faults)
        return dict(asked)
    return {} if asked is None else dict.fromkeys(basis.queues, asked)


def _machines(tree: Node, file: SizingFile, folder: Path, faults: list[Fault]) -> dict[str, Machine]:
    """Return all machines that the sizing file names, by name; faults are appended to `faults`."""
    named: list[tuple[Path_, str]] = [(("machines", place), name) for place, name in enumerate(file.machines)]
    for tier, tier_file in file.tiers.items():
        named += [(("tiers", tier, "machines", place), name) for place, name in enumerate(tier_file.machines or ())]
    if named and file.measured_on is None:
        message = "must be given together with the key 'measured_on', the machine on which the demands were measured"
        faults.append(fault_at(tree, named[0][0], message))
    if file.measured_on is not None:
        named.append((("measured_on",), file.measured_on))
    if not named:
        return {}
    try:
        known = machine_catalogue([folder / path for path in file.machine_files])
    except StudyError as error:
        faults += error.faults
        return {}
    for path, name in named:
        if name not in known:
            near = did_you_mean(name, list(known))
            message = (
                f"must be a machine of the catalogue (see `towtank list`) or of a machine file, got {name!r}{near}"
            )
            faults.append(fault_at(tree, path, message))
        elif known[name].cpus is None:
            faults.append(fault_at(tree, path, f"must be a machine whose CPUs are known, got {name!r} without 'cpus'"))
    return {name: known[name] for _, name in named if name in known}


def _tier_stations(tree: Node, file: SizingFile, basis: Basis, faults: list[Fault]) -> dict[str, tuple[str, ...]]:
    """Return the stations of each tier, by tier name. If the sizing file has no tiers, every station with a queue is a
    tier.
    """
    if not file.tiers:
        able = [name for name in basis.queues if servers_of(basis.stations[name]) is not None]
        if not able:
            got = ", ".join(basis.queues) or "none but delays"
            message = f"must have a station to size: 'rates' hold for one number of CPUs only, got {got}"
            faults.append(Fault(basis.source, 0, 0, "stations", message))
        return {name: (name,) for name in able}
    found: dict[str, tuple[str, ...]] = {}
    owner: dict[str, str] = {}
    routed = {each for route in basis.document.routing for each in route.next}
    for name, tier in file.tiers.items():
        found[name] = tuple(tier.stations or (name,))
        path = ("tiers", name, "stations") if tier.stations else ("tiers", name)
        for station in found[name]:
            _known((tree, path), station, "station", basis.queues, faults)
            if station in owner:
                message = f"must be in one tier, got {station!r}, which is also in {owner[station]}"
                faults.append(fault_at(tree, path, message))
            owner[station] = name
            if max(tier.nodes) > 1 and station in routed:
                message = (
                    f"must be 1: the model routes jobs from {station!r} by probabilities, which sizing "
                    "supports for one node only"
                )
                faults.append(fault_at(tree, ("tiers", name, "nodes"), message))
            if station in basis.stations and servers_of(basis.stations[station]) is None:
                message = f"must have 'servers': the 'rates' of {station!r} hold for one number of CPUs only"
                faults.append(fault_at(tree, path, message))
    return found


def _growing(file: SizingFile, folder: Path, faults: list[Fault]) -> GrowthModel | None:
    load = file.load
    if load.growth is not None:
        low, high = load.growth_interval or (load.growth, load.growth)
        return GivenGrowth(load.growth, low, high)
    if load.history is None:
        return None
    asked = load.history
    try:
        history = read_history(folder / asked.csv, asked.date, asked.load, asked.season, asked.trend)
    except StudyError as error:
        faults += error.faults
        return None
    start = date.fromisoformat(load.start) if load.start else history.busiest_day()
    return HistoricGrowth(history, start, f"history of {history.extent}")


def _profile(file: SizingFile, folder: Path, faults: list[Fault]) -> tuple[DayInterval, ...]:
    if file.load.profile is None:
        return ()
    try:
        return read_profile(folder, file.load.profile)
    except StudyError as error:
        faults += error.faults
        return ()


def _start(file: SizingFile, growing: GrowthModel | None) -> tuple[date, str]:
    """Return the day to which the present load and the growth refer, and a text with the reason for this day."""
    if file.load.start:
        return date.fromisoformat(file.load.start), file.load.start
    if not isinstance(growing, HistoricGrowth):
        today = datetime.now(UTC).date()
        return today, f"today, {today}"
    why = {
        "weekly": f"{growing.start:%A}s, as on {growing.start}: the busiest day of the week in the history",
        "yearly": f"{growing.start:%B}: the month in which the history ends",
        "none": f"{growing.start}, the last day of the history",
    }
    return growing.start, f"{why[growing.history.season]}; `start` selects another day"


@dataclass(frozen=True)
class _Hardware:
    """Hardware data that all tiers use: machines, their speed ratios, and the required disk capacity. [byte]"""

    machines: Mapping[str, Machine]
    ratios: Mapping[str, Ratio]
    room: float | None


def _ratios(file: SizingFile, machines: Mapping[str, Machine], steps: Steps) -> dict[str, Ratio]:
    """Return the speed of each machine relative to the machine on which the demands were measured, by name.

    Raises ModelError if a machine cannot be compared with the machine on which the demands were measured.
    """
    if file.measured_on is None:
        return {}
    base, found, reasons = machines[file.measured_on], {}, []
    for name, machine in machines.items():
        try:
            found[name] = machine.speed_against(base, file.scale)
        except ModelError as error:
            reasons.append(str(error).replace("\n\nhint: ", "; "))
            continue
        if name != file.measured_on:
            ratio = found[name]
            values = {"low": ratio.low, "high": ratio.high}
            steps.add(
                Step(
                    f"speed of a CPU of {name} relative to {file.measured_on}",
                    ratio.basis or "rating per CPU",
                    values,
                    ratio.value,
                    "1",
                    f"machine catalogue, scale {file.scale}",
                    Interval(ratio.low, ratio.high),
                )
            )
    if reasons:
        raise ModelError("\n".join(["machines cannot be compared:", *(f"  {reason}" for reason in reasons)]))
    return found


def _tier(
    question: tuple[SizingFile, Basis], name: str, stations: tuple[str, ...], of: _Hardware, steps: Steps
) -> Tier:
    file, basis = question
    tier_file = file.tiers.get(name, TierFile())
    chosen = tier_file.machines or (file.machines if tier_file.kind == "cpu" else [])
    options: Sequence[Option]
    if chosen:
        options = machine_options([of.machines[each] for each in chosen], of.ratios, tier_file.nodes)
    else:
        least = max(servers_of(basis.stations[each]) or 1 for each in stations)
        cpus = tier_file.cpus or sorted({*CPUS, least})
        options = plain_options(cpus, tier_file.nodes, tier_file.price)
    if tier_file.disk_size is not None and of.room is not None:
        needed = disks_needed(of.room, tier_file.disk_size)
        values = {"room": of.room, "size": tier_file.disk_size}
        step = f"disks of {name} for the data"
        steps.add(Step(step, "ceil(room / size)", values, needed, "disks", "asked, tiers"))
        options = [each for each in options if each.nodes * each.cpus >= needed]
        if not options:
            raise ModelError(f"tiers.{name}.cpus: must allow {needed} disks, which the data need")
    able = _with_room(basis, name, stations, options)
    left_out = len(options) - len(able)
    return Tier(name, stations, able, tier_file.kind, tier_file.disk_size, beyond_room=left_out)


def _with_room(basis: Basis, name: str, stations: Sequence[str], options: Sequence[Option]) -> tuple[Option, ...]:
    """Return the hardware options whose number of servers is at most the job capacity of every station."""
    rooms = [room for station in stations if (room := basis.stations[station].capacity) is not None]
    able = tuple(option for option in options if all(option.cpus <= room for room in rooms))
    if not able:
        raise ModelError(
            f"tiers.{name}.cpus: must allow at most {min(rooms)} CPUs, since its station has room for {min(rooms)} "
            f"jobs only, got {min(option.cpus for option in options)} or more instead",
            hint="give fewer CPUs, or a larger `capacity` in the model",
        )
    return able


def _currency(tiers: Sequence[Tier], machines: Mapping[str, Machine]) -> str:
    """Return the currency and the period of the prices; raise ModelError if two machines differ in one of them."""
    names = {option.machine for tier in tiers for option in tier.options if option.machine and option.price is not None}
    units = sorted(
        {f"{p.currency}{'' if p.per == 'once' else f' / {p.per}'}" for n in names if (p := machines[n].price)}
    )
    if len(units) > 1:
        raise ModelError(f"machines: must have prices in one currency and for one time, got {', '.join(units)}")
    return units[0] if units else "price"


def _with_draws(question: Question) -> Question:
    """Add random draws of demands, machine speeds and percentile corrections, if any of these is uncertain."""
    draws: list[dict[str, float]] = question.basis.draws(question.file.uncertainty)
    options = [option for tier in question.tiers for option in tier.options if option.machine is not None]
    unsure = sorted({str(option.machine) for option in options if option.speed_high > option.speed_low})
    corrections = _corrections(question)
    if (unsure or corrections) and not draws:
        draws = [{} for _ in range(DRAWS)]
    speeds = {name: scores(len(draws), f"speed {name}") for name in unsure}
    known = {
        "demands": question.basis.draws(question.file.uncertainty), "machines": unsure, "percentiles": corrections,
    }  # fmt: skip
    counted = tuple(name for name, found in known.items() if found)
    return replace(question, draws=tuple(draws), speed_draws=speeds, corrections=corrections, counted=counted)


def _corrections(question: Question) -> dict[int, Factor]:
    """Return the corrections of the measured percentiles, by the index of the objective (`Question.corrections`)."""
    fitted, found = question.basis.fitted, {}
    for number, check in enumerate(question.checks):
        known = None if fitted is None or check.name is None else fitted.percentiles.get(check.name)
        if known is not None and check.is_percentile and known[2] > known[1]:
            value, low, high = known
            found[number] = Factor(1.0, low / value, high / value)
    return found


def _with_growth(question: Question, growing: GrowthModel | None) -> Question:
    """Add random draws of the load's growth until the horizon: evenly spaced quantiles in random order."""
    horizon = question.file.load.horizon
    if growing is None or growing.certain or not horizon:
        return question
    draws = question.draws or tuple({} for _ in range(DRAWS))
    at = shares(len(draws), "growth")
    return replace(
        question,
        draws=draws,
        growth_shares=at,
        growth_draws=tuple(
            float(factor) / highest_factor(growing, horizon) for factor in highest_drawn(growing, horizon, np.array(at))
        ),
        counted=(*question.counted, "growth"),
    )


def as_it_is(question: Question) -> tuple[Option, ...]:
    """Return the hardware that the model describes, as one option for each tier."""
    stations = question.basis.stations
    return tuple(Option(1, max(servers_of(stations[name]) or 1 for name in tier.stations)) for tier in question.tiers)
