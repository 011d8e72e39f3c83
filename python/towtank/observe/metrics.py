"""Lists all metric series that Towtank samples or scrapes, with unit, kind, source and cost.

`python -m towtank.observe.metrics_page` generates `docs/reference/metrics.md` from these tables.
"""

from __future__ import annotations

from towtank.observe import service_metrics
from towtank.observe.connection_metrics import CONNECTIONS_HERE
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
_WITH_ENDED = "including descendants that have ended"

HOST = Table(
    "Host",
    "`host` of a sample",
    "thirteen files, which stay open; about 0.2 ms of CPU time on a machine with two CPUs, more with many CPUs and "
    "interrupts, because `/proc/stat` grows with their number",
    (
        _counter("cpu_user_s", "s", _STAT, "CPU time of all CPUs in user mode, including niced processes and guests"),
        _counter("cpu_system_s", "s", _STAT, "CPU time in the kernel without interrupts"),
        _counter("cpu_idle_s", "s", _STAT, "Idle time in which no process waits for a disk"),
        _counter(
            "cpu_iowait_s",
            "s",
            _STAT,
            "Idle time while a process waits for a disk; only an indication on machines with many CPUs",
        ),
        _counter("cpu_irq_s", "s", _STAT, "CPU time in hard and soft interrupts"),
        _counter("cpu_steal_s", "s", _STAT, "Time in which the hypervisor ran other virtual machines"),
        _counter("context_switches", "1", _STAT, "Context switches"),
        _gauge(
            "processes_running",
            "1",
            _STAT,
            "Threads that run or are ready to run at the time of the sample, including the probe",
        ),
        _gauge("processes_blocked", "1", _STAT, "Threads that wait for a disk at the time of the sample"),
        _gauge("load_1m", "1", "`/proc/loadavg`", "Load average over one minute"),
        _gauge("memory_total_bytes", "bytes", "`/proc/meminfo`", "Memory that the kernel manages"),
        _gauge(
            "memory_available_bytes",
            "bytes",
            "`/proc/meminfo`",
            "Estimated memory that programs could allocate without swapping",
        ),
        _gauge("memory_cached_bytes", "bytes", "`/proc/meminfo`", "Page cache"),
        _gauge("memory_dirty_bytes", "bytes", "`/proc/meminfo`", "Page cache that is not yet written to disk"),
        _gauge(
            "memory_anonymous_bytes",
            "bytes",
            "`/proc/meminfo`",
            "Memory that belongs to no file on a disk: memory of programs, shared memory and file systems in memory "
            "(`AnonPages` and `Shmem`)",
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
            "Lost TCP segments at the end of a message that a TCP loss probe recovered after up to 200 ms",
        ),
        _counter("tcp_listen_overflows", "1", _NETSTAT, "Connections refused because the accept queue was full"),
        _counter("tcp_listen_drops", "1", _NETSTAT, "Connections dropped by listening sockets, for any reason"),
        _gauge(
            "tcp_memory_bytes",
            "bytes",
            "`/proc/net/sockstat`",
            "Memory of all TCP sockets, including sockets in other network namespaces of the machine",
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
    "`cpus` of a sample, indexed by the number of the CPU; the entry of an offline CPU has no keys",
    "none, because the values are read together with those of the host",
    (
        _counter("busy_s", "s", _STAT, "Time in user mode, in the kernel and in interrupts"),
        _counter("irq_s", "s", _STAT, "Time in hard and soft interrupts"),
        _counter("idle_s", "s", _STAT, "Idle time, including waits for a disk"),
        _counter("steal_s", "s", _STAT, "Time in which the hypervisor ran other virtual machines"),
    ),
)
DISKS = Table(
    "Disks",
    "`disks` of a sample, by name",
    "one file. Only whole devices are sampled; loop, RAM and network block devices only after they were used. Devices "
    "built from other devices (`dm-0`, `md0`, `loop0`) are sampled as well and marked `stacked`; sums over disks leave "
    "them out",
    (
        _counter("read_bytes", "bytes", _DISKSTATS, "Bytes read, in sectors of 512 bytes"),
        _counter("write_bytes", "bytes", _DISKSTATS, "Bytes written"),
        _counter("read_operations", "1", _DISKSTATS, "Reads completed, after merging"),
        _counter("write_operations", "1", _DISKSTATS, "Writes completed, after merging"),
        _counter(
            "busy_s",
            "s",
            _DISKSTATS,
            "Time with at least one request in progress; not the utilization of devices that serve requests in "
            "parallel",
        ),
        _counter(
            "queue_s",
            "s",
            _DISKSTATS,
            "Number of requests in progress, integrated over time; its increase per second is the mean queue length",
        ),
        Metric(
            "stacked",
            "1",
            "fact",
            "`/sys/block/DISK/slaves`, `loop/backing_file`",
            "Whether another disk counts the same bytes as well, because the device is built from other devices or "
            "from a file on a disk; `true` or `false`",
        ),
    ),
)
NETWORKS = Table(
    "Network interfaces",
    "`networks` of a sample, by name; an interface without any traffic since its start is left out",
    "one file",
    (
        _counter("receive_bytes", "bytes", _NET_DEV, "Bytes received"),
        _counter("transmit_bytes", "bytes", _NET_DEV, "Bytes sent"),
        _counter("receive_packets", "1", _NET_DEV, "Packets received"),
        _counter("transmit_packets", "1", _NET_DEV, "Packets sent"),
        _counter("errors", "1", _NET_DEV, "Receive and transmit errors"),
        _counter("drops", "1", _NET_DEV, "Packets dropped in both directions"),
    ),
)
GROUPS = Table(
    "Groups of processes",
    "`groups` of a sample, by name. A group consists of a root process and all its descendants, including detached "
    "processes, which are recognised as described above",
    "about 12 µs per process and 2 µs per thread, and 6 µs more per thread that ran since the last sample; "
    "`/proc` is listed only if a process was started. Threads of a process that used less than a clock tick of CPU "
    "time are read in every fourth sample only",
    (
        _counter("cpu_user_s", "s", _PID_STAT, f"User time, {_WITH_ENDED}; in whole clock ticks per process"),
        _counter("cpu_system_s", "s", _PID_STAT, f"System time, {_WITH_ENDED}"),
        _gauge(
            "memory_bytes",
            "bytes",
            "`/proc/PID/smaps_rollup`",
            "Sum of the proportional set sizes (Pss), in which shared pages count once. The sizes of all processes of "
            "the group are read together, and only in some samples: this takes 10 µs for a small process and "
            "milliseconds for each GiB. All groups together take at most 0.1 % of one CPU, or 0.5 % while resident "
            "sets or the number of processes change by a tenth; the first and the last sample have the sizes in any "
            "case. "
            "Left out if the probe may not read a process",
        ),
        _gauge(
            "memory_anonymous_bytes",
            "bytes",
            "`/proc/PID/smaps_rollup`",
            "Part of `memory_bytes` that belongs to no file on a disk: anonymous and shared memory",
        ),
        _gauge(
            "resident_sets_bytes",
            "bytes",
            "`/proc/PID/statm`",
            "Sum of the resident set sizes, in which shared pages count once for each process",
        ),
        _counter("page_faults", "1", _PID_STAT, f"Page faults without disk access, {_WITH_ENDED}"),
        _counter("major_page_faults", "1", _PID_STAT, f"Page faults that waited for a disk, {_WITH_ENDED}"),
        _counter("read_bytes", "bytes", _PID_IO, "Bytes read from a disk rather than from the page cache"),
        _counter("write_bytes", "bytes", _PID_IO, "Bytes written to pages, which the kernel later writes to a disk"),
        _counter("read_operations", "1", _PID_IO, "Read system calls, including those on sockets"),
        _counter("write_operations", "1", _PID_IO, "Write system calls, including those on sockets"),
        _counter(
            "voluntary_switches",
            "1",
            _THREAD_STATUS,
            "Context switches of all threads because the thread waited",
        ),
        _counter(
            "involuntary_switches",
            "1",
            _THREAD_STATUS,
            "Context switches of all threads because another thread had to run",
        ),
        _counter(
            "run_queue_wait_s",
            "s",
            _THREAD_TIMES,
            "Time in which threads were ready to run but had no CPU",
        ),
        _gauge("threads", "1", _PID_STAT, "Threads"),
        _gauge("processes", "1", "`/proc`", "Processes, including zombies"),
        _gauge(
            "open_files",
            "1",
            "`/proc/PID/fd`",
            "Open files: the size of the folder if the kernel reports it (6.2 and later), otherwise its counted "
            "entries",
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
            "Soft limit of the process in `open_files_of_fullest`; read again only while more than half of it is "
            "in use",
        ),
        _gauge(
            "user_tasks",
            "1",
            "`/proc/PID/status` of all processes",
            "Processes and threads of the user of the group that is closest to its limit. They are counted only while "
            "the processes of the host reach 90 % of the limit; this takes about 15 µs for each process of the host",
        ),
        _gauge(
            "user_tasks_limit",
            "1",
            "`/proc/PID/limits`",
            "Soft limit of processes of the user in `user_tasks`; left out if the limit does not apply to this user "
            "(root, `CAP_SYS_ADMIN`, `CAP_SYS_RESOURCE`)",
        ),
        _gauge("processes_alive", "1", _PID_STAT, "Processes that have not ended, without zombies"),
        Metric("root_pid", "1", "fact", "the command line or standard input", "Id of the root process"),
        Metric(
            "root_start_ticks",
            "1",
            "fact",
            _PID_STAT,
            "Start time of the root process in clock ticks; a different value means a different process",
        ),
        Metric("alive", "1", "gauge", _PID_STAT, "Whether the root process runs; `true` or `false`"),
    ),
)
BUSIEST = Table(
    "Busiest process and thread of a group",
    "`busiest_process` and `busiest_thread` of a group: the process and the thread whose CPU time grew most since the "
    "previous sample. A process or thread without a previous sample is left out. If a thread of the process has ended "
    "since then, the CPU time of the process is read from `/proc/PID/stat`, in ticks of 10 ms",
    "reading the name when another process or thread becomes the busiest",
    (
        Metric("pid", "1", "fact", "`/proc`", "Id of the process"),
        Metric("tid", "1", "fact", "`/proc/PID/task`", "Id of the thread; only for the thread"),
        Metric("name", "1", "fact", "`/proc/PID/task/TID/comm`", "Name of the process or thread, as text"),
        _gauge("cpus", "1", _THREAD_TIMES, "Increase of the CPU time, divided by the time between both samples"),
        _gauge(
            "waits",
            "1",
            _THREAD_TIMES,
            "Increase of the time ready to run without a CPU, divided by the time between both samples; only for the "
            "thread",
        ),
    ),
)
OWN_CGROUP = Table(
    "Control group of a group's own",
    "`own_cgroup` of a group, with its `folder`. It exists if the root process is in a control group, other than the "
    "root control group, that contains neither the probe, nor an ancestor of the root process, nor the root process of "
    "another group: for example a unit of systemd, a container or a host. All processes in this control group belong "
    "to the group. CPU time that only the control group counted is part of the CPU time of the group",
    "three files, about 15 µs, and `cgroup.procs` if a process was started",
    (
        _counter(
            "cpu_s", "s", "`cpu.stat`; version 1: `cpuacct.usage`", "CPU time of all processes in the control group"
        ),
        _gauge(
            "memory_bytes",
            "bytes",
            "`memory.current`, `memory.stat`; version 1: `memory.usage_in_bytes`",
            "Memory without the part that the kernel can reclaim: page cache and, in version 2, reclaimable slabs. "
            "Memory of the kernel, for example for sockets, is included",
        ),
        _gauge("memory_cache_bytes", "bytes", "`memory.stat`", "Memory that the kernel can reclaim"),
    ),
)
CGROUP = Table(
    "Control group of a group's root",
    "`cgroup` of a group, with `version` and `path`, if the root process is in a control group other than the root "
    "control group",
    "two to four files, about 10 µs",
    (
        _counter(
            "cpu_s", "s", "`cpu.stat`; version 1: `cpuacct.usage`", "CPU time of all processes in the control group"
        ),
        _counter("cpu_user_s", "s", "`cpu.stat` of version 2", "User time"),
        _counter("cpu_system_s", "s", "`cpu.stat` of version 2", "System time"),
        _counter("periods", "1", "`cpu.stat`", "Periods of the CPU limit in which the control group had work"),
        _counter("throttled_periods", "1", "`cpu.stat`", "Periods in which the control group used up its limit"),
        _counter("throttled_s", "s", "`cpu.stat`", "Time for which the control group was throttled"),
        _gauge(
            "cpu_limit",
            "1",
            "`cpu.max`; version 1: `cpu.cfs_quota_us`",
            "CPUs that the control group may use; left out without a limit",
        ),
    ),
)
PIDS = Table(
    "Processes of a group's control groups",
    "`pids` of a group, if the controller `pids` is visible",
    "two files for each control group with a limit, about 5 µs each",
    (
        _gauge("levels", "1", "`pids.max`", "Control groups with a limit around the root process, on all levels"),
        _gauge(
            "tasks", "1", "`pids.current`", "Processes and threads in the control group that is closest to its limit"
        ),
        _gauge("limit", "1", "`pids.max`", "Limit of the control group in `tasks`"),
    ),
)
PORTS = Table(
    "Sockets of a group's network",
    "`ports` of a group, if the network namespace of its processes is visible",
    "two files for each namespace, about 20 µs. Sockets are listed, at about 1 µs each, only while their number is at "
    "least 90 % of the local ports of the host, and for at most 1 % of the time",
    (
        Metric("network", "1", "fact", "`/proc/PID/ns/net`", "Number of the network namespace"),
        _gauge("sockets", "1", "`/proc/PID/net/sockstat`, `sockstat6`", "TCP sockets, including those in TIME_WAIT"),
        _gauge(
            "towards",
            "1",
            "`/proc/PID/net/tcp`, `tcp6`",
            "Number of local ports of the range that are in use for connections to a destination, for the three "
            "destinations with the most ports; only in samples in which sockets were listed",
        ),
    ),
)
PROBE = Table(
    "The probe itself",
    "`probe` of a sample",
    "less than 2 ms of CPU time per sample with 60 processes and 100 threads in groups, which is 0.2 % of one core at "
    "one sample per second. With 50 processes of Python and 491 threads it is 0.4 %, measurement of memory included",
    (
        _counter("cpu_s", "s", "`CLOCK_PROCESS_CPUTIME_ID`", "CPU time of the probe"),
        _counter(
            "observer_cpu_s",
            "s",
            _PID_STAT,
            "CPU time of the conductor, the process that scrapes and sends, without its children; only in samples of "
            "the probe on this machine",
        ),
        _gauge("resident_bytes", "bytes", "`/proc/self/statm`", "Resident set of the probe"),
        _gauge(
            "work_s",
            "s",
            "`CLOCK_THREAD_CPUTIME_ID`",
            "For each of the first 64 CPUs: CPU time of a fixed piece of work, 20,000 steps in 32 KiB, done since the "
            "previous sample. It is the shortest of three executions, which take about 0.15 ms in "
            "each interval. Left out if "
            "the CPU was not free",
        ),
        _gauge("late_s", "s", "`CLOCK_MONOTONIC`", "Delay of the start of the sample after its regular time"),
        _gauge("took_s", "s", "`CLOCK_MONOTONIC`", "Duration of the sample"),
    ),
)
_DATABASE = "`pg_stat_database`"
_CHECKPOINTS = "`pg_stat_bgwriter`; from PostgreSQL 17 `pg_stat_checkpointer`"
_STATEMENTS = "`pg_stat_statements`"
POSTGRESQL = Table(
    "PostgreSQL",
    "`values` of the service's stream, for the database that contains the data",
    "one connection, five to six queries, a few milliseconds on the server. Statements are read only if the extension "
    "is installed and loaded: the 20 statements with the most time, with labels `queryid` and `query`",
    (
        _gauge("pg_stat_database_connections", "1", _DATABASE, "Connections"),
        _counter("pg_stat_database_commits", "1", _DATABASE, "Transactions committed"),
        _counter("pg_stat_database_rollbacks", "1", _DATABASE, "Transactions rolled back"),
        _counter("pg_stat_database_blocks_read", "1", _DATABASE, "Blocks read from the operating system"),
        _counter("pg_stat_database_blocks_hit", "1", _DATABASE, "Blocks found in the shared buffers"),
        _counter("pg_stat_database_rows_returned", "1", _DATABASE, "Rows read by scans"),
        _counter("pg_stat_database_rows_fetched", "1", _DATABASE, "Rows fetched by index scans"),
        _counter("pg_stat_database_rows_inserted", "1", _DATABASE, "Rows inserted"),
        _counter("pg_stat_database_rows_updated", "1", _DATABASE, "Rows updated"),
        _counter("pg_stat_database_rows_deleted", "1", _DATABASE, "Rows deleted"),
        _counter("pg_stat_database_conflicts", "1", _DATABASE, "Queries cancelled by recovery"),
        _counter("pg_stat_database_deadlocks", "1", _DATABASE, "Deadlocks"),
        _counter("pg_stat_database_temporary_files", "1", _DATABASE, "Temporary files created by queries"),
        _counter("pg_stat_database_temporary_bytes", "bytes", _DATABASE, "Bytes written to temporary files"),
        _counter(
            "pg_stat_database_block_read_seconds",
            "s",
            _DATABASE,
            "Time spent reading blocks; needs `track_io_timing`",
        ),
        _counter(
            "pg_stat_database_block_write_seconds",
            "s",
            _DATABASE,
            "Time spent writing blocks; needs `track_io_timing`",
        ),
        _counter(
            "pg_stat_database_active_seconds",
            "s",
            _DATABASE,
            "Time in which sessions executed statements; from PostgreSQL 14",
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
            "Rounds that the background writer ended early because it had written enough",
        ),
        _counter("pg_stat_bgwriter_buffers_allocated", "1", "`pg_stat_bgwriter`", "Buffers allocated"),
        _counter(
            "pg_stat_bgwriter_backend_buffers_written",
            "1",
            "`pg_stat_bgwriter` to 16",
            "Buffers that sessions wrote themselves",
        ),
        _counter(
            "pg_stat_bgwriter_backend_fsyncs",
            "1",
            "`pg_stat_bgwriter` to 16",
            "Syncs that sessions executed themselves",
        ),
        _counter("pg_stat_checkpoints_timed", "1", _CHECKPOINTS, "Checkpoints because of the time limit"),
        _counter(
            "pg_stat_checkpoints_requested",
            "1",
            _CHECKPOINTS,
            "Checkpoints because of the amount of log, or by command",
        ),
        _counter("pg_stat_checkpoints_buffers_written", "1", _CHECKPOINTS, "Buffers written by checkpoints"),
        _counter("pg_stat_checkpoints_write_seconds", "s", _CHECKPOINTS, "Time in which checkpoints wrote buffers"),
        _counter(
            "pg_stat_checkpoints_sync_seconds", "s", _CHECKPOINTS, "Time in which checkpoints waited for the disk"
        ),
        _counter("pg_stat_wal_records", "1", "`pg_stat_wal`, from 14", "Records of the write-ahead log"),
        _counter("pg_stat_wal_bytes", "bytes", "`pg_stat_wal`, from 14", "Bytes of the write-ahead log"),
        _counter(
            "pg_stat_wal_buffers_full",
            "1",
            "`pg_stat_wal`, from 14",
            "Number of times that the log was written because its buffers were full",
        ),
        _gauge(
            "pg_stat_activity_connections",
            "1",
            "`pg_stat_activity`",
            "Connections of clients by labels `state` and `wait`, without the connection of the scraper",
        ),
        _counter("pg_stat_statements_calls", "1", _STATEMENTS, "Executions"),
        _counter("pg_stat_statements_seconds", "s", _STATEMENTS, "Time of execution"),
        _counter("pg_stat_statements_rows", "1", _STATEMENTS, "Rows returned or changed"),
        _counter("pg_stat_statements_blocks_hit", "1", _STATEMENTS, "Blocks found in the shared buffers"),
        _counter("pg_stat_statements_blocks_read", "1", _STATEMENTS, "Blocks read from the operating system"),
    ),
)
SQLITE = Table(
    "SQLite",
    "`values` of the service's stream",
    "two `stat` calls and three pragmas over a read-only connection, about 0.1 ms",
    (
        _gauge("sqlite_database_bytes", "bytes", "`stat`", "Size of the database file"),
        _gauge("sqlite_wal_bytes", "bytes", "`stat`", "Size of the write-ahead log; left out if it does not exist"),
        _gauge("sqlite_pages", "1", "`PRAGMA page_count`", "Pages"),
        _gauge("sqlite_page_bytes", "bytes", "`PRAGMA page_size`", "Size of a page"),
        _gauge("sqlite_free_pages", "1", "`PRAGMA freelist_count`", "Pages without content"),
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
        _counter("host_cpu_user_seconds", "s", _CPU_STAT, "User time of all processes of the host"),
        _gauge("host_cpu_limit", "1", "the system file", "CPUs that the host may use; left out without a limit"),
        _counter("host_periods", "1", "`cpu.stat`", "Periods of the CPU limit in which the host had work"),
        _counter("host_throttled_periods", "1", "`cpu.stat`", "Periods in which the host used up its CPU limit"),
        _counter(
            "host_throttled_seconds", "s", "`cpu.stat`", "Time for which the host was throttled, summed over all CPUs"
        ),
        _gauge(
            "host_memory_bytes", "bytes", "`memory.usage_in_bytes`, `memory.current`", "Memory, including page cache"
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
            "Number of times that the memory limit delayed an allocation; some kernels do not count this in version 1",
        ),
        _counter(
            "host_page_cache_refaults",
            "1",
            _MEMORY_STAT,
            "Pages that were evicted from the page cache and read again: the cache is too small for the working set",
        ),
        _counter(
            "host_out_of_memory_kills",
            "1",
            "`memory.oom_control`, `memory.events`",
            "Processes killed for lack of memory",
        ),
        _counter("host_major_page_faults", "1", _MEMORY_STAT, "Page faults that waited for a disk"),
        _counter(
            "host_pressure_seconds",
            "s",
            "`*.pressure` of version 2",
            "Time in which some or all threads waited; labels `resource` and `extent` (`some` or `full`)",
        ),
        _gauge("host_processes", "1", "`cgroup.procs`", "Processes, including the guard processes of Towtank"),
        _counter("host_network_receive_bytes", "bytes", _NET_DEV, "Bytes received by the host's network device"),
        _counter("host_network_receive_packets", "1", _NET_DEV, "Packets received"),
        _counter("host_network_receive_drops", "1", _NET_DEV, "Received packets that were dropped"),
        _counter("host_network_transmit_bytes", "bytes", _NET_DEV, "Bytes sent by the host's network device"),
        _counter("host_network_transmit_packets", "1", _NET_DEV, "Packets sent"),
        _counter("host_network_transmit_drops", "1", _NET_DEV, "Packets that were dropped instead of sent"),
        _gauge(
            "host_socket_memory_bytes",
            "bytes",
            "`sock_diag`",
            "Memory of the host's TCP and Unix sockets at the time of the sample; left out with more than 1,000 "
            "TCP sockets",
        ),
        _counter("host_tcp_retransmits", "1", _SNMP, "TCP segments that the host retransmitted"),
        _counter(
            "host_tcp_needless_retransmits",
            "1",
            _NETSTAT,
            "TCP segments that the host retransmitted unnecessarily: the peer had received them (D-SACK, RFC 2883)",
        ),
        _counter(
            "host_tcp_timeouts",
            "1",
            _NETSTAT,
            "Timeouts after which the host retransmitted TCP segments; Linux waits at least 200 ms for each",
        ),
        _counter(
            "host_tcp_probe_recoveries",
            "1",
            _NETSTAT,
            "Lost TCP segments at the end of a message that a TCP loss probe recovered after up to 200 ms",
        ),
        _counter(
            "host_tcp_listen_overflows",
            "1",
            _NETSTAT,
            "Connections to the host refused because the accept queue was full",
        ),
        _counter(
            "host_tcp_listen_drops",
            "1",
            _NETSTAT,
            "Connections to the host dropped by listening sockets, for any reason",
        ),
        _counter("host_disk_read_bytes", "bytes", _BLOCK_STAT, "Bytes read from the disk"),
        _counter("host_disk_write_bytes", "bytes", _BLOCK_STAT, "Bytes written to the disk"),
        _counter("host_disk_read_operations", "1", _BLOCK_STAT, "Reads completed, after merging"),
        _counter("host_disk_write_operations", "1", _BLOCK_STAT, "Writes completed, after merging"),
        _counter(
            "host_disk_busy_seconds",
            "s",
            _BLOCK_STAT,
            "Time with at least one request in progress; for a striped disk, the mean over its devices",
        ),
        _counter("host_disk_queue_seconds", "s", _BLOCK_STAT, "Number of requests in progress, integrated over time"),
        _gauge("host_disk_size_bytes", "bytes", _STATVFS, "Space for data"),
        _gauge("host_disk_free_bytes", "bytes", _STATVFS, "Free space for ordinary users"),
        _gauge(
            "host_disk_inodes", "1", _STATVFS, "Number of files that the disk can hold; 0 if the number is not fixed"
        ),
        _gauge("host_disk_free_inodes", "1", _STATVFS, "Number of further files that the disk can hold"),
    ),
)
TABLES = (
    *(HOST, CPUS, DISKS, NETWORKS, GROUPS, BUSIEST, OWN_CGROUP, CGROUP, PIDS, PORTS, PROBE),
    *(CONNECTIONS_HERE, POSTGRESQL, SQLITE, VIRTUAL_HOST),
    *service_metrics.TABLES,
)
