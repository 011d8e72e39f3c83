"""Reads published examples with known results from tests/certified/data."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

DATA = Path(__file__).parent.parent / "certified" / "data"


def case(identity: str) -> dict[str, Any]:
    for file in ("cases.json", "fit.json", "queueing.json", "caches.json"):
        for published in json.loads((DATA / file).read_text("utf-8")):
            if published["id"] == identity:
                return dict(published)
    raise KeyError(identity)


def column(name: str, file: str) -> npt.NDArray[np.float64]:
    with (DATA / file).open(encoding="utf-8", newline="") as stream:
        return np.array([float(row[name]) for row in csv.DictReader(stream)])
