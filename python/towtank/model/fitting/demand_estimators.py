"""Service demands of transaction classes, estimated from busy time and throughputs of many intervals.

All estimators solve the equation

    U = b + sum_c X_c D_c

for the demand D_c of each class c and the background b [1]_. U is the number of busy servers and X_c the throughput of
class c; the background is the number of servers that are busy without a transaction. The estimators differ in their
assumptions. If their results agree, the demand is known. If not, the measurements hardly determine the demand, even if
the interval of a single estimator is narrow.

References
----------
.. [1] S. Spinner, G. Casale, F. Brosig and S. Kounev, "Evaluating approaches to resource demand estimation",
       Performance Evaluation 92, 51-71, 2015, doi:10.1016/j.peva.2015.07.005.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from towtank.model.fitting.observations import Floats
from towtank.robust import huber


@dataclass(frozen=True)
class Series:
    """Measurements of one resource in intervals of equal length.

    Attributes
    ----------
    busy : ndarray of shape (n_intervals,)
        Mean number of busy servers, U. [1]
    rates : ndarray of shape (n_intervals, n_classes)
        Throughput of each class, X_c. [1/s]
    responses : ndarray of shape (n_intervals, n_classes) or None
        Mean response time of each class; NaN if no transaction of the class ended in the interval. [s]
    servers : int
        Servers of the resource. [1]
    stretches : ndarray of shape (n_intervals,)
        Number of the run that contains each interval; no bootstrap block spans two runs.
    """

    busy: Floats
    rates: Floats
    responses: Floats | None
    servers: int
    stretches: Floats

    def drawn(self, rows: npt.NDArray[np.int64]) -> Series:
        """Return a series of the intervals with the given row numbers, which may repeat."""
        responses = None if self.responses is None else self.responses[rows]
        return Series(self.busy[rows], self.rates[rows], responses, self.servers, self.stretches[rows])


Estimator = Callable[[Series], Floats | None]
"""Function that estimates the background [1] and the demand of each class [s], shape (1 + n_classes,). It returns None
if the series does not allow an estimate.
"""


def _design(series: Series) -> Floats:
    return np.hstack([np.ones((len(series.busy), 1)), series.rates])


def ordinary(series: Series) -> Floats:
    """Estimate demands and background by ordinary least squares.

    Negative demands indicate collinear classes.
    """
    return np.asarray(np.linalg.lstsq(_design(series), series.busy, rcond=None)[0], dtype=float)


def non_negative(series: Series) -> Floats:
    """Estimate demands by least squares with non-negative background and demands [1]_.

    References
    ----------
    .. [1] C. L. Lawson and R. J. Hanson, *Solving Least Squares Problems*, SIAM, 1995, chapter 23,
        doi:10.1137/1.9781611971217.
    """
    return np.asarray(scipy.optimize.nnls(_design(series), series.busy)[0], dtype=float)


def non_negative_without_background(series: Series) -> Floats:
    """Estimate demands by non-negative least squares without a background: all busy time is attributed to
    transactions.
    """
    return np.concatenate([[0.0], scipy.optimize.nnls(series.rates, series.busy)[0]])


def robust(series: Series) -> Floats:
    """Estimate demands by Huber's estimator, which gives less weight to intervals whose busy time the transactions do
    not explain.
    """
    return huber(_design(series), series.busy, ordinary(series))


def total(series: Series) -> Floats | None:
    """Estimate demands by total least squares, which allows for errors both in the numbers of transactions and in the
    busy times.

    Notes
    -----
    A transaction uses busy time before it is counted, so the numbers of transactions in short intervals have errors
    too. In ordinary least squares these errors pull the demands towards zero. Total least squares finds the hyperplane
    nearest to the points by the singular value decomposition [1]_. The method assumes that all columns are equally
    uncertain relative to their standard deviations, and is unstable if the classes are collinear.

    References
    ----------
    .. [1] S. Van Huffel and J. Vandewalle, *The Total Least Squares Problem*, SIAM, 1991,
           doi:10.1137/1.9781611971002.
    """
    columns = np.hstack([series.rates, series.busy[:, None]])
    means, spreads = columns.mean(axis=0), columns.std(axis=0)
    if (spreads <= 0).any():
        return None
    normal = np.linalg.svd((columns - means) / spreads, full_matrices=False)[2][-1]
    if abs(normal[-1]) < 1e-6:
        return None
    demands = -normal[:-1] / normal[-1] * spreads[-1] / spreads[:-1]
    return np.concatenate([[means[-1] - means[:-1] @ demands], demands])


def service_demand_law(series: Series) -> Floats | None:
    """Distribute the busy time over the classes in proportion to X_c R_c, throughput times response time.

    Notes
    -----
    D_c = U R_c / sum_i X_i R_i, averaged over the intervals, where U is the number of busy servers. The estimate is
    correct if transactions spend their response times at this one resource, and the wait of each class is proportional
    to its work. The transaction mix need not vary between intervals.
    """
    if series.responses is None:
        return None
    weighted = np.sum(np.where(series.rates > 0, series.rates * series.responses, 0.0), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = series.busy[:, None] * series.responses / weighted[:, None]
    return _mean_of_finite(shares)


def response_times(series: Series) -> Floats | None:
    """Estimate demands by D_c = R_c (1 - U), with response time R_c and utilization U. This equation holds for one
    processor-sharing server with Poisson arrivals.
    """
    if series.responses is None or series.servers != 1:
        return None
    return _mean_of_finite(series.responses * (1 - np.minimum(series.busy, 1.0))[:, None])


def _mean_of_finite(values: Floats) -> Floats | None:
    finite = np.isfinite(values)
    if not finite.any(axis=0).all():
        return None
    return np.concatenate([[0.0], np.nansum(np.where(finite, values, 0.0), axis=0) / finite.sum(axis=0)])


ESTIMATORS: dict[str, Estimator] = {
    "non-negative least squares": non_negative,
    "ordinary least squares": ordinary,
    "non-negative, no background": non_negative_without_background,
    "robust (Huber)": robust,
    "total least squares": total,
    "service demand law": service_demand_law,
    "response times R(1-U)": response_times,
}
"""Estimators by name. If the measurements can distinguish the classes, the demand of the first estimator is used."""


def condition_number(series: Series) -> float:
    """Return the condition number of the design matrix, including the background, with columns of unit length.

    Above 30 the data hardly distinguish the classes [1]_.

    References
    ----------
    .. [1] D. A. Belsley, E. Kuh and R. E. Welsch, *Regression Diagnostics*, Wiley, 1980, chapter 3,
           doi:10.1002/0471725153.
    """
    design = _design(series)
    lengths = np.linalg.norm(design, axis=0)
    return float(np.linalg.cond(design / np.where(lengths > 0, lengths, 1.0)))


def variance_inflation(series: Series) -> list[float]:
    """Return the factor by which collinear classes inflate the variance of each estimated demand, >= 1. [ratio]

    Notes
    -----
    VIF_c = 1 / (1 - R_c^2), where R_c^2 belongs to the regression of X_c on the other classes; this is the diagonal of
    the inverse correlation matrix. Infinite if a class is a linear combination of the others.
    """
    rates = series.rates
    if rates.shape[1] == 1:
        return [1.0]
    spreads = rates.std(axis=0)
    if (spreads <= 0).any():
        return [float("inf")] * rates.shape[1]
    correlations = np.corrcoef(rates.T)
    if np.linalg.cond(correlations) > 1e12:
        return [float("inf")] * rates.shape[1]
    return [float(inflation) for inflation in np.diag(np.linalg.inv(correlations))]


def blocks(series: Series, length: int, count: int, seed: int) -> list[npt.NDArray[np.int64]]:
    """Return the row numbers of the intervals that each bootstrap replicate contains. Each replicate draws blocks of
    consecutive intervals of one run at random [1]_.

    References
    ----------
    .. [1] H. R. Künsch, "The jackknife and the bootstrap for general stationary observations", Annals of Statistics
           17(3), 1217-1241, 1989, doi:10.1214/aos/1176347265.
    """
    stream = np.random.default_rng(seed)
    rows = len(series.busy)
    same = series.stretches[length - 1 :] == series.stretches[: rows - length + 1]
    firsts = np.flatnonzero(same)
    wanted = -(-rows // length)
    drawn = stream.choice(firsts, (count, wanted))
    return [(starts[:, None] + np.arange(length)).ravel()[:rows] for starts in drawn]
