"""Pytest plugin that fails a test session if it leaves processes, mounts or temporary files behind.

Every process that a test starts inherits an environment variable with the name of the test. This attributes a leftover
process to its test, even if other sessions run on the machine.

Mounts, network devices and namespaces, control groups and temporary files have no such variable. Only objects with
names of Towtank count. An object that still exists at the end of the session is attributed to the test file after which
it was first seen. On a shared machine, the object may belong to another session, so it is only listed; in CI it fails
the session.
"""

from __future__ import annotations

import os
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from towtank.system.hosts import cgroups, cleaning
from towtank.system.hosts.prefix import PREFIX
from towtank.system.identity import identity

MARK = "TOWTANK_TEST"
_SESSION = "a fixture of the session: "
# Time limit for the removal of processes and files, which takes long on a busy machine. In CI the limit is longer,
# because a leftover fails the session. [s]
_WITHIN_S = float(os.environ.get("TOWTANK_LEFT_WITHIN_S") or (60.0 if os.environ.get("CI") else 10.0))
_POLL_S = 0.05
_SCRATCH = re.compile(r"towtank-system-(\d+)-(\d+)-")
_OURS = re.compile(r"(?:^| |/)towtank-")
# Helper processes of Python's `multiprocessing`, which end only with the process that started them.
_OF_PYTHON = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")


def running(owner: str) -> dict[str, str]:
    """Return the processes whose environment contains the mark of `owner`, each with the test that started it.

    A key consists of the process id and the command line.
    """
    found: dict[str, str] = {}
    wanted = f"{MARK}={owner} "
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            variables = (folder / "environ").read_bytes().decode("utf-8", "replace").split("\0")
            line = (folder / "cmdline").read_bytes().decode("utf-8", "replace").replace("\0", " ").strip()
            marks = [text.removeprefix(wanted) for text in variables if text.startswith(wanted)]
            if marks and line and folder.name != str(os.getpid()) and not any(name in line for name in _OF_PYTHON):
                found[f"process {folder.name} `{line}`"] = marks[0]
    return found


def things() -> set[str]:
    """Return a description of each mount, network device, network namespace, control group and temporary file that has
    a name of Towtank.
    """
    mounts = Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines()
    found = {f"mount {line.split()[4]}" for line in mounts}
    for kind, folder in (("network device", "/sys/class/net"), ("network namespace", "/run/netns")):
        found |= {f"{kind} {path.name}" for path in Path(folder).glob("*")}
    trees = cgroups.find_trees()
    for tree in {*trees.controllers.values(), *([trees.unified] if trees.unified else [])}:
        found |= {f"control group {path}" for path in tree.glob("towtank-*")}
    for place in {Path(tempfile.gettempdir()), cleaning.IMAGES}:
        found |= {f"temporary file {path}" for path in place.glob("towtank-*")}
    return {thing for thing in found if _OURS.search(thing)}


def is_in_use(thing: str) -> bool:
    """Return True if a mount, device or file belongs to a system whose process still runs on this machine."""
    if found := _SCRATCH.search(thing):
        return identity(int(found[1])) == (int(found[1]), int(found[2]))
    prefix = PREFIX.search(thing)
    return prefix is not None and cleaning.is_owned(prefix[0])


def until_nothing(look: Callable[[], Any], within_s: float = _WITHIN_S) -> Any:
    """Call `look` until its result is empty or the time limit is reached; return the last result."""
    deadline = time.monotonic() + within_s
    while (found := look()) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return found


class Watch:
    """Records the processes and files that tests in one pytest process leave behind."""

    def __init__(self) -> None:
        self.owner = secrets.token_hex(4)
        self.left: list[str] = []
        self.seen_after: dict[str, str] = {}
        self._seen = things()

    def mark(self, test: str) -> None:
        """Set the environment variable with the name of a test, which all processes started from now on inherit."""
        os.environ[MARK] = f"{self.owner} {test}"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Mark the processes that a test starts. At the end of each test file, search for leftover objects."""
        self.mark(item.nodeid)
        result = yield
        if nextitem is None or nextitem.path != item.path:
            self.end_of_file(str(item.path.relative_to(item.config.rootpath)))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Mark the processes that fixtures of session or package scope start."""
        before = os.environ.get(MARK, "")
        if fixturedef.scope in ("session", "package"):
            self.mark(f"{_SESSION}{fixturedef.argname}")
        try:
            return (yield)
        finally:
            os.environ[MARK] = before

    def end_of_file(self, name: str) -> None:
        """Record the mounts, devices and files that appeared during a test file and still exist at its end. `name` is
        the test file.
        """
        now = things()
        self.seen_after |= dict.fromkeys(now - self._seen, name)
        self._seen |= now

    def end_of_session(self) -> None:
        """Record the processes that still run at the end of the session."""
        os.environ.pop(MARK, None)
        self.left = [f"{key} of {test}" for key, test in until_nothing(lambda: running(self.owner)).items()]


class Verdict:
    """Collects the reports of all pytest-xdist workers, and fails the session if a leftover was reported."""

    def __init__(self, watch: Watch | None, alone: bool) -> None:
        self.watch, self.alone = watch, alone
        self.left: list[str] = []
        self.perhaps: list[str] = []
        self.seen_after: dict[str, list[str]] = {}

    def add(self, left: list[str], seen_after: dict[str, str]) -> None:
        self.left += left
        for thing, name in seen_after.items():
            self.seen_after.setdefault(thing, []).append(name)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Add the report that a pytest-xdist worker sends at its end; a crashed worker sends none."""
        output = getattr(node, "workeroutput", {})
        self.add(output.get("left", []), output.get("seen_after", {}))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Search again after all fixtures and workers have ended."""
        if self.watch is not None:
            self.watch.end_of_session()
            self.add(self.watch.left, self.watch.seen_after)

        def still() -> list[str]:
            present = things()
            return sorted(thing for thing in self.seen_after if thing in present and not is_in_use(thing))

        found = [f"{thing}, first seen after {' or '.join(self.seen_after[thing])}" for thing in until_nothing(still)]
        for line in found:
            (self.left if self.alone else self.perhaps).append(line)
        if self.left and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the leftovers with the names of the tests."""
        for title, lines in (("left behind by tests", self.left), ("new since the start of the tests", self.perhaps)):
            if lines:
                terminalreporter.section(title)
            for line in lines:
                terminalreporter.line(line)


class Worker:
    """Sends the report of a pytest-xdist worker to the controller process."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Search for leftovers, and store the report for the controller."""
        self.watch.end_of_session()
        output: dict[str, Any] = session.config.workeroutput  # type: ignore[attr-defined]
        output["left"], output["seen_after"] = self.watch.left, self.watch.seen_after


def pytest_configure(config: pytest.Config) -> None:
    """Install a watch in each process that runs tests, and collect the reports in the controller process."""
    alone = bool(os.environ.get("CI"))
    watch = Watch()
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(watch)
        config.pluginmanager.register(Worker(watch))
        return
    has_workers = bool(getattr(config.option, "numprocesses", None) or getattr(config.option, "tx", None))
    if not has_workers:
        config.pluginmanager.register(watch)
    config.pluginmanager.register(Verdict(None if has_workers else watch, alone))
