"""Finds missing Debian packages, and installs packages without starting or enabling their services."""

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
# Policy script that forbids to start services: exit status 101 means "action forbidden by policy" (invoke-rc.d(8)).
_FORBID = f"#!/bin/sh\n{_MARK}\nexit 101\n"
# Shell script that removes the policy file when its standard input closes. This happens when the last process of the
# installation ends, even if it is killed. An empty file is removed as well, because an installation that was killed
# while writing the policy leaves such a file.
_WATCH = 'while read -r _; do :; done; if [ ! -s "$1" ] || grep -qsxF "$2" "$1"; then rm -f "$1"; fi'
_UNITS = Path("/etc/systemd/system")
_RUN_LEVELS = Path("/etc")
_INSTALL_WITHIN_S = 1800.0

Run = Callable[[list[str]], int]
"""Type of a function that runs a command and returns its exit status."""


def missing(names: Iterable[str]) -> list[str]:
    """Return the packages that are not installed according to dpkg; all packages if dpkg does not exist."""
    packages = list(dict.fromkeys(names))
    if shutil.which("dpkg-query") is None:
        return packages
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *packages]
    done = subprocess.run(query, check=False, capture_output=True, text=True)
    installed = {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" installed")}
    return [name for name in packages if name not in installed]


def install(names: list[str], run: Run) -> None:
    """Install packages with apt-get, without starting their services or enabling them at boot. `run` runs a command and
    returns its exit status.

    Raises
    ------
    TargetError
        If apt-get does not exist, the current user is not root, or the installation fails.
    """
    if shutil.which("apt-get") is None:
        raise TargetError(f"apt-get is not available; install the equivalents of Debian's {', '.join(names)}")
    if os.geteuid() != 0:
        raise TargetError("only root can install packages", hint=f"sudo apt-get install {' '.join(names)}")
    with _nothing_started(), _nothing_enabled(run):
        fetch = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *names]
        for command in (["apt-get", "update", "-qq"], fetch):
            status = run(command)
            if status != 0:
                raise TargetError(f"`{' '.join(command)}` ended with status {status}")


def run_quietly(command: list[str]) -> int:
    """Run a command without prompts and with its output on standard error; return its exit status.

    Raises
    ------
    TargetError
        If the command takes longer than half an hour. The command is then terminated, but not killed, because a
        killed dpkg leaves packages half installed.
    """
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),
        env=environment,
        # apt-get inherits the pipe that `_nothing_started` creates, and keeps it open until the installation ends.
        close_fds=False,
    )
    try:
        return process.wait(_INSTALL_WITHIN_S)
    except subprocess.TimeoutExpired as error:
        process.terminate()
        process.wait()
        took = f"`{' '.join(command)}` took longer than {_INSTALL_WITHIN_S:g} s and was terminated"
        raise TargetError(took, hint="`dpkg --configure -a` completes the interrupted installation") from error


@contextmanager
def _nothing_started() -> Iterator[None]:
    """Prevent packages from starting their services during the block, by a temporary policy file.

    Nothing is done if another program has written a policy file.
    """
    if _POLICY.exists() and not _is_ours():
        yield
        return
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    # The watcher removes the policy when the pipe closes, that is, when apt-get ends. Because of its separate session,
    # it survives if the installation is killed.
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
    """Return True if an installation by Towtank wrote the policy file or left it empty."""
    written = _POLICY.read_bytes()
    return not written or _MARK.encode() in written.splitlines()


@contextmanager
def _nothing_enabled(run: Run) -> Iterator[None]:
    """Disable the services that the block enables at boot; services that were enabled before stay enabled."""
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
    """Return the links that start services at boot, for systemd and for init at its usual run level."""
    return {*_UNITS.glob("*.wants/*"), *_RUN_LEVELS.glob("rc2.d/S[0-9][0-9]*")}
