"""Records the calculation steps of a sizing answer, from the throughput of each class to the objectives."""

from __future__ import annotations

import math

from towtank.sizing.evaluate import Outcome, worst
from towtank.sizing.question import Check, Question
from towtank.sizing.resources import FIRST_GUESS_WAITS, square_root_staffing, staffing_factor
from towtank.sizing.search import Found
from towtank.sizing.settle import SizingProblem
from towtank.sizing.steps import Step, Steps
from towtank.sizing.tiers import Option, Tier

STAFFING = f"square-root staffing for a waiting probability of {100 * FIRST_GUESS_WAITS:.0f} % (Halfin and Whitt 1981)"


def answer_steps(settled: SizingProblem, answer: Found) -> None:
    """Append the calculation steps of a sizing answer to `settled.steps`."""
    question, steps = settled.question, settled.steps
    _throughputs(question, answer, steps)
    for tier, option in zip(question.tiers, answer.candidate, strict=True):
        for station in tier.stations:
            _station(question, answer, (tier, option, station), steps)
        cost = question.cost.of_option(option)
        values = {"nodes": option.nodes, f"{tier.unit}s": option.cpus, "speed": option.speed}
        source = "the cheapest candidate that meets all requirements"
        steps.add(Step(f"cost of {tier.name}", "found by search", values, cost, question.cost.unit, source))
    _objectives(question, answer, steps)


def _throughputs(question: Question, answer: Found, steps: Steps) -> None:
    normal, intervals = answer.outcomes[0], answer.intervals()
    for name, rate in normal.throughput.items():
        known = None if intervals is None else intervals.throughput.get(name)
        users = question.load.users.get(name)
        if users is None:
            steps.add(Step(f"throughput of {name}", "lambda", {"lambda": rate}, rate, "1/s", "all arrivals", known))
            continue
        values = {"N": math.ceil(users - 1e-9), "Z": question.load.think_s[name], "R": normal.response_s[name]}
        source = "response time law; R solved, users rounded up"
        steps.add(Step(f"throughput of {name}", "N / (Z + R)", values, rate, "1/s", source, known))


def _station(question: Question, answer: Found, at: tuple[Tier, Option, str], steps: Steps) -> None:
    """Add the calculation steps of a station: the offered work, a first estimate of the number of servers, and the
    utilization.
    """
    tier, option, station = at
    normal = answer.outcomes[0]
    used = normal.utilization.get(station, 0.0)
    work = used * option.nodes * option.cpus
    intervals = answer.intervals()
    known = None if intervals is None else intervals.utilization.get(station)
    busy = known and known.times(option.nodes * option.cpus)
    if question.basis.document.routing:
        values: dict[str, object] = {"U": used, "servers": option.nodes * option.cpus}
        source = "utilization, solved with the routing"
        steps.add(Step(f"work at {station}", "U servers", values, work, "erlang", source, busy))
    else:
        values = {"X": dict(normal.throughput), "D": _demands(question, station, option)}
        source = "utilization law; D of the model over the speed"
        steps.add(Step(f"work at {station}", "sum X D", values, work, "erlang", source, busy))
    guess = square_root_staffing(work) if work else 1
    values = {"a": work, "beta": staffing_factor(FIRST_GUESS_WAITS)}
    steps.add(Step(f"first guess for {station}", "ceil(a + beta sqrt(a))", values, guess, f"{tier.unit}s", STAFFING))
    values = {"a": work, "nodes": option.nodes, "servers": option.cpus}
    steps.add(Step(f"utilization of {station}", "a / (nodes servers)", values, used, "ratio", "utilization law", known))


def _demands(question: Question, station: str, option: Option) -> dict[str, float]:
    """Return the service demand of each class at a station on the chosen hardware, by class name. [s]"""
    services = question.basis.stations[station].services
    return {each.job_class: each.service_time_s * each.visits_or_one / option.speed for each in services}


def _objectives(question: Question, answer: Found, steps: Steps) -> None:
    """Add a calculation step for each objective, and one for the probability that all objectives hold.

    The objectives are evaluated in the scenario in which an objective is closest to its limit.
    """
    hardest = worst(question, answer.outcomes)
    lost = hardest.job.lost
    without = f" with {question.file.nodes_lost} of the nodes of {lost} lost" if lost else ""
    simulation = dict(zip((outcome.job.lost for outcome in answer.outcomes), answer.simulated, strict=False)).get(lost)
    for number, check in enumerate(question.checks):
        simulated = simulation is not None and number in simulation.values
        source = "simulated" if simulated else _worked_out(check, hardest)
        unit = check.unit
        formula = f"{check.objective.metric} {check.objective.comparison} limit"
        values = {"limit": check.objective.value}
        interval = hardest.interval(number, answer.intervals(lost))
        steps.add(Step(f"{check.text}{without}", formula, values, hardest.values[number], unit, source, interval))
    if answer.summary is not None:
        values = {"draws": len(question.draws), "asked": question.file.probability}
        formula, source = "draws that meet all requirements / draws", f"draws of {' and '.join(question.counted)}"
        share, interval = answer.summary.probability, answer.summary.probability_interval
        steps.add(Step("probability that all holds", formula, values, share, "ratio", source, interval))


def _worked_out(check: Check, outcome: Outcome) -> str:
    return outcome.method if check.is_percentile or check.is_wait else "solved" if outcome.exact else "approximate"
