"""Finds the transient at the start of a window, and decides whether it may be longer than half of the window.

Settle stages and the analysis of a run use the same function, so that both find the same transient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from towtank.analysis.measurement import Floats
from towtank.analysis.windows import changes, steady
from towtank.analysis.windows.changes import Change
from towtank.analysis.windows.relaxation import Memory
from towtank.analysis.windows.rest import is_at_rest

# The start of a window is excluded only if its mean differs from the later mean by more than this share. A smaller
# difference hardly changes the mean of the window. [1]
_WORTH_A_CUT = 0.01
# Significance level of the cautious test for a transient, which is made in addition to the plain test. It is higher,
# because the cautious test has a larger error and fewer degrees of freedom. At the level of the plain test, it would
# not even find a start with five times the response time.
_CAUTIOUS_SIGNIFICANCE = 0.02
# Significance level of the trend test after a start with high response times. At this level, a doubt is raised for 98 %
# of the windows in which response time falls to half. At the level of other trend tests, 0.01, it would be 96 %.
_NO_TREND = 0.05


@dataclass(frozen=True)
class Transient:
    """Transient at the start of a window.

    Attributes
    ----------
    cuts : dict
        Truncation points (cuts) that MSER proposes, by metric.
    observations : int
        Number of observations to remove; 0 if no cut is significant. [1]
    at_limit : tuple of Change
        Relevant changes at cuts that remove half of the window. For these metrics, the transient may be longer than
        half of the window.
    removed : tuple of Change
        Change from the removed to the remaining observations, for each metric with a significant cut; positive if the
        metric rises.
    """

    cuts: dict[str, steady.Truncation]
    observations: int
    at_limit: tuple[Change, ...]
    removed: tuple[Change, ...] = ()

    def unsettled(self, kept: Mapping[str, Floats], edges_s: Floats) -> list[Change]:
        """Return the changes in `at_limit` whose series are not steady after the cut.

        Parameters
        ----------
        kept : dict of ndarray of shape (n_kept,)
            Remaining observations of each series.
        edges_s : ndarray of shape (n_kept + 1,)
            Edges of the remaining observations. [s]
        """
        return [change for change in self.at_limit if not is_at_rest(change.metric, kept[change.metric], edges_s)]


def transient_of(series: Mapping[str, Floats], memory: Memory | None = None) -> Transient:
    """Find the transient at the start of a window.

    Parameters
    ----------
    series : dict of ndarray of shape (n_observations,)
    memory : Memory, optional
        Length of the window in relaxation times of the queue. If the window is short and the cut of response time
        removes half of it, the change at this cut counts only if it is significant in the cautious test as well.

    Notes
    -----
    A cut counts if three conditions hold. The removed observations differ from the others significantly and by more
    than 1 %. They do so from the first observations on (see `steady.begins_apart`). The cautious test finds a
    difference, with p < 0.02. This test allows for the correlation of a queue, so that random fluctuations of the
    system remain in the window. It is not made if a queue cannot explain the high response times at the start (see
    `_cannot_be_a_queue`), or if the cut removes half of the window.

    If a cut removes half of the window and the change is relevant, the transient may be longer. `Transient.unsettled`
    then tests, as in a settle stage, whether the rest of the window is steady.
    """
    cuts, latest, at_limit, removed = dict[str, steady.Truncation](), 0, list[Change](), list[Change]()
    strict = memory is not None and memory.is_short
    for name, values in series.items():
        cut = cuts[name] = steady.mser(values, steady.batch_for(len(values)))
        difference, error, freedom = steady.difference_at(values, cut.observations, cautious=True)
        # The change is divided by the mean after the cut, because the start of the window may have no throughput.
        change = changes.of_difference(name, -difference, error, freedom, float(values[cut.observations :].mean()))
        if _is_transient(name, values, cut, memory) and abs(change.share) > _WORTH_A_CUT:
            latest = max(latest, cut.observations)
            removed.append(change)
            matters = abs(change.share) > change.tolerance and (
                not (strict and name == "response_time") or change.p_value < steady.SIGNIFICANCE
            )
            if cut.at_limit and matters:
                at_limit.append(change)
    return Transient(cuts, latest, tuple(at_limit), tuple(removed))


def _is_transient(name: str, values: Floats, cut: steady.Truncation, memory: Memory | None) -> bool:
    if not steady.is_significant(values, cut) or not steady.begins_apart(values, cut.observations):
        return False
    # After a cut that removes half of the window, the series may still change. The cautious test would treat this
    # change as noise, so only the plain test is made.
    if cut.at_limit or _cannot_be_a_queue(name, values, cut, memory):
        return True
    return steady.differs(values, cut.observations, cautious=True)[0] < _CAUTIOUS_SIGNIFICANCE


def _cannot_be_a_queue(name: str, values: Floats, cut: steady.Truncation, memory: Memory | None) -> bool:
    """Return True if random fluctuations of a queue cannot explain high response times before a cut: the window is many
    relaxation times long, and there is no trend after the cut.

    A queue that is long by chance becomes short within a small part of such a window. The cautious test, which allows
    for the relaxation of a queue, is therefore not needed.

    Low response times at the start do not count. A queue that starts empty fills within a small part of the window; a
    slower rise is growth, which must not be removed. The start of a slow fall must not be removed either, so there must
    be no trend after the cut.
    """
    kept = values[cut.observations :]
    return (
        name == "response_time"
        and memory is not None
        and memory.is_long
        and steady.differs(values, cut.observations)[1] > 0
        and steady.trend(np.arange(len(kept), dtype=float), kept).p_value >= _NO_TREND
    )
