"""`towtank drive`: loads a running system, given by a URL or a workload file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from towtank.cli.options import AbortOn, MaySend, Send, SendHeader, receivers
from towtank.errors import ExitStatus


def command(
    target: Annotated[str, typer.Argument(help="URL (http://host:port/path or https://...), or a workload file.")],
    *,
    users: Annotated[
        int | None,
        typer.Option(help="Number of virtual users (closed load); default: 1, unless --rate or --trace is set."),
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Arrival rate (open load). [1/s]")] = None,
    trace: Annotated[
        str | None,
        typer.Option(help="CSV file of the arrival rate over time (open load), with columns time (s) and rate (1/s)."),
    ] = None,
    users_at_most: Annotated[
        int | None,
        typer.Option(help="Largest number of transactions in progress, with --rate or --trace; default: 10000."),
    ] = None,
    backlog_at_most: Annotated[
        int | None,
        typer.Option(
            help=(
                "Largest number of arrivals that wait to start, with --rate or --trace; further arrivals are "
                "dropped and counted as overflow. Default: 1000000."
            )
        ),
    ] = None,
    think: Annotated[str, typer.Option(help="Pause between a response and the next request.")] = "0 s",
    duration: Annotated[
        str | None,
        typer.Option(help="Duration of the measurement, after the ramp; default: 10 s, or the duration of the trace."),
    ] = None,
    ramp: Annotated[
        str | None,
        typer.Option(help="Time before the measurement in which the load rises to its full level; default: 0 s."),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="Number of threads that generate load; default: half the number of CPUs.")
    ] = None,
    timeout: Annotated[str, typer.Option(help="Time limit of a whole response; enforced within 1 ms.")] = "30 s",
    method: Annotated[str, typer.Option(help="HTTP method of the requests.")] = "GET",
    header: Annotated[list[str] | None, typer.Option(help="Header to send, 'Name: value'; repeatable.")] = None,
    body: Annotated[
        str | None, typer.Option(help="Text to send as the request body, or @FILE for the content of a file.")
    ] = None,
    insecure: Annotated[bool, typer.Option(help="Do not verify the server's certificate.")] = False,
    cacert: Annotated[
        str | None, typer.Option(help="PEM file of certificate authorities; default: those of this machine.")
    ] = None,
    cert: Annotated[str | None, typer.Option(help="PEM file of the client certificate; needs --key.")] = None,
    key: Annotated[str | None, typer.Option(help="PEM file of the client's private key.")] = None,
    connections: Annotated[
        str | None,
        typer.Option(
            help=(
                "Use of connections: one for each user (per-user), a pool of this number for each target, or a "
                "new connection for each request (new). Default: per-user."
            )
        ),
    ] = None,
    http2: Annotated[
        bool, typer.Option("--http2", help="Use HTTP/2, by ALPN with TLS or by prior knowledge without TLS.")
    ] = False,
    streams: Annotated[
        int | None,
        typer.Option(help="Number of concurrent requests on each connection of a pool, with --http2; default: 100."),
    ] = None,
    connect_to: Annotated[
        list[str] | None,
        typer.Option(help="Connect to host:port or unix:/path instead of the host in the URL; repeatable."),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(help="Source IP address for connections; if repeated, addresses are used in turn."),
    ] = None,
    arrivals: Annotated[str, typer.Option(help="Arrival process with --rate: constant or poisson.")] = "constant",
    seed: Annotated[int, typer.Option(help="Seed of the random generator.")] = 1,
    pin: Annotated[str | None, typer.Option(help="CPUs that the load threads run on, for example 1 or 0,1.")] = None,
    address: Annotated[
        list[str] | None,
        typer.Option(
            help=("Address of a target of the workload file, NAME=host:port or NAME=https://host:port; repeatable.")
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Set a parameter of the workload file, parameters.NAME=value; repeatable."),
    ] = None,
    watch: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help=(
                "Process of this machine to observe in addition to the server process of the target: pid=, "
                "pid_file=, port=, unit=, container= or command=REGEX; repeatable."
            ),
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Limit that decides if the measurement is valid, for example interference='20 %'; repeatable.",
        ),
    ] = None,
    abort_on: AbortOn = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the recorded data; default: the data are not saved.")
    ] = None,
    i_may_load: Annotated[
        list[str] | None,
        typer.Option(help="Allow load on this host outside loopback and private address ranges; repeatable."),
    ] = None,
    send: Send = None,
    send_header: SendHeader = None,
    i_may_send: MaySend = None,
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    quiet: Annotated[bool, typer.Option(help="Hide progress output.")] = False,
) -> int:
    """Load a running system: a URL, or the targets of a workload file."""
    from towtank.cli.output import console  # noqa: PLC0415
    from towtank.conduct import DriveOptions, LiveSending, StopRequest, display_for, drive_target  # noqa: PLC0415

    options = DriveOptions(
        target,
        users=users,
        rate=rate,
        trace=trace,
        users_at_most=users_at_most,
        backlog_at_most=backlog_at_most,
        think=think,
        duration=duration,
        ramp=ramp,
        threads=threads,
        timeout=timeout,
        method=method,
        header=header or (),
        body=body,
        insecure=insecure,
        cacert=cacert,
        cert=cert,
        key=key,
        connections=connections,
        http2=http2,
        streams=streams,
        connect_to=connect_to or (),
        source=source or (),
        arrivals=arrivals,
        seed=seed,
        pin=pin,
        changes=set_ or (),
        watch=watch or (),
        limit=limit or (),
        abort_on=abort_on or (),
    )
    options.checked()
    live_sending = LiveSending(
        receivers(send, i_may_send, send_header), study="drive", run=out.name if out else "drive"
    )
    with StopRequest() as stop:
        outcome = drive_target(
            options,
            display_for(console(quiet=quiet), quiet=quiet),
            stop,
            addresses=address or (),
            out=out,
            allowed=i_may_load or (),
            live_sending=live_sending,
        )
        for note in outcome.notes:
            console().print(f"note: {note}", markup=False, soft_wrap=True)
        _print(outcome.document, json=json)
        if stop.requested:
            return ExitStatus.STOPPED
    if outcome.aborted:
        return ExitStatus.OBJECTIVE_MISSED
    return ExitStatus.DONE if outcome.document["valid"] else ExitStatus.INVALID_MEASUREMENT


def _print(document: Mapping[str, object], *, json: bool) -> None:
    from towtank.cli.output import print_json, printer  # noqa: PLC0415

    if json:
        print_json(document)
        return
    from towtank.cli.drive_table import drive_table  # noqa: PLC0415

    for part in drive_table(document):
        printer().print(part)
