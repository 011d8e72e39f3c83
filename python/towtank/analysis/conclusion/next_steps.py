"""Lists what to do after a study: consequences of its answer, runs that decide open claims, and remedies of doubts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from towtank.analysis import narrative
from towtank.analysis.claims.next_steps import REPEAT
from towtank.analysis.claims.places import OTHER_PRESET
from towtank.analysis.claims.verdicts import ClaimVerdict
from towtank.analysis.conclusion.certainty import repetitions_of, runs_of
from towtank.analysis.conclusion.findings import by_weight, cited, missing_level, numbers
from towtank.analysis.conclusion.quantity_words import objective_words
from towtank.analysis.doubts import DoubtKind
from towtank.conclusion_words import FOLDER, configuration_name
from towtank.digging import dig
from towtank.doubt_words import kind_words
from towtank.units import rough_duration

_STEPS = 3
"""Largest number of steps of both kinds together. [1]"""
_CONSEQUENCES = 2
"""Largest number of consequences of claims among the steps. [1]"""
_MORE = 2
"""Number of runs of each combination to add if the number that would decide a claim is unknown. [1]"""
# Doubts that new runs of the same length may not have, and those that a longer steady stage removes.
_PASSING = {
    DoubtKind.INTERFERENCE,
    DoubtKind.NOT_ATTRIBUTED,
    DoubtKind.STEAL_TIME,
    DoubtKind.CLOCK_JUMP,
    DoubtKind.MACHINE_SUSPENDED,
    DoubtKind.GENERATOR_STALLED,
    DoubtKind.OBSERVATION_GAP,
    DoubtKind.RETRANSMITS,
}
# Doubts that new runs of the same length may not have if fewer than half of the runs have them.
_PASSING_IF_RARE = {DoubtKind.START_LAG}
_SHORT = {DoubtKind.TOO_FEW_SAMPLES, DoubtKind.SHORT_WINDOW, DoubtKind.NO_STEADY_STATE}
_HALF = 0.5


def next_steps(
    summary: Mapping[str, object],
    claims: Sequence[ClaimVerdict],
    block_s: float | None,
    command: Mapping[str, object] | None,
) -> tuple[list[str], list[str]]:
    """Return up to three instructions without full stops: those for the system, and those for the measurement.

    Parameters
    ----------
    summary : dict
        Summary of the study.
    claims : sequence of ClaimVerdict
        Claims of the study.
    block_s : float or None
        Duration of one run of each combination of factor levels; None if unknown. [s]
    command : dict or None
        Command that made the runs, with the keys `study`, `preset` and `steady_s`; None if unknown.
    """
    valid, suspect, invalid, _ = runs_of(summary)
    is_mostly_invalid = invalid * 2 >= valid + suspect + invalid
    leaning = [claim for claim in claims if claim.leans]
    remedies = _remedies(summary) if invalid or not claims or leaning else []
    system = [
        *_consequences(claims),
        *([] if any(claim.follows for claim in claims) else _loads(summary)),
        *_bottleneck(summary),
    ]
    if is_mostly_invalid:
        measurement = [
            *([_again(summary, f"{remedies[0].text} ({remedies[0].why})", block_s, command)] if remedies else [])
        ]
    else:
        clearing = [_cleared(summary, each, block_s, command) for each in remedies[:1]]
        first_leans = len(leaning) * 2 > sum(claim.is_answered for claim in claims)
        repeats = _repeats(summary, claims, block_s)
        # More runs of each level also take the place of runs with a doubt that passes.
        if repeats and repetitions_of(summary)[1] == 1 and remedies and remedies[0].is_passing:
            clearing = []
        measurement = [*clearing, *repeats] if first_leans else [*repeats, *clearing]
    measurement += [*_presets(claims, command), *([] if claims else _raise(summary))]
    if not system and not measurement and claims and all(claim.is_answered for claim in claims):
        measurement = ["Nothing more to measure: every claim has an answer"]
    kept = list(dict.fromkeys(system))[: _STEPS - min(1, len(measurement))]
    return kept, list(dict.fromkeys(measurement))[: _STEPS - len(kept)]


def _again(
    summary: Mapping[str, object], remedy: str, block_s: float | None, command: Mapping[str, object] | None
) -> str:
    """Return the instruction to run an invalid study again after the remedy, with the duration of all its runs."""
    length = "" if block_s is None else f" (about {rough_duration(max(1, repetitions_of(summary)[1]) * block_s)})"
    return f"{remedy}, then {_anew(command) or 'run the study again'}{length}"


def _anew(command: Mapping[str, object] | None, *changes: str) -> str:
    """Return the command that makes all runs again, with changes of the study; empty if the study is unknown."""
    study, preset = dig(command, "study"), dig(command, "preset")
    if not study:
        return ""
    words = ["towtank", "run", shlex.quote(str(study))]
    words += ["--preset", shlex.quote(str(preset))] if preset else []
    return f"`{' '.join([*words, *(f'--set {shlex.quote(change)}' for change in changes)])}`"


def _cleared(
    summary: Mapping[str, object], remedy: _Remedy, block_s: float | None, command: Mapping[str, object] | None
) -> str:
    """Return the command that gives the study runs without a doubt; the remedy alone if no command is known."""
    if remedy.is_passing:
        return f"{_command(1, block_s)} adds runs in place of those with a doubt ({remedy.why})"
    steady_s, repetitions = dig(command, "steady_s"), max(1, repetitions_of(summary)[1])
    again = _anew(command)
    if not again:
        return f"{remedy.text} ({remedy.why})"
    if remedy.kind in _SHORT and isinstance(steady_s, (int, float)):
        points = sum(len(dig(each, "points") or ()) for each in dig(summary, "configurations") or ())
        length = "" if block_s is None else f" (about {rough_duration(repetitions * (block_s + points * steady_s))})"
        change = f"load.stages.steady={2 * steady_s:.6g} s"
        return f"{_anew(command, change)}{length} doubles the steady stage ({remedy.why})"
    length = "" if block_s is None else f" (about {rough_duration(repetitions * block_s)})"
    return f"{remedy.text} ({remedy.why}), then {again}{length}"


def _consequences(claims: Sequence[ClaimVerdict]) -> list[str]:
    """Return the consequences that the study file gives, with the claims from which they follow."""
    groups: dict[str, list[ClaimVerdict]] = {}
    for claim in by_weight(claims):
        if text := " ".join(claim.follows.split()).rstrip("."):
            groups.setdefault(text, []).append(claim)
    return [f"{text} ({cited(same)})" for text, same in groups.items()][:_CONSEQUENCES]


def _loads(summary: Mapping[str, object]) -> list[str]:
    """Return the load up to which a missed objective is met."""
    for objective in dig(summary, "objectives") or ():
        upto = dig(objective, "holds_up_to")
        if dig(objective, "met") is False and upto is not None:
            key = dig(objective, "configuration")
            where = f" with {configuration_name(key, dig(objective, 'label'))}" if key else ""
            text = objective_words(str(dig(objective, "text")))
            return [f"Keep the load{where} at or below {upto:,.10g}, the highest that meets {text}"]
    return []


def _repeats(summary: Mapping[str, object], claims: Sequence[ClaimVerdict], block_s: float | None) -> list[str]:
    """Return the command that adds runs, if runs would decide a claim or if nothing was repeated."""
    least, most = repetitions_of(summary)
    if not most:
        return []
    if most == 1:
        apart = "so that differences between levels stand out from those between runs"
        return [f"{_command(_MORE, block_s)} repeats each level, {apart}"]
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
    length = "" if block_s is None else f" (about {rough_duration(more * block_s)})"
    return f"`towtank run {FOLDER} --more {more}`{length}"


def _presets(claims: Sequence[ClaimVerdict], command: Mapping[str, object] | None) -> list[str]:
    """Return the command to run levels that the preset leaves out, for the claims that need them."""
    need = [claim for claim in claims if claim.verdict == "not_testable" and claim.do == OTHER_PRESET]
    if not need:
        return []
    levels = list(dict.fromkeys(missing_level(claim) or claim.why for claim in need))
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


@dataclass(frozen=True)
class _Remedy:
    """First step against a doubt that makes runs suspect or invalid: an instruction without a full stop, the doubt with
    the number of its runs, and the share of these runs among all runs with a verdict, in [0, 1].
    """

    kind: str
    step: str
    why: str
    share: float

    @property
    def text(self) -> str:
        """Instruction with a capital letter."""
        return f"{self.step[:1].upper()}{self.step[1:]}"

    @property
    def is_passing(self) -> bool:
        """True if new runs of the same length may not have the doubt."""
        return self.kind in _PASSING or (self.kind in _PASSING_IF_RARE and self.share < _HALF)


def _remedies(summary: Mapping[str, object]) -> list[_Remedy]:
    """Return the first step against each doubt that makes runs suspect or invalid: invalid first, then most runs."""
    found, total = [], max(1, sum(runs_of(summary)[:3]))
    for reason in dig(summary, "verdict", "reasons") or ():
        level, step = str(dig(reason, "level")), str(dig(reason, "hint") or "").partition("; ")[0].rstrip(".")
        if level != "note" and step:
            number, kind = len(dig(reason, "runs") or ()), str(dig(reason, "kind"))
            why = f"{kind_words(kind)}: {number} {level} run{'s' * (number != 1)}"
            found.append((level != "invalid", -number, _Remedy(kind, step, why, number / total)))
    return [remedy for _, _, remedy in sorted(found, key=itemgetter(0, 1))]


def _raise(summary: Mapping[str, object]) -> list[str]:
    """Return the instruction to raise the load, if no configuration reached its limit."""
    reached = [dig(each, "limit", "reached") for each in dig(summary, "configurations") or ()]
    found = [dig(each, "found_limit") for each in dig(summary, "configurations") or ()]
    if not reached or any(reached) or any(found) or any(narrative.likely_causes(dict(summary))):
        return []
    return ["Raise the load if you need the limit: no measured load reached it"]
