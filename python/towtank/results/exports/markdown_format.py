"""Exports conclusion, results by configuration, objectives, verdicts and claims on one Markdown page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from towtank import claim_words, units
from towtank.conclusion_words import SURER, Conclusion
from towtank.digging import dig
from towtank.estimates import duration_in_words, few_digits, in_words
from towtank.over_runs import shares
from towtank.results.exports import judged
from towtank.results.exports.format import ExportFile, ExportFormat, text_file
from towtank.results.exports.material import Material
from towtank.verdict_words import verdict_words

ABSENT = "–"
NAME = "summary.md"
# Largest number of doubts about runs on the page. The report of the study lists all doubts.
_DOUBTS_AT_MOST = 40
_MARKS = re.compile(r"[\\`*\[\]<>|#~]|(?<!\w)_|_(?!\w)")
# Escaped backquotes around a command, and an escaped letter.
_CODE, _ESCAPE = re.compile(r"\\`((?:(?!\\`).)*)\\`"), re.compile(r"\\(.)")


def _files(material: Material) -> list[ExportFile]:
    return [text_file(NAME, lambda: page(material))]


def page(material: Material) -> str:
    """Render the whole page as Markdown."""
    parts = [_head, _results, _objectives, _verdicts, _claims, _foot]
    return "\n".join(line for part in parts for line in part(material))


def escaped(text: object) -> str:
    """Escape a text so that Markdown displays it unchanged and on one line."""
    return _MARKS.sub(lambda mark: f"\\{mark[0]}", " ".join(str(text).split()))


def _head(material: Material) -> Iterator[str]:
    verdict = material.summary["verdict"]
    counts = [(verdict[f"{level}_runs"], level) for level in ("valid", "suspect", "invalid", "missing")]
    runs = ", ".join(f"{count} {level}" for count, level in counts if count)
    yield f"## {escaped(material.title)}\n"
    yield from _conclusion(material)
    words = verdict_words(verdict["level"], relaxed=dig(verdict, "relaxed_limits"))
    yield f"Verdict: **{words}** (runs: {runs or 'none'})\n"


def _conclusion(material: Material) -> Iterator[str]:
    """Yield the conclusion: statements, parts without an answer, certainty and next steps; the headline without one."""
    concluded = Conclusion.of(material.summary).in_folder(shlex.quote(material.path.resolve().name))
    if not concluded.found:
        yield f"**{escaped(material.summary['headline'])}**\n"
        return
    first, *others = map(_with_code, concluded.found)
    yield f"**Found.** **{first}** {' '.join(others)}".rstrip() + "\n"
    if concluded.open:
        yield f"**Not answered.** {' '.join(map(_with_code, concluded.open))}\n"
    word, meaning = concluded.certainty_parts
    sure = " ".join(filter(None, (f"**{word}**" if word else "", meaning, *map(_with_code, concluded.sure))))
    yield f"**How sure.** {sure}".rstrip() + "\n"
    steps = [*concluded.do, *(f"{SURER}{step}" for step in concluded.measure)]
    if steps:
        yield f"**What to do.** {' '.join(map(_with_code, steps))}\n"


def _with_code(text: str) -> str:
    """Escape a text; its parts between backquotes are code."""
    return _CODE.sub(lambda found: "`" + _ESCAPE.sub(r"\1", found[1]) + "`", escaped(text))


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> Iterator[str]:
    """Yield the lines of a Markdown table. The columns whose indices are in `numbers` are right-aligned."""
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
    """Render the value of an estimate, followed by its interval if it has one."""
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
            values = [
                _estimate(point["throughput_per_s"], few_digits, in_words),
                _estimate(times["mean"], _time, duration_in_words),
                _estimate(times["p95"], _time, duration_in_words),
                ABSENT if share is None else shares((point.get("of_runs") or {}).get("errors_share"), share),
            ]
            counts = any(verdict != "invalid" for verdict in point["verdicts"])
            rows.append(
                [
                    escaped(configuration["label"]),
                    load,
                    *(values if counts else [ABSENT] * len(values)),
                    ", ".join(f"{run} {level}" for run, level in zip(point["runs"], point["verdicts"], strict=False)),
                ]
            )
    columns = ("configuration", "load", "throughput [1/s]", "mean response time", "p95", "failed", "runs")
    yield "### Results\n"
    yield from _table(columns, rows, numbers=(1, 2, 3, 4, 5))


def _time(seconds: float) -> str:
    """Render a time without an interval, with three digits."""
    return units.format_duration(float(f"{seconds:.3g}")) if seconds > 0 else "0 s"


def _objectives(material: Material) -> Iterator[str]:
    found = material.summary["objectives"]
    if not found:
        return
    rows = []
    for objective in found:
        state, doubt = judged.state(objective), judged.doubt(objective)
        at = objective["at"].get("users", objective["at"].get("rate"))
        holds = objective["holds_up_to"]
        rows.append(
            [
                escaped(objective["text"]),
                escaped(objective["label"]),
                ("met" if state == "met" else f"**{state}**") + (f"; {escaped(doubt)}" if doubt else ""),
                ABSENT if objective["seen"] is None else judged.seen(objective),
                f"{at:g}" if isinstance(at, int | float) else ABSENT if at is None else escaped(str(at)),
                "at no load" if holds is None else f"{holds:g}",
            ]
        )
    yield "### Objectives\n"
    yield from _table(
        ("objective", "configuration", "", "worst seen", "at load", "holds up to"), rows, numbers=(3, 4, 5)
    )


def _doubt(run: str, doubt: Mapping[str, Any]) -> str:
    hint = escaped(doubt.get("hint") or "")
    return f"- {escaped(run)} **{doubt['level']}**: {escaped(doubt['message'])}{f' (hint: {hint})' if hint else ''}"


def _verdicts(material: Material) -> Iterator[str]:
    doubts = [
        _doubt(run.name, reason)
        for run in material.runs
        for reason in run.summary["verdict"]["reasons"]
        if reason["level"] != "note"
    ]
    # Of the notes, only those that the verdict on the study contains are shown.
    doubts += [
        f"- **note**: {escaped(dig(reason, 'message'))}"
        for reason in dig(material.summary, "verdict", "reasons") or ()
        if dig(reason, "level") == "note" and dig(reason, "message")
    ]
    doubts += [f"- {escaped(run.run)} **missing**: this run of the design has no results." for run in material.missing]
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
            escaped(claim["says"]),
            escaped(claim["source"]),
            escaped(claim_words.measured(claim)),
            escaped(claim["holds"]),
            _bold_head(escaped(claim_words.answer(claim))),
        ]
        for claim in found
    ]
    yield "### Claims\n"
    yield from _table(("expected", "source", "found here", "must be", "answer"), rows)


def _bold_head(answer: str) -> str:
    """Render an answer with its first words, which state the verdict, in bold."""
    return re.sub(r"^[\w ]+", lambda head: f"**{head[0]}**", answer)


def _foot(material: Material) -> Iterator[str]:
    yield "Intervals in brackets are 95 % confidence intervals. Response times are counted from the planned start."
    yield f"Towtank {escaped(material.version)}, {escaped(material.path.resolve().name)}.\n"


FORMAT = ExportFormat("markdown", "conclusion, results by configuration, objectives, verdicts and claims", _files)
