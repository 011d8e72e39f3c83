"""Derives think times from the recording of one session. Gaps of similar length share a parameter of the workload."""

from __future__ import annotations

from dataclasses import dataclass

from towtank.units import format_duration
from towtank.workload.importers.draft import ImportDraft, rounded, seconds

# Groups of gaps between pages: upper bound [s], and name of the parameter. Each bound is about three times the previous
# bound; a single recording does not justify finer groups.
_GROUPS = ((3.0, "think_short"), (10.0, "think_medium"), (30.0, "think_long"), (float("inf"), "think_very_long"))
# Pause of virtual users after each round if the recorded session has only one page. [s]
_WITHOUT_GAPS = 1.0


@dataclass(frozen=True)
class Pauses:
    """Pauses of the workload between pages, and the pause after the last page."""

    between: list[dict[str, str]]
    after: dict[str, str] | str


def between_pages(gaps: list[float], draft: ImportDraft) -> Pauses:
    """Convert the gaps between pages to think times, with one parameter for each group of gaps. A gap is the time from
    the last response of a page to the first request of the next page. [s]
    """
    groups: dict[str, list[float]] = {}
    names = []
    for gap in gaps:
        # The gap is negative if the next page was requested before the previous page was complete. It then counts as 0.
        name = next(name for below, name in _GROUPS if max(gap, 0.0) < below)
        names.append(name)
        groups.setdefault(name, []).append(max(gap, 0.0))
    means = {name: sum(groups[name]) / len(groups[name]) for _, name in _GROUPS if name in groups}
    draft.parameters |= {name: seconds(mean) for name, mean in means.items()}
    draft.findings["think_times"] = [
        {"parameter": name, "count": len(groups[name]), "mean_s": rounded(mean)} for name, mean in means.items()
    ]
    draft.findings.setdefault("summary", []).extend(
        f"think times: {len(groups[name])} gaps are in the group {name}, "
        f"exponential with mean {format_duration(rounded(mean))}"
        for name, mean in means.items()
    )
    what = "pause after the session"
    if not gaps:
        pause = seconds(_WITHOUT_GAPS)
        draft.notes.add((1, 0), what, f"is not in the recording: users pause for {pause} before the next session")
        return Pauses([], pause)
    longest_group = max(groups, key=lambda name: (len(groups[name]), name))
    why = f"is not in the recording: users pause for parameters.{longest_group} on average before the next session"
    draft.notes.add((1, 0), what, why)
    *pauses, after = ({"exponential": f"${{parameters.{name}}}"} for name in (*names, longest_group))
    return Pauses(pauses, after)
