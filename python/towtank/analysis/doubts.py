"""The closed list of doubts about a measurement: why each matters and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How much a doubt weighs."""

    NOTE = "note"
    SUSPECT = "suspect"
    INVALID = "invalid"


class Kind(StrEnum):
    """Every doubt that can be raised."""

    GENERATOR_SATURATED = "generator_saturated"
    GENERATOR_STALLED = "generator_stalled"
    START_LAG = "start_lag"
    NO_STEADY_STATE = "no_steady_state"
    REST_NOT_SHOWN = "rest_not_shown"
    NOT_SETTLED = "not_settled"
    BACKLOG = "backlog"
    TOO_FEW_SAMPLES = "too_few_samples"
    ERRORS_ABOVE_LIMIT = "errors_above_limit"
    NOTHING_COMPLETED = "nothing_completed"
    SERVICE_RESTARTED = "service_restarted"
    SERVICE_DIED = "service_died"
    EVENT_FAILED = "event_failed"
    ENGINE_FAILED = "engine_failed"
    INTERRUPTED = "interrupted"
    ACCOUNTING = "accounting"
    PHYSICAL_BOUND = "physical_bound"
    LITTLE_LAW = "little_law"
    UTILIZATION_LAW = "utilization_law"
    MIX_OFF = "mix_off"
    THINK_TIME_OFF = "think_time_off"
    ARRIVALS_OFF = "arrivals_off"
    OVERFLOW = "overflow"
    CLOCK_JUMP = "clock_jump"
    STEAL_TIME = "steal_time"
    MACHINE_SPEED = "machine_speed"
    DATA_DAMAGED = "data_damaged"
    COPIED_RUN = "copied_run"
    INTERFERENCE = "interference"
    NOT_ATTRIBUTED = "not_attributed"
    ROOT_LEFT = "root_left"
    CONNECTION_WAIT = "connection_wait"
    FRAMING = "framing"
    RECONNECTS = "reconnects"
    PAUSES = "pauses"
    LISTEN_OVERFLOW = "listen_overflow"
    TIER_LIMIT = "tier_limit"
    RETRANSMITS = "retransmits"
    THROTTLED = "throttled"
    NOT_PINNED = "not_pinned"
    DISK_FULL = "disk_full"
    STORAGE_FULL = "storage_full"
    DISK_THROTTLED = "disk_throttled"
    STORED_LOST = "stored_lost"
    STORED_UNKNOWN = "stored_unknown"
    OBSERVATION_GAP = "observation_gap"
    OBSERVATION_COST = "observation_cost"


