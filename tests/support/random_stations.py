"""Random single stations of open classes that are both solved and simulated, to certify the solver.

The number of a station is its random seed, so a single station can be examined alone.
"""

from __future__ import annotations

import random
from typing import Any

Json = dict[str, Any]
ORDERS = ("fcfs", "ps", "priority", "preemptive", "lcfs-pr")
SERVERS = (1, 1, 2, 4, 8, 16, 64)
VARIATIONS = (0.0, 0.25, 0.5, 1.0, 1.0, 1.0, 2.0, 4.0)
UTILIZATIONS = (0.3, 0.6, 0.8, 0.9, 0.95)
FULL_UTILIZATIONS = (0.5, 0.8, 0.95, 1.2)
ROOMS = (0, 1, 2, 5, 10, 20)
"""Possible numbers of waiting places (queue capacities). [1]"""
SLOWEST = 50.0
"""Largest ratio of the mean service times of two classes. [1]"""
IMPATIENT = 0.05
"""Fraction of stations with a class whose jobs give up waiting after a time limit. The solver refuses such models.
[ratio]
"""


def station(seed: int) -> Json:
    """Return the station with the given seed, in the JSON format of the engine.

    The station has one to three classes, 1 to 64 servers and a random queueing discipline. Half of the stations have a
    limited capacity. Squared coefficients of variation of interarrival and service times are 0 to 4.
    """
    rng = random.Random(f"station {seed}")
    servers, order = rng.choice(SERVERS), rng.choice(ORDERS)
    ranked = order in ("priority", "preemptive")
    count = rng.choice((2, 2, 3)) if ranked else rng.choice((1, 1, 2, 3))
    bounded = rng.random() < 0.5
    utilization = rng.choice(FULL_UTILIZATIONS if bounded else UTILIZATIONS)
    alike, poisson = rng.random() < 0.3, rng.random() < 0.5
    times = [1.0] + [1.0 if alike else round(SLOWEST ** rng.uniform(-1.0, 1.0) ** 3, 3) for _ in range(count - 1)]
    weights = [rng.uniform(0.2, 1.0) for _ in times]
    one_scv = rng.choice(VARIATIONS)
    services = [
        {
            "class": f"c{number}",
            "service_time_s": time,
            "variation": {"scv": one_scv if alike else rng.choice(VARIATIONS)},
        }
        for number, time in enumerate(times)
    ]
    found: Json = {"name": "s", "servers": servers, "discipline": order, "services": services}
    if order == "preemptive":
        found |= {"discipline": "priority", "preemptive": True}
    if bounded:
        found["capacity"] = servers + rng.choice(ROOMS)
    classes = [
        {
            "name": f"c{number}",
            "arrival_rate_per_s": utilization * servers * weight / sum(weights) / time,
            "arrivals": {"scv": 1.0 if poisson else rng.choice(VARIATIONS)},
            "priority": number + 1,
        }
        for number, (time, weight) in enumerate(zip(times, weights, strict=True))
    ]
    model: Json = {"classes": classes, "stations": [found]}
    if rng.random() < IMPATIENT:
        model["behaviour"] = {"patience": [{"class": "c0", "timeout_s": 5.0}]}
    return model
