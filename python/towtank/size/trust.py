"""How far an answer may be trusted, and when there is none because it would be a guess."""

from __future__ import annotations

from typing import Any

from towtank.errors import MeasurementError
from towtank.model.percentiles import EXACT
from towtank.model.stations import servers_of
from towtank.size.evaluate import CORRECTED, Job, outcomes
from towtank.size.growth import Growing
from towtank.size.question import Question
from towtank.size.search import Found, Search

Json = dict[str, Any]
FARTHEST_THROUGHPUT = 10.0
"""Times the highest throughput measured beyond which nothing is sized: a rule of ours, not a law. What a system does
at ten times the work anyone saw (locks, garbage collection, network) is not in its demands. [ratio]"""
FARTHEST_CPUS = 4.0
"""Times the CPUs measured beyond which contention between them is a doubt that is told. [ratio]"""


def refuse_a_guess(question: Question, *, beyond: bool) -> None:
    """Refuse a load far outside of what was measured.

    Raises
    ------
    MeasurementError
        With the range and the load.
    """
    fitted = question.basis.fitted
    if fitted is None or beyond:
        return
    strongest = tuple(tier.strongest for tier in question.tiers)
    asked = sum(outcomes(question, [Job(strongest, question.load)])[0].throughput.values())
    if asked > FARTHEST_THROUGHPUT * fitted.throughput:
        raise MeasurementError(
            f"the load asks for {asked:.4g} /s, {asked / fitted.throughput:.3g} times the highest throughput measured "
            f"({fitted.throughput:.4g} /s); beyond {FARTHEST_THROUGHPUT:g} times it would be a guess",
            hint="measure at a higher load, or give --beyond to have the guess all the same",
        )


def trust(question: Question, search: Search, growing: Growing | None) -> Json:
    """What the answer rests on."""
    fitted = question.basis.fitted
    doubts = _doubts(question, search.answer, growing)
    found: Json = {"measured": None, "range": "unknown", "held_out_error": None, "assumptions": _assumptions(question),
                   "model": question.basis.kind, "model_why": question.basis.why or None}  # fmt: skip
    if fitted is not None:
        asked = sum(search.answer.outcomes[0].throughput.values()) if search.answer else None
        inside = asked is not None and asked <= fitted.throughput
        found |= {
            "measured": {"source": fitted.source, "users": fitted.users, "throughput_per_s": fitted.throughput},
            "range": "unknown" if asked is None else "inside" if inside else "beyond",
            "times_measured": None if asked is None else asked / fitted.throughput,
            "held_out_error": fitted.held_out_error,
            "verdict": fitted.verdict,
        }
    else:
        doubts.insert(0, "the model says nothing of a measurement: its numbers are taken as given")
    found["draws"] = len(question.draws)
    found["doubts"] = doubts
    return found


def _doubts(question: Question, answer: Found | None, growing: Growing | None) -> list[str]:
    told: list[str] = []
    fitted = question.basis.fitted
    if fitted is not None and fitted.verdict != "supported":
        told += question.basis.doubts or ["the points support the model only with doubts: see `towtank model fit`"]
    if not question.draws:
        told.append("how sure the demands are is not known, so neither is the probability: give `uncertainty`")
    if answer is not None:
        told += _doubts_of(question, answer)
    return told + (list(growing.notes) if growing is not None else [])


def _doubts_of(question: Question, answer: Found) -> list[str]:
    told = []
    stations = question.basis.stations
    for tier, one in zip(question.tiers, answer.candidate, strict=True):
        measured = max(servers_of(stations[name]) or 1 for name in tier.stations)
        if one.cpus > FARTHEST_CPUS * measured:
            told.append(
                f"{tier.name}: {one.cpus} {tier.unit}s in a node are {one.cpus / measured:.3g} times the {measured} "
                f"of the model: contention between them is not in its demands"
            )
        if question.file.nodes_lost and not tier.scales:
            told.append(f"{tier.name} has one node: what holds with nodes lost does not cover the loss of this one")
    first = answer.outcomes[0]
    if not first.exact:
        told.append("the network has no exact solution: the answer rests on an approximation")
    simulated = any(one is not None for one in answer.simulated)
    if first.method and first.method not in (EXACT, CORRECTED) and not simulated:
        told.append(f"percentiles are approximate ({first.method}) and were not simulated")
    return told


def _assumptions(question: Question) -> list[Json]:
    known = list(question.basis.assumptions) or [
        {"assumes": "demands do not depend on the load", "tested": "no: they come from a model file"}
    ]
    several = any(tier.scales for tier in question.tiers)
    if several:
        known.append(
            {
                "assumes": "the balancer sends every visit to each node with the same probability",
                "tested": "no: one that looks at the queues does better",
            }
        )
    percentiles = [check for check in question.checks if check.is_percentile]
    corrected = [check for check in percentiles if question.basis.correction(check.name) is not None]
    if corrected:
        told = ", ".join(f"{check.name} {question.basis.correction(check.name):.2g}" for check in corrected)
        known.append(
            {
                "assumes": f"percentiles are those worked out, times measured over worked-out 95th percentiles: {told}",
                "tested": "at the levels measured",
            }
        )
    if len(corrected) < len(percentiles):
        known.append(
            {"assumes": "service times vary as the model says: exponentially, where it says nothing", "tested": "no"}
        )
    return known
