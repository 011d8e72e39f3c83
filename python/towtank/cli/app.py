"""The Typer application: registers the commands, turns errors into messages and exit statuses."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from towtank.errors import ExitStatus, TowtankError

# Each names a module of this package with a function `command`; the order is that of `towtank --help`.
COMMANDS = (
    "run", "drive", "import", "report", "export", "rate", "size", "advise", "rules", "list", "doctor", "validate",
)  # fmt: skip
# Each names a module of this package with a Typer application `group`.
GROUPS = ("record", "system", "model")

# Typer may bring a Click of its own, so what is wrong with a command line is known by the base of Typer's exceptions.
_UsageFault: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


def application(arguments: list[str] | None = None) -> typer.Typer:
    """Build the application.

    Parameters
    ----------
    arguments : list of str, optional
        When they begin with the name of a command, only this one is registered: the others need not be imported.
    """
    named = arguments[0] if arguments else ""
    everything = named not in (*COMMANDS, *GROUPS)
    app = typer.Typer(
        name="towtank",
        help="Drives a system, watches every tier, explains why it behaves as it does, and sizes the hardware.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_version_option)
    for name in (name for name in COMMANDS if everything or name == named):
        module = import_module(f"towtank.cli.{name}_command")
        app.command(name)(module.command)
    for name in (name for name in GROUPS if everything or name == named):
        module = import_module(f"towtank.cli.{name}_command")
        app.add_typer(module.group, name=name)
    return app


def _version_option(
    version: bool = typer.Option(False, "--version", help="Print the version and leave."),
) -> None:
    if version:
        from towtank import __version__  # noqa: PLC0415

        print(f"towtank {__version__}")
        raise typer.Exit


def run(arguments: list[str]) -> int:
    """Run one command; never raises, never shows a traceback for bad input."""
    try:
        status = application(arguments)(arguments, standalone_mode=False)
    except _UsageFault as error:
        error.show()
        return ExitStatus.INPUT
    except (typer.Abort, KeyboardInterrupt):
        return ExitStatus.STOPPED
    except TowtankError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    except BrokenPipeError:
        return ExitStatus.DONE
    except Exception:  # the border: whatever else happens is a fault of ours
        return _internal_fault()
    return int(status or ExitStatus.DONE)


def _internal_fault() -> int:
    """Keep the traceback in a file and name it; people get a sentence, not a stack."""
    import tempfile  # noqa: PLC0415

    with tempfile.NamedTemporaryFile("w", prefix="towtank-fault-", suffix=".txt", delete=False) as stream:
        traceback.print_exc(file=stream)
    error = sys.exc_info()[1]
    print(f"internal fault: {type(error).__name__}: {error}", file=sys.stderr)
    print(f"\nhint: please report it with the file {Path(stream.name)}", file=sys.stderr)
    return ExitStatus.INTERNAL
