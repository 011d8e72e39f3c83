"""Defines the steps for LDAP: operations on the entries of a directory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from towtank.fields import FileModel, one_or_more
from towtank.workload import filters
from towtank.workload.calls import CallStep, CountOrRange, Expected
from towtank.workload.texts import Template
from towtank.yamlfile import Path_

# Longest step name that is derived from an LDAP filter; longer names are truncated. [characters]
_TITLE_LENGTH = 60
_ALL = {"*", "+"}
# Kinds of changes to a directory entry, as named in the engine's plan, in their order within a request.
_VERBS = ("delete", "add", "replace", "increment")

AttributeName = Annotated[str, StringConstraints(pattern=f"^{filters.ATTRIBUTE}$")]
Wanted = Annotated[str, StringConstraints(pattern=rf"^(?:{filters.ATTRIBUTE}|[*+]|1\.1)$")]
Values = Annotated[list[Template], BeforeValidator(one_or_more, json_schema_input_type=str | list[str])]
SomeValues = Annotated[Values, Field(min_length=1)]


def _filter(value: str) -> str:
    filters.parse(value)
    return value


class EntriesExpect(Expected):
    """Checks of the response of an LDAP directory. The step fails if a check fails."""

    counted: ClassVar[dict[str, str]] = {"entries": "rows", **Expected.counted}

    entries: CountOrRange | None = Field(
        None, description="Required number of directory entries found: a number, or `{min, max}`."
    )


class Changes(FileModel):
    """Changes of an LDAP directory entry, made in the order of these keys."""

    delete: dict[AttributeName, Values] = Field(
        default_factory=dict,
        description="Attribute values to delete, by attribute; `[]` deletes all values of the attribute.",
    )
    add: dict[AttributeName, SomeValues] = Field(
        default_factory=dict, description="Attribute values to add, by attribute."
    )
    replace: dict[AttributeName, Values] = Field(
        default_factory=dict,
        description="New values of attributes, by attribute; `[]` deletes all values of the attribute.",
    )
    increment: dict[AttributeName, Template] = Field(
        default_factory=dict,
        description="Numbers to add to attributes, by attribute (RFC 4525; not every server supports this).",
    )

    @model_validator(mode="after")
    def _any(self) -> Changes:
        if not any(getattr(self, verb) for verb in _VERBS):
            raise ValueError(f"must have one of {', '.join(_VERBS)}, got none")
        return self

    def each(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield the kind, the attribute and the values of each change to a directory entry."""
        for verb in _VERBS:
            for attribute, values in getattr(self, verb).items():
                yield verb, attribute, [values] if isinstance(values, str) else values


# Keys that each LDAP operation may have, and keys that the operation must have.
_KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "bind": (("password",), ()),
    "search": (("scope", "filter", "attributes", "size_limit"), ()),
    "compare": (("attribute", "value"), ("attribute", "value")),
    "add": (("entry",), ("entry",)),
    "modify": (("changes",), ("changes",)),
    "delete": ((), ()),
    "unbind": ((), ()),
}
_MORE = tuple(key for keys, _ in _KEYS.values() for key in keys)


