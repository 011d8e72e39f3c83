"""Model of the description of running processes, as in a system file or on the command line."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, ValidationError, model_validator

from towtank.fields import FileModel, RegularExpression

KEYS = ("pid", "pid_file", "port", "unit", "container", "command")
_NUMBERS = ("pid", "port")


GroupName = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^/\s]+$")]


class Watched(FileModel):
    """Description of a process on this machine that Towtank did not start, with its descendants; exactly one key is
    given.
    """

    pid: Annotated[int, Field(ge=1)] | None = Field(None, description="Process id.")
    pid_file: Annotated[str, Field(min_length=1)] | None = Field(
        None, description="File with the process id, relative to the system file, for example `/run/shop.pid`."
    )
    port: Annotated[int, Field(ge=1, le=65535)] | None = Field(
        None, description="TCP port that the process listens on."
    )
    unit: GroupName | None = Field(None, description="Unit of systemd, for example `shop.service`.")
    container: GroupName | None = Field(
        None, description="Name or id of a container, or the last part of the path of a control group."
    )
    command: RegularExpression | None = Field(
        None,
        description=(
            "Regular expression that is found in the first 4,096 bytes of the command line of the process. At most 20 "
            "processes may match; their children do not count."
        ),
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Watched:
        given = [key for key in KEYS if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(f"must have exactly one of {', '.join(KEYS)}, got {' and '.join(given) or 'none'}")
        return self

    def __str__(self) -> str:
        return next(f"{key} {value}" for key in KEYS if (value := getattr(self, key)) is not None)


def parse_watched(text: str) -> Watched:
    """Parse a description `KEY=VALUE` from the command line.

    Raises
    ------
    ValueError
        If the text has another form; the message contains the allowed forms.

    Examples
    --------
    >>> str(parse_watched("unit=shop.service")), str(parse_watched("pid=17"))
    ('unit shop.service', 'pid 17')
    """
    key, equals, value = text.partition("=")
    if not equals or key not in KEYS:
        raise ValueError(f"must be one of {', '.join(f'{each}=VALUE' for each in KEYS)}, got {text!r} instead")
    number = key in _NUMBERS and value.isascii() and value.isdigit()
    try:
        return Watched.model_validate({key: int(value) if number else value})
    except ValidationError as error:
        # The third line of pydantic's text is the message of the first fault.
        reason = str(error).splitlines()[2].strip().partition(" [type=")[0].removeprefix("Value error, ")
        raise ValueError(f"must be a valid {key} in {key}=VALUE, got {text!r} instead: {reason}") from None
