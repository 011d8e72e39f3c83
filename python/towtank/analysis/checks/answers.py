"""Checks the status codes of successful responses. Redirects are doubtful if the workload does not expect them. Status
304 is doubtful if the request had no condition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel, percent_text
from towtank.analysis.load import Step, Transaction

REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
"""Status codes of redirects (RFC 9110, section 15.4)."""
# A share of redirects in all responses above this value raises a doubt, in [0, 1].
REDIRECTS_SHARE = 0.5


NOT_MODIFIED = 304
"""Status code of a response without content; it states that the condition of a conditional request is false (RFC 9110,
section 15.4.5).
"""


@dataclass(frozen=True)
class _Unexpected:
    """Status codes that the workload does not expect, and the kind of the doubt that they raise. Requests whose names
    are in `expected` raise no doubt. The message contains a name for these responses, and why they are unexpected.
    """

    codes: frozenset[int]
    expected: frozenset[str]
    noun: str
    reason: str
    kind: DoubtKind


def redirected(evidence: Evidence) -> Iterator[Doubt]:
    """Check that at most half of all responses are unexpected redirects, and that no transaction receives only such
    redirects.

    Notes
    -----
    A request expects a redirect if its check accepts redirects, or if its header Location is extracted. Recordings of
    older versions of Towtank do not count status codes, so they are not checked.
    """
    expected, reason = evidence.redirects_expected, "which no check expects"
    yield from _doubts(evidence, _Unexpected(REDIRECTS, expected, "redirects", reason, DoubtKind.REDIRECTS))


def not_modified(evidence: Evidence) -> Iterator[Doubt]:
    """Check that at most half of all responses have status 304 although the request had no condition, and that no
    transaction receives only such responses.

    Notes
    -----
    A request expects status 304 if it has a header with a condition, or if its check accepts this status [1]_. Runs
    without a plan are not checked.

    References
    ----------
    .. [1] RFC 9110, "HTTP Semantics", 2022, sections 13.1 and 15.4.5.
    """
    reason = "but their requests have no condition"
    codes, expected = frozenset({NOT_MODIFIED}), evidence.not_modified_expected
    yield from _doubts(evidence, _Unexpected(codes, expected, "without content", reason, DoubtKind.NOT_MODIFIED))


def _doubts(evidence: Evidence, unexpected: _Unexpected) -> Iterator[Doubt]:
    steps = evidence.summary.steps
    found, answers = _count(steps, unexpected), _answers(steps.values())
    if found.total() > REDIRECTS_SHARE * answers:
        share = found.total() / answers
        text = f"{_all_or_some(found.total(), answers)} {_words(found, unexpected)}"
        yield Doubt(unexpected.kind, DoubtLevel.SUSPECT, text, share, REDIRECTS_SHARE)
        return
    for name, transaction in evidence.summary.transactions.items():
        own = {step: steps[step] for step in evidence.steps_by_transaction.get(name, ()) if step in steps}
        found, answers = _count(own, unexpected), _answers([transaction])
        if answers and found.total() == answers:
            text = f"all {answers:,} responses of {name} are {_words(found, unexpected)}"
            yield Doubt(unexpected.kind, DoubtLevel.NOTE, text, 1.0, 1.0)


def _words(found: Counter[str], unexpected: _Unexpected) -> str:
    return f"{unexpected.noun} ({_codes(found)}), {unexpected.reason}"


def _answers(parts: Iterable[Step | Transaction]) -> int:
    return sum(sum((part.status_codes or {}).values()) for part in parts)


def _count(steps: Mapping[str, Step], unexpected: _Unexpected) -> Counter[str]:
    """Return the number of unexpected responses by status code."""
    found: Counter[str] = Counter()
    for name, step in steps.items():
        if name not in unexpected.expected:
            counts = (step.status_codes or {}).items()
            found.update({code: count for code, count in counts if int(code) in unexpected.codes})
    return found


def _all_or_some(count: int, answers: int) -> str:
    if count == answers:
        return f"all {answers:,} responses are"
    return f"{count:,} of {answers:,} responses ({percent_text(count / answers)}) are"


def _codes(found: Counter[str]) -> str:
    if len(found) == 1:
        return f"status {next(iter(found))}"
    return ", ".join(f"{count:,} with status {code}" for code, count in found.most_common())
