"""Ends a load early if it clearly misses an objective that the user named with `--abort-on`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from towtank.option_check import OptionCheck
from towtank.results import Follower, RunFolder

if TYPE_CHECKING:
    from towtank.study import Objective

ABORT_ON = "--abort-on"
# Shortest new record that is judged: the engine records one interval per second. [s]
_EVERY_S = 1.0
_EDGE_S = 1e-6


class Aborting:
    """Judges a load each second by objectives that `check_abort_on` accepted. The reason for an early end becomes an
    event of the run.
    """

    def __init__(self, run: RunFolder, objectives: Sequence[Objective]) -> None:
        from towtank.analysis import miss_tests  # noqa: PLC0415 - the analysis takes a second to load

        self.run = run
        self.tests = miss_tests(objective.document() for objective in objectives)
        self.follower = Follower(run.engine)
        self._judged_s = 0.0

    def look(self) -> str | None:
        """Judge the new seconds of the record; return the reason if the load is to end early, else None."""
        self.follower.read()
        until_s = self.follower.recorded_until
        return self._judged(until_s) if until_s >= self._judged_s + _EVERY_S else None

    def _judged(self, until_s: float) -> str | None:
        from towtank.analysis import Measurement  # noqa: PLC0415

        measurement = Measurement(self.follower.recording())
        chosen = (measurement.starts >= self._judged_s - _EDGE_S) & (measurement.ends <= until_s + _EDGE_S)
        missed = [why for test in self.tests if (why := test.take(measurement, chosen)) is not None]
        self._judged_s = until_s
        self.follower.forget(until_s)
        if not missed:
            return None
        reason = f"ended early by {ABORT_ON} {'; '.join(missed)}"
        self.run.event("aborted", engine_t_s=until_s, reason=reason)
        return reason


def check_abort_on(check: OptionCheck, texts: Sequence[str]) -> list[Objective]:
    """Read the objectives of `--abort-on`, and collect their faults."""
    from towtank.analysis import MISS_METRICS  # noqa: PLC0415
    from towtank.study import read_objective  # noqa: PLC0415

    found = []
    for text in texts:
        try:
            objective = read_objective(text)
        except ValueError as error:
            check.fault(ABORT_ON, str(error))
            continue
        falls = objective.comparison in (">", ">=") and objective.metric not in ("mean", "throughput", "errors")
        if objective.metric not in MISS_METRICS or falls:
            names = ", ".join(MISS_METRICS)
            check.fault(ABORT_ON, f"must be an upper limit of one of {names} (throughput: lower), got {text!r} instead")
        elif objective.of_limit is not None:
            check.fault(ABORT_ON, f"must be at a number of users or a rate, got {text!r} instead")
        else:
            found.append(objective)
    return found


def check_transactions(check: OptionCheck, objectives: Iterable[Objective], known: Sequence[str]) -> None:
    """Collect a fault for each objective of `--abort-on` about a transaction that the load does not have."""
    for objective in objectives:
        if objective.transaction is not None and objective.transaction not in known:
            names = ", ".join(known)
            check.fault(ABORT_ON, f"must be about a transaction of the load ({names}), got {objective.text!r} instead")
