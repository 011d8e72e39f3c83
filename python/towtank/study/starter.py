"""Creates the files of a first study (system, workload, study) from an address, a command, or a file of another
tool.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shlex
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote, urlsplit

from towtank.errors import Fault, StudyError
from towtank.secrets import open_private
from towtank.study.loading import load_study
from towtank.study.starter_texts import (
    Running,
    Started,
    imported_text,
    study_text,
    system_text,
    workload_text,
)
from towtank.workload import importers

FILES = ("study.yaml", "system.yaml", "workload.yaml")
_fault = Fault.of_option
_APPLICATION = "app"
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
# Pattern for the assignment of a variable before a command. The value contains nothing that a shell would replace.
_LEADING = re.compile(
    r"\s*(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>(?:\"[^\"`$\\]*\"|'[^']*'|\$\{port\}|[^\s;&|()<>\"'`$\\~])*)\s+(?![;&|\s])"
)
# Characters that have a special meaning for a shell.
_SHELL = re.compile(r"[|&;<>`()*?~$\n]")
_PORT = "${port}"
_PORTS = {"http": 80, "https": 443}
_HIGHEST_PORT = 65535
_WRITING = ("post", "put", "patch", "delete")
# Pattern for a host as returned by `urlsplit`: a name or an IP address, without the brackets of an IPv6 address.
_HOST = re.compile(r"[^\s%/\\<>\"'|^`{}\[\]@;,]+")
_CONTROL = re.compile(r"[\x00-\x20\x7f]")


@dataclass(frozen=True)
class StarterOptions:
    """Options of `towtank init`.

    Attributes
    ----------
    folder : Path
        Folder of the files; created if it does not exist.
    url : str or None
        Address of the application, with the path of a page.
    command : str or None
        Command that starts the application, as typed in a shell.
    port : int or None
        Port that the application listens on.
    openapi, har : Path or None
        OpenAPI description, or HTTP Archive, with the requests of the application.
    """

    folder: Path
    url: str | None = None
    command: str | None = None
    port: int | None = None
    openapi: Path | None = None
    har: Path | None = None


@dataclass(frozen=True)
class Starter:
    """Contents of the files of a first study, before they are written.

    `services` has the address or command of each service; `notes` are lines about requests that were left out or
    changed.
    """

    folder: Path
    texts: dict[str, str]
    services: dict[str, str]
    transactions: list[str]
    notes: list[str] = field(default_factory=list)

    @property
    def study(self) -> Path:
        return self.folder / FILES[0]

    @property
    def next_command(self) -> str:
        """Command that runs the study, as typed in a shell."""
        return shlex.join(["towtank", "run", str(self.study)])


def starter_of(chosen: StarterOptions) -> Starter:
    """Create the contents of the files of a first study, and check them.

    Raises
    ------
    StudyError
        Contains all faults of the options, or of the imported file.
    """
    faults = _faults(chosen)
    if faults:
        raise StudyError(faults)
    name = importers.identifier(chosen.folder.resolve().name, "study")
    draft = _draft(chosen)
    if draft is None:
        parts: list[Running | Started] = [_application(chosen, _APPLICATION)]
        made = workload_text(name, _APPLICATION, _page(chosen.url))
        transactions, notes = ["page"], []
    else:
        parts = _services(chosen, draft)
        made = imported_text(importers.finish_import(draft, chosen.folder).text)
        transactions = list(draft.transactions)
        notes = [line for note in draft.notes.sorted() for line in importers.import_note_lines(draft.source, note, 1)]
        notes += _writes(draft)
    texts = dict(zip(FILES, (study_text(name, _with_settings(parts)), system_text(name, parts), made), strict=True))
    found = Starter(chosen.folder, texts, {part.name: _shown(part) for part in parts}, transactions, notes)
    _check(found)
    return found


def _writes(draft: importers.ImportDraft) -> list[str]:
    """Return a note with the number of requests that may change data; an empty list if no request may change data."""
    steps = [step for items in draft.transactions.values() for item in items for step in importers.steps_of(item)]
    found = {name: sum(name in step for step in steps) for name in _WRITING}
    count = sum(found.values())
    if not count:
        return []
    listed = ", ".join(f"{name.upper()} {number}" for name, number in found.items() if number)
    requests = "1 request that writes" if count == 1 else f"{count} requests that write"
    return [f"{draft.source}: contains {requests} ({listed}): each user of the load repeats these changes"]


def write_starter(found: Starter) -> None:
    """Write the files of a first study.

    Raises
    ------
    StudyError
        If one of the files exists, or the folder cannot be written.
    """
    try:
        found.folder.mkdir(parents=True, exist_ok=True)
        for name, text in found.texts.items():
            # Another process may have created a file since `starter_of` checked the folder.
            if (found.folder / name).exists():
                raise StudyError([_exists(found.folder / name)])
            with open_private(found.folder / name) as stream:
                stream.write(text)
    except OSError as error:
        message = f"must be a folder that can be written, got {str(found.folder)!r} instead: {error.strerror}"
        raise StudyError.of_option("FOLDER", message) from None


def _exists(path: Path) -> Fault:
    return _fault("FOLDER", f"must have no {path.name} yet, got {str(path)!r}: choose another folder")


def _faults(chosen: StarterOptions) -> list[Fault]:
    faults = [_exists(chosen.folder / name) for name in FILES if os.path.lexists(chosen.folder / name)]
    if chosen.folder.exists() and not chosen.folder.is_dir():
        faults.append(_fault("FOLDER", f"must be a folder, got the file {str(chosen.folder)!r} instead"))
    if chosen.url is None and chosen.command is None and chosen.openapi is None and chosen.har is None:
        faults.append(_fault("--url", "must be given, or --command, --openapi or --har; got none of them"))
    if chosen.openapi is not None and chosen.har is not None:
        faults.append(_fault("--har", "must not be given with --openapi, got both"))
    faults += _url_faults(chosen.url)
    if not _is_text(chosen.command or ""):
        message = f"must be text in UTF-8 without control characters, got {chosen.command!r} instead"
        return [*faults, _fault("--command", message)]
    if chosen.port is not None and not 0 < chosen.port <= _HIGHEST_PORT:
        faults.append(_fault("--port", f"must be from 1 to {_HIGHEST_PORT}, got {chosen.port} instead"))
    if chosen.command is None:
        if chosen.port is not None:
            faults.append(_fault("--port", "must only be given with --command: the address in --url contains the port"))
        return faults
    try:
        words = shlex.split(chosen.command)
    except ValueError as error:
        return [*faults, _fault("--command", f"must be a command of a shell, got {chosen.command!r} instead: {error}")]
    if not [word for word in words if not _ASSIGNMENT.fullmatch(word)]:
        faults.append(_fault("--command", f"must be a program with arguments, got {chosen.command!r} instead"))
    if chosen.port is None and chosen.url is None and _PORT not in chosen.command:
        message = "must be given with --command: the port that the program listens on, or write ${port} in the command"
        faults.append(_fault("--port", message))
    return faults


def _is_text(text: str) -> bool:
    """Return True if a text can be written to a YAML file and passed to a program."""
    return not any(
        "\ud800" <= character <= "\udfff" or (character < " " and character not in "\t\n") for character in text
    )


def _url_faults(url: str | None) -> list[Fault]:
    if url is None:
        return []
    with suppress(ValueError):
        parts = urlsplit(url)
        # `urlsplit` accepts invalid hosts: it removes line breaks and tabs, and keeps blanks and escapes.
        right = _HOST.fullmatch(parts.hostname or "") and not _CONTROL.search(url) and _is_text(url)
        if parts.scheme in _PORTS and parts.port != 0 and right:
            return []
    return [_fault("--url", f"must be an address such as http://host:port/page, got {url!r} instead")]


def _draft(chosen: StarterOptions) -> importers.ImportDraft | None:
    """Return the workload imported from the given file; None if no file was given."""
    options = importers.ImportOptions(folder=chosen.folder, only_reads=True, host_option="")
    if chosen.openapi is not None:
        return importers.read_import("openapi", chosen.openapi, options)
    return importers.read_import("har", chosen.har, options) if chosen.har is not None else None


def _services(chosen: StarterOptions, draft: importers.ImportDraft) -> list[Running | Started]:
    """Return the services that an imported workload needs.

    An address or command in the options replaces the address of the workload's first target.
    """
    given = chosen.url is not None or chosen.command is not None
    if not draft.targets and not given:
        message = f"must be given, as {draft.source} has no address of a server"
        raise StudyError([_fault("--url", message)])
    if not draft.targets:
        draft.target(chosen.url or "", _APPLICATION)
    names = list(draft.targets)
    found: list[Running | Started] = [_application(chosen, names[0])] if given else []
    return found + [_running(name, draft.targets[name]) for name in names[len(found) :]]


def _application(chosen: StarterOptions, name: str) -> Running | Started:
    if chosen.command is None:
        return _running(name, chosen.url or "")
    return _started(chosen, name, chosen.command)


def _running(name: str, url: str) -> Running:
    parts = urlsplit(url)
    host = parts.hostname or ""
    login = "".join(parts.netloc.rpartition("@")[:2])
    shown = f"[{host}]" if ":" in host else host
    return Running(name, f"{parts.scheme}://{login}{shown}:{parts.port or _PORTS[parts.scheme]}", _is_here(host))


def _is_here(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def _started(chosen: StarterOptions, name: str, command: str) -> Started:
    """Return the service that a command starts, with `${port}` for the port number in arguments and variables."""
    port = chosen.port or 0
    if chosen.url is not None and not port and _PORT not in command:
        parts = urlsplit(chosen.url)
        port = parts.port or _PORTS[parts.scheme]
    variables, command = _without_variables(command, port)
    words = shlex.split(command)
    while words and (found := _ASSIGNMENT.fullmatch(words[0])) is not None and not _needs_shell(command):
        variables[found[1]] = _with_port(found[2], port)
        words.pop(0)
    if _needs_shell(command):
        words = ["sh", "-c", command]
    program = words[0]
    if "/" in program and not Path(program).is_absolute():
        program = os.path.relpath(program, chosen.folder)
        program = program if "/" in program else f"./{program}"
    arguments = tuple(_with_port(word, port) for word in words[1:])
    return Started(name, program, arguments, port, os.path.relpath(Path.cwd(), chosen.folder), variables)


def _without_variables(command: str, port: int) -> tuple[dict[str, str], str]:
    """Split a command into the variables that are assigned before it, and the rest.

    Every user of the machine can read the arguments of a command, but not its environment. If a shell must evaluate an
    assignment, it stays in the command, together with all assignments after it.

    Examples
    --------
    >>> _without_variables("A=1 TOKEN='x y' cd a && ./app", 80)
    ({'A': '1', 'TOKEN': 'x y'}, 'cd a && ./app')
    """
    variables: dict[str, str] = {}
    while (found := _LEADING.match(command)) is not None:
        name, written = found.groups()
        variables[name] = _with_port("".join(shlex.split(written)), port)
        command = command[found.end() :]
    return variables, command


def _needs_shell(command: str) -> bool:
    return _SHELL.search(command.replace(_PORT, "")) is not None


def _with_port(word: str, port: int) -> str:
    """Return a word with `${port}` instead of the port number; any other `${` is escaped as `$${`.

    Examples
    --------
    >>> [_with_port(word, 8080) for word in ("8080", "--listen=127.0.0.1:8080", "18080", "$HOME ${x}")]
    ['${port}', '--listen=127.0.0.1:${port}', '18080', '$HOME $${x}']
    """
    literal_text = _PORT.join(part.replace("${", "$${") for part in word.split(_PORT))
    return re.sub(rf"(?<![\w.]){port}(?!\w)", lambda _: _PORT, literal_text) if port else literal_text


def _page(url: str | None) -> str:
    """Return path and query of an address as a template."""
    parts = urlsplit(url or "")
    whole = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return importers.literal(quote(whole, safe="/%:@!$&'()*+,;=~-._?[]{}|"))


def _with_settings(parts: list[Running | Started]) -> str | None:
    """Return the first service that Towtank starts, whose settings the study can vary; None without one."""
    return next((part.name for part in parts if isinstance(part, Started)), None)


def _shown(part: Running | Started) -> str:
    return part.address if isinstance(part, Running) else shlex.join([part.program, *part.arguments])


def _check(found: Starter) -> None:
    """Check the files as `towtank validate` does, in a temporary folder.

    Raises
    ------
    StudyError
        Contains all faults, with the paths that the files will have.
    """
    with tempfile.TemporaryDirectory(prefix="towtank-init-") as scratch:
        for name, text in found.texts.items():
            with open_private(Path(scratch) / name) as stream:
                stream.write(text)
        try:
            load_study(Path(scratch) / FILES[0])
        except StudyError as error:
            at = str(found.folder)
            moved = [replace(fault, file=fault.file.replace(scratch, at)) for fault in error.faults]
            raise StudyError(moved) from None
