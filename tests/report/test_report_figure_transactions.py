"""Figure of the mean response time of each transaction at the lowest and the highest common load."""

from __future__ import annotations

from typing import Any

import pytest
import report_synthetic as synthetic
from drawn_figures import texts

from towtank.report.figures import (
    transactions,
)
from towtank.report.pictures import static_svg
from towtank.report.source import Results


def test_transactions_compare_at_the_lowest_and_highest_common_load() -> None:
    numbers = transactions.compute(synthetic.results(verdicts={"r004": "invalid"}))
    assert numbers.loads == [30, 90]  # The level of 120 users is valid only without the index.
    # Transactions are listed by response time, the longest first.
    assert numbers.transactions[0] == "open_all_searches"


def test_transactions_means_by_value() -> None:
    numbers = transactions.compute(synthetic.results())
    (entry,) = [
        e for e in numbers.at(120) if e.transaction == "open_all_searches" and "absent" in e.point.configuration
    ]
    assert entry.point.value == pytest.approx(0.92 * 2 * 4)


@pytest.mark.parametrize(("levels", "logarithmic"), [((30,), False), ((90,), True)])
def test_transactions_use_a_logarithmic_scale_only_when_they_must(levels: tuple[int, ...], logarithmic: bool) -> None:
    # The scale is logarithmic if the longest mean is more than 60 times the shortest. The ratio is 128 ms / 5 ms = 26
    # at 30 users, and 3.52 s / 5 ms = 704 at 90 users.
    assert transactions.compute(synthetic.results(levels=levels)).logarithmic is logarithmic


def test_transactions_at_both_loads_have_one_unit_and_one_scale() -> None:
    numbers = transactions.compute(synthetic.results())
    panels: Any = transactions.draw(numbers)["hconcat"]
    axes = [panel_at_load["layer"][0]["encoding"]["x"] for panel_at_load in panels]
    assert len(axes) == 2
    assert axes[0]["title"] == axes[1]["title"]
    assert axes[0]["scale"] == axes[1]["scale"]


def with_low(low: float) -> Results:
    """Return the synthetic study. The interval of one transaction's mean response time has the given lower end. [s]"""
    results = synthetic.results()
    point = results.summary["configurations"][0]["points"][0]
    mean = point["transactions"]["view_properties"]["mean_s"]
    point["transactions"]["view_properties"]["mean_s"] = {**mean, "low": low}
    return results


@pytest.mark.parametrize(("low", "arrows", "shortest_ms"), [(0.0001, 0, 0.1), (0.0, 1, 1.0)])
def test_no_interval_of_a_transaction_is_cut_without_a_sign(low: float, arrows: int, shortest_ms: float) -> None:
    # An interval that begins at 0.1 ms is drawn completely, so the scale begins at 0.1 ms. A logarithmic scale has no
    # place for an interval that begins at 0: it is cut at 1 ms, and an arrow marks this.
    results = with_low(low)
    numbers = transactions.compute(results)
    spec: Any = transactions.draw(numbers)
    low_end, _ = spec["hconcat"][0]["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert low_end == pytest.approx(shortest_ms / 1e3)
    assert texts(static_svg(spec)).count("◂") == arrows
    figure = transactions.figure(results)
    assert figure is not None
    assert ("Arrows mark intervals" in figure.note) == bool(arrows)
