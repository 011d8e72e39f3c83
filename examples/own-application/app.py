"""Small web application for load tests: `python examples/own-application/app.py --port 8080`.

A parent process starts worker processes. The workers accept connections from a common listening socket, and serve each
connection in a thread. The application has the pages `/`, `/report` and `/metrics`. The option `--limit` chooses the
resource that limits the throughput of `/report`:

- none      a report waits 20 ms, and takes 1 ms of CPU time
- cpu-one   a report takes 10 ms of CPU time in the first worker, whichever worker has the connection
- cpu-all   a report takes 10 ms of CPU time in the worker that has the connection
- pool      a report is a PostgreSQL query of 30 ms; the workers divide a pool of 4 connections
- lock      a report holds a lock of all workers for 25 ms
- errors    a report is as with `none`, but above 100 reports per second, the answer is status 503 without a wait
"""

from __future__ import annotations

import argparse
import mmap
import os
import queue
import resource
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path

LIMITS = ("none", "cpu-one", "cpu-all", "pool", "lock", "errors")
# Fields in shared memory. Each worker has a row of fields, and the metrics page shows sums over all rows. The last two
# fields are the state of a token bucket that all workers share; they are used only in the first row.
FIELDS = (
    "pid", "connections", "front_200", "report_200", "report_500", "report_503", "metrics_200", "other_404",
    "lock_held_s", "lock_waiting", "pool_in_use", "pool_size", "pool_wait_s", "tokens", "tokens_at_s",
)  # fmt: skip
# Size of the token bucket: number of requests that are admitted at once after a pause. [1]
BURST = 10.0
# Largest size of the head of a request. [byte]
HEAD_BYTES = 65536
REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 500: "Server Error", 503: "Service Unavailable"}
Answer = tuple[int, str]


class DatabaseError(Exception):
    """Raised if the database refuses a connection or a query."""


