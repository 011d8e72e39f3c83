"""Builds the section on limits of the conclusions: doubts about the results, and questions that the design leaves
open.
"""

from __future__ import annotations

from dataclasses import dataclass

from towtank.analysis import DoubtOfRuns
from towtank.digging import dig
from towtank.report import format as people
from towtank.report import limit_state
from towtank.report.document import (
    Block,
    Bullets,
    Callout,
    Section,
    Table,
    Text,
    headings,
    paragraph,
    strong,
    text,
)
from towtank.report.source import Results

_STUDY = "study"  # Name in the column of runs for a doubt about the whole study.
_ORDER = {"invalid": 0, "suspect": 1, "note": 2}


@dataclass(frozen=True)
class Doubt:
    """Doubts of the same kind, the most serious first, each with its run.

    `level` is the level of the most serious doubt.
    """

    kind: str
    level: str
    seen: list[tuple[str, DoubtOfRuns]]


def build(results: Results) -> Section:
    """Build the section on limits of the conclusions.

    Doubts come first, the most serious of them at the top; then limits that follow from the design of the study.
    """
    blocks: list[Block] = [block for doubt in gather(results) for block in _blocks(doubt)]
    if not blocks:
        blocks.append(paragraph("The checks of the analysis found no doubt about any run."))
    blocks += _not_checked(results)
    general = design_limits(results)
    if general:
        blocks += [paragraph("Limits that do not concern single runs:"), Bullets(tuple(general))]
    return Section("limits", "Limits of the conclusions", tuple(blocks))


def _not_checked(results: Results) -> list[Block]:
    """Build the table of checks that were impossible."""
    entries = dig(results.summary, "verdict", "not_checked") or ()
    missing = [entry for entry in entries if isinstance(entry, dict)]
    if not missing:
        return []
    columns = headings("Check", "Not made, because", "Runs")
    rows = tuple(
        (str(entry["check"]).replace("_", " "), str(entry["why"]), ", ".join(entry.get("runs") or ()))
        for entry in missing
    )
    return [Table("Checks that were not possible", columns, rows)]


def gather(results: Results) -> list[Doubt]:
    """Collect the doubts about runs and about the whole study, grouped by kind and sorted by severity."""
    found: dict[str, list[tuple[str, DoubtOfRuns]]] = {}
    for run in results.measured:
        for doubt in run.doubts:
            found.setdefault(doubt.kind, []).append((run.run_id, doubt))
    messages = {doubt.message for seen in found.values() for _, doubt in seen}
    known = {(kind, doubt.level) for kind, seen in found.items() for _, doubt in seen}
    for doubt in results.study_summary.verdict.reasons:
        # The verdict on the study repeats doubts about its runs.
        if doubt.message not in messages and (doubt.kind, doubt.level) not in known:
            found.setdefault(doubt.kind, []).append((_STUDY, doubt))
    grouped = [(kind, sorted(seen, key=lambda entry: _weight(entry[1].level))) for kind, seen in found.items()]
    doubts = [Doubt(kind, seen[0][1].level, seen) for kind, seen in grouped]
    return sorted(doubts, key=lambda doubt: (_weight(doubt.level), doubt.kind))


def _weight(level: str) -> int:
    """Return the rank of a level by severity; 0 is the most serious."""
    return _ORDER.get(level, len(_ORDER))


def _blocks(doubt: Doubt) -> list[Block]:
    """Return a callout with the importance of a doubt and with advice, and a table of the measured values."""
    content: list[Text] = []
    whys = dict.fromkeys(seen.why for _, seen in doubt.seen if seen.why)
    content += [text(strong("Why it matters. "), people.sentence(why)) for why in whys]
    hints = dict.fromkeys(seen.hint for _, seen in doubt.seen if seen.hint)
    content += [text(strong("What to do. "), people.sentence(hint)) for hint in hints]
    level = doubt.level if doubt.level in _ORDER else "note"
    name = doubt.kind.replace("_", " ").capitalize()
    return [Callout(level, f"{name} ({_levels(doubt)})", tuple(content)), _seen(name, doubt)]


def _levels(doubt: Doubt) -> str:
    """Render the number of runs by level of the doubt, such as `invalid: 1 run, note: 3 runs`."""
    runs: dict[str, set[str]] = {}
    for run, seen in doubt.seen:
        runs.setdefault(seen.level, set()).add(run)
    counts = {level: len(names - {_STUDY}) for level, names in runs.items()}
    return ", ".join(f"{level}: {people.plural(count, 'run')}" if count else level for level, count in counts.items())


