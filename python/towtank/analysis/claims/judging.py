"""Gives verdicts on the claims of a study: confirmed, refuted, undecided, or not testable.

A claim states a bound of a measured quantity. It is confirmed if the whole interval of the quantity lies on the claimed
side of the bound, and refuted if the whole interval lies on the opposite side. Otherwise it is undecided. Invalid runs
are not used. Suspect runs are used only if the other runs alone do not give the same answer; the verdict then lists the
suspect runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from pydantic import ValidationError

from towtank.analysis.claims import over_levels
from towtank.analysis.claims.needs import runs_needed
from towtank.analysis.claims.next_steps import REPEAT, is_ratio, reason_and_step
from towtank.analysis.claims.places import (
    INVALID_AND_SUSPECT,
    INVALID_ONLY,
    MISSING,
    Levels,
    NotRecoveredError,
    Places,
    UntestableError,
)
from towtank.analysis.statistics import difference_interval, ratio_interval, t_interval, total_interval
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.statistics.looks import FIRST, Looks
from towtank.analysis.statistics.run_to_run import ASSUMED_SHARE
from towtank.claim_words import ANSWERED
from towtank.digging import dig
from towtank.estimates import in_words
from towtank.study import (
    DIFFERENCE_MEASURE,
    RATIO_MEASURE,
    AtLevels,
    Claim,
    CourseMeasure,
    Measure,
    NumberBounds,
    PairMeasure,
    TrendDirection,
    ValueMeasure,
    read_holds,
    read_metric,
    unit_of_metric,
)

SCHEMA = "towtank/claims/1"
CLAIMS_FILE = "claims.json"
VERDICTS = ("confirmed", "refuted", "undecided", "not_testable")
LEVELS = "levels"
"""Name of the method that computes an interval from one value per combination of factor levels."""
# Recommended next steps for claims that are undecided or not testable.
_NO_RATIO = "claim a difference instead of the ratio"
OTHER_STUDY = "test the claim in a study of a system that meets its conditions"
# If a verdict depends on more suspect runs than this, the text states their number instead of their names. The list
# `suspect_runs` always contains all names. [1]
_NAMED_AT_MOST = 3
# Key of a claim with the consequence of each verdict.
_CONSEQUENCES = {"confirmed": "then", "refuted": "otherwise"}
_WORDS = {True: "confirmed", False: "refuted", None: "undecided"}
Json = Mapping[str, Any]


def judge(study: Json, runs: Sequence[Json]) -> dict[str, Any]:
    """Return verdicts on the claims of a study, based on the summaries of its runs.

    Parameters
    ----------
    study : dict
        Entry `study` of the manifest.
    runs : sequence of dict
        Summaries of the runs of the study.

    Returns
    -------
    dict
        Content of `claims.json`, as `docs/reference/claims.md` describes.
    """
    looks = looks_of(study)
    written = study.get("claims") or ()
    judged = [{**_soundly(claim, study, runs, looks)} for claim in written]
    for claim, found in zip(written, judged, strict=True):
        found |= {"follows": str(dig(claim, _CONSEQUENCES.get(dig(found, "verdict"), "")) or "")}
    return {
        "schema": SCHEMA,
        "study": study.get("name"),
        "preset": study.get("preset"),
        "counts": _counts(judged),
        "required": _counts([claim for claim in judged if claim["required"]]),
        "claims": judged,
    }


def _counts(judged: Sequence[Json]) -> dict[str, int]:
    return {verdict: sum(claim["verdict"] == verdict for claim in judged) for verdict in VERDICTS}


def run_to_run_of(study: Json) -> float:
    """Return the relative standard deviation between runs: the value in the study, or else the default. [1]"""
    declared = study.get("run_to_run")
    return float(declared) if isinstance(declared, int | float) else ASSUMED_SHARE


def looks_of(study: Mapping[str, object]) -> Looks | None:
    """Return the interim analyses of a study that adds runs until its claims are decided; None for any other study."""
    at_most = dig(study, "repeat", "at_most")
    return None if at_most is None else Looks(int(at_most))


def _soundly(
    written: Mapping[str, Any], study: Mapping[str, object], runs: Sequence[Mapping[str, Any]], looks: Looks | None
) -> Mapping[str, Any]:
    """Return the verdict on a claim. If the valid runs alone give the same verdict as all runs that are not invalid,
    suspect runs are not used.

    Otherwise the verdict depends on suspect runs. A doubt then states which verdict follows without these runs.

    Notes
    -----
    For the verdict without suspect runs, all blocks of runs are used, even blocks after the decision with all runs. A
    verdict is returned only if the test with all runs gives it, so errors do not become more frequent.
    """
    judged = _in_turn(written, study, runs, looks)
    suspects, verdict = dig(judged, "suspect_runs"), dig(judged, "verdict")
    if not suspects or verdict not in ANSWERED:
        return _leaning(judged, "")
    sound = _in_turn(written, study, runs, looks, INVALID_AND_SUSPECT)
    other = dig(sound, "verdict")
    if other == verdict:
        return sound
    without = f"; without {'it' if len(suspects) == 1 else 'them'} the claim"
    if other == "not_testable":
        return _leaning(judged, f"{without} cannot be tested" if len(dig(judged, "runs")) > len(suspects) else "")
    return _leaning(judged, f"{without} is {other}")


def _leaning(judged: Mapping[str, Any], without: str) -> Mapping[str, Any]:
    """Add a doubt to a verdict that names the suspect runs on which the verdict depends, followed by the text
    `without`.
    """
    suspects = dig(judged, "suspect_runs")
    if not suspects:
        return judged
    runs = f"the suspect run{'s' * (len(suspects) > 1)} {', '.join(suspects)}"
    named = runs if len(suspects) <= _NAMED_AT_MOST else f"{len(suspects)} suspect runs"
    return {**judged, "doubts": [f"it depends on {named}{without}", *dig(judged, "doubts")]}


def _in_turn(
    written: Mapping[str, Any],
    study: Mapping[str, object],
    runs: Sequence[Mapping[str, Any]],
    looks: Looks | None,
    excluded: tuple[str, ...] = INVALID_ONLY,
) -> dict[str, Any]:
    """Test a claim after each block of runs, and return the first verdict other than undecided.

    A block is one run of each combination of factor levels. `looks` gives the confidence of each of these interim
    analyses.
    """
    factors = dig(study, "factors") or ()
    alone = Places(factors, runs, run_to_run_of(study), excluded=excluded)
    if looks is None:
        return _judged(written, alone)
    block_of = {str(dig(run, "run")): int(dig(run, "repetition") or 1) for run in dig(study, "design") or ()}
    block_by_run = [(block_of.get(str(dig(run, "run")), 1), run) for run in runs]
    known = {str(dig(run, "run")) for run in runs}
    missing = {name: block for name, block in block_of.items() if name not in known}
    for block in looks.until(min(missing.values(), default=looks.at_most + 1) - 1):
        there = [run for number, run in block_by_run if number <= block]
        judged = _judged(written, replace(alone, runs=there, confidence=looks.confidence))
        if judged["verdict"] in ANSWERED:
            return {**judged, "decided_after": block}
    judged = _judged(written, replace(alone, confidence=looks.confidence))
    if judged["verdict"] in ANSWERED:
        judged |= {"verdict": "undecided", **_not_yet(missing)}
    return judged


def _not_yet(missing: Mapping[str, int]) -> dict[str, str]:
    """Return why the blocks of runs so far give no verdict on a claim, and the next step.

    `missing` maps the name of each run without a summary to the number of its block.
    """
    early = sorted(name for name, block in missing.items() if block <= FIRST)
    if not early:
        return {"why": f"it is tested only after run {FIRST} of each combination", "do": REPEAT}
    return {"why": f"runs of the first blocks have no summary: {', '.join(early)}", "do": MISSING}


def of_manifest(manifest: Json, runs: Sequence[Json]) -> dict[str, Any] | None:
    """Return verdicts on the claims in the manifest of a results folder; None if the study has no claims. `runs` are
    the summaries of its runs.
    """
    study = manifest.get("study")
    if not isinstance(study, Mapping) or not study.get("claims"):
        return None
    return judge(study, [run for run in runs if run.get("status") != "planned"])


def _judged(written: Json, unused: Places) -> dict[str, Any]:
    """Test a claim with the given runs. `unused` contains no run that is marked as used."""
    places = replace(unused, used={}, left_out=[])
    try:
        claim = Claim.model_validate(written)
    except ValidationError:
        why = "this version of Towtank cannot read the format of the claim"
        head: dict[str, Any] = {"says": str(written.get("says")), "source": str(written.get("source"))}
        head |= {"differs": str(dig(written, "differs") or ""), "required": written.get("required") is True}
        return {
            **head,
            **_blank("not_testable", why, "rewrite the claim in the format that this version of Towtank reads"),
        }
    head = {"says": claim.says, "source": claim.source, "differs": claim.differs or "", "required": claim.required}
    if claim.measure is None or claim.holds is None:
        return {**head, **_blank("not_testable", str(claim.not_testable), OTHER_STUDY)}
    asked = {"asks": words_of(claim.measure), "holds": claim.holds, "measure": claim.document()["measure"]}
    try:
        found = _measured(claim.measure, claim.holds, places)
    except UntestableError as fault:
        return {**head, **_blank("not_testable", str(fault), fault.remedy), **asked}
    verdict = _WORDS[found.pop("verdict")]
    why, remedy = reason_and_step(claim.measure, verdict, found, places, found.pop("why", ""))
    return {
        **head,
        **_blank(verdict, why, remedy),
        "doubts": _doubts(places),
        **asked,
        "unit": _unit(claim.measure),
        **found,
        "assumed_run_to_run": places.run_to_run if places.assumed else None,
        "runs": sorted(places.used),
        "suspect_runs": places.suspects,
        "left_out": places.left_out,
    }


def _doubts(places: Places) -> list[str]:
    """Return reasons to doubt a verdict, except suspect runs: values from single runs, and runs that were not used."""
    found = []
    if places.assumed and places.run_to_run:
        found.append(
            f"values of single runs, with an assumed standard deviation of {100 * places.run_to_run:g} % between runs"
        )
    return [*found, *(f"left out, {why}" for why in places.left_out)]


def _blank(verdict: str, why: str, remedy: str) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "why": why,
        "do": remedy,
        "doubts": [],
        "asks": "",
        "holds": "",
        "measure": None,
        "unit": "",
        "measured": None,
        "compared": [],
        "found": None,
        "may_be": [],
        "levels": [],
        "assumed_run_to_run": None,
        "runs": [],
        "suspect_runs": [],
        "left_out": [],
        "decided_after": None,
        "needs_runs": None,
        "needs_at_least": None,
    }


def _measured(measure: Measure, holds: str, places: Places) -> dict[str, Any]:
    wanted, given = read_holds(measure.kind, holds, _unit(measure)), measure.given
    if isinstance(given, CourseMeasure):
        if isinstance(wanted, TrendDirection):
            return over_levels.trend(given, wanted, places, _unit(measure))
        assert isinstance(wanted, AtLevels)
        return over_levels.extreme(measure.kind, given, wanted, places)
    assert isinstance(wanted, NumberBounds)
    return _numbers(measure.kind, given, places, wanted)


def _unit(measure: Measure) -> str:
    """Return the unit of a measured quantity; empty for a ratio."""
    return "" if is_ratio(measure) else unit_of_metric(read_metric(measure.given.of))


def _numbers(kind: str, given: ValueMeasure | PairMeasure, places: Places, wanted: NumberBounds) -> dict[str, Any]:
    """Test a claim about a value, ratio or difference, at each combination of factor levels and for the mean over all
    combinations.

    Notes
    -----
    A claim is confirmed if it holds significantly at each combination, and refuted if it is violated significantly at
    one combination or more. Otherwise the mean over the combinations decides. The confidence is 95 % for all
    combinations together (Bonferroni).
    """
    blocks = list(_blocks(given, places))
    if len(blocks) == 1:
        if not isinstance(given, PairMeasure):
            return _by_bounds(_there(kind, given, blocks[0], places), wanted, _combinations(given))
        sides = _sides(kind, given, blocks[0], places)
        judged = _by_bounds(_compared(kind, given, sides), wanted, _combinations(given))
        return {**judged, "compared": [side.document() for side in sides]}
    found = _at_levels(kind, given, blocks, places)
    mean = _mean(kind, [estimate.value for _, estimate in found if estimate.value is not None], places.confidence)
    mean = _read_to(mean, max(estimate.resolution for _, estimate in found))
    entry = {"measured": mean.document()}
    for block, estimate in found:
        wide = estimate.at(1 - (1 - estimate.confidence) / len(found))
        if wanted.verdict(wide.low, wide.high) is False:
            text = in_words(estimate.value or 0.0, estimate.low or 0.0, estimate.high or 0.0)
            return {**entry, "verdict": False, "why": f"at {_place(block)} the quantity is {text}"}
    if all(wanted.verdict(estimate.low, estimate.high) for _, estimate in found):
        return {**entry, "verdict": True}
    return {**entry, "verdict": wanted.verdict(mean.low, mean.high)}


def _combinations(given: ValueMeasure | PairMeasure) -> int | None:
    """Return the number of combinations of factor levels that a claim compares; None for a total.

    The summands of a total may have different variances, so no number of runs can be derived.
    """
    return None if given.total_over else 1 if isinstance(given, ValueMeasure) else 2


def _by_bounds(estimate: Estimate, wanted: NumberBounds, combinations: int | None) -> dict[str, Any]:
    """Test a claim about a quantity at a single combination of factor levels."""
    verdict = wanted.verdict(estimate.low, estimate.high)
    judged = {"verdict": verdict, "measured": estimate.document()}
    if verdict is not None or combinations is None:
        return judged
    needs = runs_needed(estimate, wanted, combinations)
    if needs is None:
        return judged
    return {**judged, "needs_runs": needs.probably, "needs_at_least": needs.at_least}


def _at_levels(
    kind: str, given: ValueMeasure | PairMeasure, blocks: Sequence[Levels], places: Places
) -> list[tuple[Levels, Estimate]]:
    found: list[tuple[Levels, Estimate]] = []
    reasons: list[UntestableError] = []
    for block in blocks:
        try:
            found.append((block, _in_block(kind, given, block, places)))
        except NotRecoveredError:
            raise
        except UntestableError as why:
            reasons.append(why)
    if len(found) < 2:
        more = f"; {len(reasons) - 1} more combinations cannot be used" if len(reasons) > 1 else ""
        raise UntestableError(str(reasons[0]) + more, reasons[0].remedy)
    places.left_out += map(str, reasons)
    return found


def _blocks(given: ValueMeasure | PairMeasure, places: Places) -> Iterator[Levels]:
    """Yield each combination of the factor levels that a claim names. The factor over which a total is summed is not
    included.
    """
    named = {factor: written for factor, written in given.at.items() if factor != given.total_over}
    levels = {factor: places.resolved(factor, written) for factor, written in named.items()}
    for chosen in product(*levels.values()):
        yield dict(zip(levels, chosen, strict=True))


def _in_block(kind: str, given: ValueMeasure | PairMeasure, at: Levels, places: Places) -> Estimate:
    if not isinstance(given, PairMeasure):
        return _there(kind, given, at, places)
    return _compared(kind, given, _sides(kind, given, at, places))


def _sides(kind: str, given: PairMeasure, at: Levels, places: Places) -> tuple[Estimate, Estimate]:
    """Return the quantity of a claim at one combination of factor levels, and at the one to compare with."""
    other = {**at, **places.one_place(given.to)}
    return _there(kind, given, at, places), _there(kind, given, other, places)


def _compared(kind: str, given: PairMeasure, sides: tuple[Estimate, Estimate]) -> Estimate:
    here, there = sides
    made = difference_interval(here, there) if kind == DIFFERENCE_MEASURE else ratio_interval(here, there)
    if made.value is None:
        raise UntestableError(f"{given.of} is zero in the denominator of the ratio", _NO_RATIO)
    return made


def _there(kind: str, given: ValueMeasure | PairMeasure, at: Levels, places: Places) -> Estimate:
    """Return the quantity of a claim at one combination of factor levels. For a total, return the sum over the levels
    of its factor.
    """
    factor = given.total_over
    if factor is None:
        return places.quantity(given.of, given.per, at)
    levels = places.resolved(factor, given.at[factor]) if factor in given.at else places.levels_of(factor)
    parts = [places.quantity(given.of, given.per, {**at, factor: level}) for level in levels]
    # Runs of one block have a common error, the speed of the machine. A ratio of two totals cancels this error.
    return total_interval(parts, independent=kind == RATIO_MEASURE)


def _mean(kind: str, values: Sequence[float], confidence: float) -> Estimate:
    """Return the mean of values, one value per combination of factor levels, with Student's t interval. Ratios have a
    geometric mean, computed from logarithms.
    """
    if kind != RATIO_MEASURE:
        return replace(t_interval(values, confidence), method=LEVELS)
    if min(values) <= 0:
        raise UntestableError("a ratio is zero or negative, so it has no logarithm", _NO_RATIO)
    logs = t_interval([math.log(value) for value in values], confidence)
    # For the type checker: `t_interval` returns a mean and an interval for two or more values.
    assert logs.value is not None and logs.low is not None and logs.high is not None
    return Estimate(math.exp(logs.value), math.exp(logs.low), math.exp(logs.high), LEVELS, logs.n, confidence)


def _read_to(mean: Estimate, resolution: float) -> Estimate:
    """Return a mean over combinations whose interval is longer by the resolution of the readings at both ends."""
    if not resolution or mean.low is None or mean.high is None:
        return mean
    return replace(mean, low=mean.low - resolution, high=mean.high + resolution, resolution=resolution)


def words_of(measure: Measure) -> str:
    """Render a measured quantity and the factor levels at which it was measured."""
    given = measure.given
    what = given.of + (f" per {given.per}" if given.per else "")
    if not isinstance(given, CourseMeasure) and given.total_over:
        what = f"total over {given.total_over} of {what}"
    at = _place(given.at)
    if isinstance(given, CourseMeasure):
        against = f", relative to {_place(given.to)}" if given.to else ""
        heads = {"trend": "trend of", "highest": "highest", "lowest": "lowest"}
        return f"{heads[measure.kind]} {what} over {given.over}{f' at {at}' if at else ''}{against}"
    if isinstance(given, PairMeasure):
        return f"{measure.kind} of {what}: {at or 'as it stands'} to {_place(given.to)}"
    return f"{what}{f' at {at}' if at else ''}"


def _place(place: Mapping[str, str | list[str]] | None) -> str:
    return ", ".join(
        f"{name} {level if isinstance(level, str) else ' and '.join(level)}" for name, level in (place or {}).items()
    )
