"""Builds the figure of the response time against load: mean and 95th percentile."""

from __future__ import annotations

from towtank.report import format as people
from towtank.report import vega
from towtank.report.document import Figure
from towtank.report.figures import panel, series
from towtank.report.source import Results

NAME = "response-time"
METRICS = {"mean": "mean", "p95": "95th percentile"}


def compute(results: Results) -> series.Panels:
    """Collect the mean and the 95th percentile of the response time over all transactions."""
    points = {metric: series.response_time_of(results, metric) for metric in METRICS}
    largest = max((point.value for each in points.values() for point in each), default=0.0)
    runs = {metric: series.single_runs(results, series.response_time_of_run(metric)) for metric in METRICS}
    return series.Panels(points, *people.seconds_unit(largest), results.load_factor, runs)


def draw(numbers: series.Panels) -> vega.Specification:
    """Draw a panel of the mean beside a panel of the 95th percentile, each with its own scale."""
    panels = [
        panel.panel(
            points,
            value_title=f"{METRICS[metric]} of response time [{numbers.unit}]",
            load_factor=numbers.load_factor,
            width=270,
            height=260,
            names=number == 0,
            times=True,
            runs=[run.scaled(numbers.factor) for run in numbers.runs.get(metric, ())],
        )
        for number, (metric, points) in enumerate(numbers.drawn.items())
    ]
    return vega.specification(description(numbers), hconcat=panels, spacing=28)


def description(numbers: series.Panels) -> str:
    """Return a description of the figure of response times in words, for readers who cannot see the figure."""
    parts = []
    for metric, points in numbers.points.items():
        for label in series.labels(points):
            own = sorted((p for p in points if p.configuration == label and p.state != "invalid"), key=lambda p: p.load)
            if own:
                both = [f"{people.seconds_estimate(end)} at {people.plain(end.load)}" for end in (own[0], own[-1])]
                ends = f"{', '.join(dict.fromkeys(both))} {panel.load_title(numbers.load_factor)}"
                parts.append(f"{METRICS[metric]} with {label}: {ends}")
    against = panel.against(numbers.all_points, numbers.load_factor)
    return f"Charts of response time {against}. " + ("; ".join(parts) + "." if parts else "No valid point.")


def figure(results: Results) -> Figure | None:
    """Return the figure of response times; None for fewer than two load points."""
    numbers = compute(results)
    everything = numbers.all_points
    if panel.is_single(everything):
        return None
    is_compared = len(series.labels(everything)) > 1 and panel.one_load(everything) is None
    by = " by configuration" if is_compared else ""
    return Figure(
        name=NAME,
        title=f"Response time of transactions {panel.against(everything, numbers.load_factor)}{by}",
        description=description(numbers),
        note="All transactions together, in the steady window, counted from the planned start. "
        + panel.states_note(everything, numbers.runs.get("mean", ())),
        spec=draw(numbers),
        table=panel.points_table(
            "Response time of all transactions together",
            numbers,
            METRICS,
            ("Statistic", "Response time"),
            people.seconds_estimate,
        ),
    )
