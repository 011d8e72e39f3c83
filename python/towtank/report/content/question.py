"""Builds the section on the factors of the study and the system, with a drawing of its tiers."""

from __future__ import annotations

from collections.abc import Iterable

from towtank.digging import dig
from towtank.report import drawing
from towtank.report import format as people
from towtank.report.content.tiers import (
    Tier,
    copies,
    entries,
    generator_places,
    is_this_machine,
    links,
    most,
    tiers,
    times,
    when,
)
from towtank.report.document import Block, Figure, Section, Table, headings
from towtank.report.source import PlannedFactor, Results

_GENERATOR = "virtual users"


def build(results: Results) -> Section:
    """Build the section on the factors of the study, and on the system under test."""
    blocks: list[Block] = []
    if results.factors:
        blocks.append(_factors(results))
    found = tiers(results)
    if found:
        blocks += [_drawing(results, found), _table(results, found)]
    return Section("question", "System and factors", tuple(blocks))


def _factors(results: Results) -> Table:
    rows = tuple(
        (
            factor.name,
            ", ".join(_levels(factor)),
            "load" if factor.name == results.load_factor else "configuration",
        )
        for factor in results.factors
    )
    return Table("Factors of the study", headings("Factor", "Levels", "Role"), rows)


def _levels(factor: PlannedFactor) -> list[str]:
    """Return the levels of a factor; shares of a load limit are followed by the resulting load."""
    levels = [str(level) for level in factor.levels]
    if factor.numeric is None or len(factor.numeric) != len(levels):
        return levels
    pairs = zip(levels, factor.numeric, strict=True)
    return [f"{level} = {load}" if level.strip().endswith("%") else level for level, load in pairs]


def cpu_names(cpus: Iterable[object] | None) -> str:
    """Render CPU numbers, such as `CPU 0` or `CPUs 0, 2`; `any CPU` without pinning."""
    listed = [str(cpu) for cpu in cpus or ()]
    return f"{'CPU' if len(listed) == 1 else 'CPUs'} {', '.join(listed)}" if listed else "any CPU"


def _drawing(results: Results, found: dict[str, Tier]) -> Figure:
    entered = entries(results, found)
    pinned = next(
        (dig(run.manifest, "pinning", "generator") for run in results.runs if run.manifest.get("pinning")),
        None,
    )
    lines = (f"load: {results.load_factor}", f"engine on {cpu_names(pinned)}")
    boxes = [drawing.Box(_GENERATOR, lines, host=_generator_frame(results, found), asks=tuple(entered))]
    for name, tier in found.items():
        about = tuple(filter(None, (tier.kind, cpu_names(tier.cpus))))
        boxes.append(drawing.Box(name, about, tuple(tier.parts), tier.host, tuple(tier.asks)))
    several = {host: words for host, numbers in copies(results).items() if (words := times(numbers))}
    joined = links(results)
    legend = f"Links of hosts: {_alternatives(joined)}" if joined else ""
    words = f"Virtual users send requests to {people.listing(entered)}. Tiers: {people.listing(list(found))}."
    return Figure(
        name="system",
        title="The system under test and its load",
        description=f"{words} {legend}".rstrip(),
        note=_note(results, found, several),
        svg=drawing.draw(boxes, words, times=several, legend=legend),
    )


def _generator_frame(results: Results, found: dict[str, Tier]) -> str:
    """Return the name of the host on which the load generator ran; empty if this host is unknown.

    This is the recorded host of the generator; without one, the only machine of the system if Towtank runs there.
    """
    placed = most(generator_places(results))
    hosts = {tier.host for tier in found.values()}
    (only, *more) = hosts or {""}
    if placed or more:
        return placed
    return only if is_this_machine(results, only) else ""


def _alternatives(words: list[str]) -> str:
    """Join alternatives, such as `bridge, tun or veth`."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words)


def _note(results: Results, found: dict[str, Tier], several: dict[str, str]) -> str:
    """Render an explanation of the drawing, with facts that it cannot show."""
    parts = ["Frames are hosts, boxes are tiers, inner boxes are parts of a tier that are measured separately."]
    if several:
        parts.append(
            "A frame with a number represents this number of equal hosts, each with the whole content of the frame."
        )
    moved = {name: tier.places for name, tier in found.items()} | {_GENERATOR: generator_places(results)}
    for name, places in moved.items():
        shown = most(places)
        away = [f"{_place(place)} ({when(places, place)})" for place in places if place != shown]
        if away:
            parts.append(f"The drawing shows {name} as in most runs; in others it was {_alternatives(away)}.")
    return " ".join(parts)


def _place(host: str) -> str:
    return f"on {host}" if host else "outside of all hosts"


def _table(results: Results, found: dict[str, Tier]) -> Table:
    numbers = {host: times(each) for host, each in copies(results).items()}
    rows = tuple(
        (
            name,
            tier.kind or people.ABSENT,
            "; ".join(_host_cell(tier, place, numbers) for place in tier.places if place) or people.ABSENT,
            cpu_names(tier.cpus),
            ", ".join(tier.parts) or people.ABSENT,
        )
        for name, tier in found.items()
    )
    columns = headings("Tier", "Kind", "Host", "Pinned to", "Parts measured")
    return Table("Tiers of the system", columns, rows)


def _host_cell(tier: Tier, place: str, numbers: dict[str, str]) -> str:
    """Render a host with its number of copies and, if the tier ran on several hosts, with the runs on this host."""
    shown = f"{place} {numbers.get(place, '')}".rstrip()
    return shown if len(tier.places) == 1 or place == tier.host else f"{shown} ({when(tier.places, place)})"
