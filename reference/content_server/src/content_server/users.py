"""Verifies logins by a file of password hashes, or by an LDAP directory.

Verified logins are cached, so that HTTP Basic authentication, which repeats the login in every request, is fast.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from pathlib import Path
from typing import Any

from content_server.errors import NotAuthenticated, StartError, Storage
from content_server.repository import User

ROLES = ("reader", "editor", "administrator")
# Cost parameter N of a password hash (RFC 7914). The hashes of generated accounts have a lower cost.
SCRYPT_N = 2**14
_SCRYPT_R, _SCRYPT_P = 8, 1
# Largest number of cached logins; if it is reached, the cache is cleared.
_MAX_REMEMBERED = 100_000


def hash_password(password: str, salt: bytes | None = None, n: int = SCRYPT_N) -> str:
    """Hash a password; return `scrypt$n$salt$key`, with salt and key in hexadecimal."""
    salt = os.urandom(16) if salt is None else salt
    key = hashlib.scrypt(password.encode(), salt=salt, n=n, r=_SCRYPT_R, p=_SCRYPT_P, maxmem=256 << 20, dklen=32)
    return f"scrypt${n}${salt.hex()}${key.hex()}"


def verify_password(password: str, stored: str) -> bool:
    """Return True if a password matches a hash from `hash_password`."""
    _, n, salt, _ = stored.split("$")
    return hmac.compare_digest(hash_password(password, bytes.fromhex(salt), int(n)), stored)


class Directory(ABC):
    """Source of users, such as a file or an LDAP directory."""

    @abstractmethod
    def verify(self, name: str, password: str) -> User | None:
        """Return the user; None if name or password is wrong. The call may block."""


class FileDirectory(Directory):
    """Users from a file with a line `name:hash[:role]` for each user; lines that begin with `#` are comments."""

    def __init__(self, path: Path) -> None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise StartError(f"users: {path}: cannot be read: {error}") from error
        self._users: dict[str, tuple[str, User]] = {}
        for number, line in enumerate(lines, start=1):
            if line.strip() and not line.startswith("#"):
                name, stored, role = self._parse(path, number, line.strip())
                self._users[name] = (stored, User(name, role))
        costs = Counter(stored.split("$")[1] for stored, _ in self._users.values())
        n = costs.most_common(1)[0][0] if costs else SCRYPT_N
        self._nobody = f"scrypt${n}${os.urandom(16).hex()}${os.urandom(32).hex()}"

    @staticmethod
    def _parse(path: Path, number: int, line: str) -> tuple[str, str, str]:
        name, _, rest = line.partition(":")
        stored, _, role = rest.partition(":")
        role = role or "editor"
        parts = stored.split("$")
        if not name or len(parts) != 4 or parts[0] != "scrypt" or not parts[1].isdigit() or role not in ROLES:
            raise StartError(
                f"users: {path}:{number}: must be name:scrypt$n$salt$key[:role], role one of {', '.join(ROLES)}"
            )
        return name, stored, role

    def verify(self, name: str, password: str) -> User | None:
        # A hash is computed even for an unknown name. Otherwise, response times would reveal which names exist.
        stored, user = self._users.get(name, (self._nobody, None))
        return user if verify_password(password, stored) else None


class LdapDirectory(Directory):
    """Users of an LDAP directory, verified by a simple bind.

    Parameters
    ----------
    url : str
        `ldap://host:port` or `ldaps://host:port`.
    pattern : str
        Distinguished name of a user, in which `{}` stands for the login name: `uid={},ou=people,dc=example,dc=org`.
    timeout : int
        Time limit of a bind. [s]
    """

    def __init__(self, url: str, pattern: str, timeout: int = 5) -> None:
        try:
            import ldap3  # type: ignore[import-untyped]
        except ImportError as error:
            raise StartError(f"ldap: ldap3 is not installed; {sys.executable} -m pip install ldap3") from error
        if "{}" not in pattern:
            raise StartError("ldap: --ldap-user-dn must contain {} for the name")
        self._ldap3: Any = ldap3
        self._pattern = pattern
        self._timeout = timeout
        try:
            self._server = ldap3.Server(url, connect_timeout=timeout, get_info=ldap3.NONE)
        except ldap3.core.exceptions.LDAPException as error:
            raise StartError(f"ldap: {url}: {error}") from error

    def verify(self, name: str, password: str) -> User | None:
        # An empty password must be refused, because a bind without a password succeeds (RFC 4513, 5.1.2).
        if not name or not password:
            return None
        from ldap3.core.exceptions import LDAPException  # type: ignore[import-untyped]
        from ldap3.utils.dn import escape_rdn  # type: ignore[import-untyped]

        connection = self._ldap3.Connection(
            self._server,
            self._pattern.replace("{}", escape_rdn(name)),
            password,
            receive_timeout=self._timeout,
            raise_exceptions=False,
        )
        try:
            bound = bool(connection.bind())
        except LDAPException as error:
            raise Storage(f"the LDAP directory cannot be reached: {type(error).__name__}") from error
        finally:
            connection.unbind()
        return User(name) if bound else None


class Authenticator:
    """HTTP Basic authentication with a cache of verified logins.

    Parameters
    ----------
    directory : Directory
        Source of users.
    lifetime : float
        Time for which a verified login is cached. [s]
    """

    def __init__(self, directory: Directory, lifetime: float) -> None:
        self._directory = directory
        self._lifetime = lifetime
        self._lock = threading.Lock()
        # The keys are keyed hashes of Authorization headers, so that the cache contains no passwords.
        self._key = os.urandom(32)
        self._remembered: dict[bytes, tuple[float, User]] = {}

    def _digest(self, header: str) -> bytes:
        return hashlib.blake2b(header.encode("utf-8", "surrogateescape"), key=self._key, digest_size=24).digest()

    def remembered(self, header: str | None) -> User | None:
        """Return the user of a cached login; None if the login is not cached or has expired. The call does not
        block.
        """
        if not header:
            return None
        digest = self._digest(header)
        found = self._remembered.get(digest)
        if found is None:
            return None
        if found[0] < time.monotonic():
            self._remembered.pop(digest, None)
            return None
        return found[1]

    def verify(self, header: str | None) -> User:
        """Verify and cache the login in an Authorization header; return the user. The call may block.

        Raises
        ------
        NotAuthenticated
            If the header is missing or malformed, or the login is wrong.
        """
        scheme, _, encoded = (header or "").partition(" ")
        if header is None or scheme.lower() != "basic":
            raise NotAuthenticated("log in with Basic authentication")
        try:
            name, colon, password = base64.b64decode(encoded.strip(), validate=True).decode("utf-8").partition(":")
        except (binascii.Error, UnicodeDecodeError):
            raise NotAuthenticated("the Authorization header is malformed") from None
        user = self._directory.verify(name, password) if colon else None
        if user is None:
            raise NotAuthenticated("unknown user or wrong password")
        with self._lock:
            if len(self._remembered) >= _MAX_REMEMBERED:
                self._remembered.clear()
            self._remembered[self._digest(header)] = (time.monotonic() + self._lifetime, user)
        return user
