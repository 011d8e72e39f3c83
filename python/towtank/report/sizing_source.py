"""Sizing in a report: a sizing that was kept with the results, or else the answer to the sizing question of
the study.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from towtank.errors import TowtankError

KEPT = "sizing.json"
FILES = "files"
Json = Mapping[str, Any]


def sizing_of(folder: Path, manifest: Json) -> Json | None:
    """Return the sizing of a results folder; None without a kept sizing and without a sizing question in the study.

    Parameters
    ----------
    folder : Path
        The results folder. Its `sizing.json`, written by `towtank size --keep`, has precedence over the question.
    manifest : dict
        `study.json`.
    """
    kept = folder / KEPT
    if kept.is_file():
        try:
            document = json.loads(kept.read_text("utf-8"))
        except (OSError, ValueError) as error:
            return {"refused": f"{KEPT} cannot be read: {error}"}
        known = isinstance(document, dict) and document.get("schema") == "towtank/size/1"
        return document if known else {"refused": f"{KEPT} is no answer of `towtank size`"}
    named = [
        entry for entry in manifest.get("files") or () if isinstance(entry, Mapping) and entry.get("role") == "sizing"
    ]
    return _answered(folder, named[0]) if named else None


def _answered(folder: Path, file: Json) -> Json:
    """Answer the sizing question of the study from the results; paths are relative to the study's original
    folder.
    """
    from towtank.size.basis import load_basis  # noqa: PLC0415 - heavy, and few studies ask
    from towtank.size.reading import read_sizing  # noqa: PLC0415
    from towtank.size.sizing import size  # noqa: PLC0415

    try:
        checked = read_sizing(folder / FILES / str(file.get("name")), {})
        return size(load_basis(folder), checked, Path(str(file.get("path"))).parent)
    except TowtankError as error:
        return {"refused": str(error)}
