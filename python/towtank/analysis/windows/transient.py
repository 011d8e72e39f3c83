"""Finds the transient at the start of a window: its length, and whether it may be longer than half of the window.

Settle stages and the analysis of the run use the same function, so that a settle stage is judged by the window that
the analysis will use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from towtank.analysis.measurement import Floats
from towtank.analysis.windows import changes, steady
from towtank.analysis.windows.changes import Change
from towtank.analysis.windows.rest import is_at_rest

# A start that differs by less stays in the window: it hardly changes a mean, and a cut would shorten the window.
_WORTH_A_CUT = 0.01
# Significance level of the cautious test, which is made in addition to the plain test. The cautious test has a larger
# error and fewer degrees of freedom: at the level of the plain test, a start with five times the response time would
# stay in the window.
_CAUTIOUS_SIGNIFICANCE = 0.02


@dataclass(frozen=True)
class Transient:
    """Transient at the start of a window.

    Attributes
    ----------
    cuts : dict
        Cuts proposed by MSER, by metric.
    observations : int
        Number of observations to leave out; 0 without a significant cut. [1]
    at_limit : tuple of Change
        Changes at cuts at half of the window, where the transient may be longer than the cut.
    """

    cuts: dict[str, steady.Truncation]
    observations: int
    at_limit: tuple[Change, ...]

    def unsettled(self, kept: Mapping[str, Floats], edges_s: Floats) -> list[Change]:
        """Return the changes at half of the window after which the kept series is not steady.

        Parameters
        ----------
        kept : dict of ndarray of shape (n_kept,)
            Kept observations of each series.
        edges_s : ndarray of shape (n_kept + 1,)
            Edges of the kept observations. [s]
        """
        return [change for change in self.at_limit if not is_at_rest(change.metric, kept[change.metric], edges_s)]


def transient_of(series: Mapping[str, Floats], *, strict: bool = False) -> Transient:
    """Find the transient at the start of a window.

    Parameters
    ----------
    series : dict of ndarray of shape (n_observations,)
    strict : bool, default False
        Whether a change of response time at half of the window must also be significant in the cautious test, see
        `relaxation.is_short`.

    Notes
    -----
    A cut counts if the removed part differs from the rest by more than 1 % and significantly, from its first
    observations on (see `steady.begins_apart`). In addition to the plain test, the cautious test, which allows for
    the correlation of a queue, must have p < 0.02, so that usual fluctuations of the system stay in the window. A cut
    at half of the window that removes a relevant change may be too short; `Transient.unsettled` tests the rest of the
    window to decide.
    """
    cuts, latest, at_limit = dict[str, steady.Truncation](), 0, list[Change]()
    for name, values in series.items():
        cut = cuts[name] = steady.mser(values, steady.batch_for(len(values)))
        difference, error, freedom = steady.difference_at(values, cut.observations, cautious=True)
        change = changes.of_difference(name, difference, error, freedom, float(values[cut.observations :].mean()))
        if _is_transient(values, cut) and abs(change.share) > _WORTH_A_CUT:
            latest = max(latest, cut.observations)
            matters = abs(change.share) > change.tolerance and (
                not (strict and name == "response_time") or change.p_value < steady.SIGNIFICANCE
            )
            if cut.at_limit and matters:
                at_limit.append(change)
    return Transient(cuts, latest, tuple(at_limit))


def _is_transient(values: Floats, cut: steady.Truncation) -> bool:
    # After a cut at half of the window the series may still change. The cautious error would treat such a change as
    # noise.
    is_beyond_chance = steady.is_significant(values, cut) and (
        cut.at_limit or steady.differs(values, cut.observations, cautious=True)[0] < _CAUTIOUS_SIGNIFICANCE
    )
    return is_beyond_chance and steady.begins_apart(values, cut.observations)
