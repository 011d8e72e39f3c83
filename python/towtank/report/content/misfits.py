"""Builds a table and callouts on differences between a fitted curve and the measured levels."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.model import FittedConfiguration
from towtank.report import format as people
from towtank.report.document import Callout, Table, headings, text
from towtank.report.figures import panel
from towtank.report.figures.residuals import Misfit, misfits
from towtank.report.format import Ends
from towtank.report.source import Results


def table(results: Results, configurations: list[FittedConfiguration]) -> Table | None:
    """Build the table of measured and fitted values at every load level; None without values."""
    rows = tuple(_cells(found) for configuration in configurations for found in misfits(configuration))
    if not rows:
        return None
    columns = headings(
        "Configuration",
        f"#{panel.load_title(results.load_factor).capitalize()}",
        "#Throughput measured",
        "#On the curve, 95 % band",
        "#Misses by",
        "Within two standard errors",
        "#Response time measured",
        "#On the curve, 95 % band",
    )
    notes = (
        "The response time of the curve is N / X − Z, with the think time Z of the run.",
        "At each level, the curve uses the transaction mix of the runs at this level; its limit uses the mean mix of "
        "all levels.",
    )
    return Table("Fitted curve and measured values by level", columns, rows, notes, is_detail=True)


def callouts(configurations: list[FittedConfiguration]) -> Iterator[Callout]:
    """Yield a callout for each configuration whose curve differs from a measured level by more than two standard
    errors.
    """
    for configuration in configurations:
        beyond = [found for found in misfits(configuration) if found.is_beyond]
        if beyond:
            worst = max(beyond, key=lambda found: abs(found.share))
            levels = people.listing(list(dict.fromkeys(people.plain(found.load) for found in beyond)))
            is_last = worst.load == max(row.load for row in configuration.points)
            said = (
                f"The curve differs by more than two standard errors from the throughput measured at {levels}; at "
                f"{people.plain(worst.load)} the difference is {people.signed_share(worst.share)}. Its predictions "
                f"there {'and at higher loads may have' if is_last else 'may have'} errors of this size"
                f"{' or larger' if is_last else ''}."
            )
            yield Callout("suspect", f"{configuration.label}: the curve misses measured levels", (text(said),))


def _cells(found: Misfit) -> tuple[str, ...]:
    return (
        found.label,
        people.plain(found.load),
        people.rate(found.measured),
        people.rate_estimate(Ends(found.fitted, *found.band)),
        people.signed_share(found.share),
        {True: "no", False: "yes", None: "no error known"}[found.is_beyond],
        people.seconds(found.response_s) if found.response_s is not None else people.ABSENT,
        people.seconds_estimate(Ends(found.fitted_response_s, *found.response_band)),
    )