def _seen(name: str, doubt: Doubt) -> Table:
    columns = headings("Run", "Level", "Finding", "#Seen", "#Limit")
    rows = tuple(
        (
            run,
            seen.level,
            seen.message or doubt.kind,
            people.quantity(seen.seen, seen.unit),
            people.chosen(seen.limit, seen.unit),
        )
        for run, seen in doubt.seen
    )
    return Table(f"{name}: measured values", columns, rows, is_detail=True)


def design_limits(results: Results) -> list[Text]:
    """Return texts about limits that follow from the design of the study, such as single runs."""
    limits: list[Text] = []
    if results.missing:
        names = people.listing([run.run_id for run in results.missing])
        limits.append(
            text(f"Missing runs: {names}. Their points have no value, or are based on fewer runs than planned.")
        )
    limits += _pilot(results)
    limits += _thin_points(results)
    limits += _one_machine(results)
    if results.capacity.refused:
        limits.append(text(f"There is no capacity model: {results.capacity.refused}."))
    limits += _limits_of_configurations(results)
    return limits


_CONCLUSIONS = {
    limit_state.NOT: "the limit of the system was not reached",
    limit_state.PROBABLY_NOT: "the limit of the system was probably not reached",
    limit_state.PROBABLY: "a limit was probably reached, but the measured loads alone do not show it",
    limit_state.UNDECIDED: "the measured loads do not show whether the limit of the system was reached",
}


def _limits_of_configurations(results: Results) -> list[Text]:
    """Count the configurations whose limit was not, or not certainly, reached."""
    states = [limit_state.limit_state(each) for each in results.configurations if each.limit is not None]
    of_all = people.plural(len(results.configurations), "configuration")
    beyond = "the results do not apply to loads above the highest level."
    return [
        text(f"In {states.count(state)} of {of_all} {conclusion}; {beyond}")
        for state, conclusion in _CONCLUSIONS.items()
        if state in states
    ]


def _pilot(results: Results) -> list[Text]:
    """Explain that the load levels are shares of the limit that a pilot run found; empty without a pilot run."""
    pilot = results.study.get("pilot")
    if not isinstance(pilot, dict) or not isinstance(pilot.get("users"), int | float):
        return []
    bound = "at least " if pilot.get("is_lower_bound") else "about "
    return [
        text(
            f"The load levels are shares of {bound}{people.plain(round(pilot['users']))} users, the limit that a pilot "
            "run of a few seconds per level found on this machine. The pilot run only sets the scale of the levels; it "
            "is not a result."
        )
    ]


def _thin_points(results: Results) -> list[Text]:
    """Count the load points with a single run, and the load points without an interval."""
    limits: list[Text] = []
    points = [point for configuration in results.configurations for point in configuration.points]
    counting = [sum(v in ("valid", "suspect") for v in point.verdicts) for point in points]
    if 1 in counting:
        limits.append(
            text(
                f"{counting.count(1)} of {people.plural(len(points), 'point')} rest on a single run. "
                f"The interval of such a "
                "point includes the variation within the run, but not the variation between runs."
            )
        )
    bare = [point for point in points if point.is_usable and point.throughput_per_s.low is None]
    if bare:
        limits.append(
            text(
                f"{people.plural(len(bare), 'point')} have a throughput without an interval; "
                f"differences from them cannot be judged."
            )
        )
    return limits


def _one_machine(results: Results) -> list[Text]:
    """Return a warning if the load generator and the system ran on the same machine."""
    hosts = {tier.get("host") for run in results.runs for tier in (run.manifest.get("tiers") or {}).values()}
    pinned = [run.manifest["pinning"] for run in results.runs if isinstance(run.manifest.get("pinning"), dict)]
    if len(hosts) != 1 or not pinned:
        return []
    system, generator = pinned[0].get("system") or [], pinned[0].get("generator") or []
    if system and generator and not set(system) & set(generator):
        words = "on separate CPUs; they still share memory bandwidth, caches and disks"
    else:
        words = "and share its CPUs; the system cannot use CPU time that the generator uses"
    return [text(f"Load generator and system ran on one machine, {words}.")]
