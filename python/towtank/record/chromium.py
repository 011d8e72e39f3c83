"""Runs a headless Chromium in a separate folder, controlled through a pair of pipes.

No other process can control a browser over pipes. Chromium exits when this process closes its end of the pipes, or is
killed. The shell that started Chromium then removes the folder.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from towtank.errors import TargetError

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Time limit for the browser to exit before it is killed. [s]
_LEAVES_WITHIN_S = 5.0
# Largest length of the path of the temporary folder. Chromium appends about 50 characters for a socket, and a socket
# path has at most 107. [character]
_TEMPORARY_AT_MOST = 30
# Number of bytes that are read from the end of the browser's standard error. [byte]
_WORDS = 4096
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-breakpad",
    "--metrics-recording-only",
    "--allow-browser-signin=false",
    "--disable-client-side-phishing-detection",
    "--password-store=basic",
    "--window-size=1280,1024",
    "--disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication,NetworkTimeServiceQuerying",
)
# Settings that disable features which send queries to Google: suggestions, checks for leaked passwords and dangerous
# sites, and sign-in to a Google account.
_PREFERENCES = {
    "credentials_enable_service": False,
    "profile": {"password_manager_enabled": False, "password_manager_leak_detection": False},
    "safebrowsing": {"enabled": False},
    "search": {"suggest_enabled": False},
    "signin": {"allowed": False},
}
# Hosts that Chromium contacts on its own. Requests to them are not part of a user's session.
_OWN_SERVICES = re.compile(
    r"(?:accounts|clients\d*|update|optimizationguide-pa|passwordsleakcheck-pa|safebrowsing|safebrowsingohttpgateway"
    r"|content-autofill|android|mtalk|edgedl\.me|redirector|www)\.(?:google\.com|googleapis\.com|gvt1\.com)"
)
# Shell script that runs the browser, and removes the temporary folder when the browser has ended for any reason. Its
# arguments are the folder, the browser, and the arguments of the browser.
_SHELL = 'folder=$1; shift; "$@"; rm -rf -- "$folder"'


def find_chromium() -> str:
    """Return the path of the installed browser.

    Raises
    ------
    TargetError
        If no browser is installed; the hint gives the command that installs one.
    """
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        hint = "apt-get install chromium"
        raise TargetError("recording a browser session needs Chromium, and none is installed", hint=hint)
    return found


def asks_by_itself(host: str) -> bool:
    """Return True if Chromium contacts a host on its own, without a request of the user.

    Examples
    --------
    >>> asks_by_itself("update.googleapis.com"), asks_by_itself("fonts.googleapis.com")
    (True, False)
    """
    return _OWN_SERVICES.fullmatch(host.lower()) is not None


@dataclass
class Chromium:
    """Running browser, which exits at the end of the `with` block.

    `reads` and `writes` are file descriptors of the browser's output and input; `errors` is that of standard error, a
    file in memory, which remains readable after the folder is removed.
    """

    pid: int
    folder: Path
    reads: int
    writes: int
    errors: int

    @classmethod
    def start(cls, proxy: str, pin: str, *, sandbox: bool = True) -> Self:
        """Start a browser behind a proxy.

        Parameters
        ----------
        proxy : str
            Address of the proxy, such as `127.0.0.1:8899`. All requests go through the proxy, including requests to
            loopback.
        pin : str
            SHA-256 hash in base64 of a public key. The browser trusts all certificates with this key.
        sandbox : bool, default True
            True to isolate pages from this user. This is impossible as root and in many containers.

        Raises
        ------
        TargetError
            If no browser is installed, or if the user is root and `sandbox` is set.
        """
        if sandbox and os.geteuid() == 0:
            hint = "record as another user, or with --no-sandbox if you trust the pages and all that they load"
            raise TargetError(
                "Chromium cannot isolate pages in a sandbox as root: a malicious page could get the rights of root",
                hint=hint,
            )
        browser = find_chromium()
        long = len(tempfile.gettempdir()) > _TEMPORARY_AT_MOST
        folder = Path(tempfile.mkdtemp(prefix="towtank-chromium-", dir="/tmp" if long else None))
        (folder / "Default").mkdir()
        (folder / "Default" / "Preferences").write_text(json.dumps(_PREFERENCES), encoding="utf-8")
        flags = [
            *_FLAGS,
            f"--user-data-dir={folder}",
            f"--proxy-server=http://{proxy}",
            "--proxy-bypass-list=<-loopback>",
            f"--ignore-certificate-errors-spki-list={pin}",
            *([] if sandbox else ["--no-sandbox"]),
        ]
        command = ["/bin/sh", "-c", _SHELL, "sh", str(folder), browser, *flags, "about:blank"]
        hears, says = _high_pipe(), _high_pipe()
        errors = os.memfd_create("stderr", os.MFD_CLOEXEC)
        try:
            pid = _spawn(command, (errors, hears[0], says[1]), folder)
        finally:
            os.close(hears[0])
            os.close(says[1])
        return cls(pid, folder, says[0], hears[1], errors)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def last_words(self) -> str:
        """Return the last line that the browser wrote to standard error; an empty text if it wrote nothing."""
        size = os.fstat(self.errors).st_size
        lines = os.pread(self.errors, _WORDS, max(0, size - _WORDS)).decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else ""

    def stop(self) -> None:
        """Close the pipes to the browser, and wait until all processes of the browser have exited."""
        for descriptor in (self.writes, self.reads, self.errors):
            with suppress(OSError):
                os.close(descriptor)
        deadline = time.monotonic() + _LEAVES_WITHIN_S
        while not self._gone() and time.monotonic() < deadline:
            time.sleep(0.02)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _gone(self) -> bool:
        # Until the process is reaped, no other process can get its id, so a signal cannot reach a wrong process.
        with suppress(ChildProcessError):
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return True


def _high_pipe() -> tuple[int, int]:
    """Return a pipe whose file descriptors are above the numbers that the browser uses."""
    ends = os.pipe()
    try:
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    finally:
        for end in ends:
            os.close(end)
    return high[0], high[1]


def _spawn(command: list[str], descriptors: tuple[int, int, int], folder: Path) -> int:
    """Start a command in a new session. In the new process, the given file descriptors have the numbers 2, 3 and 4."""
    homes = dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), str(folder))
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        *((os.POSIX_SPAWN_DUP2, descriptor, number) for number, descriptor in enumerate(descriptors, start=2)),
    ]
    return os.posix_spawn(command[0], command, {**os.environ, **homes}, file_actions=actions, setsid=True)
