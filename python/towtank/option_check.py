"""Checks the values of command line options, and reports all faults together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from towtank.errors import Fault, StudyError

if TYPE_CHECKING:
    from towtank.study import RateCurve

_BOUND_AT_MOST = 10_000_000


class OptionCheck:
    def __init__(self) -> None:
        self._faults: list[Fault] = []

    @property
    def count(self) -> int:
        """Number of collected faults. [1]"""
        return len(self._faults)

    def refuse_faults(self) -> None:
        """Raise an error that lists all collected faults, if there are any."""
        if self._faults:
            raise StudyError(self._faults)

    def fault(self, option: str, message: str) -> None:
        self._faults.append(Fault.of_option(option, message))

    def form(self, option: str, text: str, read: Callable[[str], object]) -> None:
        """Check an option's text with `read`; a `ValueError` that `read` raises becomes a fault of the option."""
        try:
            read(text)
        except ValueError as error:
            self.fault(option, str(error))

    def pair(self, option: str, text: str) -> tuple[str, str]:
        """Split the text PATH=VALUE of an option into a dotted path and a value."""
        path, equals, value = text.partition("=")
        if not equals or not path or not value:
            self.fault(option, f"must be PATH=VALUE, got {text!r} instead")
        return path, value

    def pairs(self, option: str, texts: list[str] | None) -> dict[str, str]:
        """Split every PATH=VALUE of a repeatable option; the last value of a repeated path is used."""
        return dict(self.pair(option, text) for text in texts or ())

    def duration(self, option: str, text: str) -> float:
        """Read a duration with its unit. [s]"""
        from towtank import units  # noqa: PLC0415

        try:
            return units.duration(text)
        except ValueError as error:
            self.fault(option, str(error))
            return 0.0

    def positive(self, option: str, text: str) -> float:
        """Read a duration above zero. [s]"""
        before = len(self._faults)
        value = self.duration(option, text)
        if value <= 0 and len(self._faults) == before:
            self.fault(option, f"must be more than 0 s, got {text!r} instead")
        return value

    def at_least_one(self, option: str, value: int | None) -> int | None:
        """Check that an optional number is at least 1."""
        if value is not None and value < 1:
            self.fault(option, f"must be at least 1, got {value} instead")
        return value

    def rate(self, rate: float | None, users: int | None) -> float | None:
        """Check an arrival rate [1/s]; a command must not set both an arrival rate and a number of users."""
        if rate is not None and users is not None:
            self.fault("--rate", "must not be given together with --users: a load is either open or closed")
        if rate is not None and not 0 < rate < float("inf"):
            self.fault("--rate", f"must be a number above 0 [1/s], got {rate} instead")
        return rate

    def trace(self, file: str | None, others: Mapping[str, object]) -> RateCurve | None:
        """Read a trace of the arrival rate, which must not be combined with other options for the load and its
        duration.
        """
        from towtank.study import Trace, read_trace  # noqa: PLC0415

        if file is None:
            return None
        for option, value in others.items():
            if value is not None:
                self.fault("--trace", f"must not be given together with {option}: the file sets rate and duration")
        curve, faults = read_trace(Path(file), Trace(csv=file))
        self._faults += faults
        return curve

    def bound(self, option: str, value: int | None, default: int, least: int, *, is_open: bool) -> int:
        """Check the value of an option that is allowed for open loads only; return the value, or its default if it is
        None.
        """
        if value is not None and not is_open:
            self.fault(option, "must be given with --rate or --trace only: a closed load is limited by its users")
        if value is not None and not least <= value <= _BOUND_AT_MOST:
            self.fault(option, f"must be from {least} to {_BOUND_AT_MOST}, got {value} instead")
        return default if value is None else value

    def new_file(self, option: str, path: Path | None, *, force: bool) -> None:
        """Check an output file: its folder must accept files, and the file must not exist unless `force` is set."""
        from towtank.files import why_no_file, why_no_name  # noqa: PLC0415

        if path is None:
            return
        if reason := why_no_name(path):
            self.fault(option, f"must be a file that can be written, got {str(path)!r}: {reason}")
        elif not path.parent.is_dir():
            self.fault(option, f"must be in a folder that exists, got {str(path)!r} instead")
        elif path.is_dir():
            self.fault(option, f"must be a file, got the folder {str(path)!r} instead")
        elif path.exists() and not force:
            self.fault(option, f"must not exist yet (--force overwrites it), got {str(path)!r}")
        elif not path.exists() and (reason := why_no_file(path)):
            self.fault(option, f"must be a file that can be written, got {str(path)!r}: {reason}")

    def target(self, option: str, path: Path | None) -> None:
        """Check the path of an output file: it must name a regular file or a new file that can be created."""
        from towtank.files import other_kind, why_no_file  # noqa: PLC0415

        if path is None:
            return
        # Typer converts an empty file name to the path ".", so this path means that no file name was given.
        kind = "''" if path == Path() else other_kind(path)
        if kind is not None:
            got = kind if kind == "''" else f"{kind}, {str(path)!r}"
            self.fault(option, f"must name a regular file or a new file, got {got} instead")
        elif reason := why_no_file(path):
            self.fault(option, f"must be a file that can be written, got {str(path)!r}: {reason}")

    def one_of(self, option: str, value: str, allowed: tuple[str, ...]) -> str:
        if value not in allowed:
            self.fault(option, f"must be one of {', '.join(allowed)}, got {value!r} instead")
        return value

    def seed(self, seed: int) -> int:
        """Check that a seed is an unsigned 64-bit integer."""
        if not 0 <= seed < 2**64:
            self.fault("--seed", f"must be from 0 to 2^64 - 1, got {seed} instead")
        return seed

    def method(self, method: str) -> str:
        if not method.isascii() or not method.isalpha():
            self.fault("--method", f"must be an HTTP method, got {method!r} instead")
        return method

    def cpus(self, pin: str | None) -> tuple[int, ...]:
        """Read numbers of CPUs; this process must be allowed to use all these CPUs."""
        import os  # noqa: PLC0415

        if pin is None:
            return ()
        available = os.sched_getaffinity(0)
        parts = pin.split(",")
        if not all(part.strip().isdecimal() and int(part) in available for part in parts):
            shown = ",".join(map(str, sorted(available)))
            self.fault("--pin", f"must be numbers of CPUs among {shown}, got {pin!r} instead")
            return ()
        return tuple(int(part) for part in parts)

    def headers(self, headers: list[str] | None, option: str = "--header") -> tuple[tuple[str, str], ...]:
        """Parse headers into pairs of name and value; `--header` must not name a header that the engine sets itself."""
        from towtank.workload import owned_header  # noqa: PLC0415 - only needed by commands with headers

        pairs = []
        for text in headers or []:
            name, colon, value = text.partition(":")
            if not colon or not name.strip() or "\n" in text or "\r" in text:
                self.fault(option, f"must be 'Name: value', got {text!r} instead")
            elif option == "--header" and (instead := owned_header(name.strip())):
                self.fault(option, f"must not be {name.strip()}: {instead}")
            pairs.append((name.strip(), value.strip()))
        return tuple(pairs)

    def body(self, body: str | None) -> str | None:
        """Check the body of a request: a text, or `@FILE` with a file that exists."""
        if body is not None and body.startswith("@") and not Path(body[1:]).is_file():
            self.fault("--body", f"must name a file that can be read after @, got {body!r} instead")
        return body
