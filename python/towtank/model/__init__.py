"""Models of a system: queueing networks from files, solved by the engine; `fitting` fits them to measurements."""

from towtank.model.loading import ModelProblem, check_model, load_model
from towtank.model.simulating import SimulationSettings, simulate_models
from towtank.model.solving import METHODS, solve_models
from towtank.model.waiting import wait_percentiles, waits_in_turn

__all__ = [
    "METHODS",
    "ModelProblem",
    "SimulationSettings",
    "check_model",
    "load_model",
    "simulate_models",
    "solve_models",
    "wait_percentiles",
    "waits_in_turn",
]
