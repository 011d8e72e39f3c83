"""Loads one running target without a study, with one repeated request or with a workload."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from towtank import files
from towtank.conduct.connecting import UNIX, ConnectionOptions
from towtank.conduct.display import Display
from towtank.conduct.envelope import require_open_files, require_ports
from towtank.conduct.live_sending import LiveSending
from towtank.conduct.refusals import refuse_options
from towtank.conduct.run import ENGINE_LOG, RunOutcome, disk_is_full, drive_engine
from towtank.conduct.stopping import StopRequest
from towtank.conduct.targets_here import UNNAMED, targets_here, watching_targets
from towtank.dialing import UnreachedError, connect_first, fact, next_step
from towtank.errors import EngineError, StudyError, TargetError
from towtank.marking import marked
from towtank.plan import Plan, PlannedLoad, PlannedStage
from towtank.results import GENERATOR_GROUP, RunFolder
from towtank.secrets import basic_authorization
from towtank.study import Objective, RateCurve
from towtank.system import refuses_unix, split_address
from towtank.units import format_size
from towtank.workload import target_with_fallbacks

TRANSACTION = "request"
# Default limits of an open load: the number of users, and the number of arrivals that may wait for a free user. The
# engine requires both limits in its plan. [1]
USERS_AT_MOST = 10_000
BACKLOG_AT_MOST = 1_000_000
CONNECT_LIMIT_S = 5.0
_SAMPLES_EVERY_S, _CONNECTIONS_EVERY_S = 1.0, 0.5
"""Interval between samples of this machine, and interval between counts of connections to targets. A count describes a
single instant, so a short load needs more counts. [s]
"""
_SHORT_S = 5.0
"""Length of a load below which this machine is sampled at the shorter of both intervals, so that enough samples fall
into the measured window. [s]
"""
RECORD_BYTES, RECORD_BYTES_PER_S = 48 * 1024, 2048
"""Least disk space that the record of a load needs: a constant amount [byte], plus an amount per second and load thread
[byte/s].

