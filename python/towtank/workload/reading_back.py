"""Derives the workload that reads back stored items from the workload whose virtual users stored them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from towtank.workload import references
from towtank.workload.calls import CallStep
from towtank.workload.loading import Workload
from towtank.workload.model import Group, Page, Pool
from towtank.workload.noted import STORED
from towtank.workload.steps import Branch, Count, Draw, If, Repeat, Request, Step

# Number of reads between two pauses. When no items are left in the pool, every read fails immediately, and users
# without pauses would keep a processor busy. [1]
_IN_A_ROW = 20
_PAUSE = "50 ms"


def without_reading(workload: Workload) -> Workload:
    """Return the workload without its read-back transactions, which virtual users do not run during the load."""
    readers = workload.file.readers
    if not readers:
        return workload
    kept = {name: steps for name, steps in workload.file.transactions.items() if name not in readers}
    return replace(workload, file=workload.file.model_copy(update={"transactions": kept}))


def read_back_workload(workload: Workload, kind: str, keys: Path) -> Workload:
    """Return a workload that reads each stored item of a kind once and records the digests of the responses. The column
    `key` of a CSV file has the keys of the items.
    """
    file = workload.file
    name = file.stored[kind].read_back
    steps = [_going_on(item) for item in file.transactions[name] if not isinstance(item, Page)]
    each = Repeat.model_construct(loop=Count(min=_IN_A_ROW, max=_IN_A_ROW), steps=[Draw(draw=STORED), *steps])
    data = {
        **{pool: spec for pool, spec in file.data.items() if pool in _drawn(steps)},
        STORED: Pool(csv=str(keys.absolute()), columns=["key"], order="unique"),
    }
    group = Group.model_validate({"loop": {"think": _PAUSE, "mix": {name: 100.0}}})
    changed = {"data": data, "transactions": {name: [each]}, "groups": {"read_back": group}, "stored": {}}
    return replace(workload, file=file.model_copy(update=changed))


def _drawn(steps: list[Step]) -> set[str]:
    return {step.draw for _, step in references.walk(list(steps)) if isinstance(step, Draw)}


def _going_on(step: Step) -> Step:
    """Return a step with `on_failure: go_on`, so that the next stored item is read even if the step fails."""
    if isinstance(step, Request | CallStep):
        return step.model_copy(update={"on_failure": "go_on"})
    if isinstance(step, Branch | If):
        nested = {
            "then": [_going_on(inner) for inner in step.then],
            "else_": [_going_on(inner) for inner in step.else_],
        }
        return step.model_copy(update=nested)
    if isinstance(step, Repeat):
        return step.model_copy(update={"steps": [_going_on(inner) for inner in step.steps]})
    return step
