"""Transaction mixes of imported files.

From each workload, 10,000 random rounds are generated. The fractions of rounds with each combination of requests are
compared with those of the original tool.
"""

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
# Allowed difference of a fraction, in standard errors. Seeds make all random choices reproducible. [1]
ERRORS = 4.0


def share(text: object) -> float:
    return float(str(text).removesuffix("%")) / 100


def drawn(steps: list[dict[str, Any]], chance: random.Random, once: Counter[str]) -> Counter[str]:
    """Choose the requests of one round at random, as the engine does. Return the requested paths with their counts."""
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
    """Return, for each combination of requests, the fraction of rounds with it."""
    chance = random.Random(7)
    transactions = found.workload["transactions"]
    steps = transactions[name or next(iter(transactions))]
    rounds = Counter(tuple(sorted(drawn(steps, chance, Counter()).elements())) for _ in range(ROUNDS))
    return {paths: count / ROUNDS for paths, count in rounds.items()}


def assert_mix(found: Any, expected: dict[str, float]) -> None:
    """Assert the fractions of rounds. The key `/a /b` stands for rounds with both requests, and the empty key for
    rounds without any.
    """
    wanted = {tuple(paths.split()): probability for paths, probability in expected.items() if probability > 0}
    got = mix(found)
    assert set(got) == set(wanted)
    for paths, probability in wanted.items():
        assert abs(got[paths] - probability) <= ERRORS * sqrt(probability * (1 - probability) / ROUNDS), (paths, got)


A, B, C = request("/a"), request("/b"), request("/c")
EMPTY = element("JavaSampler")
OFF = C.replace("<HTTPSamplerProxy ", '<HTTPSamplerProxy enabled="false" ')


def switch(value: str, below: str = A + B + C) -> str:
    return element("SwitchController", below, SwitchController__value=value)


def percent(value: float, below: str) -> str:
    style = {"ThroughputController__style": "1", "ThroughputController__percentThroughput": str(value)}
    return element("ThroughputController", below, **style)


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        (element("RandomController", A + B + C), {"/a": 1 / 3, "/b": 1 / 3, "/c": 1 / 3}),
        (element("RandomController", A + OFF + B), {"/a": 1 / 2, "/b": 1 / 2}),
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
    """RandomController, InterleaveControl, ThroughputController and SwitchController must choose requests as in JMeter
    5.5.
    """
    found = import_text("jmx", group(below + request("/end")))
    assert_mix(found, {" ".join(sorted([*paths.split(), "/end"])): each for paths, each in expected.items()})
    assert bool(found.noted("SwitchController")) == ("${unknown}" in below)


HEAD = (
    "import http from 'k6/http';\nimport { randomIntBetween } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';\n"
    "const a = () => http.get('http://h/a'), b = () => http.get('http://h/b'), c = () => http.get('http://h/c');\n"
    "const d = () => http.get('http://h/d');\n"
)
CHAIN = {"/a": 0.5, "/b": 0.34, "/c": 0.12, "/d": 0.04}
ODD = (
    "depends on a new random number; in k6 it depends on the number that was generated before",
    "returns in some rounds only: in the workload, the steps after it run in all rounds",
)


