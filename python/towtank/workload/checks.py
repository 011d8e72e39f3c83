"""Checks the content of a workload file: names exist, shares add up to 100 %, variables are set before use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from towtank.errors import Fault
from towtank.files import is_regular_file
from towtank.spelling import misnamed
from towtank.workload import datafiles, references, templates
from towtank.workload.kept import kept_problems
from towtank.workload.model import Pool, WorkloadFile
from towtank.workload.references import Placed
from towtank.workload.scope import Scope
from towtank.yamlfile import Node, Path_, fault_at, find

# Largest rounding error of a sum of shares that should be 100 %; shares are written with few decimals. [ratio]
_SUM_TOLERANCE = 1e-6


class WorkloadCheck:
    """Checks the content of a workload file, such as names, shares, variables and data files.

    `written` is the complete syntax tree of the file, because the names of malformed entries count as known. File names
    are relative to `folder`.
    """

    def __init__(self, workload: WorkloadFile, tree: Node, written: Node, folder: Path) -> None:
        self.workload = workload
        self.tree = tree
        self.written = written
        self.folder = folder
        self.columns: dict[str, list[str] | None] = {}

    def faults(self) -> list[Fault]:
        """Return all faults, sorted by position in the file."""
        parts = (
            self._shares,
            self._mixes,
            self._lists_of_transactions,
            self._data,
            self._files,
            self._kept,
            self._scopes,
        )
        return sorted({fault for part in parts for fault in part()})

    def _at(self, path: Path_, message: str, *, key: bool = False) -> Fault:
        return fault_at(self.tree, path, message, key=key)

    def _names(self, *path: str) -> list[str]:
        """Return the keys of the workload file below a path, even if their values are invalid."""
        node: Node | None = self.written
        for part in path:
            node = node.child(part) if node is not None else None
        return list(node.value) if node is not None and isinstance(node.value, dict) else []

    def _shares(self) -> Iterator[Fault]:
        groups = self.workload.groups
        total = sum(group.share for group in groups.values())
        if self._shares_are_whole() and abs(total - 1) > _SUM_TOLERANCE:
            shares = " + ".join(f"{group.share:.6g}".rstrip() for group in groups.values())
            yield self._at(
                ("groups",), f"must have shares that add to 100 %, got {total * 100:.6g} % ({shares}) instead"
            )

    def _shares_are_whole(self) -> bool:
        """Return True if no group of the workload file, and no share of a group, was dropped as malformed."""
        written = [name for name in self._names("groups") if "share" in self._names("groups", name)]
        left = [
            name
            for name in self.workload.groups
            if find(self.tree, ("groups", name, "share"))[0].path == ("groups", name, "share")
        ]
        return len(self.workload.groups) == len(self._names("groups")) and written == left

    def _mixes(self) -> Iterator[Fault]:
        known = self._names("transactions")
        for name, group in self.workload.groups.items():
            path: Path_ = ("groups", name, "loop", "mix")
            for transaction in group.loop.mix:
                if transaction not in known:
                    yield self._unknown((*path, transaction), "transaction", transaction, known, key=True)
            if group.loop.think is not None and group.loop.pacing is not None:
                yield self._at(("groups", name, "loop", "pacing"), "must be given without think, got both")

    def _lists_of_transactions(self) -> Iterator[Fault]:
        known = self._names("transactions")
        for name, group in self.workload.groups.items():
            for key, listed in (("once", group.once), ("end", group.end)):
                for index, transaction in enumerate(listed):
                    if transaction not in known:
                        yield self._unknown(("groups", name, key, index), "transaction", transaction, known)

    def _unknown(self, path: Path_, what: str, got: str, known: Iterable[str], *, key: bool = False) -> Fault:
        names = list(known)
        allowed = f"a {what} of this file ({', '.join(names) or 'none exists'})"
        return self._at(path, misnamed(allowed, got, names), key=key)

    def _data(self) -> Iterator[Fault]:
        for name, pool in self.workload.data.items():
            yield from self._rows(name, pool) if pool.rows is not None else self._csv(name, pool)
            known = self.columns.get(name)
            if pool.weight is not None and known is not None and pool.weight not in known:
                yield self._unknown(("data", name, "weight"), "column", pool.weight, known)
            elif pool.weight is not None and pool.rows is not None:
                yield from self._weights(name, pool)

    def _rows(self, name: str, pool: Pool) -> Iterator[Fault]:
        """Check that all rows of a pool have the same columns."""
        rows = pool.rows or []
        first = rows[0]
        columns = pool.columns or (list(first) if isinstance(first, dict) else None)
        self.columns[name] = columns
        if columns is None:
            yield self._at(("data", name), "must have the key columns if its rows are lists, got none")
            return
        for index, row in enumerate(rows):
            if isinstance(row, dict) and set(row) != set(columns):
                message = f"must have the columns {', '.join(columns)}, got {', '.join(row)} instead"
                yield self._at(("data", name, "rows", index), message)
            elif len(row) != len(columns):
                message = f"must have {len(columns)} values ({', '.join(columns)}), got {len(row)} instead"
                yield self._at(("data", name, "rows", index), message)

    def _weights(self, name: str, pool: Pool) -> Iterator[Fault]:
        for index, row in enumerate(row_values(pool)):
            if pool.weight not in row:
                continue  # reported by `_rows`
            weight = row.get(pool.weight or "", "")
            if datafiles.weight(weight) is None:
                yield self._at(
                    ("data", name, "rows", index), f"must have a weight of at least 0, got {weight!r} instead"
                )
        weights = [datafiles.weight(row.get(pool.weight or "", "")) for row in row_values(pool)]
        if None not in weights and not any(weights):
            yield self._at(("data", name, "weight"), "must be a column with a weight above 0, got none")

    def _csv(self, name: str, pool: Pool) -> Iterator[Fault]:
        """Check the CSV file of a data pool.

        Files that the system exports are skipped, because they exist only while the system runs.
        """
        assert pool.csv is not None  # the model requires `csv` if there are no rows
        self.columns[name] = pool.columns
        try:
            parts = templates.parse(pool.csv)
        except ValueError as error:
            yield self._at(("data", name, "csv"), str(error))
            return
        if any(isinstance(part, templates.Variable | templates.Function) for part in parts):
            yield self._at(
                ("data", name, "csv"), f"must be a file or ${{system.SERVICE.NAME}}, got {pool.csv!r} instead"
            )
        elif not templates.exports(pool.csv):
            try:
                self.columns[name] = datafiles.header(self.folder / pool.csv)
            except ValueError as error:
                yield self._at(("data", name, "csv"), str(error))
                return
            try:
                datafiles.check_rows(self.folder / pool.csv, pool.weight)
            except ValueError as error:
                yield self._at(("data", name, "csv"), str(error))
            for index, column in enumerate(pool.columns or []):
                if column not in (self.columns[name] or []):
                    yield self._unknown(("data", name, "columns", index), "column", column, self.columns[name] or [])

    def _every(self, read: Callable[..., Iterator[Placed]]) -> Iterator[tuple[Path_, str]]:
        """Yield the texts that the function `read` finds in the steps of the workload, with their paths."""
        for name, transaction in self.workload.transactions.items():
            for path, step in references.walk(transaction, ("transactions", name)):
                for placed in read(step):
                    yield (*path, *placed.path), placed.text

    def _files(self) -> Iterator[Fault]:
        for path, name in self._every(references.files):
            if not is_regular_file(self.folder / name):
                yield self._at(path, f"must be a file that exists, got {str(self.folder / name)!r} instead")
            elif place := datafiles.place_in(self.folder / name, self._is_filled):
                message = (
                    f"must be a file without placeholders, got {place} in {str(self.folder / name)!r}: files are sent "
                    "unchanged (write the text as body: or value:)"
                )
                yield self._at(path, message)

    def _is_filled(self, part: templates.Part) -> bool:
        """Return True if a placeholder in a text file names a value that the workload defines."""
        if isinstance(part, templates.Variable):
            row, _, column = part.name.partition(".")
            known = {name for name, _ in ((text, path) for path, text in self._every(references.sets))}
            return part.name in known or (bool(column) and (row == "parameters" or f"{row}.*" in known))
        return not isinstance(part, str)

    def _kept(self) -> Iterator[Fault]:
        for path, message, key in kept_problems(self.workload, self._names("transactions"), self._names("stored")):
            yield self._at(path, message, key=key)

    def _scopes(self) -> Iterator[Fault]:
        # Names that only malformed steps set; `self.workload` lacks these steps.
        doubtful = _set_names(self.written.child("transactions")) - _set_names(self.tree.child("transactions"))
        scope = Scope(self.workload, self.columns, self._names("data"), doubtful)
        for path, message in scope.problems():
            yield self._at(path, message)


def _set_names(node: Node | None) -> set[str]:
    """Return the names of the variables and lists that the steps below a node set, including malformed steps."""
    names: set[str] = set()
    for each in node.walk() if node is not None else ():
        if not isinstance(each.value, dict):
            continue
        for key, child in each.value.items():
            if key in {"extract", "set"} and isinstance(child.value, dict):
                names |= set(child.value)
            elif key in {"into", "to", "as"} and isinstance(child.value, str):
                names.add(child.value)
    return names


def row_values(pool: Pool) -> list[dict[str, str]]:
    """Return the rows of a pool, each as a mapping of column names to texts."""
    columns = pool.columns
    return [
        dict(row) if isinstance(row, dict) else dict(zip(columns or [], row, strict=False)) for row in pool.rows or []
    ]
