"""Builds the blocks of the section on sizing: hardware, cheaper candidates, what-if cases, dates, steps of the
calculation, evidence.
"""

from __future__ import annotations

from towtank.report import format as people
from towtank.report.document import Block, Bullets, Callout, Table, headings, paragraph, text
from towtank.sizing import (
    AnswerResult,
    CandidateResult,
    DateResult,
    LostNodes,
    ObjectiveResult,
    PoolResult,
    ScenarioResult,
    SizedDay,
    SizingResult,
    SpeedResult,
    TierResult,
    TrustResult,
    WhatIfResult,
    busiest_text,
    chance_text,
    duration_text,
    expected_text,
    inputs_text,
    interval_load_text,
    limit_text,
    load_text,
    missed_from_text,
    number_text,
    rate_text,
    response_text,
    share_text,
    size_text,
    step_text,
)


def blocks_of(found: SizingResult) -> tuple[Block, ...]:
    """Build the blocks of the section on sizing."""
    blocks: list[Block] = [paragraph(_asked(found)), _answer(found)]
    if found.answer is not None:
        blocks += [_tiers(found.answer), _scenarios(found.answer), *_next(found, found.answer.load_unit), _front(found)]
        blocks += _pools(found.pools)
    blocks += _day(found.profile) if found.profile is not None else []
    blocks += [*_what_if(found.what_if), *_dates(found.dates), _steps(found), *_trust(found.trust)]
    return tuple(blocks)


def _asked(found: SizingResult) -> str:
    load, grown = found.load, found.load_interval
    loads = [f"{number_text(n, grown.get(name))} users of {name}" for name, n in load.users.items()]
    loads += [f"{rate_text(n, grown.get(name))} of {name}" for name, n in load.rate_per_s.items()]
    limits = [*found.objectives]
    limits += [f"{name} used at most {people.share(limit)}" for name, limit in found.utilization_at_most.items()]
    lost = ""
    if found.nodes_lost:
        lost = f", also if {people.plural(found.nodes_lost, 'node')} of any tier with several nodes fails"
    return f"To serve {people.listing(loads)}, such that {people.listing(limits)}{lost}."


def _answer(found: SizingResult) -> Block:
    answer = found.answer
    if answer is None:
        said = [text(f"None of {people.plural(found.search.candidates, 'candidate')} meets the objectives.")]
        top = found.strongest
        if top is not None:
            why = f"Even the strongest hardware for every tier, {top.configuration}, does not: {_why(top)}."
            said.append(text(why))
        return Callout("note", "No candidate is sufficient", tuple(said))
    sentence = (
        "The probability is not known."
        if answer.probability is None
        else f"All objectives are met with a probability of {chance_text(answer)}."
    )
    return Callout("note", answer.configuration, (text(f"{_cost(found, answer)}. {sentence} {_carries(answer)}"),))


def _carries(answer: AnswerResult) -> str:
    if answer.load_at_limit is None:
        return f"{str(answer.no_limit).capitalize()}."
    spare = share_text(answer.headroom, answer.headroom_interval)
    asked = any(objective.objective.startswith("throughput") for objective in answer.objectives)
    what = "a limit of a time or a utilization" if asked else "an objective"
    missed, known = answer.throughput_missed, answer.throughput_missed_interval
    alone = (
        ""
        if missed is None
        else f" In {share_text(missed, known)} of the random samples (draws), only a throughput objective is missed."
    )
    load = load_text(answer.load_at_limit, answer.load_at_limit_interval, answer.load_unit)
    return f"It serves {load} until {what} is missed: {spare} more than the requested load.{alone}"


def _cost(found: SizingResult, answer: AnswerResult) -> str:
    words = {
        "price": "The cheapest, at a price of",
        "capacity": "The smallest, with a capacity of",
        "CPUs": "The smallest, with",
    }
    return f"{words[found.cost_by]} {_count(answer.cost)} {found.cost_unit}"