@pytest.fixture
def script(import_text: Importer) -> Callable[[str], Any]:
    """Import a k6 script whose default function has the given body."""

    def run(body: str) -> Any:
        return import_text("k6", f"{HEAD}export default function () {{\n{body}\n}}\n", "script.js")

    return run


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("const p = Math.random(); if (p < .5) a(); else if (p < .84) b(); else if (p < .96) c(); else d();", CHAIN),
        (
            "const p = Math.random() * 100; if (p >= 96) { d(); } else if (p >= 84) c(); "
            "else if (50 <= p) b(); else a();",
            CHAIN,
        ),
        (
            "const p = Math.random(); if (p < .5) { a(); return; } if (p < .84) { b(); return; "
            "}\nif (p < .96) { c(); return; } d();",
            CHAIN,
        ),
        (
            "const p = Math.random(); if (p < .5) { a(); } else { if (p < .96 && !(p < .84)) c(); "
            "else if (p > .96) d(); else b(); }",
            CHAIN,
        ),
        (
            "const p = Math.random(); if (p < .5 || p >= .75) { if (p < .25) a(); else b(); } else c();",
            {"/a": 0.25, "/b": 0.5, "/c": 0.25},
        ),
        (
            "const p = Math.random(); if (p < .5) { if (p < .7) a(); else b(); } else if (p < .2) { c(); } else d();",
            {"/a": 0.5, "/d": 0.5},
        ),
        (
            "if (Math.random() < .5) a(); else if (Math.random() < .5) b(); else c();",
            {"/a": 0.5, "/b": 0.25, "/c": 0.25},
        ),
        (
            "const n = Math.floor(Math.random() * 4); if (n === 0) a(); else if (n <= 2) b(); else c();",
            {"/a": 0.25, "/b": 0.5, "/c": 0.25},
        ),
        ("const n = randomIntBetween(1, 3); if (n <= 2) a(); else b();", {"/a": 2 / 3, "/b": 1 / 3}),
        (
            "const n = randomIntBetween(1, 100); if (n <= 4) d(); else if (n !== 5) a(); else b();",
            {"/d": 0.04, "/a": 0.95, "/b": 0.01},
        ),
        ("const n = Math.floor(Math.random() * 2.5); if (n == 2) a(); else b();", {"/a": 0.2, "/b": 0.8}),
        (
            "const n = Math.round(Math.random() * 3); if (n < 1) a(); else if (n < 2) b(); else c();",
            {"/a": 1 / 6, "/b": 1 / 3, "/c": 0.5},
        ),
        ("const n = Math.ceil(Math.random() * 4); if (n > 3) a(); else b();", {"/a": 0.25, "/b": 0.75}),
        (
            "switch (Math.floor(Math.random() * 4)) { case 0: a(); break; case 1: { b(); break; } default: c(); }",
            {"/a": 0.25, "/b": 0.25, "/c": 0.5},
        ),
        (
            "switch (Math.floor(Math.random() * 4)) { case 0: a(); case 1: b(); break; case 7: d(); "
            "break; case 2: c(); }",
            {"/a /b": 0.25, "/b": 0.25, "/c": 0.25, "": 0.25},
        ),
        (
            "const n = Math.floor(Math.random() * 3); switch (n) { default: c(); break; "
            "case 0: if (n > 0) b(); else a(); }",
            {"/a": 1 / 3, "/c": 2 / 3},
        ),
        ("switch (2) { case '2': a(); break; case 2: b(); break; default: c(); }", {"/b": 1}),
        (
            "const one = () => { const p = Math.random(); if (p < .2) { a(); return; } b(); };\none(); one();",
            {"/a /a": 0.04, "/a /b": 0.32, "/b /b": 0.64},
        ),
    ],
)
def test_conditions_of_k6_choose_as_in_k6(body: str, expected: dict[str, float], script: Callable[[str], Any]) -> None:
    """Each combination of requests must occur as often as in k6.

    Conditions on the same random value depend on each other. `randomIntBetween` includes both ends, and `Math.floor`
    rounds down.
    """
    found = script(body + "\nhttp.get('http://h/end');" if "return; } d()" not in body else body)
    extra = [] if "return; } d()" in body else ["/end"]
    assert_mix(found, {" ".join(sorted([*paths.split(), *extra])): each for paths, each in expected.items()})
    assert [why for _, what, why in found.notes() if what not in {"redirects"} and "module" not in what] == []


@pytest.mark.parametrize(
    "body",
    [
        "const p = Math.random(); if (p < .5) a(); if (p >= .5) b();",
        "const p = Math.random(); for (let i = 0; i < 2; i++) { if (p < .5) { a(); return; } } b();",
        "const p = Math.random(); if (p < .5) { if (p < .2) a(); if (p < .3) b(); }",
    ],
)
def test_a_draw_that_a_workload_cannot_keep_is_noted(body: str, script: Callable[[str], Any]) -> None:
    assert {why for _, _, why in script(body).notes()} & set(ODD)


@pytest.mark.parametrize(
    "body",
    [
        "switch (a().status) { case 200: b(); break; default: c(); }",
        "switch (Math.floor(Math.random() * 3)) { case 0: if (x) break; a(); break; default: b(); }",
    ],
)
def test_a_switch_that_is_not_known_is_left_out(body: str, script: Callable[[str], Any]) -> None:
    found = script(f"d();\n{body}")
    assert [step["get"] for step in found.requests()] == ["/d"]
    assert any("left out" in why for _, _, why in found.notes())
