"""Combines the limits that several runs of one configuration found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from towtank.analysis.limits.estimate import BRACKET, TESTED, LimitEstimate
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics import t_interval
from towtank.digging import dig


@dataclass(frozen=True)
class _RunLimit:
    """Limit that the search of a run found.

    Attributes
    ----------
    run, of, ended : str
        Name of the run, quantity of the load (`users` or `rate`), and reason for the end of the search.
    estimate : LimitEstimate
    is_lower_bound : bool
        True if the search found only a lower bound.
    failure, binding : object
        Failure and objective that determined the limit, as in the summary of the run.
    """

    run: str
    of: str
    ended: str
    estimate: LimitEstimate
    is_lower_bound: bool
    failure: object
    binding: object

    @classmethod
    def read(cls, run: RunSummary) -> _RunLimit | None:
        """Read the limit from the summary of a run; None if the run made no search."""
        if not run.limit:
            return None
        of, ended, lower, failure, binding = (
            dig(run.limit, key) for key in ("of", "ended", "is_lower_bound", "failure", "binding")
        )
        estimate = LimitEstimate(*(dig(run.limit, field.name) for field in fields(LimitEstimate)))
        return cls(run.run, of, ended, estimate, lower, failure, binding)

    def document(self) -> dict[str, object]:
        return {
            "run": self.run,
            **vars(self.estimate),
            "is_lower_bound": self.is_lower_bound,
            "ended": self.ended,
        }


def found_limit(runs: Sequence[RunSummary]) -> dict[str, object] | None:
    """Combine the limits that several runs of the same search found.

    Parameters
    ----------
    runs : sequence of RunSummary
        Summaries of the runs of one configuration that are not invalid.

    Returns
    -------
    dict or None
        None if no run made a search. A single run keeps the interval of its search. With several runs, there are three
        cases:

        - All runs found a limit by tests: the interval is Student's t interval over the limits of the runs, extended so
        that it contains the overlap of the intervals of all runs.
        - A run has a bracket without tests, so that its limit may lie anywhere in the bracket: the result is the range
        that covers the brackets and intervals of all runs. It has no confidence.
        - A run found only a lower bound, so that no interval is correct: the result is the smallest value of all runs,
        as a lower bound.
    """
    limits = [limit for run in runs if (limit := _RunLimit.read(run)) is not None]
    if not limits:
        return None
    known = [limit for limit in limits if limit.estimate.value is not None]
    found = [limit for limit in known if not limit.is_lower_bound]
    bounds = len(known) - len(found)
    about = (found or limits)[0]
    common = {
        "of": about.of,
        "failure": about.failure,
        "binding": about.binding,
        "runs": [limit.document() for limit in limits],
        "lower_bounds": bounds,
        "not_found": len(limits) - len(known),
    }
    if found and not bounds:
        return {**common, **vars(_over([limit.estimate for limit in found])), "is_lower_bound": False}
    values = [
        value if limit.is_lower_bound else float(value)
        for limit in known
        if (value := limit.estimate.value) is not None
    ]
    lowest = min(values, default=None)
    bare = LimitEstimate(lowest, lowest, n=len(values))
    return {**common, **vars(bare), "is_lower_bound": lowest is not None}


def _over(found: Sequence[LimitEstimate]) -> LimitEstimate:
    """Combine the limits of several runs, each of which found a limit."""
    if len(found) == 1:
        return found[0]
    values = [float(limit.value or 0.0) for limit in found]
    lows = [limit.low for limit in found if limit.low is not None]
    highs = [limit.high for limit in found if limit.high is not None]
    complete = len(lows) == len(highs) == len(found)
    if complete and any(limit.method != TESTED for limit in found):
        return LimitEstimate(min(values), min(lows), max(highs), BRACKET, n=len(found))
    over = t_interval(values).of_quantity()
    if complete and max(lows) <= min(highs) and over.low is not None and over.high is not None:
        over = replace(over, low=min(over.low, max(lows)), high=max(over.high, min(highs)))
    return LimitEstimate(over.value, over.low, over.high, over.method, over.confidence, over.n)
