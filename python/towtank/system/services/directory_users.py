"""Generates the users of a directory service from a seed; names and passwords depend only on the seed."""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass

SUFFIX = "dc=example,dc=org"
PEOPLE = f"ou=people,{SUFFIX}"
_FIRST = ("Ada", "Alan", "Barbara", "Donald", "Edsger", "Frances", "Grace", "John", "Katherine", "Leslie", "Niklaus")
_LAST = ("Allen", "Dijkstra", "Hopper", "Johnson", "Knuth", "Lamport", "Liskov", "Lovelace", "Turing", "Wirth")
_ALPHABET = "abcdefghijkmnopqrstuvwxyz23456789"
_PASSWORD_LENGTH = 10
_SALT_BYTES = 8


@dataclass(frozen=True)
class DirectoryUser:
    """User of a directory service; virtual users of a workload can log in with this name and password."""

    name: str
    password: str
    first: str
    last: str
    salt: bytes

    @property
    def dn(self) -> str:
        return f"uid={self.name},{PEOPLE}"

    @property
    def hashed(self) -> str:
        """Salted SHA-1 hash of the password in the format of RFC 2307, which slapd accepts.

        A slower hash is not needed, because the passwords of test users protect nothing.
        """
        digest = hashlib.sha1(self.password.encode() + self.salt, usedforsecurity=False).digest()
        return "{SSHA}" + base64.b64encode(digest + self.salt).decode()


def users(count: int, seed: int) -> Iterator[DirectoryUser]:
    """Generate the users `user000001`, `user000002` and so on. The first users are the same for every count.

    Examples
    --------
    >>> [user.name for user in users(2, seed=1)]
    ['user000001', 'user000002']
    """
    # The generator need not be secure, because passwords must be the same in every run.
    drawn = random.Random(seed)
    for number in range(1, count + 1):
        password = "".join(drawn.choices(_ALPHABET, k=_PASSWORD_LENGTH))
        first, last = drawn.choice(_FIRST), drawn.choice(_LAST)
        yield DirectoryUser(f"user{number:06d}", password, first, last, drawn.randbytes(_SALT_BYTES))


def ldif(count: int, seed: int) -> Iterator[str]:
    """Yield the entries of the directory in the format LDIF (RFC 2849), parents before children."""
    yield f"dn: {SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n"
    yield f"dn: {PEOPLE}\nobjectClass: organizationalUnit\nou: people\n\n"
    for number, user in enumerate(users(count, seed), start=1):
        yield (
            f"dn: {user.dn}\nobjectClass: inetOrgPerson\nuid: {user.name}\ncn: {user.first} {user.last}\n"
            f"sn: {user.last}\nmail: {user.name}@example.org\nemployeeNumber: {number}\n"
            f"userPassword: {user.hashed}\n\n"
        )
