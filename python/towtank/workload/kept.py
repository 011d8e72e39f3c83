"""Checks `stored` in a workload: Towtank must be able to read back every kind of stored item after the run."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.spelling import misnamed
from towtank.workload import references
from towtank.workload.model import Page, WorkloadFile
from towtank.workload.noted import STORED
from towtank.yamlfile import Path_

Problem = tuple[Path_, str, bool]
"""Path and message of a fault. The flag is True if the key at this path is wrong, and False if its value is."""


def kept_problems(workload: WorkloadFile, transactions: list[str], kinds: list[str]) -> Iterator[Problem]:
    """Yield the faults of stored items: in their kinds, in requests that name the kinds, and in transactions that read
    items back.

    `transactions` and `kinds` are all names in the file, including names whose values are malformed.
    """
    if workload.stored and STORED in workload.data:
        yield (
            ("data", STORED),
            f"must have another name, because {STORED} is the name of the item that is read back, got {STORED!r}",
            True,
        )
    yield from _requests(workload, kinds)
    yield from _used(workload)
    for kind, stored in workload.stored.items():
        path: Path_ = ("stored", kind, "read_back")
        if stored.read_back not in transactions:
            allowed = f"a transaction of this file ({', '.join(transactions) or 'none exists'})"
            yield path, misnamed(allowed, stored.read_back, transactions), False
        elif workload.readers[stored.read_back] != kind:
            yield (
                path,
                f"must be a transaction that reads back this kind only, got {stored.read_back!r}, which "
                "reads back another kind",
                False,
            )
        elif stored.read_back in workload.transactions:
            yield from _reader(workload, kind, stored.read_back)


def _requests(workload: WorkloadFile, kinds: list[str]) -> Iterator[Problem]:
    """Check that requests name existing kinds of stored items, and that only read-back transactions use `reads`."""
    for name, transaction in workload.transactions.items():
        for path, step in references.walk(transaction, ("transactions", name)):
            for placed in references.kinds(step):
                place = (*path, *placed.path)
                if placed.text not in kinds:
                    allowed = f"a kind of `stored` ({', '.join(kinds) or 'none exists'})"
                    yield place, misnamed(allowed, placed.text, kinds), len(placed.path) > 1
                elif placed.path == ("reads",) and workload.readers.get(name) not in (None, placed.text):
                    yield place, f"must be the kind that {name} reads back, got {placed.text!r} instead", False
                elif placed.path == ("reads",) and name not in workload.readers:
                    yield (place, "must be in a transaction that reads back (`stored: {KIND: {read_back: ...}}`)", True)


def _used(workload: WorkloadFile) -> Iterator[Problem]:
    """Check that no group runs a read-back transaction during the load."""
    for group, spec in workload.groups.items():
        listed = [
            *((("groups", group, "once", index), name, False) for index, name in enumerate(spec.once)),
            *((("groups", group, "loop", "mix", name), name, True) for name in spec.loop.mix),
            *((("groups", group, "end", index), name, False) for index, name in enumerate(spec.end)),
        ]
        for path, name, key in listed:
            if name in workload.readers:
                yield path, f"must not be a transaction that reads back after the run, got {name!r}", key


def _reader(workload: WorkloadFile, kind: str, name: str) -> Iterator[Problem]:
    """Check that a read-back transaction has no pages, and has exactly one request with `reads`, whose response is the
    stored content.
    """
    transaction = workload.transactions[name]
    path: Path_ = ("transactions", name)
    if any(isinstance(item, Page) for item in transaction):
        yield path, "must be a list of steps without pages, because it reads back a stored item", True
    steps = [step for _, step in references.walk(transaction)]
    found = sum(placed.path == ("reads",) for step in steps for placed in references.kinds(step))
    if found != 1:
        yield path, f"must have one request with `reads: {kind}`, got {found or 'none'}", True
