"""Builds the section on the workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank.digging import dig
from towtank.report import format as people
from towtank.report.content.configuration import shown
from towtank.report.content.headline import nothing
from towtank.report.document import Block, Bullets, Column, Section, Table, paragraph, text
from towtank.report.source import Json, Results


def build(results: Results) -> Section:
    """Build the section: mix of transactions, think times, stages of the load, and a trace of the arrival rate."""
    blocks: list[Block] = []
    mix = _mappings(results.study.get("mix") or dig(results.study, "workload", "mix"))
    measured = shares(results)
    if mix:
        blocks.append(_mix(mix, measured))
    elif measured:
        blocks.append(_measured_only(measured))
    else:
        blocks.append(nothing("The mix of transactions"))
    blocks += [*_think(results.study), *_recorded_think(results)]
    stages = _mappings(_stages(results))
    if stages:
        blocks += [
            paragraph("Every run has these stages. All of them are recorded, but only the steady stage is evaluated."),
            _stage_table(stages),
        ]
    blocks += _trace(dig(results.study, "load", "trace"))
    return Section("workload", "Workload", tuple(blocks))


def _trace(trace: Json | None) -> list[Block]:
    """Return a paragraph on the trace file that sets the arrival rate; empty without a trace."""
    if not trace:
        return []
    return [
        paragraph(
            f"The arrival rate follows a file: {people.count(round(trace['arrivals']))} arrivals in "
            f"{people.plain(trace['length_s'])} s, {people.rate(trace['mean_rate_per_s'])} on average and "
            f"{people.rate(trace['peak_rate_per_s'])} at most. A varying load has no steady state: means and "
            "percentiles are computed over the whole file, and their intervals include its variation."
        )
    ]


def _mappings(value: Any) -> list[Json]:
    """Return entries as a list of mappings; the keys of a mapping become names of its entries."""
    if isinstance(value, Mapping):
        return [{"name": name, **item} for name, item in value.items() if isinstance(item, Mapping)]
    return [item for item in value or () if isinstance(item, Mapping)]


def shares(results: Results) -> dict[str, tuple[int, float]]:
    """Return number and share of each transaction, counted in the steady windows of all valid and suspect runs."""
    counts: dict[str, int] = {}
    for run in results.in_state("valid", "suspect"):
        for name, figures in (run.summary.get("transactions") or {}).items():
            counts[str(name)] = counts.get(str(name), 0) + int(figures.get("count") or 0)
    total = sum(counts.values())
    return {name: (number, number / total) for name, number in counts.items()} if total else {}


def _mix(mix: list[Json], measured: dict[str, tuple[int, float]]) -> Table:
    rows = []
    names = [str(entry.get("transaction") or entry.get("name")) for entry in mix]
    for place, (name, entry) in enumerate(zip(names, mix, strict=True)):
        count, share = measured.get(name, (None, None))
        found = (people.count(count), people.share(share))
        group, weight = str(entry.get("group") or people.ABSENT), _weight(entry.get("weight"))
        is_shared = names.count(name) > 1
        asked = (people.share(entry.get("share")), weight)
        rows.append((name, group, *asked, *((people.ABSENT,) * 2 if is_shared else found)))
        # Measured counts cover all user groups together, so they get a separate row after the last group.
        if is_shared and name not in names[place + 1 :]:
            rows.append((name, "all of these", people.ABSENT, people.ABSENT, *found))
    columns = (
        Column("Transaction"),
        Column("User group"),
        Column("Share of users", numeric=True),
        Column("Weight in its group", numeric=True),
        Column("Completed in steady windows", numeric=True),
        Column("Share measured", numeric=True),
    )
    notes = ("The measured share covers all groups together, over all valid and suspect runs.",)
    return Table("Mix of transactions, as requested and as measured", columns, tuple(rows), notes)


def _weight(weight: Any) -> str:
    return people.plain(weight) if isinstance(weight, (int, float)) else shown(weight)


def _measured_only(measured: dict[str, tuple[int, float]]) -> Table:
    rows = tuple((name, people.count(count), people.share(share)) for name, (count, share) in measured.items())
    columns = (
        Column("Transaction"),
        Column("Completed in steady windows", numeric=True),
        Column("Share measured", numeric=True),
    )
    return Table("Mix of transactions, as measured", columns, rows)


def _think(study: Json) -> list[Block]:
    """Return texts on the think times in the study's description."""
    found = next((study[key] for key in ("think_times", "think_time", "think") if study.get(key)), None)
    if found is None:
        found = dig(study, "workload", "think_times")
    if isinstance(found, Mapping):
        return [Bullets(tuple(text(f"Think time of {group}: {shown(words)}.") for group, words in found.items()))]
    if isinstance(found, (list, tuple)):
        return [Bullets(tuple(text(f"Think time: {shown(words)}.") for words in found))]
    return [paragraph(f"Think time: {shown(found)}.")] if found else []


def _recorded_think(results: Results) -> list[Block]:
    """Build a table of the recorded mean think time of each configuration; empty if Little's law was not checked."""
    found: dict[str, list[float]] = {}
    for run in results.in_state("valid", "suspect"):
        recorded = dig(run.summary, "laws", "little", "z_s")
        if isinstance(recorded, (int, float)):
            found.setdefault(results.label(run), []).append(float(recorded))
    rows = tuple((label, *(people.seconds(end) for end in (min(each), max(each)))) for label, each in found.items())
    columns = (
        Column("Configuration"),
        Column("Shortest mean of a run", numeric=True),
        Column("Longest mean of a run", numeric=True),
    )
    return [Table("Think time per transaction, as recorded", columns, rows)] if rows else []


def _stages(results: Results) -> Any:
    """Return the load stages of the study's description; if it has none, the stages that a run recorded."""
    recorded = (dig(run.summary, "timeline", "stages") for run in results.measured)
    return results.study.get("stages") or next((stages for stages in recorded if stages), None)


def _stage_table(stages: list[Json]) -> Table:
    rows = tuple(
        (
            str(stage.get("name", "")).replace("_", "-"),
            str(stage.get("phase", "")).replace("_", "-"),
            _length(stage),
        )
        for stage in stages
    )
    return Table("Stages of a run", (Column("Stage"), Column("Phase"), Column("Length", numeric=True)), rows)


def _length(stage: Json) -> str:
    if stage.get("each_s") is not None:
        return f"{people.seconds(stage['each_s'])} per user"
    for key in ("duration_s", "duration"):
        value = stage.get(key)
        if value is not None:
            return value if isinstance(value, str) else f"{people.plain(value)} s"
    start, end = stage.get("start_s"), stage.get("end_s")
    if isinstance(start, (int, float)) and isinstance(end, (int, float)):
        return f"{people.plain(end - start)} s"
    return people.ABSENT