class Connection:
    """Connection to PostgreSQL with protocol 3.0, without a password, for simple queries.

    Parameters
    ----------
    place : str
        `HOST:PORT`, or the folder of a Unix socket.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._socket: socket.socket | None = None
        self._received = b""

    def open(self) -> None:
        """Connect as user `shop` to the database `postgres`."""
        host, _, port = self._place.rpartition(":")
        if "/" in self._place or not host:
            self._socket = socket.socket(socket.AF_UNIX)
            found = sorted(Path(self._place).glob(".s.PGSQL.*[0-9]"))
            if not found:
                raise DatabaseError(f"no socket of PostgreSQL in {self._place}")
            self._socket.connect(str(found[0]))
        else:
            self._socket = socket.create_connection((host, int(port)), 10.0)
            self._socket.settimeout(None)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        settings = b"user\0shop\0database\0postgres\0application_name\0own-application\0\0"
        self._socket.sendall(struct.pack("!ii", len(settings) + 8, 196608) + settings)
        self._until_ready()

    def query(self, statement: str) -> None:
        """Run a statement and wait for its end, after connecting if necessary. After a failure, the connection is
        closed.
        """
        try:
            if self._socket is None:
                self.open()
            assert self._socket is not None
            text = statement.encode() + b"\0"
            self._socket.sendall(b"Q" + struct.pack("!i", len(text) + 4) + text)
            self._until_ready()
        except (OSError, DatabaseError):
            self.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _until_ready(self) -> None:
        fault = ""
        while True:
            kind, body = self._message()
            if kind == b"R" and body[:4] != bytes(4):
                raise DatabaseError("the database asks for a password")
            if kind == b"E":
                fields = {part[:1]: part[1:].decode("utf-8", "replace") for part in body.split(b"\0") if part}
                fault = fields.get(b"M", "error without a message")
                if fields.get(b"S") == "FATAL":
                    raise DatabaseError(fault)
            if kind == b"Z":
                break
        if fault:
            raise DatabaseError(fault)

    def _message(self) -> tuple[bytes, bytes]:
        head = self._exactly(5)
        return head[:1], self._exactly(struct.unpack("!i", head[1:])[0] - 4)

    def _exactly(self, count: int) -> bytes:
        assert self._socket is not None
        while len(self._received) < count:
            more = self._socket.recv(65536)
            if not more:
                raise DatabaseError("the database closed the connection")
            self._received += more
        found, self._received = self._received[:count], self._received[count:]
        return found


class Shared:
    """State that all workers share: listening socket, counters, locks, and the semaphores that order accepts."""

    def __init__(self, workers: int, listener: socket.socket) -> None:
        forking = get_context("fork")
        self.listener = listener
        self.first = FirstWorker(f"own-application-{os.getpid()}")
        # No process writes to this pipe. When the parent ends, the workers read end-of-file from the pipe and end, too.
        self.alive, self.parent = os.pipe()
        self.workers = workers
        self.values = memoryview(mmap.mmap(-1, 8 * workers * len(FIELDS))).cast("d")
        self.report_lock = forking.Lock()
        self.bucket_lock = forking.Lock()
        self.ready = forking.Semaphore(0)
        # The workers accept connections one after the other in a fixed order, so that all get the same number.
        self.turns = [forking.Semaphore(int(number == 0)) for number in range(workers)]

    def all_ready(self, waited: set[signal.Signals]) -> bool:
        """Wait until all workers are ready; return False if a signal in `waited` arrives first."""
        for _ in range(self.workers):
            while not self.ready.acquire(timeout=0.1):
                if signal.sigpending() & waited:
                    return False
        return True

    def total(self, field: str) -> float:
        """Return the sum of a field in `FIELDS` over all workers."""
        return sum(self.values[FIELDS.index(field) :: len(FIELDS)])

    def pids(self) -> list[int]:
        """Return the process ids of the workers."""
        return [int(pid) for pid in self.values[FIELDS.index("pid") :: len(FIELDS)] if pid]

    def take_token(self, rate: float) -> bool:
        """Take a token from the bucket, which gains `rate` tokens per second; return False if it is empty."""
        tokens, at = FIELDS.index("tokens"), FIELDS.index("tokens_at_s")
        with self.bucket_lock:
            now = time.monotonic()
            held = min(BURST, self.values[tokens] + (now - self.values[at]) * rate)
            self.values[tokens], self.values[at] = held - (held >= 1), now
        return held >= 1


class Counts:
    """Fields of a worker in shared memory."""

    def __init__(self, shared: Shared, worker: int) -> None:
        self._values, self._first = shared.values, worker * len(FIELDS)
        self._lock = threading.Lock()

    def add(self, field: str, value: float = 1.0) -> None:
        """Add a value to a field of this worker."""
        with self._lock:
            self._values[self._first + FIELDS.index(field)] += value

    @contextmanager
    def during(self, field: str) -> Iterator[None]:
        """Add 1 to a field until the end of the block."""
        self.add(field)
        try:
            yield
        finally:
            self.add(field, -1)


def use_cpu(seconds: float) -> None:
    """Use CPU time in this thread, the same time on slow and fast machines. [s]"""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(50))


class Pool:
    """Database connections that the threads of a worker share."""

    def __init__(self, place: str, size: int, counts: Counts) -> None:
        self._counts = counts
        self._free: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        for _ in range(size):
            connection = Connection(place)
            connection.open()
            self._free.put(connection)
        counts.add("pool_size", size)

    def query(self, statement: str) -> None:
        """Wait for a free connection, and run a statement."""
        begin = time.monotonic()
        connection = self._free.get()
        self._counts.add("pool_wait_s", time.monotonic() - begin)
        try:
            with self._counts.during("pool_in_use"):
                connection.query(statement)
        finally:
            self._free.put(connection)


class FirstWorker:
    """Access to the first worker, which executes work for all workers; each calling thread has its own connection to
    it.
    """

    def __init__(self, name: str) -> None:
        self._address = f"\0{name}"
        self._mine = threading.local()

    def serve(self, work: Callable[[], None]) -> None:
        """Start threads that execute `work` for other workers; only the first worker calls this method."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self._address)
        listener.listen(1024)
        threading.Thread(target=self._accept, args=(listener, work), daemon=True).start()

    def _accept(self, listener: socket.socket, work: Callable[[], None]) -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self._answer, args=(connection, work), daemon=True).start()

    def _answer(self, connection: socket.socket, work: Callable[[], None]) -> None:
        with connection, suppress(ConnectionError):
            while connection.recv(1):
                work()
                connection.sendall(b".")

    def ask(self) -> None:
        """Let the first worker execute `work`, and wait for the end."""
        if not hasattr(self._mine, "connection"):
            self._mine.connection = socket.socket(socket.AF_UNIX)
            self._mine.connection.connect(self._address)
        self._mine.connection.sendall(b".")
        if not self._mine.connection.recv(1):
            raise ConnectionError("the first worker ended")


