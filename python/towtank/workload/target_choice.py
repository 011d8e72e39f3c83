"""Chooses the target of a step or cookie, and reports steps and cookies without a target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from towtank.errors import Fault
from towtank.spelling import misnamed
from towtank.workload import references
from towtank.workload.calls import CallStep
from towtank.workload.cookies import GivenCookie
from towtank.workload.loading import Workload
from towtank.workload.steps import Request
from towtank.yamlfile import Path_

# Entries of a workload that need a target. These are steps that send requests, and cookies.
Aimed = Request | CallStep | GivenCookie


def target_of(aimed: Aimed, default: str | None, spoken: Mapping[str, str]) -> str | None:
    """Return the name of the target for a step or a cookie; None if no target fits or the choice is ambiguous.

    The choice is the target that the step or cookie names, otherwise the default target if it fits, otherwise the only
    target that fits. A target fits a step if it speaks the step's protocol, and a cookie if it speaks HTTP.
    """
    if aimed.target is not None:
        return aimed.target
    wanted = aimed.speaks if isinstance(aimed, CallStep) else "http"
    fitting = [name for name, spoken_there in spoken.items() if spoken_there == wanted]
    if default in fitting:
        return default
    return fitting[0] if len(fitting) == 1 else None


def targets_of_workload(workload: Workload, spoken: Mapping[str, str]) -> list[str]:
    """Return the names of the targets to which a workload sends requests. `spoken` contains the protocol of each
    target.
    """
    default = workload.file.defaults.target
    found = {target_of(aimed, default, spoken) for _, aimed in _aimed(workload)}
    return [name for name in spoken if name in found]


def target_faults(workload: Workload, spoken: Mapping[str, str]) -> list[Fault]:
    """Return the faults of targets that do not exist, have another protocol, or are ambiguous; `spoken` is the protocol
    of each target.
    """
    faults = []
    known = list(spoken)
    default = workload.file.defaults.target
    names = ", ".join(known) or "none exists"

    def unknown(path: Path_, name: str) -> Fault:
        return workload.fault(path, misnamed(f"a target of the system ({names})", name, known))

    if default is not None and default not in known:
        faults.append(unknown(("defaults", "target"), default))
    for path, aimed in _aimed(workload):
        if aimed.target is not None and aimed.target not in known:
            faults.append(unknown((*path, "target"), aimed.target))
        faults += [workload.fault(path, message) for message in _unfit(aimed, default, spoken)]
    return faults


def _aimed(workload: Workload) -> Iterator[tuple[Path_, Aimed]]:
    """Yield the steps and cookies that need a target, with their paths in the workload."""
    for name, transaction in workload.file.transactions.items():
        for path, step in references.walk(transaction, ("transactions", name)):
            if isinstance(step, Request | CallStep):
                yield path, step
    for name, group in workload.file.groups.items():
        for index, cookie in enumerate(group.cookies.given):
            yield ("groups", name, "cookies", "given", index), cookie


def _unfit(aimed: Aimed, default: str | None, spoken: Mapping[str, str]) -> list[str]:
    """Return the reasons why a step or a cookie has no fitting target; an empty list if it has a fitting target.

    `target_faults` reports names of targets that do not exist.
    """
    wanted = aimed.speaks if isinstance(aimed, CallStep) else "http"
    fitting = [name for name, spoken_there in spoken.items() if spoken_there == wanted]
    shown = {"http": "HTTP", "sql": "SQL", "ldap": "LDAP"}.get(wanted, wanted)
    found = target_of(aimed, default, spoken)
    if found is not None:
        if found in fitting or found not in spoken:
            return []
        return [
            f"must have a target that speaks {shown} ({', '.join(fitting) or 'none exists'}), got {found!r} instead"
        ]
    if fitting:
        return [f"must name its target ({', '.join(fitting)}), because several targets of the system fit"]
    if wanted == "http" and (default is not None or not spoken):
        return []  # a fault of the default target has been reported already
    return [f"must have a target that speaks {shown}, got none in the system"]
