"""Downloads files of server programs that are not in Debian, and verifies their checksums.

Each file is identified by its coordinates in a Maven repository and by its SHA-256. A file with another checksum is
refused, whichever server sends it. Files are stored in the user's cache folder. An interrupted download continues where
it stopped.
"""

from __future__ import annotations

import os
import pwd
import urllib.error
import urllib.request
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from towtank.errors import TargetError
from towtank.files import sha256_of
from towtank.system.process import Note, no_note

ADDRESS_VARIABLE = "TOWTANK_MAVEN_REPOSITORY"
# Jar files of Maven, in Debian and other distributions, with the super POM, which names Maven's default repository.
_MAVEN_JARS = ("/usr/share/java/maven3-model-builder.jar", "/usr/share/maven/lib/maven-model-builder.jar")
_SUPER_POM = "org/apache/maven/model/pom-4.0.0.xml"
# Values of the element `mirrorOf` in Maven's settings for a mirror of the default repository.
_MIRRORED = {"*", "central", "external:*"}
_TIMEOUT_S = 30.0
_CHUNK_BYTES = 1 << 20
_PARTIAL, _NOTHING_MORE = 206, 416


@dataclass(frozen=True)
class Artefact:
    """File of a Maven repository, with its coordinates, its SHA-256 checksum as 64 hexadecimal digits, and its size.
    [byte]
    """

    group: str
    name: str
    version: str
    extension: str
    sha256: str
    size: int

    @property
    def file_name(self) -> str:
        """Name of the file in the repository and in the cache."""
        return f"{self.name}-{self.version}.{self.extension}"

    @property
    def path(self) -> str:
        """Path of the file below the address of a repository."""
        return f"{self.group.replace('.', '/')}/{self.name}/{self.version}/{self.file_name}"

    @property
    def title(self) -> str:
        """Name of the file in the report's table of settings."""
        return f"{self.group}:{self.name}"

    @property
    def facts(self) -> str:
        """Version and checksum of the file in the report's table of settings."""
        return f"{self.version}, SHA-256 {self.sha256}"


def cache_folder() -> Path:
    """Return the cache folder: `towtank` below `$XDG_CACHE_HOME`, or below `~/.cache` (XDG base directories).

    Because Towtank runs programs from this folder, it must not belong to another user. Under `sudo`, for example, `~`
    may be the home of the caller; the home of this user in the user database is then used instead.
    """
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification requires programs to ignore a relative path in `$XDG_CACHE_HOME`.
    base = Path(named) if named.startswith("/") else Path.home() / ".cache"
    if _is_of_another_user(base):
        with suppress(KeyError):
            base = Path(pwd.getpwuid(os.geteuid()).pw_dir) / ".cache"
    return base / "towtank"


def _is_of_another_user(folder: Path) -> bool:
    """Return True if a folder, or its nearest existing parent, belongs neither to root nor to the current user."""
    try:
        return folder.stat().st_uid not in (0, os.geteuid())
    except OSError:
        return folder != folder.parent and _is_of_another_user(folder.parent)


def place_of(artefact: Artefact) -> Path:
    """Return the path of a file in the cache, which contains the beginning of the file's checksum."""
    return cache_folder() / "downloads" / artefact.sha256[:16] / artefact.file_name


def is_here(artefact: Artefact) -> bool:
    """Return True if a file is in the cache.

    Only the size is compared, because `fetch` verified the checksum when it stored the file.
    """
    with suppress(OSError):
        return place_of(artefact).stat().st_size == artefact.size
    return False


