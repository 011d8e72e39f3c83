"""Pytest plugin that prints the number of skipped tests, the reasons, and the command that installs the missing
packages.

In CI, a skipped test is a failure, because all packages are installed. The mark
`@pytest.mark.applies(parameter=predicate)` restricts a test to the parameter values for which the predicate is true.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

_INSTALL = re.compile(r"apt-get install ((?:-\S+ )*)([a-z0-9][a-z0-9.+-]*)")
_ROOT = re.compile(r"\broot\b")


def cause(reason: str) -> str:
    """Return the missing requirement of a skipped test: a package or `root`. If the reason names no requirement, return
    the reason.
    """
    if found := _INSTALL.search(reason):
        return found[2]
    return "root" if _ROOT.search(reason) else reason.removeprefix("Skipped: ")


def line(reasons: Iterable[str]) -> str | None:
    """Return the line about skipped tests at the end of a run, or None if no test was skipped.

    Examples
    --------
    >>> line(["needs Chromium: apt-get install chromium", "needs Chromium: apt-get install chromium"])
    '2 tests were skipped. Missing requirements: chromium (2). To run them: sudo make test-packages'
    """
    texts = list(reasons)
    if not texts:
        return None
    causes = Counter(cause(text) for text in texts)
    wanted = ", ".join(f"{name} ({count})" for name, count in causes.most_common())
    count = "1 test was" if len(texts) == 1 else f"{len(texts)} tests were"
    commands = ["sudo make test-packages"] if any(_INSTALL.search(text) for text in texts) else []
    commands += ["make test-all as root"] if "root" in causes else []
    ways = f". To run them: {'; '.join(commands)}" if commands else ""
    return f"{count} skipped. Missing requirements: {wanted}{ways}"


class LeftOut:
    """Collects the reasons of skipped tests, and prints the number of tests for each reason."""

    def __init__(self, in_ci: bool) -> None:
        self.in_ci = in_ci
        self.reasons: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store the reason of a skipped test, unless the test is marked as an expected failure."""
        if report.skipped and not hasattr(report, "wasxfail"):
            self.reasons.append(_reason(report))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Store the reason why an entire test file was skipped."""
        if report.skipped:
            self.reasons.append(_reason(report))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.in_ci and self.reasons and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Print the line about skipped tests after all other output."""
        if text := line(self.reasons):
            print(f"error: {text}. In CI, no test may be skipped" if self.in_ci else text)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark `applies`, and collect reports in the controller process of pytest-xdist."""
    config.addinivalue_line(
        "markers", "applies(parameter=predicate): collect the test only for values that satisfy the predicate"
    )
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(LeftOut(in_ci=bool(os.environ.get("CI"))))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Remove the tests whose mark `applies` excludes the value of their parameter."""
    items[:] = [item for item in items if _applies(item)]


def _applies(item: pytest.Item) -> bool:
    predicates: dict[str, Callable[[Any], bool]] = {}
    for mark in item.iter_markers("applies"):
        predicates |= mark.kwargs
    if not predicates:
        return True
    values: dict[str, Any] = item.callspec.params  # type: ignore[attr-defined]
    return all(true(values[name]) for name, true in predicates.items())
