"""Renders the output of `towtank rate` as text."""

from __future__ import annotations

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from towtank.estimates import interval_texts, number_estimate
from towtank.sizing import MachineComparison, RatedMachine, RatingEstimate, coverage

_SIZES = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))
_TITLES = {
    "towtank": "capacity units (processors, memory, loopback, page cache)",
    "towtank-disk": "disk units (the folder's disk)",
}


def rate_lines(rated: RatedMachine, against: MachineComparison | None) -> list[RenderableType]:
    """Render a rating: its scales, its kernels, the comparison with another machine, and doubts."""
    cpus = rated.measurement.cpus
    shown = ("name", "cpu_model", "kernel", "file_system")
    named = " · ".join(str(rated.facts[key]) for key in shown if key in rated.facts)
    lines: list[RenderableType] = [f"{escape(named)} · {cpus} CPU{'' if cpus == 1 else 's'}"]
    lines += [_ratings(rated), _kernels(rated)]
    if against is not None:
        lines += _against(against)
    for doubt in rated.doubts:
        why, hint = doubt.explanation
        lines.append(f"[bold]{doubt.level}[/bold]: {escape(doubt.message)}")
        lines.append(f"  {escape(why)}\n  hint: {escape(hint)}")
    if rated.invalid_because:
        lines.append(f"not valid: {', '.join(rated.invalid_because)}")
    return lines


def _ratings(rated: RatedMachine) -> Table:
    inside = f"rounds from - to ({100 * coverage(rated.measurement.rounds):.3g} % interval of the median)"
    table = Table("scale", "whole machine", inside, "per CPU", "one CPU alone", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for scale, rating in rated.ratings.items():
        shown, low, high = interval_texts(rating.whole.value, rating.whole.low, rating.whole.high)
        # All CPUs share the disk, so a rating per CPU is shown for the scale `towtank` only.
        per_cpu = _value(rating.whole, rated.measurement.cpus) if scale == "towtank" else ""
        table.add_row(_TITLES[scale], shown, f"{low} - {high}", per_cpu, _value(rating.alone))
    return table


def _value(estimate: RatingEstimate, over: float = 1) -> str:
    return number_estimate(estimate.value / over, estimate.low / over, estimate.high / over)


def _kernels(rated: RatedMachine) -> Table:
    headings = ("kernel", "one CPU alone", "all CPUs", "rounds ±", "to the reference")
    table = Table(*headings, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, kernel in rated.measured.items():
        reference, unit = rated.reference.get(name), rated.unit_of(name)
        table.add_row(
            name,
            _rate(kernel.single, unit),
            _rate(kernel.all, unit),
            f"{100 * kernel.all.half_width:.2g} %",
            "" if reference is None else _value(kernel.single, reference),
        )
    for name, reason in rated.measurement.failed.items():
        table.add_row(name, "not measured", escape(reason))
    return table


def _rate(estimate: RatingEstimate, unit: str) -> str:
    """Render the rate of a kernel with its confidence interval; a rate in bytes/s gets a binary unit."""
    if unit != "bytes/s":
        return number_estimate(estimate.value, estimate.low, estimate.high, unit)
    length, name = next(((length, name) for name, length in _SIZES if estimate.value >= length), (1, "B"))
    return number_estimate(estimate.value / length, estimate.low / length, estimate.high / length, f"{name}/s")


def _against(against: MachineComparison) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for resource, what in (("cpu", "one CPU"), ("disk", "the disk")):
        ratio = against.ratios[resource]
        if isinstance(ratio, str):
            lines.append(f"{what} against {against.machine}: {escape(ratio)}")
            continue
        value, low, high = interval_texts(ratio.value, ratio.low, ratio.high)
        spread = "over the kernels" if ratio.by_kernel else "within the intervals of both ratings"
        lines.append(
            f"{what} does {value} times the work of {'one' if resource == 'cpu' else 'that'} of "
            f"{against.machine}, between {low} and {high} {spread}"
        )
        lines += [f"  {escape(note)}" for note in ratio.notes]
    return lines
