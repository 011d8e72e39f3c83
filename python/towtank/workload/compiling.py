"""Compiles a workload into the workload part of the engine's plan.

The plan refers to variables, steps and targets by index, not by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from towtank import files
from towtank.errors import Fault, StudyError
from towtank.spelling import did_you_mean
from towtank.workload import datafiles, drivers, references, templates
from towtank.workload.calls import CallStep
from towtank.workload.cookies import Cookies, GivenCookie
from towtank.workload.loading import Workload
from towtank.workload.model import Group, Page, Pool, Transaction
from towtank.workload.noted import note_part
from towtank.workload.reading_back import without_reading
from towtank.workload.requests import RequestWriter
from towtank.workload.steps import Branch, Draw, If, Pick, Pop, Push, Repeat, Request, Set, Step, Think
from towtank.workload.target_choice import target_faults, target_of
from towtank.workload.templates import Writer
from towtank.yamlfile import Path_


def compile_workload(
    workload: Workload,
    *,
    targets: dict[str, list[str]],
    exports: dict[str, dict[str, str]] | None = None,
    parameters: Mapping[str, object] | None = None,
    balance: dict[str, str] | None = None,
    options: Mapping[str, Mapping[str, object]] | None = None,
    services: dict[str, list[str]] | None = None,
    logins: Mapping[str, tuple[str, str]] | None = None,
) -> dict[str, Any]:
    """Build the workload part of a plan, see `docs/reference/plan.md`.

    Parameters
    ----------
    workload : Workload
        Loaded workload.
    targets : dict of str to list of str
        Addresses of each target: `host:port`, `http://host:port`, or a form that `drivers.target_part` accepts.
    exports : dict of str to dict of str to str
        Paths of data files that the running system exports, by service and name.
    parameters : dict, optional
        Parameter values that replace those of the file.
    balance : dict of str to str, optional
        Balancing of each target: `round_robin` (the default), `random` or `user`.
    options : dict, optional
        Further keys of each target in the plan: `scheme`, `host`, `tls`, `http`.
    services : dict of str to list of str, optional
        Service at each address of a target, for targets with several services.
    logins : dict, optional
        User and password of each target, for requests without their own authorization. The plan repeats these in each
        request and not in the target.

    Returns
    -------
    dict
        `targets`, `connections`, `timeouts`, `pools`, `variables`, `lists`, `steps`, `pages`, `transactions`, `groups`,
        `secrets`.

    Raises
    ------
    StudyError
        Lists all missing parameters, targets, exports, data files and columns.
    """
    if parameters:
        workload = workload.with_parameters(parameters)
    details = _TargetDetails(balance or {}, options or {}, services or {}, logins or {})
    return {**_Compiler(without_reading(workload), targets, exports or {}, details).plan(), **workload.secrets_part}


@dataclass(frozen=True)
class _TargetDetails:
    """Properties of the targets except their addresses; the keys are names of targets."""

    balance: dict[str, str]
    options: Mapping[str, Mapping[str, object]]
    services: dict[str, list[str]]
    logins: Mapping[str, tuple[str, str]]


class _Indexes:
    """Assigns an index to each name, in the order in which the names are first used."""

    def __init__(self) -> None:
        self.names: dict[Any, int] = {}

    def __call__(self, name: Any) -> int:
        return self.names.setdefault(name, len(self.names))


class _Compiler:
    """Compiles one workload. The method `plan` may be called once."""

    def __init__(
        self,
        workload: Workload,
        targets: dict[str, list[str]],
        exports: dict[str, dict[str, str]],
        details: _TargetDetails,
    ) -> None:
        self.workload = workload
        self.file = workload.file
        self.exports = exports
        self.targets = targets
        self.details = details
        self.target_index = {name: index for index, name in enumerate(targets)}
        self.logins = [details.logins.get(name) for name in targets] or [None]
        self.spoken = {name: drivers.speaks(addresses) for name, addresses in targets.items()}
        self.variables, self.lists = _Indexes(), _Indexes()
        self.steps, self.pages = _Indexes(), _Indexes()
        self.written: dict[tuple[str, str], dict[str, int]] = {}
        self.transactions = {name: index for index, name in enumerate(self.file.transactions)}
        self.pools = {name: index for index, name in enumerate(self.file.data)}
        self.columns: dict[str, list[str]] = {}
        self.requests = RequestWriter(
            Writer(self.variables, exports), self.variables, self.lists, self.file.defaults, workload.folder
        )
        self.read = {
            placed.text
            for transaction in self.file.transactions.values()
            for _, step in references.walk(transaction)
            for placed in (*references.reads(step), *references.reads_after_answer(step))
        } | {
            name
            for _, text in references.templates_of_defaults(self.file.defaults)
            for name in templates.variables(text)
        }

    def plan(self) -> dict[str, object]:
        missing = target_faults(self.workload, self.spoken) + self._missing_exports()
        faults = missing + self._idle_streams() + self._homeless_users()
        if faults:
            raise StudyError(faults)
        pools = self._pools()
        transactions = [
            {"name": name, "ops": self._transaction(name, transaction)}
            for name, transaction in self.file.transactions.items()
        ]
        groups = [self._group(name, group) for name, group in self.file.groups.items()]
        defaults = self.file.defaults
        return {
            "targets": [self._target(name, addresses) for name, addresses in self.targets.items()],
            "connections": defaults.plan_connections,
            "timeouts": {
                "connect_s": defaults.connect_timeout,
                "response_s": defaults.timeout,
                "drain_s": defaults.drain,
            },
            "pools": pools,
            "variables": list(self.variables.names),
            "lists": list(self.lists.names),
            "steps": [{"name": name, "transaction": transaction} for transaction, name in self.steps.names],
            "pages": [{"name": name, "transaction": transaction} for transaction, name in self.pages.names],
            "transactions": transactions,
            "groups": groups,
        }

    def _fault(self, path: Path_, message: str) -> Fault:
        return self.workload.fault(path, message)

    def _idle_streams(self) -> list[Fault]:
        """Return a fault if the workload file sets `streams` although no target speaks HTTP/2."""
        if "streams" not in self.file.defaults.plan_connections:
            return []
        if any(options.get("http") == "2" for options in self.details.options.values()):
            return []
        message = "must only be given if a target speaks HTTP/2 (`http: 2` of a target of the system, or --http2)"
        return [self._fault(("defaults", "connections", "streams"), message)]

    def _homeless_users(self) -> list[Fault]:
        """Return a fault if the workload has a connection pool although each user must stay with one service."""
        if self.file.defaults.plan_connections["mode"] != "pool" or "user" not in self.details.balance.values():
            return []
        name = next(name for name, balance in self.details.balance.items() if balance == "user")
        message = f"must not be a pool if each user stays with one service (target {name} of the system)"
        return [self._fault(("defaults", "connections"), message)]

    def _missing_exports(self) -> list[Fault]:
        faults = []
        for path, text in self.workload.texts():
            for export in templates.exports(text):
                known = self.exports.get(export.service, {})
                if export.name not in known:
                    names = ", ".join(f"{service}.{name}" for service, of in self.exports.items() for name in of)
                    asked = f"system.{export.service}.{export.name}"
                    message = f"must be a value that the system exports ({names or 'none'}), got {asked} instead"
                    faults.append(self._fault(path, message))
        return faults

    def _target(self, name: str, addresses: list[str]) -> dict[str, object]:
        services = self.details.services.get(name, [])
        balance = self.details.balance.get(name, "round_robin")
        # With the balancing `user`, the engine counts virtual users per service, so the plan names even a single
        # service.
        spread = {"services": services} if services and balance == "user" else {}
        common = {"name": name, "balance": balance, **spread}
        if self.spoken[name] != "http":
            return {**common, **self._driven(name, addresses)}
        plain = [address.removeprefix("http://").rstrip("/") for address in addresses]
        return {
            **common,
            "scheme": "http",
            "addresses": plain,
            "host": plain[0],
            **self.details.options.get(name, {}),
        }

    def _driven(self, name: str, addresses: list[str]) -> dict[str, object]:
        """Return, in the form of the engine's plan, a target that the engine reaches through a driver.

        All its addresses must have the same user, password and database.
        """
        try:
            return drivers.target_part(addresses)
        except ValueError as error:
            raise StudyError([self._fault((), f"its target {name} of the system {error}")]) from error

    def _pools(self) -> list[dict[str, object]]:
        pools, faults = [], []
        for name, pool in self.file.data.items():
            try:
                pools.append(self._pool(name, pool))
            except ValueError as error:
                faults.append(self._fault(("data", name, "csv"), str(error)))
        if faults:
            raise StudyError(faults)
        return pools

    def _pool(self, name: str, pool: Pool) -> dict[str, object]:
        if pool.csv is None:
            return self._inline_pool(name, pool)
        path = self.workload.folder / self._resolved(pool.csv)
        columns = datafiles.header(path)
        self.columns[name] = columns
        for column in [*(pool.columns or []), *([pool.weight] if pool.weight else []), *self._read_of(name)]:
            if column not in columns:
                near = did_you_mean(column, columns)
                raise ValueError(f"must have the column {column!r}, got {', '.join(columns)} in {str(path)!r}{near}")
        weight = {"weight_column": pool.weight} if pool.weight else {}
        return {
            "name": name,
            "columns": columns,
            "order": pool.dealt,
            "csv": files.engine_path(path.resolve()),
            **weight,
        }

    def _read_of(self, pool: str) -> list[str]:
        """Return the names of those columns of a pool that occur in templates."""
        rows = {pool} | {
            step.as_
            for transaction in self.file.transactions.values()
            for _, step in references.walk(transaction)
            if isinstance(step, Draw) and step.draw == pool and step.as_
        }
        return sorted({name.partition(".")[2] for name in self.read if "." in name and name.partition(".")[0] in rows})

    def _resolved(self, text: str) -> Path:
        parts = templates.parse(text)
        return Path("".join(self._text(part) for part in parts))

    def _text(self, part: templates.Part) -> str:
        if isinstance(part, templates.Export):
            return self.exports[part.service][part.name]
        # A file name consists of text and exports. This part is not an export.
        assert isinstance(part, str)
        return part

    def _inline_pool(self, name: str, pool: Pool) -> dict[str, object]:
        rows = pool.rows or []
        first = rows[0]
        columns = pool.columns or (list(first) if isinstance(first, dict) else [])
        self.columns[name] = columns
        values = [[row[column] for column in columns] if isinstance(row, dict) else list(row) for row in rows]
        weight = {}
        if pool.weight:
            position = columns.index(pool.weight)
            weight = {"weights": [float(row[position]) for row in values]}
        return {"name": name, "columns": columns, "order": pool.dealt, "rows": values, **weight}

    def _transaction(self, name: str, transaction: Transaction) -> list[dict[str, object]]:
        """Compile a transaction to pages.

        If the workload file defines no pages, each sequence of steps between two think times becomes a page.
        """
        if any(isinstance(item, Page) for item in transaction):
            return [
                self._page(name, item.page, item.steps) if isinstance(item, Page) else self._op(item, name)
                for item in transaction
            ]
        steps = [item for item in transaction if not isinstance(item, Page)]
        chunks = _between_thinks(steps)
        pages = sum(any(map(references.has_request, chunk)) for chunk in chunks)
        ops: list[dict[str, object]] = []
        number = 0
        for chunk in chunks:
            if any(map(references.has_request, chunk)):
                number += 1
                ops.append(self._page(name, name if pages == 1 else f"{name} {number}", chunk))
            else:
                ops += [self._op(step, name) for step in chunk]
        return ops

    def _page(self, transaction: str, page: str, steps: list[Step]) -> dict[str, object]:
        return {"op": "page", "page": self.pages((transaction, page)), "ops": self._ops(steps, transaction)}

    def _ops(self, steps: list[Step], transaction: str) -> list[dict[str, object]]:
        return [self._op(step, transaction) for step in steps]

    def _op(self, step: Step, transaction: str) -> dict[str, object]:
        if isinstance(step, Request):
            target = self._target_of(step)
            return self.requests.write(step, self._step(step, transaction), target, self.logins[target])
        if isinstance(step, CallStep):
            return self._call(step, transaction)
        if isinstance(step, Branch | If | Repeat):
            return self._block(step, transaction)
        return self._simple(step)

    def _step(self, step: Request | CallStep, transaction: str) -> int:
        """Return the index of a step.

        If hidden secrets make the names of different steps equal, a number is appended to the name.
        """
        written = self.written.setdefault((transaction, step.title), {})
        number = written.setdefault(step.written, len(written) + 1)
        return self.steps((transaction, step.title if number == 1 else f"{step.title} ({number})"))

    def _target_of(self, of: Request | CallStep | GivenCookie) -> int:
        found = target_of(of, self.file.defaults.target, self.spoken)
        return 0 if found is None else self.target_index[found]

    def _call(self, step: CallStep, transaction: str) -> dict[str, object]:
        write = Writer(self.variables, self.exports).write
        return {
            "op": "call",
            "step": self._step(step, transaction),
            "target": self._target_of(step),
            "do": step.operation(),
            "values": [None if text is None else write(text) for _, text in step.values()],
            "extract": [
                {
                    "into": {"list": self.lists(name)} if spec.fills_list else {"variable": self.variables(name)},
                    "column": 0 if spec.column is None else spec.column,
                    "pick": spec.pick,
                    "required": spec.required and spec.default is None,
                    "default": spec.default,
                }
                for name, spec in step.extract.items()
            ],
            "checks": [] if step.expect is None else step.expect.plan(write),
            "timeout_s": step.timeout,
            "on_failure": step.on_failure,
            **note_part(step, write),
        }

    def _simple(self, step: Think | Draw | Set | Push | Pop | Pick) -> dict[str, object]:
        """Compile a step that has no nested steps."""
        write = Writer(self.variables, self.exports).write
        match step:
            case Think():
                return {"op": "think", "pause": step.think.plan()}
            case Draw():
                return self._draw(step)
            case Set():
                ops = [
                    {"op": "set", "variable": self.variables(name), "value": write(text)}
                    for name, text in step.set.items()
                ]
                # The engine's operation `set` sets one variable. A step that sets several becomes several operations,
                # grouped by a loop with one iteration.
                return ops[0] if len(ops) == 1 else {"op": "loop", "count": 1, "ops": ops}
            case Push():
                return {"op": "push", "list": self.lists(step.to), "value": write(step.push)}
            case Pop():
                variable = self.variables(step.into)
                return {"op": "pop", "list": self.lists(step.pop), "variable": variable, "pick": step.pick}
            case Pick():
                return {"op": "pick", "list": self.lists(step.pick), "variable": self.variables(step.into)}

    def _draw(self, step: Draw) -> dict[str, object]:
        """Compile a step that reads a row from a pool. Only columns that templates use are stored in variables."""
        row = step.as_ or step.draw
        variables = [
            self.variables(f"{row}.{column}") if f"{row}.{column}" in self.read else None
            for column in self.columns[step.draw]
        ]
        return {"op": "draw", "pool": self.pools[step.draw], "variables": variables}

    def _block(self, step: Branch | If | Repeat, transaction: str) -> dict[str, object]:
        if isinstance(step, Repeat):
            count: Any = step.loop.min if step.loop.min == step.loop.max else step.loop.model_dump()
            return {"op": "loop", "count": count, "ops": self._ops(step.steps, transaction)}
        blocks = {"then": self._ops(step.then, transaction), "else": self._ops(step.else_, transaction)}
        if isinstance(step, Branch):
            return {"op": "branch", "percent": round(step.branch * 100, 9), **blocks}
        name = step.if_.filled or step.if_.empty or ""
        test = {"variable": self.variables(name), "is": "filled" if step.if_.filled else "empty"}
        return {"op": "if", "test": test, **blocks}

    def _group(self, name: str, group: Group) -> dict[str, object]:
        pacing = group.loop.pacing
        # Pacing sets the interval between the starts of two transactions. A default think time would lengthen this
        # interval, so the default is not used.
        think = group.loop.think if pacing is not None else group.loop.think or self.file.defaults.think
        return {
            "name": name,
            "share": group.share,
            "once": [{"op": "transaction", "transaction": self.transactions[once]} for once in group.once],
            "think": think.plan() if think is not None else None,
            "pacing": pacing.plan() if pacing is not None else None,
            "mix": [
                {"transaction": self.transactions[transaction], "weight": weight}
                for transaction, weight in group.loop.mix.items()
                if weight > 0
            ],
            "exit": [{"op": "transaction", "transaction": self.transactions[end]} for end in group.end],
            **({"cookies": group.cookies.plan(self._target_of)} if group.cookies != Cookies() else {}),
        }


def _between_thinks(steps: list[Step]) -> list[list[Step]]:
    """Split a list of steps before and after each think time."""
    chunks: list[list[Step]] = [[]]
    for step in steps:
        if isinstance(step, Think):
            chunks += [[step], []]
        else:
            chunks[-1].append(step)
    return [chunk for chunk in chunks if chunk]
