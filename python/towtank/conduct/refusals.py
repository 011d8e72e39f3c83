"""Reports faults that the engine found in its plan, each with the command-line option that caused the fault."""

from __future__ import annotations

import re
from pathlib import Path

from towtank.errors import Fault, StudyError

_LINE = re.compile(r"^\S*plan\.json: (?P<place>[\w.\[\]]+): (?P<message>.*)$")
_TLS = r"targets\[\d+\]\.tls"
# Paths in a plan whose values come from a workload file, if one is given. Paths of certificates and keys always come
# from options.
_OF_WORKLOAD = re.compile(
    rf"(?!{_TLS}\.(?:ca|client_certificate|client_key)\b)"
    r"(transactions|groups|targets|pools|variables|lists|steps|pages)\b"
)
# Pattern of a path in the engine's plan, and option that sets the value at this path. The first match applies.
_OPTIONS = (
    (r"load\..*rate", "--rate"),
    (r"load\.users_at_most", "--users-at-most"),
    (r"load\.backlog_at_most", "--backlog-at-most"),
    (r"load\..*users", "--users"),
    (r"load\..*duration_s", "--duration"),
    (r"threads", "--threads"),
    (r"cpus", "--pin"),
    (r"groups\[\d+\]\.think", "--think"),
    (r"connections\.sources", "--source"),
    (r"connections\.streams", "--streams"),
    (r"connections", "--connections"),
    (r"timeouts|.*\.timeout_s", "--timeout"),
    (r".*\.headers\[\d+\]", "--header"),
    (r".*\.method", "--method"),
    (r".*\.body", "--body"),
    (rf"{_TLS}\.ca", "--cacert"),
    (rf"{_TLS}\.client_certificate", "--cert"),
    (rf"{_TLS}\.client_key", "--key"),
    (r"targets|.*\.path", "TARGET"),
)


def refuse_options(log: Path, *, of_workload: bool) -> None:
    """Raise the faults that the engine found in a plan of `towtank drive`, each with the option that caused the fault.

    `log` is the standard error of the engine; `of_workload` is True if a workload file defines the requests.

    Raises
    ------
    StudyError
        If the engine reported any fault.
    """
    lines = log.read_text("utf-8", errors="replace").splitlines() if log.exists() else []
    places = [(match["place"], match["message"]) for line in lines if (match := _LINE.match(line))]
    found = [
        ("TARGET", f"{place}: {message}") if of_workload and _OF_WORKLOAD.match(place) else (option_of(place), message)
        for place, message in places
    ]
    if found:
        raise StudyError([Fault.of_option(option, message) for option, message in dict.fromkeys(found)])


def option_of(place: str) -> str:
    """Return the option that sets the value at a path in the engine's plan; the path itself if no option sets it."""
    return next((option for pattern, option in _OPTIONS if re.fullmatch(rf"(?:{pattern})(?:[.\[].*)?", place)), place)
