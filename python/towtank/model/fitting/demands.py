"""Estimates service demands from a results folder.

The demand of the mean transaction is estimated from the load levels. The demands of the transaction classes are
estimated from short intervals of the runs.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from towtank.analysis import estimate_from_document
from towtank.containment import Failed, attempt
from towtank.model.fitting.demand_classes import demands_of_classes
from towtank.model.fitting.demand_levels import demand_from_levels
from towtank.model.fitting.demand_series import WORTH_A_DEMAND, pooled, read_series
from towtank.model.fitting.machines import disks
from towtank.model.fitting.measured import Configuration, Resource, read_configurations
from towtank.model.fitting.observations import Floats
from towtank.results import STUDY_MANIFEST, ResultsFolder

SCHEMA = "towtank/model-demands/1"


def demands_document(path: Path) -> dict[str, Any]:
    """Return the service demands of every configuration of a results folder, as a JSON object.

    Returns
    -------
    dict
        As `docs/reference/model-fit.md` describes.
    """
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


def configuration_demands(configuration: Configuration, folder: ResultsFolder | None) -> dict[str, Any]:
    """Return the service demands of one configuration at each resource, as a JSON object."""
    document: dict[str, Any] = {
        "label": configuration.label,
        "key": configuration.key,
        "excluded": configuration.excluded,
        "resources": resource_demands(configuration),
        "classes": {},
    }
    if folder is not None:
        runs = [run for run in folder.runs() if run.run_id in {str(kept["run"]) for kept in configuration.runs}]
        series, servers = read_series(runs, configuration.resources)
        names = dict.fromkeys(name for run in series for name in run.busy)
        bottleneck = configuration.bottleneck()
        for name in names:
            timed = bottleneck is not None and name == bottleneck.name
            found = pooled(series, name, servers[name], timed=timed)
            if found is not None:
                document["classes"][name] = demands_of_classes(*found)
    document["why_none"] = "" if document["resources"] or document["classes"] else _why_none(configuration)
    return document


def _why_none(configuration: Configuration) -> str:
    names = ", ".join(resource.name for resource in configuration.resources)
    loads = f"at {len(configuration.points)} load levels with throughput"
    if not configuration.points:
        return "no run of the configuration can be modelled"
    if not names:
        return f"no CPU time of a tier was recorded {loads}: drive the load by a study whose services are observed"
    return f"the CPU time of {names} is unknown {loads}: observe the services on their hosts"


def resource_demands(configuration: Configuration) -> dict[str, Any]:
    """Return the service demand of the mean transaction at every resource, estimated from the load levels."""
    points = configuration.points
    rates = np.array(
        [estimate_from_document(point["throughput_per_s"]).value or np.nan for point in points], dtype=float
    )
    found: dict[str, Any] = {}
    for resource in configuration.resources:
        _add(found, resource.name, rates, configuration.cpus(resource), resource)
        for tier in resource.tiers:
            parts = dict.fromkeys(part for point in points for part in point["tiers"].get(tier, {}).get("parts", {}))
            for part in parts:
                used = [_part(point, tier, part) for point in points]
                _add(
                    found,
                    f"{tier} / {part}",
                    rates,
                    np.array(used, dtype=float) / resource.part,
                    replace(resource, tiers=(tier,)),
                )
    for disk, busy in _disks(configuration).items():
        _add(found, f"disk {disk}", rates, busy, Resource(disk, 1, ()))
    return found


def _part(point: dict[str, Any], tier: str, part: str) -> float:
    value = estimate_from_document(point["tiers"].get(tier, {}).get("parts", {}).get(part, {}).get("cpus_used")).value
    return np.nan if value is None else value


def _add(found: dict[str, Any], name: str, rates: Floats, busy: Floats, resource: Resource) -> None:
    demand = demand_from_levels(rates, busy, resource.servers)
    if demand is not None:
        found[name] = {"servers": resource.servers, "tiers": list(resource.tiers), **demand}


def _disks(configuration: Configuration) -> dict[str, Floats]:
    """Return the utilization at each load, for each disk whose highest utilization exceeds `WORTH_A_DEMAND`. [ratio]"""
    rows = []
    for point in configuration.points:
        runs = [run for run in configuration.runs if run["run"] in point["runs"]]
        by_run = [
            {disk: row["utilization"] for disk, row in disks(run).items() if "utilization" in row} for run in runs
        ]
        names = set.intersection(*(set(row) for row in by_run)) if by_run else set()
        rows.append({disk: float(np.mean([row[disk] for row in by_run])) for disk in names})
    found = {
        disk: np.array([row.get(disk, np.nan) for row in rows]) for disk in sorted({d for row in rows for d in row})
    }
    return {disk: busy for disk, busy in found.items() if np.nanmax(busy) > WORTH_A_DEMAND}