class Worker:
    """Worker process, which answers the requests of each connection in a thread."""

    def __init__(self, number: int, options: argparse.Namespace, shared: Shared) -> None:
        self._number, self._options, self._shared = number, options, shared
        self._counts = Counts(shared, number)
        self._counts.add("pid", os.getpid())
        self._report = {
            "none": self._plain,
            "cpu-one": self._in_one_worker,
            "cpu-all": self._with_cpu,
            "pool": self._with_query,
            "lock": self._under_lock,
            "errors": self._with_refusals,
        }[options.limit]
        if options.limit == "pool":
            size = (options.pool_size + shared.workers - 1 - number) // shared.workers
            self._pool = Pool(options.database, size, self._counts)
        if options.limit == "cpu-one" and number == 0:
            shared.first.serve(self._use_cpu)

    def run(self) -> None:
        """Accept connections forever, alternating with the other workers."""
        self._shared.ready.release()
        mine, following = (self._shared.turns[(self._number + step) % self._shared.workers] for step in (0, 1))
        while True:
            mine.acquire()
            connection, _ = self._shared.listener.accept()
            following.release()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        received = b""
        with connection, self._counts.during("connections"), suppress(ConnectionError):
            while True:
                while b"\r\n\r\n" not in received:
                    more = connection.recv(16384)
                    if not more or len(received) > HEAD_BYTES:
                        return
                    received += more
                head, _, received = received.partition(b"\r\n\r\n")
                if not self._exchange(connection, head.decode("latin-1")):
                    return

    def _exchange(self, connection: socket.socket, head: str) -> bool:
        """Answer a request; return False if the connection must be closed after the answer."""
        first, *lines = head.split("\r\n")
        method, _, rest = first.partition(" ")
        path, _, version = rest.partition(" ")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        wish = headers.get("connection", "").lower()
        # The application reads no request bodies, so after a request with a body it must close the connection.
        has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        stays = not has_body and (wish == "keep-alive" if version == "HTTP/1.0" else wish != "close")
        status, text = self._answer(path.partition("?")[0]) if method in ("GET", "HEAD") else (405, "GET or HEAD\n")
        body = text.encode()
        kept = "keep-alive" if stays else "close"
        answer = (
            f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: {kept}\r\n\r\n"
        )
        connection.sendall(answer.encode() + (b"" if method == "HEAD" else body))
        return stays

    def _answer(self, path: str) -> Answer:
        if path == "/metrics":
            self._counts.add("metrics_200")
            return 200, page_of_metrics(self._shared)
        page = {"/": "front", "/report": "report"}.get(path, "other")
        status, text = (404, "no such page\n")
        if page == "front":
            status, text = 200, "the shop is open\n"
        elif page == "report":
            status, text = self._reported()
        self._counts.add(f"{page}_{status}")
        return status, text

    def _reported(self) -> Answer:
        try:
            return self._report()
        except (OSError, DatabaseError) as error:
            return 500, f"{error}\n"

    def _plain(self) -> Answer:
        time.sleep(self._options.wait_ms / 1000)
        use_cpu(self._options.small_cpu_ms / 1000)
        return 200, "all is sold\n"

    def _use_cpu(self) -> None:
        use_cpu(self._options.cpu_ms / 1000)

    def _with_cpu(self) -> Answer:
        self._use_cpu()
        return 200, "all is counted\n"

    def _in_one_worker(self) -> Answer:
        if self._number == 0:
            self._use_cpu()
        else:
            self._shared.first.ask()
        return 200, "all is counted\n"

    def _with_query(self) -> Answer:
        self._pool.query(f"SELECT pg_sleep({self._options.query_ms / 1000})")
        return 200, "all is looked up\n"

    def _under_lock(self) -> Answer:
        with self._counts.during("lock_waiting"):
            self._shared.report_lock.acquire()
        begin = time.monotonic()
        try:
            time.sleep(self._options.lock_ms / 1000)
        finally:
            self._counts.add("lock_held_s", time.monotonic() - begin)
            self._shared.report_lock.release()
        return 200, "all is written down\n"

    def _with_refusals(self) -> Answer:
        return self._plain() if self._shared.take_token(self._options.error_rate) else (503, "too many reports\n")


