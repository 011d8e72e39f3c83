"""Checks measurements against two laws before a fit. If the measurements contradict a law, a counter is wrong.

    N = X (R + Z),        U = X D for every tier

Here N is the number of users, X the throughput, R the response time, Z the think time, U the utilization and D the
service demand. Both laws hold for any system, whatever its distributions [1]_. Measurements that contradict a law are
not modelled; the message names the counter whose error explains the contradiction best.

References
----------
.. [1] P. J. Denning and J. P. Buzen, "The operational analysis of queueing network models", ACM Computing Surveys
    10(3), 225-261, 1978, doi:10.1145/356733.356735.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from towtank.estimates import few_digits
from towtank.model.fitting.observations import Floats, Observations

LIMIT = 0.05
"""Largest relative difference between the two sides of Little's law (the residual) that is accepted; the same limit
as in the analysis of single runs. [ratio]
"""
UNKNOWN = "users, throughput, response time or think time"
# Values of several runs agree if none deviates from the median by more than this share. [ratio]
_AGREE = 0.10
# Smallest deviation of a tier's demand at one load level from its demand at the other levels that indicates a wrong CPU
# counter: as a share of the demand [ratio], and in standard deviations [1]. Real demands vary less.
_DEMAND_OFF, _DEMAND_DEVIATIONS = 0.25, 8.0
# Largest deviation that may be the background work of an idle server, as a share of the busiest tier's CPU use. It is
# not reported as a wrong counter. [ratio]
_BACKGROUND = 0.02
_UNITS = (
    ("response time", "response_s", 1 / 1000, "in milliseconds"),
    ("response time", "response_s", 60.0, "in minutes"),
    ("response time", "response_s", 3600.0, "in hours"),
    ("response time", "response_s", 1e-6, "in microseconds"),
    ("throughput", "throughput", 1 / 60, "per minute"),
    ("throughput", "throughput", 1 / 3600, "per hour"),
    ("throughput", "throughput", 1000.0, "per millisecond"),
    ("think time", "think_s", 1 / 1000, "in milliseconds"),
    ("think time", "think_s", 60.0, "in minutes"),
)
"""Units in which values are often recorded by mistake: counter, attribute, conversion factor to the expected unit, and
name of the mistaken unit.
"""
# A mistaken unit is reported only if it explains at least this share of the runs that violate Little's law. [ratio]
_MOST = 0.8
# Residual of Little's law above which the cause must be a mistaken unit, since no counting error is so large. [ratio]
_FAR_OFF = 5.0


@dataclass(frozen=True)
class Quantities:
    """Measured quantities of one run to which the operational laws are applied: users of the plan and measured users
    [1], throughput [1/s], response and think time [s], and CPUs used by each tier [1]. `limit` is the largest residual
    that requests in progress at the edges of the window can cause [ratio]. `drifting` are tiers whose demand changed
    within the run, each with its residual and the limit of the residual. Without `is_timed`, too many transactions have
    no response time, and the run is left out of the checks of Little's law.
    """

    name: str
    users: float
    throughput: float
    response_s: float
    think_s: float
    users_asked: float | None = None
    limit: float = LIMIT
    cpus: dict[str, float] = field(default_factory=dict)
    drifting: dict[str, tuple[float, float]] = field(default_factory=dict)
    is_timed: bool = True

    @property
    def factor(self) -> float:
        """Ratio N / (X (R + Z)) of the measured users to the users that Little's law predicts; 1 if the law holds.
        [ratio]
        """
        return self.users / (self.throughput * (self.response_s + self.think_s))


@dataclass(frozen=True)
class Finding:
    """Result of checking one operational law on one run.

    Attributes
    ----------
    law : str
        `N = X (R + Z)` or `U = X D`.
    suspect : str
        The counter that explains the residual best; empty if the law holds.
    """

    name: str
    law: str
    residual: float
    limit: float
    suspect: str = ""
    message: str = ""

    def document(self) -> dict[str, object]:
        """Return the result of this check as a JSON object: point, law, residual, limit and suspected counter."""
        return {
            "point": self.name,
            "law": self.law,
            "residual": self.residual,
            "limit": self.limit,
            "holds": not self.suspect,
            "suspect": self.suspect or None,
            "message": self.message,
        }


def audit(runs: Sequence[Quantities]) -> list[Finding]:
    """Check both operational laws on every run of a configuration. Little's law requires response times."""
    findings = []
    for run in runs:
        peers = [other for other in runs if other is not run]
        if run.is_timed:
            findings.append(_little(run, [peer for peer in peers if peer.is_timed]))
        findings += [_drift(run, tier, *numbers) for tier, numbers in run.drifting.items()]
        findings += _demands(run, peers)
    return findings


