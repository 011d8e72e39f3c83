"""`towtank drive`: loads one running target, given by a URL or a workload file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from towtank.cli.options import MaySend, Send, SendHeader, receivers
from towtank.errors import ExitStatus


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
    timeout: Annotated[str, typer.Option(help="Time for a whole response; it passes at most 1 ms late.")] = "30 s",
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
    seed: Annotated[int, typer.Option(help="Seed of the random generator.")] = 1,
    pin: Annotated[str | None, typer.Option(help="CPUs to keep the load threads on, as 1 or 0,1.")] = None,
    address: Annotated[
        list[str] | None,
        typer.Option(
            help="With a workload file: address of a target, NAME=host:port or NAME=https://host:port; repeatable."
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
    from towtank.cli.output import console  # noqa: PLC0415
    from towtank.conduct.display import display_for  # noqa: PLC0415
    from towtank.conduct.drive_options import DriveOptions  # noqa: PLC0415
    from towtank.conduct.driving import drive_target  # noqa: PLC0415
    from towtank.conduct.live_sending import LiveSending  # noqa: PLC0415
    from towtank.conduct.stopping import StopRequest  # noqa: PLC0415

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
    return ExitStatus.DONE if outcome.document["valid"] else ExitStatus.INVALID_MEASUREMENT


def _print(document: dict[str, Any], *, json: bool) -> None:
    from towtank.cli.output import print_json, printer  # noqa: PLC0415

    if json:
        print_json(document)
        return
    from towtank.cli.drive_table import drive_table  # noqa: PLC0415

    for part in drive_table(document):
        printer().print(part)
