"""Conducts measurements: single runs, studies, and loads on a target without a study.

`study` executes the design of a study, `run` one run, `drive` loads one target without a study. `stopping` turns
Ctrl-C into a request that every step checks, `pinning` assigns the CPUs, `display` shows progress.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.conduct.rating import FULL as FULL
    from towtank.conduct.rating import QUICK as QUICK
    from towtank.conduct.rating import rate_machine as rate_machine
    from towtank.conduct.stopping import StopRequest as StopRequest

__getattr__, __dir__ = door(
    __name__,
    {
        "rating": "FULL QUICK rate_machine",
        "stopping": "StopRequest",
    },
)
