from __future__ import annotations

from typing import Any

import pytest
from two_tiers import LEVELS, TIERS, TRANSACTIONS, write_two_tiers

from towtank.model import FittedConfiguration, FittedNetwork
from towtank.report.content import capacity_model, demand_table, network_model
from towtank.report.document import Table
from towtank.report.figures import utilization_by_load
from towtank.report.source import Results, load_results

# The document is created once for all tests of this file, because its creation takes seconds.
pytestmark = [pytest.mark.waits, pytest.mark.xdist_group("report_network")]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("report") / "results"
    write_two_tiers(folder)
    return load_results(folder)


def tables(section: Any) -> dict[str, Table]:
    assert section is not None
    return {block.caption: block for block in section.blocks if isinstance(block, Table)}


def test_lines_of_utilization_are_predicted_by_the_network(results: Results) -> None:
    numbers = utilization_by_load.compute(results)
    assert {row.resource for row in numbers.curve} == set(TIERS)
    assert {row.resource for row in numbers.measured} == set(TIERS)
    _, network = network_model.networks(results.capacity.modelled)[0]
    for row in numbers.measured:
        level = next(each for each in network.levels if each.load == row.load)
        assert row.value == pytest.approx(level.utilization[row.resource].measured, rel=0.02)
        line = next(each for each in numbers.curve if each.resource == row.resource and each.load == row.load)
        assert line.low <= line.median <= line.high
    made = utilization_by_load.figure(results)
    assert made is not None
    assert "predicted by the network of all resources" in made.note


def test_the_level_held_out_stands_beside_that_of_the_curve(results: Results) -> None:
    found = tables(capacity_model.build(results))
    whole = found["Held-out levels: prediction of the network and measurement"]
    assert [row[1] for row in whole.rows] == [str(LEVELS[-1])]
    by_name = found["Held-out levels by transaction: prediction of the network and measurement"]
    assert [row[2] for row in by_name.rows] == list(TRANSACTIONS)
    assert "Held-out levels: prediction of the curve and measurement" in found


def test_what_the_network_is_made_of_stands_with_the_demands(results: Results) -> None:
    table = tables(demand_table.build(results))["Demands of the network: all runs"]
    _, network = network_model.networks(results.capacity.modelled)[0]
    assert [row[0] for row in table.rows] == list(TRANSACTIONS)
    assert len(table.columns) == 5 + len(TIERS) - 1
    share = network.transactions["browse"].share
    assert table.rows[0][1] == f"{100 * share:.1f} %"


def test_a_configuration_without_a_network_says_why() -> None:
    network = FittedNetwork(refused="no resource was observed in every run")
    refused = [FittedConfiguration(label="all runs", network=network)]
    blocks = network_model.callouts(refused)
    assert len(blocks) == 1
    assert "no resource was observed in every run" in str(blocks[0]).lower()
    assert network_model.networks(refused) == []
