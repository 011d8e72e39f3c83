"""Rules whose inputs are measured with intervals. A verdict must hold for all values in the intervals."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from towtank.analysis import Estimate
from towtank.cli.advise_table import advice_lines
from towtank.errors import ModelError
from towtank.sizing.rules import load_rules
from towtank.sizing.rules.advising import Advice, advise
from towtank.sizing.rules.examples import inputs_with_defaults
from towtank.sizing.rules.facts import COMMON, OF_A_TIER, Fact, Situation, SystemFacts, measured
from towtank.sizing.rules.measured import _idle
from towtank.sizing.rules.reach import reach
from towtank.sizing.rules.rule import Rule, answer_rule

SHIPPED = load_rules()

RULE = """
schema: towtank/rule-file/1
topic: own
documents: {own: Own}
rules:
  cpus_needed:
    title: CPUs that are needed
    formula: FORMULA
    inputs:
      throughput: {unit: 1/s, role: seen, at_least: 0, at_most: AT_MOST, meaning: X., binds: throughput}
      demand: {unit: ms, role: seen, at_least: 0, meaning: D., binds: tier.cpu_demand}
      cpus: {unit: CPUs, role: set, meaning: CPUs., binds: host.cpus}
    result: {unit: CPUs, meaning: CPUs in use.}
    applies_when: throughput * 1 s >= 100
    follows_when: result <= 0.7 * cpus
    source: {document: own}
    examples: [{inputs: {throughput: 1, demand: 1000}, result: RESULT, origin: derived}]
"""


def estimate(value: float, half_width: float) -> Estimate:
    return Estimate(value, value - half_width, value + half_width)


def own_rule(folder: Path, formula: str = "throughput * demand", result: str = "1", at_most: int = 210) -> Rule:
    path = folder / "rules.yaml"
    text = RULE.replace("FORMULA", formula).replace("RESULT", result).replace("AT_MOST", str(at_most))
    path.write_text(text, "utf-8")
    return load_rules([path])["cpus_needed"]


def advice(rule: Rule, throughput: object, demand: object, cpus: float = 4) -> Advice:
    """Return the advice of one rule about a single web server."""
    situation = Situation("here", "one run", *facts(throughput, demand, cpus))
    (found,) = advise({rule.name: rule}, situation)
    return found


def facts(throughput: object, demand: object, cpus: float) -> tuple[SystemFacts, dict[str, tuple[str, SystemFacts]]]:
    common = measured(COMMON, {"throughput": throughput, "host.cpus": cpus}, "test")
    return common, {"web": ("httpd", measured(OF_A_TIER, {"cpu_demand": demand}, "test"))}


def test_a_result_has_the_interval_that_follows_from_those_of_its_inputs(tmp_path: Path) -> None:
    found = advice(own_rule(tmp_path), estimate(200, 8), estimate(0.010, 0.001))
    # The ends of the interval are near 192/s * 9 ms = 1.73 and 208/s * 11 ms = 2.29.
    assert found.answer.text == "2.00 [1.73, 2.29] CPUs"
    assert found.verdict == "follows"


def test_an_end_beyond_what_the_rule_takes_is_moved_to_its_bound(tmp_path: Path) -> None:
    found = advice(own_rule(tmp_path), estimate(200, 50), 0.010)
    assert found.answer.text == "2.00 [1.50, 2.10] CPUs"  # The rule allows a throughput of at most 210/s.


def test_a_result_of_inputs_without_intervals_has_none(tmp_path: Path) -> None:
    assert advice(own_rule(tmp_path), 200.0, 0.010).answer.text == "2 CPUs"
    assert advice(own_rule(tmp_path), 123.456, 0.010).answer.text == "1.23 CPUs"


@pytest.mark.parametrize(
    ("throughput", "half_width", "verdict", "why"),
    [
        (200, 8, "follows", ""),
        (
            200,
            60,
            "cannot_be_told",
            "whether the rule is followed depends on the value within the interval of throughput",
        ),
        (150, 40, "follows", ""),
        (105, 8, "cannot_be_told", "whether the rule applies depends on the value within the interval of throughput"),
        (90, 8, "does_not_apply", "throughput * 1 s >= 100 does not hold"),
        (95, 8, "cannot_be_told", "whether the rule applies depends on the value within the interval of throughput"),
    ],
)
def test_a_verdict_is_given_where_it_holds_over_the_whole_interval(
    tmp_path: Path, throughput: float, half_width: float, verdict: str, why: str
) -> None:
    rule = own_rule(tmp_path, at_most=1000)
    found = advice(rule, estimate(throughput, half_width), estimate(0.010, 1e-5), cpus=3.0)
    assert (found.verdict, found.why) == (verdict, why)


def test_a_verdict_that_more_runs_would_give_is_shown(tmp_path: Path) -> None:
    found = advice(own_rule(tmp_path), estimate(200, 9), estimate(0.010, 0.001), cpus=3)
    assert found.verdict == "cannot_be_told"
    lines = list(advice_lines(Situation("here", "one run", {}, {}), [found], everything=False))
    assert any("cpus_needed [web]: says 2.00 [1.72, 2.30] CPUs;" in line for line in lines)
    assert any(
        "whether the rule is followed depends on the value within the interval of demand" in line for line in lines
    )


def test_a_rule_without_an_answer_somewhere_in_the_intervals_has_no_verdict(tmp_path: Path) -> None:
    rule = own_rule(tmp_path, "demand * throughput / (throughput * 1 s - 190)", "-0.005291005291005291")
    found = advice(rule, estimate(200, 10), 0.010)
    assert (found.verdict, found.answer.text) == ("cannot_be_told", "0.2 CPUs")
    assert found.why.startswith("no answer for some values within the interval of throughput: ")


QUEUE = """
schema: towtank/rule-file/1
topic: own
documents: {own: Own}
rules:
  queue:
    title: Response time of one queue
    formula: demand / (1 - utilization)
    inputs:
      demand: {unit: ms, role: given, at_least: 0, meaning: D., binds: tier.cpu_demand}
      utilization: {unit: "%", role: seen, at_least: 0, below: 100, meaning: U., binds: tier.cpu_utilization}
    result: {unit: ms, meaning: R.}
    follows_when: result <= 500 ms
    source: {document: own}
    examples: [{inputs: {demand: 10, utilization: 50}, result: 20, origin: derived}]
