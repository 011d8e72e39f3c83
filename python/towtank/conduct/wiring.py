"""Creates the system, the engine's plan, and the observation of one run from the specification of the run."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from towtank.conduct.display import Display
from towtank.conduct.pinning import Pinning, pinning_of
from towtank.conduct.reading_back import ReadBack
from towtank.conduct.run import Observing, RunTask, Steer
from towtank.conduct.search_length import search_range_s
from towtank.conduct.stopping import StopRequest
from towtank.plan import Plan
from towtank.results import RunFolder
from towtank.study import FindLimit, SettleUntil, SteadyUntil
from towtank.system import Endpoints, System, build_system

if TYPE_CHECKING:
    from towtank.conduct.steering import Send, Steering
    from towtank.study import RunSpec


def make_task(spec: RunSpec, run: RunFolder, title: str, stop: StopRequest, display: Display) -> RunTask:
    """Return the description of one run for `conduct_run`."""
    pinning, load = pinning_of(spec.study.study.pinning), spec.study.study.load
    return RunTask(
        run=run,
        title=title,
        system=lambda logs: _system(spec, logs, pinning, stop, display),
        plan=lambda endpoints: _plan(spec, run, endpoints, pinning),
        observe=_observation,
        pinning=pinning,
        steer=_steer(spec, run, display),
        lasts=(lambda: search_range_s(load)) if isinstance(load, FindLimit) else None,
        events=spec.events,
        read_back=_read_back(spec, pinning),
    )


def _read_back(spec: RunSpec, pinning: Pinning) -> ReadBack | None:
    """Return the settings for reading back stored items; None if the workload stores nothing."""
    kinds = spec.study.workload.file.stored
    if not kinds:
        return None
    asked, cpus = spec.study.study.read_back, list(pinning.generator)
    return ReadBack(
        {kind: tuple(stored.absent) for kind, stored in kinds.items()},
        lambda kind, keys, out, up: spec.read_back_plan(kind, keys, out, up.addresses, up.exports, cpus=cpus),
        asked.at_most,
        asked.sample,
        spec.seed,
    )


def _steer(spec: RunSpec, run: RunFolder, display: Display) -> Steer | None:
    """Return a function that creates the steering of a load, or None if the load follows its plan.

    A steering is needed for a search, and for stages that end when a test passes.
    """
    load = spec.study.study.load
    settle = spec.study.study.settle
    asked = spec.study.study.steady
    steady = asked if isinstance(asked, SteadyUntil) and not isinstance(load, FindLimit) else None
    if not isinstance(settle, SettleUntil) and steady is None and not isinstance(load, FindLimit):
        return None
    at_least_s = settle.at_least if isinstance(settle, SettleUntil) else 0.0

    def make(plan: Plan, send: Send) -> Steering:
        from towtank.conduct.searching import SearchSteering  # noqa: PLC0415 - the analysis takes a second to load
        from towtank.conduct.steering import StageSteering  # noqa: PLC0415

        stages = list(plan.load.stages)
        if not isinstance(load, FindLimit):
            return StageSteering(run, stages, send, display.note, at_least_s, steady=steady)
        objectives = [objective.document() for objective in spec.study.objectives]
        return SearchSteering(run, stages, send, display.note, at_least_s, load=load, objectives=objectives)

    return make


def _system(spec: RunSpec, logs: Path, pinning: Pinning, stop: StopRequest, display: Display) -> System:
    return build_system(
        spec.system,
        spec.study.system_folder,
        logs,
        cpus=list(pinning.system) or None,
        check=stop.check,
        note=display.note,
    )


def _plan(spec: RunSpec, run: RunFolder, endpoints: Endpoints, pinning: Pinning) -> Plan:
    cpus = list(pinning.generator)
    threads = max(1, len(cpus))
    return spec.plan(run.engine.absolute(), endpoints.addresses, endpoints.exports, threads, cpus)


def _observation(run: RunFolder, endpoints: Endpoints) -> AbstractContextManager[Observing]:
    from towtank.observe import Observation  # noqa: PLC0415 - starts the probe: only when something runs

    return Observation(run, endpoints.groups, endpoints.scrapers, probes=endpoints.probes)
