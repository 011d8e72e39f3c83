"""Checks the status codes of successful responses for redirects that the workload does not expect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel, percent_text

REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
"""Status codes of redirects (RFC 9110, section 15.4)."""
# Share of redirects in all responses above which most of the throughput consists of redirects.
REDIRECTS_SHARE = 0.5


def redirected(evidence: Evidence) -> Iterator[Doubt]:
    """Check that unexpected redirects are not the majority of all responses, and that no transaction receives only
    such redirects.

    Notes
    -----
    A request expects a redirect if its check accepts redirects or if the header Location is extracted. Recordings of
    older versions of Towtank have no counts by status code, so they are not checked.
    """
    steps = evidence.summary["steps"]
    found = _redirects(steps, evidence)
    answers = sum(sum((step["status_codes"] or {}).values()) for step in steps.values())
    if found.total() > REDIRECTS_SHARE * answers:
        share = found.total() / answers
        text = f"{_all_or_some(found.total(), answers)} redirects ({_codes(found)}), which no check expects"
        yield Doubt(DoubtKind.REDIRECTS, DoubtLevel.SUSPECT, text, share, REDIRECTS_SHARE)
        return
    for name, transaction in evidence.summary["transactions"].items():
        own = {step: steps[step] for step in evidence.steps_by_transaction.get(name, ()) if step in steps}
        found, answers = _redirects(own, evidence), sum((transaction["status_codes"] or {}).values())
        if answers and found.total() == answers:
            text = f"all {answers:,} responses of {name} are redirects ({_codes(found)}), which no check expects"
            yield Doubt(DoubtKind.REDIRECTS, DoubtLevel.NOTE, text, 1.0, 1.0)


def _redirects(steps: dict[str, Any], evidence: Evidence) -> Counter[str]:
    """Return, for each status code, the number of redirects that no check of the workload expects."""
    found: Counter[str] = Counter()
    for name, step in steps.items():
        if name not in evidence.redirects_expected:
            counts = (step["status_codes"] or {}).items()
            found.update({code: count for code, count in counts if int(code) in REDIRECTS})
    return found


def _all_or_some(count: int, answers: int) -> str:
    if count == answers:
        return f"all {answers:,} responses are"
    return f"{count:,} of {answers:,} responses ({percent_text(count / answers)}) are"


def _codes(found: Counter[str]) -> str:
    if len(found) == 1:
        return f"status {next(iter(found))}"
    return ", ".join(f"{count:,} with status {code}" for code, count in found.most_common())
