"""Checks the stage, the time, the service, the host and the disk of each event of a study."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from towtank import units
from towtank.errors import Fault
from towtank.plan import PlannedStage
from towtank.spelling import misnamed
from towtank.study.design import LOAD_FACTORS
from towtank.study.events import Event, Moment
from towtank.study.study import Study
from towtank.system import NamespacesHost, SystemFile
from towtank.yamlfile import fault_at


def event_faults(study: Study) -> list[Fault]:
    """Return the faults of the events of a study, for every combination of levels that has events."""
    if not study.study.events:
        return []
    faults: set[Fault] = set()
    for factors in _combinations(study):
        events = study.events_with(factors)
        if events:
            system, stages = study.system_with(factors), study.planned_load(study.load_levels(factors)).stages
            for name, event in events.items():
                faults.update(_faults(study, name, event, system, stages))
    return sorted(faults)


def _combinations(study: Study) -> Iterator[dict[str, str]]:
    """Yield every combination of factor levels for which the events may differ.

    Load levels are included: they determine the length of the ramps, and therefore whether an event lies within its
    stage.
    """
    varied = [
        factor
        for factor in study.factors
        if factor.name in LOAD_FACTORS
        or any(any(not path.startswith("parameters.") for path in level) for level in factor.overrides)
    ]
    for cell in itertools.product(*(factor.levels for factor in varied)):
        yield {factor.name: level for factor, level in zip(varied, cell, strict=True)}


def _faults(
    study: Study, name: str, event: Event, system: SystemFile, stages: Sequence[PlannedStage]
) -> Iterator[Fault]:
    wrongs = (
        ("at", _wrong_moment(event.at, stages)),
        ("service", _wrong_service(event.service, system)),
        ("host", _wrong_host(event.host, system)),
        ("disk", _wrong_disk(event, system)),
    )
    for key, wrong in wrongs:
        if wrong is not None:
            yield fault_at(study.tree, ("events", name, key), wrong)


def _wrong_moment(moment: Moment, stages: Sequence[PlannedStage]) -> str | None:
    if moment.stage is None:
        length = sum(stage.duration_s for stage in stages)
        if not any(stage.until for stage in stages) and moment.after_s >= length:
            return f"must lie within the load of {units.format_duration(length)}, got {moment.words()!r} instead"
        return None
    stage = find_stage(moment.stage, stages)
    if stage is None:
        names = list(dict.fromkeys([*(planned.name for planned in stages), *(planned.phase for planned in stages)]))
        return misnamed(f"in a stage of the load ({', '.join(names)})", moment.stage, names)
    if stage.until is None and moment.after_s >= stage.duration_s:
        shown = units.format_duration(stage.duration_s)
        return f"must lie within stage {stage.name} of {shown}, got {moment.words()!r} instead"
    return None


def find_stage(wanted: str, stages: Sequence[PlannedStage]) -> PlannedStage | None:
    """Return the first stage with the given name, otherwise the first stage of the phase with this name; None if
    neither exists.
    """
    named = [stage for stage in stages if stage.name == wanted]
    return next(iter(named or [stage for stage in stages if stage.phase == wanted]), None)


def _wrong_service(service: str | None, system: SystemFile) -> str | None:
    if service is None:
        return None
    known = {name: part.processes(name) for name, part in system.services.items()}
    named = [name for name, processes in known.items() if processes]
    meant = list(dict.fromkeys([*named, *(process for processes in known.values() for process in processes)]))
    if service in meant:
        return None
    allowed = f"a service that is started, or one of its processes ({', '.join(meant)})"
    return misnamed(allowed, service, meant)


def _wrong_host(host: str | None, system: SystemFile) -> str | None:
    if host is None:
        return None
    used = {name for part in system.services.values() for name in (part.host, *part.hosts_used)}
    known = [name for name, part in system.hosts.items() if isinstance(part, NamespacesHost) and name in used]
    if host in known:
        return None
    allowed = f"a host of provider namespaces with a service ({', '.join(known) or 'it has none'})"
    return misnamed(allowed, host, known)


def _wrong_disk(event: Event, system: SystemFile) -> str | None:
    host = None if event.host is None else system.hosts.get(event.host)
    if event.disk is None or not isinstance(host, NamespacesHost):
        return None
    if event.disk not in host.disks:
        known = ", ".join(host.disks) or "which has none"
        return misnamed(f"a disk of host {event.host} ({known})", event.disk, host.disks)
    kind = host.disks[event.disk].file_system
    if event.leave_files is not None and not kind.startswith("ext"):
        return (
            "must be ext2, ext3 or ext4 for leave_files, because these have a fixed number of inodes, "
            f"got {kind} instead"
        )
    return None
