"""Computes digests of the files from which a run summary is made. They reveal outdated summaries and copied runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from towtank.analysis.run.reading import study_limits, study_objectives
from towtank.files import FilesVersion, open_regular, version_of
from towtank.results import EVENTS_FILE, RUN_MANIFEST, RunFolder, segments

_DIGEST_BYTES = 16
_LARGE_BYTES = 1 << 22


def inputs(
    run: RunFolder, limits: Mapping[str, float], objectives: Sequence[Mapping[str, object]]
) -> dict[str, str | None]:
    """Return the digests of all files and settings from which a run summary is made.

    Parameters
    ----------
    run : RunFolder
    limits : dict
        Limits of the study.
    objectives : sequence of dict
        Objectives of the study.

    Returns
    -------
    dict
        `load`, the digest of the records of the load threads (None if there are no records), and `all`, the digest of
        all inputs.
    """
    load = [path for path, _ in segments.paths(run.engine)]
    others = [
        run.path / RUN_MANIFEST,
        run.path / EVENTS_FILE,
        run.plan,
        run.stored,
        run.engine / "engine.json",
        *sorted(run.observe.glob("*.ndjson")),
    ]
    asked = json.dumps([limits, list(objectives)], sort_keys=True)
    recorded = _digest(load)
    return {"load": recorded, "all": _digest([*load, *others], asked + _lengths(run))}


def _lengths(run: RunFolder) -> str:
    """Render the lengths of the logs. The digest covers the lengths instead of the contents, because logs may be very
    long.
    """
    return "".join(f"\n{path.name} {path.stat().st_size}" for path in sorted(run.logs.glob("*.log")))


def is_current(run: RunFolder, summary: Mapping[str, object]) -> bool:
    """Return True if a summary was made from the present files of its run folder.

    Parameters
    ----------
    run : RunFolder
    summary : dict
        Content of `summary.json`. A summary without digests, made by an older version of Towtank, counts as current.
    """
    now = inputs(run, study_limits(run), study_objectives(run))
    made_from = summary.get("inputs")
    return made_from is None or bool(made_from == now)


def _digest(paths: Iterable[Path], text: str = "") -> str | None:
    """Return a digest of the names, sizes and contents of files; None if all files are empty or missing."""
    found = hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES)
    empty = True
    for path in paths:
        try:
            content, size = _content(path)
        except OSError:
            continue
        empty = empty and size == 0
        found.update(f"{path.name} {size} {content}\n".encode())
    return None if empty else found.hexdigest()


def _content(path: Path) -> tuple[str, int]:
    """Return the digest and the size of a file. [bytes]"""
    if path.stat().st_size < _LARGE_BYTES:
        return _read_content(path)
    return _content_of_large(path, version_of([path]))


@lru_cache(maxsize=256)
def _content_of_large(path: Path, _version: FilesVersion) -> tuple[str, int]:
    """Read a large file only once; the version makes the cache read a changed file anew."""
    return _read_content(path)


def _read_content(path: Path) -> tuple[str, int]:
    with open_regular(path) as stream:
        content = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=_DIGEST_BYTES))
        return content.hexdigest(), stream.tell()
