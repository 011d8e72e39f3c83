"""Queueing-network models of a system, read from files and solved by the engine. The package `fitting` fits models
to measurements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.model.loading import ModelProblem as ModelProblem
    from towtank.model.loading import check_model as check_model
    from towtank.model.loading import load_model as load_model
    from towtank.model.simulating import SimulationSettings as SimulationSettings
    from towtank.model.simulating import simulate_models as simulate_models
    from towtank.model.solving import METHODS as METHODS
    from towtank.model.solving import solve_models as solve_models
    from towtank.model.waiting import wait_percentiles as wait_percentiles
    from towtank.model.waiting import waits_in_turn as waits_in_turn

__getattr__, __dir__ = door(
    __name__,
    {
        "loading": "ModelProblem check_model load_model",
        "simulating": "SimulationSettings simulate_models",
        "solving": "METHODS solve_models",
        "waiting": "wait_percentiles waits_in_turn",
    },
)
