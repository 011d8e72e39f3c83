"""Loads a running system, and returns the measurement."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from towtank.api import notebook
from towtank.api.calls import changes_of, faults_of, text
from towtank.api.frames import Frame
from towtank.api.limits import Limits, limit_texts
from towtank.api.measured import Doubt, Times, Transaction, Verdict, times_of_ms
from towtank.api.quantity import PER_SECOND, RATIO, Quantity, interval_of, number
from towtank.digging import dig

if TYPE_CHECKING:
    from towtank.api.diagnosed import Diagnosis
    from towtank.api.progress import Callback

Json = Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Drive:
    """Result of `towtank.drive`: the measurement of one target under load.

    Attributes
    ----------
    notes : tuple of str
        Messages about the run, for the user.
    """

    _document: Json = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def document(self) -> dict[str, Any]:
        """Copy of the complete result as a dict, as `towtank drive --json` prints it."""
        return copy.deepcopy(dict(self._document))

    @property
    def target(self) -> str:
        """URL or file of the target, without secrets."""
        return str(self._document["target"])

    @property
    def verdict(self) -> Verdict:
        """Verdict on the measurement, with the doubts that led to the verdict."""
        levels = {str(each["level"]) for each in self._document["doubts"]}
        level = "invalid" if not self._document["valid"] else "suspect" if "suspect" in levels else "valid"
        relaxed = tuple(str(dig(limit, "limit")) for limit in dig(self._document, "relaxed_limits") or ())
        return Verdict(level, self.doubts, relaxed)

    @property
    def valid(self) -> bool:
        """True if the measurement is valid or suspect."""
        return bool(self._document["valid"])

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Doubts about the measurement, the most serious first."""
        return tuple(map(Doubt.of, self._document["doubts"]))

    @property
    def diagnosis(self) -> Diagnosis:
        """Diagnosis: what limits the target under this load, with the evidence."""
        from towtank.api.diagnosed import Diagnosis  # noqa: PLC0415 - imports the analysis

        return Diagnosis.read(self._document["diagnosis"])

    @property
    def window_s(self) -> float:
        """Planned length of the steady stage, which is the measurement window. [s]"""
        return float(self._document["window_s"])

    @property
    def users(self) -> int | None:
        """Number of users of a closed load; None for an open load. [1]"""
        found = self._document["users"]
        return None if found is None else int(found)

    @property
    def rate(self) -> float | None:
        """Arrival rate of an open load; None for a closed load. [1/s]"""
        found = self._document["rate"]
        return None if found is None else float(found)

    @property
    def requests(self) -> int:
        """Number of requests that ended in the planned steady stage, including failed requests. [1]"""
        return int(self._document["requests"])

    @property
    def errors(self) -> int:
        """Number of requests that failed in the planned steady stage. [1]"""
        return int(self._document["errors"])

    @property
    def errors_share(self) -> Quantity | None:
        """Share of failed requests in all ended requests, in [0, 1]; None if no request ended. [ratio]"""
        share = self.errors / self.requests if self.requests else None
        return number(share, RATIO, self._about("share of errors"))

    @property
    def errors_by_kind(self) -> Mapping[str, int]:
        """Number of failed requests by kind, for example `timeout` or `status_5xx`. [1]"""
        return MappingProxyType(dict(self._document["errors_by_kind"]))

    @property
    def status_codes(self) -> Mapping[str, int] | None:
        """Number of complete responses by status code, for example `200`; None if status codes were not
        recorded. [1]
        """
        counts = self._document.get("status_codes")
        return None if counts is None else MappingProxyType(dict(counts))

    @property
    def throughput_per_s(self) -> Quantity | None:
        """Rate of successful requests. [1/s]"""
        value, known = self._document["throughput_per_s"], self._document["estimates"]["throughput_per_s"]
        if value is None:
            return None
        return Quantity(float(value), PER_SECOND, interval_of(known), self._about("throughput"))

    @property
    def response_time_s(self) -> Times:
        """Response times, from the intended start of each request to the end of its response. [s]"""
        return self._times("response")

    @property
    def response_time_ms(self) -> Times:
        """Response times in milliseconds. [ms]"""
        return self.response_time_s.in_ms()

    @property
    def exchange_time_s(self) -> Times:
        """Exchange times, from the actual start of each request to the end of its response. [s]"""
        return self._times("exchange")

    @property
    def mean(self) -> Quantity | None:
        """Mean response time. [s]"""
        return self.response_time_s.mean

    @property
    def p50(self) -> Quantity | None:
        """Median of the response time. [s]"""
        return self.response_time_s.p50

    @property
    def p95(self) -> Quantity | None:
        """95th percentile of the response time. [s]"""
        return self.response_time_s.p95

    @property
    def p99(self) -> Quantity | None:
        """99th percentile of the response time. [s]"""
        return self.response_time_s.p99

    @property
    def transactions(self) -> Mapping[str, Transaction]:
        """Results of each transaction of a workload, by name. Their response times have no confidence intervals."""
        return MappingProxyType(
            {
                name: Transaction(
                    name,
                    number(each["throughput_per_s"], PER_SECOND, self._about(f"throughput of {name}")),
                    times_of_ms(each["response_time_ms"], {}, self._about(f"response time of {name}")),
                    number(each["errors"] / each["count"] if each["count"] else None, RATIO),
                )
                for name, each in self._document["transactions"].items()
            }
        )

    @property
    def generator(self) -> Mapping[str, Any]:
        """Resource use of the load generator: `cpu_s`, `cpu_us_per_request`, `start_lag_ms_p99`, `peak_rss_bytes`,
        `saturated`.
        """
        return MappingProxyType(dict(self._document["generator"]))

    def frame(self) -> Frame:
        """Return the results of each second of the measurement window.

        Returns
        -------
        Frame
            `t_s` (end of each second since the start of the window), `requests`, `errors`, `p95_ms`. [s], [1], [ms]
        """
        rows = self._document["intervals"]
        return Frame.of({name: [row[name] for row in rows] for name in ("t_s", "requests", "errors", "p95_ms")})

    def _times(self, kind: str) -> Times:
        known = self._document["estimates"][f"{kind}_time_s"]
        return times_of_ms(self._document[f"{kind}_time_ms"], known, self._about(f"{kind} time"))

    def _about(self, what: str) -> str:
        found = self.verdict
        reasons = [doubt.message for doubt in found.doubts if doubt.level == found.level]
        return f"{what} of {self.target}, a measurement that is {': '.join([str(found), *reasons[:1]])}"

    def __repr__(self) -> str:
        load = f"{self.users} users" if self.rate is None else f"{self.rate:g} /s"
        return (
            f"<Drive of {self.target} with {load}: {self.verdict}, {self.throughput_per_s}, p95 {self.p95}, "
            f"{self.errors} of {self.requests} requests failed>"
        )

    def _repr_html_(self) -> str:
        from towtank.report import drive_figure  # noqa: PLC0415 - heavy, and only for notebooks

        return notebook.page(
            notebook.heading(
                f"{self.target}: {notebook.text(self.throughput_per_s)}, {self.errors} of {self.requests} failed"
            ),
            notebook.verdict(self.verdict, (doubt.message for doubt in self.doubts)),
            notebook.picture(drive_figure(self._document)),
            notebook.times(self.response_time_s),
        )


