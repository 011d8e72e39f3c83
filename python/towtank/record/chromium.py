"""A headless Chromium in its own folder, driven over a pair of pipes.

Over pipes no other process can drive it, and it exits by itself when our end is closed, also after this process was
killed. The shell around it then removes its folder.
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
# Time limit of its exit before it is killed. [s]
_LEAVES_WITHIN_S = 5.0
# It makes a socket some 50 characters below its temporary folder; the kernel limits such paths to 107. [character]
_TEMPORARY_AT_MOST = 30
# Part of its standard error that is read. [byte]
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
# Features that query its maker: leaked passwords, dangerous sites, the user's account.
_PREFERENCES = {
    "credentials_enable_service": False,
    "profile": {"password_manager_enabled": False, "password_manager_leak_detection": False},
    "safebrowsing": {"enabled": False},
    "search": {"suggest_enabled": False},
    "signin": {"allowed": False},
}
# Hosts that Chromium contacts by itself, whatever the page is: they are not part of a user's session.
_OWN_SERVICES = re.compile(
    r"(?:accounts|clients\d*|update|optimizationguide-pa|passwordsleakcheck-pa|safebrowsing|safebrowsingohttpgateway"
    r"|content-autofill|android|mtalk|edgedl\.me|redirector|www)\.(?:google\.com|googleapis\.com|gvt1\.com)"
)
# Arguments: the folder, then the browser with its arguments. Whatever ends the browser, its folder is removed.
_SHELL = 'folder=$1; shift; "$@"; rm -rf -- "$folder"'


def find_chromium() -> str:
    """Return the path of the browser.

    Raises
    ------
    TargetError
        If none is installed; with the command that installs it.
    """
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        hint = "apt-get install chromium"
        raise TargetError("recording a browser session needs Chromium, and none is installed", hint=hint)
    return found


def asks_by_itself(host: str) -> bool:
    """Return True if Chromium contacts a host for its own purposes.

    Examples
    --------
    >>> asks_by_itself("update.googleapis.com"), asks_by_itself("fonts.googleapis.com")
    (True, False)
    """
    return _OWN_SERVICES.fullmatch(host.lower()) is not None


@dataclass
class Chromium:
    """A running browser; exits at the end of `with`.

    Attributes
    ----------
    reads, writes : int
        File descriptors: its output, its input.
    errors : int
        File descriptor of a file in memory with its standard error: its folder goes when it does.
    """

    pid: int
    folder: Path
    reads: int
    writes: int
    errors: int

    @classmethod
    def start(cls, proxy: str, pin: str, *, sandbox: bool = True) -> Self:
        """Start it behind a proxy.

        Parameters
        ----------
        proxy : str
            `127.0.0.1:8899`, for example; all requests go through it, also those to loopback.
        pin : str
            SHA-256 of the key whose certificates are trusted, in base64.
        sandbox : bool, default True
            Whether pages are kept apart from this user; as root, and in many containers, they cannot be.

        Raises
        ------
        TargetError
            If none is installed, or root wants a sandbox.
        """
        if sandbox and os.geteuid() == 0:
            hint = "record as another user, or with --no-sandbox if you trust the pages and all that they load"
            raise TargetError("Chromium has no sandbox as root: a page that breaks out of it would be root", hint=hint)
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
        """Return the end of its standard error."""
        size = os.fstat(self.errors).st_size
        lines = os.pread(self.errors, _WORDS, max(0, size - _WORDS)).decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else ""

    def stop(self) -> None:
        """Close the pipes, and wait until none of its processes is left."""
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
        # Polled without reaping: until it is reaped, no other process can have its id.
        with suppress(ChildProcessError):
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return True


def _high_pipe() -> tuple[int, int]:
    """Return a pipe whose ends differ from the descriptors that the browser will use."""
    ends = os.pipe()
    try:
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    finally:
        for end in ends:
            os.close(end)
    return high[0], high[1]


def _spawn(command: list[str], descriptors: tuple[int, int, int], folder: Path) -> int:
    """Start a command in its own session, with descriptors as its 2, 3 and 4."""
    homes = dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), str(folder))
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        *((os.POSIX_SPAWN_DUP2, descriptor, number) for number, descriptor in enumerate(descriptors, start=2)),
    ]
    return os.posix_spawn(command[0], command, {**os.environ, **homes}, file_actions=actions, setsid=True)
