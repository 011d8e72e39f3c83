"""Builds the configuration sheet: the settings of the system, and their differences between runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

from towtank.analysis import throttled_disks
from towtank.report import format as people
from towtank.report.content.headline import nothing
from towtank.report.content.question import cpu_names
from towtank.report.content.tiers import services_of
from towtank.report.document import Block, Section, Table, headings, paragraph
from towtank.report.source import Results, RunResult


def build(results: Results) -> Section:
    """Build the section with the settings of every service, CPU pinning, disk limits and facts about the host."""
    blocks: list[Block] = []
    sheet = settings(results)
    if sheet:
        factors = [*results.other_factors, results.load_factor]
        rows = tuple((service, key, _differences(values, factors)) for (service, key), values in sheet.items())
        columns = headings("Service", "Setting", "Value")
        blocks.append(Table("Configuration in force, as recorded by the runs", columns, rows))
    else:
        blocks.append(nothing("The configuration in force"))
    blocks += [*_pinning(results), *_throttled_disks(results), *_host(results)]
    return Section("configuration", "Configuration sheet", tuple(blocks))


def settings(results: Results) -> dict[tuple[str, str], dict[str, list[RunResult]]]:
    """Return the values of each setting, by service and name; each value with the runs that used it."""
    found: dict[tuple[str, str], dict[str, list[RunResult]]] = {}
    for run in results.runs:
        if run.manifest.get("status") == "missing":
            continue
        for service, values in (run.manifest.get("settings") or {}).items():
            for key, value in _flat(values):
                found.setdefault((str(service), key), {}).setdefault(shown(value), []).append(run)
    return found or _described(results)


def _described(results: Results) -> dict[tuple[str, str], dict[str, list[RunResult]]]:
    """Return the settings in the study's description, for runs that recorded no settings."""
    return {
        (service.name, key): {shown(value): []}
        for service in services_of(results)
        for key, value in _flat(service.settings)
    }


def _flat(values: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Flatten nested settings to pairs of name and value, with names such as `database.pool`."""
    if not isinstance(values, Mapping):
        return [(prefix or "value", values)]
    return [
        pair
        for key, value in values.items()
        for pair in (
            _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) and value else [(f"{prefix}{key}", value)]
        )
    ]


def shown(value: Any) -> str:
    """Render the value of a setting, similar to a configuration file."""
    if isinstance(value, bool) or value is None:
        return {True: "on", False: "off", None: "not set"}[value]
    if isinstance(value, str):
        return value or "(empty)"
    if isinstance(value, (list, tuple)) and not value:
        return "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(shown(item) for item in value)
    return json.dumps(value, ensure_ascii=False)


def _differences(values: dict[str, list[RunResult]], factors: list[str]) -> str:
    """Render the values of a setting; if there are several, each with the factor levels of its runs."""
    if len(values) == 1:
        return next(iter(values))
    count = sum(len(runs) for runs in values.values())
    for number in range(1, len(factors) + 1):
        for chosen in combinations(factors, number):
            levels = {value: dict.fromkeys(_levels(run, chosen) for run in runs) for value, runs in values.items()}
            every_level = [level for of_value in levels.values() for level in of_value]
            if len(set(every_level)) < len(every_level):
                continue
            if len(every_level) == count == len(values) and number == len(factors) > 1:
                # A setting such as a process id differs between all runs, independent of factor levels.
                break
            return "; ".join(f"{value} ({', or '.join(of_value)})" for value, of_value in levels.items())
    return f"differs from run to run: {', '.join(values)}"


def _levels(run: RunResult, factors: Iterable[str]) -> str:
    return ", ".join(f"{name} {run.factors.get(name, '?')}" for name in factors)


def _pinning(results: Results) -> list[Block]:
    """Return a paragraph for each distinct pinning of the system and the load generator to CPUs."""
    ways = {
        (cpu_names(pinning.get("system")) if run.manifest.get("tiers") else "", cpu_names(pinning.get("generator")))
        for run in results.runs
        if isinstance(pinning := run.manifest.get("pinning"), Mapping)
    }
    return [
        paragraph(
            f"The system ran on {system}, the load generator on {generator}."
            if system
            else f"The load generator ran on {generator}. Towtank neither started nor pinned any service."
        )
        for system, generator in sorted(ways)
    ]


def _throttled_disks(results: Results) -> list[Block]:
    """Return paragraphs on disks whose speed a control group limits."""
    found = dict.fromkeys(disk for run in results.runs for disk in throttled_disks(run.manifest))
    return [
        paragraph(
            f"The control group of host {host} limited disk {disk} to {limits}. The limit applies to the average, so "
            "requests pass in bursts. Percentiles of times with disk access describe this limit, not the disk."
        )
        for host, disk, limits in found
    ]


def _host_facts(results: Results) -> Mapping[str, object]:
    """Return the facts about the host from the manifest of the study; if it has none, from that of a run."""
    found = (source.get("host") for source in (results.manifest, *(run.manifest for run in results.runs)))
    return next((facts for facts in found if isinstance(facts, Mapping)), {})


def _host(results: Results) -> list[Block]:
    rows = tuple(
        (
            key.removesuffix("_bytes").replace("_", " "),
            people.size(value) if key.endswith("_bytes") else shown(value),
        )
        for key, value in _flat(_host_facts(results))
    )
    if not rows:
        return [nothing("Hardware and software of the host")]
    return [Table("Host", headings("Fact", "Value"), rows)]
