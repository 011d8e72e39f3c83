"""Plans of runs whose engine is simulated."""

from __future__ import annotations

from collections.abc import Sequence

from towtank.files import engine_path
from towtank.plan import Plan, PlannedLoad, PlannedStage
from towtank.results.folder import RunFolder


def small_plan(run: RunFolder, stages: Sequence[PlannedStage], *, users: int) -> Plan:
    """Return a plan without targets, for an engine that does not wait for pending responses."""
    workload = {"targets": [], "connections": {"mode": "per_user"}, "timeouts": {"drain_s": 0.0}}
    load = PlannedLoad(kind="closed", users_at_most=users, stages=stages)
    return Plan(run="r001", seed=1, out=engine_path(run.engine), threads=1, cpus=[], workload=workload, load=load)