class LdapOperation(FileModel):
    """Operation on an LDAP directory. Exactly one of the operations is set."""

    bind: Template | None = Field(
        None, description='DN of the directory entry to log in as; `""` starts an anonymous session.'
    )
    password: Template | None = Field(None, description="Password for the login with `bind`.")
    search: Template | None = Field(None, description="DN of the base entry of a search.")
    scope: Literal["base", "one", "subtree"] | None = Field(
        None,
        description=(
            "Entries to search: `base` is the base entry, `one` the entries directly below it, `subtree` "
            "the base entry and all below it; default: `subtree`."
        ),
    )
    filter: Annotated[Template, AfterValidator(_filter)] | None = Field(
        None, description="LDAP filter of a search, for example `(uid=${name})`; default: all entries."
    )
    attributes: Annotated[list[Wanted], BeforeValidator(one_or_more, json_schema_input_type=str | list[str])] | None = (
        Field(
            None,
            description=(
                "Attributes that a search returns: names, `*` for all, `+` for operational attributes, `1.1` for none."
            ),
        )
    )
    size_limit: int | None = Field(
        None,
        ge=1,
        le=2**31 - 1,
        description="Largest number of entries that a search returns; default: the limit of the server.",
    )
    compare: Template | None = Field(
        None, description="DN of the directory entry whose `attribute` is compared with `value`."
    )
    attribute: AttributeName | None = Field(None, description="Name of the attribute that `compare` tests.")
    value: Template | None = Field(None, description="Value that `compare` tests the attribute for.")
    add: Template | None = Field(None, description="DN of the directory entry to add; its attributes are in `entry`.")
    entry: dict[AttributeName, SomeValues] | None = Field(
        None, min_length=1, description="Attributes of the entry that `add` creates, with their values."
    )
    modify: Template | None = Field(
        None, description="DN of the directory entry to change; its changes are in `changes`."
    )
    changes: Changes | None = Field(None, description="Changes that `modify` makes to the entry.")
    delete: Template | None = Field(None, description="DN of the directory entry to delete.")
    unbind: Literal[True] | None = Field(None, description="Ends the session; the next step uses a new connection.")

    @model_validator(mode="after")
    def _one(self) -> LdapOperation:
        given = [name for name in _KEYS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"must have one of {', '.join(_KEYS)}, got {' and '.join(given) or 'none'} instead")
        allowed, needed = _KEYS[given[0]]
        extra = [name for name in _MORE if getattr(self, name) is not None and name not in allowed]
        if extra:
            raise ValueError(f"must not have {' and '.join(extra)} with {given[0]}")
        absent = [name for name in needed if getattr(self, name) is None]
        if absent:
            raise ValueError(f"must have {' and '.join(absent)} with {given[0]}, got none")
        if self.bind and self.password is None:
            raise ValueError(
                "must have password with bind, got none: servers treat a bind without a password as anonymous"
            )
        return self

    @property
    def action(self) -> str:
        """Key of the LDAP operation that is set, such as `search`."""
        return next(name for name in _KEYS if getattr(self, name) is not None)

    @property
    def asked(self) -> filters.Filter:
        """Filter of an LDAP search.

        Its values are numbered from 1, because value 0 of the call is the base entry of the search.
        """
        return filters.parse(self.filter or "(objectClass=*)", first=1)

    @property
    def columns(self) -> list[str] | None:
        """Names of the columns in the response of the LDAP directory; None if the server determines the columns."""
        if self.action == "compare":
            return ["matches"]
        if self.action != "search":
            return []
        if not self.attributes or _ALL & set(self.attributes):
            return None
        return ["dn", *(name for name in self.attributes if name != "1.1")]


class Ldap(CallStep):
    """Call of an LDAP directory."""

    speaks: ClassVar[str] = "ldap"

    ldap: LdapOperation = Field(description="Operation on the directory, for example `{search: DN, filter: FILTER}`.")
    expect: EntriesExpect | None = Field(
        None, description="Checks of the response; the step fails if one of them fails."
    )

    @model_validator(mode="after")
    def _columns(self) -> Ldap:
        known = self.ldap.columns
        named = [spec.column for spec in self.extract.values() if spec.column is not None and spec.pick != "count"]
        named += [] if self.expect is None else list(self.expect.value)
        unknown = [] if known is None else [name for name in dict.fromkeys(named) if name not in known]
        if unknown:
            shown = ", ".join(known or []) or "it has none"
            raise ValueError(f"must only check columns of the response ({shown}), got {', '.join(unknown)} instead")
        return self

    @property
    def what(self) -> str:
        """Name of the LDAP operation; for a search, followed by its filter."""
        words = f"{self.ldap.action} {self.ldap.filter or self.ldap.attribute or ''}".rstrip()
        return words if len(words) <= _TITLE_LENGTH else words[: _TITLE_LENGTH - 1].rstrip() + "…"

    def operation(self) -> dict[str, object]:
        """Return the LDAP request for the engine's plan, with the indexes of its values."""
        return {"kind": "ldap", "request": {self.ldap.action: self._request()}}

    def _request(self) -> dict[str, object]:
        asked = self.ldap
        if asked.action == "search":
            return {
                "scope": asked.scope or "subtree",
                "filter": asked.asked.plan,
                "attributes": asked.attributes or [],
                "size_limit": asked.size_limit or 0,
            }
        if asked.action == "compare":
            return {"attribute": asked.attribute}
        numbers = iter(range(1, len(list(self.values()))))
        if asked.entry is not None:
            each = asked.entry.items()
            return {"attributes": [{"attribute": name, "values": [next(numbers) for _ in all_]} for name, all_ in each]}
        if asked.changes is not None:
            changes = asked.changes.each()
            return {
                "changes": [
                    {"do": verb, "attribute": name, "values": [next(numbers) for _ in all_]}
                    for verb, name, all_ in changes
                ]
            }
        return {}

    def values(self) -> Iterator[tuple[Path_, str | None]]:
        """Yield the name of the directory entry, then the values that the LDAP request compares or sets."""
        asked = self.ldap
        if asked.action == "unbind":
            return
        yield ("ldap", asked.action), getattr(asked, asked.action)
        if asked.action == "bind":
            yield ("ldap", "password"), asked.password
        elif asked.action == "search":
            for text in asked.asked.values:
                yield ("ldap", "filter"), text
        elif asked.action == "compare":
            yield ("ldap", "value"), asked.value
        for name, texts in (asked.entry or {}).items():
            for index, text in enumerate(texts):
                yield ("ldap", "entry", name, index), text
        for verb, name, texts in asked.changes.each() if asked.changes is not None else ():
            for index, text in enumerate(texts):
                yield ("ldap", "changes", verb, name, index), text
