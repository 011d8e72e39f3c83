"""The machine's wall clock is changed during the load. Measured times must stay correct, and the run must report the
change.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from integration_bench import Bench
from waiting import until

from towtank.results import lines

pytestmark = pytest.mark.waits

HOUR_S = 3600
# C source of a library that is loaded with LD_PRELOAD. It shifts the wall clock of a process as soon as a file exists.
SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void) {
    const char *file = getenv("CLOCK_IS_SET"), *by = getenv("CLOCK_IS_SET_BY");
    return file && by && access(file, F_OK) == 0 ? atol(by) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, now);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += shift();
    return status;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
"""


@pytest.fixture
def settable(bench: Bench, tmp_path: Path) -> Path:
    """Path of a file. Its creation shifts the wall clock of all programs that the test starts."""
    compiler = shutil.which("cc")
    assert compiler is not None, "no C compiler was found"
    (tmp_path / "shim.c").write_text(SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", "shim.so", "shim.c", "-ldl"], cwd=tmp_path, check=True)
    bench.environment |= {"LD_PRELOAD": str(tmp_path / "shim.so"), "CLOCK_IS_SET": str(tmp_path / "set")}
    return tmp_path / "set"


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_that_is_set_harms_no_time_and_is_told(bench: Bench, settable: Path, hours: int) -> None:
    bench.environment["CLOCK_IS_SET_BY"] = str(hours * HOUR_S)
    bench.study(users=[4], steady="12 s")
    process = bench.start_study()
    bench.await_stage("r001", "steady")
    until(lambda: '"k":"sample"' in (bench.results / "runs/r001/observe/probe.ndjson").read_text())
    settable.touch()
    _, errors = process.communicate(timeout=240)
    assert process.returncode in (0, 4), errors
    run = bench.results / "runs" / "r001"
    summary = json.loads((run / "summary.json").read_text())
    doubts = {reason["kind"]: reason for reason in summary["verdict"]["reasons"]}
    assert doubts["clock_jump"]["level"] == "note"
    assert doubts["clock_jump"]["seen"] == pytest.approx(HOUR_S, abs=60)
    assert "machine_suspended" not in doubts
    assert summary["accounting"]["holds"]
    # Recorded intervals use the monotonic clock, so they must have plausible lengths and be in order although the wall
    # clock jumps by an hour.
    intervals = [
        document for document in lines.read(run / "engine" / "worker-00.0000.ndjson") if document["k"] == "interval"
    ]
    assert all(0 < interval["t1_ns"] - interval["t0_ns"] < 60 * 10**9 for interval in intervals)
    assert [interval["t0_ns"] for interval in intervals] == sorted(interval["t0_ns"] for interval in intervals)
    assert 0 < summary["window"]["end_s"] - summary["window"]["start_s"] < 60
    assert 0 < summary["response_time_s"]["max"] < 60
