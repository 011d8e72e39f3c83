"""Checks the options of `towtank drive`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from towtank.conduct.aborting import check_abort_on, check_transactions
from towtank.conduct.connecting import ConnectionOptions
from towtank.conduct.drive import BACKLOG_AT_MOST, USERS_AT_MOST, Exchange, Load
from towtank.errors import COMMAND_LINE
from towtank.option_check import OptionCheck
from towtank.study import Limits, Objective
from towtank.system import watched_model
from towtank.treecheck import validate_tree
from towtank.yamlfile import parse_value

ARRIVALS = ("constant", "poisson")
DURATION, RAMP = "10 s", "0 s"


@dataclass(frozen=True)
class DriveOptions:
    """Options of `towtank drive` as given on the command line; None for an omitted option without a default."""

    target: str
    users: int | None = None
    rate: float | None = None
    trace: str | None = None
    users_at_most: int | None = None
    backlog_at_most: int | None = None
    think: str = "0 s"
    duration: str | None = None
    ramp: str | None = None
    threads: int | None = None
    timeout: str = "30 s"
    method: str = "GET"
    header: Sequence[str] = ()
    body: str | None = None
    insecure: bool = False
    cacert: str | None = None
    cert: str | None = None
    key: str | None = None
    connections: str | None = None
    http2: bool = False
    streams: int | None = None
    connect_to: Sequence[str] = ()
    source: Sequence[str] = ()
    arrivals: str = "constant"
    seed: int = 1
    pin: str | None = None
    changes: Sequence[str] = ()
    watch: Sequence[str] = ()
    limit: Sequence[str] = ()
    abort_on: Sequence[str] = ()

    @property
    def limits(self) -> dict[str, float]:
        """Limits set with `--limit`, by name, in SI units. Invalid values are ignored here; `checked` reports them."""
        return self._limits(OptionCheck())

    @property
    def watched(self) -> list[watched_model.Watched]:
        """Processes to observe, as described by `--watch`. Raises an error for an invalid value; `checked` reports
        it.
        """
        return [watched_model.parse_watched(text) for text in self.watch]

    def aborting(self, transactions: Sequence[str]) -> list[Objective]:
        """Return the objectives that end the load early, for a load with these transactions.

        Raises
        ------
        StudyError
            If an objective is about another transaction.
        """
        check = OptionCheck()
        objectives = check_abort_on(check, self.abort_on)
        check_transactions(check, objectives, transactions)
        check.refuse_faults()
        return objectives

    def checked(self) -> tuple[Exchange, Load, ConnectionOptions]:
        """Check the options, and return the request, the load and the connection options.

        Raises
        ------
        StudyError
            If an option is invalid; the error lists every fault.
        """
        check = OptionCheck()
        load = self._load(check)
        exchange = Exchange(
            self.target,
            check.method(self.method),
            check.headers(list(self.header)),
            check.body(self.body),
            check.positive("--timeout", self.timeout),
            tuple(self.changes),
        )
        for text in self.watch:
            check.form("--watch", text, watched_model.parse_watched)
        self._limits(check)
        check_abort_on(check, self.abort_on)
        streams = check.at_least_one("--streams", self.streams)
        check.refuse_faults()
        tls = (self.insecure, self.cacert, self.cert, self.key)
        connections = ConnectionOptions(
            self.connections, tuple(self.source), tuple(self.connect_to), *tls, http2=self.http2, streams=streams
        )
        return exchange, load, connections

    def _limits(self, check: OptionCheck) -> dict[str, float]:
        """Parse the values of `--limit` by the rules of the section `limits` of a study file."""
        texts = check.pairs("--limit", list(self.limit))
        if not texts:
            return {}
        found = validate_tree(parse_value(json.dumps(texts), COMMAND_LINE), Limits)
        for fault in found.faults:
            check.fault("--limit", f"{fault.where}: {fault.message}")
        return {} if found.model is None else found.model.model_dump(mode="python", include=set(texts))

    def _load(self, check: OptionCheck) -> Load:
        others = {"--rate": self.rate, "--users": self.users, "--duration": self.duration, "--ramp": self.ramp}
        is_open = self.rate is not None or self.trace is not None
        return Load(
            users=check.at_least_one("--users", self.users) or 1,
            rate=check.rate(self.rate, self.users),
            curve=check.trace(self.trace, others),
            users_at_most=check.bound("--users-at-most", self.users_at_most, USERS_AT_MOST, 1, is_open=is_open),
            backlog_at_most=check.bound("--backlog-at-most", self.backlog_at_most, BACKLOG_AT_MOST, 0, is_open=is_open),
            think_s=check.duration("--think", self.think),
            duration_s=check.positive("--duration", self.duration or DURATION),
            ramp_s=check.duration("--ramp", self.ramp or RAMP),
            arrivals=check.one_of("--arrivals", self.arrivals, ARRIVALS),
            threads=check.at_least_one("--threads", self.threads),
            seed=check.seed(self.seed),
            cpus=check.cpus(self.pin),
        )