The record of a load that repeats a single request takes twice this amount per second.
"""


@dataclass(frozen=True)
class Exchange:
    """Request that `towtank drive` repeats, to a URL or to the targets of a workload file.

    The URL is `http://host:port/path` or `https://host:port/path`, or the path of a workload file. The headers are
    pairs of name and value, sent unchanged; the body is a text, or `@FILE` for the content of a file; `timeout_s` is
    the time limit for the complete response [s]; `changes` are values of the workload's parameters,
    `parameters.NAME=value`, and only allowed with a workload file.
    """

    url: str
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    timeout_s: float = 30.0
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Load:
    """Load of `towtank drive`: number of users or arrival rate, arrival process, and length.

    Attributes
    ----------
    users : int
        Number of virtual users of a closed load. [1]
    rate : float or None
        Arrival rate of an open load; None for a closed load. [1/s]
    curve : RateCurve or None
        Arrival rate of an open load over time, instead of `rate`; its length is the length of the measured window.
    users_at_most, backlog_at_most : int
        Largest number of users of an open load, and largest number of arrivals that may wait for a user. [1]
    think_s, duration_s, ramp_s : float
        Think time, length of the measured window, and length of the ramp before the window. [s]
    arrivals : str
        Arrival process, `constant` or `poisson`.
    threads : int or None
        Number of load threads; by default one for each of `cpus`, or half of the usable CPUs if `cpus` is empty, so
        that the system can use the other half. [1]
    seed : int
        Seed of the random generator.
    cpus : tuple of int
        Numbers of the CPUs to which the load threads are pinned; empty if the threads are not pinned.
    """

    users: int = 1
    rate: float | None = None
    curve: RateCurve | None = None
    users_at_most: int = USERS_AT_MOST
    backlog_at_most: int = BACKLOG_AT_MOST
    think_s: float = 0.0
    duration_s: float = 10.0
    ramp_s: float = 0.0
    arrivals: str = "constant"
    threads: int | None = None
    seed: int = 1
    cpus: tuple[int, ...] = field(default=())

    @property
    def mean_rate(self) -> float | None:
        """Arrival rate of an open load, averaged over the window; None for a closed load. [1/s]"""
        return self.rate if self.curve is None else self.curve.mean_rate

    @property
    def load_threads(self) -> int:
        """Number of load threads that the load generator starts on this machine. [1]"""
        if self.threads is not None:
            return self.threads
        return len(self.cpus) or max(1, len(os.sched_getaffinity(0)) // 2)


def split_url(url: str) -> SplitResult:
    """Check the URL of a target, and split it into its components.

    Raises
    ------
    StudyError
        If the URL is not of the form `http://host[:port][/path]` or `https://host[:port][/path]`.
    """
    # `urlsplit` silently removes tabs and line breaks, and the engine sends no request with a control character.
    if found := next((character for character in url if character < " " or character == "\x7f"), None):
        message = f"must be a URL without control characters, got {url!r} with {found!r}"
        raise StudyError.of_option("TARGET", message)
    try:
        parts = urlsplit(url)
        if parts.port == 0:
            raise ValueError("a port must be from 1 to 65535")
    except ValueError as error:
        message = f"must be a URL such as http://host:port/path, got {url!r}: {error}"
        raise StudyError.of_option("TARGET", message) from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        message = f"must be a URL such as http://host:port/path, or an existing workload file, got {url!r} instead"
        raise StudyError.of_option("TARGET", message)
    return parts


def require_reachable(ways: Sequence[str]) -> list[str]:
    """Open and close a connection to a target, so that an unreachable target is reported before the run.

    `ways` are the numeric addresses of one host name, with the same port, in the order of the attempts; or one Unix
    socket. They are returned with the address that accepted the connection in the first place.

    Raises
    ------
    TargetError
        If no address accepts a connection.
    """
    if ways[0].startswith(UNIX):
        if refusal := refuses_unix(ways[0], CONNECT_LIMIT_S):
            hint = "check that the server runs, and that the path of its socket is correct"
            raise TargetError(f"the target cannot be reached: {refusal}", hint=hint)
        return list(ways)
    places = [split_address(each) for each in ways]
    port = places[0][1]
    by_number = {number: each for (number, _), each in zip(places, ways, strict=True)}
    try:
        made, number = connect_first(list(by_number), port, CONNECT_LIMIT_S)
    except UnreachedError as error:
        where = f"{ways[0]}: " if len(ways) == 1 else f"port {port}: "
        raise TargetError(f"the target cannot be reached: {where}{fact(error)}", hint=next_step(error)) from None
    made.close()
    first = by_number[number]
    return [first, *(each for each in ways if each != first)]


def _stages(load: Load) -> list[PlannedStage]:
    """Return the stages of the load: a ramp, whose length may be 0, and the measured window. A curve has no ramp."""
    if load.curve is not None:
        return [PlannedStage("steady", "steady", 0, load.curve.length_s, rates=load.curve.knots)]
    users = load.users if load.rate is None else None
    lengths = (("ramp_up", load.ramp_s), ("steady", load.duration_s))
    return [PlannedStage(phase, phase, 0, length_s, users, load.rate) for phase, length_s in lengths]


def plan_of(run: RunFolder, load: Load, workload: Mapping[str, object]) -> Plan:
    """Return the engine's plan for a load of a compiled workload."""
    if load.mean_rate is None:
        planned = PlannedLoad(kind="closed", users_at_most=load.users, stages=_stages(load))
    else:
        planned = PlannedLoad(
            kind="open",
            arrivals=load.arrivals,
            users_at_most=load.users_at_most,
            backlog_at_most=load.backlog_at_most,
            stages=_stages(load),
        )
    return Plan(
        run=run.run_id,
        seed=load.seed,
        out=files.engine_path(run.engine.absolute()),
        threads=load.load_threads,
        cpus=load.cpus,
        workload=workload,
        load=planned,
    )


def _request(exchange: Exchange, parts: SplitResult) -> dict[str, object]:
    # `urlsplit` drops the `?` of an empty query, but the server must receive the URL as given.
    query = f"?{parts.query}" if "?" in exchange.url.partition("#")[0] else ""
    path = (parts.path or "/") + query
    written = [*exchange.headers, *basic_authorization(parts).items()]
    return {
        "op": "request",
        "step": 0,
        "target": 0,
        "method": exchange.method.upper(),
        "path": [path],
        "headers": [[name, [value]] for name, value in written],
        "auth": None,
        "body": _body(exchange.body),
        "extract": [],
        "checks": [],
        "timeout_s": exchange.timeout_s,
        "on_failure": "end",
    }


def _body(body: str | None) -> dict[str, object] | None:
    if body is None:
        return None
    if body.startswith("@"):
        return {"kind": "file", "path": files.engine_path(Path(body[1:]).absolute())}
    return {"kind": "text", "template": [body]}


