"""Sizing in a report: a sizing that was kept with the results, or else the answer to the sizing question of
the study.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from towtank.errors import TowtankError
from towtank.results import kept

KEPT = "sizing.json"
ANSWER_FILE = "study-sizing.json"
FILES = "files"
Json = Mapping[str, Any]


def sizing_of(folder: Path, manifest: Json, recorded: Sequence[str]) -> Json | None:
    """Return the sizing of a results folder; None without a kept sizing and without a question in the study.

    Parameters
    ----------
    folder : Path
        The results folder. Its `sizing.json`, written by `towtank size --keep`, has precedence over the question.
    manifest : dict
        `study.json`.
    recorded : sequence of str
        Names and hashes of the recorded files, from which the answer is made; without them, no kept answer is used.
    """
    chosen = folder / KEPT
    if chosen.is_file():
        try:
            document = json.loads(chosen.read_text("utf-8"))
        except (OSError, ValueError) as error:
            return {"refused": f"{KEPT} cannot be read: {error}"}
        known = isinstance(document, dict) and document.get("schema") == "towtank/size/1"
        return document if known else {"refused": f"{KEPT} is no answer of `towtank size`"}
    named = [
        entry for entry in manifest.get("files") or () if isinstance(entry, Mapping) and entry.get("role") == "sizing"
    ]
    return _answered(folder, named[0], recorded) if named else None


def _answered(folder: Path, file: Json, recorded: Sequence[str]) -> Json:
    """Return the answer to the sizing question of the study: the kept one, or a new one, which is then kept.

    An answer without a day of its own begins today, so it is made again on another day.
    """
    path = folder / ANSWER_FILE
    asked = [_Asked.read(kept.read_finite(path).get("source_files"))]

    def make() -> dict[str, Any]:
        found, answer = _answer(folder, file)
        asked[0] = found
        return {**answer, "source_files": {"paths": list(found.paths), "today": found.today}}

    def sources() -> kept.Sources | None:
        return kept.sources_of([*recorded, *asked[0].lines()]) if recorded else None

    document = kept.made_or_kept(path, make, sources)
    return {key: value for key, value in document.items() if key != "source_files"}


@dataclass(frozen=True)
class _Asked:
    """Files outside of the results folder that a question names, and whether its answer depends on the day."""

    paths: tuple[str, ...] = ()
    today: bool = True

    @classmethod
    def read(cls, document: object) -> _Asked:
        """Read what a kept answer says of its question; nothing if it says nothing."""
        found = document if isinstance(document, Mapping) else {}
        paths = found.get("paths")
        return cls(tuple(map(str, paths)) if isinstance(paths, list) else (), found.get("today") is not False)

    def lines(self) -> Iterator[str]:
        """Yield a line for each file, and one for the day."""
        for path in map(Path, self.paths):
            yield f"{kept.sha256(path) if path.is_file() else None}  {path}\n"
        if self.today:
            yield f"{datetime.now(UTC).date()}\n"


def _answer(folder: Path, file: Json) -> tuple[_Asked, dict[str, Any]]:
    """Answer the question from the results; its paths are relative to the original folder."""
    from towtank.size.basis import load_basis  # noqa: PLC0415 - heavy, and few studies ask
    from towtank.size.reading import read_sizing  # noqa: PLC0415
    from towtank.size.sizing import size  # noqa: PLC0415

    asked, origin = _Asked(), Path(str(file.get("path"))).parent
    try:
        checked = read_sizing(folder / FILES / str(file.get("name")), {})
        if checked.model is not None:
            load, named = checked.model.load, checked.model.machine_files
            history = [load.history.csv] if load.history is not None else []
            asked = _Asked(tuple(str(origin / path) for path in (*named, *history)), today=load.start is None)
        return asked, dict(size(load_basis(folder), checked, origin))
    except TowtankError as error:
        return asked, {"refused": str(error)}
