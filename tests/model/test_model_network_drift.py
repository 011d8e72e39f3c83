"""Drift of the demands of a network beyond the measured utilizations. Within them, no error is added."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from test_model_networks import exact

from towtank.model.fitting.drift import DRIFT
from towtank.model.fitting.networks.answers import limits, predicted
from towtank.model.fitting.networks.drifting import drifted, reached
from towtank.model.fitting.networks.replicates import Network, fit_network


@pytest.fixture(scope="module")
def network() -> Network:
    """Return a network that was fitted to exact measurements. It has 2,000 replicates, all equal."""
    fitted = fit_network(exact(), count=3)
    return dataclasses.replace(fitted, draws=(fitted.parameters,) * 2000)


def test_the_demand_of_each_station_moves_as_far_as_it_was_short_of_full_use(network: Network) -> None:
    """The logarithm of the drift is normal with the standard deviation `DRIFT` (1 - u0).

    u0 is the highest measured utilization of the station.
    """
    demands = np.array([each.demands[:, 0] for each in drifted(network)])
    moved = np.log(demands / network.parameters.demands[:, 0])
    expected = DRIFT * (1 - reached(network))
    assert (reached(network) < 0.9).any()
    assert moved.std(axis=0) == pytest.approx(expected, rel=0.06)
    # The drifts of two stations are independent. In 2,000 random values, a correlation of 0.1 is more than four
    # standard errors.
    assert abs(np.corrcoef(moved.T)[0, 1]) < 0.1


def test_nothing_is_added_at_utilizations_that_were_measured(network: Network) -> None:
    same = drifted(network, reached(network))
    assert all((each.demands == network.parameters.demands).all() for each in same)


def test_limits_and_predictions_have_the_width_of_the_drift(network: Network) -> None:
    """The throughput limit of a station is c / D, so its 95 % interval spans 2 x 1.96 standard deviations of the
    logarithm of D.

    c is the number of servers and D the demand.
    """
    for row in limits(network):
        place = [station.name for station in network.measured.stations].index(row.station)
        low, high = row.limit_throughput.low, row.limit_throughput.high
        assert low is not None and high is not None
        width = np.log(high / low)
        assert width == pytest.approx(2 * 1.96 * DRIFT * (1 - reached(network)[place]), rel=0.1)
    few = dataclasses.replace(network, draws=network.draws[:50])
    inside, beyond = predicted(few, [float(network.measured.loads[0]), 3 * float(network.measured.loads[-1])])
    low, high = inside.throughput.band_95
    assert high / low == pytest.approx(1.0, abs=1e-9)
    low, high = beyond.throughput.band_95
    assert high / low > 1.1
