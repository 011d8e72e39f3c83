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

from pydantic import ValidationError

from towtank.analysis.claims import over_levels
from towtank.analysis.claims.needs import Needs, runs_needed
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
from towtank.analysis.claims.verdicts import ClaimVerdict, JudgedClaims, Tested
from towtank.analysis.factors import Factor
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics import difference_interval, ratio_interval, t_interval, total_interval
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.statistics.looks import FIRST, Looks
from towtank.analysis.statistics.run_to_run import ASSUMED_SHARE
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


def judge(study: Mapping[str, object], runs: Sequence[Mapping[str, object]]) -> JudgedClaims:
    """Return verdicts on the claims of a study, based on the summaries of its runs.

    Parameters
    ----------
    study : dict
        Entry `study` of the manifest.
    runs : sequence of dict
        Summaries of the runs of the study.
    """
    looks, read = looks_of(study), list(map(RunSummary.read, runs))
    judged = tuple(
        replace(_with_consequence(claim, _soundly(claim, study, read, looks)), number=number)
        for number, claim in enumerate(dig(study, "claims") or (), 1)
    )
    required = [claim for claim in judged if claim.required]
    return JudgedClaims(
        study=dig(study, "name"),
        preset=dig(study, "preset"),
        counts=_counts(judged),
        required=_counts(required),
        claims=judged,
    )


def _with_consequence(written: Mapping[str, object], judged: ClaimVerdict) -> ClaimVerdict:
    return replace(judged, follows=str(dig(written, _CONSEQUENCES.get(judged.verdict, "")) or ""))


def _counts(judged: Sequence[ClaimVerdict]) -> dict[str, int]:
    return {verdict: sum(claim.verdict == verdict for claim in judged) for verdict in VERDICTS}


def run_to_run_of(study: Mapping[str, object]) -> float:
    """Return the relative standard deviation between runs: the value in the study, or else the default. [1]"""
    declared = study.get("run_to_run")
    return float(declared) if isinstance(declared, int | float) else ASSUMED_SHARE


def looks_of(study: Mapping[str, object]) -> Looks | None:
    """Return the interim analyses of a study that adds runs until its claims are decided; None for any other study."""
    at_most = dig(study, "repeat", "at_most")
    return None if at_most is None else Looks(int(at_most))


def _soundly(
    written: Mapping[str, object],
    study: Mapping[str, object],
    runs: Sequence[RunSummary],
    looks: Looks | None,
) -> ClaimVerdict:
    """Return the verdict on a claim. If the valid runs alone give the same verdict as all runs that are not invalid,
    suspect runs are not used.

    Otherwise the verdict depends on suspect runs. A doubt then states which verdict follows without these runs.

    Notes
    -----
    For the verdict without suspect runs, all blocks of runs are used, even blocks after the decision with all runs. A
    verdict is returned only if the test with all runs gives it, so errors do not become more frequent.
    """
    judged = _in_turn(written, study, runs, looks)
    suspects = judged.suspect_runs
    if not suspects or not judged.is_answered:
        return _leaning(judged, "")
    sound = _in_turn(written, study, runs, looks, INVALID_AND_SUSPECT)
    if sound.verdict == judged.verdict:
        return sound
    without = f"; without {'it' if len(suspects) == 1 else 'them'} the claim"
    if sound.verdict == "not_testable":
        return _leaning(judged, f"{without} cannot be tested" if len(judged.runs) > len(suspects) else "")
    return _leaning(judged, f"{without} is {sound.verdict}")


def _leaning(judged: ClaimVerdict, without: str) -> ClaimVerdict:
    """Add a doubt to a verdict that names the suspect runs on which the verdict depends, followed by the text
    `without`.
    """
    suspects = judged.suspect_runs
    if not suspects:
        return judged
    runs = f"the suspect run{'s' * (len(suspects) > 1)} {', '.join(suspects)}"
    named = runs if len(suspects) <= _NAMED_AT_MOST else f"{len(suspects)} suspect runs"
    return replace(judged, doubts=(f"it depends on {named}{without}", *judged.doubts))


def _in_turn(
    written: Mapping[str, object],
    study: Mapping[str, object],
    runs: Sequence[RunSummary],
    looks: Looks | None,
    excluded: tuple[str, ...] = INVALID_ONLY,
) -> ClaimVerdict:
    """Test a claim after each block of runs, and return the first verdict other than undecided.

    A block is one run of each combination of factor levels. `looks` gives the confidence of each of these interim
    analyses.
    """
    factors = list(map(Factor.read, dig(study, "factors") or ()))
    alone = Places(factors, runs, run_to_run_of(study), excluded=excluded)
    if looks is None:
        return _judged(written, alone)
    block_of = {str(dig(run, "run")): int(dig(run, "repetition") or 1) for run in dig(study, "design") or ()}
    block_by_run = [(block_of.get(run.run, 1), run) for run in runs]
    known = {run.run for run in runs}
    missing = {name: block for name, block in block_of.items() if name not in known}
    for block in looks.until(min(missing.values(), default=looks.at_most + 1) - 1):
        there = [run for number, run in block_by_run if number <= block]
        judged = _judged(written, replace(alone, runs=there, confidence=looks.confidence))
        if judged.is_answered:
            return replace(judged, decided_after=block)
    judged = _judged(written, replace(alone, confidence=looks.confidence))
    if not judged.is_answered:
        return judged
    why, remedy = _not_yet(missing)
    return replace(judged, verdict="undecided", why=why, do=remedy)


