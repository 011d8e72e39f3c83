"""The claims of a study, tested on its runs: confirmed, refuted, undecided, or not testable here.

A claim is confirmed where the whole interval of what it measures holds, refuted where the whole interval does not, and
undecided where the interval crosses or there is none. Runs that are not valid never confirm anything; suspect ones are
named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from pydantic import ValidationError

from towtank.analysis.claims import courses
from towtank.analysis.claims.places import Levels, Places, UntestableError
from towtank.analysis.statistics import difference_interval, ratio_interval, t_interval
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.statistics.run_to_run import ASSUMED_SHARE
from towtank.estimates import in_words
from towtank.study.claim_holds import AtLevels, Bounds, Direction, read_holds
from towtank.study.claim_metrics import read_metric, unit_of
from towtank.study.claims import DIFFERENCE, RATIO, Claim, CourseMeasure, Measure, PairMeasure, ValueMeasure

SCHEMA = "towtank/claims/1"
CLAIMS_FILE = "claims.json"
VERDICTS = ("confirmed", "refuted", "undecided", "not_testable")
LEVELS = "levels"
"""Method of an interval over levels of factors, each of them one value."""
_WORDS = {True: "confirmed", False: "refuted", None: "undecided"}
Json = Mapping[str, Any]


def judge(study: Json, runs: Sequence[Json]) -> dict[str, Any]:
    """Judge the claims of a study by its runs.

    Parameters
    ----------
    study : dict
        Description of the study, as its manifest has it.
    runs : sequence of dict
        Summaries of its runs.

    Returns
    -------
    dict
        `claims.json`, as `docs/reference/claims.md` describes.
    """
    share = run_to_run_of(study)
    judged = [_judged(one, study.get("factors") or (), runs, share) for one in study.get("claims") or ()]
    return {
        "schema": SCHEMA,
        "study": study.get("name"),
        "preset": study.get("preset"),
        "counts": {verdict: sum(one["verdict"] == verdict for one in judged) for verdict in VERDICTS},
        "claims": judged,
    }


def run_to_run_of(study: Json) -> float:
    """Standard deviation from run to run that a study assumes of single runs, relative to the value. [1]"""
    declared = study.get("run_to_run")
    return float(declared) if isinstance(declared, int | float) else ASSUMED_SHARE


def of_manifest(manifest: Json, runs: Sequence[Json]) -> dict[str, Any] | None:
    """The claims of a results folder, judged; None where its study has none."""
    study = manifest.get("study")
    if not isinstance(study, Mapping) or not study.get("claims"):
        return None
    return judge(study, [run for run in runs if run.get("status") != "planned"])


def _judged(written: Json, factors: Sequence[Json], runs: Sequence[Json], share: float) -> dict[str, Any]:
    try:
        claim = Claim.model_validate(written)
    except ValidationError:
        why = "this version cannot read the claim as it was written"
        return {"says": str(written.get("says")), "source": str(written.get("source")), **_blank("not_testable", why)}
    head = {"says": claim.says, "source": claim.source}
    if claim.measure is None or claim.holds is None:
        return {**head, **_blank("not_testable", str(claim.not_testable))}
    asked = {"asks": words_of(claim.measure), "holds": claim.holds, "measure": claim.document()["measure"]}
    places = Places(factors, runs, share)
    try:
        found = _measured(claim.measure, claim.holds, places)
    except UntestableError as why:
        return {**head, **_blank("not_testable", str(why)), **asked}
    verdict = _WORDS[found.pop("verdict")]
    return {
        **head,
        **_blank(verdict, found.pop("why", "") or _why(verdict, found, places)),
        **asked,
        "unit": _unit(claim.measure),
        **found,
        "assumed_run_to_run": places.run_to_run if places.assumed else None,
        "runs": sorted(places.used),
        "suspect_runs": places.suspects,
        "left_out": places.left_out,
    }


def _blank(verdict: str, why: str) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "why": why,
        "asks": "",
        "holds": "",
        "measure": None,
        "unit": "",
        "measured": None,
        "found": None,
        "may_be": [],
        "levels": [],
        "assumed_run_to_run": None,
        "runs": [],
        "suspect_runs": [],
        "left_out": [],
    }


def _why(verdict: str, found: Json, places: Places) -> str:
    """What keeps a claim undecided."""
    if verdict != "undecided":
        return ""
    levels = [one["measured"] for one in found.get("levels") or ()] or [found["measured"]]
    if any(one["low"] is None for one in levels):
        return "there is no interval: repeat the runs"
    if places.assumed:
        share = f"{100 * places.run_to_run:g} %"
        return f"the interval crosses what must hold, with {share} assumed from run to run: repeat the runs"
    return "the interval crosses what must hold"


def _measured(measure: Measure, holds: str, places: Places) -> dict[str, Any]:
    wanted, given = read_holds(measure.kind, holds, _unit(measure)), measure.given
    if isinstance(given, CourseMeasure):
        if isinstance(wanted, Direction):
            return courses.trend(given, wanted, places)
        assert isinstance(wanted, AtLevels)
        return courses.extreme(measure.kind, given, wanted, places)
    assert isinstance(wanted, Bounds)
    return _numbers(measure.kind, given, places, wanted)


def _unit(measure: Measure) -> str:
    """Unit of what is measured; none of ratios."""
    given = measure.given
    ratio = measure.kind == RATIO or given.per is not None or bool(isinstance(given, CourseMeasure) and given.to)
    return "" if ratio else unit_of(read_metric(given.of))


def _numbers(kind: str, given: ValueMeasure | PairMeasure, places: Places, wanted: Bounds) -> dict[str, Any]:
    """Judge a value, ratio or difference; over several levels by each of them and by their mean.

    Notes
    -----
    What certainly holds at every level holds, and what certainly does not hold at one of them, all levels together at
    95 % (Bonferroni), does not: levels are fixed and no sample. Where the levels do not decide, their mean does.
    """
    blocks = list(_blocks(given, places))
    if len(blocks) == 1:
        one = _in_block(kind, given, blocks[0], places)
        return {"verdict": wanted.verdict(one.low, one.high), "measured": one.document()}
    found = _at_levels(kind, given, blocks, places)
    mean = _mean(kind, [one.value for _, one in found if one.value is not None])
    told = {"measured": mean.document()}
    for block, one in found:
        wide = one.at(1 - (1 - one.confidence) / len(found))
        if wanted.verdict(wide.low, wide.high) is False:
            text = in_words(one.value or 0.0, one.low or 0.0, one.high or 0.0)
            return {**told, "verdict": False, "why": f"at {_place(block)} it is {text}"}
    if all(wanted.verdict(one.low, one.high) for _, one in found):
        return {**told, "verdict": True}
    return {**told, "verdict": wanted.verdict(mean.low, mean.high)}


def _at_levels(
    kind: str, given: ValueMeasure | PairMeasure, blocks: Sequence[Levels], places: Places
) -> list[tuple[Levels, Estimate]]:
    found, reasons = [], []
    for block in blocks:
        try:
            found.append((block, _in_block(kind, given, block, places)))
        except UntestableError as why:
            reasons.append(str(why))
    if len(found) < 2:
        more = f", and the same or the like at {len(reasons) - 1} more" if len(reasons) > 1 else ""
        raise UntestableError(reasons[0] + more)
    places.left_out += reasons
    return found


def _blocks(given: ValueMeasure | PairMeasure, places: Places) -> Iterator[Levels]:
    """Every combination of the levels named."""
    levels = {factor: places.resolved(factor, written) for factor, written in given.at.items()}
    for chosen in product(*levels.values()):
        yield dict(zip(levels, chosen, strict=True))


def _in_block(kind: str, given: ValueMeasure | PairMeasure, at: Levels, places: Places) -> Estimate:
    if not isinstance(given, PairMeasure):
        return places.quantity(given.of, given.per, at)
    other = {**at, **places.one_place(given.to)}
    here, there = (places.quantity(given.of, given.per, place) for place in (at, other))
    made = difference_interval(here, there) if kind == DIFFERENCE else ratio_interval(here, there)
    if made.value is None:
        raise UntestableError(f"{given.of} is zero where it would divide")
    return made


def _mean(kind: str, values: Sequence[float]) -> Estimate:
    """Mean over blocks with Student's t interval; of ratios the geometric mean, by their logarithms."""
    if kind != RATIO:
        return replace(t_interval(values), method=LEVELS)
    if min(values) <= 0:
        raise UntestableError("a ratio is not above zero, and has no logarithm")
    logs = t_interval([math.log(value) for value in values])
    assert logs.value is not None and logs.low is not None and logs.high is not None  # two values at least
    return Estimate(math.exp(logs.value), math.exp(logs.low), math.exp(logs.high), LEVELS, logs.n)


def words_of(measure: Measure) -> str:
    """What is measured, in words."""
    given = measure.given
    what = given.of + (f" per {given.per}" if given.per else "")
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
