"""Unpacks Debian packages of stated versions without installing them, so that a study can compare releases of a server.

Only the files of the package itself are unpacked. Its libraries are those that are installed on this machine.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from towtank.errors import TargetError
from towtank.system.downloads import cache_folder

# Names and versions of packages (Debian Policy, sections 5.6.1 and 5.6.12).
_RELEASE = re.compile(r"[a-z0-9][a-z0-9+.-]+=[0-9][A-Za-z0-9.+:~-]*")
# apt-get run by root would change to a user who has no access to the cache.
_AS_THIS_USER = ("-o", "APT::Sandbox::User=root")
_FOLDERS = ("usr/sbin", "usr/bin", "usr/local/sbin", "usr/local/bin")


def release_name(text: str) -> str:
    """Check that a text is the name and the version of a Debian package, as `NAME=VERSION`.

    Raises
    ------
    ValueError
        If the text has another form.
    """
    if not _RELEASE.fullmatch(text):
        raise ValueError(f"must be NAME=VERSION of a Debian package, as haproxy=2.6.12-1, got {text!r} instead")
    return text


@dataclass(frozen=True)
class Release:
    """Debian package of a stated version, unpacked in the cache.

    Attributes
    ----------
    package : str
        Name and version, as `NAME=VERSION`.
    program : str
        Name of the program in the package.
    """

    package: str
    program: str

    @property
    def folder(self) -> Path:
        """Folder of the unpacked files.

        Its path contains no `=`, because `env` would take a program with such a path for a variable.
        """
        return cache_folder() / "releases" / quote(self.package.replace("=", "_"), safe="+~")

    @property
    def kind(self) -> str:
        """Name of this need in messages and JSON documents."""
        return self.package

    @property
    def purpose(self) -> str:
        """Purpose of the package."""
        return f"this release of {self.program}"

    @property
    def install(self) -> str:
        """Text that names the command that unpacks the package."""
        return "towtank doctor SYSTEM --install unpacks it"

    def found(self) -> str | None:
        """Return the path of the program; None if the package is not unpacked or lacks the program."""
        paths = (self.folder / place / self.program for place in _FOLDERS)
        return next((str(path) for path in paths if path.is_file()), None)

    def fetch(self, run: Callable[[list[str]], int]) -> None:
        """Download the package with apt-get, and unpack it.

        Raises
        ------
        TargetError
            If apt-get is missing or does not know this version, or if the package lacks the program.
        """
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise TargetError(f"{self.package} cannot be unpacked: apt-get and dpkg-deb are not available")
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder.parent) as name:
            status = run(["env", f"--chdir={name}", "apt-get", *_AS_THIS_USER, "download", "-qq", self.package])
            archive = next(Path(name).glob("*.deb"), None)
            if status != 0 or archive is None:
                package = self.package.partition("=")[0]
                raise TargetError(
                    f"apt-get cannot download {self.package}",
                    hint=f"`apt-cache policy {package}` lists the versions that this machine can download",
                )
            unpacked = Path(name) / "unpacked"
            if (status := run(["dpkg-deb", "-x", str(archive), str(unpacked)])) != 0:
                raise TargetError(f"dpkg-deb cannot unpack {self.package}: it ended with status {status}")
            shutil.rmtree(self.folder, ignore_errors=True)
            unpacked.chmod(0o755)
            unpacked.rename(self.folder)
        if self.found() is None:
            raise TargetError(f"the package {self.package} has no program {self.program}")
