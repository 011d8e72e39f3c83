"""Holds the content of a run folder for the analysis, and selects the window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from towtank.analysis import recovery
from towtank.analysis.audit.asked import moves
from towtank.analysis.limits.found import Found, search_of_run, settled_before, stage_of
from towtank.analysis.measurement import Mask, Measurement
from towtank.analysis.recovery import StudyEvent
from towtank.analysis.service_logs import ServiceLog
from towtank.analysis.system.tiers import Observed
from towtank.analysis.windows import window as windows
from towtank.analysis.windows.by_stage import asked_stage
from towtank.analysis.windows.window import Window
from towtank.results import Damage, EngineForm, Recording, Records, segments


@dataclass
class RunData:
    """Content of a run folder. Each file is read only once.

    Attributes
    ----------
    manifest : dict
        Content of `run.json`; empty if the file cannot be read.
    engine : EngineForm or None
        Content of `engine.json`; None if the file cannot be read.
    recording : Recording
        Records of the load threads.
    measurement : Measurement
        Load of the run, computed from `recording`.
    observed : Observed
        Records of probes and services.
    events : list of dict
        Events of the run.
    plan : dict or None
        Content of `plan.json`; None if the file cannot be read.
    objectives : sequence of dict
        Objectives of the study.
    stored : dict or None
        Content of `stored.json`. If the file does not exist, the content is derived from the engine's records of stored
        documents.
    logs : dict or None
        Errors and warnings that the services first logged under load, by tier.
    manifest_faults : dict
        Faults of the malformed entries of `run.json`, which the manifest does not have, by place.
    engine_folder : Path or None
        Folder with the records of the engine, from which the seconds around events are read if the run is long.
    """

    manifest: dict[str, Any]
    engine: EngineForm | None
    recording: Recording
    measurement: Measurement
    observed: Observed
    events: list[dict[str, Any]]
    plan: dict[str, Any] | None = None
    objectives: Sequence[Mapping[str, object]] = ()
    stored: dict[str, Any] | None = None
    logs: dict[str, ServiceLog | None] | None = None
    manifest_faults: Mapping[str, str] = field(default_factory=dict)
    engine_folder: Path | None = None

    @property
    def records(self) -> Records:
        """Records of the run from which its tables are written."""
        return Records(self.recording, self.observed.probe, self.observed.services)

    @cached_property
    def found(self) -> Found | None:
        """Outcome of the search for the highest sustainable load; None if the run made no search, or if nothing was
        recorded.
        """
        search = self.manifest.get("search")
        if not isinstance(search, dict) or not self.measurement.bins:
            return None
        return search_of_run(self.measurement, search, self.objectives, self.events)

    @cached_property
    def stage(self) -> int | None:
        """Number of the stage that represents a search in the run summary; None if the run made no search."""
        best = self.found.best if self.found is not None else None
        return None if best is None else stage_of(self.measurement, best)

    @cached_property
    def study_events(self) -> list[StudyEvent]:
        """Events of the study, as they took place in the run."""
        return recovery.study_events(self.events, self.observed.origin_ns)

    @cached_property
    def around_events(self) -> Measurement:
        """Load around the events of the study, in seconds also in a long run."""
        begun = [event for event in self.study_events if event.begin_s is not None]
        times_s = [at for event in begun for at in (event.begin_s, event.end_s) if at is not None]
        if self.engine_folder is None or not self.measurement.is_merged or not times_s:
            return self.measurement
        span = min(times_s) - recovery.BEFORE_S, max(times_s) + recovery.AFTER_S
        return Measurement(segments.read_span(self.engine_folder, *span))

    @cached_property
    def steady_stage(self) -> Window | None:
        """Window of the requested stage, by default of all steady stages; None if nothing of it was recorded."""
        return windows.asked(self.measurement) if self.stage is None else asked_stage(self.measurement, self.stage)

    @cached_property
    def window(self) -> Window | None:
        """Analysed window, which ends before the first event of the study. None if no steady stage was recorded, or if
        too little of it lies before the event.
        """
        window = self.steady_stage
        first = None if window is None else recovery.first_inside(self.study_events, window)
        if window is None or first is None or first.begin_s is None:
            return None if window is None else self._judged(window)
        shortened = windows.shortened(self.measurement, window, first.begin_s)
        if shortened is None:
            return None
        judged = self._judged(shortened)
        judged.note = "; ".join(
            text for text in (f"the window ends when event {first.name} begins", judged.note) if text
        )
        return judged

    def asked_load(self, key: str) -> Any:
        """Return the planned load of the analysed stage. `key` is `users` or `rate`.

        If the load changes within the window, return the load in the manifest of the run.
        """
        asked, window = self.manifest.get(key), self.steady_stage
        if asked is None or window is None or window.stretch is None or self._moves_over(window):
            return asked
        held = window.stretch.users if key == "users" else window.stretch.rate
        return asked if held is None or held == asked else held

    def _judged(self, window: Window) -> Window:
        """Test a window for a steady state, unless the planned load changes within the window."""
        if self._moves_over(window):
            return windows.untested(window)
        cpu = {name: self.observed.cpu_s(name, self.measurement) for name in self.observed.tiers}
        settled = settled_before(min(self._stages_of(window), default=0), self.events) is True
        return windows.tested(self.measurement, window, cpu, settled=settled)

    def _moves_over(self, window: Window) -> bool:
        return any(moves(self.plan, self.measurement.stages, number) for number in self._stages_of(window))

    @property
    def is_moving(self) -> bool:
        return self.window is not None and self._moves_over(self.window)

    def _stages_of(self, window: Window) -> set[int]:
        inside = self.measurement.inside(window.asked_start_s, window.asked_end_s)
        return {int(number) for number in self.measurement.stage[inside]}

    @cached_property
    def chosen(self) -> Mask:
        """Mask of the bins in the analysed window."""
        if self.window is None:
            return np.zeros(self.measurement.bins, dtype=bool)
        return self.measurement.inside(self.window.start_s, self.window.end_s)

    @cached_property
    def asked(self) -> Mask:
        """Mask of the bins in the planned steady stages, which tests for a steady state may have shortened to the
        analysed window.
        """
        if self.window is None:
            return np.zeros(self.measurement.bins, dtype=bool)
        return self.measurement.inside(self.window.asked_start_s, self.window.asked_end_s)

    @property
    def phases(self) -> dict[str, Mask]:
        """Mask of the bins of each phase of the load, by name of the phase, in planned order."""
        found: dict[str, Mask] = {}
        for number, stage in enumerate(self.measurement.stages):
            mask = self.measurement.stage == number
            name = str(stage.phase)
            found[name] = found[name] | mask if name in found else mask
        return {name: mask for name, mask in found.items() if mask.any()}

    @cached_property
    def targets(self) -> set[str]:
        """Addresses of the targets of the generator, according to the plan."""
        return {
            address
            for target in (self.plan or {}).get("targets") or ()
            for way in (target.get("addresses") or (), *(target.get("fallbacks") or ()))
            for address in way
        }

    @property
    def damage(self) -> Damage:
        """Damage in all streams together."""
        streams = [
            self.recording.damage,
            self.observed.probe.damage,
            *(machine.probe.damage for machine in self.observed.remote.values()),
            *(service.damage for service in self.observed.services.values()),
        ]
        return Damage(any(stream.torn_tail for stream in streams), sum(stream.bad_lines for stream in streams))
