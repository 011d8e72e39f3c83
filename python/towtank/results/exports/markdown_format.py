"""`markdown`: headline, results by configuration, objectives, verdicts and claims on one page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from towtank import units
from towtank.estimates import duration_in_words, in_words
from towtank.results.exports import judged, tested
from towtank.results.exports.format import File, Format, text_file
from towtank.results.exports.material import Material

ABSENT = "–"
NAME = "summary.md"
# A page that nobody scrolls through says no more with the hundredth doubt than with the first.
_DOUBTS_AT_MOST = 40
_MARKS = re.compile(r"[\\`*\[\]<>|#~]|(?<!\w)_|_(?!\w)")


def _files(material: Material) -> list[File]:
    return [text_file(NAME, lambda: page(material))]


def page(material: Material) -> str:
    """The whole page."""
    parts = [_head, _results, _objectives, _verdicts, _claims, _foot]
    return "\n".join(line for part in parts for line in part(material))


def escaped(text: object) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _MARKS.sub(lambda mark: f"\\{mark[0]}", " ".join(str(text).split()))


def _head(material: Material) -> Iterator[str]:
    verdict = material.summary["verdict"]
    counts = [(verdict[f"{level}_runs"], level) for level in ("valid", "suspect", "invalid", "missing")]
    runs = ", ".join(f"{count} {level}" for count, level in counts if count)
    yield f"## {escaped(material.title)}\n"
    yield f"**{escaped(material.summary['headline'])}**\n"
    yield f"Verdict: **{verdict['level']}** (runs: {runs or 'none'})\n"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> Iterator[str]:
    """A table; columns of `numbers` are set to the right."""
    yield f"| {' | '.join(columns)} |"
    yield f"|{'|'.join(' ---: ' if place in numbers else ' --- ' for place in range(len(columns)))}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _estimate(
    estimate: Mapping[str, Any] | None,
    form: Callable[[float], str],
    with_interval: Callable[[float, float, float], str],
) -> str:
    """Value with its interval, where there is one."""
    value, low, high = ((estimate or {}).get(key) for key in ("value", "low", "high"))
    if value is None:
        return ABSENT
    return form(value) if low is None or high is None else with_interval(value, low, high)


def _results(material: Material) -> Iterator[str]:
    rows = []
    for configuration in material.summary["configurations"]:
        for point in configuration["points"]:
            times = point["response_time_s"]
            load = units.format_rate(point["rate"]) if "rate" in point else f"{point['load']:g} users"
            share = point.get("errors_share")
            rows.append(
                [
                    escaped(configuration["label"]),
                    load,
                    _estimate(point["throughput_per_s"], _digits, in_words),
                    _estimate(times["mean"], _time, duration_in_words),
                    _estimate(times["p95"], _time, duration_in_words),
                    ABSENT if share is None else f"{100 * share:.3g} %",
                    ", ".join(f"{run} {level}" for run, level in zip(point["runs"], point["verdicts"], strict=False)),
                ]
            )
    columns = ("configuration", "load", "throughput [1/s]", "mean response time", "p95", "failed", "runs")
    yield "### Results\n"
    yield from _table(columns, rows, numbers=(1, 2, 3, 4, 5))


def _time(seconds: float) -> str:
    """Render a time without an interval with three digits."""
    return units.format_duration(float(f"{seconds:.3g}")) if seconds > 0 else "0 s"


def _digits(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _objectives(material: Material) -> Iterator[str]:
    found = material.summary["objectives"]
    if not found:
        return
    rows = []
    for one in found:
        state = judged.state(one)
        at = one["at"].get("users", one["at"].get("rate"))
        holds = one["holds_up_to"]
        rows.append(
            [
                escaped(one["text"]),
                escaped(one["label"]),
                "met" if state == "met" else f"**{state}**",
                ABSENT if one["seen"] is None else judged.seen(one),
                ABSENT if at is None else f"{at:g}",
                "at no load" if holds is None else f"{holds:g}",
            ]
        )
    yield "### Objectives\n"
    yield from _table(
        ("objective", "configuration", "", "worst seen", "at load", "holds up to"), rows, numbers=(3, 4, 5)
    )


def _doubt(run: str, one: Mapping[str, Any]) -> str:
    hint = escaped(one.get("hint") or "")
    return f"- {escaped(run)} **{one['level']}**: {escaped(one['message'])}{f' (hint: {hint})' if hint else ''}"


def _verdicts(material: Material) -> Iterator[str]:
    doubts = [
        _doubt(run.name, one)
        for run in material.runs
        for one in run.summary["verdict"]["reasons"]
        if one["level"] != "note"
    ]
    doubts += [f"- {escaped(one['run'])} **missing**: the run of the design is not there." for one in material.missing]
    if not doubts:
        return
    yield "### Doubts\n"
    yield from doubts[:_DOUBTS_AT_MOST]
    if len(doubts) > _DOUBTS_AT_MOST:
        yield f"- and {len(doubts) - _DOUBTS_AT_MOST} more: see the report"
    yield ""


def _claims(material: Material) -> Iterator[str]:
    found = material.claims.get("claims") or ()
    if not found:
        return
    rows = [
        [
            escaped(one["says"]),
            escaped(one["source"]),
            escaped(tested.measured(one)),
            escaped(one["holds"]),
            f"**{tested.WORDS[one['verdict']]}**" + (f": {escaped(one['why'])}" if one["why"] else ""),
        ]
        for one in found
    ]
    yield "### Claims\n"
    yield from _table(("claim", "source", "measured here", "must be", ""), rows)


def _foot(material: Material) -> Iterator[str]:
    yield "Intervals in brackets are 95 % confidence intervals. Response times count from the intended start."
    yield f"Towtank {escaped(material.version)}, {escaped(material.path.resolve().name)}.\n"


FORMAT = Format("markdown", "headline, results by configuration, objectives, verdicts and claims", _files)