METRICS = (
    ("shop_connections", "gauge", "connections", "Open connections of clients."),
    ("shop_report_lock_held_seconds_total", "counter", "lock_held_s", "Total time for which reports held the lock."),
    ("shop_report_lock_waiting", "gauge", "lock_waiting", "Reports that wait for the lock."),
    ("shop_pool_size", "gauge", "pool_size", "Connections to the database."),
    ("shop_pool_connections_in_use", "gauge", "pool_in_use", "Connections to the database in use."),
    (
        "shop_pool_wait_seconds_total",
        "counter",
        "pool_wait_s",
        "Total time for which reports waited for a database connection.",
    ),
)
PROCESS_METRICS = (
    ("process_cpu_seconds_total", "counter", "CPU time of all processes."),
    ("process_resident_memory_bytes", "gauge", "Resident memory; shared pages count in each process."),
    ("process_virtual_memory_bytes", "gauge", "Virtual memory of all processes."),
    ("process_threads", "gauge", "Threads of all processes."),
    ("process_open_fds", "gauge", "Open files of all processes."),
)
REQUESTS = ("front_200", "report_200", "report_500", "report_503", "metrics_200", "other_404")


def page_of_metrics(shared: Shared) -> str:
    """Return the metrics page in the Prometheus text format; values are sums over parent and workers."""
    parent = os.getppid()
    processes = [usage_of(pid) for pid in (parent, *shared.pids())]
    sums = (sum(column) for column in zip(*processes, strict=True))
    lines = [line for about, value in zip(PROCESS_METRICS, sums, strict=True) for line in metric(*about, {"": value})]
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] * len(processes)
    lines += metric("process_max_fds", "gauge", "Limit of the open files of all processes.", {"": float(most)})
    began = started_at(parent)
    lines += metric("process_start_time_seconds", "gauge", "Start of the parent, in Unix time.", {"": began})
    pairs = (name.split("_") for name in REQUESTS)
    counts = {f'{{page="{page}",status="{status}"}}': shared.total(f"{page}_{status}") for page, status in pairs}
    lines += metric("shop_requests_total", "counter", "Requests answered.", counts)
    for name, kind, field, text in METRICS:
        lines += metric(name, kind, text, {"": shared.total(field)})
    return "\n".join(lines) + "\n"


def metric(name: str, kind: str, text: str, values: dict[str, float]) -> list[str]:
    """Return the lines of a metric; `values` maps a text of labels, which may be empty, to the value."""
    head = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    return head + [f"{name}{labels} {value!r}" for labels, value in values.items()]


