"""Reads a run folder, with the limits and objectives of its study. Missing or damaged data are skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from towtank.analysis.measurement import Measurement
from towtank.analysis.run.data import RunData
from towtank.analysis.service_logs import service_logs
from towtank.analysis.stored import read_stored
from towtank.analysis.system.tiers import Observed
from towtank.digging import dig
from towtank.errors import StudyError
from towtank.results import (
    REMOTE_PROBE_ENDING,
    RUN_MANIFEST,
    STUDY_MANIFEST,
    RunFolder,
    Shortening,
    observe,
    read_object,
    segments,
)


def read_run(run: RunFolder, objectives: Sequence[Mapping[str, object]] = ()) -> RunData:
    """Read all files of a run folder. Missing or damaged data are skipped, and damage is recorded.

    Parameters
    ----------
    run : RunFolder
    objectives : sequence of dict
        Objectives of the study, which decide whether a plateau of a search passes.
    """
    manifest, manifest_faults = run.usable_manifest()
    recording = segments.read(run.engine)
    short = segments.shortening(run.engine)
    probe, services = observe.read_probe(run.observe, short), observe.read_services(run.observe, short)
    declared = manifest.get("tiers")
    groups = probe.header.groups if probe.header else {}
    known = declared if isinstance(declared, dict) and declared else {name: {} for name in groups}
    origin = recording.header.monotonic_ns if recording.header else None
    if origin is None:
        # If there are no records of the engine, the first sample of the probe is the start of the run.
        origin = probe.samples[0]["t_ns"] if probe.samples else 0
    return RunData(
        manifest,
        segments.read_engine_document(run.engine),
        recording,
        Measurement(recording),
        Observed(probe, services, known, origin, _declared_hosts(manifest), _remote(run, manifest, origin, short)),
        list(run.events()),
        _plan(run),
        objectives,
        read_stored(run),
        service_logs(run, known, origin),
        manifest_faults,
        run.engine,
    )


def _remote(
    run: RunFolder, manifest: Mapping[str, object], origin_ns: int, short: Shortening | None
) -> dict[str, Observed]:
    """Return the records of the probes on other machines by host, with times in run time. Records with an unknown clock
    offset are skipped.
    """
    hosts = [path.name.removesuffix(REMOTE_PROBE_ENDING) for path in run.observe.glob(f"*{REMOTE_PROBE_ENDING}")]
    offsets = {host: offset for host in hosts if (offset := clock_offset(manifest, host)) is not None}
    streams = observe.read_remote_probes(run.observe, short, offsets)
    return {
        name: Observed(stream, {}, {}, origin_ns + offsets[name]) for name, stream in streams.items() if name in offsets
    }


def clock_offset(manifest: Mapping[str, object], host: str) -> int | None:
    """Return the clock offset of another machine: time of its clock minus time of the clock of this machine. None if
    unknown. [ns]

    Of all exchanges of time stamps, the most precise is used.
    """
    measured = dig(manifest, "clocks", host)
    usable = [
        (exchange["uncertainty_ns"], exchange["offset_ns"])
        for exchange in (measured if isinstance(measured, list) else [])
        if isinstance(exchange, dict)
        and all(isinstance(exchange.get(key), int) for key in ("uncertainty_ns", "offset_ns"))
    ]
    return min(usable)[1] if usable else None


def _declared_hosts(manifest: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    declared = manifest.get("hosts")
    named = declared.items() if isinstance(declared, Mapping) else ()
    return {name: host for name, host in named if isinstance(host, Mapping)}


def _plan(run: RunFolder) -> dict[str, Any] | None:
    try:
        return read_object(run.plan)
    except (OSError, ValueError, StudyError):
        return None


def study_limits(run: RunFolder) -> dict[str, float]:
    """Return the limits of the study to which a run belongs, or the limits that were passed to `towtank drive`. Empty
    if there are none.
    """
    found = _of_study(run, "limits") or _value_in(run.path / RUN_MANIFEST, "limits")
    named = found.items() if isinstance(found, dict) else ()
    return {name: limit for name, limit in named if isinstance(limit, int | float) and not isinstance(limit, bool)}


def study_objectives(run: RunFolder) -> list[Mapping[str, object]]:
    """Return the objectives of the study to which a run belongs; empty if it belongs to no study."""
    found = _of_study(run, "objectives")
    return [objective for objective in found if isinstance(objective, dict)] if isinstance(found, list) else []


def _of_study(run: RunFolder, key: str) -> Any:
    return _value_in(run.path.parent.parent / STUDY_MANIFEST, "study", key)


def _value_in(path: Path, *keys: str) -> Any:
    """Return the value at a path of keys in a JSON file; None if the file or a key does not exist."""
    try:
        found: Any = read_object(path)
        return reduce(getitem, keys, found)
    except (OSError, ValueError, KeyError, TypeError, StudyError):
        return None
