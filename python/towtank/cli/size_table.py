"""Renders the output of `towtank size` as text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from towtank.cli.size_day_table import day_table
from towtank.cli.solve_table import number
from towtank.estimates import few_digits, interval_texts, relative_error
from towtank.sizing import (
    AnswerResult,
    CandidateResult,
    ClassResult,
    DateResult,
    ObjectiveResult,
    PoolResult,
    Rest,
    ScenarioResult,
    SizingResult,
    SpeedResult,
    TrustResult,
    WhatIfResult,
    busiest_text,
    chance_text,
    duration_text,
    expected_text,
    inputs_text,
    limit_text,
    load_text,
    missed_from_text,
    never_text,
    number_text,
    rate_text,
    response_text,
    share_text,
    size_text,
    step_text,
)

# Smallest utilization that is rendered as 100 % with one decimal place. [ratio]
_FULLY = 0.9995


def size_parts(result: SizingResult, *, explain: bool) -> Iterator[RenderableType]:
    """Render the result of a sizing: hardware, reasons against cheaper candidates, bottlenecks, and evidence."""
    yield _question(result)
    answer = result.answer
    if answer is None:
        yield from _nothing(result)
    else:
        yield f"answer: {answer.configuration}, {cost(result, answer)}"
        yield _tiers(answer)
        yield _scenarios(answer)
        yield from _sentences(result, answer)
        yield _others(result)
    if result.profile is not None:
        yield from day_table(result.profile, result.cost_unit)
    if result.what_if:
        yield _what_if(result)
    if result.dates:
        yield _dates(result)
    if explain:
        yield from _steps(result)
    yield from _trust(result.trust)


def cost(result: SizingResult, row: CandidateResult) -> str:
    """Render the cost of a hardware candidate: a price, a capacity or a number of CPUs."""
    what = {"price": "price", "capacity": "capacity", "CPUs": "in all"}[result.cost_by]
    return f"{what} {number(row.cost)} {result.cost_unit}"


def _question(result: SizingResult) -> str:
    load, grown = result.load, result.load_interval
    parts = [f"{number_text(n, grown.get(name))} users of {name}" for name, n in load.users.items()]
    parts += [f"{rate_text(n, grown.get(name))} of {name}" for name, n in load.rate_per_s.items()]
    asked = [
        *result.objectives,
        *(f"{name} used at most {share_text(share)}" for name, share in result.utilization_at_most.items()),
    ]
    lost = (
        f", even after the loss of {result.nodes_lost} of the nodes of any tier with several nodes"
        if result.nodes_lost
        else ""
    )
    return f"to serve: {', '.join(parts)}\nso that: {'; '.join(asked)}{lost}"


def _nothing(result: SizingResult) -> Iterator[str]:
    yield f"none of {result.search.candidates} candidates meets these requirements"
    cheaper, top = result.next_cheaper, result.strongest
    if cheaper is not None:
        yield f"  the most expensive candidate tried, {cheaper.configuration}: {'; '.join(cheaper.why_not)}"
    if top is not None:
        why = "; ".join(top.why_not) or "all requirements are met at the best estimate"
        yield f"  the strongest hardware in every tier, {top.configuration}: {why}"


def _tiers(answer: AnswerResult) -> Table:
    table = Table("tier", "nodes", "of", "speed", "utilization", "memory of a node")
    for name, tier in answer.tiers.items():
        unit = "CPU" if tier.kind == "cpu" else "disk"
        of = f"{tier.cpus} {unit}{'s' if tier.cpus != 1 else ''}"
        used = ", ".join(
            f"{station} {share_text(ratio or 0.0, tier.utilization_interval.get(station))}"
            for station, ratio in tier.utilization.items()
        )
        memory = "-" if tier.memory_bytes is None else size_text(tier.memory_bytes, tier.memory_interval)
        machine = f"{tier.machine}: {of}" if tier.machine else of
        table.add_row(name, str(tier.nodes), machine, speed(tier.speed), used, memory)
    return table


def speed(ratio: SpeedResult) -> str:
    """Render the speed ratio of two machines, with its confidence interval."""
    if ratio.low == ratio.high:
        return number(ratio.value)
    value, low, high = interval_texts(ratio.value, ratio.low, ratio.high)
    return f"{value} ({low} to {high})"


def _scenarios(answer: AnswerResult) -> Table:
    table = Table("nodes", "class", "throughput /s", "mean response", "objective", "value", "by")
    for scenario in answer.scenarios:
        lost = scenario.lost
        label = "all up" if lost is None else f"{lost.nodes} of {lost.tier} lost"
        rows = [(name, throughput(each), response_text(each)) for name, each in scenario.classes.items()]
        checks = [(each.objective, each.shown, _by(scenario, each)) for each in scenario.objectives]
        for place in range(max(len(rows), len(checks))):
            left = rows[place] if place < len(rows) else ("", "", "")
            right = checks[place] if place < len(checks) else ("", "", "")
            table.add_row(label if place == 0 else "", *left, *right)
    return table


def throughput(row: ClassResult) -> str:
    """Render the throughput of a class, with its confidence interval if known."""
    return number_text(row.throughput_per_s, row.throughput_interval)


def _by(scenario: ScenarioResult, check: ObjectiveResult) -> str:
    if check.objective in (scenario.simulated or {}):
        return "simulated"
    if check.objective.startswith("p") or " wait " in check.objective:
        how = scenario.percentiles or ""
        return "exact" if how.startswith("exact") else "corrected" if "corrected" in how else "approximate"
    return "solved" if scenario.exact else "approximate"


def _sentences(result: SizingResult, answer: AnswerResult) -> Iterator[str]:
    search = result.search
    asked = f"asked: {100 * result.probability_asked:.3g} %"
    counted = result.trust.counted
    of = f"; it counts {' and '.join(counted)}" if counted else ""
    probability = "not known" if answer.probability is None else f"{chance_text(answer)} ({asked}{of})"
    yield f"probability that all requirements are met: {probability}"
    yield _carries(answer)
    for place, station in enumerate(result.bottlenecks):
        what = (
            "the bottleneck is"
            if place == 0
            else f"after doubling {result.bottlenecks[place - 1].station} the bottleneck is"
        )
        lost = f" (nodes of {station.lost} lost)" if station.lost else ""
        at = f"{number_text(station.load, station.load_interval, answer.load_unit)}{lost}"
        used = share_text(station.utilization, station.utilization_interval)
        used = "fully" if station.utilization > _FULLY else used
        yield f"  {what} {station.station}, used {used} at {at}"
    for neighbour in result.neighbours:
        why = "; ".join(neighbour.why_not) or "meets all requirements as well"
        yield f"one step cheaper, {neighbour.configuration}: {why}"
    if result.next_cheaper is not None:
        cheaper = result.next_cheaper
        yield f"next cheaper, {cheaper.configuration} ({cost(result, cheaper)}): {'; '.join(cheaper.why_not)}"
    yield from _resources(result, answer)
    yield (
        f"{search.candidates} candidates: {search.cut} dropped because one tier is too weak for any "
        f"choice of the other tiers, {search.passed_over} dropped because a stronger candidate misses "
        f"a requirement, {search.tried} solved, {search.simulated} simulated"
    )


def _carries(answer: AnswerResult) -> str:
    """Render the highest load at which the hardware meets the objectives, and the headroom; a note if nothing limits
    the load.
    """
    if answer.load_at_limit is None or answer.headroom is None:
        return str(answer.no_limit)
    spare = answer.headroom_interval
    to_spare = f"{few_digits(100 * answer.headroom)} %" if spare is None else share_text(answer.headroom, spare)
    load = carried(answer, answer.load_unit)
    return f"it serves {load} until {limited_by(answer)} is missed: headroom {to_spare}{_alone(answer)}"


def limited_by(answer: AnswerResult) -> str:
    """Render the kinds of requirements that can limit the load.

    A throughput objective never limits the load, since throughput rises with the load.
    """
    asked = any(objective.objective.startswith("throughput") for objective in answer.objectives)
    return "an objective of a time or a utilization" if asked else "an objective or a utilization"


def _alone(answer: AnswerResult) -> str:
    """Render the share of random samples in which only a throughput objective is missed."""
    missed, known = answer.throughput_missed, answer.throughput_missed_interval
    return (
        ""
        if missed is None
        else f"; only a throughput objective is missed in {share_text(missed, known)} of the random samples (draws)"
    )


def _resources(result: SizingResult, answer: AnswerResult) -> Iterator[str]:
    if result.connections:
        yield f"connections open: {number_text(result.connections, result.connections_interval)}"
    for name, pool in result.pools.items():
        yield f"pool {name}: no size found: {pool.why_not}" if pool.size is None else f"pool {name}: {_pool(pool)}"
    if answer.one_queue_bound is not None:
        ends = answer.one_queue_interval or {}
        best = ", ".join(
            f"{name} {duration_text(time, ends.get(name))}" for name, time in answer.one_queue_bound.items()
        )
        yield f"mean response time if all nodes shared one queue (ideal load balancer): {best}"


def _pool(pool: PoolResult) -> str:
    share = "" if pool.probability is None else f", allowed in {chance_text(pool)} of the draws"
    enough = "" if pool.size_at_best == pool.size else f", {pool.size_at_best} at the best estimate"
    where = f", sized with {pool.lost.nodes} of the nodes of {pool.lost.tier} lost" if pool.lost else ""
    return (
        f"{pool.size} for all nodes together (first guess {pool.first_guess}{enough})"
        f"{where}, {number_text(pool.held, pool.held_interval)} held, "
        f"mean wait {'(simulated) ' if pool.simulated else ''}{duration_text(pool.wait_s, pool.wait_interval)}, "
        f"allowed {duration_text(pool.wait_at_most_s)}{share}"
    )


def _others(result: SizingResult) -> Table:
    table = Table(
        "alternative",
        "cost",
        "objectives",
        "busiest",
        "probability",
        title="alternatives that no other candidate beats in all columns",
        title_justify="left",
    )
    for row in result.pareto:
        checks = ", ".join(each.shown for each in row.objectives) or "-"
        table.add_row(row.configuration, number(row.cost), checks, busiest_text(row.busiest), chance_text(row))
    return table


def _what_if(result: SizingResult) -> Table:
    table = Table(
        "what if", "hardware", "throughput /s", "mean response (95 %)", "objectives", "busiest", "carries", "met"
    )
    for row in result.what_if:
        if row.refused is not None:
            table.add_row(row.what_if, row.refused, "", "", "", "", "", "-")
            continue
        rates = ", ".join(map(throughput, row.classes.values())) or "-"
        times = ", ".join(map(response_text, row.classes.values())) or "-"
        checks = ", ".join(each.shown for each in row.objectives) or "-"
        most = busiest_text(row.busiest) if row.busiest.station else "-"
        met = "yes" if row.met else "no"
        share = "" if row.probability is None else f" ({chance_text(row)})"
        text, hardware = "\n  ".join([row.what_if, *row.notes]), f"{row.hardware}: {row.configuration}"
        table.add_row(text, hardware, rates, times, checks, most, carried(row, row.unit), met + share)
    return table


def carried(row: AnswerResult | WhatIfResult, unit: str) -> str:
    """Render the highest load at which the hardware meets the objectives, or `any load`."""
    return load_text(row.load_at_limit, row.load_at_limit_interval, unit)


def rests_text(rest: Rest) -> str:
    """Render an input of the sizing with its origin: measured, given by the user, or assumed."""
    counted = ", counted in the probability" if rest.counted else ""
    return f"{rest.part}: {rest.origin}{counted}: {rest.text}"


def _dates(result: SizingResult) -> Table:
    table = Table("when growth meets the limit", "limit", "chance of a miss above", "from", "expected on (95 %)")
    for row in result.dates:
        chance = f"{100 * row.chance:.3g} %"
        table.add_row(row.what, limit_text(row), chance, missed_from_text(row), expected_text(row) + _otherwise(row))
    return table


def _otherwise(row: DateResult) -> str:
    other = row.otherwise
    return f"; {other.expected_on or never_text(row)} by {other.trend} growth" if other else ""


def _steps(result: SizingResult) -> Iterator[str]:
    """Yield the calculation steps as lines, because a table would be too wide for a terminal."""
    yield "step by step:"
    for step in result.steps:
        yield f"  {step.step}: {step.formula} = {step_text(step)}"
        yield f"      {inputs_text(step.values)}  ({step.source})"


def _trust(trust: TrustResult) -> Iterator[str]:
    measured = trust.measured
    if measured is not None:
        low, high = measured.users
        times, known = trust.times_measured, trust.times_measured_interval
        where = "" if times is None else f": {number_text(times, known)} times the highest measured throughput"
        yield f"based on {measured.source}, {low:g} to {high:g} users, up to {rate_text(measured.throughput_per_s)}"
        yield f"  the load is {trust.range} the measurements{where}"
    if trust.model_why:
        yield f"  the model is a {trust.model}: {trust.model_why}"
    if trust.held_out_error is not None:
        error = relative_error(trust.held_out_error, trust.held_out_interval)
        yield f"the highest load, left out of the fit, was predicted with an error of {error}"
    for reason in (trust.no_interval, trust.no_limit_interval):
        if reason:
            yield f"no interval: {reason}"
    for part in trust.rests_on:
        yield f"  {rests_text(part)}"
    for assumption in trust.assumptions:
        yield f"  assumes that {assumption.assumes}; tested: {assumption.tested}"
    for text in trust.doubts:
        yield f"doubt: {text}"