def fields_of(pid: int) -> list[str]:
    """Return the fields of `/proc/PID/stat` from field 3 on; field N of proc(5) has index N - 3."""
    return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()


def usage_of(pid: int) -> tuple[float, float, float, float, float]:
    """Return CPU time in seconds, resident and virtual memory in bytes, threads and open files of a process."""
    fields = fields_of(pid)
    cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    resident = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return (
        cpu_s,
        float(resident),
        float(fields[20]),
        float(fields[17]),
        float(len(list(Path(f"/proc/{pid}/fd").iterdir()))),
    )


def started_at(pid: int) -> float:
    """Return the Unix time at which a process started."""
    uptime_s = float(Path("/proc/uptime").read_text("utf-8").split()[0])
    return round(time.time() - uptime_s + int(fields_of(pid)[19]) / os.sysconf("SC_CLK_TCK"), 2)


def main() -> int:
    """Start the workers; end all workers on SIGTERM or SIGINT, or if a worker ends. Return the exit status."""
    options = chosen()
    if options.limit == "pool":
        try:
            Connection(options.database).query("SELECT 1")
        except (OSError, DatabaseError) as error:
            print(f"{options.database}: {error}", file=sys.stderr)
            return 1
    try:
        listener = socket.create_server((options.host, options.port), backlog=1024)
    except OSError as error:
        print(f"port {options.port}: {error}", file=sys.stderr)
        return 1
    waited = {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    shared = Shared(options.workers, listener)
    workers = [start(number, options, shared) for number in range(options.workers)]
    if shared.all_ready(waited):
        print(f"listening on {options.host}:{listener.getsockname()[1]}", flush=True)
    why = signal.sigwait(waited)
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if why == signal.SIGCHLD:
        print("a worker process ended, so the application ends", file=sys.stderr)
    return int(why == signal.SIGCHLD)


def start(number: int, options: argparse.Namespace, shared: Shared) -> int:
    """Start a worker process, which ends when its parent ends; return its process id."""
    pid = os.fork()
    if pid:
        return pid
    os.close(shared.parent)
    threading.Thread(target=lambda: os._exit(len(os.read(shared.alive, 1))), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    try:
        Worker(number, options, shared).run()
    except BaseException:
        traceback.print_exc()
    os._exit(1)


def chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Serve a small web application, whose throughput a chosen resource limits."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 chooses a free port (0)")
    parser.add_argument("--workers", type=int, default=2, help="number of worker processes (2)")
    parser.add_argument(
        "--limit", choices=LIMITS, default="none", help="resource that limits the throughput of /report (none)"
    )
    parser.add_argument(
        "--database", help="PostgreSQL server for --limit pool: HOST:PORT, or the folder of its Unix socket"
    )
    parser.add_argument(
        "--pool-size", type=int, default=4, help="number of database connections of all workers together (4)"
    )
    numbers = {
        "--wait-ms": (20, "time that a report waits, with --limit none and errors [ms]"),
        "--small-cpu-ms": (1, "CPU time of a report, with --limit none and errors [ms]"),
        "--cpu-ms": (10, "CPU time of a report, with --limit cpu-one and cpu-all [ms]"),
        "--query-ms": (30, "time of a query, with --limit pool [ms]"),
        "--lock-ms": (25, "time that a report holds the lock, with --limit lock [ms]"),
        "--error-rate": (100, "rate of reports above which errors begin, with --limit errors [1/s]"),
    }
    for name, (value, text) in numbers.items():
        parser.add_argument(name, type=float, default=value, help=f"{text} ({value})")
    options = parser.parse_args()
    if options.limit == "pool" and not options.database:
        parser.error("--limit pool needs --database")
    if options.workers < 1 or options.pool_size < options.workers:
        parser.error("--workers must be at least 1, and --pool-size at least as many")
    return options


if __name__ == "__main__":
    sys.exit(main())
