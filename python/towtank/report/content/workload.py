"""Builds the section on the workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from towtank.digging import dig
from towtank.documents import record_of
from towtank.report import format as people
from towtank.report.content.configuration import shown
from towtank.report.content.headline import nothing
from towtank.report.document import Block, Bullets, Section, Table, headings, paragraph, text
from towtank.report.source import Results


@dataclass(frozen=True)
class _Asked:
    """Transaction in the mix of a user group, with the share of the group's users and the weight in the group."""

    transaction: str = ""
    group: str = ""
    share: float | None = None
    weight: float | str | None = None


@dataclass(frozen=True)
class _Stage:
    """Stage of a run: its planned length, time per user or recorded edges. [s]"""

    name: str = ""
    phase: str = ""
    each_s: float | None = None
    duration_s: float | None = None
    start_s: float | None = None
    end_s: float | None = None

    @property
    def length(self) -> str:
        """Length in words."""
        if self.each_s is not None:
            return f"{people.seconds(self.each_s)} per user"
        if self.duration_s is not None:
            return f"{people.plain(self.duration_s)} s"
        if self.start_s is None or self.end_s is None:
            return people.ABSENT
        return f"{people.plain(self.end_s - self.start_s)} s"


@dataclass(frozen=True)
class _Trace:
    """Arrivals in a trace file [1] of a length [s], with their mean and their highest rate [1/s]."""

    arrivals: float
    length_s: float
    mean_rate_per_s: float
    peak_rate_per_s: float


def build(results: Results) -> Section:
    """Build the section: mix of transactions, think times, stages of the load, and a trace of the arrival rate."""
    blocks: list[Block] = []
    mix = [record_of(_Asked, entry) for entry in results.study.get("mix") or () if isinstance(entry, Mapping)]
    measured = shares(results)
    if mix:
        blocks.append(_mix(mix, measured))
    elif measured:
        blocks.append(_measured_only(measured))
    else:
        blocks.append(nothing("The mix of transactions"))
    blocks += [*_think(results), *_recorded_think(results)]
    stages = _stages(results)
    if stages:
        blocks += [
            paragraph("Every run has these stages. All of them are recorded, but only the steady stage is evaluated."),
            _stage_table(stages),
        ]
    blocks += _trace(results)
    return Section("workload", "Workload", tuple(blocks))


def _trace(results: Results) -> list[Block]:
    """Return a paragraph on the trace file that sets the arrival rate; empty without a trace."""
    found = dig(results.study, "load", "trace")
    if not found:
        return []
    trace = record_of(_Trace, found)
    return [
        paragraph(
            f"The arrival rate follows a file: {people.count(trace.arrivals)} arrivals in "
            f"{people.plain(trace.length_s)} s, {people.rate(trace.mean_rate_per_s)} on average and "
            f"{people.rate(trace.peak_rate_per_s)} at most. A varying load has no steady state: means and "
            "percentiles are computed over the whole file, and their intervals include its variation."
        )
    ]


def shares(results: Results) -> dict[str, tuple[int, float]]:
    """Return number and share of each transaction, counted in the steady windows of all valid and suspect runs."""
    counts: dict[str, int] = {}
    for run in results.in_state("valid", "suspect"):
        for name, transaction in run.record.transactions.items():
            counts[name] = counts.get(name, 0) + transaction.count
    total = sum(counts.values())
    return {name: (number, number / total) for name, number in counts.items()} if total else {}


def _mix(mix: Sequence[_Asked], measured: Mapping[str, tuple[int, float]]) -> Table:
    rows = []
    names = [entry.transaction for entry in mix]
    for place, (name, entry) in enumerate(zip(names, mix, strict=True)):
        count, share = measured.get(name, (None, None))
        found = (people.count(count), people.share(share))
        is_shared = names.count(name) > 1
        weight = people.plain(entry.weight) if isinstance(entry.weight, float) else shown(entry.weight)
        asked = (entry.group or people.ABSENT, people.share(entry.share), weight)
        rows.append((name, *asked, *((people.ABSENT,) * 2 if is_shared else found)))
        # Measured counts cover all user groups together, so they get a separate row after the last group.
        if is_shared and name not in names[place + 1 :]:
            rows.append((name, "all of these", people.ABSENT, people.ABSENT, *found))
    columns = headings(
        "Transaction",
        "User group",
        "#Share of users",
        "#Weight in its group",
        "#Completed in steady windows",
        "#Share measured",
    )
    notes = ("The measured share covers all groups together, over all valid and suspect runs.",)
    return Table("Mix of transactions, as requested and as measured", columns, tuple(rows), notes)


def _measured_only(measured: Mapping[str, tuple[int, float]]) -> Table:
    rows = tuple((name, people.count(count), people.share(share)) for name, (count, share) in measured.items())
    columns = headings("Transaction", "#Completed in steady windows", "#Share measured")
    return Table("Mix of transactions, as measured", columns, rows)


def _think(results: Results) -> list[Block]:
    """Return texts on the think times of the user groups in the study's description."""
    found = results.study.get("think")
    if not found or not isinstance(found, Mapping):
        return []
    return [Bullets(tuple(text(f"Think time of {group}: {shown(words)}.") for group, words in found.items()))]


def _recorded_think(results: Results) -> list[Block]:
    """Build a table of the recorded mean think time of each configuration; empty if Little's law was not checked."""
    found: dict[str, list[float]] = {}
    for run in results.in_state("valid", "suspect"):
        if run.record.laws.little is not None:
            found.setdefault(results.label(run), []).append(run.record.laws.little.z_s)
    rows = tuple((label, *(people.seconds(end) for end in (min(each), max(each)))) for label, each in found.items())
    columns = headings("Configuration", "#Shortest mean of a run", "#Longest mean of a run")
    return [Table("Think time per transaction, as recorded", columns, rows)] if rows else []


def _stages(results: Results) -> list[_Stage]:
    """Return the load stages of the study's description; if it has none, the stages that a run recorded."""
    recorded = (dig(run.summary, "timeline", "stages") for run in results.measured)
    found = results.study.get("stages") or next((stages for stages in recorded if stages), ())
    return [record_of(_Stage, stage) for stage in found if isinstance(stage, Mapping)]


def _stage_table(stages: Sequence[_Stage]) -> Table:
    rows = tuple((stage.name.replace("_", "-"), stage.phase.replace("_", "-"), stage.length) for stage in stages)
    return Table("Stages of a run", headings("Stage", "Phase", "#Length"), rows)
