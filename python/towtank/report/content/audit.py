"""Builds the section on the audit of the load, which compares requested with observed values in each run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank.analysis import Audit, AuditTest
from towtank.report import format as people
from towtank.report.content.headline import nothing
from towtank.report.document import Block, Section, Table, headings, paragraph
from towtank.report.source import Results

# Largest number of transaction shares in a table cell; the run summary contains all shares. [1]
_SHARES_SHOWN = 3
_OF_SHARES = ("mix", "group shares")


def build(results: Results) -> Section:
    """Build the section on the audit of the load, with its tests, and reasons why other tests were impossible."""
    found = [(run.run_id, one) for run in results.measured if (one := run.record.audit) is not None]
    rows = tuple(_row(run, test) for run, audit in found for test in audit.tests)
    left = _untested(found)
    if not rows:
        text = f"The load was not audited: {left}." if left else None
        return Section("audit", "Audit of the load", (paragraph(text) if text else nothing("An audit of the load"),))
    columns = headings("Run", "Test", "Of", "Asked", "Seen", "Method", "#Statistic", "#n", "#p", "Verdict")
    notes = (
        "p is the probability of a deviation of at least this size if the load is exactly as requested. At most "
        f"{people.share(found[0][1].family_level)} of all runs are suspect by chance.",
    )
    blocks: list[Block] = [paragraph(sentence(results)), Table("Requested and observed values", columns, rows, notes)]
    if left:
        blocks.append(paragraph(f"Not tested: {left}."))
    return Section("audit", "Audit of the load", tuple(blocks))


def sentence(results: Results) -> str:
    """Return sentences about the number of tests of the load, and of failed tests."""
    tests = [test for run in results.measured if run.record.audit is not None for test in run.record.audit.tests]
    bad = sum(test.verdict == "suspect" for test in tests)
    made = people.plural(len(tests), "test")
    text = "The tests compare the mix, pauses and arrivals that began in the steady window with the requested ones. "
    if not bad:
        return text + f"None of {made} gives reason for doubt."
    return text + f"{bad} of {made} {'shows' if bad == 1 else 'show'} a load that differs from the requested load."


def _row(run: str, test: AuditTest) -> tuple[str, ...]:
    shown = _parts(test) if test.test in _OF_SHARES else []
    return (
        run,
        test.test,
        ", ".join(place for place in (test.group, test.stage) if place) or "all",
        _values(test.asked, shown),
        _values(test.seen, shown),
        test.method,
        people.number(test.statistic),
        people.count(test.n),
        probability(test.p_value),
        test.verdict,
    )


def _parts(test: AuditTest) -> list[str]:
    """Return the transactions whose observed shares in the mix differ most from the requested shares."""
    distances = {name: abs(_number(test.seen.get(name)) - _number(share)) for name, share in test.asked.items()}
    return sorted(distances, key=lambda name: -distances[name])[:_SHARES_SHOWN]


def _number(share: object) -> float:
    return float(share) if isinstance(share, int | float) else 0.0


def _values(values: Mapping[str, object], shown: list[str]) -> str:
    if shown:
        return ", ".join(f"{name} {people.share(values.get(name))}" for name in shown)
    words = [_value(name, value) for name, value in values.items()]
    return ", ".join(words) or people.ABSENT


def _value(name: str, value: Any) -> str:
    if name == "dist":
        return str(value)
    if name == "rate_per_s":
        return people.rate(value)
    label = {"mean_s": "mean", "sd_s": "deviation", "min_s": "from", "max_s": "to"}.get(name, name)
    return f"{label} {people.seconds(value) if name.endswith('_s') else people.number(value)}"


def probability(value: Any) -> str:
    """Format a p-value with two digits; a very small p-value as `< 1e-12`."""
    if not isinstance(value, (int, float)):
        return people.ABSENT
    return "< 1e-12" if value < 1e-12 else f"{value:.2g}"


def _untested(found: list[tuple[str, Audit]]) -> str:
    reasons: dict[str, list[str]] = {}
    for run, audit in found:
        for untested in audit.untested:
            what = "anything" if untested.test == "all" else untested.test
            where = "".join(f" of {place}" for place in (untested.group, untested.stage) if place)
            runs = reasons.setdefault(f"{what}{where}, because {untested.why}", [])
            if run not in runs:
                runs.append(run)
    every = len(found)
    return "; ".join(text if len(runs) == every else f"{text} ({', '.join(runs)})" for text, runs in reasons.items())
