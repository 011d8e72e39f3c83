"""Brings together what an export writes: folders, summaries, and the reader of histograms.

Nothing is written into the folders that are read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

from towtank import __version__
from towtank.analysis import claims
from towtank.analysis.compaction import described
from towtank.analysis.run import describe, read_run, study_limits
from towtank.analysis.statistics import histograms
from towtank.analysis.statistics.histograms import BadHistogramError, Histogram
from towtank.analysis.study import describe_study, known_summary
from towtank.errors import Fault, StudyError
from towtank.results import lines
from towtank.results.exports.material import Material, RunMaterial
from towtank.results.folder import RUN_MANIFEST, STUDY_MANIFEST, ResultsFolder, RunFolder

# What the analysis raises on a manifest whose keys are of another kind than the format says.
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError)


class Reader:
    """Reads encoded histograms for the exports; what cannot be read is left out and counted."""

    def __init__(self) -> None:
        self.unreadable = 0

    def merged(self, encoded: Sequence[str]) -> Histogram | None:
        """All values of several histograms; None where there is none."""
        return histograms.merge([found for _, found in self._readable(encoded)])

    def encoded(self, encoded: Sequence[str]) -> str | None:
        """The same, encoded again; a single one stays as it was recorded."""
        texts = [text for text, _ in self._readable(encoded)]
        if len(texts) < 2:
            return texts[0] if texts else None
        whole = HdrHistogram.decode(texts[0])
        for text in texts[1:]:
            whole.decode_and_add(text)
        return str(whole.encode().decode("ascii"))

    def describe(self, encoded: str) -> dict[str, Any]:
        """The columns that the tables of a run tell of one histogram."""
        return described(encoded) if self._readable([encoded]) else {}

    def _readable(self, encoded: Sequence[str]) -> list[tuple[str, Histogram]]:
        """Histograms that hold something and have the layout of the first."""
        found: list[tuple[str, Histogram]] = []
        for text in encoded:
            try:
                one = histograms.decode(text)
            except BadHistogramError:
                self.unreadable += 1
                continue
            if found and one.layout != found[0][1].layout:
                self.unreadable += 1
            elif one.total:
                found.append((text, one))
        return found


def gather(path: Path, wanted: Sequence[str] = ()) -> Material:
    """Read what is exported of a results folder or of the folder of one run.

    Parameters
    ----------
    path : Path
        Either folder, in any state that says what it is.
    wanted : sequence of str, optional
        Names of the runs; all by default.

    Raises
    ------
    StudyError
        If it is neither, a manifest cannot be read, or a run is not there; all faults at once.
    """
    if (path / STUDY_MANIFEST).is_file():
        return _gather_study(ResultsFolder(path), wanted)
    if (path / RUN_MANIFEST).is_file():
        return _gather_run(RunFolder(path.resolve()), path, wanted)
    got = "no such folder" if not path.exists() else "a file" if not path.is_dir() else "a folder with neither"
    message = f"must be a results folder with a {STUDY_MANIFEST} or the folder of a run with a {RUN_MANIFEST}"
    raise StudyError.at(path, f"{message}, got {got}")


def _gather_study(results: ResultsFolder, wanted: Sequence[str]) -> Material:
    manifest, fault = _manifest(results.path / STUDY_MANIFEST)
    faults = [fault] if fault else []
    there = {run.run_id: run for run in results.runs()}
    if not there:
        faults.append(Fault(str(results.path), 0, 0, "runs", "must hold at least one run to export, got none"))
        raise StudyError(faults)
    faults += [_unknown(name, list(there)) for name in dict.fromkeys(wanted) if name not in there]
    chosen = [run for name, run in there.items() if not wanted or name in wanted]
    runs = _runs(chosen, faults)
    design = [one for one in _design(manifest) if not wanted or one["run"] in wanted]
    missing = [one for one in design if one["run"] not in there]
    told = {**manifest, "design": design} if wanted else manifest
    summary = _analysed(results.path / STUDY_MANIFEST, lambda: describe_study(told, [run.summary for run in runs]))
    judged = _analysed(
        results.path / STUDY_MANIFEST, lambda: claims.of_manifest(told, [run.summary for run in runs]) or {}
    )
    return _material(results.path, summary, runs, missing, judged)


def _gather_run(run: RunFolder, path: Path, wanted: Sequence[str]) -> Material:
    """A single run; the study it lies in, where there is one, lends its name and its objectives."""
    faults = [_unknown(name, [run.run_id]) for name in dict.fromkeys(wanted) if name != run.run_id]
    runs = _runs([run], faults)
    above, _ = _manifest(run.path.parent.parent / STUDY_MANIFEST)
    design = [one for one in _design(above) if one["run"] == run.run_id]
    told = {**above, "design": design} if above else {"study": {"name": run.run_id}}
    summary = _analysed(path / RUN_MANIFEST, lambda: describe_study(told, [runs[0].summary]))
    return _material(path, summary, runs, [], {})


def _material(
    path: Path,
    summary: dict[str, Any],
    runs: list[RunMaterial],
    missing: list[dict[str, Any]],
    judged: dict[str, Any],
) -> Material:
    title, study = str(summary["title"]), str(summary["study"])
    return Material(path, title, study, __version__, runs, missing, summary, Reader(), judged)


def _unknown(name: str, there: list[str]) -> Fault:
    return Fault("<command line>", 0, 0, "--run", f"must be one of {', '.join(there)}, got {name!r} instead")


def _design(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    listed = manifest.get("design")
    return [one for one in listed if isinstance(one, dict) and one.get("run")] if isinstance(listed, list) else []


def _runs(folders: list[RunFolder], faults: list[Fault]) -> list[RunMaterial]:
    """Every run with its summary; all that is wrong is raised together."""
    read = [(folder, *_manifest(folder.path / RUN_MANIFEST)) for folder in folders]
    faults = [*faults, *(fault for _, _, fault in read if fault)]
    if faults:
        hint = "runs that are whole can be exported by name with --run" if len(folders) > 1 else None
        raise StudyError(faults, hint=hint if any(fault for _, _, fault in read) else None)
    return [_run(folder, manifest) for folder, manifest, _ in read]


def _run(folder: RunFolder, manifest: dict[str, Any]) -> RunMaterial:
    summary = _summary(folder)
    told = summary.get("damage") or {}
    damage = lines.Damage(bool(told.get("torn_tail")), int(told.get("bad_lines") or 0))
    return RunMaterial(folder, manifest, summary, _recorded(folder), damage)


def _manifest(path: Path) -> tuple[dict[str, Any], Fault | None]:
    try:
        document = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        return {}, Fault(str(path), 0, 0, "", f"must be a JSON object, got {error}")
    if not isinstance(document, dict):
        return {}, Fault(str(path), 0, 0, "", f"must be a JSON object, got {type(document).__name__} instead")
    if not isinstance(document.get("factors") or {}, dict):
        got = type(document["factors"]).__name__
        return {}, Fault(str(path), 0, 0, "factors", f"must be an object with the level of each factor, got {got}")
    return document, None


def _summary(run: RunFolder) -> dict[str, Any]:
    return known_summary(run) or _analysed(
        run.path / RUN_MANIFEST, lambda: describe(read_run(run), run.run_id, study_limits(run))
    )


def _analysed(manifest: Path, analyse: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return analyse()
    except _MALFORMED as error:
        message = f"must be a manifest as docs/reference/run-folder.md says, got {type(error).__name__}: {error}"
        raise StudyError.at(manifest, message) from error


def _recorded(run: RunFolder) -> bool:
    """Whether any interval was recorded."""
    return any(
        document.get("k") == "interval"
        for path in sorted(run.engine.glob("worker-*.ndjson"))
        for document in lines.read(path)
    )
