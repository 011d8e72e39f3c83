"""Builds the JSON document of `towtank model fit network` for each configuration of a study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from towtank.containment import Failed, attempt
from towtank.documents import document_of
from towtank.errors import MeasurementError
from towtank.estimates import number_estimate
from towtank.model.capacity_file import FitAssumption, FittedNetwork, StationLimit
from towtank.model.demand_file import FittedValue
from towtank.model.fitting.curves import FARTHEST
from towtank.model.fitting.goodness import FIT_REJECTED
from towtank.model.fitting.intervals import Bounded, percentiles
from towtank.model.fitting.measured import Configuration, usable_configurations
from towtank.model.fitting.networks.closed import Condition, Solved, conditions, solve
from towtank.model.fitting.networks.drifting import drifted, utilization
from towtank.model.fitting.networks.groups import ALIKE
from towtank.model.fitting.networks.judging import HeldOutLevels, NetworkVerdict, held_out_levels, hold_out, judged
from towtank.model.fitting.networks.replicates import Network, fit_network
from towtank.model.fitting.networks.seconds import Measured, measured
from towtank.model.fitting.networks.spread import spread
from towtank.model.fitting.networks.tails import Correction, corrections, doubts
from towtank.model.fitting.observations import Floats
from towtank.model.fitting.prediction import FARTHEST_SATURATED, SATURATED, Bands
from towtank.model.fitting.quota_assumed import quota_assumptions

NETWORK_SCHEMA = "towtank/model-network/1"
BEYOND = (1.25, 1.5, 2.0)
"""Loads of the default predictions, relative to the highest measured load. [ratio]"""


@dataclass
class NetworkAnswer:
    """Result of a network fit for one configuration. The page `docs/reference/model-fit.md` describes the document,
    whose `refused` states the reason if no network was fitted. `held_out` is None if no level could be held out, and
    `tails` are ratios of measured to computed percentiles. `top_errors` are the relative errors of throughput and
    response time at the highest load, predicted by a fit without that load if there is one. [ratio]
    """

    document: dict[str, object]
    network: Network | None
    configuration: Configuration
    verdict: NetworkVerdict = field(default_factory=NetworkVerdict)
    held_out: HeldOutLevels | None = None
    tails: Mapping[str, Correction] = field(default_factory=dict)
    top_errors: tuple[float, float] = (0.0, 0.0)

    @property
    def fitted(self) -> FittedNetwork:
        """Content of the document."""
        return FittedNetwork.model_validate(self.document)


def network_answers(
    path: Path, wanted: str | None = None, loads: Sequence[float] | None = None, highest: int = 1
) -> list[NetworkAnswer]:
    """Fit a network to each configuration of a results folder whose label contains `wanted`; None selects every
    configuration.

    The predictions are for the numbers of users `loads`; by default for the measured loads, and for the multiples
    `BEYOND` of the highest. The held-out test leaves out the `highest` levels.
    """
    found = usable_configurations(path, wanted)
    made = [
        attempt(f"network of {configuration.label}", network_answer, configuration, loads, highest)
        for configuration in found
    ]
    return [
        NetworkAnswer({**_head(configuration), "refused": answer.sentence}, None, configuration)
        if isinstance(answer, Failed)
        else answer
        for configuration, answer in zip(found, made, strict=True)
    ]


def _head(configuration: Configuration) -> dict[str, object]:
    excluded = [document_of(run) for run in configuration.excluded]
    return {"label": configuration.label, "key": configuration.key, "excluded": excluded, "refused": None}


def network_answer(
    configuration: Configuration, loads: Sequence[float] | None = None, highest: int = 1
) -> NetworkAnswer:
    """Fit a network to one configuration of a study, and build the JSON document of the network."""
    head = _head(configuration)
    try:
        of = measured(configuration)
        network = fit_network(of)
    except MeasurementError as error:
        why = " ".join(line.strip() for line in str(error).split("\n")[1:] or [str(error)])
        return NetworkAnswer({**head, "refused": why}, None, configuration)
    solved = solve(of, [(network.parameters, at) for at in conditions(of)])
    test = hold_out(of, highest)
    held_out = None if test is None else held_out_levels(test)
    tails = corrections(configuration, of, solved)
    verdict = judged(network, solved, held_out, doubts(tails))
    document = {
        **head,
        "verdict": verdict.document(),
        "stations": _stations(network),
        "transactions": _transactions(network),
        "in_turn": network.parameters.in_turn,
        "at_once": network.parameters.at_once,
        "think_s": float(np.mean(of.think)),
        "levels": _levels(network, solved),
        "held_out": None if held_out is None else document_of(held_out),
        "predictions": _predictions(network, verdict.level, loads),
        "percentiles": {name: document_of(tail) for name, tail in tails.items()},
        "limits": [document_of(each) for each in limits(network)],
        "sentence": sentence(network),
        "assumptions": [document_of(each) for each in [*_assumptions(network), *quota_assumptions(configuration)]],
        "draws": len(network.draws),
    }
    levels = of.levels()
    top = (solved.throughput[-1] / levels.throughput[-1] - 1, solved.response[-1] / levels.response[-1] - 1)
    if held_out is not None:
        top = (held_out.points[-1].error, held_out.points[-1].response_error or 0.0)
    return NetworkAnswer(document, network, configuration, verdict, held_out, tails, top)


@dataclass(frozen=True)
class NetworkPrediction:
    """Prediction of a fitted network at one number of users.

    Attributes
    ----------
    throughput, response_s : Bands
        Transactions per second [1/s], and mean response time [s].
    responses_s : dict of str to Bands
        Mean response time of each transaction. [s]
    utilization : dict of str to Bands
        Utilization of each station. [ratio]
    """

    throughput: Bands
    response_s: Bands
    responses_s: dict[str, Bands]
    utilization: dict[str, Bands]


def _estimate(value: float, samples: Floats) -> dict[str, object]:
    return document_of(Bounded.of(value, samples))


def typical(of: Measured) -> Condition:
    """Return the condition that predictions assume: mean transaction mix, mean think time, and mean number of CPUs used
    by other programs.
    """
    levels = of.levels()
    shares = levels.counts.sum(axis=0) / levels.counts.sum()
    return Condition(round(float(of.loads[-1])), float(np.mean(of.think)), shares, of.others.mean(axis=0))


def _stations(network: Network) -> dict[str, object]:
    of, found = network.measured, dict[str, object]()
    shares = typical(of).shares
    for place, (station, grouping) in enumerate(zip(of.stations, network.groupings, strict=True)):
        demands = network.parameters.demands[place]
        drawn = np.array([draw.demands[place] for draw in network.draws])
        found[station.name] = {
            "kind": station.kind,
            "servers": station.servers,
            "capacity": station.capacity,
            "tiers": list(station.tiers),
            "demand_s": _estimate(demands @ shares, drawn @ shares),
            "background": _estimate(
                network.parameters.background[place], np.array([draw.background[place] for draw in network.draws])
            ),
            "other_programs": [float(cpus) for cpus in of.others[:, place]],
            "demands_s": {name: _estimate(demands[number], drawn[:, number]) for number, name in enumerate(of.classes)},
            "told_apart": [[of.classes[each] for each in group] for group in grouping.groups],
            "within_groups": grouping.within,
            "condition_number": grouping.condition if np.isfinite(grouping.condition) else None,
            "variance_inflation": grouping.inflation if np.isfinite(grouping.inflation) else None,
            "condition_number_apart": grouping.before if np.isfinite(grouping.before) else None,
            "largest_miss": float(np.abs(network.misses[:, place]).max()),
        }
    return found


def _transactions(network: Network) -> dict[str, object]:
    of = network.measured
    shares, drawn = typical(of).shares, np.array([draw.delays for draw in network.draws])
    return {
        name: {
            "share": float(shares[place]),
            "requests": float(of.visits[place]),
            "elsewhere_s": _estimate(network.parameters.delays[place], drawn[:, place]),
            "explained_too_much_s": float(network.over[place]),
        }
        for place, name in enumerate(of.classes)
    }


def _levels(network: Network, solved: Solved) -> list[dict[str, object]]:
    """Return the load levels as JSON objects, with measured values and their intervals, and with values of the network
    and their bands over the replicates.
    """
    of = network.measured
    seen = spread(of)
    levels, replicated = of.levels(), len(network.draws)
    drawn = solve(of, [(each, condition) for condition in conditions(of) for each in network.draws])
    rows = [slice(place * replicated, (place + 1) * replicated) for place in range(len(of.loads))]
    return [
        {
            "load": float(load),
            "think_s": float(of.think[place]),
            "throughput": float(levels.throughput[place]),
            "throughput_interval": list(seen.throughput(place)),
            "fitted_throughput": float(solved.throughput[place]),
            "fitted_throughput_band_95": list(percentiles(drawn.throughput[rows[place]])),
            "response_s": float(levels.response[place]),
            "response_interval": list(seen.response(place)),
            "fitted_response_s": float(solved.response[place]),
            "fitted_response_band_95": list(percentiles(drawn.response[rows[place]])),
            "utilization": {
                station.name: {
                    "measured": float(levels.busy[place, number] / station.capacity),
                    "measured_interval": list(seen.utilization(place, number)),
                    "fitted": float(solved.utilization[place, number]),
                    "fitted_band_95": list(percentiles(drawn.utilization[rows[place], number])),
                }
                for number, station in enumerate(of.stations)
            },
        }
        for place, load in enumerate(of.loads)
    ]


def farthest(network: Network) -> tuple[float, str]:
    """Return the highest number of users for which predictions of the network are allowed, and the reason for this
    number.
    """
    of = network.measured
    top, first = float(of.loads[-1]), limits(network)[0]
    reached = float(of.levels().throughput.max()) / (first.limit_throughput.value or math.inf)
    reason = f"the highest throughput measured is {100 * reached:.0f} % of the capacity of {first.station}"
    return (FARTHEST_SATURATED if reached >= SATURATED else FARTHEST) * top, reason


def _predictions(network: Network, level: str, loads: Sequence[float] | None) -> list[dict[str, object]]:
    of = network.measured
    top, (limit, why) = float(of.loads[-1]), farthest(network)
    wanted = loads if loads is not None else [*of.loads, *(round(share * top) for share in BEYOND)]
    rows = []
    for load in wanted:
        inside = "measured" if load in of.loads else "between" if of.loads[0] <= load <= top else "beyond"
        refused = ""
        if level == FIT_REJECTED and inside == "beyond":
            refused = "the network is rejected, and so are its predictions beyond the measurements"
        elif load > limit * (1 + 1e-9):
            refused = f"beyond {limit:g}, {limit / top:g} times the highest load measured: {why}"
        rows.append((float(load), inside, refused))
    made = iter(predicted(network, [load for load, _, refused in rows if not refused]))
    return [
        {"load": load, "range": inside, **({"refused": refused} if refused else document_of(next(made)))}
        for load, inside, refused in rows
    ]


def predicted(network: Network, loads: Sequence[float]) -> list[NetworkPrediction]:
    """Return the predictions of a fitted network for several numbers of users, with bands from the replicates."""
    of, mean = network.measured, typical(network.measured)
    at = [Condition(max(1, round(load)), mean.think_s, mean.shares, mean.others) for load in loads]
    best = solve(of, [(network.parameters, condition) for condition in at]) if at else None
    used = [] if best is None else [utilization(network, row, mean.others) for row in best.utilization]
    pairs = [(each, condition) for condition, busy in zip(at, used, strict=True) for each in drifted(network, busy)]
    drawn = solve(of, pairs) if at else None
    found = []
    for place in range(len(at)):
        assert best is not None
        assert drawn is not None
        rows = slice(place * len(network.draws), (place + 1) * len(network.draws))
        found.append(
            NetworkPrediction(
                Bands.of(best.throughput[place], drawn.throughput[rows]),
                Bands.of(best.response[place], drawn.response[rows]),
                {
                    name: Bands.of(best.responses[place, number], drawn.responses[rows, number])
                    for number, name in enumerate(of.classes)
                },
                {
                    station.name: Bands.of(best.utilization[place, number], drawn.utilization[rows, number])
                    for number, station in enumerate(of.stations)
                },
            )
        )
    return found


def limits(network: Network) -> list[StationLimit]:
    """Return the highest throughput that each station allows, in ascending order. [1/s]"""
    of, mean = network.measured, typical(network.measured)
    servers = np.array([float(station.servers) for station in of.stations])

    def carried(parameters: Any) -> Floats:
        work = parameters.held_up(of.stations, mean.others) @ mean.shares
        return np.asarray(np.divide(servers, work, out=np.full(len(work), np.inf), where=work > 0), dtype=float)

    best, drawn = carried(network.parameters), np.array([carried(parameters) for parameters in drifted(network)])
    rows = [
        StationLimit(station.name, Bounded.of(best[place], drawn[:, place]))
        for place, station in enumerate(of.stations)
        if np.isfinite(best[place])
    ]
    return sorted(rows, key=lambda row: row.limit_throughput.value or 0.0)


def sentence(network: Network) -> str:
    """Describe the bottleneck, and the station that has the next higher limit."""
    rows = limits(network)
    limited = [f"{row.station} serves {_carried(row.limit_throughput)} transactions/s at most" for row in rows]
    if len(limited) == 1:
        return f"the bottleneck is {rows[0].station}: {limited[0]}"
    return f"the bottleneck is {rows[0].station}: {limited[0]}; the next one is {rows[1].station}: {limited[1]}"


def _carried(limit: FittedValue) -> str:
    """Render the throughput limit of a station with its interval. If the interval of the demand includes zero, the
    upper end is infinite.
    """
    low, high = (math.inf if end is None else end for end in (limit.low, limit.high))
    return number_estimate(limit.value or 0.0, low, high)


def _assumptions(network: Network) -> list[FitAssumption]:
    of = network.measured
    off = 100 * float(np.abs(network.misses).max())
    spread = 100 * float(np.ptp(of.levels().shares, axis=0).max())
    at_once = network.parameters.at_once
    found = [
        FitAssumption(
            "demands do not depend on the load",
            f"the busy time of each resource at each level is met within {off:.2g} %",
        ),
        FitAssumption(
            "the time that no resource explains at low load is the same at any load",
            "only by the response times at the levels",
        ),
        FitAssumption(
            "users choose transactions at random, by the measured shares",
            f"the shares differ by at most {spread:.2g} percentage points between levels",
        ),
    ]
    merged = [group for grouping in network.groupings for group in grouping.groups if len(group) > 1]
    if merged:
        ways = {grouping.within for grouping in network.groupings}
        how = "have equal demands"
        if ways != {ALIKE}:
            how = "have demands in proportion to their response times at low load"
        found.append(
            FitAssumption(
                f"transactions that the data cannot distinguish {how}", "only by the response times at the levels"
            )
        )
    assumed = (
        "requests are served first come, first served" if network.parameters.in_turn else "requests share the servers"
    )
    if at_once is not None:
        assumed += f", at most {at_once} on each server at the same time, while further requests wait"
    found.append(FitAssumption(assumed, "chosen by the response times of transactions at the levels"))
    return found
