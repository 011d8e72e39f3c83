"""Defines command-line options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from towtank.option_check import OptionCheck

if TYPE_CHECKING:
    from towtank.sending import Receiver

Send = Annotated[
    list[str] | None,
    typer.Option(help="Send measurements to this receiver during the run: prometheus=URL or otlp=URL; repeatable."),
]
SendHeader = Annotated[list[str] | None, typer.Option(help="HTTP header for --send, 'Name: value'; repeatable.")]
ModelArgument = Annotated[str, typer.Argument(metavar="FILE", help="Model file.")]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a value of the file, for example stations.cpu.servers=8; repeatable.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
AbortOn = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OBJECTIVE",
        help="End a load early that clearly misses this objective, such as 'p95 < 500 ms' or 'errors < 1 %'.",
    ),
]
MaySend = Annotated[
    list[str] | None,
    typer.Option(
        help=("Allow results to be sent to this host outside loopback and private address ranges; repeatable.")
    ),
]


def receivers(send: list[str] | None, allowed: list[str] | None, headers: list[str] | None) -> tuple[Receiver, ...]:
    """Read the receivers of the option `--send`; empty if the option is not used."""
    if not send and not headers:
        return ()
    from towtank.sending import read_receivers as found  # noqa: PLC0415

    check = OptionCheck()
    pairs = check.headers(headers, "--send-header")
    check.refuse_faults()
    return tuple(found(send or [], allowed or [], pairs))
