"""Lists the files and features that come with Towtank: studies, workloads, systems, kinds of services, observers,
drivers and machines.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from towtank import yamlfile
from towtank.digging import dig
from towtank.errors import StudyError
from towtank.sizing import Machine
from towtank.sizing import machine_catalogue as machines
from towtank.study import shipped_studies
from towtank.system import HOST_PROVIDERS, SERVICE_KINDS
from towtank.units import format_size

# Description of each source of measurements during a run, by name. Details are in `docs/reference/run-folder.md`.
OBSERVERS = {
    "host": "CPU, memory, page faults, disks, network, pressure and context switches of the machine, from /proc",
    "group": "CPU, memory, disk and open files of each service with all its processes, from /proc",
    "host-NAME": "CPU, throttling, memory, disks, network and pressure of each host with limits of its own",
    "postgresql": "statistics views of PostgreSQL, statements with plans, advice on indexes",
    "mariadb": "status variables of MariaDB: statements, rows, buffer pool, log, locks",
    "sqlite": "sizes and pages of a SQLite database",
    "httpd": "status page of Apache httpd: workers, and requests by member of its load balancer",
    "nginx": "status page of nginx, and requests by member from a log",
    "haproxy": "command socket of HAProxy: sessions, queues, and requests by member",
    "glusterfs": "statistics of a GlusterFS mount, from its folder .meta",
    "redis": "statistics of Redis, from INFO",
    "openldap": "monitor database of OpenLDAP: operations, threads, pages",
    "jetty": "statistics page of Jetty: requests, connections, heap",
    "gc_log": "log of a JVM's garbage collector: pauses, heap after a collection, allocation",
    "prometheus": "metrics page of a service, in the Prometheus text format",
}
# Pattern of a document's title at the start of a claim's source; the number of a chapter or part may follow.
_DOCUMENT = re.compile(r"[^,]+(?:, (?:chapter|part) \d+)?")
DRIVERS = {
    "http": "HTTP/1.1 and HTTP/2, with or without TLS: ranges, multipart uploads, cookies, Basic authentication",
    "sql": "statements and transactions of a database, with bound values and counts of rows",
    "file": "files below a folder: open, read, write, sync, stat, rename, delete",
    "tcp": "exchanges of bytes over TCP or a Unix socket",
    "ldap": "operations of an LDAP directory: bind, search, compare, add, modify, delete",
}


def catalogue() -> dict[str, list[dict[str, str]]]:
    """Return the content of `towtank list`: for each section, entries with at least the keys `name` and `summary`."""
    files = shipped_studies()
    return {
        "studies": [{**_entry(file, name), "source": _source(file)} for name, file in files.items()],
        "workloads": _beside(files, "workload"),
        "systems": _beside(files, "system"),
        "service_kinds": [{"name": name, "summary": kind.summary} for name, kind in SERVICE_KINDS.items()],
        "host_providers": [{"name": name, "summary": _sentence(part.__doc__)} for name, part in HOST_PROVIDERS.items()],
        "observers": [{"name": name, "summary": summary} for name, summary in OBSERVERS.items()],
        "drivers": [{"name": name, "summary": summary} for name, summary in DRIVERS.items()],
        "machines": [{"name": name, "summary": _machine(machine)} for name, machine in machines().items()],
    }


def _sentence(text: str | None) -> str:
    """Return the first line of a docstring as a summary: first letter in lower case, no full stop."""
    line = (text or "").splitlines()[0].rstrip(".")
    return line[:1].lower() + line[1:]


def _machine(machine: Machine) -> str:
    """Render title, size and capacity ratings of a machine in one line."""
    cpus = machine.cpus
    size = [f"{cpus} CPU{'' if cpus == 1 else 's'}"] if cpus is not None else []
    size += [format_size(machine.memory)] if machine.memory is not None else []
    ratings = [f"{rating.value:g} {scale}" for scale, rating in machine.ratings.items()]
    return "; ".join(part for part in (machine.title, ", ".join(size), ", ".join(ratings)) if part)


def _beside(studies: dict[str, Path], key: str) -> list[dict[str, str]]:
    """Return one catalogue entry for each file that any study names under the given key, such as `workload`."""
    named = {(study.parent / str(_read(study).get(key, ""))).resolve(): None for study in studies.values()}
    return [_entry(file) for file in named if file.is_file()]


def _entry(file: Path, name: str | None = None) -> dict[str, str]:
    content = _read(file)
    return {
        "name": name or str(content.get("name", file.stem)),
        "summary": str(content.get("title", "")),
        "file": str(file),
    }


def _source(file: Path) -> str:
    """Return the document that most claims of a study cite, with its chapter or part; empty if no claim cites a
    document.
    """
    claims = dig(_read(file), "claims")
    cited = [dig(claim, "source") for claim in claims] if isinstance(claims, list) else []
    found = Counter(match.group() for text in cited if isinstance(text, str) and (match := _DOCUMENT.match(text)))
    return found.most_common(1)[0][0] if found else ""


def _read(file: Path) -> dict[str, object]:
    """Read the content of a file; return an empty result for a faulty file, so that other files are still listed."""
    try:
        data = yamlfile.load(file).data
    except StudyError:
        return {}
    return data if isinstance(data, dict) else {}
