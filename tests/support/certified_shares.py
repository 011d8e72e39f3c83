"""Section of the certification page with the coverage of intervals of fits, predictions and forecasts."""

from __future__ import annotations

from certification import Section, Tabled, percent

SECTION = Section(
    "Fits, predictions and forecasts",
    "interval of | known system | series | coverage | lowest allowed coverage",
    "95 % intervals of quantities that are fitted to simulated measurements of a known system, or derived from the "
    "fit. The lowest allowed coverage takes account of chance in the given number of series, and is slightly lower "
    "for few series.",
)


def record_share(tabled: Tabled, of: str, system: str, held: int, series: int, *, least: float) -> None:
    """Store the coverage (fraction of intervals that contain the true value) for the certification page.

    The test fails if the coverage is below `least`. It also fails if all intervals of 100 or more series contain the
    true value, because such intervals are too wide.
    """
    always = held == series >= 100
    cells = (str(series), percent(held / series), percent(least))
    tabled(SECTION, of, system, *cells, holds=held / series >= least and not always)