def _not_yet(missing: Mapping[str, int]) -> tuple[str, str]:
    """Return why the blocks of runs so far give no verdict on a claim, and the next step.

    `missing` maps the name of each run without a summary to the number of its block.
    """
    early = sorted(name for name, block in missing.items() if block <= FIRST)
    if not early:
        return f"it is tested only after run {FIRST} of each combination", REPEAT
    return f"runs of the first blocks have no summary: {', '.join(early)}", MISSING


def of_manifest(manifest: Mapping[str, object], runs: Sequence[Mapping[str, object]]) -> JudgedClaims | None:
    """Return verdicts on the claims in the manifest of a results folder; None if the study has no claims. `runs` are
    the summaries of its runs.
    """
    study = manifest.get("study")
    if not isinstance(study, Mapping) or not study.get("claims"):
        return None
    return judge(study, [run for run in runs if run.get("status") != "planned"])


def _judged(written: Mapping[str, object], unused: Places) -> ClaimVerdict:
    """Test a claim with the given runs. `unused` contains no run that is marked as used."""
    places = replace(unused, used={}, left_out=[])
    try:
        claim = Claim.model_validate(written)
    except ValidationError:
        return ClaimVerdict(
            says=str(written.get("says")),
            source=str(written.get("source")),
            differs=str(written.get("differs") or ""),
            required=written.get("required") is True,
            verdict="not_testable",
            why="this version of Towtank cannot read the format of the claim",
            do="rewrite the claim in the format that this version of Towtank reads",
        )
    head = ClaimVerdict(claim.says, claim.source, claim.differs or "", claim.required, "not_testable")
    if claim.measure is None or claim.holds is None:
        return replace(head, why=str(claim.not_testable), do=OTHER_STUDY)
    head = replace(head, asks=words_of(claim.measure), holds=claim.holds, measure=dig(claim.document(), "measure"))
    try:
        tested = _measured(claim.measure, claim.holds, places)
    except UntestableError as fault:
        return replace(head, why=str(fault), do=fault.remedy)
    return _tested(head, claim.measure, tested, places)


def _tested(head: ClaimVerdict, measure: Measure, tested: Tested, places: Places) -> ClaimVerdict:
    why, remedy = reason_and_step(measure, tested, places)
    needs = tested.needs or Needs()
    return replace(
        head,
        verdict=_WORDS[tested.holds],
        why=why,
        do=remedy,
        doubts=tuple(_doubts(places)),
        unit=_unit(measure),
        measured=tested.measured,
        compared=tested.compared,
        found=tested.found,
        may_be=tested.may_be,
        levels=tested.levels,
        assumed_run_to_run=places.run_to_run if places.assumed else None,
        runs=tuple(sorted(places.used)),
        suspect_runs=tuple(places.suspects),
        left_out=tuple(places.left_out),
        needs_runs=needs.probably,
        needs_at_least=needs.at_least,
    )


def _doubts(places: Places) -> list[str]:
    """Return reasons to doubt a verdict, except suspect runs: values from single runs, and runs that were not used."""
    found = []
    if places.assumed and places.run_to_run:
        found.append(
            f"values of single runs, with an assumed standard deviation of {100 * places.run_to_run:g} % between runs"
        )
    return [*found, *(f"left out, {why}" for why in places.left_out)]


def _measured(measure: Measure, holds: str, places: Places) -> Tested:
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


def _numbers(kind: str, given: ValueMeasure | PairMeasure, places: Places, wanted: NumberBounds) -> Tested:
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
        return replace(judged, compared=sides)
    found = _at_levels(kind, given, blocks, places)
    mean = _mean(kind, [estimate.value for _, estimate in found if estimate.value is not None], places.confidence)
    mean = _read_to(mean, max(estimate.resolution for _, estimate in found))
    for block, estimate in found:
        wide = estimate.at(1 - (1 - estimate.confidence) / len(found))
        if wanted.verdict(wide.low, wide.high) is False:
            text = in_words(estimate.value or 0.0, estimate.low or 0.0, estimate.high or 0.0)
            return Tested(False, f"at {_place(block)} the quantity is {text}", mean)
    if all(wanted.verdict(estimate.low, estimate.high) for _, estimate in found):
        return Tested(True, measured=mean)
    return Tested(wanted.verdict(mean.low, mean.high), measured=mean)


def _combinations(given: ValueMeasure | PairMeasure) -> int | None:
    """Return the number of combinations of factor levels that a claim compares; None for a total.

    The summands of a total may have different variances, so no number of runs can be derived.
    """
    return None if given.total_over else 1 if isinstance(given, ValueMeasure) else 2


def _by_bounds(estimate: Estimate, wanted: NumberBounds, combinations: int | None) -> Tested:
    """Test a claim about a quantity at a single combination of factor levels."""
    verdict = wanted.verdict(estimate.low, estimate.high)
    needs = None if verdict is not None or combinations is None else runs_needed(estimate, wanted, combinations)
    return Tested(verdict, measured=estimate, needs=needs)


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
