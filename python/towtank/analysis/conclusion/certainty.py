"""States how far the runs of a study support its answer: runs that count, claims that need others, and repetitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from towtank.analysis.conclusion.findings import numbers
from towtank.analysis.conclusion.judged_claims import JudgedClaim
from towtank.conclusion_words import NOT_REPEATED
from towtank.digging import dig


def certainty(summary: Mapping[str, object], claims: Sequence[JudgedClaim]) -> list[str]:
    """Return sentences without full stops about the support of an answer."""
    return [*filter(None, (_counts(summary), _leaning(summary, claims), _repetitions(summary, claims)))]


def runs_of(summary: Mapping[str, object]) -> tuple[int, int, int, int]:
    """Return the numbers of valid, suspect, invalid and missing runs."""
    valid, suspect, invalid, missing = (
        int(dig(summary, "verdict", f"{state}_runs") or 0) for state in ("valid", "suspect", "invalid", "missing")
    )
    return valid, suspect, invalid, missing


def _counts(summary: Mapping[str, object]) -> str:
    valid, suspect, invalid, missing = runs_of(summary)
    total = valid + suspect + invalid
    if not total:
        return ""
    if valid == total and not missing:
        return "The only run is valid" if total == 1 else f"All {total} runs are valid"
    states = ((suspect, "suspect"), (invalid, "invalid"))
    doubts = [f"{number} {state}{_why(summary, state)}" for number, state in states if number]
    if missing:
        doubts.append(f"{missing} of the planned runs {'is' if missing == 1 else 'are'} missing")
    return ", ".join([f"{valid} of {total} runs {'is' if valid == 1 else 'are'} valid", *doubts])


def _why(summary: Mapping[str, object], level: str) -> str:
    """Render the doubt that gives most runs a verdict, such as ` (start lag)`; empty if none is known."""
    found = [
        (len(dig(reason, "runs") or ()), str(dig(reason, "kind")).replace("_", " "))
        for reason in dig(summary, "verdict", "reasons") or ()
        if dig(reason, "level") == level
    ]
    if not found:
        return ""
    kind = max(found, key=lambda pair: pair[0])[1]
    return f" ({'mostly ' if len(found) > 1 else ''}{kind})"


def _leaning(summary: Mapping[str, object], claims: Sequence[JudgedClaim]) -> str:
    """State which answers depend on suspect runs; empty if no run is suspect or invalid."""
    _, suspect, invalid, _ = runs_of(summary)
    if not suspect and not invalid:
        return ""
    if not claims:
        return _leaning_configurations(summary) if suspect else ""
    decided = [claim for claim in claims if claim.is_answered]
    leaning = [claim for claim in decided if claim.leans]
    if not decided:
        return "No claim has an answer"
    if not leaning:
        return "No claim rests on suspect or invalid runs"
    are_several = len(leaning) > 1
    if len(leaning) == len(decided):
        which = "All answers" if are_several else "The answer"
    else:
        which = f"Claim{'s' * are_several} No. {numbers(leaning)}"
    return f"{which} rest{'s' * (not are_several)} on suspect runs"


def _leaning_configurations(summary: Mapping[str, object]) -> str:
    found = dig(summary, "configurations") or ()
    leaning = [
        str(dig(each, "label"))
        for each in found
        if any("suspect" in (dig(point, "verdicts") or ()) for point in dig(each, "points") or ())
    ]
    if not leaning:
        return ""
    which = ", ".join(leaning) if len(leaning) <= 2 else f"{len(leaning)} of {len(found)} configurations"
    return f"Values of {which} rest on suspect runs" if len(found) > 1 else "Values rest on suspect runs"


def repetitions_of(summary: Mapping[str, object]) -> tuple[int, int]:
    """Return the smallest and the largest number of runs per load level; (0, 0) without load levels."""
    sizes = [
        len(dig(point, "runs") or ())
        for configuration in dig(summary, "configurations") or ()
        for point in dig(configuration, "points") or ()
    ]
    return (min(sizes), max(sizes)) if sizes else (0, 0)


def _repetitions(summary: Mapping[str, object], claims: Sequence[JudgedClaim]) -> str:
    least, most = repetitions_of(summary)
    if not most:
        return ""
    if most == 1:
        assumed = {claim.assumed_run_to_run for claim in claims if claim.assumed_run_to_run}
        share = " and ".join(f"{100 * each:.3g} %" for each in sorted(assumed))
        assumption = f"; intervals assume a standard deviation of {share} between runs" if share else ""
        return (
            f"{NOT_REPEATED}: with one run a level, differences between levels are not separated from run-to-run "
            f"variation{assumption}"
        )
    each = f"{most}" if least == most else f"{least} to {most}"
    return f"Each level has {each} runs; numbers in brackets are 95 % intervals"
