"""Builds the figure of CPU use by tier: stacked bars against load, for each configuration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from towtank.analysis import Estimate, TierAtLoad
from towtank.digging import dig
from towtank.report import format as people
from towtank.report import theme, vega
from towtank.report.document import Figure, Table, headings
from towtank.report.figures import panel
from towtank.report.figures.labels import short_labels
from towtank.report.source import Results
from towtank.report.vega import Along, Channel, Encoding, Layer, Mark, Specification, View, nominal, quantitative

NAME = "cpu-by-tier"


@dataclass(frozen=True)
class Slice:
    """Mean CPU use [CPUs] of a tier, or of a part of a tier (some of its processes), at one load point.

    `load` is the number of users, or the arrival rate [1/s]. `part` is the name of the tier, such as `content`; for a
    tier with parts, `content: database` or `content: rest`. The rest of a tier, a difference, has no interval.
    """

    configuration: str
    load: float
    part: str
    cpus: float
    interval: Estimate | None
    state: str


@dataclass(frozen=True)
class Numbers:
    """Data of the figure: slices of CPU use, number of CPUs of the system (None if unknown), name of the load factor,
    names of omitted load points, and loads.
    """

    slices: list[Slice]
    capacity: int | None
    load_factor: str
    dropped: list[str]
    loads: list[float]

    @property
    def is_at_one_load(self) -> bool:
        """True if the figure compares several configurations at a single load."""
        return len(self.loads) == 1 and len({entry.configuration for entry in self.slices}) > 1


def compute(results: Results) -> Numbers:
    """Split the CPU use of every tier at every load point into its parts and the rest."""
    slices: list[Slice] = []
    dropped: list[str] = []
    loads: set[float] = set()
    for configuration in results.configurations:
        for point in configuration.points:
            loads.add(point.level)
            if not point.is_usable:
                dropped.append(f"{configuration.label} at {people.plain(point.level)}")
                continue
            for name, tier in point.tiers.items():
                slices += _tier(configuration.label, point.level, point.state, name, tier)
    if len({entry.configuration for entry in slices}) > panel.CROWDED:
        top = _common_top(slices)
        slices, loads = [entry for entry in slices if entry.load == top], {top}
    return Numbers(slices, capacity(results), results.load_factor, dropped, sorted(loads))


def _common_top(slices: list[Slice]) -> float:
    """Return the load at which most configurations were observed; if there are several, the highest."""
    at: dict[float, set[str]] = {}
    for each in slices:
        at.setdefault(each.load, set()).add(each.configuration)
    return max(at, key=lambda load: (len(at[load]), load))


def _tier(label: str, load: float, state: str, name: str, tier: TierAtLoad) -> Iterator[Slice]:
    total = tier.cpus_used.value
    if total is None:
        return
    rest = float(total)
    for part, use in tier.parts.items():
        if use.cpus_used.value is not None:
            rest -= use.cpus_used.value
            yield Slice(label, load, f"{name}: {part}", float(use.cpus_used.value), use.cpus_used, state)
    if rest == total:
        yield Slice(label, load, name, rest, tier.cpus_used, state)
    else:
        # Tier and parts are sampled at different times, so the difference may be slightly negative.
        yield Slice(label, load, f"{name}: rest", max(rest, 0.0), None, state)


def capacity(results: Results) -> int | None:
    """Return the number of CPUs to which the system is pinned; None if it differs between runs, or if a tier has a
    lower CPU limit.
    """
    pinned = {len(set(dig(run.manifest, "pinning", "system") or ())) for run in results.measured}
    if len(pinned) != 1 or pinned == {0}:
        return None
    cpus = pinned.pop()
    return cpus if all(allotted >= cpus for _, allotted, _ in _limits(results)) else None


def _limits(results: Results) -> list[tuple[str, float, float | None]]:
    """Return name, CPU limit [CPUs] and highest utilization [ratio] of each tier over valid and suspect load points."""
    busiest: dict[tuple[str, float], float | None] = {}
    for configuration in results.configurations:
        for point in configuration.usable:
            for name, tier in point.tiers.items():
                if tier.cpus_allotted and tier.cpus_allotted > 0:
                    key = name, float(tier.cpus_allotted)
                    known = [each for each in (busiest.get(key), tier.utilization) if each is not None]
                    busiest[key] = max(known, default=None)
    return [(name, allotted, used) for (name, allotted), used in busiest.items()]


def colours(parts: list[str]) -> list[str]:
    """Return a colour for each part; the parts of a tier have shades of the same colour."""
    tiers = list(dict.fromkeys(part.split(": ")[0] for part in parts))
    hues = dict(zip(tiers, theme.cycle(theme.COLOURS, len(tiers)), strict=True))
    seen: dict[str, int] = {}
    chosen = []
    for part in parts:
        tier = part.split(": ")[0]
        chosen.append(_lighter(hues[tier], 0.45 * seen.get(tier, 0)))
        seen[tier] = seen.get(tier, 0) + 1
    return chosen


def _lighter(colour: str, amount: float) -> str:
    channels = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    return "#" + "".join(f"{round(channel + (255 - channel) * min(amount, 0.8)):02x}" for channel in channels)


def draw(numbers: Numbers) -> Specification:
    """Draw stacked bars of CPU use in one panel for each configuration; all panels have the same scale."""
    labels = list(dict.fromkeys(entry.configuration for entry in numbers.slices))
    parts = list(dict.fromkeys(entry.part for entry in numbers.slices))
    names = short_labels(labels) if len(labels) > panel.CROWDED else dict(zip(labels, labels, strict=True))
    labels = list(names.values())
    values = [
        {
            "configuration": names[entry.configuration],
            "load": entry.load,
            "part": entry.part,
            "order": parts.index(entry.part),
            "cpus": entry.cpus,
            "state": entry.state,
            "capacity": numbers.capacity,
        }
        for entry in numbers.slices
    ]
    is_row = numbers.is_at_one_load
    layers = [_bars(numbers, parts, labels)]
    if numbers.capacity:
        layers += _capacity(numbers.capacity, across="x" if is_row else "y")
    row: View = {"width": 520, "height": {"step": 24}, "layer": layers}
    view: View = {"data": {"values": values}, **(row if is_row else panel.each_configuration(labels, layers))}
    return vega.specification(description(numbers), **view)


def _bars(numbers: Numbers, parts: list[str], labels: list[str]) -> Layer:
    """Return stacked bars: one for each load, or one for each configuration if all have the same load."""
    loads: Channel = {
        "field": "load",
        "type": "ordinal",
        "title": panel.load_title(numbers.load_factor),
        "axis": {"labelAngle": 0, "grid": False},
        "scale": {"domain": numbers.loads, "paddingInner": 0.35, "paddingOuter": 0.25},
    }
    cpus = quantitative("cpus", title="CPUs used", stack="zero")
    is_row = numbers.is_at_one_load
    encoding: Encoding = {
        "x": cpus if is_row else loads,
        "y": panel.configuration_axis(labels) if is_row else cpus,
        "color": nominal(
            "part",
            scale={"domain": parts, "range": colours(parts)},
            legend={"title": None, "symbolType": "square", "columns": 4},
        ),
        "order": quantitative("order"),
        "fillOpacity": {"condition": {"test": "datum.state === 'suspect'", "value": 0.35}, "value": 1},
        "tooltip": [
            nominal("part", title="tier"),
            quantitative("load", title=panel.load_title(numbers.load_factor), format=theme.EXACT),
            quantitative("cpus", title="CPUs used", format=".3~r"),
            nominal("state", title="verdict"),
        ],
    }
    return vega.layer("bar", encoding, maxBandSize=16 if is_row else 70, stroke=theme.INK, strokeWidth=0.6)


def _capacity(cpus: int, across: Along) -> list[Layer]:
    """Return layers of a line at the number of CPUs of the system, which appears in every panel."""
    at, edge = quantitative("capacity", aggregate="max"), Channel(value=0)
    text = Mark(type="text", text=f"{people.plural(cpus, 'CPU')} of the system", dy=-7, color=theme.MUTED)
    if across == "y":
        line, words = Encoding(y=at), vega.layer(text, {"x": edge, "y": at}, align="left", dx=4)
    else:
        line = Encoding(x=at)
        words = vega.layer(text, {"y": edge, "x": at}, align="right", baseline="bottom", dy=-2)
    return [vega.layer("rule", line, strokeDash=[5, 3], color=theme.MUTED, strokeWidth=1.5), words]


def description(numbers: Numbers) -> str:
    """Return a description of the figure of CPU use in words, for readers who cannot see the figure."""
    top = max((entry.load for entry in numbers.slices), default=0.0)
    parts = [
        f"{entry.configuration}, {entry.part}: {people.plain_estimate(entry.interval or {'value': entry.cpus}, 'CPUs')}"
        for entry in numbers.slices
        if entry.load == top
    ]
    return (
        f"Stacked bars of CPUs used by tier. At {people.plain(top)} {panel.load_title(numbers.load_factor)}: "
        + "; ".join(parts)
        + "."
    )


def figure(results: Results) -> Figure | None:
    """Return the figure of CPU use by tier; None if no tier was observed."""
    numbers = compute(results)
    if not numbers.slices:
        return None
    notes = ["Mean number of CPUs used in the steady window."]
    if any(entry.state == "suspect" for entry in numbers.slices):
        notes.append("Pale bars depend on a suspect run.")
    limits = _limits(results) if numbers.capacity is None else []
    notes += [
        f"{name} may use {people.number(allotted)} CPUs"
        + (f" and used at most {people.share(used)} of them." if used is not None else ".")
        for name, allotted, used in limits
    ]
    if numbers.dropped:
        notes.append(f"No bar, because no run is valid or suspect: {people.listing(numbers.dropped)}.")
    hows = sorted(_methods(results))
    notes += [f"{part}: {how}." for part, how in hows]
    return Figure(
        name=NAME,
        title=f"CPU by tier {_against(numbers)}",
        description=description(numbers),
        note=" ".join(notes),
        spec=draw(numbers),
        table=_table(numbers),
    )


def _against(numbers: Numbers) -> str:
    title = panel.load_title(numbers.load_factor)
    if numbers.is_at_one_load:
        return f"and configuration, at {people.plain(numbers.loads[0])} {title}"
    return f"against {title}"


def _methods(results: Results) -> set[tuple[str, str]]:
    """Return the method by which the CPU use of each part of a tier was measured."""
    return {
        (f"The part {part} of {tier}", str(part_of_tier["how"]).rstrip("."))
        for run in results.measured
        for tier, figures in (run.summary.get("tiers") or {}).items()
        for part, part_of_tier in (figures.get("parts") or {}).items()
        if part_of_tier.get("how")
    }


def _table(numbers: Numbers) -> Table:
    columns = headings(
        "Configuration",
        f"#{panel.load_title(numbers.load_factor).capitalize()}",
        "Tier or part",
        "#CPUs used",
        "Verdict",
    )
    rows = tuple(
        (
            entry.configuration,
            people.plain(entry.load),
            entry.part,
            people.plain_estimate(entry.interval or {"value": entry.cpus}, "CPUs"),
            entry.state,
        )
        for entry in numbers.slices
    )
    return Table("CPUs used by tier", columns, rows)
