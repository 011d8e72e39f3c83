"""Service demands of a results folder: by resource from load levels, by class from the seconds of all runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from towtank.analysis.estimates import from_document
from towtank.model.fitting.demand_classes import demands_of_classes
from towtank.model.fitting.demand_levels import demand_from_levels
from towtank.model.fitting.demand_series import pooled, read_series
from towtank.model.fitting.measured import Configuration, read_configurations
from towtank.model.fitting.observations import Floats
from towtank.results.folder import STUDY_MANIFEST, ResultsFolder

SCHEMA = "towtank/model-demands/1"


def demands_document(path: Path) -> dict[str, Any]:
    """Demands of every configuration of a results folder.

    Returns
    -------
    dict
        As `docs/reference/model-fit.md` describes.
    """
    configurations = read_configurations(path)
    folder = ResultsFolder.open(path) if (path / STUDY_MANIFEST).is_file() else None
    return {
        "schema": SCHEMA,
        "source": str(path),
        "configurations": [configuration_demands(one, folder) for one in configurations],
    }


def configuration_demands(one: Configuration, folder: ResultsFolder | None) -> dict[str, Any]:
    """Demands of one configuration."""
    document: dict[str, Any] = {
        "label": one.label,
        "key": one.key,
        "excluded": one.excluded,
        "resources": resource_demands(one),
        "classes": {},
    }
    if folder is not None:
        runs = [run for run in folder.runs() if run.run_id in {str(kept["run"]) for kept in one.runs}]
        series, servers = read_series(runs, one.resources)
        names = dict.fromkeys(name for run in series for name in run.busy)
        for name in names:
            found = pooled(series, name, servers[name])
            if found is not None:
                document["classes"][name] = demands_of_classes(*found)
    return document


def resource_demands(one: Configuration) -> dict[str, Any]:
    """Demand of the mean transaction at every resource, from the load levels."""
    points = one.points
    rates = np.array([from_document(point["throughput_per_s"]).value or np.nan for point in points], dtype=float)
    found: dict[str, Any] = {}
    for resource in one.resources:
        _add(found, resource.name, rates, one.cpus(resource), resource.servers, resource.tiers)
        for tier in resource.tiers:
            parts = dict.fromkeys(part for point in points for part in point["tiers"].get(tier, {}).get("parts", {}))
            for part in parts:
                used = [_part(point, tier, part) for point in points]
                _add(found, f"{tier} / {part}", rates, np.array(used, dtype=float), resource.servers, (tier,))
    return found


def _part(point: dict[str, Any], tier: str, part: str) -> float:
    value = from_document(point["tiers"].get(tier, {}).get("parts", {}).get(part, {}).get("cpus_used")).value
    return np.nan if value is None else value


def _add(
    found: dict[str, Any], name: str, rates: Floats, busy: Floats, servers: int, tiers: tuple[str, ...]
) -> None:
    demand = demand_from_levels(rates, busy, servers)
    if demand is not None:
        found[name] = {"servers": servers, "tiers": list(tiers), **demand}
