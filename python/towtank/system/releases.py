"""Unpacks Debian packages of stated versions without installing them, so that a study can compare releases of a server.

If the package lacks the program, the packages of the same version that it depends on are unpacked, too: `redis-server`
is a link into `redis-tools`, and the program of `apache2` is in `apache2-bin`. Libraries are those that are installed
on this machine.
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
# Dependency on a single version of a package (Debian Policy, section 7.1).
_EXACTLY = re.compile(r"([a-z0-9][a-z0-9+.-]+)(?::[a-z0-9-]+)? \(= ([^ )]+)\)")
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
        return self._program_in(self.folder)

    def _program_in(self, folder: Path) -> str | None:
        paths = (folder / place / self.program for place in _FOLDERS)
        return next((str(path) for path in paths if path.is_file()), None)

    def fetch(self, run: Callable[[list[str]], int]) -> None:
        """Download the package with apt-get, and unpack it. If it lacks the program, do the same with the packages of
        the same version that it depends on.

        Raises
        ------
        TargetError
            If apt-get is missing or does not know this version, or if the packages lack the program.
        """
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise TargetError(f"{self.package} cannot be unpacked: apt-get and dpkg-deb are not available")
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder.parent) as name:
            unpacked = Path(name) / "unpacked"
            packages = [self.package]
            for package in packages:  # The list grows while it is read.
                archive = _download(package, Path(name), run)
                _unpack(package, ["-x", str(archive), str(unpacked)], run)
                if self._program_in(unpacked) is not None:
                    break
                controls = archive.with_suffix(".control")
                _unpack(package, ["-e", str(archive), str(controls)], run)
                packages += [each for each in _of_same_version(package, controls) if each not in packages]
            shutil.rmtree(self.folder, ignore_errors=True)
            unpacked.chmod(0o755)
            unpacked.rename(self.folder)
        if self.found() is None:
            raise TargetError(
                f"the package {self.package} has no program {self.program}, nor has a package of the same version that "
                "it depends on",
                hint=f"name the package that contains {self.program}, as haproxy, nginx, redis-server or apache2",
            )


def _download(package: str, folder: Path, run: Callable[[list[str]], int]) -> Path:
    """Download a package, and return its file."""
    name = package.partition("=")[0]
    place = folder / name
    place.mkdir()
    status = run(["env", f"--chdir={place}", "apt-get", *_AS_THIS_USER, "download", "-qq", package])
    archive = next(place.glob("*.deb"), None)
    if status != 0 or archive is None:
        hint = f"`apt-cache policy {name}` lists the versions that this machine can download"
        raise TargetError(f"apt-get cannot download {package}", hint=hint)
    return archive


def _unpack(package: str, arguments: list[str], run: Callable[[list[str]], int]) -> None:
    if (status := run(["dpkg-deb", *arguments])) != 0:
        raise TargetError(f"dpkg-deb cannot unpack {package}: it ended with status {status}")


def _of_same_version(package: str, controls: Path) -> list[str]:
    """Return the packages of the same version that a package depends on, from the folder of its control files."""
    version = package.partition("=")[2]
    lines = (controls / "control").read_text("utf-8", "replace").splitlines()
    depends = next((line.partition(":")[2] for line in lines if line.startswith("Depends:")), "")
    found = (_EXACTLY.fullmatch(part.strip()) for part in depends.split(","))
    return [f"{each[1]}={version}" for each in found if each is not None and each[2] == version]
