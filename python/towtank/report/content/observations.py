"""Observations computed from the data: sentences, comparisons, limits found, service demands."""

from __future__ import annotations

from collections.abc import Callable

from towtank.report import format as people
from towtank.report.document import Block, Bullets, Column, Section, Table, paragraph, text
from towtank.report.figures.panel import load_title
from towtank.report.source import Results, dig, label_of


def build(results: Results) -> Section:
    """What the analysis found, sentence by sentence, and the tables behind it."""
    blocks: list[Block] = []
    found = sentences(results)
    if found:
        blocks.append(Bullets(tuple(text(sentence) for sentence in found)))
    else:
        blocks.append(paragraph("The runs that count allow no observation."))
    blocks += [*_limits(results), *_comparisons(results), *_demands(results)]
    return Section("observations", "Observations", tuple(blocks))


def sentences(results: Results) -> list[str]:
    """The sentences of the analysis."""
    return [
        str(one["text"])
        for one in results.summary.get("observations") or ()
        if isinstance(one, dict) and one.get("text")
    ]


_REACHED = {True: "reached", False: "not reached"}


def _limits(results: Results) -> list[Block]:
    rows = []
    for configuration in results.configurations:
        limit = configuration.get("limit")
        if not isinstance(limit, dict):
            continue
        reached = limit.get("reached")
        knee = people.plain_estimate(limit.get("knee_users"), results.load_factor)
        rows.append(
            (
                label_of(configuration),
                "not decided" if reached is None else _REACHED[bool(reached)],
                str(limit.get("resource") or people.ABSENT),
                knee if reached else people.ABSENT,
                people.rate_estimate(limit.get("peak_throughput_per_s")),
                str(limit.get("evidence") or people.ABSENT),
            )
        )
    columns = (
        Column("Configuration"),
        Column("Limit"),
        Column("Resource"),
        Column("Knee", numeric=True),
        Column("Highest throughput", numeric=True),
        Column("Evidence"),
    )
    return [Table("Limit of the system in the range measured", columns, tuple(rows))] if rows else []


def _comparisons(results: Results) -> list[Block]:
    rows = []
    for one in results.summary.get("comparisons") or ():
        metric = str(one.get("metric"))
        show = _estimate_of(metric)
        change = f"{one.get('factor')} {one.get('from')} → {one.get('to')}"
        rows.append(
            (
                quantity_name(metric),
                people.plain(one.get("users")),
                change,
                show(one.get("from_value")),
                show(one.get("to_value")),
                people.plain_estimate(one.get("ratio"), "×"),
            )
        )
    columns = (
        Column("Quantity"),
        Column(load_title(results.load_factor).capitalize(), numeric=True),
        Column("Change"),
        Column("From", numeric=True),
        Column("To", numeric=True),
        Column("Ratio", numeric=True),
    )
    notes = (
        "A ratio whose interval contains 1 is no difference that these runs can show. Where a point has one run, the "
        "interval is one within these runs, and says nothing of how much further runs would differ.",
        f"Intervals hold in 95 of 100 cases: of {len(rows)} ratios about {len(rows) / 20:.1f} exclude 1 by chance.",
    )
    return [Table("Comparison of configurations at equal load", columns, tuple(rows), notes)] if rows else []


def quantity_name(metric: str) -> str:
    """Name a quantity in words: `response_time_s.p95 of x` as `95th percentile of the response time of x`."""
    statistics = {
        "mean": "mean",
        "p50": "median",
        "p90": "90th percentile",
        "p95": "95th percentile",
        "p99": "99th percentile",
    }
    path, of, what = metric.partition(" of ")
    name, _, statistic = path.partition(".")
    for suffix in ("_per_s", "_s"):
        name = name.removesuffix(suffix)
    words = name.replace("_", " ").replace("cpu", "CPU")
    if statistic in statistics:
        words = f"{statistics[statistic]} of the {words}"
    elif statistic:
        words = f"{words} {statistic}".replace("_", " ")
    return f"{words}{of}{what}"


def _estimate_of(metric: str) -> Callable[[people.Estimate | None], str]:
    """Choose how to show an estimate by the name of its quantity, which carries the unit as its suffix."""
    suffixes = {
        "_bytes_per_s": people.size_rate_estimate,
        "_per_s": people.rate_estimate,
        "_s": people.seconds_estimate,
        "cpus_used": lambda estimate: people.plain_estimate(estimate, "CPUs"),
    }
    names = [part.strip(".,") for part in metric.replace(".", " ").split()]
    return next(
        (show for name in names for suffix, show in suffixes.items() if name.endswith(suffix)),
        people.plain_estimate,
    )


def _demands(results: Results) -> list[Block]:
    of = {str(one["label"]): one.get("demand") or {} for one in results.summary.get("configurations") or ()}
    several = len(of) > 1
    rows = tuple(
        (
            *((label,) if several else ()),
            str(tier),
            people.seconds_estimate(one.get("d_s")),
            people.quantity(one.get("intercept_cpus"), "CPUs"),
            people.count(one.get("points")),
        )
        for label, demands in (of if several else {"": results.summary.get("demand") or {}}).items()
        for tier, one in demands.items()
        if dig(one, "d_s", "value") is not None
    )
    columns = (
        *((Column("Configuration"),) if several else ()),
        Column("Tier"),
        Column("CPU demand per transaction", numeric=True),
        Column("Used without load", numeric=True),
        Column("Points", "count", numeric=True),
    )
    caption = "CPU demand of one transaction, from the line of CPUs used over throughput"
    return [Table(caption, columns, rows)] if rows else []
