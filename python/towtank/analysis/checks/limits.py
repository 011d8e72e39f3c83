"""Checks that no tier reached a kernel limit: open files, processes and threads, or local ports."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel
from towtank.analysis.system.entries import LimitUse, PortUse, TierUse
from towtank.analysis.system.limits import EXHAUSTED_SHARE

# Kind of a tier that is a relay, a process of Towtank that forwards the load. For relays, unknown kernel limits are not
# reported.
_RELAY = "relay"


def _resources(tier: TierUse) -> Iterator[tuple[str, LimitUse | PortUse]]:
    """Yield the name of each limited resource for messages, and its use."""
    yield "file descriptors", tier.limits.open_files
    yield "processes and threads", tier.limits.threads
    yield "processes and threads of its control group", tier.limits.control_group
    yield "local ports", tier.limits.ports


def exhausted(evidence: Evidence) -> Iterator[Doubt]:
    """Check that no tier used up a resource that the kernel limits."""
    networks: dict[tuple[str | None, float, float], list[str]] = {}
    for name, tier in evidence.summary.tiers.items():
        for words, found in _resources(tier):
            most, limit = found.most, found.limit
            if most is None or not limit or most < EXHAUSTED_SHARE * limit:
                continue
            if isinstance(found, PortUse):
                networks.setdefault((found.towards, most, limit), []).append(name)
            else:
                yield _doubt(f"{name} ran out of {words}", most, limit)
    # Tiers in the same network share its local ports. A single doubt names all these tiers.
    for (towards, most, limit), names in networks.items():
        where = names[0] if len(names) == 1 else f"the network of {' and '.join(names)}"
        yield _doubt(f"{where} ran out of local ports towards {towards}", most, limit)


def _doubt(what: str, most: float, limit: float) -> Doubt:
    text = f"{what}: {min(most, limit):,.0f} in use, its limit is {limit:,.0f}"
    return Doubt(DoubtKind.TIER_LIMIT, DoubtLevel.SUSPECT, text, most, limit)


def unknown(evidence: Evidence) -> str | None:
    """Render the kernel limits that were not observed, each with the names of the affected tiers; None if all were
    observed.
    """
    missing: dict[str, list[str]] = {}
    for name, tier in evidence.summary.tiers.items():
        for words, found in _resources(tier):
            if tier.kind != _RELAY and not found.known:
                missing.setdefault(words.replace("its", "the"), []).append(name)
    parts = [f"{words} of {' and '.join(names)}" for words, names in missing.items()]
    return "; ".join(parts) or None
