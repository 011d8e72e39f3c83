"""Defines events during the load, such as the loss of a service, a full disk, or a host without network."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from towtank import units
from towtank.fields import Duration, FileModel, Name, Size

_MOMENT = re.compile(r"(?:(?P<stage>[A-Za-z][\w-]*)\s*(?:\+\s*(?P<after>.+))?|(?P<alone>[\d.].*))")
# Actions that apply to a service; the others apply to a host.
OF_SERVICES = ("kill", "restart", "stop", "start", "pause")
_LASTING = ("pause", "cut")


@dataclass(frozen=True)
class Moment:
    """Time of an event [s] since the start of a stage, given by name or phase, or of the load if the stage is None."""

    stage: str | None
    after_s: float

    def words(self) -> str:
        """Return the time of the event as written in a study file."""
        after = units.format_duration(self.after_s)
        if self.stage is None:
            return after
        return f"{self.stage} + {after}" if self.after_s else self.stage


def read_moment(value: object) -> Moment:
    """Read the time of an event: `steady + 10 s`, `steady` or `30 s`.

    Raises
    ------
    ValueError
        If the text has none of these forms.

    Examples
    --------
    >>> read_moment("steady + 10 s")
    Moment(stage='steady', after_s=10.0)
    >>> read_moment("1.5 min")
    Moment(stage=None, after_s=90.0)
    """
    if isinstance(value, Moment):
        return value
    match = _MOMENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            f"must be a time of the load such as `steady + 10 s` or `30 s`, got {units.shown(value)} instead"
        )
    after = match["after"] if match["stage"] else match["alone"]
    return Moment(match["stage"], units.duration(after) if after else 0.0)


WhenAsked = Annotated[
    Moment,
    BeforeValidator(read_moment),
    PlainSerializer(Moment.words, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["steady + 10 s", "30 s"]}),
]


class Event(FileModel):
    """Event during the load, for example the failure of a service."""

    at: WhenAsked = Field(
        description=(
            "Time of the event: `STAGE + TIME` counts from the start of the first stage of that name or "
            "phase, `TIME` from the start of the load."
        )
    )
    do: Literal["kill", "restart", "stop", "start", "pause", "cut", "fill"] = Field(
        description=(
            "Action: `kill` ends all processes of a service without notice, `restart` also starts them "
            "again, `stop` ends them in an orderly way, `start` starts them, `pause` suspends them, `cut` "
            "disconnects a host from the network, `fill` fills a disk of a host."
        )
    )
    service: Name | None = Field(
        None, description="Name of a service, or of one of its processes (`content-2` is the second node of `content`)."
    )
    host: Name | None = Field(None, description="Name of a host of provider `namespaces`, for `cut` and `fill`.")
    disk: Name | None = Field(None, description="Name of the disk that `fill` fills.")
    for_: Duration | None = Field(
        None,
        alias="for",
        description=(
            "Duration of `pause`, `cut` or `fill`, or time until `restart` starts the service again. "
            "Default: to the end of the load for `fill`, 0 for `restart`."
        ),
    )
    leave: Size | None = Field(
        None, description="Number of bytes that `fill` leaves free; default: 0, unless `leave_files` is set."
    )
    leave_files: int | None = Field(None, ge=0, description="Number of files that can still be created after `fill`.")
    happens: bool = Field(
        True, description="If false, the event does not occur; a level of a factor can set this value."
    )

    @model_validator(mode="after")
    def _whole(self) -> Event:
        """Check that an event has all keys that its action needs, and no other keys."""
        of_service = self.do in OF_SERVICES
        needed = {"service"} if of_service else {"host", "disk"} if self.do == "fill" else {"host"}
        allowed = needed | {"for"} if self.do in (*_LASTING, "restart", "fill") else set(needed)
        allowed |= {"leave", "leave_files"} if self.do == "fill" else set()
        needed |= {"for"} if self.do in _LASTING else set()
        keys = {"service": self.service, "host": self.host, "disk": self.disk, "for": self.for_}
        keys |= {"leave": self.leave, "leave_files": self.leave_files}
        given = {key for key, value in keys.items() if value is not None}
        if lacking := sorted(needed - given):
            raise ValueError(f"must have {' and '.join(lacking)} to {self.do}, got none")
        if needless := sorted(given - allowed):
            raise ValueError(f"must not have {' and '.join(needless)} to {self.do}, which allows {_listed(allowed)}")
        if self.do in _LASTING and self.for_ == 0:
            raise ValueError(f"must have a duration `for` above 0 to {self.do}, got 0")
        return self

    @property
    def on(self) -> str:
        """Name of the service or host that the event acts on."""
        return str(self.service or self.host)

    def document(self, name: str) -> dict[str, object]:
        """Return the event as JSON for manifests and for the recorded events of a run, in SI units."""
        document = {
            "name": name,
            "do": self.do,
            "service": self.service,
            "host": self.host,
            "disk": self.disk,
            "at": self.at.words(),
            "for_s": self.for_,
            "leave_bytes": self.leave_bytes,
            "leave_files": self.leave_files,
        }
        return {key: value for key, value in document.items() if value is not None}

    @property
    def leave_bytes(self) -> int | None:
        """Free space that `fill` leaves on a disk; None for other actions, or if only `leave_files` is set. [B]"""
        return 0 if self.do == "fill" and self.leave is None and self.leave_files is None else self.leave


def _listed(keys: set[str]) -> str:
    return ", ".join(sorted(keys))
