"""Contains statistics that need no knowledge of loads: intervals, histograms, goodness of fit, changes of level,
effects.

Functions that compute intervals return an `Estimate` (see `estimates`) and are exported here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.analysis.statistics.batches import ERROR_AT_LEAST as ERROR_AT_LEAST
    from towtank.analysis.statistics.batches import OBSERVATIONS_AT_LEAST as OBSERVATIONS_AT_LEAST
    from towtank.analysis.statistics.batches import RatioError as RatioError
    from towtank.analysis.statistics.batches import error_of as error_of
    from towtank.analysis.statistics.batches import lag_one as lag_one
    from towtank.analysis.statistics.batches import looks_independent as looks_independent
    from towtank.analysis.statistics.batches import ratio_of_sums as ratio_of_sums
    from towtank.analysis.statistics.differences import mean_along_trend as mean_along_trend
    from towtank.analysis.statistics.differences import ratio_along_trend as ratio_along_trend
    from towtank.analysis.statistics.estimates import Estimate as Estimate
    from towtank.analysis.statistics.intervals import capped_freedom as capped_freedom
    from towtank.analysis.statistics.intervals import difference_interval as difference_interval
    from towtank.analysis.statistics.intervals import ratio_interval as ratio_interval
    from towtank.analysis.statistics.intervals import standard_error_of as standard_error_of
    from towtank.analysis.statistics.intervals import t_interval as t_interval
    from towtank.analysis.statistics.intervals import t_interval_about as t_interval_about
    from towtank.analysis.statistics.intervals import total_interval as total_interval
    from towtank.analysis.statistics.intervals import welch_difference as welch_difference
    from towtank.analysis.statistics.ranks import design_effect as design_effect
    from towtank.analysis.statistics.ranks import effective_ranks as effective_ranks
    from towtank.analysis.statistics.ranks import likely_design_effect as likely_design_effect
    from towtank.analysis.statistics.ranks import order_statistic_ranks as order_statistic_ranks

__getattr__, __dir__ = door(
    __name__,
    {
        "batches": "ERROR_AT_LEAST OBSERVATIONS_AT_LEAST RatioError error_of lag_one looks_independent ratio_of_sums",
        "differences": "mean_along_trend ratio_along_trend",
        "intervals": (
            "capped_freedom difference_interval ratio_interval standard_error_of t_interval t_interval_about "
            "total_interval welch_difference"
        ),
        "ranks": "design_effect effective_ranks likely_design_effect order_statistic_ranks",
        "estimates": "Estimate",
    },
)
