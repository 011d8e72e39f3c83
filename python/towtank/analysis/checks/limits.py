"""Checks of limits of the kernel: whether a tier ran out of open files, or of processes and threads."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, Kind, Level

# A sample may miss the instant at which a limit was reached, so a value this close to the limit counts as reached.
EXHAUSTED_SHARE = 0.95
_WORDS = {"open_files": "file descriptors", "threads": "processes and threads"}


def exhausted(evidence: Evidence) -> Iterator[Doubt]:
    """Whether a tier reached its limit of open files, or of processes and threads."""
    for name, tier in evidence.summary["tiers"].items():
        for resource, words in _WORDS.items():
            most, limit = tier["limits"][resource]["most"], tier["limits"][resource]["limit"]
            if most is None or not limit or most < EXHAUSTED_SHARE * limit:
                continue
            text = f"{name} ran out of {words}: {min(most, limit):,.0f} in use, its limit is {limit:,.0f}"
            yield Doubt(Kind.TIER_LIMIT, Level.SUSPECT, text, most, limit)


def is_known(evidence: Evidence) -> bool:
    """Whether the open files of any tier, and their limit, were recorded."""
    recorded = [tier["limits"]["open_files"] for tier in evidence.summary["tiers"].values()]
    return any(None not in (open_files["most"], open_files["limit"]) for open_files in recorded)
