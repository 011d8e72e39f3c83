"""The Typer application: registers the commands, and converts errors into messages and exit statuses."""

from __future__ import annotations

import errno
import re
import sys
from importlib import import_module
from typing import Any

import typer

from towtank.errors import ExitStatus, TowtankError

# Modules of this package that contain a function `command`, in the order of `towtank --help`.
COMMANDS = (
    "init", "run", "drive", "diagnose", "compare", "history", "judge", "import", "analyse", "report", "export", "rate",
    "size", "advise", "rules", "list", "doctor", "validate",
)  # fmt: skip
# Modules of this package that contain a Typer application `group` with subcommands.
GROUPS = ("record", "system", "model")
# Options that take several values, by command.
SEVERAL = {"compare": ("--a", "--b")}

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FOLDERS = "name a writable folder: --out for results, TOWTANK_STATE for the state of Towtank, TMPDIR for other files"

# Base class of errors in the command line. It cannot be imported from Click, because some versions of Typer contain
# their own copy of Click.
_UsageFault: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


def application(arguments: list[str] | None = None) -> typer.Typer:
    """Build the Typer application. If the arguments begin with the name of a command, only this command is registered
    and imported, and for `--help` the commands are registered without their options, to save time.
    """
    named = arguments[0] if arguments else ""
    everything = named not in (*COMMANDS, *GROUPS)
    overview = arguments in (["-h"], ["--help"])
    app = typer.Typer(
        name="towtank",
        help="Loads a system, observes every tier, explains the performance and sizes the hardware.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        # Help as plain text: to import Rich takes longer than all the rest.
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_version_option)
    for name in (name for name in COMMANDS if everything or name == named):
        function = import_module(f"towtank.cli.{name}_command").command
        text = function.__doc__
        app.command(name, help=text, short_help=_first_sentence(text))(_without_options if overview else function)
    for name in (name for name in GROUPS if everything or name == named):
        group = import_module(f"towtank.cli.{name}_command").group
        for command in group.registered_commands:
            command.short_help = _first_sentence(command.callback.__doc__)
        app.add_typer(group, name=name, short_help=_first_sentence(group.info.help))
    return app


def _first_sentence(text: str) -> str:
    """Return the first sentence of a description in one line."""
    return re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0]


def _without_options() -> None:
    """Stand for a command in the list of all commands."""


def _version_option(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        from towtank.version import __version__  # noqa: PLC0415

        print(f"towtank {__version__}")
        raise typer.Exit


def run(arguments: list[str]) -> int:
    """Run one command; print errors as messages, not as tracebacks, and return the exit status."""
    try:
        status = application(arguments)(_repeated(arguments), standalone_mode=False)
    except _UsageFault as error:
        error.show()
        return ExitStatus.INPUT
    except (typer.Abort, KeyboardInterrupt):
        return ExitStatus.STOPPED
    except TowtankError as error:
        from towtank.terminal import visible  # noqa: PLC0415

        print(visible("\n".join([*error.failed_parts, str(error)])), file=sys.stderr)
        return ExitStatus.INTERNAL if error.failed_parts else error.exit_status
    except OSError as error:
        return _no_access(error) or _internal_fault()
    # Every other exception is a fault of Towtank.
    except Exception:
        return _internal_fault()
    return int(status or ExitStatus.DONE)


def _repeated(arguments: list[str]) -> list[str]:
    """Rewrite `--a X Y` as `--a X --a Y` for options that take several values.

    A shell creates the form `--a X Y` when it expands `--a runs/*.json`.
    """
    options = SEVERAL.get(arguments[0] if arguments else "", ())
    found: list[str] = []
    option: str | None = None
    for argument in arguments:
        if argument.startswith("-"):
            option = argument if argument in options else None
        elif option is not None:
            found += [option, argument]
            continue
        if argument != option:
            found.append(argument)
    return found


def _no_access(error: OSError) -> int | None:
    """Print which file or folder cannot be used, with the reason, and return the exit status; None if the error is a
    fault of Towtank.
    """
    from towtank.files import UNUSABLE, NotAFileError  # noqa: PLC0415

    place = f"{error.filename}: " if error.filename is not None else ""
    if isinstance(error, NotAFileError):
        print(f"{place}{error.strerror}", file=sys.stderr)
        return ExitStatus.INPUT
    if error.errno in _FULL:
        print(f"{place}the disk is full: {error.strerror}", file=sys.stderr)
        print("\nhint: free some space, or name a folder on another disk", file=sys.stderr)
        return ExitStatus.INTERNAL
    if error.errno in UNUSABLE and error.filename is not None:
        print(f"{place}cannot be written: {error.strerror}", file=sys.stderr)
        print(f"\nhint: {_FOLDERS}", file=sys.stderr)
        return ExitStatus.INPUT
    # Python's `tempfile` raises this error if it finds no writable folder.
    if error.errno == errno.ENOENT and error.filename is None:
        print(f"{error.strerror}\n\nhint: name a folder that can be written with TMPDIR", file=sys.stderr)
        return ExitStatus.INPUT
    return None


def _internal_fault() -> int:
    """Write the traceback of the current exception to a file, and print the file's name; if this fails, print the
    traceback.
    """
    from towtank.containment import fault_text, keep_fault  # noqa: PLC0415
    from towtank.secrets import redacted_text  # noqa: PLC0415

    error = sys.exc_info()[1]
    assert error is not None
    print(redacted_text(f"internal fault: {type(error).__name__}: {error}"), file=sys.stderr)
    kept = keep_fault(error)
    if kept is None:
        print(f"\nhint: please report it with these lines\n\n{fault_text(error)}", file=sys.stderr)
    else:
        print(f"\nhint: please report it with the file {kept}", file=sys.stderr)
    return ExitStatus.INTERNAL
