"""Writes a fitted network as a model file for `towtank model solve` and `towtank size`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from towtank.errors import ModelError
from towtank.files import put_text
from towtank.model.engine_model import EngineModel, Station
from towtank.model.fitting.curve_tails import tails_lines
from towtank.model.fitting.goodness import FIT_REJECTED
from towtank.model.fitting.held_out import error_lines
from towtank.model.fitting.measured_limit import MeasuredLimit, of_network
from towtank.model.fitting.networks.answers import NetworkAnswer, typical
from towtank.model.fitting.networks.closed import CLASS, ELSEWHERE, engine_model, station_names
from towtank.model.fitting.networks.drifting import drifted
from towtank.model.fitting.networks.replicates import Network
from towtank.model.fitting.observations import Floats
from towtank.model.fitting.shape import classify
from towtank.units import exact_duration, exact_rate

_DIGITS = 5


def written_network(answer: NetworkAnswer, source: str, path: Path) -> dict[str, object]:
    """Write the network of a fit as a model file.

    Raises
    ------
    ModelError
        If the answer has no network, or the network is rejected.
    """
    put_text(path, network_text(answer, source))
    return {"file": str(path)}


def network_text(answer: NetworkAnswer, source: str) -> str:
    """Render a fitted network as a model file, with a comment that states the origin of its numbers.

    Raises ModelError if no network was fitted, or if the network is rejected.
    """
    network = answer.network
    if network is None:
        raise ModelError(f"no network was fitted: {answer.document['refused']}")
    if answer.verdict.level == FIT_REJECTED:
        reasons = "; ".join(text for level, text in answer.verdict.reasons if level == FIT_REJECTED)
        raise ModelError(f"the network is rejected: {reasons}")
    model = engine_model(network.measured, network.parameters, typical(network.measured))
    lines = [*_comment(network, source), "schema: towtank/model/1", *_classes(model), "stations:"]
    for station in model.stations:
        lines += _station(station)
    stations = [station.name for station in network.measured.stations]
    limit = of_network(classify(answer.configuration), stations, *answer.top_errors)
    return "\n".join(lines + _fitted(answer, network, source, limit)) + "\n"


def _comment(network: Network, source: str) -> list[str]:
    of = network.measured
    background = [
        f"{name} {base + other:.3g}"
        for name, base, other in zip(station_names(of), network.parameters.background, typical(of).others, strict=True)
    ]
    return [
        f"# Fitted by `towtank model fit network` to {source}:",
        f"# {len(of.loads)} levels from {of.loads[0]:g} to {of.loads[-1]:g} users, {len(of.runs)} runs.",
        "# Demands include the delay by background and other programs, which keep busy: " + ", ".join(background),
    ]


def _classes(model: EngineModel) -> list[str]:
    users = model.classes[0]
    return [
        "classes:",
        f"  {CLASS}:",
        f"    users: {users.users}",
        f"    think: {exact_duration(users.think_time_s)}",
        "    transactions:",
        *(f"      {each.name}: {{share: {100 * each.share:.12g} %}}" for each in users.transactions),
    ]


def _station(station: Station) -> list[str]:
    if not station.services:
        return []
    times = ", ".join(f"{each.job_class}: {exact_duration(each.service_time_s)}" for each in station.services)
    if station.discipline == "delay":
        return [f"  {station.name}:  # time that no resource explains at low load", "    discipline: delay",
                f"    demand: {{{times}}}"]  # fmt: skip
    visits = ", ".join(f"{each.job_class}: {each.visits:.6g}" for each in station.services)
    lines = [f"  {station.name}:", f"    discipline: {station.discipline}", f"    servers: {station.servers}"]
    if station.at_once is not None:
        lines.append(f"    at_once: {station.at_once}")
    return [*lines, f"    visits: {{{visits}}}", f"    service_time: {{{times}}}"]


def _fitted(answer: NetworkAnswer, network: Network, source: str, limit: MeasuredLimit) -> list[str]:
    of = network.measured
    lines = [
        "fitted:",
        f"  source: {json.dumps(source, ensure_ascii=False)}",
        "  kind: network",
        f"  users: [{of.loads[0]:g}, {of.loads[-1]:g}]",
        f"  throughput: {exact_rate(float(of.levels().throughput.max()))}",
        f"  verdict: {answer.verdict.level}",
    ]
    if answer.held_out is not None:
        lines += error_lines(answer.held_out.worst_error, answer.held_out.error_interval)
    lines += limit.lines()
    lines.append("  percentiles:  # measured over computed 95th percentile: mean, smallest and largest")
    lines += [f"    {name}: [{tail.ratio:.4g}, {tail.low:.4g}, {tail.high:.4g}]" for name, tail in answer.tails.items()]
    lines += tails_lines({name: tail.others for name, tail in answer.tails.items()})
    lines.append("  draws:  # demand in bootstrap replicates, relative to the demand above")
    return lines + [f"    {name}: [{', '.join(f'{each:.{_DIGITS}g}' for each in row)}]" for name, row in draws(network)]


def draws(network: Network) -> list[tuple[str, Floats]]:
    """Return the demand of the mean transaction in each bootstrap replicate, by station, relative to the demand in the
    network. [ratio]

    In each replicate, the demands drift from the measured utilization up to full utilization of the station (module
    `drifting`).
    """
    of, mean = network.measured, typical(network.measured)
    best = network.parameters.held_up(of.stations, mean.others) @ mean.shares
    drawn = np.array([parameters.held_up(of.stations, mean.others) @ mean.shares for parameters in drifted(network)])
    rows = [(name, drawn[:, place] / best[place]) for place, name in enumerate(station_names(of)) if best[place] > 0]
    delay = float(network.parameters.delays @ mean.shares)
    if delay > 0:
        rows.append((ELSEWHERE, np.array([draw.delays @ mean.shares for draw in network.draws]) / delay))
    return rows
