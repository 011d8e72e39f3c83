"""Contains statistics that need no knowledge of loads: intervals, histograms, goodness of fit, changes of level,
effects.

Functions that compute intervals return an `Estimate` (see `estimates`) and are exported here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.analysis.statistics.batches import (
        ERROR_AT_LEAST,
        error_of,
        lag_one,
        looks_independent,
        ratio_of_sums,
    )
    from towtank.analysis.statistics.differences import mean_along_trend, ratio_along_trend
    from towtank.analysis.statistics.intervals import (
        capped_freedom,
        difference_interval,
        ratio_interval,
        standard_error_of,
        t_interval,
        t_interval_about,
        total_interval,
    )
    from towtank.analysis.statistics.ranks import (
        design_effect,
        effective_ranks,
        likely_design_effect,
        order_statistic_ranks,
    )

__getattr__, __dir__ = door(__name__)