def audit_points(points: Observations) -> list[Finding]:
    """Check Little's law on points with response times. The load of a point is taken as its number of users."""
    if points.response is None:
        return []
    rows = zip(points.names, points.load, points.throughput, points.response, points.think_s(), strict=True)
    return audit(
        [
            Quantities(name, float(users), float(rate), float(response), float(think))
            for name, users, rate, response, think in rows
        ]
    )


def _little(run: Quantities, peers: list[Quantities]) -> Finding:
    residual = _residual(run)
    law = "N = X (R + Z)"
    if residual <= run.limit:
        return Finding(run.name, law, residual, run.limit)
    suspect, why = _unit(run, peers) or _suspect(run, peers)
    message = (
        f"{run.name}: N = X (R + Z) is off by {few_digits(100 * residual)} %, limit {few_digits(100 * run.limit)} % "
        f"(N = {few_digits(run.users, 4)}, X = {few_digits(run.throughput, 4)}/s, R = {run.response_s:.4g} s, "
        f"Z = {run.think_s:.4g} s): "
        f"suspect is {suspect}; {why}"
    )
    return Finding(run.name, law, residual, run.limit, suspect, message)


def _suspect(run: Quantities, peers: list[Quantities]) -> tuple[str, str]:
    """Return the counter whose error explains best why Little's law is violated, and the reason."""
    if run.users_asked and abs(run.users / run.users_asked - 1) > run.limit:
        return "users", f"{run.users_asked:g} were requested and {few_digits(run.users, 4)} counted"
    good = [peer for peer in peers if abs(1 / peer.factor - 1) <= peer.limit]
    if not good:
        return _common(run, peers)
    think = float(np.median([peer.think_s for peer in good]))
    holds_with = abs(run.users - run.throughput * (run.response_s + think)) / run.users
    if abs(run.think_s - think) > run.limit * max(think, run.response_s) and holds_with <= run.limit:
        return "think time", f"the law holds with the {think:.3g} s of the other runs"
    if _demand_says_throughput(run, good):
        return "throughput", "CPU time per transaction is off by the same factor as the law"
    needed = run.users / run.throughput - run.think_s
    cycle = float(np.median([peer.users / peer.throughput for peer in good]))
    if needed > 0 and run.users / run.throughput >= cycle * (1 - _AGREE):
        return "response time", f"the law holds with {needed:.4g} s, and no other counter stands out"
    return UNKNOWN, "the other runs do not show which counter is wrong"


def _unit(run: Quantities, peers: list[Quantities]) -> tuple[str, str] | None:
    """Return the counter that was recorded in a mistaken unit, and the reason; None if no mistaken unit explains the
    residual of Little's law.
    """
    wrong = [each for each in (run, *peers) if _residual(each) > each.limit]
    for counter, attribute, factor, unit in _UNITS:
        changed = {id(each): replace(each, **{attribute: getattr(each, attribute) * factor}) for each in wrong}
        held = [each for each in wrong if _is_explained(each, changed[id(each)], attribute)]
        if any(each is run for each in held) and len(held) >= _MOST * len(wrong):
            return counter, f"the law holds if this value was recorded {unit}: convert it to the unit of the column"
    return None


def _residual(run: Quantities) -> float:
    """Return the relative residual of Little's law for a run. [ratio]"""
    return abs(run.users - run.throughput * (run.response_s + run.think_s)) / run.users


