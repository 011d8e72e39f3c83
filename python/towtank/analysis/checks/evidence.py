"""Defines the data that the checks of a run read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from towtank.analysis.doubts import Doubt
from towtank.analysis.recovery import StudyEvent
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.system.tiers import Observed
from towtank.analysis.windows.window import Window
from towtank.load_level import Load
from towtank.results import EngineForm

_LIMIT_NAMES = {
    "start_lag": ("start_lag_p99", "start_lag_p99_s", "start_lag", "start_lag_s"),
    "start_lag_share": ("start_lag_share",),
    "storage_free": ("storage_free",),
    "interference": ("interference",),
    "not_attributed": ("not_attributed",),
    "generator_busy": ("generator_busy",),
    "errors": ("errors", "errors_share", "error_share", "error_rate"),
}


@dataclass(frozen=True)
class UnsettledStage:
    """Settle stage that ended without evidence of a steady state: its name, length [s], and the reason."""

    name: str
    length_s: float
    why: str


@dataclass
class Evidence:
    """Data that the checks of a run read.

    Attributes
    ----------
    manifest : dict
        Content of `run.json`.
    engine : EngineForm or None
        Content of `engine.json`; None if the engine did not write this file.
    summary : RunSummary
        Run summary without the verdict.
    limits : dict
        Entry `limits` of the study, in SI units. It overrides the default limits of the checks.
    effective_samples : float
        A mean of this many independent response times would be as precise as the mean over the window. [1]
    timed : int
        Number of response times in the window. [1]
    events, events_of_load : list of dict
        All events of the run, and the events between the start of the run and the end of the last steady stage.
    last_words : str
        Error message in the final record of a load thread; empty if no final record has a message.
    generator_cpus : float or None
        CPUs that the load threads used in the window. [1]
    generator_cores : int
        Number of CPUs on which load threads can run in parallel. [1]
    connect_failures : int
        Requests of the whole run whose connection failed. [1]
    unsettled : UnsettledStage or None
        Settle stage before the window, if it ended without evidence of a steady state; otherwise None.
    relative_half_width : float or None
        Half width of the interval of the mean response time, divided by the mean; None if there is no interval. [1]
    study_events : sequence of StudyEvent
        Planned events of the study, as they took place in the run.
    completed : int
        Transactions that completed in the window. [1]
    keeps_connections : bool
        True if planned requests reuse connections.
    gaps_recorded : bool
        True if the engine recorded the times between iterations of its event loops.
    arrivals_waited : bool
        True if arrivals of an open load waited for a free user in the window.
    paces_are_fixed : bool
        True if the plan contains users with a constant pace.
    probe_expected : bool
        True if a probe was started on this machine.
    steps_by_transaction : dict of str to list of str
        Names of the requests of each transaction.
    redirects_expected : frozenset of str
        Names of requests that expect a redirect: their check accepts it, or their header Location is extracted.
    not_modified_expected : frozenset of str
        Names of requests that expect status 304: they have a condition, or their check accepts this status.
    seconds_merged : bool
        True if the run is so long that it was analysed in intervals of several seconds.
    manifest_faults : dict
        Faults of the malformed entries of `run.json`, which were left out, by place.
    """

    manifest: dict[str, Any]
    engine: EngineForm | None
    summary: RunSummary
    window: Window | None
    observed: Observed
    run_end_s: float
    finished: bool
    bad_histograms: int = 0
    workers: int = 0
    workers_found: int = 0
    effective_samples: float = 0.0
    timed: int = 0
    relative_half_width: float | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    events_of_load: list[dict[str, Any]] = field(default_factory=list)
    last_words: str = ""
    generator_cpus: float | None = None
    connect_failures: int = 0
    generator_cores: int = 1
    unsettled: UnsettledStage | None = None
    lag_grows: bool = False
    study_events: Sequence[StudyEvent] = ()
    completed: int = 0
    keeps_connections: bool = True
    gaps_recorded: bool = False
    arrivals_waited: bool = False
    paces_are_fixed: bool = False
    probe_expected: bool = False
    steps_by_transaction: dict[str, list[str]] = field(default_factory=dict)
    redirects_expected: frozenset[str] = frozenset()
    not_modified_expected: frozenset[str] = frozenset()
    seconds_merged: bool = False
    manifest_faults: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """True if the load is open: users arrive at a given rate, whether or not earlier requests have ended."""
        asked = Load.read(self.manifest)
        return asked is not None and asked.is_open

    def limit(self, name: str, default: float) -> float:
        """Return a limit by name: the value that the study sets, or else the default."""
        for key in _LIMIT_NAMES[name]:
            if key in self.limits:
                return float(self.limits[key])
        return default


RunCheck = Callable[[Evidence], Iterator[Doubt]]
"""Type of a check of a run: a function that reads the evidence and yields doubts about one subject."""
