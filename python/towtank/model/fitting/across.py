"""Predicts throughput for more or larger servers from measurements with fewer or smaller servers. Only the tier of
the bottleneck grows.

The measured throughput as a function of users is fitted by the curve of a closed system with demand S at the
bottleneck and time O elsewhere.
With n servers instead of m, each transaction visits one of the n servers, so each server is a station of demand S / n.
(The m servers of one queue are treated as m stations.) Let D be the CPU time of a transaction on a host of c CPUs. If
c is below 1, S = D / c; otherwise the host has ceil(c) CPUs, and S = D ceil(c) / c. On hosts of another size c', D
stays the same: each host is one station of ceil(c') servers with a demand of D ceil(c') / c', since one transaction
uses at most one CPU. Shared services, such as the database and the gateway, are stations too. Their demand is the CPU
time of a transaction on their hosts, which have their own number of CPUs; this demand is subtracted from O. The
physical machine that runs all hosts sets a bound: throughput is at most what its CPUs allow.

A host with less than one CPU has a CPU quota, which lets short work pass at full speed (`towtank.model.quota`).
In the curve and in the network, the station of this host is a slow server with S = D / c. The quota makes the host
faster than this slow server. The time saved at the resulting utilization is subtracted from the time elsewhere, and
the computation is repeated until throughput and utilization agree.

If the CPU time per transaction on the service's hosts changes with the load, the curve is fitted with the value that
was measured at each load. The value in the predicted configuration is unknown, so the bands include this variation.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from towtank.analysis import RunSummary, standard_error_of
from towtank.documents import document_of
from towtank.errors import MeasurementError, ModelError, StudyError
from towtank.model.fitting.across_network import Growth, Shared, throughputs
from towtank.model.fitting.fit import Fit, fit_curve
from towtank.model.fitting.measured import Configuration, mean_by_cycle, read_configurations
from towtank.model.fitting.observations import Floats
from towtank.model.fitting.prediction import Bands
from towtank.model.fitting.replicates import SEED, replicates
from towtank.model.prediction_file import PredictionAsked, PredictionResult
from towtank.model.quota import PERIOD_S
from towtank.results import STUDY_MANIFEST, ResultsFolder, RunFolder, write_json

SCHEMA = "towtank/prediction/1"
PREDICTION_FILE = "prediction.json"
# Number of bootstrap replicates for which the network is solved. Of 200, five lie below the 2.5 % quantile.
_DRAWS = 200
MOST_USERS = 20_000


def predict_across(configuration: Configuration, asked: PredictionAsked) -> dict[str, object]:
    """Return the predicted throughput and response time for more or larger servers, as a JSON object.

    Raises
    ------
    ModelError
        If no curve can be fitted to the points, or the bottleneck was not the tier that grows.
    """
    work = _work(configuration, asked)
    used = replace(configuration.observations, busy=None, busy_error=None, others=None, work=work)
    growth = Growth.of(asked, _requests(configuration))
    fit = fit_curve(growth.curve(configuration.think_s), used)
    shared, total = _shared(configuration, asked)
    parameters = replicates(fit, _DRAWS)
    if work is not None:
        # The CPU time of a transaction in the predicted configuration is unknown. Each replicate therefore varies it at
        # random, by the spread of the measured values.
        unknown = np.random.default_rng(SEED + 4).standard_normal(_DRAWS)
        parameters[:, 0] *= np.exp(float(np.std(np.log(work), ddof=1)) * unknown)
    think = configuration.think_s
    loads = np.array(asked.loads)
    rates = _solved(parameters, growth, shared, loads, think)
    best = _solved(fit.parameters[None, :], growth, shared, loads, think, drift=False)
    if total is not None:
        rates, best = (np.minimum(each, total[1] / total[0]) for each in (rates, best))
    return {
        **asdict(growth),
        "think_time_s": think,
        "fitted": {
            "bottleneck_demand_s": float(fit.parameters[0]),
            "other_s": float(fit.parameters[1]),
            "points": _points(fit),
        },
        "shared": [host.document() for host in shared],
        "machine_demand_s": None if total is None else total[0],
        "machine_cpus": None if total is None else total[1],
        "rows": [_row(load, rates[:, place], best[0, place], think) for place, load in enumerate(asked.loads)],
    }


def _work(configuration: Configuration, asked: PredictionAsked) -> Floats | None:
    """Return the CPU time per transaction on the service's hosts at each load, divided by the mean over all loads.
    [ratio]

    The result is None if a run lacks CPU use or throughput. The values are in ascending order of load.
    """
    runs = {run.run: run for run in configuration.runs}
    cpus, rates = [], []
    for point in sorted(configuration.points, key=lambda point: point.level):
        some = [runs[name] for name in point.runs if name in runs]
        used = [run.hosts[name].cpus_used.value if name in run.hosts else None for run in some for name in asked.hosts]
        done = [run.throughput_per_s.value for run in some]
        if not used or not all(used) or not all(done):
            return None
        cpus.append(sum(value for value in used if value is not None))
        rates.append(sum(rate for rate in done if rate is not None))
    return np.asarray(np.array(cpus) / np.array(rates) * (sum(rates) / sum(cpus)), dtype=float)


def _points(fit: Fit) -> list[dict[str, object]]:
    fitted = fit.fitted
    return [
        {"load": float(load), "throughput": float(rate), "curve": float(curve)}
        for load, rate, curve in zip(fit.points.load, fit.points.throughput, fitted, strict=True)
    ]


def _solved(
    parameters: Floats, growth: Growth, shared: list[Shared], loads: Floats, think_s: float, *, drift: bool = True
) -> Floats:
    """Return the predicted throughput of each replicate at each load, an array of shape (n_draws, n_loads). [1/s]"""
    most = int(np.ceil(loads.max()))
    if most > MOST_USERS:
        raise ModelError(f"a network is solved for up to {MOST_USERS} users, got {most} instead")
    stream = np.random.default_rng(SEED + 3)
    count = len(parameters)
    demands = [host.draws(count, stream) if drift else np.array([host.demand_s]) for host in shared]
    found = np.empty((count, len(loads)))
    for number, (demand, other) in enumerate(parameters[:, :2]):
        each = [float(draws[number]) for draws in demands]
        own = sum(host.time_s(work) for host, work in zip(shared, each, strict=True))
        stations = [growth.station(float(demand))] * growth.servers_to
        stations += [host.station(work, host.cpus_then) for host, work in zip(shared, each, strict=True)]
        # The fitted time outside the bottleneck includes the time at shared hosts. Shared hosts are separate stations
        # here, so their time is subtracted.
        elsewhere = think_s + max(0.0, float(other) - own)
        found[number] = throughputs(loads, stations, elsewhere)
    return found


def _row(load: float, rates: Floats, best: float, think_s: float) -> dict[str, object]:
    row: dict[str, object] = {"load": float(load), "throughput": document_of(Bands.of(best, rates))}
    times = load / rates - think_s
    if (times > 0).mean() > 0.975 and load / best > think_s:
        row["response_s"] = document_of(Bands.of(load / best - think_s, times))
    return row


def _requests(configuration: Configuration) -> float:
    """Return the mean number of requests per transaction; 1 if a run did not count requests. [1]"""
    rows = []
    for run in configuration.runs:
        requests, rate, users = run.request_throughput_per_s.value, run.throughput_per_s.value, run.users.asked
        if not requests or not rate or not users:
            return 1.0
        rows.append((requests / rate, rate, float(users)))
    return max(1.0, mean_by_cycle(rows) or 1.0)


def _shared(configuration: Configuration, asked: PredictionAsked) -> tuple[list[Shared], tuple[float, float] | None]:
    """Return the hosts that the prediction does not enlarge; also the CPU time per transaction on all hosts, and the
    CPUs of the physical machine, as one tuple. The tuple is None if the numbers are unknown.
    """
    runs = [run for run in configuration.runs if run.hosts]
    names = list(dict.fromkeys(name for run in runs for name in run.hosts))
    hosts = {name: host for name in names if (host := _host(name, runs, asked)) is not None}
    own = set(asked.hosts) & set(hosts)
    if own:
        busiest = max(hosts.values(), key=lambda host: host.utilization)
        if busiest.name not in own:
            raise ModelError(
                f"host {busiest.name}, which the prediction does not enlarge, had the highest utilization "
                f"({100 * busiest.utilization:.0f} %): more servers or CPUs of {asked.service} would not help",
                hint=f"give {busiest.name} more CPUs, or {', '.join(sorted(own))} fewer",
            )
    machine = next((run.machine for run in runs if run.machine is not None), None)
    total = None
    if hosts and machine is not None and machine.cpus:
        total = (sum(host.demand_s for host in hosts.values()), float(machine.cpus))
    return [host for name, host in hosts.items() if name not in own and host.demand_s > 0], total


def _host(name: str, runs: list[RunSummary], asked: PredictionAsked) -> Shared | None:
    """Return a host with its CPU time per transaction and the standard error of that time.

    The time is total CPU time over total transactions of all runs. The result is None if CPU use or CPUs of
    the host are unknown.
    """
    uses = [(run.hosts[name], run.throughput_per_s.value) for run in runs if name in run.hosts]
    rows = [
        (use.cpus_used.value, rate, standard_error_of(use.cpus_used), use)
        for use, rate in uses
        if use.cpus_used.value is not None and rate
    ]
    allotted = next((use.cpus_allotted for *_, use in rows if use.cpus_allotted), None)
    if not rows or not allotted:
        return None
    cpus = np.array([used for used, *_ in rows], dtype=float)
    rates = np.array([rate for _, rate, *_ in rows], dtype=float)
    demand = float(cpus.sum() / rates.sum())
    spread = float(np.std(cpus / rates, ddof=1)) / np.sqrt(len(rows)) if len(rows) > 1 else 0.0
    within = float(np.sqrt(sum((error or 0.0) ** 2 for _, _, error, _ in rows)) / rates.sum())
    most = max(use.utilization or 0.0 for *_, use in rows)
    error = float(np.hypot(spread, within))
    then, period_s = asked.cpus_of_hosts.get(name), asked.cpu_period_of_hosts_s.get(name, PERIOD_S)
    return Shared(name, demand, error, float(allotted), float(then or allotted), most, period_s)


def _is_of(run: RunFolder, place: Mapping[str, str]) -> bool:
    try:
        return bool(place.items() <= run.manifest.get("factors", {}).items())
    except (OSError, ValueError, StudyError):
        return False  # An unreadable manifest means that writing it was interrupted, so the run holds no results.


def write_prediction(path: Path) -> PredictionResult | None:
    """Write the prediction that a study asks for into its results folder, and return it; None if the study asks for no
    prediction.

    If the prediction is impossible, the document states the reason. The prediction is made before the measurement if no
    run of the predicted configuration has started.
    """
    manifest = ResultsFolder.open(path).manifest if (path / STUDY_MANIFEST).is_file() else {}
    study = manifest.get("study")
    given = study.get("predict") if isinstance(study, dict) else None
    if not given:
        return None
    asked = PredictionAsked.model_validate(given)
    begun = any(_is_of(run, asked.to) for run in ResultsFolder.open(path).runs())
    document = {"schema": SCHEMA, **given, "made_wall_ns": time.time_ns(), "made_before": not begun}
    try:
        found = [
            configuration
            for configuration in read_configurations(path)
            if asked.from_.items() <= configuration.key.items() and configuration.points
        ]
        if not found:
            raise MeasurementError("no run of the measured configuration can be modelled")
        document |= {"refused": None, "runs": [run.run for run in found[0].runs]}
        document |= predict_across(found[0], asked)
    except (MeasurementError, ModelError) as error:
        document |= {"refused": str(error), "runs": [], "rows": []}
    write_json(path / PREDICTION_FILE, document)
    return PredictionResult.model_validate(document)