def _count(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or float(value).is_integer() else f"{value:.4g}"


def _tiers(answer: AnswerResult) -> Table:
    columns = headings("Tier", "#Nodes", "Of", "#Speed of a CPU", "Utilization", "#Memory of a node")
    notes = ("Speed is the speed of one CPU relative to a measured CPU.",)
    rows = tuple(_tier(name, tier) for name, tier in answer.tiers.items())
    return Table("Hardware that serves the load", columns, rows, notes)


def _tier(name: str, tier: TierResult) -> tuple[str, ...]:
    of = people.plural(tier.cpus, "CPU" if tier.kind == "cpu" else "disk")
    used = ", ".join(
        f"{station} {share_text(ratio, tier.utilization_interval.get(station))}"
        for station, ratio in tier.utilization.items()
    )
    memory = people.ABSENT if tier.memory_bytes is None else size_text(tier.memory_bytes, tier.memory_interval)
    machine = f"{tier.machine}: {of}" if tier.machine else of
    return name, str(tier.nodes), machine, _speed(tier.speed), used, memory


def _speed(speed: SpeedResult) -> str:
    if speed.low == speed.high:
        return people.number(speed.value)
    return people.plain_estimate({"value": speed.value, "low": speed.low, "high": speed.high})


def _scenarios(answer: AnswerResult) -> Table:
    rows = tuple(
        (
            f"{_nodes(scenario.lost)} lost" if scenario.lost else "all up",
            name,
            rate_text(each.throughput_per_s, each.throughput_interval),
            response_text(each),
            *_objective(scenario, name),
        )
        for scenario in answer.scenarios
        for name, each in scenario.classes.items()
    )
    columns = headings("Nodes", "Class", "#Throughput", "#Mean response", "Objectives", "By")
    return Table("Performance at the requested load", columns, rows)


def _nodes(lost: LostNodes) -> str:
    return f"{lost.nodes} of {lost.tier}"


def _objective(scenario: ScenarioResult, name: str) -> tuple[str, str]:
    """Render the objectives of a class with their predicted values; also return the method of the prediction."""
    mine = [
        objective
        for objective in scenario.objectives
        if f" of {name} " in f"{objective.objective} " or " of " not in objective.objective
    ]
    sentence = "; ".join(f"{objective.objective}: {_value(objective)}" for objective in mine) or people.ABSENT
    if scenario.simulated:
        return sentence, "percentiles simulated"
    return sentence, scenario.percentiles or ("exact solution" if scenario.exact else "approximation")


def _value(objective: ObjectiveResult) -> str:
    if objective.shown:
        return objective.shown
    return (
        rate_text(objective.value) if objective.objective.startswith("throughput") else duration_text(objective.value)
    )


def _next(found: SizingResult, unit: str) -> list[Block]:
    """Build a list of the bottlenecks, and of the reasons why cheaper hardware does not suffice."""
    said, before = [], None
    for bottleneck in found.bottlenecks:
        what = f"If the servers of {before} are doubled, the next bottleneck is" if before else "The bottleneck is"
        used = share_text(bottleneck.utilization, bottleneck.utilization_interval)
        at = number_text(bottleneck.load, bottleneck.load_interval, unit)
        said.append(f"{what} {bottleneck.station}, used {used} at {at}.")
        before = bottleneck.station
    said += [f"One step cheaper, {other.configuration}: {_why(other)}." for other in found.neighbours]
    if found.next_cheaper is not None:
        cheaper = found.next_cheaper
        said.append(f"Next cheaper tested candidate, {cheaper.configuration}: {_why(cheaper)}.")
    return [Bullets(tuple(map(text, said)))] if said else []


def _why(neighbour: CandidateResult) -> str:
    return "; ".join(neighbour.why_not) or "would be sufficient, too"


def _front(found: SizingResult) -> Table:
    rows = tuple(
        (
            candidate.configuration,
            _count(candidate.cost),
            "; ".join(map(_value, candidate.objectives)) or people.ABSENT,
            busiest_text(candidate.busiest),
            people.ABSENT if candidate.probability is None else chance_text(candidate),
        )
        for candidate in found.pareto
    )
    columns = headings("Configuration", f"#Cost | {found.cost_unit}", "#Objectives", "Busiest", "#Probability")
    return Table(
        "Candidates that no other candidate surpasses in cost, objectives and headroom together", columns, rows
    )


def _pools(pools: dict[str, PoolResult]) -> list[Block]:
    if not pools:
        return []
    rows = tuple(
        (
            f"{name}, {_nodes(pool.lost)} lost" if pool.lost else name,
            str(pool.size or people.ABSENT),
            str(pool.first_guess),
            number_text(pool.held, pool.held_interval),
            duration_text(pool.wait_s, pool.wait_interval) if pool.size else pool.why_not,
        )
        for name, pool in pools.items()
    )
    columns = headings("Pool", "#Size", "#First guess", "#Held on average", "#Mean wait")
    notes = (
        "The first guess is computed by square-root staffing. The size is the smallest size with a permitted mean "
        "wait, as computed by the model, in the scenario with the highest demand.",
        "The size of a pool is the sum over all nodes.",
    )
    return [Table("Pools", columns, rows, notes)]


def _what_if(scenarios: tuple[WhatIfResult, ...]) -> list[Block]:
    if not scenarios:
        return []
    columns = headings("What if", "#Throughput", "#Mean response", "#Objectives", "#Highest load", "Met")
    notes = (
        "Draws are random samples of the uncertain values, such as demands. Brackets contain 95 % of the draws.",
        "The share after yes or no is that of the draws that meet all objectives, with its sampling error.",
    )
    return [Table("What if", columns, tuple(map(_changed, scenarios)), notes)]


def _changed(case: WhatIfResult) -> tuple[str, ...]:
    if case.refused is not None:
        return case.what_if, case.refused, *[people.ABSENT] * 4
    of = [f"Of {case.hardware}, {case.configuration}"] if case.hardware is not None else []
    classes = case.classes.values()
    return (
        ". ".join([case.what_if, *of, *case.notes]),
        "; ".join(rate_text(each.throughput_per_s, each.throughput_interval) for each in classes) or people.ABSENT,
        "; ".join(map(response_text, classes)) or people.ABSENT,
        "; ".join(each.shown for each in case.objectives) or people.ABSENT,
        load_text(case.load_at_limit, case.load_at_limit_interval, case.unit),
        ("yes" if case.met else "no") + ("" if case.probability is None else f" ({chance_text(case)})"),
    )


def _day(day: SizedDay) -> list[Block]:
    """Build the table of hardware by interval of the day."""
    rows = tuple(
        (
            part.interval,
            interval_load_text(part, day.load_unit),
            part.configuration or f"none: {people.listing([*part.why_not])}",
            "; ".join(part.objectives) or people.ABSENT,
            people.ABSENT if part.probability is None else share_text(part.probability),
        )
        for part in day.intervals
    )
    columns = headings("Interval", "#Load", "Hardware", "#Objectives", "#Probability")
    notes = ("Each interval is sized as if its load lasted.",)
    return [Table("Hardware by interval of the day", columns, rows, notes)]


def _dates(dates: tuple[DateResult, ...]) -> list[Block]:
    if not dates:
        return []
    rows = tuple((date.what, limit_text(date), missed_from_text(date), expected_text(date)) for date in dates)
    columns = headings(
        "Hardware",
        "#Limit",
        f"Chance of a miss above {people.share(dates[0].chance)} from",
        "Expected to be reached on",
    )
    return [Table("Dates on which a limit is reached", columns, rows)]


def _steps(found: SizingResult) -> Table:
    rows = tuple(
        (step.step, step.formula, inputs_text(step.values), step_text(step), step.source) for step in found.steps
    )
    columns = headings("Step", "Formula", "With", "#Value", "Source")
    return Table("Steps of the calculation", columns, rows)


def _trust(trust: TrustResult) -> list[Block]:
    """Build a list of the evidence for the sizing, such as inputs, assumptions and doubts."""
    items = []
    measured, times = trust.measured, trust.times_measured
    if measured is not None:
        low, high = measured.users
        asked = "" if times is None else number_text(times, trust.times_measured_interval)
        more = "" if times is None else f"; the requested load is {asked} times the highest measured throughput"
        items.append(f"Measured from {low:g} to {high:g} users, up to {rate_text(measured.throughput_per_s)}{more}.")
    if trust.model_why:
        items.append(f"The model is the {trust.model}: {trust.model_why}.")
    if trust.held_out_error is not None:
        error = people.signed_estimate(trust.held_out_error, trust.held_out_interval)
        items.append(f"The highest load, left out of the fit, was predicted with an error of {error}.")
    items += [f"No interval: {why}." for why in (trust.no_interval, trust.no_limit_interval) if why]
    items += [
        f"{ground.part.capitalize()}: {ground.origin}"
        f"{', counted in the probability' if ground.counted else ''}: {ground.text}."
        for ground in trust.rests_on
    ]
    items += [f"Assumes that {assumption.assumes}. Tested: {assumption.tested}." for assumption in trust.assumptions]
    items += [f"Doubt: {doubt}." for doubt in trust.doubts]
    return [paragraph("Evidence for this sizing:"), Bullets(tuple(map(text, items)))]
