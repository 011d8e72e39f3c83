"""The answer to a sizing: found, explained step by step, with what would be next and how far it may be trusted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from towtank.model import solve_models
from towtank.model.stations import stations_of
from towtank.size.answer_steps import answer_steps
from towtank.size.basis import Basis
from towtank.size.capacity import Bottleneck, bottlenecks, limits
from towtank.size.dates import dates
from towtank.size.documents import answer_document, other_document, rejected_document
from towtank.size.network import Layout, on_layouts
from towtank.size.resources import connections, memory_of, pool_size
from towtank.size.search import Found, Search, neighbours, search, strongest
from towtank.size.settle import Settled, settle
from towtank.size.sizing_file import SizingFile
from towtank.size.steps import Step
from towtank.size.trust import no_probability, refuse_a_guess, trust, without_draws
from towtank.size.what_if_rows import read_questions, rows
from towtank.treecheck import Checked

SCHEMA = "towtank/size/1"
Json = dict[str, Any]


@dataclass(frozen=True)
class Manner:
    """How to look for the answer.

    Attributes
    ----------
    exhaustive : bool
        Try every candidate.
    simulation : bool
        Simulate percentiles near their limits.
    beyond : bool
        Answer far beyond the measurement.
    """

    exhaustive: bool = False
    simulation: bool = True
    beyond: bool = False


def size(basis: Basis, checked: Checked[SizingFile], folder: Path, manner: Manner | None = None) -> Json:
    """Size a model.

    Parameters
    ----------
    basis : Basis
        The model.
    checked : Checked of SizingFile
        What is asked, as read.
    folder : Path
        Files that the sizing file names are relative to it.
    manner : Manner, optional
        How to look.

    Returns
    -------
    dict
        As `docs/reference/size.md` describes; `answer` is null where nothing meets the objectives.

    Raises
    ------
    StudyError
        With every fault of what is asked.
    MeasurementError
        If the answer would be a guess.
    """
    how = manner or Manner()
    settled = settle(checked, basis, folder)
    asked = read_questions(settled.question, checked.tree)
    refuse_a_guess(settled.question, beyond=how.beyond)
    if no_probability(settled.question):
        settled = replace(settled, question=without_draws(settled.question))
    found = search(settled.question, exhaustive=how.exhaustive, simulation=how.simulation)
    next_ones = bottlenecks(settled.question, found.answer.candidate, found.answer.scales) if found.answer else []
    document = _head(settled, found)
    if found.answer is not None:
        document |= _answered(settled, found, found.answer, next_ones)
    return document | {
        "what_if": rows(settled.question, found.answer, asked),
        "dates": dates(settled, found.answer, next_ones),
        "trust": trust(settled, found),
        "steps": settled.steps.documents(),
    }


def _head(settled: Settled, found: Search) -> Json:
    question = settled.question
    return {
        "schema": SCHEMA,
        "title": question.file.title,
        "source": question.basis.source,
        "objectives": [check.text for check in question.checks],
        "utilization_at_most": dict(question.utilization),
        "nodes_lost": question.file.nodes_lost,
        "probability_asked": question.file.probability,
        "load": {
            "users": dict(question.load.users),
            "rate_per_s": dict(question.load.rate),
            "think_s": dict(question.load.think_s),
        },
        "start": settled.start.isoformat(),
        "start_is": settled.start_is,
        "cost_by": question.cost.by,
        "cost_unit": question.cost.unit,
        "search": {
            "candidates": found.candidates,
            "cut": found.cut,
            "passed_over": found.passed_over,
            "tried": found.tried,
            "simulated": found.simulations,
        },
        "answer": None,
        "next_cheaper": rejected_document(question, found),
        "strongest": None if found.answer else other_document(question, strongest(question)),
        "pareto": [],
        "bottlenecks": [],
        "connections": None,
        "pools": {},
    }


def _answered(settled: Settled, found: Search, answer: Found, next_ones: list[Bottleneck]) -> Json:
    """What is said of the answer; its steps go after those of the load."""
    question, normal = settled.question, answer.outcomes[0]
    answer_steps(settled, answer)
    memory = _memory(settled, answer)
    pools = {name: pool_size(question, name, one, normal, settled.steps) for name, one in question.file.pools.items()}
    open_ones = connections(question, normal)
    users = sum(question.load.users.values())
    values = {"users": users, "open classes": open_ones - users}
    settled.steps.add(
        Step("connections", "users + sum X (R + keep_alive) of open classes", values, open_ones, "1", "Little's law")
    )
    limit = limits(question, answer.candidate, scales=answer.scales)[0]
    document = answer_document(question, answer, memory, limit)
    document["one_queue_bound"] = _one_queue(settled, answer)
    ones = sorted([answer, *found.others], key=lambda one: question.cost.of(one.candidate))
    return {
        "answer": document,
        "neighbours": [other_document(question, one) for one in neighbours(question, answer, found.rejected)],
        "pareto": [other_document(question, one) for one in ones],
        "bottlenecks": [
            {"station": one.station, "utilization": one.utilization, "load_factor": one.limit,
             "load": one.limit * question.load.total[0], "lost": one.lost}
            for one in next_ones
        ],
        "connections": open_ones,
        "pools": {
            name: {"size": one.size, "held": one.work, "first_guess": one.first_guess,
                   "wait_s": one.wait_s, "wait_at_most_s": one.limit_s, "why_not": one.why_not}
            for name, one in pools.items()
        },
    }  # fmt: skip


def _memory(settled: Settled, answer: Found) -> dict[str, float]:
    """Memory of a node of each tier, in the scenario that needs most; its steps are noted. [byte]"""
    question, found = settled.question, {}
    for tier, one in zip(question.tiers, answer.candidate, strict=True):
        if tier.name not in question.file.memory:
            continue
        needs = [(memory_of(question, tier, one, each).total, place) for place, each in enumerate(answer.outcomes)]
        _, place = max(needs)
        found[tier.name] = memory_of(question, tier, one, answer.outcomes[place], settled.steps).total
    return found


def _one_queue(settled: Settled, answer: Found) -> dict[str, float] | None:
    """Mean response times if all nodes of a tier had one queue: the best that any balancer could do."""
    question = settled.question
    if all(one.nodes == 1 for one in answer.candidate):
        return None
    layouts = {
        name: Layout(1, one.nodes * one.cpus, one.speed)
        for tier, one in zip(question.tiers, answer.candidate, strict=True)
        for name in tier.stations
    }
    model = on_layouts(question.basis.document, layouts, question.load.changes())
    told = solve_models([model])[0].get("answer")
    if told is None:
        return None
    assert stations_of(told)
    return {name: one["response_time_s"] for name, one in told["classes"].items()}
