"""Checks that servers which take their users from an LDAP directory name a directory service of the system file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank import yamlfile
from towtank.errors import Fault
from towtank.spelling import misnamed


def directory_faults(tree: yamlfile.Node, services: Mapping[str, Any]) -> list[Fault]:
    """Report each server whose setting `ldap` names neither an address nor a directory service of the file."""
    faults = []
    known = [name for name, service in services.items() if service.kind == "openldap"]
    for name, service in services.items():
        named = getattr(getattr(service, "settings", None), "ldap", None)
        if named is not None and "://" not in named and named not in known:
            allowed = f"ldap://host:port, or a service of kind openldap ({', '.join(known) or 'none exists'})"
            message = misnamed(allowed, named, known)
            faults.append(yamlfile.fault_at(tree, ("services", name, "settings", "ldap"), message))
    return faults
