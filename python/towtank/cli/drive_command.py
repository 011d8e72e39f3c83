"""`towtank drive`: load one URL, or one workload file, against something that already runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from towtank.cli.options import COMMAND_LINE, Given, MaySend, Send, SendHeader, receivers
from towtank.errors import ExitStatus, StudyError

if TYPE_CHECKING:
    from towtank.conduct.connecting import Reach
    from towtank.conduct.drive import Exchange, Load
    from towtank.conduct.outlets import Outlets
    from towtank.conduct.stopping import StopRequest
    from towtank.results.folder import RunFolder

_ARRIVALS = ("constant", "poisson")


def command(
    target: Annotated[str, typer.Argument(help="URL (http:// or https://host:port/path) or a workload file.")],
    *,
    users: Annotated[int | None, typer.Option(help="Virtual users (closed load); 1 if neither users nor rate.")] = None,
    rate: Annotated[float | None, typer.Option(help="Arrivals per second (open load).")] = None,
    trace: Annotated[
        str | None,
        typer.Option(help="CSV file with columns time (s) and rate (1/s) that arrivals follow (open load)."),
    ] = None,
    users_at_most: Annotated[
        int | None, typer.Option(help="Transactions in hand at once, with --rate or --trace; 10000 if left out.")
    ] = None,
    backlog_at_most: Annotated[
        int | None,
        typer.Option(
            help="Arrivals that may wait while all are in hand; more are not started (overflow); 1000000 if left out."
        ),
    ] = None,
    think: Annotated[str, typer.Option(help="Pause between an answer and the next request.")] = "0 s",
    duration: Annotated[
        str | None,
        typer.Option(help="Length of the measured window, after the ramp; 10 s, or that of the trace, if left out."),
    ] = None,
    ramp: Annotated[
        str | None, typer.Option(help="Time over which users start or the rate grows; 0 s if left out.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Load threads; half of the CPUs if left out.")] = None,
    timeout: Annotated[str, typer.Option(help="Time for a whole response.")] = "30 s",
    method: Annotated[str, typer.Option(help="HTTP method.")] = "GET",
    header: Annotated[list[str] | None, typer.Option(help="Header, 'Name: value'; repeatable.")] = None,
    body: Annotated[str | None, typer.Option(help="Text to send, or @FILE.")] = None,
    insecure: Annotated[bool, typer.Option(help="Do not verify the certificate of the server.")] = False,
    cacert: Annotated[str | None, typer.Option(help="PEM file of authorities, in place of this host's.")] = None,
    cert: Annotated[str | None, typer.Option(help="PEM file of the client's certificate, with --key.")] = None,
    key: Annotated[str | None, typer.Option(help="PEM file of the client's key.")] = None,
    connections: Annotated[
        str | None, typer.Option(help="per-user (the default), N for a pool of N per target, or new for each request.")
    ] = None,
    http2: Annotated[
        bool, typer.Option("--http2", help="Speak HTTP/2: by prior knowledge, or by ALPN with TLS.")
    ] = False,
    streams: Annotated[
        int | None, typer.Option(help="Requests at once over each connection of a pool, with --http2; 100 if left out.")
    ] = None,
    connect_to: Annotated[
        list[str] | None,
        typer.Option(help="Connect here in place of the URL's host: host:port or unix:/path; repeatable."),
    ] = None,
    source: Annotated[list[str] | None, typer.Option(help="Address to connect from, in turn; repeatable.")] = None,
    arrivals: Annotated[str, typer.Option(help="constant or poisson, with --rate.")] = "constant",
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 1,
    pin: Annotated[str | None, typer.Option(help="CPUs to keep the load threads on, as 1 or 0,1.")] = None,
    address: Annotated[
        list[str] | None,
        typer.Option(
            help="With a workload file: where a target is, NAME=host:port or NAME=https://host:port; repeatable."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="With a workload file: sets a parameter, parameters.NAME=value; repeatable."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Keep the run folder here.")] = None,
    i_may_load: Annotated[list[str] | None, typer.Option(help="Host outside of loopback and private ranges.")] = None,
    send: Send = None,
    send_header: SendHeader = None,
    i_may_send: MaySend = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
    quiet: Annotated[bool, typer.Option(help="No progress.")] = False,
) -> int:
    """Load one URL, or one workload file, against something that already runs."""
    from towtank.conduct.connecting import Reach  # noqa: PLC0415
    from towtank.conduct.drive import BACKLOG_AT_MOST, USERS_AT_MOST, Exchange, Load  # noqa: PLC0415
    from towtank.conduct.outlets import Outlets  # noqa: PLC0415

    given = Given()
    others = {"--rate": rate, "--users": users, "--duration": duration, "--ramp": ramp}
    is_open = rate is not None or trace is not None
    load = Load(
        users=given.at_least_one("--users", users) or 1,
        rate=given.rate(rate, users),
        curve=given.trace(trace, others),
        users_at_most=given.bound("--users-at-most", users_at_most, USERS_AT_MOST, 1, is_open=is_open),
        backlog_at_most=given.bound("--backlog-at-most", backlog_at_most, BACKLOG_AT_MOST, 0, is_open=is_open),
        think_s=given.duration("--think", think),
        duration_s=given.positive("--duration", duration or "10 s"),
        ramp_s=given.duration("--ramp", ramp or "0 s"),
        arrivals=given.one_of("--arrivals", arrivals, _ARRIVALS),
        threads=given.at_least_one("--threads", threads),
        seed=given.seed(seed),
        cpus=given.cpus(pin),
    )
    exchange = Exchange(
        target,
        given.method(method),
        given.headers(header),
        given.body(body),
        given.positive("--timeout", timeout),
        tuple(set_ or ()),
    )
    streams = given.at_least_one("--streams", streams)
    given.refuse_faults()
    ways = (tuple(source or ()), tuple(connect_to or ()), insecure, cacert, cert, key)
    reach = Reach(connections, *ways, http2=http2, streams=streams)
    outlets = Outlets(receivers(send, i_may_send, send_header), study="drive", run=out.name if out else "drive")
    return _drive(
        exchange, load, reach, address or [], out=out, allowed=i_may_load or [], json=json, quiet=quiet, outlets=outlets
    )


def _drive(
    exchange: Exchange,
    load: Load,
    reach: Reach,
    addresses: list[str],
    *,
    out: Path | None,
    allowed: list[str],
    json: bool,
    quiet: bool,
    outlets: Outlets,
) -> int:
    from towtank.cli.output import console  # noqa: PLC0415
    from towtank.conduct.display import display_for  # noqa: PLC0415
    from towtank.conduct.drive import conduct_drive  # noqa: PLC0415
    from towtank.conduct.drive_targets import prepare_plan  # noqa: PLC0415
    from towtank.conduct.stopping import StopRequest  # noqa: PLC0415
    from towtank.secrets import redacted_text  # noqa: PLC0415

    shown = redacted_text(exchange.url)
    with StopRequest() as stop, _run_folder(out, load, stop) as run:
        plan = prepare_plan(run, exchange, load, addresses, allowed, reach=reach)
        with display_for(console(quiet=quiet), quiet=quiet) as display:
            outcome = conduct_drive(run, shown, plan, stop, display, outlets=outlets)
        document = {**_document(run, shown), **_sent(run)}
        for note in outcome.notes:
            console().print(f"note: {note}", markup=False, soft_wrap=True)
        _print(document, json=json)
        if stop.requested:
            return ExitStatus.STOPPED
    return ExitStatus.DONE if document["valid"] else ExitStatus.INVALID_MEASUREMENT


def _document(run: RunFolder, target: str) -> dict[str, Any]:
    from towtank.analysis import drive_document  # noqa: PLC0415

    document: dict[str, Any] = drive_document(run, target)
    return document


def _sent(run: RunFolder) -> dict[str, Any]:
    """What receivers took while the run went on; nothing where nothing was sent."""
    return next(({"sent": event["receivers"]} for event in run.events() if event.get("k") == "sent"), {})


@contextmanager
def _run_folder(out: Path | None, load: Load, stop: StopRequest) -> Iterator[RunFolder]:
    """The run folder: kept where the user names one and the load began, else removed at the end."""
    import shutil  # noqa: PLC0415

    from towtank.conduct.drive import manifest  # noqa: PLC0415
    from towtank.conduct.provenance import require_own  # noqa: PLC0415
    from towtank.results.folder import RunFolder  # noqa: PLC0415
    from towtank.system.scratch import make_scratch  # noqa: PLC0415

    _refuse_results(out)
    if out is not None:
        require_own(out)
    made = out is None or not out.exists()
    path = out or make_scratch("drive")
    remove = partial(shutil.rmtree, path, ignore_errors=True)
    stop.kept, stop.leaving = (str(out), None) if out is not None else (None, remove)
    try:
        run = RunFolder.create(path, manifest(load))
        yield run
    except (StudyError, OSError):
        # Nothing was recorded. An empty run folder would make the next attempt fail.
        if made and not any((path / "engine").glob("*")):
            remove()
        raise
    finally:
        if out is None:
            remove()


def _refuse_results(out: Path | None) -> None:
    """Refuse an output folder that already holds a run or a study."""
    from towtank.results.folder import RUN_MANIFEST, STUDY_MANIFEST  # noqa: PLC0415

    if out is not None and out.exists() and not out.is_dir():
        raise StudyError.at(COMMAND_LINE, f"must be a folder, got the file {str(out)!r} instead", where="--out")
    if out is not None and any((out / name).exists() for name in (RUN_MANIFEST, STUDY_MANIFEST)):
        message = f"must be a folder without a run or a study in it, got {str(out)!r} instead"
        raise StudyError.at(COMMAND_LINE, message, where="--out")


def _print(document: dict[str, Any], *, json: bool) -> None:
    from towtank.cli.output import print_json, printer  # noqa: PLC0415

    if json:
        print_json(document)
        return
    from towtank.cli.drive_table import drive_table  # noqa: PLC0415

    for part in drive_table(document):
        printer().print(part)
