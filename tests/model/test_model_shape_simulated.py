"""Kinds of limits, each determined from simulated measurements of a system with a known limit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from towtank.analysis import LoadPoint, RunSummary
from towtank.model import SimulationSettings, load_model, simulate_models
from towtank.model.fitting.measured import Configuration, Resource
from towtank.model.fitting.shape import classify

USERS = (5, 150)
FAST = SimulationSettings(precision=0.03, replications=4)
# Disk reads per transaction that page faults cause in the system `memory`, which has too little memory.
FAULTS_OF_SHORT_MEMORY = 1.5

SYSTEMS: dict[str, dict[str, Any]] = {
    "cpu": {"stations": {"cpu": {"servers": 2, "discipline": "ps", "demand": "30 ms"}, "sda": {"demand": "2 ms"}}},
    # A lock is held for 20 ms, of which 4 ms are CPU time. No CPU is saturated, but users wait for the lock.
    "contention": {
        "stations": {
            "cpu": {"servers": 2, "discipline": "ps", "demand": "4 ms"},
            "backend": {"discipline": "delay", "demand": "16 ms"},
            "sda": {"demand": "1 ms"},
        },
        "pools": {"lock": {"size": 1, "holds": ["cpu", "backend"]}},
    },
    "disk": {"stations": {"cpu": {"servers": 2, "discipline": "ps", "demand": "4 ms"}, "sda": {"demand": "15 ms"}}},
    # There is too little memory, so every transaction must read evicted pages again. This saturates the disk.
    "memory": {
        "stations": {
            "cpu": {"servers": 2, "discipline": "ps", "demand": "4 ms"},
            "sda": {"visits": FAULTS_OF_SHORT_MEMORY, "service_time": "10 ms"},
        }
    },
    "none": {"stations": {"cpu": {"servers": 2, "discipline": "ps", "demand": "2 ms"}, "sda": {"demand": "1 ms"}}},
}


def estimate(value: float) -> dict[str, Any]:
    return {"value": value, "low": None, "high": None, "confidence": 0.95, "method": "none", "n": 1}


def simulated(system: dict[str, Any], users: int, folder: Path) -> dict[str, Any]:
    """Simulate a system with the given number of users, and return the result."""
    path = folder / f"{users}.yaml"
    path.write_text(json.dumps({"classes": {"web": {"users": users, "think": "1 s"}}, **system}), "utf-8")
    return dict(simulate_models([load_model(path).document], FAST).answers[0].document())


def configuration(kind: str, folder: Path, *, envelope: float | None = None) -> Configuration:
    points, runs = [], []
    for number, users in enumerate(USERS, 1):
        answer = simulated(SYSTEMS[kind], users, folder)
        name, rate = f"r{number:03d}", answer["classes"]["web"]["throughput_per_s"]
        used = estimate(2 * answer["stations"]["cpu"]["utilization"])
        points.append(
            {
                "load": users,
                "runs": [name],
                "throughput_per_s": estimate(rate),
                "response_time_s": {"mean": estimate(answer["classes"]["web"]["response_time_s"])},
                "tiers": {"web": {"cpus_used": used}},
            }
        )
        runs.append(
            {
                "run": name,
                "throughput_per_s": estimate(rate),
                "tiers": {"web": {"major_faults_per_s": rate * (FAULTS_OF_SHORT_MEMORY if kind == "memory" else 0.0)}},
                "host": {
                    "disks": {"sda": {"utilization": answer["stations"]["sda"]["utilization"]}},
                    "pressure": {},
                    "context_switches_per_s": 10 * rate,
                },
                # Rate of the generator, divided by the calibrated rate of the generator, `envelope` [1/s].
                "generator": {"saturated": False, "envelope_share": None if envelope is None else rate / envelope},
                "services": {
                    "web": {"lock_waiting": {"kind": "gauge", "mean": answer["pools"]["lock"]["waiting"]}}
                    if kind == "contention"
                    else {}
                },
            }
        )
    return Configuration(
        "all runs",
        {},
        list(map(LoadPoint.model_validate, points)),
        resources=[Resource("web", 2, ("web",))],
        runs=list(map(RunSummary.read, runs)),
    )


@pytest.mark.parametrize(
    ("kind", "resource"),
    [("cpu", "web"), ("contention", None), ("disk", "disk sda"), ("memory", "web"), ("none", None)],
)
def test_a_simulated_system_shows_its_limit(kind: str, resource: str | None, tmp_path: Path) -> None:
    found = classify(configuration(kind, tmp_path))
    assert found.kind == kind, found.sentence
    if resource is not None:
        assert found.resource == resource


def test_a_generator_at_its_own_limit_discredits_every_other_kind(tmp_path: Path) -> None:
    # Each transaction takes 30 ms, so two CPUs allow 66.7 transactions/s. This is 95 % of the generator's calibrated
    # rate, 70 /s.
    found = classify(configuration("cpu", tmp_path, envelope=70.0))
    assert found.kind == "generator"


def test_a_lock_is_seen_by_who_waits_for_it(tmp_path: Path) -> None:
    found = classify(configuration("contention", tmp_path))
    waiting = next(evidence for evidence in found.evidence if evidence.what == "lock_waiting of web")
    # The lock allows 50 transactions/s. Of 150 users, 50 think and 1 holds the lock, so 99 wait.
    assert waiting.highest == pytest.approx(150 - 50 - 1, rel=0.1)
    assert (waiting.lowest or 0.0) < 1
