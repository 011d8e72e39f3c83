"""Writes queueing models to files, and solves them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from towtank.errors import StudyError
from towtank.model import EngineModel, JobClass, Pool, Service, Station, load_model, solve_models
from towtank.model.engine_model import Fork, Route, Variation

VARIED = ("think", "arrivals", "variation")
"""Keys of a model of the engine that contain the variation of a time."""


def seconds(value: Any) -> Any:
    """Return a number of seconds in the notation of a model file. If `value` is a mapping, convert each of its
    values.
    """
    return {key: seconds(part) for key, part in value.items()} if isinstance(value, dict) else f"{value!r} s"


def model(classes: dict[str, Any], stations: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """Return a model in the form of a model file. Times are in seconds, rates in 1/s."""
    units = {"think": seconds, "rate": lambda rate: f"{rate!r} /s", "demand": seconds, "service_time": seconds}
    write = lambda part: {key: units.get(key, lambda same: same)(value) for key, value in part.items()}  # noqa: E731
    return {
        "classes": {name: write(part) for name, part in classes.items()},
        "stations": {name: write(part) for name, part in stations.items()},
        **parts,
    }


def solved(content: dict[str, Any], method: str = "auto") -> dict[str, Any]:
    """Write a model to a file and return its solution. A faulty model raises the error that the command would raise."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.yaml"
        path.write_text(json.dumps(content), "utf-8")
        problem = load_model(path)
    outcome = solve_models([problem.document], method)[0]
    if outcome.faults:
        raise StudyError(problem.faults(outcome.faults))
    return outcome.solution.document()


def engine_model(document: dict[str, Any]) -> EngineModel:
    """Return a model of the engine, given with the keys of its JSON object."""
    of_class = lambda part: {"job_class" if key == "class" else key: each for key, each in part.items()}  # noqa: E731
    vary = lambda part: {key: Variation(**each) if key in VARIED else each for key, each in part.items()}  # noqa: E731
    stations = [
        Station(
            **each
            | {"services": [Service(**{"visits": None, **vary(of_class(service))}) for service in each["services"]]}
        )
        for each in document["stations"]
    ]
    return EngineModel(
        [JobClass(**vary(each)) for each in document["classes"]],
        stations,
        [Pool(**each) for each in document.get("pools", ())],
        [Fork(**each) for each in document.get("forks", ())],
        [Route(**of_class(each)) for each in document.get("routing", ())],
        document.get("behaviour", {}),
    )


def closed(users: int, demands: list[float], think: float = 0.0, **station: Any) -> dict[str, Any]:
    """Return a model with one closed class `jobs` at stations `s0`, `s1`, ... The demands and the think time are in
    seconds.
    """
    stations = {f"s{index}": {"demand": demand, **station} for index, demand in enumerate(demands)}
    return model({"jobs": {"users": users, "think": think}}, stations)
