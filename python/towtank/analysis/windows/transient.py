"""Finds the transient at the start of a window: its length, and whether it may exceed half of the window.

Settle stages and the later analysis use the same function, so that a stage is judged by the window that will be
analysed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from towtank.analysis.measurement import Floats
from towtank.analysis.windows import changes, steady
from towtank.analysis.windows.changes import Change
from towtank.analysis.windows.rest import is_at_rest

# A start that differs by less stays in the window, because it hardly changes a mean and data are scarce.
_WORTH_A_CUT = 0.01
# Of the cautious test beside the plain one. Its error is raised and its freedom low, so that at the level of the plain
# one a start of five times the response time stays in the window.
_CAUTIOUS_SIGNIFICANCE = 0.02


@dataclass(frozen=True)
class Transient:
    """Start of a window that differs from the rest.

    Attributes
    ----------
    cuts : dict
        Cuts proposed by MSER, by metric.
    observations : int
        Number of observations to leave out; 0 without a significant cut. [1]
    at_limit : tuple of Change
        Changes at cuts at half of the window; the transient may then be longer.
    """

    cuts: dict[str, steady.Truncation]
    observations: int
    at_limit: tuple[Change, ...]

    def unsettled(self, kept: Mapping[str, Floats], edges_s: Floats) -> list[Change]:
        """Return the changes at half of the window after which the series is still not steady.

        Parameters
        ----------
        kept : dict of ndarray of shape (n_kept,)
            Kept observations of each series.
        edges_s : ndarray of shape (n_kept + 1,)
            Edges of the kept observations. [s]
        """
        return [change for change in self.at_limit if not is_at_rest(change.metric, kept[change.metric], edges_s)]


def transient_of(series: Mapping[str, Floats], *, strict: bool = False) -> Transient:
    """Find the transient of a window.

    Parameters
    ----------
    series : dict of ndarray of shape (n_observations,)
    strict : bool, default False
        Whether a change of response time at half of the window must also be significant in the cautious test, see
        `relaxation.is_short`.

    Notes
    -----
    A cut counts if what it removes differs by more than 1 % and beyond chance, from its first observations on, see
    `steady.begins_apart`. Chance is judged with the correlation that a queue has, too, at p < 0.02, so that what a
    system does by itself stays in the window. A cut at half of the window that removes
    a change that matters may be too short; `Transient.unsettled` decides by what is left, as in a settle stage.
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
    # Behind a cut at half the series may still change, which the cautious error would take for noise.
    is_beyond_chance = steady.is_significant(values, cut) and (
        cut.at_limit or steady.differs(values, cut.observations, cautious=True)[0] < _CAUTIOUS_SIGNIFICANCE
    )
    return is_beyond_chance and steady.begins_apart(values, cut.observations)
