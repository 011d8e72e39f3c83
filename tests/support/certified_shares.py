"""Section of the certification page with the coverage of intervals of fits, predictions and forecasts."""

from __future__ import annotations

from certification import Section, Tabled, percent

SECTION = Section(
    "Fits, predictions and forecasts",
    "interval of | known system | series | held | at least",
    "95 % intervals around what is fitted to simulated measurements of a known system, or follows from it. The last "
    "column is the least share that is allowed: that of chance in so many series, and a little less for few.",
)


def record_share(tabled: Tabled, of: str, system: str, held: int, series: int, *, least: float) -> None:
    """Store the coverage (fraction of intervals that contain the true value) for the certification page.

    The test fails if the coverage is below `least`. It also fails if all intervals of 100 or more series contain the
    true value, because such intervals are too wide.
    """
    always = held == series >= 100
    cells = (str(series), percent(held / series), percent(least))
    tabled(SECTION, of, system, *cells, holds=held / series >= least and not always)
