"""Programs that count their own resource use. Each program works, prints its counts as a JSON line, and waits.

Call: python self_counting.py CASE [FOLDER [later]]. With `later`, the work starts when the file FOLDER/go exists.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable

# CPU time that each program uses. [s] The kernel reports user and system time of a process in whole clock ticks, so for
# two processes up to 40 ms of CPU time may be missing.
BUSY_S = 2.4
MIB = 1 << 20


def used_s() -> float:
    """Return the CPU time of this process and of the child processes that have been waited for. [s]"""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def burn(seconds: float) -> None:
    """Use the given amount of CPU time. [s]"""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def wait() -> None:
    """Wait until a signal ends the process. If standard input is a pipe, exit when the pipe is closed."""
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        os.read(0, 1)
        os._exit(0)
    signal.pause()


def say(**counts: float) -> None:
    """Print the counts as JSON, then wait until the process is ended."""
    print(json.dumps(counts), flush=True)
    wait()


def duty_cycle(_: str) -> None:
    """Alternate between 5 ms of work and 5 ms of sleep, in one process."""
    while used_s() < BUSY_S:
        burn(0.005)
        time.sleep(0.005)
    switches = resource.getrusage(resource.RUSAGE_SELF)
    say(cpu_s=used_s(), voluntary=switches.ru_nvcsw)


def threads(_: str) -> None:
    """Use CPU time in eight concurrent threads."""
    block = bytes(8 * MIB)

    def work() -> None:
        for _ in range(48):
            hashlib.sha256(block).digest()

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    say(cpu_s=used_s())


def children(_: str) -> None:
    """Start child processes that each use 20 ms of CPU time, and wait for them."""
    for _ in range(round(BUSY_S / 0.020)):
        child = os.fork()
        if not child:
            burn(0.020)
            os._exit(0)
        os.waitpid(child, 0)
    say(cpu_s=used_s())


def _reported(work: Callable[[int], None]) -> float:
    """Start a process that does the work; return the CPU time that it, or its descendant, reports through a pipe.
    [s]
    """
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        work(theirs)
        os._exit(0)
    os.close(theirs)
    os.waitpid(child, 0)
    with os.fdopen(ours) as answer:
        return float(answer.readline())


def grandchildren(_: str) -> None:
    """Start grandchildren that each use 60 ms of CPU time after their parent has ended.

    The count omits the CPU time of each process's exit (half a millisecond).
    """

    def work(answer: int) -> None:
        if os.fork():
            os._exit(0)
        burn(0.060)
        os.write(answer, f"{used_s()}\n".encode())

    orphans = sum(_reported(work) for _ in range(round(BUSY_S / 0.060)))
    say(cpu_s=used_s() + orphans)


def detached(_: str) -> None:
    """Start a worker that detaches immediately (fork, setsid, fork), and waits after its work."""

    def work(answer: int) -> None:
        os.setsid()
        if os.fork():
            os._exit(0)
        burn(BUSY_S)
        os.write(answer, f"{used_s()}\n".encode())
        wait()

    say(cpu_s=_reported(work) + used_s())


def detached_program(_: str) -> None:
    """Start a worker that detaches and then executes another program."""

    def work(answer: int) -> None:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.set_inheritable(answer, True)
        os.execv(sys.executable, [sys.executable, __file__, "report", str(answer)])

    say(cpu_s=_reported(work) + used_s())


def report(answer: str) -> None:
    """Use CPU time, and write the amount to the file descriptor `answer`. A detached worker executes this function."""
    burn(BUSY_S)
    os.write(int(answer), f"{used_s()}\n".encode())
    wait()


def sleeps(_: str) -> None:
    for _ in range(400):
        time.sleep(0.005)
    say(voluntary=resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw)


def sleeping_threads(_: str) -> None:
    """Sleep repeatedly in four threads, for 10 ms each time."""

    asleep = threading.Barrier(5)

    def work() -> None:
        for _ in range(150):
            time.sleep(0.010)
        # The threads stay alive, because the kernel drops the context switches of a thread that has ended.
        asleep.wait()
        threading.Event().wait()

    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    asleep.wait()
    # After this time the counts no longer change: all threads are in their final wait, even on a busy machine.
    time.sleep(2.0)
    say(voluntary=resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw)


def buffered_writes(folder: str) -> None:
    """Write 64 MiB through the page cache, with fsync after each 4 MiB.

    The writes are small, because the page cache holds a large write in large folios, and the kernel counts a folio
    twice if it is written back during the write.
    """
    with open(os.path.join(folder, "buffered"), "wb", buffering=0) as file:  # noqa: PTH118, PTH123
        for _ in range(16):
            for _ in range(64):
                file.write(bytes(MIB // 16))
            os.fsync(file.fileno())
    say(written=64 * MIB)


def direct_writes(folder: str) -> None:
    """Write 64 MiB without the page cache (O_DIRECT)."""
    block = mmap.mmap(-1, MIB)
    file = os.open(os.path.join(folder, "direct"), os.O_WRONLY | os.O_CREAT | os.O_DIRECT)  # noqa: PTH118
    for _ in range(64):
        os.write(file, block)
    say(written=64 * MIB)


def shared_memory(_: str) -> None:
    """Hold 150 MiB of private memory and 50 MiB of shared memory, which three forked children read."""
    _memory(private=150 * MIB, shared=50 * MIB, processes=3)


def many_sessions(_: str) -> None:
    """Share 384 MiB among 40 processes, like the sessions of a database.

    The expected value omits the stack and the page tables of each process. They take 30 to 80 KiB, less than 1 % of the
    shared memory.
    """
    _memory(private=0, shared=384 * MIB, processes=40)


_MEMORY = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char *fresh(size_t size, int kind) {
    if (!size) return NULL;
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) exit(1);
    memset(at, 1, size);
    return at;
}

static void rest(void) {
    struct stat about;
    char byte;
    if (!fstat(0, &about) && S_ISFIFO(about.st_mode)) exit(read(0, &byte, 1) < 0);
    pause();
}

static void touch(const volatile char *at, size_t size) {
    for (size_t place = 0; place < size; place += 4096) (void)at[place];
}

int main(int count, char **arguments) {
    size_t private_bytes = strtoull(arguments[1], NULL, 10), shared_bytes = strtoull(arguments[2], NULL, 10);
    char *own = fresh(private_bytes, MAP_PRIVATE), *shared = fresh(shared_bytes, MAP_SHARED);
    int ready[2];
    char dot = '.';
    if (pipe(ready)) return 1;
    int processes = atoi(arguments[3]);
    for (int number = 0; number < processes; number++)
        if (!fork()) {
            touch(own, private_bytes);
            touch(shared, shared_bytes);
            if (write(ready[1], &dot, 1) != 1) return 1;
            rest();
        }
    for (int number = 0; number < processes; number++)
        if (read(ready[0], &dot, 1) != 1) return 1;
    printf("{\"memory\": %zu, \"processes\": %d}\n", private_bytes + shared_bytes, processes + 1);
    fflush(stdout);
    rest();
}
"""


def _memory(private: int, shared: int, processes: int) -> None:
    """Execute a small C program that holds memory. A Python program would also hold the interpreter's memory, whose
    size is unknown.
    """
    folder = sys.argv[2]
    source, program = os.path.join(folder, "memory.c"), os.path.join(folder, "memory")  # noqa: PTH118
    with open(source, "w", encoding="ascii") as file:  # noqa: PTH123
        file.write(_MEMORY)
    subprocess.run(["cc", "-O1", "-o", program, source], check=True)
    os.execv(program, [program, str(private), str(shared), str(processes)])


def await_go(folder: str) -> None:
    while not os.path.exists(os.path.join(folder, "go")):  # noqa: PTH110, PTH118
        time.sleep(0.02)


if __name__ == "__main__":
    if sys.argv[3:] == ["later"]:
        await_go(sys.argv[2])
    globals()[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else "")
