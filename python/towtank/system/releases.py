"""Unpacks Debian packages of given versions without installing them, so that a study can compare versions of a server.

If a package does not contain the program, packages of the same version on which it depends are unpacked as well. For
example, `redis-server` is a link to a file of `redis-tools`, and the program of `apache2` is in `apache2-bin`. The
libraries are those that are installed on this machine.
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

# Name and version of a package (Debian Policy, sections 5.6.1 and 5.6.12).
_RELEASE = re.compile(r"[a-z0-9][a-z0-9+.-]+=[0-9][A-Za-z0-9.+:~-]*")
# Dependency on exactly one version of a package (Debian Policy, section 7.1).
_EXACTLY = re.compile(r"([a-z0-9][a-z0-9+.-]+)(?::[a-z0-9-]+)? \(= ([^ )]+)\)")
# If run by root, apt-get would otherwise change to a user who has no access to the cache.
_AS_THIS_USER = ("-o", "APT::Sandbox::User=root")
_FOLDERS = ("usr/sbin", "usr/bin", "usr/local/sbin", "usr/local/bin")


def release_name(text: str) -> str:
    """Check that a text has the form `NAME=VERSION` of a Debian package.

    Raises
    ------
    ValueError
        If it has another form.
    """
    if not _RELEASE.fullmatch(text):
        raise ValueError(f"must be NAME=VERSION of a Debian package, as haproxy=2.6.12-1, got {text!r} instead")
    return text


@dataclass(frozen=True)
class Release:
    """Debian package `NAME=VERSION`, to be unpacked in the cache, with the name of the program in it."""

    package: str
    program: str

    @property
    def folder(self) -> Path:
        """Folder of the unpacked files. Its path contains no `=`, which `env` would take for a variable."""
        return cache_folder() / "releases" / quote(self.package.replace("=", "_"), safe="+~")

    @property
    def kind(self) -> str:
        """Name of the package in messages and JSON documents."""
        return self.package

    @property
    def purpose(self) -> str:
        """Feature that needs the package."""
        return f"this release of {self.program}"

    @property
    def install(self) -> str:
        """Description of the command that unpacks the package."""
        return "towtank doctor SYSTEM --install unpacks it"

    def found(self) -> str | None:
        """Return the path of the program; None if the package is not unpacked, or does not contain the program."""
        return self._program_in(self.folder)

    def _program_in(self, folder: Path) -> str | None:
        paths = (folder / place / self.program for place in _FOLDERS)
        return next((str(path) for path in paths if path.is_file()), None)

    def fetch(self, run: Callable[[list[str]], int]) -> None:
        """Download the package with apt-get, and unpack it.

        If it does not contain the program, do the same with packages of the same version on which it depends.

        Raises
        ------
        TargetError
            If apt-get or dpkg-deb is missing, apt-get does not know this version, or no package contains the program.
        """
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise TargetError(f"{self.package} cannot be unpacked: apt-get and dpkg-deb are not available")
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder.parent) as name:
            unpacked = Path(name) / "unpacked"
            packages = [self.package]
            for package in packages:  # The loop appends to the list that it reads.
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
    """Return the packages of the same version on which a package depends, as stated in its control files."""
    version = package.partition("=")[2]
    lines = (controls / "control").read_text("utf-8", "replace").splitlines()
    depends = next((line.partition(":")[2] for line in lines if line.startswith("Depends:")), "")
    found = (_EXACTLY.fullmatch(part.strip()) for part in depends.split(","))
    return [f"{each[1]}={version}" for each in found if each is not None and each[2] == version]
