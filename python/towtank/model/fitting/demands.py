"""Estimates service demands from a results folder.

The demand of the mean transaction is estimated from the load levels. The demands of the transaction classes are
estimated from short intervals of the runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from towtank.analysis import CpuUse, TierAtLoad
from towtank.containment import Failed, attempt
from towtank.documents import document_of
from towtank.model.fitting.demand_classes import demands_of_classes
from towtank.model.fitting.demand_levels import DemandOfLevels, demand_from_levels
from towtank.model.fitting.demand_series import WORTH_A_DEMAND, pooled, read_series
from towtank.model.fitting.machines import disks
from towtank.model.fitting.measured import Configuration, Resource, read_configurations
from towtank.model.fitting.observations import Floats
from towtank.results import STUDY_MANIFEST, ResultsFolder

SCHEMA = "towtank/model-demands/1"


@dataclass(frozen=True)
class ResourceDemand:
    """Service demand of the mean transaction at a resource, with its number of servers [1] and its tiers."""

    servers: int
    tiers: tuple[str, ...]
    demand: DemandOfLevels

    def document(self) -> dict[str, object]:
        """Return the demand as a JSON object."""
        return {"servers": self.servers, "tiers": list(self.tiers), **self.demand.document()}


def demands_document(path: Path) -> dict[str, object]:
    """Return the service demands of every configuration of a results folder, as a JSON object.

    The page `docs/reference/model-fit.md` describes the object.
    """
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - needed only here

    # The fits are small. Threads of the linear algebra library would mostly wait for each other, and take CPU time.
    with threadpool_limits(1, user_api="blas"):
        return _demands_document(path)


def _demands_document(path: Path) -> dict[str, object]:
    configurations = read_configurations(path)
    folder = ResultsFolder.open(path) if (path / STUDY_MANIFEST).is_file() else None
    found = [
        attempt(f"demands of {configuration.label}", configuration_demands, configuration, folder)
        for configuration in configurations
    ]
    return {
        "schema": SCHEMA,
        "source": str(path),
        "configurations": [document for document in found if not isinstance(document, Failed)],
    }


def configuration_demands(configuration: Configuration, folder: ResultsFolder | None) -> dict[str, object]:
    """Return the service demands of one configuration at each resource, as a JSON object."""
    resources, classes = resource_demands(configuration), {}
    if folder is not None:
        runs = [run for run in folder.runs() if run.run_id in {kept.run for kept in configuration.runs}]
        series, servers = read_series(runs, configuration.resources)
        names = dict.fromkeys(name for run in series for name in run.busy)
        bottleneck = configuration.bottleneck()
        for name in names:
            timed = bottleneck is not None and name == bottleneck.name
            found = pooled(series, name, servers[name], timed=timed)
            if found is not None:
                classes[name] = document_of(demands_of_classes(*found))
    return {
        "label": configuration.label,
        "key": configuration.key,
        "excluded": [document_of(run) for run in configuration.excluded],
        "resources": {name: resource.document() for name, resource in resources.items()},
        "classes": classes,
        "why_none": "" if resources or classes else _why_none(configuration),
    }


def _why_none(configuration: Configuration) -> str:
    names = ", ".join(resource.name for resource in configuration.resources)
    loads = f"at {len(configuration.points)} load levels with throughput"
    if not configuration.points:
        return "no run of the configuration can be modelled"
    if not names:
        return f"no CPU time of a tier was recorded {loads}: drive the load by a study whose services are observed"
    return f"the CPU time of {names} is unknown {loads}: observe the services on their hosts"


def resource_demands(configuration: Configuration) -> dict[str, ResourceDemand]:
    """Return the service demand of the mean transaction at every resource, estimated from the load levels."""
    rates = np.array([point.throughput_per_s.value or np.nan for point in configuration.points], dtype=float)
    found = {}
    for name, busy, resource in _busy(configuration):
        demand = demand_from_levels(rates, busy, resource.servers)
        if demand is not None:
            found[name] = ResourceDemand(resource.servers, resource.tiers, demand)
    return found


def _busy(configuration: Configuration) -> Iterator[tuple[str, Floats, Resource]]:
    """Yield name, busy servers at each load level, and servers of each resource, of its parts, and of each disk."""
    points = configuration.points
    for resource in configuration.resources:
        yield resource.name, configuration.cpus(resource), resource
        for tier in resource.tiers:
            parts = [point.tiers.get(tier, TierAtLoad()).parts for point in points]
            for part in dict.fromkeys(part for of_point in parts for part in of_point):
                used = [of_point.get(part, CpuUse()).cpus_used.value for of_point in parts]
                cpus = np.array(used, dtype=float) / resource.part
                yield f"{tier} / {part}", cpus, replace(resource, tiers=(tier,))
    for disk, busy in _disks(configuration).items():
        yield f"disk {disk}", busy, Resource(disk, 1, ())


def _disks(configuration: Configuration) -> dict[str, Floats]:
    """Return the utilization at each load, for each disk whose highest utilization exceeds `WORTH_A_DEMAND`. [ratio]"""
    rows = []
    for point in configuration.points:
        runs = [disks(run) for run in configuration.runs if run.run in point.runs]
        by_run = [{disk: row.utilization for disk, row in run.items() if row.utilization is not None} for run in runs]
        names = set.intersection(*(set(row) for row in by_run)) if by_run else set()
        rows.append({disk: float(np.mean([row[disk] for row in by_run])) for disk in names})
    found = {
        disk: np.array([row.get(disk, np.nan) for row in rows]) for disk in sorted({d for row in rows for d in row})
    }
    return {disk: busy for disk, busy in found.items() if np.nanmax(busy) > WORTH_A_DEMAND}
