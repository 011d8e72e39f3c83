"""Checks whether the records of a run agree with each other, with the operational laws, with physical bounds and with
the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from towtank.analysis.audit import check
from towtank.analysis.bounds import FEWER_USERS
from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel, percent_text
from towtank.estimates import few_digits

_AUDITED = {
    DoubtKind.MIX_OFF: (check.MIX, check.SHARES),
    DoubtKind.THINK_TIME_OFF: (check.THINK,),
    DoubtKind.ARRIVALS_OFF: (check.NUMBER, check.GAPS, check.SECONDS),
}
_PLURAL = (check.SHARES, check.GAPS, check.SECONDS)


def accounting(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the counts of offered, started and ended requests add up."""
    if evidence.summary.accounting is not None and not evidence.summary.accounting.holds:
        yield Doubt(
            DoubtKind.ACCOUNTING, DoubtLevel.INVALID, "the numbers of offered, started and ended requests do not add up"
        )


def counted_twice(evidence: Evidence) -> Iterator[Doubt]:
    """Check that the request counts of all intervals add up to the total that the engine reports."""
    accounting = evidence.summary.accounting
    recorded = None if accounting is None else accounting.recorded
    if recorded is not None and recorded.intervals != recorded.engine:
        text = (
            f"the intervals contain {recorded.intervals:,} ended requests, but the engine counted {recorded.engine:,}"
        )
        yield Doubt(DoubtKind.ACCOUNTING, DoubtLevel.INVALID, text, float(recorded.intervals), float(recorded.engine))


def physics(evidence: Evidence) -> Iterator[Doubt]:
    """Check that no measured value violates a physical bound."""
    for bound in evidence.summary.bounds:
        if not bound.holds:
            level = DoubtLevel.SUSPECT if bound.bound == FEWER_USERS else DoubtLevel.INVALID
            yield Doubt(DoubtKind.PHYSICAL_BOUND, level, bound.text, bound.seen, bound.limit, bound.unit)


def little(evidence: Evidence) -> Iterator[Doubt]:
    """Check Little's law for the users of a closed load."""
    law = evidence.summary.laws.little
    if law is not None and law.residual is not None and law.holds is False:
        cycles, (low, high) = law.x_per_s * (law.r_s + law.z_s), law.unfinished or (0.0, 0.0)
        text = (
            f"N = {few_digits(law.n, 4)} users, but X (R + Z) = {few_digits(cycles, 4)}, or "
            f"{few_digits(cycles + low, 4)} to {few_digits(cycles + high, 4)} with the transactions in progress at "
            f"both ends of the window: residual {percent_text(law.residual)}, limit {percent_text(law.limit)}"
        )
        yield Doubt(DoubtKind.LITTLE_LAW, DoubtLevel.SUSPECT, text, law.residual, law.limit)


def utilization(evidence: Evidence) -> Iterator[Doubt]:
    """Check the utilization law, U = X D, of each tier."""
    for law in evidence.summary.laws.utilization:
        if law.holds is False:
            text = (
                f"{law.tier} used {law.u:.3g} CPUs, but throughput × demand is {law.x_per_s * law.d_s:.3g}: residual "
                f"{percent_text(law.residual)}, limit {percent_text(law.limit)}"
            )
            yield Doubt(DoubtKind.UTILIZATION_LAW, DoubtLevel.SUSPECT, text, law.residual, law.limit)


def audited(evidence: Evidence) -> Iterator[Doubt]:
    """Check that mix, pauses and arrivals have the planned distributions. The audit has tested this."""
    found = evidence.summary.audit
    for kind, names in _AUDITED.items():
        tests = () if found is None else found.tests
        bad = [test for test in tests if test.verdict == "suspect" and test.test in names]
        if found is not None and bad:
            worst = min(bad, key=lambda test: test.p_value)
            others = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
            text = f"{_about(worst)} not as requested{others}: p = {worst.p_value:.2g}"
            text += f" by {worst.method}, n = {worst.n}"
            yield Doubt(kind, DoubtLevel.SUSPECT, text, worst.p_value, found.level)


def _about(test: check.AuditTest) -> str:
    where = "".join(f" of {place}" for place in (test.group, test.stage) if place)
    return f"{test.test}{where} {'are' if test.test in _PLURAL else 'is'}"
