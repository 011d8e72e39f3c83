"""Reads a study with its system and workload files, and applies a preset and changes from the command line.

All faults are reported together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from towtank import yamlfile
from towtank.errors import COMMAND_LINE, Fault, StudyError
from towtank.spelling import did_you_mean, misnamed
from towtank.study.across import across_faults
from towtank.study.checks import StudyCheck
from towtank.study.event_checks import event_faults
from towtank.study.model import StudyFile
from towtank.study.objective_levels import Levels, at_a_load
from towtank.study.objectives import read_objective
from towtank.study.overrides import FIRST_PARTS, apply_to_system, overrides_of
from towtank.study.shipping import STUDY_FILE, find_shipped, shipped_studies
from towtank.study.study import Study
from towtank.study.traces import RateCurve, read_trace
from towtank.system import SystemFile, check_system_tree, check_system_tree_as_written
from towtank.treecheck import validate_tree
from towtank.typos import Corrected, as_meant
from towtank.workload import Workload, check_workload_as_written, target_faults, templates
from towtank.yamlfile import Document, Node, fault_at


@dataclass(frozen=True)
class _Named:
    """File that a study names, with its content and its faults."""

    document: Document | None = None
    faults: tuple[Fault, ...] = ()
    workload: Workload | None = None
    system: SystemFile | None = None


class _Files:
    """Study file, and the files that its variants name. Each file is read and checked once."""

    def __init__(self, document: Document, corrected: Corrected) -> None:
        self.document = document
        self._corrected = corrected
        self._known: dict[tuple[str, str], _Named] = {}

    def named(self, tree: Node, key: str, name: str) -> _Named:
        """Read a file that the study names in `key`. If the file cannot be read, the fault is reported at this key."""
        path = self.document.path.parent / name
        try:
            if (key, name) not in self._known:
                self._known[key, name] = _checked(self._corrected.document(yamlfile.load(path)), key)
        except StudyError as error:
            if all(fault.line for fault in error.faults):
                return _Named(None, tuple(error.faults))
            node = yamlfile.find(tree, (key,))[0]
            message = error.faults[0].message
            return _Named(None, (Fault(node.file, node.line, node.column, key, f"{message} ({path})"),))
        return self._known[key, name]


def _checked(named: Document, key: str) -> _Named:
    if key == "system":
        system, faults = check_system_tree_as_written(named.root)
        return _Named(named, tuple(faults), system=system)
    workload, faults = check_workload_as_written(named, {})
    return _Named(named, tuple(faults), workload=workload)


def load_study(
    path: Path | str | Document, preset: str | None = None, *, changes: dict[str, str] | None = None
) -> Study:
    """Read and check a study with its workload and its system.

    Parameters
    ----------
    path : Path, str or Document
        The study file, or its path.
    preset : str, optional
        Name of the preset to apply; without it, the file is used unchanged.
    changes : dict of str to str, optional
        Values from the command line by dotted path, as YAML: keys of the study (`load.stages.steady`), or overrides
        (`services.NAME.settings.KEY`, `parameters.NAME`).

    Raises
    ------
    StudyError
        If any of the three files has a fault; the error lists all faults.
    """
    document = path if isinstance(path, Document) else yamlfile.load(path)
    study, faults = as_meant(lambda corrected: _check_all(document, preset, changes or {}, corrected))
    if faults or study is None:
        raise StudyError(faults)
    return replace(study, preset=preset)


def _check_all(
    document: Document, preset: str | None, changes: dict[str, str], corrected: Corrected
) -> tuple[Study | None, list[Fault]]:
    """Check all variants of a study; return the requested variant, and the faults of all variants."""
    files = _Files(corrected.document(document), corrected)
    document = files.document
    faults: list[Fault] = []
    tree = _with_changes(_with_preset(document, preset), changes)
    study = _check_one(files, tree, faults)
    if study is not None:
        study = replace(study, left_out=_left_out(document.root, tree))
    for name in _presets(document):
        if name != preset:
            _check_one(files, _with_preset(document, name), faults)
    if preset is not None:
        _check_one(files, _with_preset(document, None), faults)
    return study, _distinct(faults)


def _distinct(faults: list[Fault]) -> list[Fault]:
    """Return each fault once, sorted.

    Of several equal faults, a fault that suggests a correction for a typing error is preferred.
    """
    found: dict[Fault, Fault] = {}
    for fault in faults:
        if found.setdefault(fault, fault).typo is None:
            found[fault] = fault
    return sorted(found.values())


def _presets(document: Document) -> list[str]:
    node = document.root.child("presets")
    return list(node.value) if node is not None and isinstance(node.value, dict) else []


def _with_preset(document: Document, preset: str | None) -> Node:
    """Return the tree of a study file with a preset applied."""
    if preset is None:
        return document.root
    known = _presets(document)
    if preset not in known:
        allowed = (
            f"one of the presets of {document.name} ({', '.join(known)})"
            if known
            else "left out, because the study has no presets"
        )
        message = f"must be {allowed}, got {preset!r} instead{did_you_mean(preset, known)}"
        raise StudyError.of_option("--preset", message)
    node = document.root.child("presets")
    over = node.child(preset) if node is not None else None
    if over is None or not isinstance(over.value, dict):
        return document.root
    return yamlfile.merge(document.root, over)


def _with_changes(tree: Node, changes: dict[str, str]) -> Node:
    tree = tree.copy()
    if "repetitions" in changes and tree.child("repeat") is not None:
        del tree.value["repeat"]
    for path, text in changes.items():
        parts = tuple(path.split("."))
        value = yamlfile.parse_value(text, COMMAND_LINE, path)
        value.path = parts
        where_to = ("overrides", path) if parts[0] in FIRST_PARTS else parts
        yamlfile.put(tree, where_to, value, (0, 0))
    return tree


def _check_one(files: _Files, tree: Node, faults: list[Fault]) -> Study | None:
    """Check one variant of a study with the files that it names; faults are appended to `faults`."""
    document = files.document
    checked = validate_tree(tree, StudyFile)
    faults += checked.faults
    study = checked.model
    if study is None:
        return None
    system = files.named(checked.tree, "system", study.system)
    workload = files.named(checked.tree, "workload", study.workload)
    faults += [*system.faults, *workload.faults]
    check = StudyCheck(
        study,
        checked.tree,
        tree,
        system.document,
        workload.document,
        system_is_right=not system.faults,
        workload_is_right=not workload.faults,
        levels=_levels_anywhere(document, checked.tree),
        loads=_loads_anywhere(document, study),
    )
    faults += check.faults()
    curve, more = _curve(document, checked.tree, study)
    faults += more
    sizing, more = _sizing(document, checked.tree, study)
    faults += more
    if system.system is None or workload.workload is None or system.document is None:
        return None
    faults += _seams(workload.workload, system.system)
    made = _make((document, checked.tree, study), system.document, workload.workload, faults)
    if made is not None:
        whole = made if curve is None else replace(made, curve=curve)
        found = [*event_faults(whole), *across_faults(whole)]
        faults += found
        made = None if found else made
    if made is not None and sizing is not None:
        made = replace(made, files={**made.files, str(sizing.path): sizing.text})
    return made if made is None or curve is None else _with_curve(made, curve)


def _levels_anywhere(document: Document, tree: Node) -> dict[str, list[str]]:
    """Return the levels of each factor in `tree`, the study file and all presets; claims may name any of them."""
    presets = document.root.child("presets")
    over = [presets.child(name) for name in _presets(document)] if presets is not None else []
    found: dict[str, list[str]] = {}
    for part in (tree, document.root, *over):
        for name, levels in _levels_of(part).items():
            known = found.setdefault(name, [])
            known.extend(level for level in levels if level not in known)
    return found


def _levels_of(tree: Node | None) -> dict[str, list[str]]:
    """Return the levels of each factor as written in a variant of a study; an empty list for malformed levels."""
    factors = tree.child("factors") if tree is not None else None
    plain = factors.plain() if factors is not None else None
    return {
        name: [str(level) for level in levels] if isinstance(levels, list | dict) else []
        for name, levels in (plain.items() if isinstance(plain, dict) else ())
    }


def _left_out(whole: Node, tree: Node) -> dict[str, list[str]]:
    """Return the levels in `whole` that `tree` omits, by factor, without factors to which it adds levels."""
    kept = _levels_of(tree)
    return {
        name: [level for level in levels if level not in kept[name]]
        for name, levels in _levels_of(whole).items()
        if kept.get(name) and set(kept[name]) < set(levels)
    }


def _loads_anywhere(document: Document, study: StudyFile) -> Levels:
    """Return the loads of all runs of `study`, of the file without a preset, and of the file with each preset."""
    found = Levels()
    found.add(study)
    if any(at_a_load(read_objective(text)) for text in study.objectives):
        for name in (None, *_presets(document)):
            other = validate_tree(_with_preset(document, name), StudyFile).model
            if other is not None:
                found.add(other)
    return found


def _sizing(document: Document, tree: Node, study: StudyFile) -> tuple[Document | None, list[Fault]]:
    """Read the sizing file that a study names, if any. The report and `towtank validate` check its content."""
    if study.size is None:
        return None, []
    path = document.path.parent / study.size
    try:
        return yamlfile.load(path), []
    except StudyError as error:
        placed = [fault for fault in error.faults if fault.line]
        return None, placed or [fault_at(tree, ("size",), f"{error.faults[0].message} ({path})")]


def _curve(document: Document, tree: Node, study: StudyFile) -> tuple[RateCurve | None, list[Fault]]:
    """Read the trace that the load follows, if any. An unreadable file is a fault of the study."""
    trace = study.trace
    if trace is None:
        return None, []
    curve, faults = read_trace(document.path.parent / trace.csv, trace)
    at = ("load", "trace", "csv")
    return curve, [fault if fault.line else fault_at(tree, at, f"{fault.message} ({fault.file})") for fault in faults]


def _with_curve(study: Study, curve: RateCurve) -> Study:
    """Return the study with the arrival rates of its trace, and with the text of the trace among its files."""
    path = study.trace_path
    assert path is not None
    # Line ends are kept unchanged: later, the hash of this text shows whether the file has changed.
    files = {**study.files, str(path): path.read_bytes().decode("utf-8")}
    return replace(study, curve=curve, files=files)


def _make(
    variant: tuple[Document, Node, StudyFile],
    system_document: Document,
    workload: Workload,
    faults: list[Fault],
) -> Study | None:
    """Build a study from its parts; return None if there are faults."""
    document, tree, study = variant
    if faults:
        return None
    system, more = check_system_tree(apply_to_system(system_document.root, overrides_of(tree.child("overrides"))))
    if more or system is None:
        faults += more
        return None
    texts = (document, system_document, workload.document)
    files = {str(each.path): each.text for each in texts}
    return Study(study, workload, system, document.path, None, files, tree, system_document)


def _seams(workload: Workload, system: SystemFile) -> list[Fault]:
    """Return a fault for each target or service that the workload names but the system lacks."""
    faults = target_faults(workload, system.spoken)
    services = list(system.services)
    for path, text in workload.texts():
        for export in _exports(text):
            if export.service not in services:
                allowed = f"a service of the system ({', '.join(services)})"
                message = misnamed(allowed, export.service, services)
                faults.append(workload.fault(path, message))
    return faults


def _exports(text: str) -> list[templates.Export]:
    """Return the exports that a template reads; none if it is invalid, which another check reports."""
    try:
        return templates.exports(text)
    except ValueError:
        return []


def study_path(text: str) -> Path:
    """Return the path of a study file, given as a file, as a folder, or as the name of a study that ships with
    Towtank.

    Raises
    ------
    StudyError
        If the text does not look like a path and no shipped study has this name.
    """
    path = Path(text)
    if path.is_dir() and (path / STUDY_FILE).is_file():
        return path / STUDY_FILE
    found = find_shipped(text)
    if found is not None and not path.is_file():
        return found
    if path.exists() or path.suffix in {".yaml", ".yml"} or "/" in text:
        return path
    names = list(shipped_studies())
    allowed = f"a study file, a folder with a {STUDY_FILE}, or a study that comes with Towtank ({', '.join(names)})"
    message = f"must be {allowed}, got {text!r} instead"
    raise StudyError.of_option("STUDY", message + did_you_mean(text, names))
