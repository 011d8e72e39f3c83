"""Finds the resource that limits a single user without think time.

For N = 1 user with think time Z = 0, the asymptotic bound X <= N / (R + Z) [1]_ becomes X = 1 / R. No request queues,
so the response time R is the sum of the service demands of a transaction at all resources. The utilization of a
resource is its share of R. The resource with the largest share is the bottleneck, although no request waits for it.

References
----------
.. [1] E. D. Lazowska, J. Zahorjan, G. S. Graham and K. C. Sevcik, *Quantitative System Performance*,
       Prentice-Hall, 1984, chapter 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from towtank.analysis.diagnosis.answer import Cause, Place
from towtank.analysis.diagnosis.seen import Seen
from towtank.analysis.diagnosis.sign import Sign
from towtank.analysis.diagnosis.signs import MOST_OF_ONE, ONE_CPU, signs

_SURE = 0.9
_RESOURCES = (Cause.CPU, Cause.QUOTA, Cause.DISK, Cause.LINK)
"""Causes that may limit a single user. Locks and pools are not included, because a single user does not wait for
them.
"""
_SETTLE = (
    "repeat on a faster CPU: each transaction takes less time in proportion if this is the cause; further CPUs change "
    "nothing for a single user"
)


def serial_signs(seen: Seen) -> list[Sign]:
    """Return signs of the resources that a single user without think time uses fully, the most important first. Empty
    for any other load.
    """
    if not seen.is_serial:
        return []
    known = [_serial(sign) for sign in signs(seen) if sign.cause in _RESOURCES]
    named = {sign.place.tier for sign in known}
    return [*(sign for sign in _one_cpu_of_several(seen) if sign.place.tier not in named), *known]


def _serial(sign: Sign) -> Sign:
    """Return a sign, with evidence and next step adapted to a single user."""
    if sign.busy is None:
        return sign
    return replace(sign, sure=_SURE, evidence=(*sign.evidence, _busy_text(sign.busy)), settle=_SETTLE)


def _one_cpu_of_several(seen: Seen) -> Iterator[Sign]:
    """Yield a sign for each tier that uses as much as one CPU although it may use several.

    A tier may execute the requests of one user in several processes or on several CPUs, one after the other.
    """
    for tier in seen.tiers:
        used = tier.cpus_used
        if used is not None and ONE_CPU <= used <= MOST_OF_ONE and (tier.cpus_allotted or 2.0) > 1.0:
            text = f"{tier.name} uses {used:.2f} CPUs"
            yield Sign(Cause.CPU, Place(tier.name, tier.host), _SURE, (text, _busy_text(used)), _SETTLE, busy=used)


def _busy_text(busy: float) -> str:
    share = 100 * min(1.0, busy)
    return f"one user at a time, without think time: nothing queues, and this CPU is busy {share:.0f} % of the time"
