"""Reads metrics of slapd (OpenLDAP) from its database `cn=Monitor`.

The database is described at https://www.openldap.org/doc/admin25/monitoringslapd.html.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from towtank.installing import pip_install
from towtank.observe.scraper import ScrapeError, series_name

if TYPE_CHECKING:
    import ldap3  # type: ignore[import-untyped]

_BASE = "cn=Monitor"
# Search filter that excludes one entry for each open connection.
_FILTER = "(!(objectClass=monitorConnection))"
_TIMEOUT_S = 1
_INSTALL_HINT = pip_install("ldap3")
# Series name of each entry of the monitor database, and the attribute that contains its value.
_NUMBERS = {
    "cn=total,cn=connections,cn=monitor": ("openldap_connections_total", "monitorCounter"),
    "cn=current,cn=connections,cn=monitor": ("openldap_connections", "monitorCounter"),
    "cn=bytes,cn=statistics,cn=monitor": ("openldap_sent_bytes_total", "monitorCounter"),
    "cn=entries,cn=statistics,cn=monitor": ("openldap_sent_entries_total", "monitorCounter"),
    "cn=read,cn=waiters,cn=monitor": ("openldap_waiters_read", "monitorCounter"),
    "cn=write,cn=waiters,cn=monitor": ("openldap_waiters_write", "monitorCounter"),
    "cn=max,cn=threads,cn=monitor": ("openldap_threads_limit", "monitoredInfo"),
    "cn=active,cn=threads,cn=monitor": ("openldap_threads_active", "monitoredInfo"),
    "cn=pending,cn=threads,cn=monitor": ("openldap_threads_pending", "monitoredInfo"),
    "cn=backload,cn=threads,cn=monitor": ("openldap_threads_backload", "monitoredInfo"),
}
_OPERATIONS = ",cn=operations,cn=monitor"
_PAGES = {
    "olmMDBPagesMax": "openldap_pages_limit",
    "olmMDBPagesUsed": "openldap_pages_used",
    "olmMDBPagesFree": "openldap_pages_free",
    "olmMDBEntries": "openldap_entries",
}
_ATTRIBUTES = ["monitorCounter", "monitoredInfo", "monitorOpInitiated", "monitorOpCompleted", *_PAGES]

Entry = tuple[str, Mapping[str, Sequence[Any]]]


def read(entries: Sequence[Entry]) -> dict[str, float]:
    """Convert entries of slapd's monitor database, each a name with attributes, to numbers by series name."""
    values: dict[str, float] = {}
    for dn, attributes in entries:
        key = dn.lower()
        if key in _NUMBERS:
            name, attribute = _NUMBERS[key]
            values.update(_number(name, attributes, attribute))
        elif key.endswith(_OPERATIONS):
            operation = key[3 : -len(_OPERATIONS)]
            for verb, attribute in (("initiated", "monitorOpInitiated"), ("completed", "monitorOpCompleted")):
                values.update(
                    _number(series_name(f"openldap_{verb}_total", operation=operation), attributes, attribute)
                )
        else:
            for attribute, name in _PAGES.items():
                values.update(_number(name, attributes, attribute))
    return values


def _number(name: str, attributes: Mapping[str, Sequence[Any]], attribute: str) -> dict[str, float]:
    """Return a dictionary with the first value of an attribute; empty if this value is not a number."""
    found = attributes.get(attribute) or ()
    with suppress(ValueError, TypeError, IndexError):
        return {name: float(found[0])}
    return {}


class OpenldapScraper:
    """Scraper of slapd's monitor database at `ldap://host:port`, over a persistent connection. The database must be
    readable without a login.
    """

    source = "openldap"
    kind = "openldap"

    def __init__(self, service: str, url: str) -> None:
        self.service, self._url = service, url
        self._connection: ldap3.Connection | None = None

    def scrape(self) -> dict[str, float]:
        """Search the monitor database once, and return its numbers by series name."""
        try:
            from ldap3.core.exceptions import LDAPExceptionError  # type: ignore[import-untyped]  # noqa: PLC0415
        except ImportError as error:
            raise ScrapeError("ldap3 is not installed", hint=_INSTALL_HINT) from error
        try:
            values = read(self._search())
        except (LDAPExceptionError, OSError) as error:
            self.close()
            raise ScrapeError(f"{self._url}: {type(error).__name__}: {error}") from error
        if not values:
            raise ScrapeError(f"{self._url}: must have a monitor database, got nothing from {_BASE}")
        return values

    def _search(self) -> list[Entry]:
        connection = self._connect()
        connection.search(_BASE, _FILTER, attributes=_ATTRIBUTES)
        return [
            (entry["dn"], entry["attributes"])
            for entry in connection.response or ()
            if entry.get("type") == "searchResEntry"
        ]

    def _connect(self) -> ldap3.Connection:
        import ldap3  # noqa: PLC0415

        if self._connection is None:
            server = ldap3.Server(self._url, get_info=ldap3.NONE, connect_timeout=_TIMEOUT_S)
            self._connection = ldap3.Connection(
                server, auto_bind=True, receive_timeout=_TIMEOUT_S, return_empty_attributes=False
            )
        return self._connection

    def close(self) -> None:
        """Close the connection to the server; the next scrape opens it again."""
        if self._connection is not None:
            with suppress(Exception):  # If the server has ended, `unbind` fails.
                self._connection.unbind()
        self._connection = None
