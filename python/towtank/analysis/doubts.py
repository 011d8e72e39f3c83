"""Defines the closed list of doubts about a measurement, each with its reason and the next step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from towtank.estimates import few_digits


class Level(StrEnum):
    """Severity of a doubt: a note, a suspect run, or an invalid run."""

    NOTE = "note"
    SUSPECT = "suspect"
    INVALID = "invalid"


class Kind(StrEnum):
    """Kinds of doubts."""

    GENERATOR_SATURATED = "generator_saturated"
    GENERATOR_STALLED = "generator_stalled"
    START_LAG = "start_lag"
    NO_STEADY_STATE = "no_steady_state"
    REST_NOT_SHOWN = "rest_not_shown"
    SHORT_WINDOW = "short_window"
    FIXED_PACE = "fixed_pace"
    NOT_SETTLED = "not_settled"
    BACKLOG = "backlog"
    TOO_FEW_SAMPLES = "too_few_samples"
    ERRORS_ABOVE_LIMIT = "errors_above_limit"
    NOTHING_COMPLETED = "nothing_completed"
    SERVICE_RESTARTED = "service_restarted"
    SERVICE_DIED = "service_died"
    SERVICE_HELD = "service_held"
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
    MACHINE_SUSPENDED = "machine_suspended"
    STEAL_TIME = "steal_time"
    MACHINE_SPEED = "machine_speed"
    DATA_DAMAGED = "data_damaged"
    COPIED_RUN = "copied_run"
    INTERFERENCE = "interference"
    NOT_ATTRIBUTED = "not_attributed"
    ROOT_LEFT = "root_left"
    CONNECTION_WAIT = "connection_wait"
    FRAMING = "framing"
    REDIRECTS = "redirects"
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
    COORDINATED_OMISSION = "coordinated_omission"
    COARSE_TIMES = "coarse_times"
    SUMMARIES_ONLY = "summaries_only"
    LOAD_GAP = "load_gap"


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
        "Requests started later than intended. Response times count from the intended start, so they include the lag.",
        "give the generator a core of its own (pinning), more threads, or lower the load; exchange times do "
        "not include the lag, but what the generator takes to read an answer",
    ),
    Kind.NO_STEADY_STATE: (
        "The system still changed while it was measured, so the mean depends on when the window lies.",
        "lengthen the ramp-up and settle stages, or the steady stage; look at the timeline for what changes",
    ),
    Kind.REST_NOT_SHOWN: (
        "No change was found, but the window is too short or too noisy to exclude one that matters.",
        "lengthen the steady stage to the length named, if a slow change must be excluded",
    ),
    Kind.SHORT_WINDOW: (
        "A queue near its limit fluctuates slowly: the window holds too few of its rises and falls, so the intervals "
        "of response times may be too narrow.",
        "lengthen the steady stage to the length named, or lower the load",
    ),
    Kind.FIXED_PACE: (
        "Users with a fixed pace come back in the same order at the same distances, so each run has a mean response "
        "time of its own, which depends on the moments at which its users began. The intervals do not contain that.",
        "repeat the run, or give the pace a distribution",
    ),
    Kind.NOT_SETTLED: (
        "The settle stage came to its longest time while the system still changed beyond chance, so the steady stage "
        "may hold the rest of that change.",
        "raise at_most of the settle stage; look at the timeline for what changes, or at a load beyond the limit",
    ),
    Kind.BACKLOG: (
        "The window began with requests left over from before. The system worked them off together with the load of "
        "the window, and response times include that wait.",
        "lengthen the settle stage, or let it last until steady; see which stage before left the backlog",
    ),
    Kind.TOO_FEW_SAMPLES: (
        "The interval around the number is wide, or none exists.",
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
        "A service was started again within the run, with cold caches; before and after are two different systems.",
        "see the log of the service for why it restarted, then repeat the run",
    ),
    Kind.SERVICE_DIED: (
        "A service ended within the run; what follows measures its absence.",
        "see the last lines of its log, then repeat the run",
    ),
    Kind.SERVICE_HELD: (
        "A signal (SIGSTOP) that no event of the study sent stopped a service: numbers of that time describe the "
        "signal, not the system.",
        "find who sent it (a debugger, a shell, an administrator), then repeat the run",
    ),
    Kind.EVENT_FAILED: (
        "An event of the study did not happen, or not at its time, so the run answers another question than the study.",
        "see the reason, and the log of the service; lengthen the stage if its time did not suffice",
    ),
    Kind.ENGINE_FAILED: (
        "The load generator did not complete the run.",
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
        "Transactions did not begin in the requested proportions, so the numbers describe another workload than that "
        "of the study.",
        "see which transactions are off in the audit; look for a backlog of one group, or report it as a fault of "
        "the generator with the run folder",
    ),
    Kind.THINK_TIME_OFF: (
        "Users did not pause as requested, so the same number of users made another load than that of the study.",
        "compare the pauses asked and seen in the audit; if the plan says what was meant, report it as a fault of "
        "the generator with the run folder",
    ),
    Kind.ARRIVALS_OFF: (
        "Arrivals did not come as requested. Queues depend on the spread of arrivals as much as on their number, so "
        "response times describe another load.",
        "see which test failed in the audit: too few arrivals point to a stopped run or a generator at its limit, "
        "wrong gaps to a fault of the generator",
    ),
    Kind.OVERFLOW: (
        "Arrivals that found all users busy and the backlog full were not started, so the actual load is smaller than "
        "the requested one, and response times cover only the accepted arrivals.",
        "raise load.users_at_most or load.backlog_at_most, or lower the rate; if the bounds are part of the question, "
        "the share that was turned away is the answer",
    ),
    Kind.MACHINE_SUSPENDED: (
        "The machine slept during the run: generator, system and observers stood still, and their clock with them. "
        "Times leave the pause out; servers elsewhere, caches and connections did not.",
        "keep the machine awake (systemd-inhibit sleep), then repeat the run",
    ),
    Kind.CLOCK_JUMP: (
        "The wall clock was set during the run. Times count on the monotonic clock and are not affected; "
        "stamps in logs of services are.",
        "run the clock service with slewing, or compare with logs by order rather than by time",
    ),
    Kind.STEAL_TIME: (
        "The hypervisor gave CPU time to other machines, so the system had less than it seemed to have.",
        "measure on a dedicated host, or at a quieter time",
    ),
    Kind.MACHINE_SPEED: (
        "A fixed piece of work, done once a second on the system's CPUs, took more CPU time in some seconds than in "
        "others, so these CPUs were slower then. Changes in throughput and response times may follow from that, or "
        "cause it: load on the other hardware thread of a core also slows it.",
        "repeat the run at another time or on a dedicated machine; on a virtual one other guests may share its cores, "
        "on a real one look at clock rate, temperature, power settings and hardware threads that share a core",
    ),
    Kind.INTERFERENCE: (
        "Other programs used the CPUs of the system under test, or of its machine, so it waited for them.",
        "stop other programs on this machine, then repeat the run; a part of the system that is neither in the system "
        "file nor reached by TCP from its server counts as another program, too",
    ),
    Kind.NOT_ATTRIBUTED: (
        "Processes that belong to no tier used this CPU time. If they are part of a tier (a server that detaches, a "
        "worker that another process started), its utilization and demand are too low, and so is every size computed "
        "from them; if they are not, they took CPU time from the tiers.",
        "name the process that serves, not its launcher, or start it under Towtank or in a control group of its own; "
        "stop other programs on the machine; limits.not_attributed sets the limit",
    ),
    Kind.ROOT_LEFT: (
        "The process that was named for a tier started others and ended. The others are counted as far as they can be "
        "found; one that detached before the first sample may be missing.",
        "name the process that serves (its PID file has the number), or start the tier in the foreground",
    ),
    Kind.CONNECTION_WAIT: (
        "Requests waited for a free connection of the generator's own pool before they left. That wait is part of "
        "their response time, and the pool may be what limits throughput rather than the system.",
        "give the pool more connections, or a connection to each user, unless a pool of this size is what is studied",
    ),
    Kind.FRAMING: (
        "The server sent bytes that belong to no request, so answers may no longer match their requests. The generator "
        "closed every such connection and opened a new one.",
        "compare Content-Length and chunks with the bytes that the server sends; look for a proxy that adds bytes",
    ),
    Kind.REDIRECTS: (
        "A redirect counts as good and is not followed, so the numbers describe the part of the server that redirects, "
        "such as from http to https, and not the pages behind it.",
        "request the address in the header Location (another scheme or host is another target); if redirects are "
        "the right answer, say so with a check of the status",
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
        "A server accepted connections too slowly, and the kernel of its host dropped the rest. A client retries only "
        "after a second or more, so the slowest times show that wait.",
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
        "TCP segments were retransmitted. Linux waits some 200 ms for a timeout, and for the probe that repairs a lost "
        "end of a message; the slowest response times include that wait. Other retransmissions cost about one round "
        "trip. A segment that the peer had received was retransmitted because its acknowledgement was late, or because "
        "segments overtook each other.",
        "look for drops of the network interfaces, full socket buffers and a saturated receiver",
    ),
    Kind.THROTTLED: (
        "The CPU limit of a control group delayed its processes, so times include waiting for the next period.",
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
        "A disk of the system has run out of room or of inodes, or soon will. Writes then fail, and a failed request "
        "costs less than a successful one.",
        "give the disk more room (size) or more inodes, or let runs write less; watch free inodes beside free room",
    ),
    Kind.DISK_THROTTLED: (
        "A control group delays the requests of the host to keep its limit, and releases them in bursts. Means and "
        "throughput follow the limit. Percentiles of the disk, and of response times that wait for it, describe the "
        "throttle and not a disk of that speed.",
        "judge such runs by means and throughput, or measure percentiles on a disk of that kind",
    ),
    Kind.STORED_LOST: (
        "The system confirmed to users that something is stored, but after the run it was missing or had other "
        "content. The system may have been fast because it did not keep the data.",
        "see stored.json for what is lost and when it was confirmed, and the events and logs of that time",
    ),
    Kind.STORED_UNKNOWN: (
        "Part of what the system confirmed as stored could not be read back, so whether it still exists is unknown.",
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
    Kind.COORDINATED_OMISSION: (
        "The load generator left out requests while the system was slow. They would have been slow, too, so high "
        "percentiles, means and throughput look better than the system is.",
        "give the generator more connections or users than the slowest time needs, or use one that counts response "
        "times from the planned start (towtank drive --rate)",
    ),
    Kind.COARSE_TIMES: (
        "The times of the file are too coarse for what they measure, so percentiles are those of the rounding.",
        "let the tool write finer times, or read a response time as its range of rounding",
    ),
    Kind.SUMMARIES_ONLY: (
        "Without single requests neither a transient nor correlation shows, so no figure has an error.",
        "let the tool write single requests (see the guide to results of other tools), and judge those",
    ),
    Kind.LOAD_GAP: (
        "Throughput over a time without any start is not that of the load: the file holds several runs, a clock was "
        "set, a stamp is wrong, or the tool wrote no row for requests without an answer.",
        "cut the file at the times named and judge the parts alone; correct or remove rows with a wrong stamp",
    ),
}
"""For each kind of doubt, the reason why it matters and the next step."""
NOTHING_RECORDED = (
    "Without a request in the steady stage there is nothing to judge.",
    "see why the run ended early, or why no request was answered, in the other reasons and in the logs of its folder",
)
"""Reason and next step of a run without a window, in place of those for a system that changes."""


@dataclass(frozen=True)
class Doubt:
    """Doubt about a measurement, with the measured number and the limit that this number exceeds."""

    kind: Kind
    level: Level
    message: str
    seen: float | None = None
    limit: float | None = None
    unit: str = ""
    special: tuple[str, str] | None = None
    """Reason why the doubt matters and next step, if those of its kind do not fit."""

    @property
    def hint(self) -> str:
        """Next step."""
        return (self.special or EXPLANATIONS[self.kind])[1]

    def document(self) -> dict[str, Any]:
        """Return the doubt as JSON for a summary: kind, level, values, message, reason and hint."""
        why, hint = self.special or EXPLANATIONS[self.kind]
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
    """Return the verdict on a run, `invalid`, `suspect` or `valid`, which follows from the most severe doubt."""
    levels = {doubt.level for doubt in doubts}
    if Level.INVALID in levels:
        return "invalid"
    return "suspect" if Level.SUSPECT in levels else "valid"


def not_checked(missing: Iterable[dict[str, str]]) -> str:
    """Render the checks that could not be made, grouped by reason, without a full stop; empty if every check was
    made.

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
    """Render a time for a message, in µs, ms or s."""
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if abs(value) < limit:
            return f"{few_digits(factor * value)} {unit}"
    return f"{value:.3g} s" if abs(value) < 999.5 else f"{value:,.0f} s"


def percent(value: float) -> str:
    """Render a share for a message, in per cent."""
    return f"{few_digits(100 * value)} %"


def signed_percent(value: float) -> str:
    """Render a change for a message, in per cent with its sign: `+12 %`, `−40.8 %`."""
    return f"{'−' if value < 0 else '+'}{percent(abs(value))}"
