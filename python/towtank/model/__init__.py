"""Queueing networks from files: checked, solved by the engine, with changes for what-if."""

from towtank.model.loading import ModelProblem, check_model, load_model
from towtank.model.solving import METHODS, solve_models

__all__ = ["METHODS", "ModelProblem", "check_model", "load_model", "solve_models"]