"""


@pytest.mark.parametrize(
    ("low", "high", "verdict", "says"),
    [
        (0.90, 0.96, "follows", "140 [100, 250] ms"),
        (0.94, 1.0, "cannot_be_told", "143 ms"),
        (0.9, 1.1, "cannot_be_told", "143 ms"),
    ],
)
def test_an_interval_that_reaches_an_excluded_bound_has_no_verdict(
    tmp_path: Path, low: float, high: float, verdict: str, says: str
) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(QUEUE, "utf-8")
    tier = {"cpu_demand": 0.010, "cpu_utilization": Estimate(0.93, low, high)}
    services = {"web": ("httpd", measured(OF_A_TIER, tier, "test"))}
    (found,) = advise({"queue": load_rules([path])["queue"]}, Situation("here", "one run", {}, services))
    assert (found.verdict, found.answer.text) == (verdict, says)
    if verdict == "cannot_be_told":
        assert "utilization must be below 100 %" in found.why


def of_host(rule: Rule, sheet: dict[str, str], **seen: object) -> Advice:
    """Return the advice of one rule about a host, with some values from a fact sheet."""
    facts = measured(COMMON, {f"host.{name}": value for name, value in seen.items()}, "test")
    written = {name: Fact(name, value, "sheet", ("sheet.yaml", 1, 1)) for name, value in sheet.items()}
    (found,) = advise({rule.name: rule}, Situation("here", "one run", {**facts, **written}, {}))
    return found


def test_a_yes_that_is_no_elsewhere_in_the_interval_is_left_open() -> None:
    sheet = {"batch.is_disk_bound": "yes", "batch.memory_is_sufficient": "yes"}
    rule = SHIPPED["expert_cache_helps"]  # The rule requires that less than 60 % of the CPUs are used.
    found = of_host(rule, sheet, cpu_utilization=estimate(0.59, 0.06))
    assert (found.verdict, found.answer.text) == ("cannot_be_told", "yes or no")
    assert found.why == "whether the rule says yes depends on the value within the interval of cpu"
    assert of_host(rule, sheet, cpu_utilization=estimate(0.50, 0.06)).answer.text == "yes"


@pytest.mark.parametrize("used", [1.99, 2.003])
def test_a_host_that_is_full_differs_however_its_counters_round(used: float) -> None:
    idle = _idle(Estimate(used, used - 0.013, used + 0.013), 2)
    found = of_host(SHIPPED["host_headroom_for_virtual_io"], {"guests.cpus": "4"}, idle_cpus=idle, cpus=2)
    assert found.verdict == "differs"


def test_a_condition_that_holds_in_the_middle_only_is_found() -> None:
    """A CPU utilization from 16 to 24 % follows the rule. The measured 30 % and the ends of its interval, 10 and 50 %,
    do not.
    """
    rule = SHIPPED["mail_server_cpu"]
    facts = measured(COMMON, {"load.users": 100, "host.cpu_utilization": estimate(0.30, 0.20)}, "test")
    written = {"host.mail_rating": Fact("host.mail_rating", "350 MCU", "sheet", ("sheet.yaml", 1, 1))}
    (found,) = advise({rule.name: rule}, Situation("here", "one run", {**facts, **written}, {}))
    assert (found.verdict, found.why) == (
        "cannot_be_told", "whether the rule is followed depends on the value within the interval of cpu",
    )  # fmt: skip


def test_a_verdict_on_a_value_without_an_interval_says_so() -> None:
    rule = SHIPPED["cpu_utilization"]
    bare = measured(OF_A_TIER, {"cpus": 1, "cpu_utilization": 0.69}, "test")
    (found,) = advise({rule.name: rule}, Situation("here", "one run", {}, {"web": ("httpd", bare)}))
    assert (found.verdict, found.why) == ("follows", "the interval of utilization is unknown")
    known = measured(OF_A_TIER, {"cpus": 1, "cpu_utilization": estimate(0.60, 0.05)}, "test")
    (found,) = advise({rule.name: rule}, Situation("here", "one run", {}, {"web": ("httpd", known)}))
    assert (found.verdict, found.why) == ("follows", "")


def test_the_reason_names_the_input_that_decides(tmp_path: Path) -> None:
    """Only the interval of the throughput makes the verdict uncertain, so the reason names only the throughput."""
    found = advice(own_rule(tmp_path), estimate(105, 8), estimate(0.010, 0.0001))
    assert found.why == "whether the rule applies depends on the value within the interval of throughput"
    assert not any(line.name == "follows" for line in found.answer.lines)


def test_the_table_shows_rules_left_open_and_counts_those_that_lack_inputs(tmp_path: Path) -> None:
    situation = Situation("here", "one run", {}, {})
    left_open = advice(own_rule(tmp_path), estimate(95, 8), 0.010)
    lacks = advice(own_rule(tmp_path), estimate(120, 8), None)
    lines = list(advice_lines(situation, [left_open, lacks], everything=False))
    assert any("whether the rule applies depends" in line for line in lines)
    assert "  and 1 other rule (--all lists them)" in lines
    assert lacks.verdict == "cannot_be_told"
    assert "demand is not known" in lacks.why


def test_a_law_between_figures_of_one_window_is_judged_on_these_figures(tmp_path: Path) -> None:
    rule = load_rules()["utilization_law"]
    common, services = facts(estimate(200, 40), estimate(0.010, 0.001), 4)
    services["web"][1].update(measured(OF_A_TIER, {"cpus": 4, "cpu_utilization": estimate(0.5, 0.1)}, "test"))
    (found,) = advise({rule.name: rule}, Situation("here", "one run", common, services))
    assert (found.verdict, found.answer.text) == ("follows", "50 %")


@pytest.mark.waits
@pytest.mark.parametrize("dependence", [-1.0, 0.0, 0.7, 1.0])
def test_the_interval_of_a_result_covers_as_often_as_those_of_its_inputs(tmp_path: Path, dependence: float) -> None:
    """The 95 % interval of the product of two measured means must contain the true product in at least 94 % of the
    simulated rounds.
    """
    rule, random = own_rule(tmp_path), np.random.default_rng(2)
    rounds, error = 2000, 0.03
    first, other = random.standard_normal((2, rounds))
    second = dependence * first + np.sqrt(1 - dependence**2) * other
    hits = 0
    for drawn in zip(100 * (1 + error * first), 0.01 * (1 + error * second), strict=True):
        given = dict(zip(("throughput", "demand"), drawn, strict=True))
        half = {"throughput": 1.96 * error * 100, "demand": 1.96 * error * 0.01}
        ends = {name: (value - half[name], value + half[name]) for name, value in given.items()}
        reached = reach(rule, given, ends, ("throughput", "demand")).ends
        assert reached is not None
        hits += reached[0] <= 1.0 <= reached[1]
    assert hits / rounds >= 0.94


def span(rule: Rule, name: str, value: float) -> tuple[float, float] | None:
    """Return 80 % and 125 % of a value, each moved to the nearest value that the rule allows. Return None if the rule
    allows none.
    """
    try:
        return rule.nearest(name, 0.8 * value), rule.nearest(name, 1.25 * value)
    except ModelError:
        return None


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_the_corners_of_the_intervals_are_the_extremes_of_every_shipped_rule(name: str) -> None:
    rule = SHIPPED[name]
    if rule.entry.identity or not rule.is_workable:
        return
    for example in rule.entry.examples:
        given = inputs_with_defaults(rule, {key: rule.read(key, value) for key, value in example.inputs.items()})
        numbers = {key: value for key, value in given.items() if not isinstance(value, bool | str) and value > 0}
        measured_names = [
            key for key in numbers if rule.entry.inputs[key].binds or rule.entry.inputs[key].role == "seen"
        ]
        spans = {key: ends for key in measured_names if (ends := span(rule, key, numbers[key])) is not None}
        if not spans or len(spans) > 6:
            continue
        try:
            corners = [
                answer_rule(rule, {**given, **dict(zip(spans, corner, strict=True))})
                for corner in product(*spans.values())
            ]
            inside = [
                answer_rule(rule, {**given, **dict(zip(spans, point, strict=True))})
                for point in product(*(np.linspace(*ends, 4).tolist() for ends in spans.values()))
            ]
        except ModelError:
            continue
        values = [each.value for each in corners if each.value is not None and not isinstance(each.value, bool)]
        if values:
            low, high = min(values), max(values)
            slack = 1e-9 * max(abs(low), abs(high))
            assert all(low - slack <= found.value <= high + slack for found in inside if found.value is not None)
