"""Finds differences of configuration and environment between the two results of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from towtank.digging import dig

# Entries of the manifests that are compared, because they may influence results. Names, descriptions, seeds and times
# do not influence results.
_STUDY = ("stages", "mix", "system", "limits", "preset", "load", "workload")
_OF_STUDY = ("host", "versions")
_OF_RUN = ("settings", "tiers", "pinning", "versions")
# Keys that are not compared, because their values, such as process numbers and ports, differ between any two runs.
_CHANCE = (
    "pid",
    "pids",
    "root_pid",
    "start_ticks",
    "root_start_ticks",
    "started_wall_ns",
    "boot_id",
    "port",
    "address",
)
_LONGEST = 120


def facts_of_study(manifest: Mapping[str, object], runs: Sequence[Mapping[str, object]]) -> dict[str, str]:
    """Return the properties of configuration and environment as texts by name, from the manifests of a study and its
    runs.

    Properties that differ between runs of the same study, such as the levels of factors, are not included.
    """
    facts = {name: value for part in _STUDY for name, value in _flat(part, dig(manifest, "study", part))}
    facts |= {name: value for part in _OF_STUDY for name, value in _flat(part, dig(manifest, part))}
    for part in _OF_RUN:
        tables = [dict(_flat(part, dig(run, part))) for run in runs]
        for name in tables[0] if tables else ():
            values = {table.get(name) for table in tables}
            if len(values) == 1:
                facts.setdefault(name, tables[0][name])
    return facts


def _flat(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each value in a nested document. Keys in `_CHANCE` are skipped."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in _CHANCE:
                yield from _flat(f"{name}.{key}", inner)
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for number, inner in enumerate(value):
            yield from _flat(f"{name}[{number}]", inner)
    elif value is not None:
        yield name, str(value)[:_LONGEST]


class Difference(NamedTuple):
    """Property of configuration or environment that differs between A and B: its name and both values. A value is None
    if A or B does not have the property.
    """

    what: str
    a: str | None
    b: str | None


def differences(a: Mapping[str, str], b: Mapping[str, str]) -> list[Difference]:
    """Return the properties of configuration and environment that differ between A and B, with both values.

    Examples
    --------
    >>> differences({"host.cpus": "2", "form": "k6 JSON"}, {"host.cpus": "4", "form": "k6 JSON"})
    [Difference(what='host.cpus', a='2', b='4')]
    """
    names = [*a, *(name for name in b if name not in a)]
    return [Difference(name, a.get(name), b.get(name)) for name in names if a.get(name) != b.get(name)]
