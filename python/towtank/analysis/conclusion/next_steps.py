"""Lists what to do after a study: consequences of its answer, runs that decide open claims, and remedies of doubts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from towtank.analysis import narrative
from towtank.analysis.claims.next_steps import REPEAT
from towtank.analysis.claims.places import OTHER_PRESET
from towtank.analysis.conclusion.certainty import repetitions_of, runs_of
from towtank.analysis.conclusion.findings import by_weight, numbers
from towtank.analysis.conclusion.judged_claims import LEANS, JudgedClaim
from towtank.analysis.conclusion.quantity_words import objective_words
from towtank.conclusion_words import FOLDER
from towtank.digging import dig

_STEPS = 3
"""Largest number of steps of both kinds together. [1]"""
_CONSEQUENCES = 2
"""Largest number of consequences of claims among the steps. [1]"""
_MORE = 2
"""Number of runs of each combination to add if the number that would decide a claim is unknown. [1]"""
_MINUTE_S, _HOUR_S = 60.0, 3600.0


def next_steps(
    summary: Mapping[str, object],
    claims: Sequence[JudgedClaim],
    block_s: float | None,
    command: Mapping[str, object] | None,
) -> tuple[list[str], list[str]]:
    """Return up to three instructions without full stops: those for the system, and those for the measurement.

    Parameters
    ----------
    summary : dict
        Summary of the study.
    claims : sequence of JudgedClaim
        Claims of the study.
    block_s : float or None
        Duration of one run of each combination of factor levels; None if unknown. [s]
    command : dict or None
        Command that made the runs, with the keys `study` and `preset`; None if unknown.
    """
    valid, suspect, invalid, _ = runs_of(summary)
    is_mostly_invalid = invalid * 2 >= valid + suspect + invalid
    needs_remedy = invalid or not claims or any(claim.leans for claim in claims)
    remedies = _remedies(summary) if needs_remedy else []
    system = [
        *_consequences(claims),
        *([] if any(claim.follows for claim in claims) else _loads(summary)),
        *_bottleneck(summary),
    ]
    measurement = [
        *([_again(summary, remedies[0], block_s, command)] if is_mostly_invalid and remedies else []),
        *([] if is_mostly_invalid else _repeats(summary, claims, block_s)),
        *_presets(claims, command),
        *([] if is_mostly_invalid else remedies),
        *([] if claims else _raise(summary)),
    ]
    kept = list(dict.fromkeys(system))[: _STEPS - min(1, len(measurement))]
    return kept, list(dict.fromkeys(measurement))[: _STEPS - len(kept)]


def _again(
    summary: Mapping[str, object], remedy: str, block_s: float | None, command: Mapping[str, object] | None
) -> str:
    """Return the instruction to run an invalid study again after the remedy, with the duration of all its runs."""
    length = "" if block_s is None else f" ({_about(max(1, repetitions_of(summary)[1]) * block_s)})"
    study, preset = dig(command, "study"), dig(command, "preset")
    options = f" --preset {shlex.quote(str(preset))}" if preset else ""
    again = f"`towtank run {shlex.quote(str(study))}{options}`" if study else "run the study again"
    return f"{remedy}, then {again}{length}"


def _consequences(claims: Sequence[JudgedClaim]) -> list[str]:
    """Return the consequences that the study file gives, with the claims from which they follow."""
    groups: dict[str, list[JudgedClaim]] = {}
    for claim in by_weight(claims):
        if text := " ".join(claim.follows.split()).rstrip("."):
            groups.setdefault(text, []).append(claim)
    return [
        f"{text} (No. {numbers(same)}{LEANS if all(claim.leans for claim in same) else ''})"
        for text, same in groups.items()
    ][:_CONSEQUENCES]


def _loads(summary: Mapping[str, object]) -> list[str]:
    """Return the load up to which a missed objective is met."""
    for objective in dig(summary, "objectives") or ():
        upto = dig(objective, "holds_up_to")
        if dig(objective, "met") is False and upto is not None:
            where = f" with {dig(objective, 'label')}" if dig(objective, "configuration") else ""
            text = objective_words(str(dig(objective, "text")))
            return [f"Keep the load{where} at or below {upto:,.10g}, the highest that meets {text}"]
    return []


def _repeats(summary: Mapping[str, object], claims: Sequence[JudgedClaim], block_s: float | None) -> list[str]:
    """Return the command that adds runs, if runs would decide a claim or if nothing was repeated."""
    least, most = repetitions_of(summary)
    if not most:
        return []
    if most == 1:
        return [f"{_command(_MORE, block_s)} separates differences between levels from run-to-run variation"]
    known = [claim for claim in claims if claim.verdict == "undecided" and (claim.needs_runs or 0) > least]
    if known:
        easiest = min(known, key=lambda claim: claim.needs_runs or 0)
        more = (easiest.needs_runs or 0) - least
        return [f"{_command(more, block_s)} would probably decide No. {easiest.number}"]
    unknown = [claim for claim in claims if claim.verdict == "undecided" and REPEAT.split(" (")[0] in claim.do]
    if unknown:
        return [f"{_command(_MORE, block_s)} gives No. {numbers(unknown)} more runs to decide"]
    return []


def _command(more: int, block_s: float | None) -> str:
    length = "" if block_s is None else f" ({_about(more * block_s)})"
    return f"`towtank run {FOLDER} --more {more}`{length}"


def _about(seconds: float) -> str:
    """Render a duration of runs in whole minutes, or in hours from two hours."""
    if seconds >= 2 * _HOUR_S:
        return f"about {seconds / _HOUR_S:.0f} h"
    return f"about {max(1, round(seconds / _MINUTE_S))} min"


def _presets(claims: Sequence[JudgedClaim], command: Mapping[str, object] | None) -> list[str]:
    """Return the command to run levels that the preset leaves out, for the claims that need them."""
    need = [claim for claim in claims if claim.verdict == "not_testable" and claim.do == OTHER_PRESET]
    if not need:
        return []
    levels = list(dict.fromkeys(claim.why.removesuffix(" is not in this preset") for claim in need))
    tested = f"tests No. {numbers(need)}"
    wanted = " and ".join(levels[:2])
    study = dig(command, "study")
    if study and dig(command, "preset"):
        return [f"`towtank run {shlex.quote(str(study))}` (no preset, so that it contains {wanted}) {tested}"]
    return [f"Run a preset that contains {wanted} (`--preset`): it {tested}"]


def _bottleneck(summary: Mapping[str, object]) -> list[str]:
    """Return the instruction to begin with what limits throughput, if it is the same in all configurations."""
    causes = set(narrative.likely_causes(dict(summary)))
    return [f"To gain throughput, start with {cause}" for cause in causes if cause and len(causes) == 1]


def _remedies(summary: Mapping[str, object]) -> list[str]:
    """Return the first step against each doubt that makes runs suspect or invalid, most runs first."""
    found = []
    for reason in dig(summary, "verdict", "reasons") or ():
        level, step = str(dig(reason, "level")), str(dig(reason, "hint") or "").partition("; ")[0].rstrip(".")
        if level != "note" and step:
            names = dig(reason, "runs") or ()
            kind = str(dig(reason, "kind")).replace("_", " ")
            what = f"{kind}: {len(names)} {level} run{'s' * (len(names) != 1)}"
            found.append((level != "invalid", -len(names), f"{step[:1].upper()}{step[1:]} ({what})"))
    return [text for _, _, text in sorted(found)]


def _raise(summary: Mapping[str, object]) -> list[str]:
    """Return the instruction to raise the load, if no configuration reached its limit."""
    reached = [dig(each, "limit", "reached") for each in dig(summary, "configurations") or ()]
    found = [dig(each, "found_limit") for each in dig(summary, "configurations") or ()]
    if not reached or any(reached) or any(found) or any(narrative.likely_causes(dict(summary))):
        return []
    return ["Raise the load if you need the limit: no measured load reached it"]
