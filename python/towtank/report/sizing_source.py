"""Reads the sizing of a results folder, or computes it from the study's sizing file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from towtank.errors import TowtankError
from towtank.results import kept

if TYPE_CHECKING:
    from towtank.sizing import SizingResult

KEPT = "sizing.json"
ANSWER_FILE = "study-sizing.json"
# Key of a stored sizing under which it lists the files from which it was computed.
SOURCE_FILES = "source_files"
FILES = "files"
REFUSED = "refused"


def sizing_of(folder: Path, manifest: Mapping[str, Any], recorded: Sequence[str]) -> SizingResult | str | None:
    """Return the sizing of a results folder, or the reason why it could not be computed; None if no sizing is stored
    and the study has no sizing file.

    A `sizing.json` in the folder, written by `towtank size --keep`, has precedence over the sizing file in the
    manifest. `recorded` has the names and hashes of the recorded files; if it is empty, the sizing is always computed
    anew from the sizing file.
    """
    chosen = folder / KEPT
    if chosen.is_file():
        try:
            return _read(json.loads(chosen.read_text("utf-8")))
        except ValidationError:
            return f"{KEPT} is not a result of `towtank size`"
        except (OSError, ValueError) as error:
            return f"{KEPT} cannot be read: {error}"
    named = [
        entry for entry in manifest.get("files") or () if isinstance(entry, Mapping) and entry.get("role") == "sizing"
    ]
    return _answered(folder, named[0], recorded) if named else None


def _read(document: object) -> SizingResult:
    from towtank.sizing import SizingResult  # noqa: PLC0415 - imports numpy, and few studies need it

    return SizingResult.model_validate(document)


def _answered(folder: Path, file: Mapping[str, Any], recorded: Sequence[str]) -> SizingResult | str:
    """Return the result of the study's sizing file. It is computed and stored if it is not yet stored, or if its
    sources have changed.

    Today's date is a source if the sizing file has no start date.
    """
    path = folder / ANSWER_FILE
    rests_on = [_Sources.read(kept.read_finite(path).get(SOURCE_FILES))]

    def make() -> kept.Document:
        found, answer = _answer(folder, file)
        rests_on[0] = found
        return {**answer, SOURCE_FILES: found.model_dump()}

    def sources() -> kept.Sources | None:
        return kept.sources_of([*recorded, *rests_on[0].lines()]) if recorded else None

    document = kept.made_or_kept(path, make, sources)
    return document[REFUSED] if document.get(REFUSED) else _read(document)


class _Sources(BaseModel):
    """Sources of a sizing outside of the results folder: files that the sizing file names, and today's date if
    needed.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    paths: list[str] = []
    today: bool = True

    @classmethod
    def read(cls, document: object) -> _Sources:
        """Read the sources that a stored sizing lists; if the list is missing or invalid, return the default."""
        try:
            return cls.model_validate(document)
        except ValidationError:
            return cls()

    def lines(self) -> Iterator[str]:
        """Yield a line with the digest of each file, and a line with today's date if the sizing depends on it."""
        for path in map(Path, self.paths):
            yield f"{kept.sha256(path) if path.is_file() else None}  {path}\n"
        if self.today:
            yield f"{datetime.now(UTC).date()}\n"


def _answer(folder: Path, file: Mapping[str, Any]) -> tuple[_Sources, kept.Document]:
    """Compute the result of the sizing file from the results.

    Relative paths in the sizing file refer to the original folder of the study.
    """
    from towtank.sizing import load_basis, read_sizing, size  # noqa: PLC0415 - slow to import, and few studies need it

    rests_on, origin = _Sources(), Path(str(file.get("path"))).parent
    try:
        checked = read_sizing(folder / FILES / str(file.get("name")), {})
        if checked.model is not None:
            load, named = checked.model.load, checked.model.machine_files
            history = [load.history.csv] if load.history is not None else []
            paths = [str(origin / path) for path in (*named, *history)]
            rests_on = _Sources(paths=paths, today=load.start is None)
        return rests_on, dict(size(load_basis(folder), checked, origin))
    except TowtankError as error:
        return rests_on, {REFUSED: str(error)}