def drive(
    target: str,
    *,
    users: int | None = None,
    rate: float | None = None,
    duration: float | str | None = None,
    ramp: float | str | None = None,
    think: float | str = 0.0,
    timeout: float | str = 30.0,
    trace: Path | str | None = None,
    arrivals: str = "constant",
    users_at_most: int | None = None,
    backlog_at_most: int | None = None,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: str | None = None,
    insecure: bool = False,
    cacert: Path | str | None = None,
    cert: Path | str | None = None,
    key: Path | str | None = None,
    connections: int | str | None = None,
    http2: bool = False,
    streams: int | None = None,
    connect_to: Sequence[str] = (),
    source: Sequence[str] = (),
    watch: Sequence[str] = (),
    limits: Limits | None = None,
    threads: int | None = None,
    pin: Sequence[int] | None = None,
    seed: int = 1,
    addresses: Mapping[str, str] | Sequence[str] = (),
    changes: Mapping[str, object] | None = None,
    out: Path | str | None = None,
    allowed: Sequence[str] = (),
    progress: Callback | bool | None = None,
) -> Drive:
    """Load a running system: a URL, or the targets of a workload file.

    The call does not change signal handlers, environment or CPU affinity of the calling process. An interrupt ends the
    load, as described for `towtank.run`.

    Parameters
    ----------
    target : str
        URL (`http://host:port/path` or `https://...`), or a workload file.
    users : int, optional
        Number of users of a closed load; default: 1, unless `rate` or `trace` is set. [1]
    rate : float, optional
        Arrival rate of an open load. [1/s]
    duration, ramp : float or str, optional
        Duration of the measurement (default: 10 s), and of the rise of the load before it, for example `5.0` or `"5
        s"`. [s]
    think, timeout : float or str
        Pause between a response and the next request; time limit of a whole response. [s]
    trace : Path or str, optional
        CSV file of the arrival rate over time, with columns time [s] and rate [1/s].
    arrivals : str, default "constant"
        Arrival process with `rate`: `constant` or `poisson`.
    users_at_most, backlog_at_most : int, optional
        Limits of an open load: largest number of transactions in progress, and of arrivals that wait to start. [1]
    method : str, default "GET"
        HTTP method of the requests.
    headers : mapping of str to str, optional
        Headers to send, by name.
    body : str, optional
        Text to send as the request body, or `@FILE` for the content of a file.
    insecure : bool, default False
        If true, the server's certificate is not verified.
    cacert, cert, key : Path or str, optional
        PEM files with the certificate authorities, the client certificate and its private key.
    connections : int or str, optional
        Use of connections: one for each user (`per-user`, the default), a pool of this number for each target, or a new
        connection for each request (`new`).
    http2 : bool, default False
        If true, requests use HTTP/2.
    streams : int, optional
        Number of concurrent requests on each HTTP/2 connection of a pool. [1]
    connect_to, source : sequence of str
        Addresses to connect to instead of the URL's host, and local addresses of the connections.
    watch : sequence of str
        Processes of this machine to observe in addition to the server process of the target, for example
        `unit=shop.service` or `command=app.py`.
    limits : Limits, optional
        Limits beyond which the measurement is suspect or invalid, for example `{"interference": "20 %"}`; the defaults
        are in `Limits`.
    threads : int, optional
        Number of threads that generate load; default: half the number of CPUs. [1]
    pin : sequence of int, optional
        Numbers of the CPUs for the load threads of the engine; does not affect the calling process.
    seed : int, default 1
        Seed of the random generators.
    addresses : mapping of str to str, or sequence of str
        Address (`host:port`) of each target of a workload file, by name.
    changes : mapping of str to object, optional
        Parameters of a workload file to change, for example `{"parameters.size": 3}`.
    out : Path or str, optional
        Folder for the recorded data; by default, the data are not saved.
    allowed : sequence of str
        Hosts that Towtank may load although they are outside the loopback and private address ranges.
    progress : callable or bool, optional
        Function to call with a `Progress` for each step; True shows the steps on the terminal or in the notebook.

    Returns
    -------
    Drive
        Result of the measurement, even if it is invalid; check `valid`.

    Raises
    ------
    StudyError
        If an argument is wrong; `faults` lists all faults.
    TargetError
        If a target accepts no connection.
    EngineError
        If the engine ended abnormally, or the disk is full.
    KeyboardInterrupt
        If the load was interrupted.
    """
    from towtank.api.conducting import conducted  # noqa: PLC0415 - imports the analysis
    from towtank.conduct import DriveOptions, drive_target  # noqa: PLC0415

    options = DriveOptions(
        str(target),
        users=users,
        rate=rate,
        trace=_path(trace),
        users_at_most=users_at_most,
        backlog_at_most=backlog_at_most,
        think=text(think, "s"),
        duration=None if duration is None else text(duration, "s"),
        ramp=None if ramp is None else text(ramp, "s"),
        threads=threads,
        timeout=text(timeout, "s"),
        method=method,
        header=[f"{name}: {value}" for name, value in (headers or {}).items()],
        body=body,
        insecure=insecure,
        cacert=_path(cacert),
        cert=_path(cert),
        key=_path(key),
        connections=None if connections is None else str(connections),
        http2=http2,
        streams=streams,
        connect_to=connect_to,
        source=source,
        watch=watch,
        limit=[f"{name}={value}" for name, value in limit_texts(limits).items()],
        arrivals=arrivals,
        seed=seed,
        pin=None if pin is None else ",".join(map(str, pin)),
        changes=[f"{path}={value}" for path, value in changes_of(changes).items()],
    )
    places = [f"{name}={place}" for name, place in addresses.items()] if isinstance(addresses, Mapping) else addresses
    renamed = {
        "--header": "headers",
        "--address": "addresses",
        "--set": "changes",
        "--i-may-load": "allowed",
        "--limit": "limits",
    }
    with faults_of("towtank.drive", {**renamed, "TARGET": "target"}):
        options.checked()
        outcome = conducted(
            lambda display, stop: drive_target(
                options, display, stop, addresses=places, out=None if out is None else Path(out), allowed=allowed
            ),
            progress,
        )
    return Drive(outcome.document, tuple(outcome.notes))


def _path(path: Path | str | None) -> str | None:
    return None if path is None else str(path)
