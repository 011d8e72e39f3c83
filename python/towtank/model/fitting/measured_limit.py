"""Determines what limits the load in the measurements. The effect of more servers can be predicted only if the limit is
a station of the model.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass

from towtank.model.fitting.goodness import HELD_OUT_LIMIT
from towtank.model.fitting.measured import Configuration
from towtank.model.fitting.shape import Shape

LIMIT_STATION, LIMIT_ASSERTED, LIMIT_NONE, LIMIT_OTHER = "station", "asserted", "none", "other"
RESPONSE_UNEXPLAINED = 0.50
"""Largest share of the mean response time at the highest load that the network may leave unexplained. A larger share
means that something outside the network limits the load. [ratio]
"""


@dataclass(frozen=True)
class MeasuredLimit:
    """Result of the search for what limits the load in the measurements, with its evidence. `station`: a station of the
    model limits the load. `asserted`: the user states that a station limits the load. `none`: no limit was reached.
    `other`: something else limits the load, so more servers may not help.
    """

    kind: str
    why: str

    def lines(self) -> list[str]:
        """Return the lines below the key `fitted` of a model file that state the limit."""
        return [f"  limit: {self.kind}", f"  limit_why: {json.dumps(self.why, ensure_ascii=False)}"]


def of_curve(configuration: Configuration | None, shape: Shape | None, *, asserted: bool) -> MeasuredLimit | None:
    """Return what limits the load, according to the shape of a measured curve; None without a configuration or a shape.

    `asserted` is True if the user stated the number of servers of the limiting station.
    """
    if configuration is None or shape is None:
        return None
    if configuration.bottleneck() is None:
        why = "no CPU of the system was observed, so the limit of the system and the effect of more CPUs are unknown"
        return MeasuredLimit(LIMIT_ASSERTED if asserted else LIMIT_OTHER, why)
    if shape.kind in ("contention", "disk", "memory", "generator", "quota"):
        return MeasuredLimit(LIMIT_ASSERTED if asserted else LIMIT_OTHER, _no_help(shape))
    return MeasuredLimit(LIMIT_STATION if shape.kind == "cpu" else LIMIT_NONE, shape.sentence)


def of_network(
    shape: Shape, stations: Collection[str], throughput_error: float, response_error: float
) -> MeasuredLimit:
    """Return what limits the load, for a network whose stations are the observed CPUs and disks.

    The errors are the relative errors of the throughput and of the mean response time that the network predicts at the
    highest load. [ratio]

    Notes
    -----
    `classify` calls a shape without a saturated resource contention. If the network predicts the highest load
    correctly, the queues of the network explain the contention. If the network predicts too high a throughput at the
    highest load, or less than half of the response time, the network lacks the station that limits the system.
    """
    kind = shape.kind
    lacks = kind in ("memory", "generator", "quota")
    lacks |= kind == "disk" and shape.resource not in stations
    predicts_top = throughput_error <= HELD_OUT_LIMIT and response_error >= -RESPONSE_UNEXPLAINED
    lacks |= kind == "contention" and not predicts_top
    if lacks:
        return MeasuredLimit(LIMIT_OTHER, _no_help(shape))
    return MeasuredLimit(LIMIT_NONE if kind in ("none", "unknown") else LIMIT_STATION, shape.sentence)


def _no_help(shape: Shape) -> str:
    return f"no measurement shows that more CPUs help: {shape.sentence}"
