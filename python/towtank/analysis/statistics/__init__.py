"""Statistics that need no knowledge of loads: intervals, histograms, goodness of fit, changes of level, effects.

Functions that compute intervals return an `Estimate` (see `estimates`) and are exported here.
"""

from towtank.analysis.statistics.batches import (
    ERROR_AT_LEAST,
    OBSERVATIONS_AT_LEAST,
    RatioError,
    error_of,
    lag_one,
    looks_independent,
    ratio_of_sums,
)
from towtank.analysis.statistics.differences import mean_along_trend, ratio_along_trend
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.statistics.intervals import (
    difference_interval,
    ratio_interval,
    standard_error_of,
    t_interval,
    t_interval_about,
    welch_difference,
)
from towtank.analysis.statistics.ranks import (
    design_effect,
    effective_ranks,
    likely_design_effect,
    order_statistic_ranks,
)

__all__ = [
    "ERROR_AT_LEAST",
    "OBSERVATIONS_AT_LEAST",
    "Estimate",
    "RatioError",
    "design_effect",
    "difference_interval",
    "effective_ranks",
    "error_of",
    "lag_one",
    "likely_design_effect",
    "looks_independent",
    "mean_along_trend",
    "order_statistic_ranks",
    "ratio_along_trend",
    "ratio_interval",
    "ratio_of_sums",
    "standard_error_of",
    "t_interval",
    "t_interval_about",
    "welch_difference",
]
