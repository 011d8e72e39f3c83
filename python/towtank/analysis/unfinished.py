"""Counts the requests that had not ended at the end of a window, and those among them that failed later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.analysis.load import failed_by_kind
from towtank.analysis.measurement import DRAIN_STAGE, Mask, Measurement
from towtank.analysis.windows.window import Window
from towtank.results import names_of


@dataclass(frozen=True)
class Unfinished:
    """Entry `unfinished` of a run summary: numbers of requests and transactions; None if unknown. [1]"""

    in_flight: int
    failed_later: dict[str, int] | None = None
    transactions_failed_later: dict[str, int] | None = None
    silent_targets: tuple[str, ...] = ()


def unfinished(
    measurement: Measurement, window: Window | None, chosen: Mask, plan: Mapping[str, object] | None = None
) -> Unfinished | None:
    """Count the requests that were in flight at the end of a window, and the requests that failed after the load had
    ended.

    Parameters
    ----------
    measurement : Measurement
    window : Window or None
        Analysed window.
    chosen : ndarray of bool of shape (n_bins,)
        Bins of the window.
    plan : dict, optional
        The engine's plan.

    Returns
    -------
    Unfinished or None
        None without a window.

    Notes
    -----
    In the drain stage, which follows the load, no request begins. If the drain stage directly follows the window, all
    requests that fail in the drain stage were in flight at the end of the window. If another stage lies between the
    window and the drain stage, `failed_later` is None.
    """
    if window is None or not chosen.any():
        return None
    drain = _drain(measurement, window)
    requests = measurement.requests
    return Unfinished(
        int(measurement.in_flight[np.flatnonzero(chosen)[-1]]),
        None if drain is None else failed_by_kind(requests, drain),
        None
        if drain is None
        else {
            name: int(column.failed[drain].sum())
            for name, column in measurement.columns("transaction").items()
            if column.failed[drain].any()
        },
        tuple(silent_targets(measurement, plan)),
    )


def silent_targets(measurement: Measurement, plan: Any) -> list[str]:
    """Return the targets of which every request in the run failed, as names with addresses.

    Parameters
    ----------
    measurement : Measurement
    plan : dict or None
        The engine's plan, which names the target of each step.
    """
    plan = plan or {}
    steps = list(names_of(measurement.recording, "step"))
    columns = measurement.columns("step")
    answered: dict[int, bool] = {}
    for step, target in set(_targets(plan.get("transactions"))):
        column = columns.get(steps[step]) if step < len(steps) else None
        if column is not None and column.ended.any():
            answered[target] = answered.get(target, False) or bool(column.ok.any())
    targets = plan.get("targets") or []
    silent = [targets[number] for number, has in sorted(answered.items()) if not has and number < len(targets)]
    return [f"{target.get('name')} ({', '.join(target.get('addresses') or ['no address'])})" for target in silent]


def _targets(node: Any) -> Iterator[tuple[int, int]]:
    """Yield the step number and the target number of each operation in a plan, at any depth. Operations without both
    numbers are skipped.
    """
    if isinstance(node, dict):
        pair = (node.get("step"), node.get("target"))
        if all(isinstance(number, int) and not isinstance(number, bool) for number in pair):
            yield int(pair[0] or 0), int(pair[1] or 0)
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _targets(each)


def _drain(measurement: Measurement, window: Window) -> Mask | None:
    """Return a mask of the bins in the drain stage, which follows the load. Return None if another stage lies between
    the window and the drain stage.
    """
    stages = measurement.stages
    if not stages or stages[-1].name != DRAIN_STAGE or window.planned_end_s < stages[-1].start_s - 1e-6:
        return None
    return np.asarray(measurement.stage == len(stages) - 1)