EXPLANATIONS: dict[Kind, tuple[str, str]] = {
    Kind.GENERATOR_SATURATED: (
        "The generator was at its own limit, so throughput and response times are those of the generator as "
        "much as of the system.",
        "give the generator more cores or threads, or a machine of its own, or lower the load",
    ),
    Kind.GENERATOR_STALLED: (
        "The load generator itself stood still: it sent nothing and read no answers meanwhile, so the response times "
        "and the throughput of that time describe the generator, not the system.",
        "find what stopped it (a signal, a CPU limit, swapping, a machine without CPU time left), then repeat the run",
    ),
    Kind.START_LAG: (
        "Requests left later than intended; response times count from the intended start and hold the lag.",
        "give the generator a core of its own (pinning), more threads, or lower the load",
    ),
    Kind.NO_STEADY_STATE: (
        "The system still changed while it was measured, so the mean depends on when one looks.",
        "lengthen the ramp-up and settle stages, or the steady stage; look at the timeline for what changes",
    ),
    Kind.REST_NOT_SHOWN: (
        "No change was found, but the window is too short or too noisy to exclude one that matters.",
        "lengthen the steady stage to the length named, if a slow change must be excluded",
    ),
    Kind.NOT_SETTLED: (
        "The settle stage came to its longest time while the system still changed beyond chance, so the steady stage "
        "may hold the rest of that change.",
        "raise at_most of the settle stage; look at the timeline for what changes, or at a load beyond the limit",
    ),
    Kind.BACKLOG: (
        "Requests from before the window had to be worked off within it, beside those of its own load; response times "
        "hold that wait.",
        "lengthen the settle stage, or let it last until steady; see which stage before left the backlog",
    ),
    Kind.TOO_FEW_SAMPLES: (
        "The interval around the number is wide, or there is none.",
        "lengthen the steady stage or add repetitions",
    ),
    Kind.ERRORS_ABOVE_LIMIT: (
        "Failed requests cost the system less or more than good ones; the numbers describe another workload.",
        "see the errors by kind and the log of the service; raise limits.errors only if errors are expected",
    ),
    Kind.NOTHING_COMPLETED: (
        "Without a completed transaction, throughput and response time are undefined; a server that never answers "
        "looks the same as a server that received no request.",
        "check the address of the service and its log; use a window longer than the slowest answer, and a timeout "
        "shorter than the window",
    ),
    Kind.SERVICE_RESTARTED: (
        "A service began again within the run with cold caches; before and after are two different systems.",
        "see the log of the service for why it restarted, then repeat the run",
    ),
    Kind.SERVICE_DIED: (
        "A service ended within the run; what follows measures its absence.",
        "see the last lines of its log, then repeat the run",
    ),
    Kind.EVENT_FAILED: (
        "What the study wanted to happen to the system did not, or not when it should have, so the run shows something "
        "else than was asked.",
        "see the reason, and the log of the service; lengthen the stage where the time did not suffice",
    ),
    Kind.ENGINE_FAILED: (
        "The load generator did not do the run to its end.",
        "see the log of the engine, then repeat the run",
    ),
    Kind.INTERRUPTED: (
        "The run was stopped before its end; what was recorded until then is kept.",
        "repeat the run: towtank run --resume goes on with the runs that are missing",
    ),
    Kind.ACCOUNTING: (
        "Not every request is accounted for, so no count can be trusted.",
        "this is a fault of the generator or of the data on disk: keep the run folder and report it",
    ),
    Kind.PHYSICAL_BOUND: (
        "No system can exceed this bound, so a counter is wrong, or part of the data was recorded twice or belongs to "
        "another run. Every number computed from it is wrong, too.",
        "compare the run folder with its original: a file may have been copied, joined or edited; otherwise report it "
        "with the run folder",
    ),
    Kind.LITTLE_LAW: (
        "Users, throughput and times contradict each other: a counter or the clock is wrong, or the window "
        "is not steady.",
        "lengthen the steady stage; look at the timeline for users that were neither thinking nor waiting",
    ),
    Kind.UTILIZATION_LAW: (
        "The CPU time of a transaction changed within the window: a cache fills, data grow, or something "
        "else works on the same CPUs.",
        "lengthen the settle stage; look for background work of the service",
    ),
    Kind.MIX_OFF: (
        "Transactions were not begun in the proportions that were asked for, so the numbers belong to another "
        "workload than the one of the study.",
        "see which transactions are off in the audit; look for a backlog of one group, or report it as a fault of "
        "the generator with the run folder",
    ),
    Kind.THINK_TIME_OFF: (
        "Users did not pause as asked, so the same number of them is another load than the one of the study.",
        "compare the pauses asked and seen in the audit; if the plan says what was meant, report it as a fault of "
        "the generator with the run folder",
    ),
    Kind.ARRIVALS_OFF: (
        "Arrivals did not come as asked. Queues depend on how arrivals are spread as much as on their number, so "
        "response times belong to another load.",
        "see which test failed in the audit: too few arrivals point to a stopped run or a generator at its limit, "
        "wrong gaps to a fault of the generator",
    ),
    Kind.OVERFLOW: (
        "Arrivals that found every user at work and the backlog full were not started, so the load done is smaller "
        "than the one asked, and response times are those of the arrivals that got in.",
        "raise load.users_at_most or load.backlog_at_most, or lower the rate; if the bounds are part of the question, "
        "the share that was turned away is the answer",
    ),
    Kind.CLOCK_JUMP: (
        "The wall clock was set during the run. Times count on the monotonic clock and are not affected; "
        "stamps in logs of services are.",
        "run the clock service with slewing, or compare with logs by order rather than by time",
    ),
    Kind.STEAL_TIME: (
        "The hypervisor gave CPU time to other machines, so the system had less than it seemed to have.",
        "measure on a host of its own, or at a quieter time",
    ),
    Kind.MACHINE_SPEED: (
        "A fixed piece of work, done once a second on the system's CPUs, took more CPU time in some seconds than in "
        "others, so these CPUs were slower then. What changes in throughput and response times may be that, or be its "
        "cause: load on the other hardware thread of a core slows it, too.",
        "repeat the run at another time or on a machine of its own; on a virtual one other guests may share its cores, "
        "on a real one look at clock rate, temperature, power settings and hardware threads that share a core",
    ),
    Kind.INTERFERENCE: (
        "Other programs worked on the CPUs of the system under test, so it waited for them and not for itself.",
        "stop what else runs on this machine, then repeat the run",
    ),
    Kind.NOT_ATTRIBUTED: (
        "Processes that belong to no tier used this CPU time. If they are part of a tier (a server that detaches, a "
        "worker that another process started), its utilization and demand are too low, and so is every size computed "
        "from them; if they are not, they took CPU time from the tiers.",
        "name the process that serves, not its launcher, or start it under Towtank or in a control group of its own; "
        "stop what else runs on the machine; limits.not_attributed sets the limit",
    ),
    Kind.ROOT_LEFT: (
        "The process that was named for a tier started others and ended. Those that it left are counted as far as "
        "they can be found; one that detached before the first look may be missing.",
        "name the process that serves (its PID file has the number), or start the tier in the foreground",
    ),
    Kind.CONNECTION_WAIT: (
        "Requests waited for a free connection of the generator's own pool before they left. That wait is part of "
        "their response time, and the pool may be what limits throughput rather than the system.",
        "give the pool more connections, or a connection to each user, unless a pool of this size is what is studied",
    ),
    Kind.FRAMING: (
        "The server sent bytes that belong to no request, so its answers and the requests no longer match each other "
        "for certain, and the generator closed every such connection and opened a new one.",
        "compare Content-Length and chunks with the bytes that the server sends; look for a proxy that adds bytes",
    ),
    Kind.RECONNECTS: (
        "The server closed connections after their answers, so nearly every request paid for a new connection. That "
        "is part of its response time and of the server's work.",
        "check whether the server keeps connections (keep-alive, HTTP/1.0), unless its users open new ones, too",
    ),
    Kind.PAUSES: (
        "Single seconds are far slower than the others: something stops the system at times (garbage collection, a "
        "checkpoint, a timer, another program). Means and tails depend on how many of these pauses a window holds.",
        "look at the timeline and the logs of these seconds; use a window that holds ten of the pauses or more",
    ),
    Kind.LISTEN_OVERFLOW: (
        "A server took connections too slowly and the kernel of its host dropped the rest; each comes again only "
        "after a second or more, so that the slowest times are those of the queue.",
        "raise the server's listen backlog and net.core.somaxconn of its host, or lengthen the ramp-up",
    ),
    Kind.TIER_LIMIT: (
        "A tier had as many open files, processes and threads, or local ports as the kernel allows. It refused further "
        "work, so errors and response times show that limit, not the capacity of the tier.",
        "raise the limit of the tier (ulimit -n for open files, ulimit -u or pids.max of its control group for "
        "processes, LimitNOFILE and TasksMax of a systemd unit, net.ipv4.ip_local_port_range for local ports), or let "
        "it keep fewer connections, and keep those for longer",
    ),
    Kind.RETRANSMITS: (
        "Segments were sent again. For one that was lost Linux waits at least 200 ms before it does, and the slowest "
        "response times hold that wait. What the other side had already was a probe to a receiver that was late to "
        "answer.",
        "look for drops of the network interfaces, full socket buffers and a saturated receiver",
    ),
    Kind.THROTTLED: (
        "The CPU limit of a control group held its processes up, so times count waiting for the next period.",
        "raise or remove the CPU limit (cpu.max) of the group named, unless the limit is what is measured",
    ),
    Kind.DATA_DAMAGED: (
        "Part of what was recorded cannot be read; sums and counts miss it.",
        "check the disk; repeat the run if it matters",
    ),
    Kind.COPIED_RUN: (
        "The same records twice are one measurement: counted as a repetition, they would make intervals too narrow.",
        "remove the copy, and measure the run again",
    ),
    Kind.NOT_PINNED: (
        "Generator and system share CPUs, so each takes time from the other.",
        "use a machine with more cores, or generate the load from another one",
    ),
    Kind.DISK_FULL: (
        "The disk was full, so the recording ends early.",
        "free space or give another results folder, then repeat the run",
    ),
    Kind.STORAGE_FULL: (
        "A disk of the system is full, or will be soon: of room, or of inodes while there is room. What writes fails "
        "then, and what fails costs less than what works.",
        "give the disk more room (size) or more inodes, or let runs write less; watch free inodes beside free room",
    ),
    Kind.DISK_THROTTLED: (
        "A control group delays the requests of the host to keep its limit, and releases them in bursts. Means and "
        "throughput follow the limit. Percentiles of the disk, and of response times that wait for it, describe the "
        "throttle and not a disk of that speed.",
        "judge such runs by means and throughput, or measure percentiles on a disk of that kind",
    ),
    Kind.STORED_LOST: (
        "The system told users that something is stored, and after the run it was not there or was something else. "
        "What was fast may have been so because it did not keep it.",
        "see stored.json for what is lost and when it was told, and the events and logs of that time",
    ),
    Kind.STORED_UNKNOWN: (
        "Not all that users were told is stored could be read back, so nobody knows whether it is there.",
        "see stored.json for why; give the check more time (read_back.at_most), or see the logs of the services",
    ),
    Kind.OBSERVATION_GAP: (
        "The system was not observed for a while within the window; its CPU time there is interpolated.",
        "look for what kept the probe from running: an overloaded or suspended host",
    ),
    Kind.OBSERVATION_COST: (
        "Watching the system took CPU time that the system might have used.",
        "lengthen the sampling interval, or leave out costly metrics",
    ),
}
"""Why, and what to do."""


