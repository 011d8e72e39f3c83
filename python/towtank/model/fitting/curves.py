"""Curves of throughput over load: linear, Amdahl's law, the universal scalability law.

    X(N) = λ N / (1 + σ (N - 1) + κ N (N - 1))

λ is the throughput at load 1, σ the serial share of the work (contention), κ the cost of keeping each pair of
processors consistent (coherence) [1]_. In Amdahl's law κ is 0; in the linear law σ is 0 too.

References
----------
.. [1] N. J. Gunther, *Guerrilla Capacity Planning*, Springer, 2007, chapters 4 to 6, doi:10.1007/978-3-540-31010-5.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from towtank.model.fitting.least_squares import Bounds
from towtank.model.fitting.observations import Floats, Observations

FARTHEST = 2.0
"""Largest load for which a scalability law may make predictions, as a multiple of the highest measured load. [ratio]

Example of a prediction at a load that is too high: the law was fitted to six points of a raytracer, up to 20
processors. It predicts a peak throughput of 203 at 24 processors; the machine reached 310 at 64 processors.
"""


class Curve(Protocol):
    """Interface of a family of capacity curves with named parameters."""

    @property
    def name(self) -> str:
        """Name of this family of curves on the command line."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters of the curve, in order."""

    @property
    def bounds(self) -> Bounds:
        """Bounds of the physically possible values of the parameters."""

    def throughput(self, parameters: Floats, load: Floats) -> Floats:
        """Return throughputs of shape (n_problems, n_loads) for parameters of shape (n_problems,
        n_parameters). [1/s]
        """

    def starts(self, points: Observations) -> Floats:
        """Return starting points for the search of the parameters, shape (n_starts, n_parameters)."""

    def derived(self, parameters: Floats) -> dict[str, Floats]:
        """Return quantities derived from the parameters of the curve, by name, each of shape (n_problems,); NaN if
        undefined.
        """


# Names of the parameters in documents, in the order of the letters λ, σ and κ that the literature uses.
USL_PARAMETERS = ("lambda", "sigma", "kappa")


@dataclass(frozen=True)
class ScalabilityLaw:
    """Universal scalability law, or one of its special cases.

    Attributes
    ----------
    name : str
        `usl`, `amdahl` or `linear`.
    parameters : tuple of str
        Free parameters; the others are zero.
    bounded : bool
        True if σ and κ are restricted to [0, 1]. Without this restriction, superlinear data give negative values.
    superlinear : bool
        True if σ may be negative: throughput then grows more than in proportion to the load at first.
    """

    name: str
    parameters: tuple[str, ...]
    bounded: bool = True
    superlinear: bool = False

    @property
    def bounds(self) -> Bounds:
        """Bounds of the parameters: λ is at least 0. If `bounded`, σ and κ lie in [0, 1]; if `superlinear`, σ may fall
        to -1.
        """
        count = len(self.parameters)
        lower, upper = np.full(count, -np.inf), np.full(count, np.inf)
        lower[0] = 0.0
        if self.bounded:
            lower[1:], upper[1:] = 0.0, 1.0
        if self.superlinear:
            lower[1] = -1.0
        return Bounds(lower, upper)

    def throughput(self, parameters: Floats, load: Floats) -> Floats:
        """Return the throughput that the scalability law gives at each load. [1/s]"""
        whole = np.zeros((len(parameters), len(USL_PARAMETERS)))
        whole[:, : parameters.shape[1]] = parameters
        scale, sigma, kappa = whole[:, 0, None], whole[:, 1, None], whole[:, 2, None]
        return np.asarray(scale * load / (1 + sigma * (load - 1) + kappa * load * (load - 1)), dtype=float)

    def starts(self, points: Observations) -> Floats:
        """Return starting points for the search of the parameters.

        λ is near the highest ratio of throughput to load. σ and κ start at 0 or above, up to values that bend the curve
        far below the highest load.
        """
        top = max(2.0, float(points.load.max()))
        scale = float(np.max(points.throughput / points.load))
        scales = [scale, 1.3 * scale]
        sigmas = [min(0.9, share / top) for share in (0.0, 0.1, 1.0, 5.0, 30.0)]
        kappas = [min(0.9, share / top**2) for share in (0.0, 0.1, 1.0, 10.0)]
        grid = itertools.product(*(scales, sigmas, kappas)[: len(self.parameters)])
        return np.array(list(grid), dtype=float)

    def derived(self, parameters: Floats) -> dict[str, Floats]:
        """Return, by name, the load and the throughput at the peak of the curve, or the throughput that a curve without
        a peak approaches.
        """
        count = len(parameters)
        none = np.full(count, np.nan)
        sigma = parameters[:, 1] if parameters.shape[1] > 1 else np.zeros(count)
        kappa = parameters[:, 2] if parameters.shape[1] > 2 else np.zeros(count)
        with np.errstate(divide="ignore", invalid="ignore"):
            peak = np.where((kappa > 0) & (sigma < 1), np.sqrt((1 - sigma) / kappa), np.nan)
            peak = np.maximum(peak, 1.0)
            limit = np.where(sigma > 0, parameters[:, 0] / sigma, np.nan) if parameters.shape[1] > 1 else none
        height = np.array(
            [
                self.throughput(parameter[None, :], np.array([at]))[0, 0] if math.isfinite(at) else np.nan
                for parameter, at in zip(parameters, peak, strict=True)
            ]
        )
        return {"peak_load": peak, "peak_throughput": height, "limit_throughput": limit}


USL = ScalabilityLaw("usl", USL_PARAMETERS)
SUPERLINEAR = ScalabilityLaw("usl", USL_PARAMETERS, superlinear=True)
AMDAHL = ScalabilityLaw("amdahl", USL_PARAMETERS[:2])
LINEAR = ScalabilityLaw("linear", USL_PARAMETERS[:1])
WIDER: Mapping[str, ScalabilityLaw] = {
    "linear": AMDAHL,
    "amdahl": USL,
    "usl": ScalabilityLaw("usl without bounds", USL_PARAMETERS, bounded=False),
}
"""For each scalability law, the next larger family of curves, of which the law is a special case."""