def repository_address() -> str:
    """Return the address of the Maven repository for downloads.

    The address is that in `$TOWTANK_MAVEN_REPOSITORY`, or else that of a mirror in Maven's settings, or else Maven's
    default.

    Raises
    ------
    TargetError
        If no address is known, or it is neither http nor https.
    """
    settings = Path.home() / ".m2" / "settings.xml"
    address = os.environ.get(ADDRESS_VARIABLE) or mirror_of_settings(settings) or default_of_maven()
    if address is None:
        hint = f"set {ADDRESS_VARIABLE} to the address of a Maven repository, or apt-get install libmaven3-core-java"
        raise TargetError("no Maven repository is known from which files can be downloaded", hint=hint)
    if not address.startswith(("http://", "https://")):
        raise TargetError(f"{ADDRESS_VARIABLE} must be an address such as https://host/path, got {address!r} instead")
    return address.rstrip("/")


def is_known() -> bool:
    try:
        return bool(repository_address())
    except TargetError:
        return False


def mirror_of_settings(settings: Path) -> str | None:
    """Return the address of a mirror of the default repository in Maven's `settings.xml`; None if the file names none,
    does not exist, or is not XML.
    """
    try:
        root = ElementTree.parse(settings).getroot()
    except (OSError, ElementTree.ParseError):
        return None
    for mirror in root.findall("./{*}mirrors/{*}mirror"):
        patterns = {part.strip() for part in (mirror.findtext("{*}mirrorOf") or "").split(",")}
        url = (mirror.findtext("{*}url") or "").strip()
        if patterns & _MIRRORED and "!central" not in patterns and url:
            return url
    return None


def default_of_maven() -> str | None:
    """Return the address of the default repository in Maven's super POM; None if Maven is not installed."""
    for jar in _MAVEN_JARS:
        with suppress(OSError, BadZipFile, KeyError, ElementTree.ParseError), ZipFile(jar) as archive:
            root = ElementTree.fromstring(archive.read(_SUPER_POM))
            if url := (root.findtext("./{*}repositories/{*}repository/{*}url") or "").strip():
                return url
    return None


def fetch(artefacts: Iterable[Artefact], note: Note = no_note) -> None:
    """Download the files that are not in the cache yet.

    Raises
    ------
    TargetError
        If a file cannot be downloaded, or has another checksum.
    """
    for artefact in artefacts:
        if not is_here(artefact):
            note(f"fetching {artefact.file_name} ({artefact.size / 1e6:.0f} MB)")
            _fetch(artefact, repository_address())


def _fetch(artefact: Artefact, address: str) -> None:
    target = place_of(artefact)
    part = target.with_name(f"{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _receive(f"{address}/{artefact.path}", part, artefact.size)
        if (size := part.stat().st_size) < artefact.size:
            raise OSError(f"it ended after {size} of {artefact.size} bytes")
        found = sha256_of(part)
    except (OSError, HTTPException) as error:
        hint = f"try again with a network, or with another address in {ADDRESS_VARIABLE}; the received part is kept"
        raise TargetError(f"{artefact.file_name} cannot be fetched from {address}: {_why(error)}", hint=hint) from error
    if found != artefact.sha256:
        part.unlink(missing_ok=True)
        raise TargetError(
            f"{artefact.file_name} from {address} must have the SHA-256 {artefact.sha256}, got {found} instead; "
            "the file was discarded"
        )
    part.replace(target)


def _why(error: OSError | HTTPException) -> str:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
    return f"status {error.code} ({reason})" if isinstance(error, urllib.error.HTTPError) else str(reason)


def _receive(url: str, part: Path, size: int) -> None:
    """Download the rest of a file; download the whole file if the server does not support ranges."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        answer: HTTPResponse = urllib.request.urlopen(request, timeout=_TIMEOUT_S)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == _NOTHING_MORE:  # The file is complete; the caller verifies its checksum.
                return
        raise
    with answer, part.open("ab" if answer.status == _PARTIAL else "wb") as file:
        _copy(answer, file, size - have if answer.status == _PARTIAL else size)


def _copy(answer: HTTPResponse, file: IO[bytes], room: int) -> None:
    """Write the response to a file, up to `room` bytes; a longer response would fill the disk."""
    while room > 0 and (chunk := answer.read(min(_CHUNK_BYTES, room))):
        file.write(chunk)
        room -= len(chunk)
