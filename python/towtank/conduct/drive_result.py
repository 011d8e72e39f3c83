"""Types of the document of `towtank drive`, as far as the command prints it (`docs/reference/drive.md`)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from towtank.analysis import Connections, DoubtLevel, NotChecked

Counts = dict[str, int]
Times = dict[str, float | None]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class DriveDoubt(_Part):
    """Doubt about the measurement, with advice."""

    level: DoubtLevel
    message: str = ""
    hint: str | None = None


class DriveTransaction(_Part):
    """Numbers of executions and of failures [1], throughput [1/s] and response times [ms] of a transaction."""

    count: int
    errors: int
    throughput_per_s: float | None = None
    response_time_ms: Times = {}


class DriveEstimates(_Part):
    """Throughput [1/s] and times [s] with their confidence intervals."""

    throughput_per_s: dict[str, object] = {}
    response_time_s: dict[str, object] = {}
    exchange_time_s: dict[str, object] = {}


class DriveGenerator(_Part):
    """Use of resources by the load generator; CPU time in [s] and of a request in [µs], start lag in [ms]."""

    cpu_s: float | None = None
    cpu_us_per_request: float | None = None
    start_lag_ms_p99: float | None = None
    peak_rss_bytes: float | None = None


class DriveResult(_Part):
    """Result of `towtank drive`: counts [1], throughput [1/s], times [ms] and the verdict on the measurement."""

    target: str
    valid: bool
    doubts: tuple[DriveDoubt, ...]
    not_checked: tuple[NotChecked, ...]
    relaxed_limits: tuple[dict[str, str | float], ...] = ()
    diagnosis: dict[str, object] | None = None
    window_s: float
    measured_s: float | None = None
    requests: int
    errors: int
    in_flight: int | None = None
    failed_later: Counts | None = None
    throughput_per_s: float | None
    response_time_ms: Times | None = None
    exchange_time_ms: Times | None = None
    estimates: DriveEstimates
    transactions: dict[str, DriveTransaction] = {}
    errors_by_kind: Counts = {}
    status_codes: Counts | None = {}
    not_started: Counts = {}
    connect_failures: Counts | None = None
    broken_answers: Counts | None = None
    unsendable: Counts | None = None
    connections: Connections | None = None
    generator: DriveGenerator
