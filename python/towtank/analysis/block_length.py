"""Computes the duration of one run of each combination of factor levels, from the manifests of the runs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from statistics import median

from towtank.digging import dig
from towtank.errors import StudyError
from towtank.results import ResultsFolder, RunFolder

_NS = 1e9


def block_length(results: ResultsFolder) -> float | None:
    """Return the duration of one run of each combination of factor levels, with the preparation of the runs.

    Returns
    -------
    float or None
        Number of combinations times the median time from the start of a run to the start of the next one; of a single
        run, its own duration. None if no run has recorded times. [s]
    """
    manifests = [manifest for run in results.runs() if (manifest := _readable(run)) is not None]
    combinations = {tuple(sorted((dig(each, "factors") or {}).items())) for each in manifests}
    started = sorted(start for each in manifests if (start := dig(each, "started_wall_ns")) is not None)
    gaps = [(later - earlier) / _NS for earlier, later in pairwise(started)]
    if not gaps:
        ends = [end for each in manifests if (end := dig(each, "ended_wall_ns")) is not None]
        gaps = [(end - start) / _NS for start, end in zip(started, ends, strict=False)]
    return median(gaps) * len(combinations) if gaps else None


def _readable(run: RunFolder) -> Mapping[str, object] | None:
    """Return the manifest of a run; None if it cannot be read."""
    try:
        return run.manifest
    except (OSError, ValueError, StudyError):
        return None
