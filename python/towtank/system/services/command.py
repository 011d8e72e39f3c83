"""Runs any program as a service.

References such as `${port}` in the texts and files of the program are replaced by values. The population (initial data)
of the program is created once, and copied for each run.
"""

from __future__ import annotations

import grp
import os
import pwd
import re
import shutil
import signal
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from towtank.errors import TargetError
from towtank.system.command_faults import read_template, services_used
from towtank.system.command_files import population_digest
from towtank.system.command_model import Command
from towtank.system.hosts.local import LocalHost
from towtank.system.placeholders import Reference, as_text, filled
from towtank.system.process import ProcessSpec
from towtank.system.reach import refuses_connection, refuses_http
from towtank.system.service import Place, Service
from towtank.system.services.private_server import no_program, program_at, server_account

# Time limit of the command that checks if the program is ready. [s]
_CHECK_WITHIN_S = 10.0
_READ_BYTES = 2**20
_PATH = "PATH"
# Largest number of bytes that are kept from the end of an unfinished log line. [byte]
_LINE_BYTES = 2**16
# Permissions of the folder of the run for the group of the program's user, who may enter it but not list it.
_GROUP_FOLDER_MODE = 0o710


class CommandService(Service):
    """Service that runs one program, with its child processes."""

    kind = "command"

    def __init__(self, name: str, part: Command, base: Path) -> None:
        super().__init__(name)
        self._part, self._base = part, base.absolute()
        self._others: dict[str, Service] = {}
        self._port = part.port or 0
        self._scratch, self._data = Path(), Path()
        self._log: LogWatch | None = None
        self._account = part.user if os.geteuid() == 0 else None

    def missing(self) -> str | None:
        """Return one line for each missing program, folder, user or environment variable; None if nothing is
        missing.
        """
        lacks = [
            f"{self.name}: the variable {variable}, which environment_from.{key} names, is not set"
            for key, variable in self._part.environment_from.items()
            if variable not in os.environ
        ]
        early = self._fill_early(self._part.program)
        if early is not None and self._found(early) is None:
            lacks.append(no_program(self.name, early, self._base))
        folder = self._fill_early(self._part.folder or ".")
        if self._account is not None and server_account([self._account]) is None:
            lacks.append(f"{self.name}: this machine has no user {self._account}")
        if folder is not None and not (self._base / folder).is_dir():
            lacks.append(f"{self.name}: the working folder {self._base / folder} does not exist")
        return "\n".join(lacks) or None

    def _fill_early(self, text: str) -> str | None:
        """Return a text with all references replaced; None if it refers to a folder that exists only during a run."""
        late = "\0"
        done = filled(text, lambda place: late if place.section in ("data", "scratch") else self._value(place))
        return None if late in done else done

    def _found(self, program: str) -> str | None:
        """Return the path of a program: relative to the system file or, for a plain name, found in `PATH`."""
        return program_at(program, self._base, self._part.environment.get(_PATH))

    def meet(self, others: list[Service]) -> None:
        """Store the other services of the system by name, because texts of the program may refer to them."""
        self._others = {other.name: other for other in others}

    def requires(self) -> list[Service]:
        """Return the services to which texts of the program refer, and those in the key `after`."""
        used = services_used(self._part, (read_template(self._base / path) for path in self._part.files.values()))
        return [self._others[name] for name in used]

    def folders(self) -> list[Path]:
        """Return the working folder and the folder of the executable, if the system file contains their paths."""
        program = self._part.program
        named = [self._part.folder, os.path.dirname(program) if "/" in program else None]  # noqa: PTH120 - text
        return [self._base / path for path in named if path is not None and "${" not in path]

    def prepare(self, place: Place) -> None:
        """Choose or check the port, copy the population to the data folder, and write the files of the program."""
        self._scratch = place.scratch
        self._data = place.scratch / "data"
        if self._part.port:
            self.host.require_free(self._port, self.name)
        elif self._part.port is not None:
            self._port = self.host.free_ports()
        if self._part.disk is not None:
            self._data = self.host.disk(self._part.disk) / self.name
        self.host.make_folder(self._data)
        self._bring_back(place)
        if self._account is not None:
            shutil.chown(place.scratch, group=_group_of(self._account))
            place.scratch.chmod(_GROUP_FOLDER_MODE)
            place.run(ProcessSpec(f"{self.name}-owner", ["chown", "-R", f"{self._account}:", "--", str(self._data)]))
        for name, template in self._part.files.items():
            self._write(name, filled(read_template(self._base / template), self._value))
        self._log = LogWatch(place.logs / f"{self.name}.log")

    def _write(self, name: str, text: str) -> None:
        """Write a file that only the user of the program can read, because the file may contain secrets."""
        path = self._file(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        group = None if self._account is None else _group_of(self._account)
        if group is not None:
            for folder in path.parents:
                if folder.is_relative_to(self._scratch / "files"):
                    shutil.chown(folder, group=group)
                    folder.chmod(_GROUP_FOLDER_MODE)
        self.host.write(path, text, group)

    def _bring_back(self, place: Place) -> None:
        """Fill the data folder of the run, `${data}`, with a copy of the stored population.

        A population that depends on the run is not stored: its command then fills the data folder directly.
        """
        population = self._part.population
        if population is None:
            return
        if not self._part.keeps_population:
            place.note(f"{self.name}: creating the population")
            place.run(self._populating(self._data))
            return
        kept = place.data / self._digest()
        if not kept.is_dir():
            place.note(f"{self.name}: creating the population, which later runs reuse")
            self._create(place, kept)
        copying = ["cp", "-a", "--reflink=auto", "-T", str(kept), str(self._data)]
        place.run(ProcessSpec(f"{self.name}-copy", copying))

    def _create(self, place: Place, kept: Path) -> None:
        """Run the command of the population on all CPUs, and store the data if the command succeeds."""
        unfinished = kept.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True, mode=0o700)
        cpus = sorted({*(place.cpus or []), *os.sched_getaffinity(0)})
        place.run(self._populating(unfinished), cpus=cpus, on=LocalHost())
        unfinished.rename(kept)

    def _populating(self, data: Path) -> ProcessSpec:
        assert self._part.population is not None
        value_of = partial(self._value, data=data)
        command = [filled(text, value_of) for text in self._part.population.command]
        return ProcessSpec(f"{self.name}-population", self._in_folder(command), self._environment(data))

    def _digest(self) -> str:
        """Return a hash of everything on which the population depends."""
        assert self._part.population is not None
        first = self._fill_early(self._part.population.command[0])
        program = None if first is None or "/" in first else self._found(first)
        return population_digest(self._part, self._base, self._environment(Path("/")), program)

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """Return the process that runs the program."""
        command = [filled(text, self._value) for text in (self._part.program, *self._part.arguments)]
        stop = self._part.stop
        return [
            ProcessSpec(
                self.name,
                self._in_folder(command, self._account),
                self._environment(self._data),
                grace_s=stop.grace,
                stop_signal=signal.Signals[f"SIG{stop.signal}"],
            )
        ]

    def _in_folder(self, command: list[str], account: str | None = None) -> list[str]:
        """Return a command that changes to the working folder, then to the user `account`, and then runs a program.

        A path of a program is relative to the system file. The working folder comes first, because the user may not be
        allowed to enter its parent folders.
        """
        program = str(self._base / command[0]) if "/" in command[0] else command[0]
        folder = self._base / filled(self._part.folder or ".", self._value)
        change = ["setpriv", f"--reuid={account}", f"--regid={_group_of(account)}", "--clear-groups"] if account else []
        change += ["--pdeathsig=keep", "--"] if account else []
        return ["env", f"--chdir={folder}", "--", *change, program, *command[1:]]

    def _environment(self, data: Path) -> dict[str, str]:
        value_of = partial(self._value, data=data)
        given = {name: filled(text, value_of) for name, text in self._part.environment.items()}
        return given | {name: os.environ[variable] for name, variable in self._part.environment_from.items()}

    def _value(self, place: Reference, data: Path | None = None) -> str:
        """Return the value of a reference such as `${port}`, which the check of the system file ensures."""
        plain = {
            "host": lambda: self.host.address,
            "port": lambda: str(self._port),
            "address": lambda: self.address,
            "scratch": lambda: str(self._scratch),
            "data": lambda: str(data or self._data),
            "files": lambda: str(self._file(place.name)),
            "settings": lambda: as_text(self._part.settings[place.name]),
            "services": lambda: _of_service(self._others[place.service], place),
        }
        if place.section == "values" and self._part.population is not None:
            return as_text(self._part.population.values[place.name])
        return plain[place.section]()

    def _file(self, name: str) -> Path:
        return self._scratch / "files" / name

    @property
    def address(self) -> str:
        """Address `host:port` on which the program listens."""
        return f"{self.host.address}:{self._port}"

    def starting(self, process: str) -> None:  # noqa: ARG002
        """Skip the current content of the log, because only later lines can show that the program is ready."""
        if self._log is not None:
            self._log.skip()

    def ready(self) -> str | None:
        """Return None if the check in the key `ready` succeeds; otherwise the reason.

        Without this key, the program is ready when its port accepts connections.
        """
        check = self._part.ready
        if check is None:
            return refuses_connection(self.address)
        if check.port is not None:
            return refuses_connection(f"{self.host.address}:{check.port}")
        if check.page is not None:
            return refuses_http(self.address, check.page, wanted=check.status)
        if check.log is not None:
            found = self._log is not None and self._log.finds(check.log)
            return None if found else f"no line of its output matches {check.log!r}"
        return self._refuses_command(check.command or [])

    def _refuses_command(self, command: list[str]) -> str | None:
        """Run the command in the key `ready`; return None if it succeeds, otherwise the reason."""
        words = self._in_folder([filled(text, self._value) for text in command], self._account)
        try:
            answer = self.host.execute(words, _CHECK_WITHIN_S, self._environment(self._data))
        except TargetError as error:
            return str(error)
        if answer.status == 0:
            return None
        last = answer.output.strip().splitlines()[-1:]
        return f"the command {command[0]} ends with status {answer.status}" + (f": {last[0]}" if last else "")

    def addresses(self) -> list[str]:
        """Return the address of the program; empty if the program has no port."""
        if self._part.port is None:
            return []
        return [f"tcp://{self.address}" if self._part.speaks == "tcp" else self.address]

    def settings_used(self) -> dict[str, object]:
        """Return the program, its arguments as written in the system file, and its settings, port, disk and
        population.
        """
        part = self._part
        population = None if part.population is None else part.population.model_dump(mode="json")
        further = {"port": None if part.port is None else self._port, "disk": part.disk, "population": population}
        given = {key: value for key, value in further.items() if value is not None}
        return {**part.settings, "program": part.program, "arguments": list(part.arguments), **given}

    def scrapers(self) -> list[Any]:
        """Return a scraper of the program's metrics page if the system file names such a page."""
        from towtank.observe import PrometheusScraper  # noqa: PLC0415 - only where something is observed

        if self._part.metrics is None:
            return []
        return [PrometheusScraper(self.name, self.kind, f"http://{self.address}{self._part.metrics}")]

    def exports(self) -> Mapping[str, Path]:
        """Return the paths of the files in the data folder that workloads may use, by name."""
        return {name: self.host.outside(self._data / path) for name, path in self._part.exports.items()}


