"""Plants a fault in a copy of the code, and runs tests with this copy."""

from __future__ import annotations

import compileall
import importlib
import os
import py_compile
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from planting.places import Place

_ROOT = Path(__file__).resolve().parents[2]
# Modules that are imported before test processes are forked, so that the processes start faster. None of these modules
# imports the package under test.
_HEAVY = (
    "pytest",
    "numpy",
    "scipy.optimize",
    "scipy.stats",
    "scipy.special",
    "pydantic",
    "duckdb",
    "ruamel.yaml",
    "jinja2",
)
# A fault may cause an endless loop. It counts as noticed if the tests take longer than this multiple of their usual
# time [1], and longer than `_AT_LEAST_S`.
_TIMES_LONGER = 10.0
_AT_LEAST_S = 60.0
_POLL_S = 0.05


class Copy:
    """A copy of the package into which faults are planted, one at a time.

    Python checks compiled files by a hash of the source, not by its modification time, because a fault may be planted
    for less than a second.
    """

    def __init__(self, package: Path, folder: Path) -> None:
        self.package = folder / package.name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(package, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        mode = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(self.package, quiet=2, invalidation_mode=mode)
        for name in _HEAVY:
            importlib.import_module(name)

    def is_noticed(self, place: Place, tests: Sequence[str], seconds: float) -> bool:
        """Return True if a test fails with the fault planted, or if the tests take much longer than usual."""
        file = self.package / place.path
        text = file.read_text("utf-8")
        file.write_text(place.planted_in(text), "utf-8")
        try:
            return not self.pass_all(tests, seconds)
        finally:
            file.write_text(text, "utf-8")

    def pass_all(self, tests: Sequence[str], seconds: float) -> bool:
        """Return True if the given tests pass in a separate process, within a multiple of their usual time."""
        with tempfile.TemporaryFile() as output:
            process = os.fork()
            if process == 0:
                self._run(tests, output.fileno())
            status = _status_within(process, _AT_LEAST_S + _TIMES_LONGER * seconds)
            return status is not None and os.waitstatus_to_exitcode(status) == 0

    def _run(self, tests: Sequence[str], output: int) -> None:
        os.setsid()
        for stream in (1, 2):
            os.dup2(output, stream)
        os.chdir(_ROOT)
        os.environ["PYTHONPATH"] = f"{self.package.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        sys.path.insert(0, str(self.package.parent))
        sys.dont_write_bytecode = True
        status = 3
        with suppress(BaseException):
            pytest = sys.modules["pytest"]
            status = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--timeout=0", *tests]))
        os._exit(status)


def _status_within(process: int, seconds: float) -> int | None:
    """Return the wait status of a process; if it does not end in time, kill it with its children and return None."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return status
        time.sleep(_POLL_S)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None
