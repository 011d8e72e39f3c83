"""Builds the appendix on reproducibility: versions, seeds, commands to repeat the study, and hashes of recorded
files.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from towtank.report import format as people
from towtank.report.content.configuration import shown
from towtank.report.document import Block, Definitions, Listing, Section, Table, Text, headings, paragraph, text
from towtank.report.source import Results

# Options of `towtank run` that take a value, by the key of the value in the recorded request.
_OPTIONS = {
    "preset": "--preset",
    "repetitions": "--repetitions",
    "seed": "--seed",
    "changes": "--set",
    "allowed": "--i-may-load",
}
# Options of `towtank run` without a value, by their key in the recorded request.
_SWITCHES = {"trusted": "--trust"}


def build(results: Results) -> Section:
    """Build the section on reproducibility."""
    blocks: list[Block] = [Definitions(tuple(_facts(results)))]
    blocks.append(Listing("Commands to repeat the study and this report", commands(results)))
    blocks.append(_runs(results))
    if results.hashes:
        blocks += _hashes(results)
    return Section("reproducibility", "Reproducibility", tuple(blocks))


def started(results: Results) -> str:
    """Return the start time of the study; if its manifest has none, the start time of the first run."""
    of_study, *of_runs = (
        each.get("started_wall_ns") for each in (results.manifest, *(run.manifest for run in results.runs))
    )
    return people.moment(of_study or min(filter(None, of_runs), default=None))


def versions(results: Results) -> dict[str, str]:
    """Return the versions of all programs that were used, by program."""
    found: dict[str, list[str]] = {}
    for source in (results.manifest, *(run.manifest for run in results.runs)):
        for name, version in (source.get("versions") or {}).items():
            seen = found.setdefault(str(name), [])
            if shown(version) not in seen:
                seen.append(shown(version))
    return {name: ", ".join(seen) for name, seen in found.items()}


def _facts(results: Results) -> list[tuple[str, Text]]:
    facts = [
        ("Results folder", text(results.name)),
        ("Started", text(started(results))),
        ("Study", text(str(results.study.get("name") or results.summary.get("study") or people.ABSENT))),
        ("Preset", text(str(results.study.get("preset") or "none"))),
        ("Seed", text(_seed_of(results.study))),
    ]
    facts += [(f"Version of {name}", text(version)) for name, version in versions(results).items()]
    return facts


def commands(results: Results) -> tuple[str, ...]:
    """Return the command that repeats the study, and the command that writes the report."""
    recorded = results.manifest.get("command")
    request = recorded if isinstance(recorded, Mapping) else {"preset": results.study.get("preset")}
    name = request.get("study") or results.study.get("name") or results.summary.get("study") or "STUDY"
    words = ["towtank", "run", str(name)]
    for key, option in _OPTIONS.items():
        value = request.get(key)
        values = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
        words += [word for level in values for word in (option, str(level))]
    words += [option for key, option in _SWITCHES.items() if request.get(key) is True]
    return (shlex.join(words), shlex.join(["towtank", "report", results.name]))


def _runs(results: Results) -> Table:
    rows = tuple(
        (
            run.run_id,
            _seed_of(run.manifest),
            people.moment(run.manifest.get("started_wall_ns")),
            people.moment(run.manifest.get("ended_wall_ns")),
        )
        for run in results.runs
    )
    columns = headings("Run", "Seed", "Started", "Ended")
    return Table("Seeds and times of the runs", columns, rows)


def _seed_of(manifest: Mapping[str, object]) -> str:
    return people.ABSENT if manifest.get("seed") is None else str(manifest["seed"])


def _hashes(results: Results) -> list[Block]:
    rows = tuple((entry.path, people.plural(entry.files, "file"), entry.sha256) for entry in results.hashes)
    columns = headings("Path", "Holds", "SHA-256")
    words = (
        "The hash of a run is the SHA-256 of the lines that sha256sum prints for run.json, plan.json and the "
        "files of engine/ and "
        "observe/, in this order, with paths relative to the results folder."
    )
    return [paragraph(words), Table("Hashes of the recorded files", columns, rows)]
