"""Describes a study as plain data, for the manifest of its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank import units
from towtank.documents import document_of
from towtank.study.across import describe_across
from towtank.study.model import EachRamp, FindLimit, PinnedCpus
from towtank.study.overrides import apply_to_system
from towtank.study.precise import SteadyUntil, steady_document
from towtank.study.search import load_amount
from towtank.study.settle import SettleUntil
from towtank.system import host_copies
from towtank.workload import Group, WorkloadFile

if TYPE_CHECKING:
    from towtank.study.study import Study


def describe(study: Study) -> dict[str, object]:
    """Return the description of a study for the analysis and the report, with quantities in SI units."""
    file = study.study
    workload = _workload_in_force(study)
    pinning = file.pinning
    return {
        "name": file.name,
        "title": file.title,
        "question": file.question,
        "expect": file.expect,
        "preset": study.preset,
        "left_out": study.left_out,
        "seed": file.seed,
        "repetitions": study.blocks,
        "repeat": None
        if file.repeat is None
        else {**file.repeat.document(), "at_most": max(file.blocks, study.at_least)},
        "run_to_run": file.run_to_run,
        "order": file.order,
        "factors": [factor.document() for factor in study.factors],
        "load_factor": study.load_factor,
        "design": [run.document() for run in study.design()],
        "limits": study.limits,
        "objectives": [objective.document() for objective in study.objectives],
        "claims": [claim.document() for claim in file.claims],
        "load": _load(study),
        "pilot": None if study.pilot_result is None else document_of(study.pilot_result),
        "stages": stages(study),
        "predict": describe_across(study),
        "events": [{**event.document(name), "happens": event.happens} for name, event in file.events.items()],
        "mix": mix(workload),
        "think": {name: think_words(workload, group) for name, group in workload.groups.items()},
        "workload": _workload(study, workload),
        "system": _system(study),
        "pinning": pinning.model_dump() if isinstance(pinning, PinnedCpus) else pinning,
    }


def _workload_in_force(study: Study) -> WorkloadFile:
    """Return the workload with the parameter values that the study sets for all runs."""
    parameters = study.parameters_with({})
    return (study.workload.with_parameters(parameters) if parameters else study.workload).file


def _load(study: Study) -> dict[str, object]:
    load = study.study.load
    if isinstance(load, FindLimit):
        rest = {"arrivals": load.arrivals, "users_at_most": load.users_at_most} if load.of == "rate" else {}
        return {"kind": load.kind, "levels": [_whole(load_amount(load.start))], "search": load.document(), **rest}
    levels = sorted({level for run in study.design() for level in run.levels})
    described: dict[str, object] = {"kind": load.kind, "levels": [_whole(level) for level in levels]}
    if load.kind == "open":
        described |= {
            "arrivals": load.arrivals,
            "users_at_most": load.users_at_most,
            "backlog_at_most": load.backlog_at_most,
        }
    if study.curve is not None:
        described["trace"] = {
            "length_s": study.curve.length_s,
            "arrivals": study.curve.arrivals,
            "mean_rate_per_s": study.curve.mean_rate,
            "peak_rate_per_s": max(rate for _, rate in study.curve.knots),
        }
    return described


def _whole(value: float) -> float:
    return int(value) if value == int(value) else value


def stages(study: Study) -> list[dict[str, object]]:
    """Return the stages of a run. A ramp with a fixed time per user has the key `each_s` instead of `duration_s`."""
    written = study.study.load.stages
    if written is None:
        planned = study.planned_load(()).stages
        return [{"name": each.name, "phase": each.phase, "duration_s": each.duration_s} for each in planned]
    described: list[dict[str, object]] = []
    for phase in ("ramp_up", "settle", "steady", "ramp_down"):
        value = getattr(written, phase)
        if isinstance(value, EachRamp):
            described.append({"name": phase, "phase": phase, "each_s": value.each})
        elif isinstance(value, SettleUntil):
            length = {"duration_s": value.at_most, "settle": value.document()}
            described.append({"name": phase, "phase": phase, **length})
        elif isinstance(value, SteadyUntil):
            length = {"duration_s": value.at_most, "steady": steady_document(value)}
            described.append({"name": phase, "phase": phase, **length})
        elif value > 0:
            described.append({"name": phase, "phase": phase, "duration_s": value})
    return described


def mix(workload: WorkloadFile) -> list[dict[str, object]]:
    """Return the transaction mix of all user groups, with one row for each transaction of a group."""
    return [
        {"group": name, "share": group.share, "transaction": transaction, "weight": weight}
        for name, group in workload.groups.items()
        for transaction, weight in group.loop.mix.items()
    ]


def think_words(workload: WorkloadFile, group: Group) -> str:
    """Render the think time or pacing of a user group as text."""
    if group.loop.pacing is not None:
        return f"from start to start: {group.loop.pacing.words()}"
    think = group.loop.think or workload.defaults.think
    return think.words() if think is not None else "none"


def _workload(study: Study, workload: WorkloadFile) -> dict[str, object]:
    return {
        "name": workload.name,
        "title": workload.title,
        "parameters": {**workload.parameters, **study.parameters_with({})},
        "groups": [
            {"name": name, "share": group.share, "once": group.once, "end": group.end}
            for name, group in workload.groups.items()
        ],
    }


def _system(study: Study) -> dict[str, object]:
    """Return hosts, services and targets of the system. Sizes and durations in settings are texts with units, for
    display.

    Each copy of a host is listed with its services; `copies` maps the name of a copy to the name of the host in the
    file.
    """
    system = study.system
    services = {}
    for name, service in system.services.items():
        rest = service.model_dump(mode="json", exclude={"settings"}, exclude_none=True)
        services[name] = {**rest, "settings": service.configuration}
    return {
        "name": system.name,
        "title": system.title,
        "hosts": {name: host.model_dump(mode="json", exclude_none=True) for name, host in system.hosts.items()},
        "services": services,
        "targets": {name: target.model_dump(mode="json") for name, target in system.all_targets.items()},
        "network": system.network.model_dump(mode="json", exclude_none=True),
        "generator": system.generator.model_dump(mode="json", exclude_none=True),
        "copies": host_copies(apply_to_system(study.system_document.root, study.overrides_with({}))),
        "start_timeout": units.format_duration(system.start_timeout),
    }