@dataclass(frozen=True)
class Doubt:
    """One doubt, with the number seen and the limit it passed."""

    kind: Kind
    level: Level
    message: str
    seen: float | None = None
    limit: float | None = None
    unit: str = ""

    def document(self) -> dict[str, Any]:
        """Entry of `doubts` in a summary."""
        why, hint = EXPLANATIONS[self.kind]
        return {
            "kind": str(self.kind),
            "level": str(self.level),
            "seen": self.seen,
            "limit": self.limit,
            "unit": self.unit,
            "message": self.message,
            "why": why,
            "hint": hint,
        }


def level_of(doubts: list[Doubt]) -> str:
    """Verdict on a run: invalid or suspect when a doubt is, else valid."""
    levels = {doubt.level for doubt in doubts}
    if Level.INVALID in levels:
        return "invalid"
    return "suspect" if Level.SUSPECT in levels else "valid"


def not_checked(missing: Iterable[dict[str, str]]) -> str:
    """Render the checks that could not be made, by reason, as a sentence without a full stop; empty without any.

    Parameters
    ----------
    missing : iterable of dict
        `not_checked` of a verdict.
    """
    by_reason: dict[str, list[str]] = {}
    for entry in missing:
        by_reason.setdefault(entry["why"], []).append(entry["check"].replace("_", " "))
    reasons = [f"{', '.join(checks)} ({why})" for why, checks in by_reason.items()]
    return f"not checked: {'; '.join(reasons)}" if reasons else ""


def seconds(value: float) -> str:
    """A time for a message, with the unit that suits it."""
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if abs(value) < limit:
            return f"{factor * value:.3g} {unit}"
    return f"{value:.3g} s"


def percent(value: float) -> str:
    """A share for a message."""
    return f"{100 * value:.3g} %"
