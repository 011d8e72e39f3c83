"""Reads the folder of one run, and what the study it lies in says of it; what is missing or damaged is left out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from towtank.analysis.measurement import Measurement
from towtank.analysis.run.data import RunData
from towtank.analysis.service_logs import service_logs
from towtank.analysis.stored import read_stored
from towtank.analysis.system.tiers import Observed
from towtank.files import read_regular
from towtank.results import observe, segments
from towtank.results.folder import STUDY_MANIFEST, RunFolder


def read_run(run: RunFolder, objectives: Sequence[dict[str, Any]] = ()) -> RunData:
    """Read all of a run folder; what is missing or damaged is left out and told.

    Parameters
    ----------
    run : RunFolder
    objectives : sequence of dict
        Of the study; a search for the limit is judged by them.
    """
    try:
        manifest = run.manifest
    except (OSError, ValueError):
        manifest = {}
    recording = segments.read(run.engine)
    probe, services = observe.read_probe(run.observe), observe.read_services(run.observe)
    declared = manifest.get("tiers")
    groups = probe.header.get("groups", {})
    known = declared if isinstance(declared, dict) and declared else {name: {} for name in groups}
    origin = (recording.header or {}).get("monotonic_ns")
    if not isinstance(origin, int):
        # Without any segment there is no load to line up with; the first sample serves as the origin.
        origin = probe.samples[0]["t_ns"] if probe.samples else 0
    return RunData(
        manifest,
        segments.read_engine_document(run.engine),
        recording,
        Measurement(recording),
        Observed(probe, services, known, origin, _declared_hosts(manifest), _remote(run, manifest, origin)),
        list(run.events()),
        _plan(run),
        objectives,
        read_stored(run),
        service_logs(run, known, origin),
    )


def _remote(run: RunFolder, manifest: dict[str, Any], origin_ns: int) -> dict[str, Observed]:
    """What probes on other machines saw, on the clock of the run; a stream without a clock cannot be lined up."""
    streams = observe.read_remote_probes(run.observe)
    return {
        name: Observed(stream, {}, {}, origin_ns + offset)
        for name, stream in streams.items()
        if (offset := clock_offset(manifest, name)) is not None
    }


def clock_offset(manifest: dict[str, Any], host: str) -> int | None:
    """How far the clock of another machine was ahead, from the exchange that tells it best. [ns]"""
    clocks = manifest.get("clocks")
    measured = clocks.get(host) if isinstance(clocks, dict) else None
    usable = [
        (one["uncertainty_ns"], one["offset_ns"])
        for one in (measured if isinstance(measured, list) else [])
        if isinstance(one, dict) and all(isinstance(one.get(key), int) for key in ("uncertainty_ns", "offset_ns"))
    ]
    return min(usable)[1] if usable else None


def _declared_hosts(manifest: dict[str, Any]) -> dict[str, Any]:
    declared = manifest.get("hosts")
    return {name: one for name, one in declared.items() if isinstance(one, dict)} if isinstance(declared, dict) else {}


def _plan(run: RunFolder) -> dict[str, Any] | None:
    try:
        plan = json.loads(read_regular(run.plan))
    except (OSError, ValueError):
        return None
    return plan if isinstance(plan, dict) else None


def study_limits(run: RunFolder) -> dict[str, Any]:
    """`limits` of the study that a run folder lies in; empty where there is none."""
    limits = _of_study(run, "limits")
    return limits if isinstance(limits, dict) else {}


def study_objectives(run: RunFolder) -> list[dict[str, Any]]:
    """`objectives` of the study that a run folder lies in; empty where there is none."""
    found = _of_study(run, "objectives")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _of_study(run: RunFolder, key: str) -> Any:
    try:
        manifest = json.loads(read_regular(run.path.parent.parent / STUDY_MANIFEST))
        return manifest["study"][key]
    except (OSError, ValueError, KeyError, TypeError):
        return None
