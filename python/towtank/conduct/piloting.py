"""Conducts the pilot run of a study whose load levels are fractions of the system's load limit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from towtank.conduct.display import Display
from towtank.conduct.run import RunTask, conduct_run
from towtank.conduct.stopping import StopRequest
from towtank.conduct.wiring import make_task
from towtank.errors import MeasurementError, Stopped, TargetError
from towtank.plan import Plan
from towtank.results import STUDY_MANIFEST, ResultsFolder, RunFolder
from towtank.secrets import make_private_folder
from towtank.study import LOAD_FACTORS, FindLimit, Pilot, PilotResult, RunSpec, Stages, StepUp, Study, run_seed

FOLDER = "pilot"
"""Name of the pilot run's folder in the results folder."""
_ERRORS = "errors > 50 %"


def with_limit(study: Study, folder: Path, display: Display, stop: StopRequest, *, resume: bool) -> Study:
    """Return the study with the load limit of the system, which a pilot run measures.

    A study without load levels as fractions of this limit is returned unchanged. A resumed study keeps the limit in its
    results.

    Raises
    ------
    TargetError
        If the system did not come up.
    MeasurementError
        If no plateau (load step) of the pilot run passed.
    """
    if not study.needs_pilot:
        return study
    if resume and (folder / STUDY_MANIFEST).is_file():
        return replace(study, pilot_result=PilotResult(**ResultsFolder.open(folder).manifest["study"]["pilot"]))
    with display:
        display.note("pilot run: measuring how many users the system can handle on this machine")
        pilot_result = _measure(study, folder / FOLDER, display, stop)
    levels = ", ".join(
        f"{level} = {users:.0f} users" for level, users in _levels(replace(study, pilot_result=pilot_result))
    )
    about = "at least " if pilot_result.is_lower_bound else "about "
    display.note(f"pilot run: {about}{pilot_result.users:.0f} users; {levels}")
    return replace(study, pilot_result=pilot_result)


def _levels(study: Study) -> list[tuple[str, float]]:
    factor = next(factor for factor in study.factors if factor.name in LOAD_FACTORS)
    return list(zip(factor.levels, factor.numeric or (), strict=True))


def _measure(study: Study, folder: Path, display: Display, stop: StopRequest) -> PilotResult:
    spec = pilot_spec(study)
    make_private_folder(folder.parent)
    run = RunFolder.create(folder, {**spec.document(), "status": "planned"})
    task = make_task(spec, run, "pilot", stop, display)
    outcome = conduct_run(pilot_task(task, run, study.pilot, display), stop, display)
    if stop.requested:
        raise Stopped("stopped in the pilot run, before the first run")
    if not outcome.came_up:
        raise TargetError(f"the system could not be brought up for the pilot run: {outcome.reason}")
    return read_pilot(run, study.pilot, outcome.reason)


def pilot_task(task: RunTask, run: RunFolder, pilot: Pilot, display: Display) -> RunTask:
    """Return the task of a run whose load rises beyond the load limit, without events, and without reading back stored
    items.
    """

    def make(plan: Plan, send: Any) -> Any:
        from towtank.conduct.searching import PilotSteering  # noqa: PLC0415 - the analysis takes a second to load

        stages = list(plan.load.stages)
        return PilotSteering(run, stages, send, display.note, 0.0, load=pilot_load(pilot), objectives=[])

    return replace(task, steer=make, read_back=None, events={})


def pilot_load(pilot: Pilot) -> FindLimit:
    """Return the load of a pilot run: a search for the load limit, but without objectives.

    A plateau fails if more than half of its requests fail.
    """
    # `model_construct` skips the validation, which expects texts with units: the times are already in seconds.
    stages = Stages.model_construct(ramp_up=pilot.ramp_up, settle=pilot.settle, steady=pilot.steady, ramp_down=0.0)
    return FindLimit(
        kind="find-limit",
        of="users",
        start=pilot.start,
        steps=[StepUp(times=pilot.times)],
        at_most=pilot.at_most,
        stop_when=[_ERRORS],
        stages=stages,
    )


def pilot_spec(study: Study) -> RunSpec:
    """Return the specification of the pilot run: the load of `pilot_load`, with the first level of every other
    factor.
    """
    factors = {name: levels for name, levels in study.study.factors.items() if name not in LOAD_FACTORS}
    changed = {"load": pilot_load(study.pilot), "factors": factors, "events": {}, "predict": None}
    pilot = replace(study, study=study.study.model_copy(update=changed))
    names = {factor.name: factor.levels[0] for factor in pilot.factors}
    first = {key: value for factor in pilot.factors for key, value in factor.overrides[0].items()}
    return RunSpec(
        run=FOLDER,
        index=0,
        repetition=0,
        factors=names,
        overrides={**study.study.overrides, **first},
        levels=(float(study.pilot.start),),
        users=study.pilot.at_most,
        rate=None,
        seed=run_seed(study.study.seed, 0, names),
        study=pilot,
    )


def read_pilot(run: RunFolder, pilot: Pilot, reason: str | None = None) -> PilotResult:
    """Read the load limit of the system from the records of a pilot run.

    Raises
    ------
    MeasurementError
        If no plateau (load step) of the pilot run passed.
    """
    from towtank.analysis import Measurement, search_of_run  # noqa: PLC0415 - numpy: only if something was measured
    from towtank.conduct.pilot_levels import is_beyond, limit_users  # noqa: PLC0415
    from towtank.results import segments  # noqa: PLC0415

    search = pilot_load(pilot).document()
    plateaus = search_of_run(Measurement(segments.read(run.engine)), search, [], []).plateaus
    users = limit_users(plateaus)
    if users is None:
        why = reason or next((each.failure.text for each in plateaus if each.failure), "nothing was recorded")
        raise MeasurementError(
            f"the pilot run found no load that the system can handle: {why}",
            hint=f"see {run.path}, or give the levels of users as numbers",
        )
    shown = tuple({"users": plateau.level, "throughput_per_s": plateau.throughput.value or 0.0} for plateau in plateaus)
    return PilotResult(users, not is_beyond(plateaus), shown)
