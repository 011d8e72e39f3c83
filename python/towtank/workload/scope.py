"""Checks that each variable and list can have a value wherever a virtual user reads it.

A variable counts as set after any step that can set it: an earlier step of the same transaction, or a step of a `once`
transaction of the group. Other transactions of the mix do not count, because they may not have run yet. An `if`
may test any variable that is set somewhere; in the steps inside the `if`, this variable counts as set.
"""

from __future__ import annotations

from collections.abc import Iterator

from towtank.spelling import Misspelt, meant, misnamed
from towtank.workload import references
from towtank.workload.model import Transaction, WorkloadFile
from towtank.workload.noted import STORED, STORED_KEY
from towtank.workload.references import Placed
from towtank.workload.steps import Draw, If, Step
from towtank.yamlfile import Path_

Problem = tuple[Path_, str]


class Scope:
    """Checks the variables and lists that the transactions of each user group read and set.

    The columns of a pool are None if they are known only while the system runs. Names that malformed steps would set
    are `doubtful`; these names are not checked.
    """

    def __init__(
        self, workload: WorkloadFile, columns: dict[str, list[str] | None], pools: list[str], doubtful: set[str]
    ) -> None:
        self.workload = workload
        self.columns = columns
        self.pools = pools
        self.doubtful = doubtful
        steps = [step for item in workload.transactions.values() for _, step in references.walk(item)]
        self.rows = {step.as_ or step.draw: step.draw for step in steps if isinstance(step, Draw)}
        self.variables = {p.text for step in steps for p in references.sets(step) if not p.text.endswith(".*")}
        self.draws_unknown = any(pool not in pools for pool in self.rows.values())
        self.lists = {placed.text for step in steps for placed in references.fills(step)}
        # Lists to which virtual users of the current group add values. Users of other groups have separate lists.
        self.own = self.lists

    def problems(self) -> Iterator[Problem]:
        """Yield a fault for each variable or list that is read where it cannot have a value, and for each name that
        denotes both a variable and a list.
        """
        yield from self._double_names()
        used: set[str] = set()
        at_start: set[str] | None = None
        for group in self.workload.groups.values():
            have: set[str] = set()
            self.own = self._filled_by([*group.once, *group.loop.mix, *group.end])
            for name in group.once:
                yield from self._transaction(name, have)
            for name in [*group.loop.mix, *group.end]:
                yield from self._transaction(name, set(have))
            used |= {*group.once, *group.loop.mix, *group.end}
            at_start = set(have) if at_start is None else at_start & have
        self.own = self.lists
        everything = {*self.variables, *(f"{row}.*" for row in self.rows)}
        for name in self.workload.transactions:
            if name in self.workload.readers:
                # After the load, a separate virtual user runs this read-back transaction. It has only one variable, the
                # key of the stored item.
                yield from self._transaction(name, {STORED_KEY})
            elif name not in used:
                yield from self._transaction(name, set(everything))
        yield from self._defaults(everything)

    def _filled_by(self, transactions: list[str]) -> set[str]:
        steps = (step for name in transactions for _, step in references.walk(self.workload.transactions.get(name, [])))
        return {placed.text for step in steps for placed in references.fills(step)}

    def _double_names(self) -> Iterator[Problem]:
        for name, transaction in self.workload.transactions.items():
            for path, step in references.walk(transaction, ("transactions", name)):
                for placed in references.fills(step):
                    if placed.text in self.variables:
                        yield (
                            (*path, *placed.path),
                            f"must be a list, got {placed.text!r}, which is also set as a variable",
                        )

    def _transaction(self, name: str, have: set[str]) -> Iterator[Problem]:
        """Check the variables in a transaction, and add the variables that it sets to `have`."""
        transaction: Transaction = self.workload.transactions.get(name, [])
        for path, steps in references.steps_of(transaction, ("transactions", name)):
            for step in steps:
                yield from self._step(step, path, have)

    def _step(self, step: Step, path: Path_, have: set[str]) -> Iterator[Problem]:
        for placed in references.takes(step):
            if placed.text not in self.lists | self.doubtful:
                known = ", ".join(sorted(self.lists)) or "none exists"
                message = misnamed(f"a list that a step fills ({known})", placed.text, sorted(self.lists))
                yield (*path, *placed.path), message
            elif placed.text not in self.own | self.doubtful:
                message = (
                    f"must be a list that a transaction of the same group fills, got {placed.text!r}, which only "
                    "users of another group fill: users do not share lists"
                )
                yield (*path, *placed.path), message
        if isinstance(step, Draw) and step.draw not in self.pools:
            known = ", ".join(self.pools) or "none exists"
            yield (*path, "draw"), misnamed(f"a pool of data ({known})", step.draw, self.pools)
        if isinstance(step, If):
            yield from self._condition(step, path)
        after = {placed.text for placed in references.sets(step)}
        for placed in references.reads(step):
            # The checks of a step run before its extractions, so they cannot read the extracted values.
            yield from self._read(placed, path, have)
        have |= after
        for placed in references.reads_after_answer(step):
            yield from self._read(placed, path, have)
        for key, block in references.blocks_of(step):
            inner = set(have)
            if isinstance(step, If) and key == "then" and step.if_.filled:
                inner.add(step.if_.filled)
            if isinstance(step, If) and key == "else" and step.if_.empty:
                inner.add(step.if_.empty)
            for index, nested in enumerate(block):
                yield from self._step(nested, (*path, key, index), inner)
            after |= inner
        have |= after

    def _condition(self, step: If, path: Path_) -> Iterator[Problem]:
        key = "filled" if step.if_.filled else "empty"
        name = step.if_.filled or step.if_.empty or ""
        if name not in self.variables | self.doubtful:
            yield (*path, "if", key), self._unknown(name)

    def _read(self, placed: Placed, path: Path_, have: set[str]) -> Iterator[Problem]:
        message = self._why_not(placed.text, have)
        if message is not None:
            yield (*path, *placed.path), message

    def _why_not(self, name: str, have: set[str]) -> str | None:
        """Return the reason why a step cannot read a variable; None if the step can read the variable."""
        row, dot, column = name.partition(".")
        if row in self.doubtful or name in have:
            return None
        if row == STORED and self.workload.stored:
            return f"must be used only in the transaction that reads back a stored item, got {name!r}"
        if dot:
            return self._why_not_column(name, row, column, have)
        if name in self.lists:
            return f"must be a variable, got the list {name!r} (read a value of the list with pop or pick)"
        if name in self.variables:
            return self._not_yet_set(name, have)
        return self._unknown(name)

    def _not_yet_set(self, name: str, have: set[str]) -> str:
        near = meant(name, sorted(have))
        hint = f" instead, did you mean {near.meant!r}?" if near is not None else ""
        return Misspelt.of(
            f"must be set before it is used, in this transaction or in one of `once`, got {name!r}{hint}", near
        )

    def _why_not_column(self, name: str, row: str, column: str, have: set[str]) -> str | None:
        """Return the reason why a step cannot read a column of a pool row; None if the step can read the column."""
        pool = self.rows.get(row, row)
        if pool not in self.pools:
            return self._unknown(name)
        known = self.columns.get(pool)
        if known is not None and column not in known:
            return misnamed(f"a column of {pool} ({', '.join(known)})", column, known)
        if f"{row}.*" in have or self.draws_unknown:
            return None
        return f"must be drawn before it is used, in this transaction or in one of `once` (- draw: {row}), got {name!r}"

    def _unknown(self, name: str) -> str:
        known = sorted(
            self.variables
            | {f"{row}.COLUMN" for row in {*self.pools, *(r for r, pool in self.rows.items() if pool in self.pools)}}
        )
        drawn = {**{pool: pool for pool in self.pools}, **self.rows}
        columns = [f"{row}.{column}" for row, pool in drawn.items() for column in self.columns.get(pool) or []]
        allowed = f"a variable that a step sets ({', '.join(known) or 'none exists'})"
        return misnamed(allowed, name, [*sorted(self.variables), *columns])

    def _defaults(self, everything: set[str]) -> Iterator[Problem]:
        """Check that default headers and logins read only variables that some step sets."""
        defaults = self.workload.defaults
        for path, text in references.templates_of_defaults(defaults):
            for name in references.names_in(text):
                message = self._why_not(name, everything)
                if message is not None:
                    yield path, message
