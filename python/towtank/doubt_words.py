"""Renders kinds of doubt about a measurement in words, for sentences about several runs."""

from __future__ import annotations

_MEANINGS = {
    "generator_saturated": "the load generator was at its limit",
    "generator_stalled": "the load generator paused",
    "start_lag": "requests left later than planned",
    "no_steady_state": "the system still changed",
    "rest_not_shown": "a slow change is possible",
    "short_window": "too short for slow changes of a queue",
    "fixed_pace": "users return in the same order",
    "not_settled": "the system still changed after the settle stage",
    "backlog": "requests were left over from an earlier stage",
    "too_few_samples": "few independent values",
    "steal_time": "the hypervisor gave CPU time to others",
    "machine_speed": "the CPUs ran slower at times",
    "slow_memory": "memory was slow after a rest",
    "interference": "other programs used the CPUs",
    "not_attributed": "processes outside of all tiers used CPU time",
    "connection_wait": "requests waited for a connection of the pool",
    "listen_overflow": "new connections were dropped",
    "retransmits": "TCP segments were sent again",
    "throttled": "a CPU limit held processes back",
    "coordinated_omission": "requests were left out during waits",
}


def kind_words(kind: object) -> str:
    """Render the name of a kind of doubt, such as `start lag`."""
    return str(kind).replace("_", " ")


def meaning_words(kind: object) -> str:
    """Return the meaning of a kind of doubt in a few words; empty for kinds whose names need none.

    Examples
    --------
    >>> meaning_words("start_lag"), meaning_words("disk_full")
    ('requests left later than planned', '')
    """
    return _MEANINGS.get(str(kind), "")
