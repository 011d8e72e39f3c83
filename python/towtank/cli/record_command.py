"""`towtank record proxy|browser`: records a session of a browser or another client as a workload."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from towtank.errors import ExitStatus

if TYPE_CHECKING:
    from towtank.cli.options import OptionCheck
    from towtank.record import Authority, BrowserAction, Recording

group = typer.Typer(
    help="Record a session as a workload, through a proxy or in a headless browser.", no_args_is_help=True
)

# Number of positions that are printed with each note. A browser repeats its headers in every request, so further
# positions say nothing new. [1]
_PLACES_SHOWN = 1
_Out = Annotated[Path | None, typer.Option(help="Workload file to write; default: standard output.")]
_Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
_Har = Annotated[
    Path | None, typer.Option(help="Also save the recording to this file as an HTTP Archive; it contains secrets.")
]
_Only = Annotated[list[str] | None, typer.Option(help="Only record requests to this host; repeatable.")]
_Passwords = Annotated[
    bool, typer.Option("--keep-passwords", help="Copy recorded passwords into the parameters of the workload.")
]
_Insecure = Annotated[bool, typer.Option("--insecure", help="Do not verify certificates of servers.")]
_Authorities = Annotated[
    str | None, typer.Option("--cacert", help="PEM file of certificate authorities; default: those of this machine.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print targets, transactions and notes of the recording as JSON.")]
_Quiet = Annotated[bool, typer.Option("--quiet", help="Hide progress output.")]


@group.command("proxy")
def proxy(
    *,
    listen: Annotated[str, typer.Option(help="Host and port that the proxy listens on.")] = "127.0.0.1:8899",
    out: _Out = None,
    force: _Force = False,
    har: _Har = None,
    only: _Only = None,
    for_: Annotated[
        str | None,
        typer.Option("--for", help="Stop recording after this time, for example '10 min'; default: Ctrl-C stops."),
    ] = None,
    no_tls: Annotated[bool, typer.Option("--no-tls", help="Forward HTTPS connections without recording them.")] = False,
    listen_anywhere: Annotated[
        bool,
        typer.Option(
            "--listen-anywhere",
            help="Accept clients from other machines; everyone who can connect to the proxy may use it.",
        ),
    ] = False,
    password: Annotated[
        bool,
        typer.Option("--password", help=("Generate and print a password, and refuse clients that do not send it.")),
    ] = False,
    keep_authority: Annotated[
        bool,
        typer.Option(
            "--keep-authority", help="Keep the certificate authority for later recordings; it is valid for 30 days."
        ),
    ] = False,
    keep_passwords: _Passwords = False,
    insecure: _Insecure = False,
    cacert: _Authorities = None,
    json: _Json = False,
    quiet: _Quiet = False,
) -> None:
    """Record the requests of a browser or another client through a local proxy."""
    from towtank.cli.options import OptionCheck  # noqa: PLC0415
    from towtank.conduct import StopRequest, state_folder  # noqa: PLC0415
    from towtank.record import PROXY_USER, Proxy, Recorder, Recording, archive_at, authority_in, record_proxy, trust_of  # noqa: PLC0415

    check = OptionCheck()
    address = _address(check, listen, anywhere=listen_anywhere)
    for_s = check.positive("--for", for_) if for_ is not None else None
    _files(check, out, har, force=force)
    check.refuse_faults()
    folder = state_folder() / "record"
    lent: AbstractContextManager[Authority | None]
    lent = nullcontext() if no_tls else authority_in(folder, keep=keep_authority)
    say = _printer_of(quiet=quiet)
    with StopRequest() as stop, lent as authority, archive_at(har, _note) as archive:
        recorder = Recorder(archive, frozenset(host.lower() for host in only or ()), say)
        relay = Proxy(recorder, authority, trust_of(cacert, insecure=insecure), address)
        relay.password = secrets.token_urlsafe(12) if password else ""
        relay.distrusted = f"it does not trust {folder / 'ca.pem'}: install this certificate, or give --no-tls"

        def started() -> None:
            end = "Ctrl-C ends it" if for_s is None else f"it ends after {for_}"
            say(f"recording: set {relay.where} as the HTTP and HTTPS proxy; {end}")
            if password:  # The password is printed even with --quiet, because the user needs it.
                _note(f"the proxy accepts user {PROXY_USER} with password {relay.password}")
            if authority is not None:
                until = f"{authority.certificate.not_valid_after_utc:%Y-%m-%d}"
                say(f"HTTPS is recorded if the client trusts {folder / 'ca.pem'}, valid until {until}")

        record_proxy(relay, started, lambda: stop.requested, for_s)
        _finish(Recording("proxy", recorder, har, keep_passwords), out, json=json)


@group.command("browser")
def browser(
    url: Annotated[
        list[str] | None, typer.Argument(metavar="URL...", help="URLs of the pages to visit, in order.")
    ] = None,
    *,
    script: Annotated[
        Path | None,
        typer.Option(help="Script file with the steps of the browser (open, click, fill, wait), instead of URLs."),
    ] = None,
    think: Annotated[str, typer.Option(help="Pause between two pages.")] = "5 s",
    timeout: Annotated[str, typer.Option(help="Time limit for a page to finish loading.")] = "30 s",
    out: _Out = None,
    force: _Force = False,
    har: _Har = None,
    only: _Only = None,
    no_sandbox: Annotated[
        bool, typer.Option("--no-sandbox", help="Run Chromium without its sandbox; root must use this option.")
    ] = False,
    keep_passwords: _Passwords = False,
    insecure: _Insecure = False,
    cacert: _Authorities = None,
    json: _Json = False,
    quiet: _Quiet = False,
) -> None:
    """Record a session in a headless Chromium."""
    from towtank.cli.options import OptionCheck  # noqa: PLC0415
    from towtank.conduct import StopRequest  # noqa: PLC0415
    from towtank.record import BrowserSession, Proxy, Recorder, Recording, archive_at, record_browser, trust_of  # noqa: PLC0415

    check = OptionCheck()
    think_s, timeout_s = check.duration("--think", think), check.positive("--timeout", timeout)
    _files(check, out, har, force=force)
    if bool(url) == (script is not None):
        check.fault("URL", f"must be given, or --script, but not both, got {'both' if url else 'neither'}")
    check.refuse_faults()
    session = BrowserSession(_actions(url or [], script), think_s, timeout_s, sandbox=not no_sandbox)
    with StopRequest() as stop, archive_at(har, _note) as archive:
        hosts = frozenset(host.lower() for host in only or ())
        recorder = Recorder(archive, hosts, _printer_of(quiet=quiet), own_pages=True)
        relay = Proxy(recorder, None, trust_of(cacert, insecure=insecure))
        record_browser(relay, session, lambda: stop.requested)
        _finish(Recording("browser", recorder, har, keep_passwords), out, json=json)
    if stop.requested:
        raise typer.Exit(ExitStatus.STOPPED)


def _actions(urls: list[str], script: Path | None) -> list[BrowserAction]:
    from towtank.record import actions_opening, load_script  # noqa: PLC0415

    return load_script(script) if script is not None else actions_opening(urls)


def _address(check: OptionCheck, text: str, *, anywhere: bool) -> tuple[str, int]:
    """Read the host and port on which the proxy listens; unless `anywhere` is set, the host must be a loopback
    address.
    """
    import ipaddress  # noqa: PLC0415

    from towtank.record import is_loopback  # noqa: PLC0415

    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    try:
        named = host == "localhost" or bool(ipaddress.ip_address(host))
    except ValueError:
        named = False
    if not named or not port.isdecimal() or int(port[:6]) > 65535:
        check.fault("--listen", f"must be an IP address and a port as 127.0.0.1:8899, got {text!r} instead")
        return "127.0.0.1", 0
    if not is_loopback(host) and not anywhere:
        check.fault("--listen", f"must be a loopback address (or give --listen-anywhere), got {host!r} instead")
    return host, int(port)


def _files(check: OptionCheck, out: Path | None, har: Path | None, *, force: bool) -> None:
    check.new_file("--out", out, force=force)
    check.new_file("--har", har, force=force)
    if out is not None and out == har:
        check.fault("--har", "must be another file than --out, got the same")


def _finish(recording: Recording, out: Path | None, *, json: bool) -> None:
    """Convert a finished recording into a workload file, and print the result."""
    from towtank.cli.import_command import print_notes  # noqa: PLC0415
    from towtank.cli.output import print_json  # noqa: PLC0415
    from towtank.importing import write_workload  # noqa: PLC0415

    imported = recording.workload(out)
    if out is not None:
        # The file may have been created during the recording. It is overwritten, because the recording would be lost
        # otherwise.
        write_workload(out, imported.text, force=True)
    if json:
        print_json(recording.document(imported, out))
    elif out is None:
        print(imported.text, end="")
    print_notes(imported, out, places=_PLACES_SHOWN, addresses=True)
    if recording.archive.fault:
        _note(f"warning: the recording ended early: {recording.archive.fault}")


def _note(text: str) -> None:
    from towtank.terminal import visible  # noqa: PLC0415

    print(visible(text), file=sys.stderr, flush=True)


def _printer_of(*, quiet: bool) -> Callable[[str], None]:
    return (lambda _: None) if quiet else _note
