"""Builds the appendix on reproducibility: versions, seeds, commands to repeat the study, and hashes of recorded
files.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from towtank.report import format as people
from towtank.report.content.configuration import shown
from towtank.report.document import Block, Column, Definitions, Listing, Section, Table, Text, paragraph, text
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
    for key in ("started_wall_ns", "created_wall_ns", "wall_ns"):
        if results.manifest.get(key):
            return people.moment(results.manifest[key])
    times = [run.manifest["started_wall_ns"] for run in results.runs if run.manifest.get("started_wall_ns")]
    return people.moment(min(times, default=None))


def versions(results: Results) -> dict[str, str]:
    """Return the versions of all programs that were used, by program."""
    found: dict[str, list[str]] = {}
    for source in (results.manifest, *(run.manifest for run in results.runs)):
        for name, version in (source.get("versions") or {}).items():
            seen = found.setdefault(str(name), [])
            if shown(version) not in seen:
                seen.append(shown(version))
    return {name: ", ".join(seen) for name, seen in found.items()}


def seed(results: Results) -> Any:
    """Return the seed of the study; None if no seed was recorded."""
    study = results.study
    return results.manifest.get("seed", study.get("seed"))


def preset(results: Results) -> Any:
    """Return the name of the preset with which the study ran; None if it ran without a preset."""
    return results.manifest.get("preset", results.study.get("preset"))


def _facts(results: Results) -> list[tuple[str, Text]]:
    facts = [
        ("Results folder", text(results.name)),
        ("Started", text(started(results))),
        ("Study", text(str(results.study.get("name") or results.summary.get("study") or people.ABSENT))),
        ("Preset", text(str(preset(results) or "none"))),
        ("Seed", text(str(people.ABSENT if seed(results) is None else seed(results)))),
    ]
    facts += [(f"Version of {name}", text(version)) for name, version in versions(results).items()]
    return facts


def commands(results: Results) -> tuple[str, ...]:
    """Return the command that repeats the study, and the command that writes the report."""
    recorded = results.manifest.get("command")
    name = str(results.study.get("name") or results.summary.get("study") or "STUDY")
    words = ["towtank", "run", name]
    if preset(results):
        words += ["--preset", str(preset(results))]
    if isinstance(recorded, Mapping):
        words = _request(recorded, name)
    elif isinstance(recorded, (list, tuple)):
        words = [str(word) for word in recorded]
    run = recorded if isinstance(recorded, str) else shlex.join(words)
    return (run, shlex.join(["towtank", "report", results.name]))


def _request(request: Mapping[str, Any], name: str) -> list[str]:
    """Return the command line of `towtank run` for a recorded request, as a list of words."""
    words = ["towtank", "run", str(request.get("study") or name)]
    for key, option in _OPTIONS.items():
        value = request.get(key)
        values = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
        words += [word for level in values for word in (option, str(level))]
    return words + [option for key, option in _SWITCHES.items() if request.get(key) is True]


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
    columns = (Column("Run"), Column("Seed"), Column("Started"), Column("Ended"))
    return Table("Seeds and times of the runs", columns, rows)


def _seed_of(manifest: Mapping[str, Any]) -> str:
    return people.ABSENT if manifest.get("seed") is None else str(manifest["seed"])


def _hashes(results: Results) -> list[Block]:
    rows = tuple((entry.path, people.plural(entry.files, "file"), entry.sha256) for entry in results.hashes)
    columns = (Column("Path"), Column("Holds"), Column("SHA-256"))
    words = (
        "The hash of a run is the SHA-256 of the lines that sha256sum prints for run.json, plan.json and the "
        "files of engine/ and "
        "observe/, in this order, with paths relative to the results folder."
    )
    return [paragraph(words), Table("Hashes of the recorded files", columns, rows)]
