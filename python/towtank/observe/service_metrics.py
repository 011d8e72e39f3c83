"""Lists the metric series that Towtank reads from third-party servers, with unit, kind, source and cost."""

from __future__ import annotations

from towtank.observe.metric import Metric, Table, counter, gauge

_STATUS = "`server-status?auto`"
_HTTPD_BALANCER = "`server-status?auto`, `ProxyBalancer`"
_STUB = "`stub_status`"
_INFO = "`show info`"
_STAT = "`show stat`"
_REDIS = "`INFO all`"
_IO_STATS = "`.meta`, `io-stats`"
_CLIENT = "`.meta`, `io-stats` in front of the server"
_IO_CACHE = "`.meta`, `io-cache`"
_MD_CACHE = "`.meta`, `md-cache`"
_MONITOR = "`cn=Monitor`"
_JETTY = "the statistics page"
_GC_LOG = "the log of the garbage collector"
_GLOBAL_STATUS = "`SHOW GLOBAL STATUS`"
_STREAM = "`values` of the service's stream"


def _member_requests(source: str) -> Metric:
    return counter("balancer_member_requests", "1", source, "Requests forwarded to a member; label `member`")


HTTPD = Table(
    "Apache httpd",
    _STREAM,
    "one page over a persistent connection to a second port; it counts as one request and keeps one worker busy",
    (
        counter("httpd_requests", "1", _STATUS, "Requests, including those for the status page"),
        counter("httpd_sent_bytes", "bytes", _STATUS, "Bytes sent, in whole kilobytes"),
        counter("httpd_request_seconds", "s", _STATUS, "Total time of all requests"),
        gauge("httpd_workers_busy", "1", _STATUS, "Workers with a request, including the request for the status page"),
        gauge("httpd_workers_idle", "1", _STATUS, "Workers without a request"),
        gauge("httpd_workers_limit", "1", _STATUS, "Largest number of workers: `MaxRequestWorkers`"),
        gauge("httpd_processes", "1", _STATUS, "Processes"),
        gauge("httpd_connections", "1", _STATUS, "Connections"),
        gauge("httpd_connections_kept", "1", _STATUS, "Connections that wait for another request"),
        gauge("httpd_connections_writing", "1", _STATUS, "Connections that wait for the client to read"),
        gauge("httpd_connections_closing", "1", _STATUS, "Connections that are being closed"),
        _member_requests(_HTTPD_BALANCER),
        gauge("httpd_member_busy", "1", _HTTPD_BALANCER, "Requests in progress at a member"),
        gauge("httpd_member_ok", "1", _HTTPD_BALANCER, "1 if httpd considers the member to be working, otherwise 0"),
        counter("httpd_member_sent_bytes", "bytes", _HTTPD_BALANCER, "Bytes sent to a member, rounded"),
        counter("httpd_member_received_bytes", "bytes", _HTTPD_BALANCER, "Bytes received from a member, rounded"),
    ),
)
NGINX = Table(
    "nginx",
    _STREAM,
    "one page over a persistent connection to a second port, and two bytes of a log for each request",
    (
        gauge("nginx_connections", "1", _STUB, "Connections of clients"),
        counter("nginx_connections_accepted", "1", _STUB, "Connections accepted"),
        counter("nginx_connections_handled", "1", _STUB, "Connections that were not dropped because of a limit"),
        counter("nginx_requests", "1", _STUB, "Requests, including those for the status page"),
        gauge("nginx_connections_reading", "1", _STUB, "Connections whose request is being read"),
        gauge("nginx_connections_writing", "1", _STUB, "Connections whose response is being generated or sent"),
        gauge("nginx_connections_waiting", "1", _STUB, "Connections that wait for another request"),
        _member_requests("the log of members"),
        counter(
            "nginx_member_requests_unclear",
            "1",
            "the log of members",
            "Requests that went to several members, or to none",
        ),
    ),
)
HAPROXY = Table(
    "HAProxy",
    _STREAM,
    "two commands, each over a new connection to the command socket",
    (
        gauge("haproxy_connections", "1", _INFO, "Connections, including the one to the command socket"),
        gauge("haproxy_connections_limit", "1", _INFO, "Largest number of connections: `maxconn`"),
        counter("haproxy_connections", "1", _INFO, "Connections accepted"),
        counter("haproxy_requests", "1", _INFO, "Requests"),
        gauge(
            "haproxy_idle_ratio",
            "1",
            _INFO,
            "Share of time without work, for the thread that executes the command, in [0, 1]",
        ),
        gauge("haproxy_run_queue", "1", _INFO, "Tasks that wait for a thread"),
        gauge("haproxy_pool_used_bytes", "bytes", _INFO, "Memory in use"),
        gauge("haproxy_frontend_sessions", "1", _STAT, "Sessions with clients"),
        counter("haproxy_frontend_bad_requests", "1", _STAT, "Requests that were malformed"),
        counter("haproxy_answers", "1", _STAT, "Responses by class of status code; label `status`"),
        gauge("haproxy_queue", "1", _STAT, "Requests that wait for any member"),
        _member_requests(_STAT),
        gauge("haproxy_member_sessions", "1", _STAT, "Requests in progress at a member"),
        gauge("haproxy_member_queue", "1", _STAT, "Requests that wait for a member"),
        counter("haproxy_member_sent_bytes", "bytes", _STAT, "Bytes sent to a member"),
        counter("haproxy_member_received_bytes", "bytes", _STAT, "Bytes received from a member"),
        counter("haproxy_member_connect_errors", "1", _STAT, "Connections to a member that failed"),
        counter("haproxy_member_response_errors", "1", _STAT, "Responses of a member that were invalid or incomplete"),
        counter("haproxy_member_retries", "1", _STAT, "Connections to a member that were tried again"),
        counter("haproxy_member_redispatches", "1", _STAT, "Requests that were sent to another member instead"),
        counter("haproxy_member_connections_opened", "1", _STAT, "Connections opened to a member"),
        counter("haproxy_member_connections_reused", "1", _STAT, "Requests over an existing connection to a member"),
    ),
)
MARIADB = Table(
    "MariaDB",
    _STREAM,
    "one statement over a persistent connection for three dozen status variables, about a millisecond on the server; "
    "`Threads_connected`, `Questions` and `Connections` include the scraper",
    (
        gauge("mariadb_connections", "1", _GLOBAL_STATUS, "Connections: `Threads_connected`"),
        gauge("mariadb_threads_running", "1", _GLOBAL_STATUS, "Threads that are not idle: `Threads_running`"),
        counter("mariadb_connections", "1", _GLOBAL_STATUS, "Attempts to connect, successful or not: `Connections`"),
        counter("mariadb_connections_failed", "1", _GLOBAL_STATUS, "Failed attempts to connect: `Aborted_connects`"),
        counter("mariadb_statements", "1", _GLOBAL_STATUS, "Statements of clients: `Questions`"),
        counter("mariadb_preparations", "1", _GLOBAL_STATUS, "Statements prepared: `Com_stmt_prepare`"),
        counter("mariadb_executions", "1", _GLOBAL_STATUS, "Prepared statements executed: `Com_stmt_execute`"),
        counter("mariadb_begins", "1", _GLOBAL_STATUS, "Statements `BEGIN`: `Com_begin`"),
        counter(
            "mariadb_commits",
            "1",
            _GLOBAL_STATUS,
            "Statements `COMMIT`: `Com_commit`; autocommitted statements do not count",
        ),
        counter("mariadb_rollbacks", "1", _GLOBAL_STATUS, "Statements `ROLLBACK`: `Com_rollback`"),
        counter("mariadb_rows_read", "1", _GLOBAL_STATUS, "Rows read from tables: `Rows_read`"),
        counter("mariadb_rows_sent", "1", _GLOBAL_STATUS, "Rows sent to clients: `Rows_sent`"),
        counter("mariadb_rows_inserted", "1", _GLOBAL_STATUS, "Rows inserted: `Handler_write`"),
        counter("mariadb_rows_updated", "1", _GLOBAL_STATUS, "Rows updated: `Handler_update`"),
        counter("mariadb_rows_deleted", "1", _GLOBAL_STATUS, "Rows deleted: `Handler_delete`"),
        counter(
            "mariadb_full_scans", "1", _GLOBAL_STATUS, "Queries that read their first table completely: `Select_scan`"
        ),
        counter(
            "mariadb_temporary_tables_on_disk",
            "1",
            _GLOBAL_STATUS,
            "Temporary tables on disk: `Created_tmp_disk_tables`",
        ),
        counter("mariadb_temporary_files", "1", _GLOBAL_STATUS, "Temporary files: `Created_tmp_files`"),
        counter("mariadb_received_bytes", "bytes", _GLOBAL_STATUS, "Bytes received from clients: `Bytes_received`"),
        counter("mariadb_sent_bytes", "bytes", _GLOBAL_STATUS, "Bytes sent to clients: `Bytes_sent`"),
        counter(
            "mariadb_blocks_hit",
            "1",
            _GLOBAL_STATUS,
            "Pages found in the buffer pool: `Innodb_buffer_pool_read_requests` less `Innodb_buffer_pool_reads`",
        ),
        counter(
            "mariadb_blocks_read", "1", _GLOBAL_STATUS, "Pages not found in the buffer pool: `Innodb_buffer_pool_reads`"
        ),
        counter("mariadb_blocks_written", "1", _GLOBAL_STATUS, "Pages written: `Innodb_buffer_pool_pages_flushed`"),
        counter("mariadb_buffer_waits", "1", _GLOBAL_STATUS, "Waits for a free page: `Innodb_buffer_pool_wait_free`"),
        gauge(
            "mariadb_buffer_used_bytes",
            "bytes",
            _GLOBAL_STATUS,
            "Size of pages with data: `Innodb_buffer_pool_bytes_data`",
        ),
        gauge(
            "mariadb_buffer_dirty_bytes",
            "bytes",
            _GLOBAL_STATUS,
            "Size of modified pages: `Innodb_buffer_pool_bytes_dirty`",
        ),
        counter("mariadb_data_read_bytes", "bytes", _GLOBAL_STATUS, "Bytes read from files: `Innodb_data_read`"),
        counter("mariadb_data_written_bytes", "bytes", _GLOBAL_STATUS, "Bytes written to files: `Innodb_data_written`"),
        counter("mariadb_data_syncs", "1", _GLOBAL_STATUS, "Flushes of files to the disk: `Innodb_data_fsyncs`"),
        counter("mariadb_wal_bytes", "bytes", _GLOBAL_STATUS, "Bytes written to the redo log: `Innodb_os_log_written`"),
        counter(
            "mariadb_wal_buffers_full",
            "1",
            _GLOBAL_STATUS,
            "Waits because the buffer of the redo log was full: `Innodb_log_waits`",
        ),
        gauge(
            "mariadb_checkpoint_age_bytes",
            "bytes",
            _GLOBAL_STATUS,
            "Amount of redo log that a restart would have to read: `Innodb_checkpoint_age`",
        ),
        counter("mariadb_lock_waits", "1", _GLOBAL_STATUS, "Waits for a row lock: `Innodb_row_lock_waits`"),
        counter(
            "mariadb_lock_wait_seconds", "s", _GLOBAL_STATUS, "Time of waits for row locks: `Innodb_row_lock_time`"
        ),
        gauge(
            "mariadb_lock_waiting",
            "1",
            _GLOBAL_STATUS,
            "Transactions that wait for a row lock: `Innodb_row_lock_current_waits`",
        ),
        counter("mariadb_deadlocks", "1", _GLOBAL_STATUS, "Deadlocks: `Innodb_deadlocks`; not reported by MySQL"),
    ),
)
REDIS = Table(
    "Redis",
    _STREAM,
    "one command over a persistent connection; the thread that serves all commands executes it in much less than 1 ms",
    (
        gauge("redis_clients", "1", _REDIS, "Clients, including the scraper"),
        gauge("redis_clients_blocked", "1", _REDIS, "Clients in a blocking call"),
        gauge("redis_memory_used_bytes", "bytes", _REDIS, "Memory in use"),
        gauge("redis_memory_resident_bytes", "bytes", _REDIS, "Resident set"),
        gauge("redis_memory_limit_bytes", "bytes", _REDIS, "`maxmemory`; 0 means no limit"),
        gauge("redis_memory_fragmentation_ratio", "1", _REDIS, "Resident set divided by memory in use"),
        counter("redis_connections", "1", _REDIS, "Connections accepted"),
        counter("redis_connections_rejected", "1", _REDIS, "Connections refused because of `maxclients`"),
        counter("redis_commands", "1", _REDIS, "Commands"),
        counter("redis_received_bytes", "bytes", _REDIS, "Bytes received"),
        counter("redis_sent_bytes", "bytes", _REDIS, "Bytes sent"),
        counter("redis_expired_keys", "1", _REDIS, "Keys that expired"),
        counter("redis_evicted_keys", "1", _REDIS, "Keys evicted because of `maxmemory`"),
        counter("redis_hits", "1", _REDIS, "Look-ups that found a key"),
        counter("redis_misses", "1", _REDIS, "Look-ups that found no key"),
        counter("redis_cpu_user_seconds", "s", _REDIS, "User time"),
        counter("redis_cpu_system_seconds", "s", _REDIS, "System time"),
        gauge("redis_append_log_bytes", "bytes", _REDIS, "Size of the append-only file, if it exists"),
        counter("redis_append_syncs_delayed", "1", _REDIS, "Delayed syncs of the append-only file"),
        gauge("redis_keys", "1", _REDIS, "Keys; label `database`"),
        counter("redis_calls", "1", _REDIS, "Calls; label `command`"),
        counter("redis_call_seconds", "s", _REDIS, "CPU time of calls; label `command`"),
    ),
)
OPENLDAP = Table(
    "OpenLDAP",
    _STREAM,
    "one search of about 60 entries over a persistent connection; search and connection are counted as well",
    (
        counter("openldap_connections", "1", _MONITOR, "Connections accepted"),
        gauge("openldap_connections", "1", _MONITOR, "Connections"),
        counter("openldap_initiated", "1", _MONITOR, "Operations begun; label `operation`"),
        counter("openldap_completed", "1", _MONITOR, "Operations done; label `operation`"),
        counter("openldap_sent_bytes", "bytes", _MONITOR, "Bytes sent"),
        counter("openldap_sent_entries", "1", _MONITOR, "Entries sent"),
        gauge("openldap_waiters_read", "1", _MONITOR, "Connections that wait for a request"),
        gauge("openldap_waiters_write", "1", _MONITOR, "Connections that wait for the client to read"),
        gauge("openldap_threads_limit", "1", _MONITOR, "Largest number of threads"),
        gauge("openldap_threads_active", "1", _MONITOR, "Active threads, including the thread of the scraper's search"),
        gauge("openldap_threads_pending", "1", _MONITOR, "Operations that wait for a thread"),
        gauge("openldap_threads_backload", "1", _MONITOR, "Active and pending operations together"),
        gauge("openldap_pages_limit", "1", f"{_MONITOR}, mdb", "Largest number of pages of the database: `maxsize`"),
        gauge("openldap_pages_used", "1", f"{_MONITOR}, mdb", "Pages in use"),
        gauge("openldap_pages_free", "1", f"{_MONITOR}, mdb", "Free pages that can be reused"),
        gauge("openldap_entries", "1", f"{_MONITOR}, mdb", "Entries; only if the version reports them"),
    ),
)
GLUSTERFS = Table(
    "GlusterFS mounts",
    f"{_STREAM}, one stream for each host on which the file system is mounted",
    "a shell that reads all files outside of the host, about 1 ms of CPU time; the mount responds from its memory",
    (
        counter(
            "glusterfs_read_bytes", "bytes", _IO_STATS, "Bytes that users of the mount read, except from the page cache"
        ),
        counter("glusterfs_written_bytes", "bytes", _IO_STATS, "Bytes that users of the mount wrote"),
        counter("glusterfs_calls", "1", _IO_STATS, "Calls to the mount; label `call`"),
        counter("glusterfs_call_seconds", "s", _IO_STATS, "Total time of calls to the mount; label `call`"),
        counter("glusterfs_server_calls", "1", _CLIENT, "Calls to a server; labels `server`, `call`"),
        counter(
            "glusterfs_server_call_seconds", "s", _CLIENT, "Total time of calls to a server; labels `server`, `call`"
        ),
        gauge("glusterfs_cache_limit_bytes", "bytes", _IO_CACHE, "Limit of the cache of contents"),
        gauge(
            "glusterfs_cache_bytes",
            "bytes",
            _IO_CACHE,
            "Size of the cached contents as GlusterFS counts them; too large if files were dropped with their pages",
        ),
        gauge("glusterfs_cache_files", "1", _IO_CACHE, "Files whose contents or inodes are in the cache"),
        counter("glusterfs_attribute_hits", "1", _MD_CACHE, "Attributes that were found in the cache"),
        counter("glusterfs_attribute_misses", "1", _MD_CACHE, "Attributes that were not found in the cache"),
    ),
)
JETTY = Table(
    "Jetty",
    _STREAM,
    "one page over a persistent connection; it counts as a request",
    (
        counter("jetty_requests", "1", _JETTY, "Requests, including those for the statistics page"),
        gauge("jetty_requests_active", "1", _JETTY, "Requests in progress, including the one for the statistics page"),
        counter("jetty_request_seconds", "s", _JETTY, "Total time of all requests, each in whole milliseconds"),
        counter("jetty_answers", "1", _JETTY, "Responses; label `status`: `2xx`, `3xx`, `4xx`, `5xx`"),
        counter("jetty_connections", "1", _JETTY, "Connections opened"),
        gauge("jetty_connections", "1", _JETTY, "Connections that are open"),
        counter("jetty_received_bytes", "bytes", _JETTY, "Bytes received"),
        counter("jetty_sent_bytes", "bytes", _JETTY, "Bytes sent"),
        gauge("jvm_heap_used_bytes", "bytes", _JETTY, "Used part of the heap, including garbage"),
        gauge("jvm_non_heap_used_bytes", "bytes", _JETTY, "Memory used for classes and compiled code"),
    ),
)
JVM = Table(
    "Java virtual machines",
    f"{_STREAM} `NAME-jvm`",
    "reading of new lines; the JVM receives no requests, but writes about 20 lines to its log for each collection",
    (
        counter(
            "jvm_gc_pauses",
            "1",
            _GC_LOG,
            "Pauses; label `kind`: `young`, `full`, `remark`, `cleanup` (G1), `mark_start`, `mark_end`, "
            "`relocate_start` (Z)",
        ),
        counter("jvm_gc_pause_seconds", "s", _GC_LOG, "Time in pauses; label `kind`"),
        gauge("jvm_gc_longest_pause_seconds", "s", _GC_LOG, "Longest pause since the previous scrape"),
        counter(
            "jvm_gc_concurrent_seconds",
            "s",
            _GC_LOG,
            "Time in which the collector (G1, Z) worked while the program ran",
        ),
        counter("jvm_gc_stalls", "1", _GC_LOG, "Number of times that a thread waited for memory (Z)"),
        counter("jvm_gc_stall_seconds", "s", _GC_LOG, "Time in which threads waited for memory (Z)"),
        counter(
            "jvm_allocated_bytes",
            "bytes",
            _GC_LOG,
            "Memory allocated up to the last collection: for each collection, the size before it minus the size after "
            "the previous collection. The log contains whole MiB",
        ),
        gauge("jvm_heap_after_gc_bytes", "bytes", _GC_LOG, "Used part of the heap after the last collection"),
        gauge("jvm_heap_committed_bytes", "bytes", _GC_LOG, "Size of the heap"),
        gauge("jvm_heap_limit_bytes", "bytes", _GC_LOG, "Largest size of the heap"),
    ),
)
TABLES = (HTTPD, NGINX, HAPROXY, MARIADB, REDIS, OPENLDAP, GLUSTERFS, JETTY, JVM)
