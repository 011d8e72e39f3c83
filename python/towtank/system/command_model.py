"""Models of a service of kind `command`, which runs any program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from towtank.fields import Duration, FileModel, Name, RegularExpression, Text
from towtank.system.host_model import Variable
from towtank.system.placeholders import references
from towtank.system.service_model import Port, Service, service_kind
from towtank.units import shown

# Names that a shell accepts for environment variables. A shell may drop variables with other names.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN = re.compile(r"TOWTANK_(?:RUN|HOSTS|TEST)")
# Sections of references `${...}` whose values are the same in all runs with the same settings.
_LASTING = frozenset({"data", "settings", "values"})


def _variable_name(value: str) -> str:
    if not _VARIABLE.fullmatch(value) or _OWN.fullmatch(value):
        raise ValueError(f"must be the name of a variable of letters, digits and _, got {shown(value)} instead")
    return value


def _plain(value: object) -> object:
    if not isinstance(value, str | int | float | bool):
        raise ValueError(f"must be text, a number, true or false, got {shown(value)} instead")
    return value


def _file_name(value: str) -> str:
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or not path.name or "\0" in value:
        raise ValueError(f"must be a relative path in the folder of the run, without '..', got {shown(value)} instead")
    return value


VariableName = Annotated[str, AfterValidator(_variable_name)]
Value = Annotated[str | int | float | bool, BeforeValidator(_plain)]
Arguments = Annotated[list[Text], Field(min_length=1, max_length=1000)]


class CommandPopulation(FileModel):
    """Command that creates the data of a program before the first run."""

    command: Arguments = Field(
        description=(
            "Program and arguments that write the data to the folder `${data}`. The folder is kept and copied for each "
            "run. If the command or its environment refers to other services, it runs before each run."
        )
    )
    values: dict[Name, Value] = Field(
        default_factory=dict, description="Values for `${values.NAME}` in the command; a study may vary them."
    )


class CommandReady(FileModel):
    """Readiness check of a program. Exactly one of the keys for port, page, log and command is given."""

    port: Annotated[int, Field(ge=1, le=65535)] | None = Field(
        None, description="Another port of the program, which accepts connections once the program is ready."
    )
    page: Annotated[str, Field(pattern="^/")] | None = Field(
        None, description="Path of a page on the port of the service that responds once the program is ready."
    )
    status: Annotated[int, Field(ge=100, le=599)] | None = Field(
        None, description="HTTP status of the page; default: any from 200 to 299."
    )
    log: RegularExpression | None = Field(
        None, description="Regular expression that a line of the program's output matches once the program is ready."
    )
    command: Arguments | None = Field(
        None, description="Program and arguments that end with status 0 once the program is ready."
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> CommandReady:
        given = [key for key in ("port", "page", "log", "command") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(
                f"must have exactly one of port, page, log and command, got {' and '.join(given) or 'none'}"
            )
        if self.status is not None and self.page is None:
            raise ValueError("must have a status only with a page, got it without one")
        return self


class CommandStop(FileModel):
    """Signal that requests the end of a program, and time after which the program is killed."""

    signal: Literal["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"] = Field(
        "TERM",
        description="Signal that asks the program to end. TERM goes to all processes, others to the first process.",
    )
    grace: Annotated[Duration, Field(le=600)] = Field(
        5.0, description="Time between the signal and the forced end of all processes of the program."
    )


@service_kind("command")
class Command(Service):
    """Any program, such as an application under development, that Towtank starts and stops as a service."""

    summary: ClassVar[str] = (
        "any program, such as an application under development: started, observed and stopped by Towtank"
    )

    kind: Literal["command"]
    host: Name = Field(description="Name of the host that runs the program; a host on this machine.")
    program: str = Field(
        min_length=1,
        description="Name of the program, which is searched in `PATH`, or its path relative to the system file.",
    )
    arguments: Annotated[list[Text], Field(max_length=1000)] = Field(
        default_factory=list, description="Arguments of the program; `${...}` is replaced."
    )
    port: Port | None = Field(
        None, description="Port that the program listens on, as `${port}`; 0 chooses a free port. Default: no port."
    )
    speaks: Literal["http", "tcp"] = Field(
        "http", description="Protocol of the port: `http`, or `tcp` for steps of TCP."
    )
    environment: dict[VariableName, Text] = Field(
        default_factory=dict, description="Environment variables, in addition to those that every service has."
    )
    environment_from: dict[VariableName, Variable] = Field(
        default_factory=dict,
        description="Environment variables with the value of a variable of Towtank that begins with `TOWTANK_`.",
    )
    folder: str | None = Field(
        None,
        min_length=1,
        description="Working folder, relative to the system file; default: the folder of the system file.",
    )
    user: Annotated[str, Field(min_length=1, pattern=r"^[^\s:/]+$")] | None = Field(
        None,
        description="User as whom the program runs if Towtank runs as root; default: the user of Towtank.",
    )
    files: dict[Annotated[str, AfterValidator(_file_name)], str] = Field(
        default_factory=dict,
        description=(
            "Files that are written before each start: their names, as in `${files.NAME}`, and the templates to fill, "
            "relative to the system file."
        ),
    )
    settings: dict[Name, Value] = Field(
        default_factory=dict, description="Values for `${settings.NAME}`; a study may vary them."
    )
    disk: Name | None = Field(
        None, description="Name of the disk of the host that stores `${data}`; default: the host's file system."
    )
    after: list[Name] = Field(
        default_factory=list,
        max_length=64,
        description="Names of services that are started first, besides those that `${services.NAME...}` refers to.",
    )
    ready: CommandReady | None = Field(
        None, description="Check that the program is ready; default: its port accepts connections."
    )
    stop: CommandStop = Field(
        default_factory=CommandStop, description="Signal and time limit for stopping the program."
    )
    population: CommandPopulation | None = Field(
        None, description="Command that creates the data of the program before the first run."
    )
    metrics: Annotated[str, Field(pattern="^/")] | None = Field(
        None,
        description="Path of the program's metrics in the Prometheus text format on its port, for example `/metrics`.",
    )
    exports: dict[Name, str] = Field(
        default_factory=dict,
        description="Files, relative to `${data}`, that the workload may use as `${system.SERVICE.NAME}`.",
    )

    @model_validator(mode="after")
    def _whole(self) -> Command:
        lacking = []
        if self.port is None:
            lacking += [key for key in ("metrics",) if getattr(self, key) is not None]
            lacking += ["ready.page"] if self.ready is not None and self.ready.page is not None else []
            if self.ready is None:
                raise ValueError("must have a port, or ready with log, port or command, got neither")
        if lacking:
            raise ValueError(f"must have a port for {' and '.join(lacking)}, got none")
        if self.speaks != "http" and self.metrics is not None:
            raise ValueError("must speak http if it has metrics, got tcp")
        if self.exports and self.population is None:
            raise ValueError("must have a population that creates the files of exports, got none")
        return self

    @property
    def spoken(self) -> str | None:
        return None if self.port is None else self.speaks

    @property
    def configuration(self) -> dict[str, Value]:
        """Settings in the system file, by name."""
        return dict(self.settings)

    def texts(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Yield each text of the system file in which references `${...}` are replaced, with the path of its key.

        The contents of templates are left out.
        """
        yield ("program",), self.program
        yield from ((("arguments", number), text) for number, text in enumerate(self.arguments))
        yield from ((("environment", name), text) for name, text in self.environment.items())
        if self.folder is not None:
            yield ("folder",), self.folder
        if self.ready is not None:
            yield from ((("ready", "command", number), text) for number, text in enumerate(self.ready.command or []))
        if self.population is not None:
            command = self.population.command
            yield from ((("population", "command", number), text) for number, text in enumerate(command))

    @property
    def commands(self) -> list[list[str]]:
        own = [self.program, *self.arguments]
        population = [] if self.population is None else [self.population.command]
        return [own, *population] + ([] if self.ready is None or self.ready.command is None else [self.ready.command])

    @property
    def keeps_population(self) -> bool:
        """True if the data of the population are the same in all runs, so that they are created only once."""
        if self.population is None:
            return False
        texts = [*self.population.command, *self.environment.values()]
        return all(reference.section in _LASTING for text in texts for reference in references(text))
