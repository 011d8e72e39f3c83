"""Pytest plugin that records the time of each test, and the lines of the package that the test executes.

Each pytest process writes a file into the data folder, with the times of the passed tests, and each test's executed
lines by source file. Lines that are executed outside of tests, such as on import, are stored under an empty test name.
The environment variables `PLANT_PACKAGE` and `PLANT_DATA` contain the paths of the package and of the data folder.
Processes that a test starts are not recorded.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import coverage
import pytest

PACKAGE = Path(os.environ["PLANT_PACKAGE"])
DATA = Path(os.environ["PLANT_DATA"])


class Recorder:
    """Records the tests of one pytest process."""

    def __init__(self) -> None:
        self.coverage = coverage.Coverage(data_file=None, include=[f"{PACKAGE}/*"], config_file=False)
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.outcome != "passed":
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        by_test: dict[str, dict[str, list[int]]] = defaultdict(dict)
        data = self.coverage.get_data()
        for name in data.measured_files():
            for line, contexts in data.contexts_by_lineno(name).items():
                for context in contexts:
                    by_test[context].setdefault(str(Path(name).relative_to(PACKAGE)), []).append(line)
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        kept = {"": 0.0} | {test: seconds for test, seconds in self.seconds.items() if test not in self.failed}
        found = {test: {"seconds": seconds, "lines": by_test.get(test, {})} for test, seconds in kept.items()}
        DATA.mkdir(parents=True, exist_ok=True)
        (DATA / f"{worker}-{os.getpid()}.json").write_text(json.dumps(found))


def pytest_configure(config: pytest.Config) -> None:
    """Start recording before the tests are collected.

    If pytest distributes tests to worker processes, the main process runs no test and records nothing.
    """
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", 0):
        recorder = Recorder()
        recorder.coverage.start()
        config.pluginmanager.register(recorder)
