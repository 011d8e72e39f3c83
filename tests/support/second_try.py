"""Pytest plugin: with `--second-try`, a failed test with the mark `waits` runs again, alone, after all other tests.

Tests with this mark use servers, networks and real time, so other programs on the machine can disturb them. A test that
fails first and then passes alone is *disturbed*: it does not fail the session, and the summary lists both outcomes. A
session fails if more than 1 % of its tests are disturbed; one disturbed test is always allowed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# Largest allowed fraction of disturbed tests in a session. [1]
_SHARE = 0.01
_GROUP = re.compile(r"@[^@\]]*$")
_ALONE_WITHIN_S = 900


def run_alone(test: str, folder: Path) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", test]
    try:
        return subprocess.run(command, cwd=folder, check=False, timeout=_ALONE_WITHIN_S).returncode == 0
    except subprocess.TimeoutExpired:
        return False


class SecondTry:
    """Collects the reports of failed tests, and runs these tests again at the end of the session.

    Attributes
    ----------
    failed : dict
        Reports of failed tests marked `waits`, by test.
    others : int
        Number of failed reports of all other tests, and of test files that could not be collected.
    finished : int
        Number of tests that ran.
    """

    def __init__(self, folder: Path, alone: Callable[[str, Path], bool] = run_alone) -> None:
        self.folder, self._alone = folder, alone
        self.failed: dict[str, list[pytest.TestReport]] = {}
        self.others = 0
        self.finished = 0
        self.outcomes: dict[str, bool] = {}

    @property
    def most(self) -> int:
        return max(1, int(self.finished * _SHARE))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.finished += report.when == "call"
        if not report.failed:
            return
        if "waits" in report.keywords:
            self.failed.setdefault(_GROUP.sub("", report.nodeid), []).append(report)
        else:
            self.others += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.others += report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Run the failed tests again, unless too many tests failed or a test without the mark `waits` failed."""
        if not self.failed or self.others or len(self.failed) > self.most:
            return
        self.outcomes = {test: self._alone(test, self.folder) for test in self.failed}
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        passed = [report for test, reports in self.failed.items() if self.outcomes[test] for report in reports]
        for kind in ("failed", "error"):
            kept = [report for report in reporter.stats.pop(kind, []) if report not in passed]
            reporter.stats.update({kind: kept} if kept else {})
        reporter.stats["disturbed"] = passed
        if all(self.outcomes.values()) and session.exitstatus == pytest.ExitCode.TESTS_FAILED:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print both outcomes of each test that ran twice."""
        if self.failed:
            terminalreporter.section("failed at the first try")
        for test in self.failed:
            again = {True: "passed alone: disturbed", False: "failed alone", None: "not run again"}
            terminalreporter.line(f"{test}: {again[self.outcomes.get(test)]}")
        if self.failed and not self.outcomes:
            reason = "a test without the mark `waits` failed" if self.others else f"more than {self.most} failed"
            terminalreporter.line(f"no test ran a second time: {reason}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--second-try", action="store_true", help="run each failed test with the mark `waits` again, alone"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin in the controller process of pytest-xdist, not in its workers."""
    if config.getoption("--second-try") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SecondTry(config.rootpath))
