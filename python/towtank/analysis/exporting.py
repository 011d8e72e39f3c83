"""Collects run folders and summaries for an export, and provides a reader of histograms. Nothing is written into the
folders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hdrh.histogram import HdrHistogram

from towtank.analysis import claims
from towtank.analysis.compaction import described
from towtank.analysis.run import describe, read_run, study_limits
from towtank.analysis.statistics import histograms
from towtank.analysis.statistics.histograms import BadHistogramError, Histogram
from towtank.analysis.study import conclude_study, describe_study, known_summary
from towtank.containment import Failed, attempt_or, attempt_unknown
from towtank.digging import dig
from towtank.errors import Fault, StudyError
from towtank.results import (
    RUN_MANIFEST,
    STUDY_MANIFEST,
    Material,
    ResultsFolder,
    RunFolder,
    RunManifest,
    RunMaterial,
    kept,
    lines,
    usable_part,
)
from towtank.version import __version__


class MaterialReader:
    """Decodes and merges histograms for exports. Skips unreadable histograms and counts them in `unreadable`."""

    def __init__(self) -> None:
        self.unreadable = 0

    def merged(self, encoded: Sequence[str]) -> Histogram | None:
        """Merge several histograms into one; None if no readable histogram contains a value."""
        return histograms.merge([found for _, found in self._readable(encoded)])

    def encoded(self, encoded: Sequence[str]) -> str | None:
        """Merge histograms as in `merged`, and encode the result. A single histogram is returned unchanged."""
        texts = [text for text, _ in self._readable(encoded)]
        if len(texts) < 2:
            return texts[0] if texts else None
        whole = HdrHistogram.decode(texts[0])
        for text in texts[1:]:
            whole.decode_and_add(text)
        return str(whole.encode().decode("ascii"))

    def describe(self, encoded: Sequence[str]) -> Sequence[Mapping[str, object]]:
        """Return count, quantiles and maximum of each histogram as table columns."""
        found = histograms.decode_all(encoded)
        self.unreadable += len(found.faults)
        return described(found)

    def _readable(self, encoded: Sequence[str]) -> list[tuple[str, Histogram]]:
        """Return the encoded and the decoded form of each readable histogram that is not empty. A histogram counts as
        unreadable if its layout (bucket widths) differs from that of the first.
        """
        found: list[tuple[str, Histogram]] = []
        for text in encoded:
            try:
                histogram = histograms.decode(text)
            except BadHistogramError:
                self.unreadable += 1
                continue
            if found and histogram.layout != found[0][1].layout:
                self.unreadable += 1
            elif histogram.total:
                found.append((text, histogram))
        return found


def gather(path: Path, wanted: Sequence[str] = ()) -> Material:
    """Read the data for an export from a results folder or a run folder.

    Parameters
    ----------
    path : Path
        Results folder or run folder, possibly incomplete.
    wanted : sequence of str, optional
        Names of the runs to export; all runs by default.

    Raises
    ------
    StudyError
        If `path` is neither kind of folder, a manifest cannot be read, or a requested run does not exist. The error
        lists all faults.
    """
    if (path / STUDY_MANIFEST).is_file():
        return _gather_study(ResultsFolder(path), wanted)
    if (path / RUN_MANIFEST).is_file():
        return _gather_run(RunFolder(path.resolve()), path, wanted)
    got = "no such folder" if not path.exists() else "a file" if not path.is_dir() else "a folder with neither"
    message = f"must be a results folder with a {STUDY_MANIFEST} or the folder of a run with a {RUN_MANIFEST}"
    raise StudyError.at(path, f"{message}, got {got}")


def _gather_study(results: ResultsFolder, wanted: Sequence[str]) -> Material:
    manifest, faults = _manifest(results)
    there = {run.run_id: run for run in results.runs()}
    if not there:
        faults.append(Fault(str(results.path), 0, 0, "runs", "must contain at least one run to export, got none"))
        raise StudyError(faults)
    faults += [_unknown(name, list(there)) for name in dict.fromkeys(wanted) if name not in there]
    chosen = [run for name, run in there.items() if not wanted or name in wanted]
    runs = _runs(chosen, faults)
    design = [planned for planned in _design(manifest) if not wanted or planned["run"] in wanted]
    missing = [_usable(planned) for planned in design if planned["run"] not in there]
    described = {**manifest, "design": design} if wanted else manifest
    summary = describe_study(described, [run.summary for run in runs])
    judged = attempt_or("claims", None, claims.of_manifest, described, [run.summary for run in runs])
    judged_claims = None if judged is None else judged.document()
    summary |= conclude_study(results, summary, judged_claims)
    title, study, reader = str(summary["title"]), str(summary["study"]), MaterialReader()
    return Material(results.path, title, study, __version__, runs, missing, summary, reader, judged_claims or {})


def _gather_run(run: RunFolder, path: Path, wanted: Sequence[str]) -> Material:
    """Return the export data of a single run. If the run belongs to a study, the title and the objectives come from the
    study.
    """
    faults = [_unknown(name, [run.run_id]) for name in dict.fromkeys(wanted) if name != run.run_id]
    runs = _runs([run], faults)
    above, _ = _manifest(ResultsFolder(run.path.parent.parent))
    design = [planned for planned in _design(above) if planned["run"] == run.run_id]
    described = {**above, "design": design} if above else {"study": {"name": run.run_id}}
    summary = describe_study(described, [each.summary for each in runs])
    title, study = str(summary["title"]), str(summary["study"])
    return Material(path, title, study, __version__, runs, [], summary, MaterialReader())


def _unknown(name: str, there: list[str]) -> Fault:
    return Fault.of_option("--run", f"must be one of {', '.join(there)}, got {name!r} instead")


def _design(manifest: kept.Document) -> list[kept.Document]:
    listed = manifest.get("design")
    planned = listed if isinstance(listed, list) else []
    return [run for run in planned if isinstance(run, dict) and run.get("run")]


def _runs(folders: list[RunFolder], faults: list[Fault]) -> list[RunMaterial]:
    """Read every run with its summary. Raise one error with all faults if a manifest cannot be read."""
    read = [(folder, *_manifest(folder)) for folder in folders]
    own = [fault for _, _, found in read for fault in found]
    faults = [*faults, *own]
    if faults:
        hint = "complete runs can be exported by name with --run" if len(folders) > 1 else None
        raise StudyError(faults, hint=hint if own else None)
    made = [attempt_unknown(f"summary of {folder.run_id}", _run, folder, manifest) for folder, manifest, _ in read]
    return [run for run in made if not isinstance(run, Failed)]


def _run(folder: RunFolder, manifest: kept.Document) -> RunMaterial:
    summary = known_summary(folder)
    if summary is None:
        data = read_run(folder)
        summary = replace(describe(data, folder.run_id, study_limits(folder)), run=folder.run_id).document()
    torn, bad = (dig(summary, "damage", key) for key in ("torn_tail", "bad_lines"))
    damage = lines.Damage(bool(torn), int(bad or 0))
    return RunMaterial(folder, _usable(manifest), summary, _recorded(folder), damage)


def _usable(manifest: Mapping[str, object]) -> RunManifest:
    return RunManifest.model_validate(usable_part(manifest, RunManifest))


def _manifest(folder: ResultsFolder | RunFolder) -> tuple[kept.Document, list[Fault]]:
    try:
        return folder.manifest, []
    except StudyError as error:
        return {}, error.faults
    except (OSError, ValueError) as error:
        return {}, [Fault(str(folder.path / folder.manifest_name), 0, 0, "", f"must be a JSON object, got {error}")]


def _recorded(run: RunFolder) -> bool:
    """Return True if at least one interval of the run was recorded."""
    return any(
        document.get("k") == "interval"
        for path in sorted(run.engine.glob("worker-*.ndjson"))
        for document in lines.read(path)
    )