def _group_of(account: str) -> str:
    """Return the name of the primary group of a user of this machine."""
    return grp.getgrgid(pwd.getpwnam(account).pw_gid).gr_name


class LogWatch:
    """Searches for a pattern in the lines that a program appends to its log, which need not exist yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._rest = b""
        self._found = False

    def skip(self) -> None:
        """Skip the current content of the log, so that only later lines are searched."""
        self._position = self._path.stat().st_size if self._path.exists() else 0
        self._rest, self._found = b"", False

    def finds(self, pattern: str) -> bool:
        """Return True if a pattern matches a complete line written after the last call of `skip`."""
        while not self._found and (lines := self._lines()) is not None:
            self._found = any(re.search(pattern, line.decode("utf-8", "replace")) for line in lines)
        return self._found

    def _lines(self) -> list[bytes] | None:
        """Return the next complete lines of the log; None if nothing was appended."""
        if not self._path.exists():
            return None
        with self._path.open("rb") as stream:
            stream.seek(self._position)
            more = stream.read(_READ_BYTES)
        self._position += len(more)
        *lines, rest = (self._rest + more).split(b"\n")
        self._rest = rest[-_LINE_BYTES:]
        return lines if more else None


def _of_service(service: Service, place: Reference) -> str:
    """Return the property of another service that a reference names, such as its URL or a setting.

    Raises
    ------
    TargetError
        If the service has no such property.
    """
    kind, _, key = place.part.partition(".")
    if kind == "settings":
        value = service.settings_used().get(key)
        if isinstance(value, str | int | float | bool):
            return as_text(value)
        raise TargetError(f"{service.name} has no setting {key} with a single value, to which {place.text} refers")
    url = service.client_url()
    if url is None:
        raise TargetError(f"{service.name} has no address, to which {place.text} refers")
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    host = parts.hostname or ""
    shown = f"[{host}]" if ":" in host else host
    known = {
        "url": url,
        "address": shown if port is None else f"{shown}:{port}",
        "host": host,
        "port": None if port is None else str(port),
        "user": parts.username,
        "password": parts.password,
        "database": parts.path.lstrip("/") or None,
    }
    found = known[kind]
    if found is None:
        raise TargetError(f"{service.name} has no {kind}, to which {place.text} refers")
    return unquote(found) if kind in ("user", "password", "database") else found
