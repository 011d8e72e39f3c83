"""Lists all reasons to doubt a measurement, each with why it matters and the next step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, get_args

from towtank.estimates import few_digits

VerdictLevel = Literal["valid", "suspect", "invalid"]
VERDICTS: tuple[VerdictLevel, ...] = get_args(VerdictLevel)
"""Verdicts on a run, the best first."""


class DoubtLevel(StrEnum):
    """Severity of a doubt. A note leaves the run valid; the other levels make the run suspect or invalid."""

    NOTE = "note"
    SUSPECT = "suspect"
    INVALID = "invalid"


class DoubtKind(StrEnum):
    """Kinds of doubt about a measurement; `EXPLANATIONS` describes each of them."""

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
    SLOW_MEMORY = "slow_memory"
    DATA_DAMAGED = "data_damaged"
    COPIED_RUN = "copied_run"
    INTERFERENCE = "interference"
    NOT_ATTRIBUTED = "not_attributed"
    ROOT_LEFT = "root_left"
    CONNECTION_WAIT = "connection_wait"
    FRAMING = "framing"
    REDIRECTS = "redirects"
    NOT_MODIFIED = "not_modified"
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


EXPLANATIONS: dict[DoubtKind, tuple[str, str]] = {
    DoubtKind.GENERATOR_SATURATED: (
        "The generator was at its limit, so throughput and response times describe the generator as much as the "
        "system.",
        "give the generator more cores or threads, or a separate machine, or lower the load",
    ),
    DoubtKind.GENERATOR_STALLED: (
        "The load generator stalled: it neither sent requests nor read responses. Response times and throughput of "
        "that time describe the generator, not the system.",
        "find the cause of the stall (a signal, a CPU limit, swapping, no idle CPU time), then repeat the run",
    ),
    DoubtKind.START_LAG: (
        "Requests started later than intended. Response times count from the intended start, so they include the lag.",
        "stop other programs, lower the load, or give the generator more CPUs (pinning of the study, --pin of towtank "
        "drive); exchange times do not include the lag, but they include the time that the generator takes to read a "
        "response",
    ),
    DoubtKind.NO_STEADY_STATE: (
        "The system still changed while it was measured, so the mean depends on the position of the window.",
        "lengthen the ramp-up and settle stages, or the steady stage; the timeline shows what changes",
    ),
    DoubtKind.REST_NOT_SHOWN: (
        "No change was found, but the window is too short or too noisy to exclude a relevant change.",
        "lengthen the steady stage to the stated length, if a slow change must be excluded",
    ),
    DoubtKind.SHORT_WINDOW: (
        "A queue near its limit fluctuates slowly. The window contains too few of these fluctuations, so the intervals "
        "of response times may be too narrow.",
        "lengthen the steady stage to the stated length, or lower the load",
    ),
    DoubtKind.FIXED_PACE: (
        "Users with a constant pace return in the same order at the same intervals. The mean response time therefore "
        "depends on the times at which the users of a run started, and differs between runs. The confidence intervals "
        "of a single run do not include this difference.",
        "repeat the run, or give the pace a distribution",
    ),
    DoubtKind.NOT_SETTLED: (
        "The settle stage reached its maximum length while the system still changed significantly, so the rest of "
        "this change may lie in the steady stage.",
        "raise at_most of the settle stage; the timeline shows what changes; check whether the load exceeds the "
        "limit of the system",
    ),
    DoubtKind.BACKLOG: (
        "The window began with requests that were left over from an earlier stage. The system served them together "
        "with the load of the window, and response times include this wait.",
        "lengthen the settle stage, or let it last until steady; find the earlier stage that left the backlog",
    ),
    DoubtKind.TOO_FEW_SAMPLES: (
        "There are too few values: the confidence interval is wide, or it cannot be computed.",
        "lengthen the steady stage or add repetitions",
    ),
    DoubtKind.ERRORS_ABOVE_LIMIT: (
        "Failed requests cost the system less or more than successful requests, so the numbers describe another "
        "workload.",
        "check the errors by kind and the log of the service; raise limits.errors only if errors are expected",
    ),
    DoubtKind.NOTHING_COMPLETED: (
        "Without a completed transaction, throughput and response time are undefined. The cause may be a server that "
        "never responds, or requests that never reach a server.",
        "check the address of the service and its log; use a window longer than the slowest response, and a timeout "
        "shorter than the window",
    ),
    DoubtKind.SERVICE_RESTARTED: (
        "A service was restarted within the run, with cold caches. Measurements before and after the restart describe "
        "two different systems.",
        "find the reason of the restart in the log of the service, then repeat the run",
    ),
    DoubtKind.SERVICE_DIED: (
        "A service ended within the run; later measurements describe a system without this service.",
        "check the last lines of its log, then repeat the run",
    ),
    DoubtKind.SERVICE_HELD: (
        "A signal (SIGSTOP) that no event of the study sent stopped a service: numbers of that time describe the "
        "signal, not the system.",
        "find the sender of the signal (a debugger, a shell, an administrator), then repeat the run",
    ),
    DoubtKind.EVENT_FAILED: (
        "An event of the study did not take place, or not as planned, so the run does not answer the question of the "
        "study.",
        "check the reason and the log of the service; lengthen the stage if it was too short",
    ),
    DoubtKind.ENGINE_FAILED: (
        "The load generator did not complete the run.",
        "check the log of the engine, then repeat the run",
    ),
    DoubtKind.INTERRUPTED: (
        "The run was stopped before its end; the records until then are kept.",
        "repeat the run: towtank run --resume makes the missing runs",
    ),
    DoubtKind.ACCOUNTING: (
        "Some requests are missing in the counts, so all counts are unreliable.",
        "this is a fault of the generator or of the data on disk: keep the run folder and report it",
    ),
    DoubtKind.PHYSICAL_BOUND: (
        "No system can exceed this bound, so a counter is wrong, or part of the data was recorded twice or belongs to "
        "another run. All results that use these data are unreliable.",
        "compare the run folder with its original: a file may have been copied, joined or edited; otherwise report it "
        "with the run folder",
    ),
    DoubtKind.LITTLE_LAW: (
        "Users, throughput and times contradict each other: a counter or the clock is wrong, or the window "
        "is not steady.",
        "lengthen the steady stage; check the timeline for users that were neither thinking nor waiting",
    ),
    DoubtKind.UTILIZATION_LAW: (
        "The CPU time of a transaction changed within the window: a cache fills, data grow, or something "
        "else works on the same CPUs.",
        "lengthen the settle stage; look for background work of the service",
    ),
    DoubtKind.MIX_OFF: (
        "Transactions did not begin in the requested proportions, so the numbers do not describe the workload of the "
        "study.",
        "find the transactions with wrong proportions in the audit; look for a backlog of one group, or report a "
        "fault of the generator with the run folder",
    ),
    DoubtKind.THINK_TIME_OFF: (
        "Users did not pause as requested, so the load differs from the load of the study.",
        "compare requested and recorded pauses in the audit; if the plan is as intended, report a fault of the "
        "generator with the run folder",
    ),
    DoubtKind.ARRIVALS_OFF: (
        "Arrivals did not come as requested. Queues depend on the gaps between arrivals as much as on their number, so "
        "response times describe another load.",
        "check in the audit which test failed: too few arrivals indicate a stopped run or a generator at its limit, "
        "wrong gaps a fault of the generator",
    ),
    DoubtKind.OVERFLOW: (
        "Arrivals that found all users busy and the backlog full were not started, so the actual load is smaller than "
        "the requested one, and response times cover only the accepted arrivals.",
        "raise load.users_at_most or load.backlog_at_most, or lower the rate; if the bounds are part of the question, "
        "the share of arrivals that were turned away is the result",
    ),
    DoubtKind.MACHINE_SUSPENDED: (
        "The machine was suspended during the run, with generator, system, observers and their clock. Measured times "
        "exclude the suspension, but it affected connections, caches and servers on other machines.",
        "keep the machine awake (systemd-inhibit sleep), then repeat the run",
    ),
    DoubtKind.CLOCK_JUMP: (
        "The wall clock was set during the run. Measured times use the monotonic clock and are not affected; "
        "time stamps in logs of services are affected.",
        "run the clock service with slewing, or compare with logs by order instead of time",
    ),
    DoubtKind.STEAL_TIME: (
        "The hypervisor gave CPU time to other machines, so the system had less CPU time than its "
        "number of CPUs suggests.",
        "measure on a dedicated host, or at a quieter time",
    ),
    DoubtKind.MACHINE_SPEED: (
        "A fixed piece of work, done in every second on the system's CPUs, took more CPU time in some seconds than in "
        "others, so these CPUs were slower in these seconds. Changes in throughput and response times may be the "
        "consequence, or the cause: load on one hardware thread of a core slows the other.",
        "repeat the run at another time or on a dedicated machine; a virtual machine may share its cores with other "
        "guests, on a physical machine check clock rate, temperature, power settings and shared cores",
    ),
    DoubtKind.SLOW_MEMORY: (
        "The host of a virtual machine usually took pages away that were not in use. A program that uses them again "
        "needs more CPU time, and how much more changes with the load of the host.",
        "compare only runs that were alternated on this machine; size other machines from runs with fast memory",
    ),
    DoubtKind.INTERFERENCE: (
        "Other programs used the CPUs of the system under test, or of its machine, so the system waited for CPU time.",
        "stop other programs on this machine, then repeat the run; a part of the system that is neither in the system "
        "file nor connected to its server by TCP counts as another program, too; limits.interference sets the limit",
    ),
    DoubtKind.NOT_ATTRIBUTED: (
        "Processes that belong to no tier used this CPU time. They may be part of a tier (a server that detaches, a "
        "worker that another process started). The utilization and demand of the tier are then too low, and so is "
        "every size computed from them. Otherwise, they took CPU time from the tiers.",
        "name the serving process instead of its launcher, or start it under Towtank or in a separate control group; "
        "stop other programs on the machine; limits.not_attributed sets the limit",
    ),
    DoubtKind.ROOT_LEFT: (
        "The process named for a tier ended, but processes that it started still run. They are counted if the probe "
        "finds them; a process that detached before the first sample may be missing.",
        "name the serving process (its PID file has the number), or start the tier in the foreground",
    ),
    DoubtKind.CONNECTION_WAIT: (
        "Requests waited for a free connection of the generator's pool before they were sent. Their response times "
        "include this wait, and the pool may limit throughput instead of the system.",
        "give the pool more connections, or each user a connection, unless the pool size is part of the study",
    ),
    DoubtKind.FRAMING: (
        "The server sent bytes that belong to no request, so responses may no longer match their requests. The "
        "generator closed these connections and opened new ones.",
        "compare Content-Length and chunks with the bytes that the server sends; look for a proxy that adds bytes",
    ),
    DoubtKind.REDIRECTS: (
        "A redirect counts as a success and is not followed. The numbers therefore describe the redirects of the "
        "server, such as from http to https, and not the requested pages.",
        "request the address in the header Location (another scheme or host is another target); if redirects are "
        "expected, declare this with a check of the status",
    ),
    DoubtKind.NOT_MODIFIED: (
        "A server may send status 304 only if the request has a condition, such as the header If-None-Match. These "
        "responses have no content, so the numbers do not describe the requested content.",
        "find out why the server, or a cache in front of it, sends status 304; if the real users have a cache, add "
        "If-None-Match or If-Modified-Since to the headers; if 304 is expected, declare it with a check of the status",
    ),
    DoubtKind.RECONNECTS: (
        "The server closed connections after its responses, so nearly every request needed a new connection. The "
        "response times and the work of the server include the new connections.",
        "check whether the server keeps connections (keep-alive, HTTP/1.0), unless real users open new ones as well",
    ),
    DoubtKind.PAUSES: (
        "Single seconds are far slower than the others: something stops the system at times (garbage collection, a "
        "checkpoint, a timer, another program). Means and tails depend on the number of these pauses in a window.",
        "check the timeline and the logs of these seconds; use a window that contains at least ten of the pauses",
    ),
    DoubtKind.LISTEN_OVERFLOW: (
        "A server accepted connections too slowly, and the kernel of its host dropped the rest. A client retries only "
        "after a second or more, so the slowest response times include this wait.",
        "raise the server's listen backlog and net.core.somaxconn of its host, or lengthen the ramp-up",
    ),
    DoubtKind.TIER_LIMIT: (
        "A tier had as many open files, processes and threads, or local ports as the kernel allows. It refused further "
        "work, so errors and response times reflect this limit, not the capacity of the tier.",
        "raise the limit of the tier (ulimit -n for open files, ulimit -u or pids.max of its control group for "
        "processes, LimitNOFILE and TasksMax of a systemd unit, net.ipv4.ip_local_port_range for local ports), or let "
        "it keep fewer connections open, for a longer time",
    ),
    DoubtKind.RETRANSMITS: (
        "TCP segments were retransmitted. If an acknowledgement times out or the end of a message is lost, Linux "
        "retransmits only after about 200 ms, and the slowest response times include this wait. Other "
        "retransmissions cost about one round trip. An unnecessary retransmission was sent because an "
        "acknowledgement was late, or because segments overtook each other.",
        "look for drops of the network interfaces, full socket buffers and a saturated receiver",
    ),
    DoubtKind.THROTTLED: (
        "The CPU limit of a control group delayed its processes, so times include waiting for the next period.",
        "raise or remove the CPU limit (cpu.max) of the named group, unless the limit is part of the study",
    ),
    DoubtKind.DATA_DAMAGED: (
        "Some records cannot be read, so sums and counts lack them, or an entry of a file cannot, so it is unknown.",
        "check the disk; repeat the run if it matters",
    ),
    DoubtKind.COPIED_RUN: (
        "Two copies of the same records are one measurement. Counted as a repetition, the copy would make intervals "
        "too narrow.",
        "remove the copy, and measure the run again",
    ),
    DoubtKind.NOT_PINNED: (
        "Generator and system share CPUs, so each takes time from the other.",
        "use a machine with more cores, or generate the load from another machine",
    ),
    DoubtKind.DISK_FULL: (
        "The disk was full, so the recording ends early.",
        "free space or give another results folder, then repeat the run",
    ),
    DoubtKind.STORAGE_FULL: (
        "A disk of the system has run out of space or inodes, or soon will. Writes then fail, and a failed request "
        "costs less than a successful one.",
        "give the disk more space (size) or more inodes, or let runs write less; watch free inodes and free space",
    ),
    DoubtKind.DISK_THROTTLED: (
        "To enforce the limit, the control group delays disk requests of the host and releases them in bursts. Means "
        "and throughput correspond to the limit. Percentiles of disk times, and of response times that include them, "
        "differ from those of a real disk of this speed.",
        "judge these runs by means and throughput, or measure percentiles on a real disk of this speed",
    ),
    DoubtKind.STORED_LOST: (
        "The system confirmed to users that documents were stored, but after the run they were missing or had other "
        "content. The system may have been fast because it did not keep the data.",
        "see stored.json for the lost documents and the times of their confirmation; check events and logs of that "
        "time",
    ),
    DoubtKind.STORED_UNKNOWN: (
        "Some documents that the system confirmed as stored could not be read back, so they may be lost.",
        "see stored.json for the reason; give the check more time (read_back.at_most), or check the service logs",
    ),
    DoubtKind.OBSERVATION_GAP: (
        "The system was not observed for a while within the window; its CPU time there is interpolated.",
        "find the reason why the probe did not run, such as an overloaded or suspended host",
    ),
    DoubtKind.OBSERVATION_COST: (
        "Observing the system took CPU time that the system might have used.",
        "lengthen the sampling interval, or leave out costly metrics",
    ),
    DoubtKind.COORDINATED_OMISSION: (
        "The load generator left out requests while the system was slow. They would have been slow, too, so high "
        "percentiles, means and throughput look too good.",
        "give the generator enough connections or users for the slowest response time, or use a generator that counts "
        "response times from the planned start (towtank drive --rate)",
    ),
    DoubtKind.COARSE_TIMES: (
        "The times in the file have too coarse a resolution, so percentiles reflect the rounding.",
        "let the tool write times with a finer resolution, or treat each response time as a range",
    ),
    DoubtKind.SUMMARIES_ONLY: (
        "Without single requests, neither a transient nor correlation can be detected, so no figure has an interval.",
        "let the tool write single requests (see the guide to results of other tools), and judge that file",
    ),
    DoubtKind.LOAD_GAP: (
        "For some time no request starts, so throughput over this time does not describe the load. "
        "The file may contain several runs, a "
        "clock may have been set, a time stamp may be wrong, or unanswered requests may be missing.",
        "split the file at the stated times and judge each part; correct or remove rows with a wrong time stamp",
    ),
}
"""Two texts for each kind of doubt: why it matters, and the recommended next step."""
NOTHING_RECORDED = (
    "Without a request in the steady stage there is nothing to analyse.",
    "find the cause of the early end, or of the missing responses, in the other doubts and in the logs of the run "
    "folder",
)
"""Why it matters and the next step, for a run without an analysed window. `Doubt.special` may hold these texts."""


@dataclass(frozen=True)
class Doubt:
    """Doubt about a measurement, with the measured value (`seen`) and the limit that this value exceeds."""

    kind: DoubtKind
    level: DoubtLevel
    message: str
    seen: float | None = None
    limit: float | None = None
    unit: str = ""
    special: tuple[str, str] | None = None
    """Why the doubt matters, and the next step, in place of `EXPLANATIONS`; None if those texts apply."""

    @property
    def hint(self) -> str:
        """Recommended next step."""
        return (self.special or EXPLANATIONS[self.kind])[1]

    def document(self) -> dict[str, object]:
        """Return the doubt as JSON for a summary: kind, level, values, message, reason and next step."""
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


def level_of(doubts: list[Doubt]) -> VerdictLevel:
    """Return the verdict on a run: `invalid`, `suspect` or `valid`. The most severe doubt determines it."""
    levels = {doubt.level for doubt in doubts}
    if DoubtLevel.INVALID in levels:
        return "invalid"
    return "suspect" if DoubtLevel.SUSPECT in levels else "valid"


def seconds(value: float) -> str:
    """Render a time for a message, in µs, ms or s."""
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if abs(value) < limit:
            return f"{few_digits(factor * value)} {unit}"
    return f"{value:.3g} s" if abs(value) < 999.5 else f"{value:,.0f} s"


def percent_text(value: float) -> str:
    """Render a share for a message, in per cent."""
    return f"{few_digits(100 * value)} %"


def signed_percent(value: float) -> str:
    """Render a relative change for a message, in per cent with its sign: `+12 %`, `−40.8 %`."""
    return f"{'−' if value < 0 else '+'}{percent_text(abs(value))}"
