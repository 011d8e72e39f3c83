"""Builds the section on the resource use of the load generator, which may have limited the load."""

from __future__ import annotations

from towtank.report import format as people
from towtank.report.content import connections
from towtank.report.content.headline import nothing
from towtank.report.document import Block, Section, Table, headings, paragraph
from towtank.report.source import Results


def build(results: Results) -> Section:
    """Build the section on the load generator, with a table row for each run."""
    runs = [run for run in results.measured if run.summary.get("generator")]
    if not runs:
        return Section("generator", "The load generator", (nothing("Resource use of the load generator"),))
    rows = tuple(
        (
            run.run_id,
            people.plain(run.load),
            people.quantity(generator.cpus_used, "CPUs"),
            people.quantity(generator.cpu_us_per_request, "µs"),
            people.seconds(generator.start_lag_p99_s),
            people.size(generator.peak_rss_bytes),
            "yes" if generator.saturated else "no",
            people.rate_estimate(run.record.request_throughput_per_s.document()),
        )
        for run in runs
        for generator in [run.record.generator]
    )
    columns = headings(
        "Run",
        f"#{results.load_factor.capitalize()}",
        "#CPUs used",
        "#CPU per request",
        "#Start lag, 99th percentile",
        "#Peak memory",
        "Saturated",
        "#Requests",
    )
    blocks: list[Block] = [paragraph(sentence(results)), Table("Resource use of the load generator", columns, rows)]
    blocks += connections.blocks(results)
    return Section("generator", "The load generator", tuple(blocks))


def sentence(results: Results) -> str:
    """Return a sentence with the generator's highest resource use in any run."""
    runs = results.measured
    cpus = [used for run in runs if (used := run.record.generator.cpus_used) is not None]
    lags = [lag for run in runs if (lag := run.record.generator.start_lag_p99_s) is not None]
    parts = []
    if cpus:
        parts.append(f"used at most {people.number(max(cpus))} CPUs in any run")
    if lags:
        parts.append(f"started 99 % of the requests at most {people.seconds(max(lags))} after their planned time")
    return f"The generator {people.listing(parts)}." if parts else "The generator recorded no data about itself."
