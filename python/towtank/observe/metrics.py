"""Lists all metric series that Towtank samples or scrapes, with unit, kind, source and cost.

`python -m towtank.observe.metrics_page` generates `docs/reference/metrics.md` from these tables.
"""

from __future__ import annotations

from towtank.observe import service_metrics
from towtank.observe.metric import Metric, Table
from towtank.observe.metric import counter as _counter
from towtank.observe.metric import gauge as _gauge

_STAT = "`/proc/stat`"
_PID_STAT = "`/proc/PID/stat`"
_PID_IO = "`/proc/PID/io`"
_THREAD_STATUS = "`/proc/PID/task/TID/status`"
_THREAD_TIMES = "`/proc/PID/task/TID/schedstat`"
_DISKSTATS = "`/proc/diskstats`"
_NET_DEV = "`/proc/net/dev`"
_SNMP = "`/proc/net/snmp`"
_NETSTAT = "`/proc/net/netstat`"
_WITH_ENDED = "descendants that ended included"

HOST = Table(
    "Host",
    "`host` of a sample",
    "thirteen kept-open files, about 0.2 ms of CPU on a machine with two CPUs; `/proc/stat` grows with CPUs and "
    "interrupts",
    (
        _counter("cpu_user_s", "s", _STAT, "User mode, niced work and guests included, all CPUs"),
        _counter("cpu_system_s", "s", _STAT, "Kernel, interrupts apart"),
        _counter("cpu_idle_s", "s", _STAT, "Idle, not waiting for a disk"),
        _counter(
            "cpu_iowait_s",
            "s",
            _STAT,
            "Idle while a process waits for a disk; only an indication on many CPUs",
        ),
        _counter("cpu_irq_s", "s", _STAT, "Interrupts, hard and soft"),
        _counter("cpu_steal_s", "s", _STAT, "Taken by the hypervisor for others"),
        _counter("context_switches", "1", _STAT, "Context switches"),
        _gauge(
            "processes_running",
            "1",
            _STAT,
            "Threads that run or could run at this moment, the probe included",
        ),
        _gauge("processes_blocked", "1", _STAT, "Threads that wait for a disk at this moment"),
        _gauge("load_1m", "1", "`/proc/loadavg`", "Load average of one minute"),
        _gauge("memory_total_bytes", "bytes", "`/proc/meminfo`", "Memory the kernel manages"),
        _gauge(
            "memory_available_bytes",
            "bytes",
            "`/proc/meminfo`",
            "What programs could get without swapping, estimated",
        ),
        _gauge("memory_cached_bytes", "bytes", "`/proc/meminfo`", "Page cache"),
        _gauge("memory_dirty_bytes", "bytes", "`/proc/meminfo`", "Page cache that still has to go to disk"),
        _gauge(
            "memory_anonymous_bytes",
            "bytes",
            "`/proc/meminfo`",
            "Memory of no file on a disk: of programs, shared memory and file systems in memory (`AnonPages` and "
            "`Shmem`)",
        ),
        _counter("swap_in_pages", "1", "`/proc/vmstat`", "Pages read from swap"),
        _counter("swap_out_pages", "1", "`/proc/vmstat`", "Pages written to swap"),
        _counter("page_faults", "1", "`/proc/vmstat`", "Page faults, minor and major"),
        _counter("major_page_faults", "1", "`/proc/vmstat`", "Page faults that waited for a disk"),
        _gauge("open_files", "1", "`/proc/sys/fs/file-nr`", "File handles in use"),
        _counter("tcp_retransmits", "1", _SNMP, "TCP segments retransmitted"),
        _counter(
            "tcp_needless_retransmits",
            "1",
            _NETSTAT,
            "TCP segments retransmitted unnecessarily: the peer reported that it had received them (D-SACK, RFC 2883)",
        ),
        _counter(
            "tcp_timeouts",
            "1",
            _NETSTAT,
            "Timeouts after which TCP segments were retransmitted; Linux waits at least 200 ms for each",
        ),
        _counter(
            "tcp_probe_recoveries",
            "1",
            _NETSTAT,
            "TCP segments at the end of a message that were lost, and that a probe repaired after up to 200 ms",
        ),
        _counter("tcp_listen_overflows", "1", _NETSTAT, "Connections refused by a full accept queue"),
        _counter("tcp_listen_drops", "1", _NETSTAT, "Connections dropped while listening, for any reason"),
        _gauge(
            "tcp_memory_bytes",
            "bytes",
            "`/proc/net/sockstat`",
            "Memory of all TCP sockets, including those in other networks of the machine",
        ),
        _counter("pressure.cpu.some_s", "s", "`/proc/pressure/cpu`", "Time in which some thread waited for a CPU"),
        _counter("pressure.io.some_s", "s", "`/proc/pressure/io`", "Time in which some thread waited for a disk"),
        _counter(
            "pressure.io.full_s",
            "s",
            "`/proc/pressure/io`",
            "Time in which all threads with work waited for a disk",
        ),
        _counter(
            "pressure.memory.some_s",
            "s",
            "`/proc/pressure/memory`",
            "Time in which some thread waited for memory",
        ),
        _counter(
            "pressure.memory.full_s",
            "s",
            "`/proc/pressure/memory`",
            "Time in which all threads with work waited for memory",
        ),
    ),
)
CPUS = Table(
    "Each CPU",
    "`cpus` of a sample, at the number of the CPU; one that is offline has no keys",
    "none of its own: read with the host",
    (
        _counter("busy_s", "s", _STAT, "User, system and interrupts"),
        _counter("irq_s", "s", _STAT, "Interrupts, hard and soft, of it"),
        _counter("idle_s", "s", _STAT, "Idle, waiting for a disk included"),
        _counter("steal_s", "s", _STAT, "Taken by the hypervisor for others"),
    ),
)
DISKS = Table(
    "Disks",
    "`disks` of a sample, by name",
    "one file; whole devices only. Loop, RAM and network block devices once they were used. "
    "Devices built from others (`dm-0`, `md0`, `loop0`) stand beside those and are `stacked`: sums leave them out",
    (
        _counter("read_bytes", "bytes", _DISKSTATS, "Read; sectors of 512 bytes"),
        _counter("write_bytes", "bytes", _DISKSTATS, "Written"),
        _counter("read_operations", "1", _DISKSTATS, "Reads completed, after merging"),
        _counter("write_operations", "1", _DISKSTATS, "Writes completed, after merging"),
        _counter(
            "busy_s",
            "s",
            _DISKSTATS,
            "Time with at least one request; no utilization on devices that work in parallel",
        ),
        _counter(
            "queue_s",
            "s",
            _DISKSTATS,
            "Requests in hand, integrated over time; its growth is the mean queue length",
        ),
        Metric(
            "stacked",
            "1",
            "fact",
            "`/sys/block/DISK/slaves`, `loop/backing_file`",
            "Whether another disk counts the same bytes, too: the device is built from others or from a file on a "
            "disk; `true` or `false`",
        ),
    ),
)
NETWORKS = Table(
    "Network interfaces",
    "`networks` of a sample, by name; an interface that never carried anything is left out",
    "one file",
    (
        _counter("receive_bytes", "bytes", _NET_DEV, "Received"),
        _counter("transmit_bytes", "bytes", _NET_DEV, "Sent"),
        _counter("receive_packets", "1", _NET_DEV, "Packets received"),
        _counter("transmit_packets", "1", _NET_DEV, "Packets sent"),
        _counter("errors", "1", _NET_DEV, "Receive and transmit errors"),
        _counter("drops", "1", _NET_DEV, "Packets dropped, both ways"),
    ),
)
GROUPS = Table(
    "Groups of processes",
    "`groups` of a sample, by name: a root process, all its descendants, and those that detached: children of a root "
    "that is a reaper (as the guard is), processes in a control group of its own, in sessions that members led, and "
    "with the address layout of a member, which `exec` draws at random and `fork` keeps",
    "about 12 µs per process, 2 µs per thread, 6 µs more per thread that ran since the last sample; "
    "`/proc` is listed only when a process was started",
    (
        _counter("cpu_user_s", "s", _PID_STAT, f"User time, {_WITH_ENDED}; whole clock ticks per process"),
        _counter("cpu_system_s", "s", _PID_STAT, f"System time, {_WITH_ENDED}"),
        _gauge(
            "memory_bytes",
            "bytes",
            "`/proc/PID/smaps_rollup`",
            "Proportional sets (Pss) added up: shared pages count once. Read in rounds over all processes of the "
            "group, in some of the samples: a round takes 10 µs for a small process and milliseconds for each GiB; the "
            "rounds of all groups take at most 0.5 % of one CPU, 2 % while resident sets or processes change by a "
            "tenth. Left out if a process is not ours to read",
        ),
        _gauge(
            "memory_anonymous_bytes",
            "bytes",
            "`/proc/PID/smaps_rollup`",
            "The part of it that belongs to no file on a disk: anonymous and shared memory",
        ),
        _gauge(
            "resident_sets_bytes",
            "bytes",
            "`/proc/PID/statm`",
            "Resident sets added up: pages that processes share count once for each process",
        ),
        _counter("page_faults", "1", _PID_STAT, f"Page faults without a disk, {_WITH_ENDED}"),
        _counter("major_page_faults", "1", _PID_STAT, f"Page faults that waited for a disk, {_WITH_ENDED}"),
        _counter("read_bytes", "bytes", _PID_IO, "Bytes that came from a disk, not from the page cache"),
        _counter("write_bytes", "bytes", _PID_IO, "Bytes that made pages dirty, and so go to a disk"),
        _counter("read_operations", "1", _PID_IO, "Read system calls, sockets included"),
        _counter("write_operations", "1", _PID_IO, "Write system calls, sockets included"),
        _counter(
            "voluntary_switches",
            "1",
            _THREAD_STATUS,
            "Context switches to wait for something, of all threads",
        ),
        _counter("involuntary_switches", "1", _THREAD_STATUS, "Context switches to let another thread run"),
        _counter(
            "run_queue_wait_s",
            "s",
            _THREAD_TIMES,
            "Time in which threads could run and had no CPU",
        ),
        _gauge("threads", "1", _PID_STAT, "Threads"),
        _gauge("processes", "1", "`/proc`", "Processes, including zombies"),
        _gauge(
            "open_files",
            "1",
            "`/proc/PID/fd`",
            "Open files; the size of the folder if the kernel reports it (6.2 and later), else counted",
        ),
        _gauge(
            "open_files_of_fullest",
            "1",
            "`/proc/PID/fd`",
            "Open files of the process that is closest to its limit; left out if no limit can be read",
        ),
        _gauge(
            "open_files_limit",
            "1",
            "`/proc/PID/limits`",
            "Soft limit of open files of that process; read again while more than half of it is in use",
        ),
        _gauge(
            "user_tasks",
            "1",
            "`/proc/PID/status` of all processes",
            "Processes and threads of the user of the group closest to its limit; counted, about 15 µs for each "
            "process of the host, only while all processes of the host are at 90 % of the limit or more",
        ),
        _gauge(
            "user_tasks_limit",
            "1",
            "`/proc/PID/limits`",
            "Soft limit of processes of that user; left out if the limit does not apply to it (root, `CAP_SYS_ADMIN`, "
            "`CAP_SYS_RESOURCE`)",
        ),
        _gauge("processes_alive", "1", _PID_STAT, "Those of them that have not ended"),
        Metric("root_pid", "1", "fact", "the command line or standard input", "Number of the root process"),
        Metric(
            "root_start_ticks",
            "1",
            "fact",
            _PID_STAT,
            "Start time of the root, in clock ticks; another value is another process",
        ),
        Metric("alive", "1", "gauge", _PID_STAT, "Whether the root runs; `true` or `false`"),
    ),
)
BUSIEST = Table(
    "Busiest process and thread of a group",
    "`busiest_process` and `busiest_thread` of a group: those whose CPU time grew most since the previous sample. A "
    "process or thread without a previous sample is left out. The CPU time of a process of which a thread has ended "
    "since is that of `/proc/PID/stat`, in ticks of 10 ms",
    "the name, when another one becomes the busiest",
    (
        Metric("pid", "1", "fact", "`/proc`", "Number of the process"),
        Metric("tid", "1", "fact", "`/proc/PID/task`", "Number of the thread; of the thread only"),
        Metric("name", "1", "fact", "`/proc/PID/task/TID/comm`", "Name of the process or thread, a text"),
        _gauge("cpus", "1", _THREAD_TIMES, "Growth of its CPU time over the time between both samples"),
        _gauge("waits", "1", _THREAD_TIMES, "Growth of its time ready to run without a CPU; of the thread only"),
    ),
)
OWN_CGROUP = Table(
    "Control group of a group's own",
    "`own_cgroup` of a group, with its `folder`, if the root sits in a control group (not the root one) without the "
    "probe, without an ancestor of the root and without the root of another group: a unit of systemd, a container, a "
    "host. All processes in it belong to the group, and CPU time that only the control group counted is in that of "
    "the group",
    "three files, about 15 µs, and `cgroup.procs` when a process was started",
    (
        _counter("cpu_s", "s", "`cpu.stat`; version 1: `cpuacct.usage`", "CPU time of all in the control group"),
        _gauge(
            "memory_bytes",
            "bytes",
            "`memory.current`, `memory.stat`; version 1: `memory.usage_in_bytes`",
            "Memory less what the kernel can reclaim: page cache and, in version 2, reclaimable slabs. Memory of the "
            "kernel, such as that of sockets, is included",
        ),
        _gauge("memory_cache_bytes", "bytes", "`memory.stat`", "What the kernel can reclaim"),
    ),
)
CGROUP = Table(
    "Control group of a group's root",
    "`cgroup` of a group, where its root sits in a cgroup other than the root cgroup; with `version` and `path`",
    "two to four files, about 10 µs",
    (
        _counter("cpu_s", "s", "`cpu.stat`; version 1: `cpuacct.usage`", "CPU time of all in the cgroup"),
        _counter("cpu_user_s", "s", "`cpu.stat` of version 2", "User time"),
        _counter("cpu_system_s", "s", "`cpu.stat` of version 2", "System time"),
        _counter("periods", "1", "`cpu.stat`", "Periods of enforcement in which the cgroup wanted to run"),
        _counter("throttled_periods", "1", "`cpu.stat`", "Those in which it used up its limit"),
        _counter("throttled_s", "s", "`cpu.stat`", "Time for which it was throttled"),
        _gauge(
            "cpu_limit",
            "1",
            "`cpu.max`; version 1: `cpu.cfs_quota_us`",
            "CPUs it may use; left out without a limit",
        ),
    ),
)
PIDS = Table(
    "Processes of a group's control groups",
    "`pids` of a group, where the controller `pids` can be seen",
    "two files for each control group with a limit, about 5 µs each",
    (
        _gauge("levels", "1", "`pids.max`", "Control groups with a limit that its root is in, those above included"),
        _gauge("tasks", "1", "`pids.current`", "Processes and threads in the one that is closest to its limit"),
        _gauge("limit", "1", "`pids.max`", "Limit of that control group"),
    ),
)
PORTS = Table(
    "Sockets of a group's network",
    "`ports` of a group, where the network namespace of its processes can be seen",
    "two files for each namespace, about 20 µs; sockets are listed, about 1 µs each, only while they are 90 % of the "
    "local ports of the host or more, and for 1 % of the time at most",
    (
        Metric("network", "1", "fact", "`/proc/PID/ns/net`", "Number of the network namespace"),
        _gauge("sockets", "1", "`/proc/PID/net/sockstat`, `sockstat6`", "TCP sockets, those that wait to end included"),
        _gauge(
            "towards",
            "1",
            "`/proc/PID/net/tcp`, `tcp6`",
            "By destination, local ports of the range in use towards it: the three destinations with the most; only in "
            "samples in which sockets were listed",
        ),
    ),
)
PROBE = Table(
    "The probe itself",
    "`probe` of a sample",
    "under 2 ms of CPU per sample with 60 processes and 100 threads in groups: 0.2 % of one core at one sample "
    "a second",
    (
        _counter("cpu_s", "s", "`CLOCK_PROCESS_CPUTIME_ID`", "CPU time of the probe"),
        _counter(
            "observer_cpu_s",
            "s",
            _PID_STAT,
            "CPU time of the conductor, which scrapes and sends, without its children; of the probe of this machine "
            "only",
        ),
        _gauge("resident_bytes", "bytes", "`/proc/self/statm`", "Resident set of the probe"),
        _gauge(
            "work_s",
            "s",
            "`CLOCK_THREAD_CPUTIME_ID`",
            "By CPU, of the first 64: CPU time of a fixed piece of work, 20,000 steps in 32 KiB, done since the sample "
            "before; the shortest of three times, some 0.15 ms in each interval. Left out while the CPU was not free",
        ),
        _gauge("late_s", "s", "`CLOCK_MONOTONIC`", "Delay of the start of the sample after its instant of the grid"),
        _gauge("took_s", "s", "`CLOCK_MONOTONIC`", "Duration of the sample"),
    ),
)
_DATABASE = "`pg_stat_database`"
_CHECKPOINTS = "`pg_stat_bgwriter`; from PostgreSQL 17 `pg_stat_checkpointer`"
_STATEMENTS = "`pg_stat_statements`"
POSTGRESQL = Table(
    "PostgreSQL",
    "`values` of the service's stream; of the database that the content is in",
    "one connection, five to six queries, a few milliseconds on the server; statements only where the extension is "
    "installed and loaded, the 20 with the most time, labels `queryid` and `query`",
    (
        _gauge("pg_stat_database_connections", "1", _DATABASE, "Connections"),
        _counter("pg_stat_database_commits", "1", _DATABASE, "Transactions committed"),
        _counter("pg_stat_database_rollbacks", "1", _DATABASE, "Transactions rolled back"),
        _counter("pg_stat_database_blocks_read", "1", _DATABASE, "Blocks asked of the operating system"),
        _counter("pg_stat_database_blocks_hit", "1", _DATABASE, "Blocks found in the shared buffers"),
        _counter("pg_stat_database_rows_returned", "1", _DATABASE, "Rows read by scans"),
        _counter("pg_stat_database_rows_fetched", "1", _DATABASE, "Rows fetched by index scans"),
        _counter("pg_stat_database_rows_inserted", "1", _DATABASE, "Rows inserted"),
        _counter("pg_stat_database_rows_updated", "1", _DATABASE, "Rows updated"),
        _counter("pg_stat_database_rows_deleted", "1", _DATABASE, "Rows deleted"),
        _counter("pg_stat_database_conflicts", "1", _DATABASE, "Queries cancelled by recovery"),
        _counter("pg_stat_database_deadlocks", "1", _DATABASE, "Deadlocks"),
        _counter("pg_stat_database_temporary_files", "1", _DATABASE, "Temporary files made by queries"),
        _counter("pg_stat_database_temporary_bytes", "bytes", _DATABASE, "Bytes written to them"),
        _counter(
            "pg_stat_database_block_read_seconds",
            "s",
            _DATABASE,
            "Time reading blocks; needs `track_io_timing`",
        ),
        _counter(
            "pg_stat_database_block_write_seconds",
            "s",
            _DATABASE,
            "Time writing blocks; needs `track_io_timing`",
        ),
        _counter(
            "pg_stat_database_active_seconds",
            "s",
            _DATABASE,
            "Time in which sessions executed; from PostgreSQL 14",
        ),
        _counter(
            "pg_stat_bgwriter_buffers_written",
            "1",
            "`pg_stat_bgwriter`",
            "Buffers written by the background writer",
        ),
        _counter(
            "pg_stat_bgwriter_stopped",
            "1",
            "`pg_stat_bgwriter`",
            "Rounds it ended early for having written enough",
        ),
        _counter("pg_stat_bgwriter_buffers_allocated", "1", "`pg_stat_bgwriter`", "Buffers allocated"),
        _counter(
            "pg_stat_bgwriter_backend_buffers_written",
            "1",
            "`pg_stat_bgwriter` to 16",
            "Buffers sessions wrote themselves",
        ),
        _counter(
            "pg_stat_bgwriter_backend_fsyncs",
            "1",
            "`pg_stat_bgwriter` to 16",
            "Syncs sessions did themselves",
        ),
        _counter("pg_stat_checkpoints_timed", "1", _CHECKPOINTS, "Checkpoints by time"),
        _counter(
            "pg_stat_checkpoints_requested",
            "1",
            _CHECKPOINTS,
            "Checkpoints by the amount of log, or by command",
        ),
        _counter("pg_stat_checkpoints_buffers_written", "1", _CHECKPOINTS, "Buffers written by checkpoints"),
        _counter("pg_stat_checkpoints_write_seconds", "s", _CHECKPOINTS, "Time checkpoints wrote"),
        _counter("pg_stat_checkpoints_sync_seconds", "s", _CHECKPOINTS, "Time checkpoints waited for the disk"),
        _counter("pg_stat_wal_records", "1", "`pg_stat_wal`, from 14", "Records of the write-ahead log"),
        _counter("pg_stat_wal_bytes", "bytes", "`pg_stat_wal`, from 14", "Bytes of the write-ahead log"),
        _counter(
            "pg_stat_wal_buffers_full",
            "1",
            "`pg_stat_wal`, from 14",
            "Times it was written because its buffers were full",
        ),
        _gauge(
            "pg_stat_activity_connections",
            "1",
            "`pg_stat_activity`",
            "Clients by labels `state` and `wait`, ours apart",
        ),
        _counter("pg_stat_statements_calls", "1", _STATEMENTS, "Executions"),
        _counter("pg_stat_statements_seconds", "s", _STATEMENTS, "Time of execution"),
        _counter("pg_stat_statements_rows", "1", _STATEMENTS, "Rows returned or changed"),
        _counter("pg_stat_statements_blocks_hit", "1", _STATEMENTS, "Blocks found in the shared buffers"),
        _counter("pg_stat_statements_blocks_read", "1", _STATEMENTS, "Blocks asked of the operating system"),
    ),
)
SQLITE = Table(
    "SQLite",
    "`values` of the service's stream",
    "two `stat` and three pragmas over a read-only connection, about 0.1 ms",
    (
        _gauge("sqlite_database_bytes", "bytes", "`stat`", "Size of the database file"),
        _gauge("sqlite_wal_bytes", "bytes", "`stat`", "Size of the write-ahead log; left out without one"),
        _gauge("sqlite_pages", "1", "`PRAGMA page_count`", "Pages"),
        _gauge("sqlite_page_bytes", "bytes", "`PRAGMA page_size`", "Size of a page"),
        _gauge("sqlite_free_pages", "1", "`PRAGMA freelist_count`", "Pages that hold nothing"),
    ),
)
_CPU_STAT = "`cpuacct.*`, `cpu.stat`"
_MEMORY_STAT = "`memory.stat`"
_BLOCK_STAT = "`/sys/block/DEVICE/stat`"
_STATVFS = "`statvfs`"
VIRTUAL_HOST = Table(
    "Hosts with sizes of their own",
    "`values` of the stream `host-NAME`, for hosts of provider `namespaces`; series of disks have the label `disk`",
    "a dozen files and one system call for each disk, about 1 ms",
    (
        _counter("host_cpu_seconds", "s", _CPU_STAT, "CPU time of all processes of the host"),
        _counter("host_cpu_user_seconds", "s", _CPU_STAT, "User time of these"),
        _gauge("host_cpu_limit", "1", "the system file", "CPUs it may use; left out without a limit"),
        _counter("host_periods", "1", "`cpu.stat`", "Periods of the quota in which it wanted to run"),
        _counter("host_throttled_periods", "1", "`cpu.stat`", "Those in which it used its quota up"),
        _counter("host_throttled_seconds", "s", "`cpu.stat`", "Time for which it was throttled, of all CPUs"),
        _gauge(
            "host_memory_bytes", "bytes", "`memory.usage_in_bytes`, `memory.current`", "Memory, page cache included"
        ),
        _gauge("host_memory_cache_bytes", "bytes", _MEMORY_STAT, "Page cache"),
        _gauge(
            "host_swap_bytes",
            "bytes",
            "`memory.stat`, `memory.swap.current`",
            "Swap space in use; left out if the kernel does not count it",
        ),
        _counter(
            "host_memory_limit_hits",
            "1",
            "`memory.failcnt`, `memory.events`",
            "Times the limit held up an allocation; some kernels count none for version 1",
        ),
        _counter(
            "host_page_cache_refaults",
            "1",
            _MEMORY_STAT,
            "Pages that were evicted from the page cache and read again: the cache is too small for the working set",
        ),
        _counter("host_out_of_memory_kills", "1", "`memory.oom_control`, `memory.events`", "Processes killed"),
        _counter("host_major_page_faults", "1", _MEMORY_STAT, "Page faults that waited for a disk"),
        _counter(
            "host_pressure_seconds",
            "s",
            "`*.pressure` of version 2",
            "Time in which `some` or all (`full`) threads waited, by labels `resource` and `extent`",
        ),
        _gauge("host_processes", "1", "`cgroup.procs`", "Processes, guards included"),
        _counter("host_network_receive_bytes", "bytes", _NET_DEV, "Received by its device"),
        _counter("host_network_receive_packets", "1", _NET_DEV, "Packets received"),
        _counter("host_network_receive_drops", "1", _NET_DEV, "Packets dropped when received"),
        _counter("host_network_transmit_bytes", "bytes", _NET_DEV, "Sent by its device"),
        _counter("host_network_transmit_packets", "1", _NET_DEV, "Packets sent"),
        _counter("host_network_transmit_drops", "1", _NET_DEV, "Packets dropped when sent"),
        _gauge(
            "host_socket_memory_bytes",
            "bytes",
            "`sock_diag`",
            "Memory of its TCP and Unix sockets, at this moment; left out with more than 1,000 of TCP",
        ),
        _counter("host_tcp_retransmits", "1", _SNMP, "TCP segments that it retransmitted"),
        _counter(
            "host_tcp_needless_retransmits",
            "1",
            _NETSTAT,
            "TCP segments that it retransmitted unnecessarily: the peer had received them (D-SACK, RFC 2883)",
        ),
        _counter(
            "host_tcp_timeouts",
            "1",
            _NETSTAT,
            "Timeouts after which it retransmitted TCP segments; Linux waits at least 200 ms for each",
        ),
        _counter(
            "host_tcp_probe_recoveries",
            "1",
            _NETSTAT,
            "TCP segments at the end of a message that were lost, and that a probe repaired after up to 200 ms",
        ),
        _counter("host_tcp_listen_overflows", "1", _NETSTAT, "Connections to it refused by a full accept queue"),
        _counter("host_tcp_listen_drops", "1", _NETSTAT, "Connections to it dropped while listening, for any reason"),
        _counter("host_disk_read_bytes", "bytes", _BLOCK_STAT, "Read from the disk"),
        _counter("host_disk_write_bytes", "bytes", _BLOCK_STAT, "Written to the disk"),
        _counter("host_disk_read_operations", "1", _BLOCK_STAT, "Reads completed, after merging"),
        _counter("host_disk_write_operations", "1", _BLOCK_STAT, "Writes completed, after merging"),
        _counter(
            "host_disk_busy_seconds", "s", _BLOCK_STAT, "Time with at least one request; of a striped disk the mean"
        ),
        _counter("host_disk_queue_seconds", "s", _BLOCK_STAT, "Requests in hand, integrated over time"),
        _gauge("host_disk_size_bytes", "bytes", _STATVFS, "Space for data"),
        _gauge("host_disk_free_bytes", "bytes", _STATVFS, "Free space for users"),
        _gauge("host_disk_inodes", "1", _STATVFS, "Files that it can hold; 0 if the number is not fixed"),
        _gauge("host_disk_free_inodes", "1", _STATVFS, "Files that it can still hold"),
    ),
)
TABLES = (
    *(HOST, CPUS, DISKS, NETWORKS, GROUPS, BUSIEST, OWN_CGROUP, CGROUP, PIDS, PORTS, PROBE),
    *(POSTGRESQL, SQLITE, VIRTUAL_HOST),
    *service_metrics.TABLES,
)
