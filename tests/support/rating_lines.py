"""Generates the output of an engine that measures the speed of a machine, with known rates of the benchmark kernels."""

from __future__ import annotations

from typing import Any

from towtank.sizing.kernels import KERNELS

Json = dict[str, Any]
QUIET = {"total_s": 2.0, "own_s": 1.0, "programs_s": 1.0, "stolen_s": 0.0, "clock_steps_per_s": 1e9}


def lines(
    single: dict[str, float] | None = None,
    whole: dict[str, float] | None = None,
    *,
    rounds: int = 3,
    cpus: int = 2,
    factors: tuple[float, ...] = (),
    conditions: Json | None = None,
    failed: dict[str, str] | None = None,
) -> list[Json]:
    """Return the output lines of an engine that measures the speed of a machine.

    By default, the rate of each kernel is 1000 on one CPU, and `cpus` times this rate on all CPUs.

    Parameters
    ----------
    single, whole : dict of str to float, optional
        Rate of each kernel on one CPU and on all CPUs. [1/s]
    factors : tuple of float
        Factor of all rates in each round; 1 by default.
    conditions : dict, optional
        Conditions that differ from those of a quiet machine, reported with each measurement.
    failed : dict of str to str, optional
        Reason why a kernel could not be measured, by kernel.
    """
    failed = failed or {}
    begin = {
        "event": "begin",
        "version": "0.1.0",
        "cpus": list(range(cpus)),
        "rounds": rounds,
        "turn_s": 0.1,
        "kernels": list(KERNELS),
        "last_cache_bytes": 32 << 20,
        "memory_bytes": 192 << 20,
    }
    written = [begin]
    for number in range(rounds):
        factor = factors[number] if factors else 1.0
        for name in KERNELS:
            if name in failed:
                if number == 0:
                    turn = {"event": "turn", "kernel": name, "mode": "single", "round": 0, "failed": failed[name]}
                    written.append(turn)
                continue
            one = (single or {}).get(name, 1000.0)
            rates = {"single": one, "all": (whole or {}).get(name, one * cpus)}
            for mode, rate in rates.items():
                # One of the three time slices is disturbed, which does not change the median rate.
                slices = [rate * factor, rate * factor * 0.1, rate * factor]
                turn = {"event": "turn", "kernel": name, "mode": mode, "round": number, "threads": cpus}
                written.append({**turn, "slices": slices, "conditions": {**QUIET, **(conditions or {})}})
    return [*written, {"event": "end"}]
