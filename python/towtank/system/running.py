"""Finds name, CPUs and resource limits of running programs in the files of the kernel."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

from towtank.system.limits import parse_limits, parse_ports, ports_here, read_here

_INTERPRETERS = re.compile(r"(python|pypy|node|ruby|perl|php|java|bash|dash|sh)[\d.]*")
_WITH_VALUE = frozenset(
    {"-X", "-W", "-cp", "-classpath", "--class-path", "-r", "--require", "--import", "--add-opens", "--add-exports"}
)
"""Options of interpreters that are followed by a value."""
_CODE = re.compile(r"-[a-z]{0,2}[ce]|-p|--eval|--print")
"""Options of interpreters that are followed by code. They may be combined with other options, as in `-lc`."""
_LONGEST_NAME = 40
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


def process_facts(pid: int) -> Mapping[str, Any]:
    """Return id, program name and resource limits of a running process, for the manifest of a run.

    The CPUs that the process may use are included if they are not all CPUs of this machine.
    """
    ports = parse_ports(ports_here(pid) or "")
    limits = {**parse_limits(read_here(f"/proc/{pid}/limits") or ""), **({} if ports is None else {"ports": ports})}
    cpus: list[int] = []
    with suppress(OSError):
        cpus = sorted(os.sched_getaffinity(pid))
    own = {"affinity": cpus} if len(cpus) < (os.cpu_count() or 0) else {}
    return {"pid": pid, "program": program_name(pid), "limits": limits, **own}


def program_name(pid: int, proc: Path = Path("/proc")) -> str:
    """Return a short name, of letters, digits, `_` and `-`, of the program that a process runs: for an interpreter, the
    name of its script, module, archive or main class; otherwise the name of the process. `process` if no name can be
    read.
    """
    name, arguments = "", list[str]()
    with suppress(OSError):
        name = (proc / str(pid) / "comm").read_text("utf-8", "replace").strip()
    with suppress(OSError):
        arguments = (proc / str(pid) / "cmdline").read_text("utf-8", "replace").rstrip("\0").split("\0")
    # In PHP only, the option -r is followed by code.
    is_code = name.startswith("php") and "-r" in arguments
    if arguments and _INTERPRETERS.fullmatch(PurePath(arguments[0]).name) and not is_code:
        name = _script(arguments[1:]) or name
    return _NOT_IN_NAMES.sub("-", name)[:_LONGEST_NAME].strip("-") or "process"


def _script(arguments: list[str]) -> str:
    """Return the name of the program that an interpreter runs; empty if it runs code from an argument."""
    rest = iter(arguments)
    for argument in rest:
        if _CODE.fullmatch(argument):
            return ""
        if argument in ("-m", "-jar"):
            return PurePath(next(rest, "")).name.removesuffix(".jar")
        if argument in _WITH_VALUE:
            next(rest, None)
        elif not argument.startswith("-"):
            path = PurePath(argument)
            # Without slash and extension, the argument is a main class of Java, whose name follows the last dot.
            is_class = "/" not in argument and not re.search(r"\.(py|js|mjs|cjs|ts|rb|pl|php|sh|java)$", argument)
            return argument.rpartition(".")[2] if is_class else path.stem
    return ""
