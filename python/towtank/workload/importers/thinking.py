"""Fits exponential, normal, uniform and lognormal distributions to think times, with their goodness of fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from towtank.distributions import truncated_normal_cdf
from towtank.workload.importers.draft import Pause, seconds

Sample = NDArray[np.float64]

# Number of bootstrap samples for the p-value of the Kolmogorov-Smirnov statistic. With this number, a p-value near 0.05
# has a standard error of about 0.02. [1]
_BOOTSTRAP = 199
# Largest number of gaps that the test of a fit uses. With more gaps, the test takes longer, but its result hardly
# changes. [1]
GAPS_AT_MOST = 2000
# Smallest number of gaps between pages to which a distribution is fitted. [1]
GAPS_AT_LEAST = 20


@dataclass(frozen=True)
class Fit:
    """Distribution that was fitted to gaps between pages.

    Attributes
    ----------
    name : str
        `exponential`, `normal`, `uniform`, or `lognormal`, which the workload format does not support.
    parameters : dict of str to float
        Parameters of the distribution [s]; for the lognormal distribution, the parameters of the logarithm [1].
    statistic : float
        Kolmogorov-Smirnov statistic D, the largest distance between the distribution functions. [1]
    p : float
        p-value: share of random samples from the fitted distribution whose D, after a fit of their own, is at least as
        large. [1]
    pause : dict or None
        Distribution in the form of the workload file; None if the format does not support the distribution.
    mean : float
        Mean of the pauses that the workload makes. [s]
    """

    name: str
    parameters: dict[str, float]
    statistic: float
    p: float
    pause: Pause | None
    mean: float = 0.0

    def document(self) -> dict[str, object]:
        """Return the fit for the findings: distribution, parameters, Kolmogorov-Smirnov statistic and
        p-value.
        """
        parameters = {name: round(value, 4) for name, value in self.parameters.items()}
        return {
            "distribution": self.name,
            "parameters": parameters,
            "ks_statistic": round(self.statistic, 4),
            "ks_p": round(self.p, 3),
            "in_workload_format": self.pause is not None,
        }


@dataclass(frozen=True)
class _Family:
    """Family of distributions, restricted to values above the bound `least`: functions for fit, distribution function
    and quantile, and names of the parameters.
    """

    fit: Callable[[Sample, float], tuple[float, ...]]
    cdf: Callable[[Sample, float, tuple[float, ...]], Sample]
    quantile: Callable[[Sample, float, tuple[float, ...]], Sample]
    names: tuple[str, ...]


def fit_gaps(gaps: Sample, least: float, seed: int = 1) -> list[Fit]:
    """Fit all families of distributions to gaps, best fit first.

    Parameters
    ----------
    gaps : ndarray of shape (n_gaps,)
        Gaps above `least`. [s]
    least : float
        Lower bound of observable gaps; the families are fitted to values above this bound. [s]
    seed : int, default 1
        Seed of the samples for p: equal gaps yield equal p.

    Returns
    -------
    list of Fit
        Fits in ascending order of the statistic.

    Notes
    -----
    The statistic is D = sup_x |F_n(x) - F(x)|, where F_n is the empirical and F the fitted distribution function.
    F is fitted to the gaps themselves, so the tables of Kolmogorov's distribution give too large a p-value. Instead,
    p comes from a parametric bootstrap: samples with as many values as gaps are drawn from the fitted distribution. The
    family is fitted to each sample, and D is computed from this fit [1]_.

    References
    ----------
    .. [1] W. Stute, W. Gonzalez Manteiga and M. Presedo Quindimil, "Bootstrap based goodness-of-fit-tests",
           *Metrika* 40, 1993, pp. 243-256.
    """
    generator = np.random.default_rng(seed)
    sample = np.sort(gaps if len(gaps) <= GAPS_AT_MOST else generator.choice(gaps, GAPS_AT_MOST, replace=False))
    fits = [
        _written(_fit(name, family, sample, least, generator), family, np.sort(gaps), least)
        for name, family in _FAMILIES.items()
    ]
    return sorted(fits, key=lambda fit: fit.statistic)


def _fit(name: str, family: _Family, sample: Sample, least: float, generator: np.random.Generator) -> Fit:
    parameters = family.fit(sample, least)
    statistic = _distance(family.cdf(sample, least, parameters))
    larger = 0
    for _ in range(_BOOTSTRAP):
        drawn = np.sort(family.quantile(generator.random(len(sample)), least, parameters))
        again = family.fit(drawn, least)
        larger += _distance(family.cdf(drawn, least, again)) >= statistic
    return Fit(name, {}, statistic, (larger + 1) / (_BOOTSTRAP + 1), None)


def _written(fit: Fit, family: _Family, gaps: Sample, least: float) -> Fit:
    """Complete a fit with the parameters estimated from all gaps, the pause, and its mean. The test used at most
    `GAPS_AT_MOST` gaps; all gaps give more precise parameters.
    """
    parameters, longest = family.fit(gaps, least), float(gaps[-1])
    named = dict(zip(family.names, parameters, strict=True))
    pause, mean = _pause(fit.name, parameters, least, longest), _mean(fit.name, parameters, least, longest)
    return replace(fit, parameters=named, pause=pause, mean=mean)


def _mean(name: str, parameters: tuple[float, ...], least: float, longest: float) -> float:
    """Return the mean pause of a fitted distribution; 0 if the workload format does not support it. [s]"""
    if name == "exponential":
        return parameters[0]
    if name == "uniform":
        return sum(parameters) / 2
    if name == "normal":
        mean, sd = parameters
        most = max(longest, mean + 4 * sd)
        return float(scipy.stats.truncnorm.mean((least - mean) / sd, (most - mean) / sd, loc=mean, scale=sd))
    return 0.0


def _distance(cdf: Sample) -> float:
    """Return the Kolmogorov-Smirnov statistic of a sample, given the fitted distribution function at its sorted values.
    [1]
    """
    n = len(cdf)
    steps = np.arange(n + 1) / n
    return float(max(np.max(steps[1:] - cdf), np.max(cdf - steps[:-1])))


def _pause(name: str, parameters: tuple[float, ...], least: float, longest: float) -> Pause | None:
    """Return a fitted distribution as a pause of the workload file; None if the format does not support it."""
    if name == "exponential":
        return {"exponential": seconds(parameters[0])}
    if name == "uniform":
        return {"uniform": {"min": seconds(parameters[0]), "max": seconds(parameters[1])}}
    if name == "normal":
        mean, sd = parameters
        # Without `max`, the workload format truncates a normal distribution at the mean plus four standard deviations.
        # Some gaps may be longer, so `max` is given.
        most = max(longest, mean + 4 * sd)
        if mean < least:
            return None
        return {"normal": {"mean": seconds(mean), "sd": seconds(sd), "min": seconds(least), "max": seconds(most)}}
    return None


def _fit_exponential(sample: Sample, least: float) -> tuple[float, ...]:
    """Return the maximum likelihood estimate of the mean excess over the bound `least`. [s]

    The mean excess of an exponential distribution is the same for every bound.
    """
    return (max(float(np.mean(sample)) - least, 1e-6),)


def _fit_uniform(sample: Sample, _: float) -> tuple[float, ...]:
    low, high = float(sample[0]), float(sample[-1])
    return low, max(high, low + 1e-6)


def _fit_normal(sample: Sample, least: float) -> tuple[float, ...]:
    """Return maximum likelihood estimates of mean and standard deviation for a normal distribution truncated below.

    The estimate needs only the mean and the mean square of the sample.
    """
    mean, square = float(np.mean(sample)), float(np.mean(sample**2))
    sd = math.sqrt(max(square - mean**2, 1e-12))

    def bounded(parameters: NDArray[np.float64]) -> tuple[float, float]:
        # If the mean is far below the bound, the part above the bound is nearly exponential, and an even lower mean
        # changes nothing.
        scale = math.exp(min(float(parameters[1]), 30.0))
        return max(float(parameters[0]), least - 8 * scale), scale

    def cost(parameters: NDArray[np.float64]) -> float:
        location, scale = bounded(parameters)
        spread = (square - 2 * location * mean + location**2) / (2 * scale**2)
        return spread + math.log(scale) + float(scipy.special.log_ndtr((location - least) / scale))

    found = scipy.optimize.minimize(
        cost, [mean, math.log(sd)], method="Nelder-Mead", options={"maxiter": 300, "xatol": 1e-4, "fatol": 1e-9}
    )
    return bounded(found.x)


def _fit_lognormal(sample: Sample, least: float) -> tuple[float, ...]:
    """Apply `_fit_normal` to the logarithms of the sample, and return its estimates."""
    logarithm = np.log(np.maximum(sample, 1e-9))
    return _fit_normal(logarithm, _log_least(least))


def _cdf_normal(x: Sample, least: float, parameters: tuple[float, ...]) -> Sample:
    """Return P(X <= x | X > least) for a normal distribution with mean m and standard deviation s."""
    mean, sd = parameters
    return truncated_normal_cdf((x - mean) / sd, (least - mean) / sd, math.inf)


def _quantile_normal(u: Sample, least: float, parameters: tuple[float, ...]) -> Sample:
    mean, sd = parameters
    below = scipy.special.log_ndtr((mean - least) / sd)
    return np.asarray(mean - sd * scipy.special.ndtri_exp(np.log1p(-u) + below), dtype=np.float64)


def _log_least(least: float) -> float:
    return math.log(least) if least > 0 else -50.0


_FAMILIES = {
    "exponential": _Family(
        _fit_exponential,
        lambda x, least, p: -np.expm1(-(x - least) / p[0]),
        lambda u, least, p: least - p[0] * np.log1p(-u),
        ("mean_s",),
    ),
    "normal": _Family(_fit_normal, _cdf_normal, _quantile_normal, ("mean_s", "sd_s")),
    "uniform": _Family(
        _fit_uniform,
        lambda x, _, p: (x - p[0]) / (p[1] - p[0]),
        lambda u, _, p: p[0] + u * (p[1] - p[0]),
        ("min_s", "max_s"),
    ),
    "lognormal": _Family(
        _fit_lognormal,
        lambda x, least, p: _cdf_normal(np.log(x), _log_least(least), p),
        lambda u, least, p: np.exp(np.minimum(_quantile_normal(u, _log_least(least), p), 700.0)),
        ("log_mean", "log_sd"),
    ),
}
