"""Scripts of runs in which users start at equal intervals, so that the operational laws hold exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from synthetic_runs import Script, Stage, even_schedule


def stages_of(users: int, ramp_s: float, steady_s: float) -> list[Stage]:
    """Return a ramp-up stage and a steady stage; their lengths are in seconds."""
    return [Stage("ramp_up", "ramp_up", ramp_s, users), Stage("steady", "steady", steady_s, users)]


def even_script(
    stages: list[Stage],
    *,
    users: int,
    response_s: float,
    think_s: float,
    seconds: float,
    service_s: float,
    transactions: Sequence[str] = ("read",),
    **changes: Any,
) -> Script:
    """Return the script from which a run is written. Users start at equal intervals. `changes` are additional fields of
    the script.
    """
    exchanges, starts, ends = even_schedule(
        users=users,
        response_s=response_s,
        think_s=think_s,
        seconds=seconds,
        service_s=service_s,
        transactions=len(transactions),
    )
    fields: dict[str, Any] = {"name": "r001", "factors": {}, **changes}
    return Script(
        transactions=list(transactions),
        stages=stages,
        exchanges=exchanges,
        users=users,
        user_starts=starts,
        user_ends=ends,
        **fields,
    )
