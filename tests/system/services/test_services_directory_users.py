"""Users of an LDAP directory, generated from a seed."""

from __future__ import annotations

import base64
import hashlib

import pytest

from towtank.system.services.directory_users import ldif, users

pytestmark = pytest.mark.waits


def test_the_same_seed_makes_the_same_users_and_more_begin_with_them() -> None:
    assert list(users(5, seed=3)) == list(users(50, seed=3))[:5]
    assert list(users(5, seed=3)) != list(users(5, seed=4))


def test_the_hash_is_that_of_rfc_2307() -> None:
    user = next(users(1, seed=3))
    scheme, _, text = user.hashed.partition("}")
    raw = base64.b64decode(text)
    assert scheme == "{SSHA"
    assert raw[:20] == hashlib.sha1(user.password.encode() + raw[20:], usedforsecurity=False).digest()


def test_entries_come_parents_first_and_say_who_is_who() -> None:
    entries = list(ldif(2, seed=3))
    assert [entry.splitlines()[0] for entry in entries] == [
        "dn: dc=example,dc=org",
        "dn: ou=people,dc=example,dc=org",
        "dn: uid=user000001,ou=people,dc=example,dc=org",
        "dn: uid=user000002,ou=people,dc=example,dc=org",
    ]
    assert all(entry.endswith("\n\n") for entry in entries)
