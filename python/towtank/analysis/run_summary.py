"""Summary of a run: the type of `summary.json` (`towtank/run-summary/1`). Each attribute is a key of the document, as
`docs/reference/summary.md` describes; summaries of older versions lack some keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from towtank.analysis.audit.auditing import Audit
from towtank.analysis.backlog import Backlog
from towtank.analysis.bounds import Bound
from towtank.analysis.connections import Connections
from towtank.analysis.doubts import VerdictLevel
from towtank.analysis.generator import Generator
from towtank.analysis.laws import Accounting, Laws
from towtank.analysis.load import Distribution, Errors, Step, Transaction
from towtank.analysis.pauses import Pauses
from towtank.analysis.recovery import EventResult
from towtank.analysis.run_summary_forms import DatabaseWork, DoubtForm, LimitForm, StoredForm, WindowForm
from towtank.analysis.service_logs import ServiceLog
from towtank.analysis.statistics.estimates import NO_ESTIMATE, Estimate
from towtank.analysis.system.balance import Balance
from towtank.analysis.system.entries import (
    HostUse,
    MachineUse,
    Metric,
    Number,
    Observation,
    OtherPrograms,
    SharedMachine,
    TierUse,
    Unattributed,
)
from towtank.analysis.system.spread import Spread
from towtank.analysis.system.storage import Storage
from towtank.analysis.unfinished import Unfinished
from towtank.analysis.user_groups import UserGroup
from towtank.documents import document_of, has_form, record_of
from towtank.load_level import Load
from towtank.results import Damage


@dataclass(frozen=True)
class Users:
    """Requested and mean number of users, and the groups of users; None if they cannot be distinguished. [1]"""

    asked: Number | None = None
    mean: float | None = None
    groups: tuple[UserGroup, ...] | None = ()


@dataclass(frozen=True)
class TierInPhase:
    """CPUs that a tier and its parts used in a phase of the load. [1]"""

    cpus_used: float | None
    parts: dict[str, float | None] = field(default_factory=dict)
    estimates: TierEstimates | None = None


@dataclass(frozen=True)
class TierEstimates:
    """CPUs that a tier and its parts used in a phase of the load, with their intervals. [1]"""

    cpus_used: Estimate
    parts: dict[str, Estimate]


@dataclass(frozen=True)
class Phase:
    """Phase of the load of a run: its time [s], throughput [1/s], mean response time [s], and the CPUs used by tier."""

    start_s: float
    end_s: float
    throughput_per_s: float
    response_mean_s: float | None
    tiers: dict[str, TierInPhase]


@dataclass(frozen=True)
class NotChecked:
    """Check that could not be made on a run, named by the kind of its doubt, with the reason."""

    check: str
    why: str


@dataclass(frozen=True)
class RunVerdict:
    """Verdict on a run, with the doubts and the checks that were not made. A run without a verdict is invalid."""

    level: VerdictLevel = "invalid"
    reasons: Sequence[Annotated[Mapping[str, Any], has_form(DoubtForm)]] = ()
    not_checked: tuple[NotChecked, ...] = ()


@dataclass(frozen=True)
class RunSummary:
    """Summary of a run."""

    schema: str = "towtank/run-summary/1"
    towtank: str = ""
    run: str = ""
    index: int | None = None
    repetition: int = 1
    factors: dict[str, str | int | float | bool] = field(default_factory=dict)
    status: str | None = None
    verdict: RunVerdict = field(default_factory=RunVerdict)
    window: Annotated[Mapping[str, Any] | None, has_form(WindowForm)] = None
    users: Users = field(default_factory=Users)
    rate: Number | None = None
    throughput_per_s: Estimate = NO_ESTIMATE
    request_throughput_per_s: Estimate = NO_ESTIMATE
    response_time_s: Distribution = field(default_factory=dict)
    exchange_time_s: Distribution = field(default_factory=dict)
    errors: Errors = field(default_factory=Errors)
    request_errors: Errors = field(default_factory=Errors)
    status_codes: dict[str, int] | None = None
    transactions: dict[str, Transaction] = field(default_factory=dict)
    steps: dict[str, Step] = field(default_factory=dict)
    tiers: dict[str, TierUse] = field(default_factory=dict)
    not_attributed: dict[str, Unattributed] = field(default_factory=dict)
    other_programs: OtherPrograms | None = None
    host: MachineUse = field(default_factory=MachineUse)
    hosts: dict[str, HostUse] = field(default_factory=dict)
    machine: SharedMachine | None = None
    services: dict[str, dict[str, Metric]] = field(default_factory=dict)
    phases: dict[str, Phase] = field(default_factory=dict)
    observation: Observation = field(default_factory=Observation)
    laws: Laws = field(default_factory=Laws)
    accounting: Accounting | None = None
    audit: Audit | None = None
    objectives: Sequence[Mapping[str, Any]] = ()
    backlog: Backlog | None = None
    unfinished: Unfinished | None = None
    pauses: Pauses | None = None
    bounds: tuple[Bound, ...] = ()
    limit: Annotated[Mapping[str, object] | None, has_form(LimitForm)] = None
    generator: Generator = field(default_factory=Generator)
    connections: Connections = field(default_factory=Connections)
    failed_exchanges: Sequence[Mapping[str, object]] | None = None
    balance: dict[str, Balance] = field(default_factory=dict)
    spread: dict[str, Spread] = field(default_factory=dict)
    storage: Storage | None = None
    databases: Mapping[str, Annotated[Mapping[str, Any], has_form(DatabaseWork)]] = field(default_factory=dict)
    stored: Annotated[Mapping[str, Any] | None, has_form(StoredForm)] = None
    logs: dict[str, ServiceLog | None] | None = None
    events: dict[str, EventResult] = field(default_factory=dict)
    timeline: Mapping[str, Any] = field(default_factory=dict)
    damage: Damage = field(default_factory=Damage)
    inputs: Mapping[str, str | None] | None = None

    @property
    def load(self) -> Load | None:
        """Requested load; None if it is unknown."""
        return Load.read({"users": self.users.asked, "rate": self.rate})

    def document(self) -> dict[str, object]:
        """Return the content of `summary.json`."""
        found = document_of(self)
        return found if self.inputs is not None else {key: found[key] for key in found if key != "inputs"}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> RunSummary:
        """Read the content of `summary.json`; malformed entries get their defaults."""
        return record_of(cls, document)
