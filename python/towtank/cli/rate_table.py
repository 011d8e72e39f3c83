"""Renders the output of `towtank rate` as text."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from towtank.estimates import interval_texts, number_estimate

Json = dict[str, Any]
_ENDS = ("value", "low", "high")
_SIZES = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))
_TITLES = {
    "towtank": "capacity units (processors, memory, loopback, page cache)",
    "towtank-disk": "disk units (the folder's disk)",
}


def rate_lines(document: Json) -> list[RenderableType]:
    """Render a rating: its scales, its kernels, the comparison with another machine, and doubts."""
    machine = document["machine"]
    cpus = document["cpus"]
    named = " · ".join(str(machine[key]) for key in ("name", "cpu_model", "kernel", "file_system") if key in machine)
    lines: list[RenderableType] = [f"{escape(named)} · {cpus} CPU{'' if cpus == 1 else 's'}"]
    lines += [_ratings(document), _kernels(document)]
    if "against" in document:
        lines += _against(document["against"])
    for doubt in document["doubts"]:
        lines.append(f"[bold]{doubt['level']}[/bold]: {escape(doubt['message'])}")
        lines.append(f"  {escape(doubt['why'])}\n  hint: {escape(doubt['hint'])}")
    if not document["valid"]:
        lines.append(f"not valid: {', '.join(document['invalid_because'])}")
    return lines


def _ratings(document: Json) -> Table:
    inside = f"rounds from - to ({100 * document['coverage']:.3g} % interval of the median)"
    table = Table("scale", "whole machine", inside, "per CPU", "one CPU alone", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for scale, rating in document["ratings"].items():
        whole = rating["whole"]
        shown, low, high = interval_texts(whole["value"], whole["low"], whole["high"])
        # All CPUs share the disk, so a rating per CPU is shown for the scale `towtank` only.
        per_cpu = _value(rating["per_cpu"]) if scale == "towtank" else ""
        table.add_row(
            _TITLES[scale],
            shown,
            f"{low} - {high}",
            per_cpu,
            _value(rating["one_cpu_alone"]),
        )
    return table


def _value(estimate: Json) -> str:
    return number_estimate(estimate["value"], estimate["low"], estimate["high"])


def _kernels(document: Json) -> Table:
    headings = ("kernel", "one CPU alone", "all CPUs", "rounds ±", "to the reference")
    table = Table(*headings, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, kernel in document["kernels"].items():
        whole = kernel["all"]
        reference = kernel["reference"]
        table.add_row(
            name,
            _rate(kernel["single"], kernel["unit"]),
            _rate(whole, kernel["unit"]),
            f"{50 * (whole['high'] - whole['low']) / whole['value']:.2g} %",
            "" if reference is None else _value({end: kernel["single"][end] / reference for end in _ENDS}),
        )
    for name, reason in document["not_measured"].items():
        table.add_row(name, "not measured", escape(reason))
    return table


def _rate(estimate: Json, unit: str) -> str:
    """Render the rate of a kernel with its confidence interval; a rate in bytes/s gets a binary unit."""
    value, low, high = (estimate[end] for end in _ENDS)
    if unit != "bytes/s":
        return number_estimate(value, low, high, unit)
    length, name = next(((length, name) for name, length in _SIZES if value >= length), (1, "B"))
    return number_estimate(value / length, low / length, high / length, f"{name}/s")


def _against(against: Json) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for resource, what in (("cpu", "one CPU"), ("disk", "the disk")):
        ratio = against[resource]
        if "refused" in ratio:
            lines.append(f"{what} against {against['machine']}: {escape(ratio['refused'])}")
            continue
        value, low, high = interval_texts(ratio["value"], ratio["low"], ratio["high"])
        spread = "over the kernels" if ratio["kernels"] else "within the intervals of both ratings"
        lines.append(
            f"{what} does {value} times the work of {'one' if resource == 'cpu' else 'that'} of "
            f"{against['machine']}, between {low} and {high} {spread}"
        )
        lines += [f"  {escape(note)}" for note in ratio["notes"]]
    return lines
