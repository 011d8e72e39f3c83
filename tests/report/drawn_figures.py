"""Changed copies of the synthetic study, and readers of figures, for the tests of figures."""

from __future__ import annotations

import dataclasses
from xml.etree import ElementTree

import report_synthetic as synthetic

from towtank.report.figures import (
    series,
)
from towtank.report.source import Results


def find(points: list[series.Point], configuration: str, load: float) -> series.Point:
    """Return the only point of a configuration at the given load."""
    (point,) = [p for p in points if p.configuration == configuration and p.load == load]
    return point


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def repeated() -> Results:
    """Return the synthetic study with two runs at 120 users with the index: 90 and 110 transactions per second."""
    results = synthetic.results()
    first = next(run for run in results.runs if run.run_id == "r004")
    second = dataclasses.replace(first, run_id="r009", summary={**first.summary, "run": "r009"})
    runs = []
    for run, rate in ((first, 90.0), (second, 110.0)):
        runs.append(dataclasses.replace(run, summary={**run.summary, "throughput_per_s": synthetic.estimate(rate)}))
    point = results.summary["configurations"][0]["points"][3]
    point.update(runs=["r004", "r009"], verdicts=["valid", "valid"])
    return dataclasses.replace(results, runs=tuple(run for run in results.runs if run is not first) + tuple(runs))


def with_cpus(results: Results, cpus: float) -> Results:
    for configuration in results.summary["configurations"]:
        for point in configuration["points"]:
            point["tiers"]["content"]["cpus_allotted"] = cpus
    return results
