"""The model file and the sizing state whether a station of the fitted model or another resource causes the measured
limit.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from towtank.model.fitting.measured_limit import (
    LIMIT_ASSERTED,
    LIMIT_NONE,
    LIMIT_OTHER,
    LIMIT_STATION,
    MeasuredLimit,
    of_curve,
    of_network,
)
from towtank.model.fitting.shape import Shape


def shape(kind: str, resource: str | None = None) -> Shape:
    return Shape(kind, resource, f"the {kind} it was")


@pytest.mark.parametrize(
    ("kind", "limit"),
    [("cpu", LIMIT_STATION), ("none", LIMIT_NONE), ("unknown", LIMIT_NONE), ("contention", LIMIT_OTHER),
     ("disk", LIMIT_OTHER), ("memory", LIMIT_OTHER), ("generator", LIMIT_OTHER), ("quota", LIMIT_OTHER)],
)  # fmt: skip
def test_the_only_station_of_a_curve_is_a_cpu(kind: str, limit: str) -> None:
    seen: Any = SimpleNamespace(bottleneck=object)
    found = of_curve(seen, shape(kind), asserted=False)
    assert found is not None
    assert found.kind == limit
    assert found.why.endswith(f"the {kind} it was")


def test_servers_that_the_user_gives_are_asserted_where_nothing_shows_them() -> None:
    seen: Any = SimpleNamespace(bottleneck=object)
    blind: Any = SimpleNamespace(bottleneck=lambda: None)
    assert of_curve(seen, shape("contention"), asserted=True) == MeasuredLimit(
        LIMIT_ASSERTED, "no measurement shows that more CPUs help: the contention it was"
    )
    assert of_curve(seen, shape("cpu"), asserted=True) == MeasuredLimit(LIMIT_STATION, "the cpu it was")
    for asserted, kind in ((True, LIMIT_ASSERTED), (False, LIMIT_OTHER)):
        found = of_curve(blind, shape("unknown"), asserted=asserted)
        assert found is not None
        assert (found.kind, found.why.partition(",")[0]) == (kind, "no CPU of the system was observed")
    assert of_curve(None, None, asserted=False) is None


STATIONS = ("web", "app", "disk sda")


@pytest.mark.parametrize(
    ("error", "response", "limit"),
    # Relative errors of throughput and response time. In the first two cases, a pool that the network lacks limits the
    # system.
    [(0.15, -0.3, LIMIT_OTHER), (0.08, -0.9, LIMIT_OTHER), (0.05, -0.3, LIMIT_STATION), (-0.15, 0.4, LIMIT_STATION)],
)
def test_what_looks_like_contention_is_a_station_where_the_network_foretells_it(
    error: float, response: float, limit: str
) -> None:
    assert of_network(shape("contention"), STATIONS, error, response).kind == limit


def test_a_full_disk_limits_a_network_that_has_it() -> None:
    assert of_network(shape("disk", "disk sda"), STATIONS, 0, 0).kind == LIMIT_STATION
    assert of_network(shape("disk", "disk sdb"), STATIONS, 0, 0).kind == LIMIT_OTHER
    assert of_network(shape("memory", "web"), STATIONS, 0, 0).kind == LIMIT_OTHER
    assert of_network(shape("generator"), STATIONS, 0, 0).kind == LIMIT_OTHER
    assert of_network(shape("quota", "web"), STATIONS, 0, 0).kind == LIMIT_OTHER
    assert of_network(shape("none"), STATIONS, 0, 0).kind == LIMIT_NONE
    assert of_network(shape("cpu", "app"), STATIONS, 0, 0).kind == LIMIT_STATION


def test_the_lines_of_a_model_file_hold_any_text() -> None:
    kind, why = MeasuredLimit(LIMIT_OTHER, 'a "lock": # 5 % of the line').lines()
    assert kind == "  limit: other"
    assert json.loads(why.partition(": ")[2]) == 'a "lock": # 5 % of the line'
