"""Packages of Debian: which are missing, and their installation with nothing started, now or at the next boot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from towtank.errors import TargetError

_POLICY = Path("/usr/sbin/policy-rc.d")
_MARK = "# Made by an installation of Towtank, and removed at its end."
# Of invoke-rc.d(8): status 101 is an action that policy forbids.
_FORBID = f"#!/bin/sh\n{_MARK}\nexit 101\n"
# Its input ends when the last process of the installation has ended, however it ended.
_WATCH = 'while read -r _; do :; done; if grep -qsxF "$2" "$1"; then rm -f "$1"; fi'
_UNITS = Path("/etc/systemd/system")
_RUN_LEVELS = Path("/etc")
_INSTALL_WITHIN_S = 1800.0

Run = Callable[[list[str]], int]
"""Runs a command and returns its exit status."""


def missing(names: Iterable[str]) -> list[str]:
    """Return those packages that dpkg does not report as installed; all of them where there is no dpkg."""
    wanted = list(dict.fromkeys(names))
    if shutil.which("dpkg-query") is None:
        return wanted
    asked = ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *wanted]
    done = subprocess.run(asked, check=False, capture_output=True, text=True)
    installed = {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" installed")}
    return [name for name in wanted if name not in installed]


def install(names: list[str], run: Run) -> None:
    """Install packages with apt-get; nothing that they bring is started, now or at the next boot.

    Parameters
    ----------
    names : list of str
        Packages.
    run : callable
        Runs a command and returns its exit status.

    Raises
    ------
    TargetError
        If it cannot be done here, or fails.
    """
    if shutil.which("apt-get") is None:
        raise TargetError(f"there is no apt-get here; install what is called {', '.join(names)} in Debian")
    if os.geteuid() != 0:
        raise TargetError("only root can install packages", hint=f"sudo apt-get install {' '.join(names)}")
    with _nothing_started(), _nothing_enabled(run):
        fetch = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *names]
        for command in (["apt-get", "update", "-qq"], fetch):
            status = run(command)
            if status != 0:
                raise TargetError(f"`{' '.join(command)}` ended with status {status}")


def run_quietly(command: list[str]) -> int:
    """Run a command with its output on standard error; asks nothing."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),
        env=environment,
        timeout=_INSTALL_WITHIN_S,
        close_fds=False,  # only what was made inheritable: the mark by which the policy's watcher knows that it runs
    )
    return done.returncode


@contextmanager
def _nothing_started() -> Iterator[None]:
    """Forbid packages to start their services meanwhile; a policy that the machine has is left alone."""
    if _POLICY.exists() and not _is_ours():
        yield
        return
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    # In a session of its own: it removes the policy although the installation is killed, and not before apt-get ends.
    command = ["sh", "-c", _WATCH, "watch-policy", str(_POLICY), _MARK]
    watcher = subprocess.Popen(command, stdin=read_end, start_new_session=True)
    os.close(read_end)
    try:
        _POLICY.write_text(_FORBID)
        _POLICY.chmod(0o755)
        yield
    finally:
        with suppress(OSError):
            if _is_ours():
                _POLICY.unlink()
        os.close(write_end)
        watcher.kill()
        watcher.wait()


def _is_ours() -> bool:
    """Whether the policy is that of an installation of Towtank; its text may be in any encoding."""
    return _MARK.encode() in _POLICY.read_bytes().splitlines()


@contextmanager
def _nothing_enabled(run: Run) -> Iterator[None]:
    """Take back what packages enabled for the next boot, and leave alone what was enabled before."""
    before = _enabled()
    try:
        yield
    finally:
        for link in sorted(_enabled() - before):
            if link.is_relative_to(_UNITS):
                link.unlink(missing_ok=True)
            else:
                run(["update-rc.d", link.name[3:], "disable"])


def _enabled() -> set[Path]:
    """Links by which systemd and init start something at boot; for init those of the usual run level."""
    return {*_UNITS.glob("*.wants/*"), *_RUN_LEVELS.glob("rc2.d/S[0-9][0-9]*")}
