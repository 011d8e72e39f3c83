"""Scrapes without threads: recorded values, and reports about omitted values."""

from __future__ import annotations

from pathlib import Path

from towtank.observe.scraping import _Target
from towtank.results.observe import read_services


class Page:
    """Scraper that returns the same values at each scrape."""

    source = "fake"
    kind = "fake_server"
    service = "api"

    def __init__(self, values: dict[str, float]) -> None:
        self.values = values

    def scrape(self) -> dict[str, float]:
        return dict(self.values)

    def close(self) -> None:
        """Do nothing, because this scraper holds no connection."""


def test_a_value_that_is_too_large_is_left_out_and_the_others_are_kept(tmp_path: Path) -> None:
    """A gauge without a limit often has the largest float, 1.8e308, as its value. Sums of such values would
    overflow.
    """
    page = Page({"requests_total": 7.0, "limit": 1.7e308, "depth": -2e30, "edge": 1e30})
    target = _Target(page, tmp_path)
    for _ in range(3):
        target.scrape()
    target.close()
    stream = read_services(tmp_path)["api"]
    assert [sample["values"] for sample in stream.samples] == [{"requests_total": 7.0, "edge": 1e30}] * 3
    assert [sample["left_out"] for sample in stream.samples] == [2, 2, 2]
    assert stream.damage.bad_lines == 0
    assert target.report() == "api: the values of 2 metrics, such as depth, were left out because they exceed 1e+30"


def test_a_page_of_usual_values_is_recorded_as_it_is(tmp_path: Path) -> None:
    target = _Target(Page({"requests_total": 7.0}), tmp_path)
    target.scrape()
    target.close()
    (sample,) = read_services(tmp_path)["api"].samples
    assert sample["values"] == {"requests_total": 7.0}
    assert "left_out" not in sample
    assert target.report() is None