def _is_explained(run: Quantities, changed: Quantities, attribute: str) -> bool:
    """Return True if Little's law holds once the unit of a counter is converted.

    The converted value must have an influence on Little's law, unless the residual was very large.
    """
    if _residual(changed) > changed.limit:
        return False
    value = changed.users if attribute == "throughput" else changed.throughput * getattr(changed, attribute)
    return value > changed.limit * changed.users or _residual(run) > _FAR_OFF


def _demand_says_throughput(run: Quantities, good: list[Quantities]) -> bool:
    """Return True if a wrong throughput explains why Little's law is violated.

    The throughput enters `run.factor` as well as the CPU time per transaction. If the throughput is wrong, the CPU time
    per transaction therefore deviates from that of other runs by the ratio `run.factor`.
    """
    ratios = []
    for tier, used in run.cpus.items():
        known = [peer.cpus[tier] / peer.throughput for peer in good if peer.cpus.get(tier)]
        if known and used > 0:
            ratios.append(used / run.throughput / float(np.median(known)))
    return bool(ratios) and abs(float(np.median(ratios)) / run.factor - 1) <= _AGREE


def _common(run: Quantities, peers: list[Quantities]) -> tuple[str, str]:
    """Return the counter error that may explain why all runs violate Little's law, and the reason."""
    runs = [run, *peers]
    if len(runs) < 2:
        return UNKNOWN, "a single run does not show which counter is wrong"
    factors = np.array([member.factor for member in runs])
    missing = np.array([member.users / member.throughput - member.response_s - member.think_s for member in runs])
    if _spread(factors) <= min(_AGREE, _spread(missing)):
        return "users or throughput", f"every run is off by the same factor of {np.median(factors):.3g}"
    possible = all(member.think_s + gap >= 0 for member, gap in zip(runs, missing, strict=True))
    if _spread(missing) <= _AGREE and possible:
        return "think time", f"R + Z is off by the same {np.median(missing):.3g} s in every run"
    return UNKNOWN, "no single error explains all runs"


def _spread(values: Floats) -> float:
    middle = float(np.median(values))
    return float(np.max(np.abs(values - middle)) / abs(middle)) if middle else float("inf")


def _drift(run: Quantities, tier: str, residual: float, limit: float) -> Finding:
    message = (
        f"{run.name}: U = X D of {tier} is off by {few_digits(100 * residual)} % between the halves of the run, limit "
        f"{100 * limit:.3g} %: suspect is CPU of tier {tier}, or its demand changed while it was measured"
    )
    return Finding(run.name, "U = X D", residual, limit, f"CPU of tier {tier}", message)


def _demands(run: Quantities, peers: list[Quantities]) -> list[Finding]:
    """Return a finding for each tier of a run whose CPU time per transaction deviates from the median of the other
    runs.
    """
    found = []
    for tier, used in run.cpus.items():
        others = [peer.cpus[tier] / peer.throughput for peer in peers if peer.cpus.get(tier)]
        if len(others) < 3 or used <= 0:
            continue
        middle = float(np.median(others))
        spread = max(1.4826 * float(np.median(np.abs(np.array(others) - middle))), 0.01 * middle)
        residual = abs(used / run.throughput - middle) / middle
        limit = max(_DEMAND_OFF, _DEMAND_DEVIATIONS * spread / middle)
        apart = abs(used - middle * run.throughput) / max(run.cpus.values())
        if residual > limit and apart > _BACKGROUND and not _at_an_end(run, peers, tier):
            message = (
                f"{run.name}: U = X D of {tier} is off by {few_digits(100 * residual)} % from the other runs, limit "
                f"{100 * limit:.3g} %: suspect is CPU of tier {tier}"
            )
            found.append(Finding(run.name, "U = X D", residual, limit, f"CPU of tier {tier}", message))
    return found


def _at_an_end(run: Quantities, peers: list[Quantities], tier: str) -> bool:
    """Return True if the run has the lowest or the highest throughput of all runs, where background work or contention
    may change the demand.
    """
    rates = [peer.throughput for peer in peers if peer.cpus.get(tier)]
    return not min(rates) < run.throughput < max(rates)