def url_plan(
    run: RunFolder, exchange: Exchange, load: Load, ways: Sequence[Sequence[str]], connections: ConnectionOptions
) -> Plan:
    """Return the engine's plan for a load that repeats a single request. `ways` contains the addresses of each host,
    in the order in which they are tried.
    """
    parts = split_url(exchange.url)
    host = parts.netloc.rpartition("@")[2]
    tls = {"tls": connections.tls_part()} if parts.scheme == "https" else {}
    think = {"dist": "fixed", "mean_s": load.think_s} if load.think_s > 0 else None
    target = {
        "name": UNNAMED,
        "scheme": parts.scheme,
        "addresses": [],
        "balance": "round_robin",
        "host": host,
        **tls,
        **connections.http_part,
    }
    workload = {
        "targets": [target_with_fallbacks(target, ways)],
        "connections": connections.connections_part(),
        "timeouts": {
            "connect_s": CONNECT_LIMIT_S,
            "response_s": exchange.timeout_s,
            "drain_s": exchange.timeout_s,
        },
        "limits": {},
        "pools": [],
        "variables": [],
        "lists": [],
        "steps": [{"name": TRANSACTION, "transaction": TRANSACTION}],
        "pages": [],
        "transactions": [{"name": TRANSACTION, "ops": [_request(exchange, parts)]}],
        "groups": [
            {
                "name": "users",
                "share": 1.0,
                "once": [],
                "think": think,
                "pacing": None,
                "mix": [{"transaction": 0, "weight": 100.0}],
                "exit": [],
            }
        ],
    }
    return plan_of(run, load, workload)


def conduct_drive(
    run: RunFolder,
    title: str,
    plan: Plan,
    stop: StopRequest,
    display: Display,
    *,
    live_sending: LiveSending | None = None,
    watched: Sequence[int] = (),
    abort_on: Sequence[Objective] = (),
) -> RunOutcome:
    """Run the engine with a plan, send results to receivers during the run, and write the records to the run folder.

    Raises
    ------
    StudyError
        If the users need more connections than local ports or open files are available.
    EngineError
        If the disk has too little space for the record, or the engine ended abnormally.
    """
    require_ports(plan)
    require_open_files(plan)
    require_space(run.path, plan)
    run.write_plan(plan.document())
    run.update(status="running")
    outcome = RunOutcome(came_up=True)
    sending = (live_sending or LiveSending()).open(run, display, outcome.notes)
    with marked(run.path), sending, _watched(run, plan, watched) as started:
        drive_engine(
            run,
            title,
            plan,
            ended=list,
            outcome=outcome,
            stop=stop,
            display=display,
            started=started,
            abort_on=abort_on,
        )
    if outcome.disk_full:
        raise disk_is_full(run.path)
    run.update(status=outcome.status, **({"reason": outcome.aborted} if outcome.aborted else {}))
    if outcome.status == "failed":
        refuse_options(run.logs / ENGINE_LOG, of_workload="://" not in title)
        raise EngineError(str(outcome.reason))
    return outcome


@contextmanager
def _watched(run: RunFolder, plan: Plan, watched: Sequence[int]) -> Iterator[Callable[[int], None] | None]:
    """Observe this machine during the block if a target runs on it, because target and generator then share its CPUs.

    Yield a function that adds the generator to the observation, by its process id; None if no target runs on this
    machine. `watched` are the ids of processes that are named on the command line.
    """
    if not targets_here(plan) and not watched:
        yield None
        return
    from towtank.observe import Observation  # noqa: PLC0415 - starts the probe: only where something is watched

    length_s = plan.load.planned_s
    every_s = _CONNECTIONS_EVERY_S if length_s < _SHORT_S else _SAMPLES_EVERY_S
    with Observation(run, {}, interval_s=every_s) as observation:
        run.event("observation_started")
        with watching_targets(run, plan, {}, observation.add_group, {"": watched}, interval_s=_CONNECTIONS_EVERY_S):
            yield partial(observation.add_group, GENERATOR_GROUP)
    run.event("observation_stopped", failures=observation.failures())


def require_space(folder: Path, plan: Plan) -> None:
    """Refuse a load before it begins if its record will not fit on the disk.

    Raises
    ------
    EngineError
        If the disk of the folder has less free space than the record of the planned load needs at least.
    """
    found = os.statvfs(folder)
    needed = RECORD_BYTES + RECORD_BYTES_PER_S * plan.load.planned_s * plan.threads
    # File systems without a size limit, such as some network file systems, report zero blocks.
    if found.f_blocks and found.f_bavail * found.f_frsize < needed:
        free = format_size(found.f_bavail * found.f_frsize)
        raise EngineError(
            f"{folder}: the disk is full: the record of {plan.load.planned_s:g} s takes {format_size(needed)} or "
            f"more, {free} are free",
            hint="free some space, or name a folder on another disk with --out or TMPDIR",
        )


def manifest(load: Load, limits: Mapping[str, float] | None = None) -> dict[str, object]:
    """Return the manifest of a run before its start. `limits` contains the limits set with `--limit`, in SI units."""
    amount = {"users": load.users} if load.mean_rate is None else {"rate": load.mean_rate}
    return {
        "run": "drive",
        "index": 1,
        "repetition": 1,
        "seed": load.seed,
        "status": "planned",
        "factors": {},
        "tiers": {},
        "settings": {},
        "pinning": {"system": [], "generator": list(load.cpus)},
        **amount,
        **({"limits": dict(limits)} if limits else {}),
    }
