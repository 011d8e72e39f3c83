"""Distribution of the highest load in a season, compared with an integral over the error of the growth line."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from towtank.sizing.further_day import FurtherDay
from towtank.sizing.highest_day import HighestDay

NOISE, LINE = 0.06, 0.04
"""Standard deviation of a day around the line, and of the line itself. [1]"""
DEVIATION = float(np.hypot(NOISE, LINE))


@pytest.mark.parametrize(("middles", "counts"), [((0.0, 0.0), 1.0), ((0.0, -0.05), 10.0)])
def test_the_days_of_a_season_share_the_error_of_the_line_only(middles: tuple[float, ...], counts: float) -> None:
    """All days of a season share the error of the growth line, but each has its own noise.

    So P(all loads below z) is the mean of prod Phi((z - m_i - e) / noise)^n over the normal error e of the line. m_i is
    the middle of a day of the season, and n (`counts`) the number of such days.
    """
    further = FurtherDay(10**7, 0.0, np.zeros(0))
    deviations = np.full(len(middles), DEVIATION)
    table = HighestDay.of(further, np.array(middles), deviations, NOISE, counts)
    limits = np.array([-0.05, 0.0, 0.1, 0.15])

    def chance(limit: float) -> float:
        def below(error: float) -> float:
            days = [norm.cdf((limit - middle - error) / NOISE) ** counts for middle in middles]
            return float(np.prod(days)) * float(norm.pdf(error / LINE)) / LINE

        return float(quad(below, -10 * LINE, 10 * LINE)[0])

    alone = norm.cdf(limits / DEVIATION)
    assert table.below(alone) == pytest.approx([chance(limit) for limit in limits], abs=0.005)
