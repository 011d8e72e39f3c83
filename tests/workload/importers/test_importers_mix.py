"""Mixes of imported files: 10,000 rounds drawn from the workload against the shares that the tool itself gives."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from math import sqrt
from typing import Any

import pytest
from jmeter_plans import element, group, request

Importer = Callable[..., Any]
ROUNDS = 10_000
# Standard errors that a share may differ from its expectation: all draws are seeded, so that no run differs. [1]
ERRORS = 4.0


def share(text: object) -> float:
    return float(str(text).removesuffix("%")) / 100


def drawn(steps: list[dict[str, Any]], chance: random.Random, once: Counter[str]) -> Counter[str]:
    """One round, as the engine draws it: paths that it requests."""
    for step in steps:
        if "get" in step:
            once[step["get"]] += 1
        elif "branch" in step:
            drawn(step["then"] if chance.random() < share(step["branch"]) else step.get("else", []), chance, once)
        else:
            for _ in range(step.get("loop", 1)):
                drawn(step.get("steps", []), chance, once)
    return once


def mix(found: Any, *, name: str = "") -> dict[tuple[str, ...], float]:
    """Shares of the rounds by the requests in them."""
    chance = random.Random(7)
    transactions = found.workload["transactions"]
    steps = transactions[name or next(iter(transactions))]
    rounds = Counter(tuple(sorted(drawn(steps, chance, Counter()).elements())) for _ in range(ROUNDS))
    return {paths: count / ROUNDS for paths, count in rounds.items()}


def assert_mix(found: Any, expected: dict[str, float]) -> None:
    """Assert the shares of rounds: `/a /b` for both in a round, empty for none."""
    wanted = {tuple(paths.split()): probability for paths, probability in expected.items() if probability > 0}
    got = mix(found)
    assert set(got) == set(wanted)
    for paths, probability in wanted.items():
        assert abs(got[paths] - probability) <= ERRORS * sqrt(probability * (1 - probability) / ROUNDS), (paths, got)


A, B, C = request("/a"), request("/b"), request("/c")
EMPTY = element("JavaSampler")


def switch(value: str, below: str = A + B + C) -> str:
    return element("SwitchController", below, SwitchController__value=value)


def percent(value: float, below: str) -> str:
    style = {"ThroughputController__style": "1", "ThroughputController__percentThroughput": str(value)}
    return element("ThroughputController", below, **style)


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        (element("RandomController", A + B + C), {"/a": 1 / 3, "/b": 1 / 3, "/c": 1 / 3}),
        (element("RandomController", A + EMPTY + B), {"/a": 1 / 3, "/b": 1 / 3, "": 1 / 3}),
        (element("RandomController", EMPTY + EMPTY + A), {"/a": 1 / 3, "": 2 / 3}),
        (element("InterleaveControl", A + B), {"/a": 0.5, "/b": 0.5}),
        (element("RandomController", A + element("GenericController", B + C)), {"/a": 0.5, "/b /c": 0.5}),
        (
            element("RandomController", A + element("RandomController", B + C)),
            {"/a": 0.5, "/b": 0.25, "/c": 0.25},
        ),
        (percent(4.07, A) + B, {"/b": 0.9593, "/a /b": 0.0407}),
        (percent(100, A) + percent(0, B), {"/a": 1}),
        (element("RandomController", percent(20, A) + B), {"/a": 0.1, "/b": 0.5, "": 0.4}),
        (switch("0"), {"/a": 1}),
        (switch(""), {"/a": 1}),
        (switch("2"), {"/c": 1}),
        (switch("3"), {"/a": 1}),
        (switch("/b"), {"/b": 1}),
        (switch("none") + A, {"/a": 1}),
        (switch("none", A + B.replace('testname="/b"', 'testname="Default"')), {"/b": 1}),
        (switch("${__Random(0,2)}"), {"/a": 1 / 3, "/b": 1 / 3, "/c": 1 / 3}),
        (switch("${__Random(1,4,n)}"), {"/a": 0.5, "/b": 0.25, "/c": 0.25}),
        (switch("1", EMPTY + A), {"/a": 1}),
        (switch("0", EMPTY + A) + B, {"/b": 1}),
        (switch("${unknown}"), {"/a": 1 / 3, "/b": 1 / 3, "/c": 1 / 3}),
    ],
)
def test_controllers_of_jmeter_choose_as_in_jmeter(
    below: str, expected: dict[str, float], import_text: Importer
) -> None:
    """RandomController, InterleaveControl, ThroughputController and SwitchController of JMeter 5.5."""
    found = import_text("jmx", group(below + request("/end")))
    assert_mix(found, {" ".join(sorted([*paths.split(), "/end"])): each for paths, each in expected.items()})
    assert bool(found.noted("SwitchController")) == ("${unknown}" in below)
