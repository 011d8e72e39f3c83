"""Checks the references `${...}` in the texts and templates of services of kind `command`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from towtank import yamlfile
from towtank.errors import Fault, StudyError
from towtank.spelling import misnamed
from towtank.system.command_model import Command
from towtank.system.copies import copies_of
from towtank.system.placeholders import Reference, references

if TYPE_CHECKING:
    from towtank.system.model import SystemFile
    from towtank.system.service_model import Service

# Keys of a service whose texts other users of the machine may see while the program runs.
_PUBLIC = ("program", "arguments", "ready", "population", "folder")
# References `${...}` whose values are known before the service's host exists.
_EARLY = ("settings", "scratch", "data")
# Largest size of a template. [byte]
TEMPLATE_BYTES = 2**20
# Largest number of settings that an error message lists. [1]
_LISTED = 20


def command_faults(tree: yamlfile.Node, system: SystemFile, known: list[str]) -> list[Fault]:
    """Report wrong references `${...}` in services of kind `command`, and templates that cannot be read. `known` are
    the names of all services in the file, including those with faults.
    """
    faults: list[Fault] = []
    uses = {name: _used(tree, service) for name, service in system.services.items()}
    for name, service in system.services.items():
        if isinstance(service, Command):
            faults += _of_texts(tree, system, name, service, known)
            faults += _of_templates(tree, system, name, service, known)
            faults += _of_order(tree, system, name, service, known)
            if not faults and name in _reached(uses, name):
                message = f"must not depend on itself through the services that it refers to ({', '.join(uses[name])})"
                faults.append(yamlfile.fault_at(tree, ("services", name), message))
    return faults


def services_used(service: Command, templates: Iterator[str]) -> list[str]:
    """Return the names of the services that must run before a program starts."""
    texts = [*(text for _, text in service.texts()), *templates]
    named = [place.service for text in texts for place in references(text) if place.service]
    return list(dict.fromkeys([*service.after, *named]))


def _used(tree: yamlfile.Node, service: Service) -> list[str]:
    if not isinstance(service, Command):
        return list(service.forwards_to)
    return services_used(service, (text for _, _, text in _templates(tree, service) if isinstance(text, str)))


def _reached(uses: Mapping[str, list[str]], start: str) -> set[str]:
    """Return the services that a service uses, directly or through other services."""
    reached: set[str] = set()
    waiting = list(uses[start])
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += uses.get(name, [])
    return reached


def _of_texts(
    tree: yamlfile.Node, system: SystemFile, name: str, service: Command, known: list[str]
) -> Iterator[Fault]:
    for path, text in service.texts():
        for place in references(text):
            message = _wrong(system, name, service, place, known)
            if message is None and path[0] in ("program", "folder") and place.section not in _EARLY:
                message = f"must refer to settings, ${{scratch}} or ${{data}} only, got {place.text} instead"
            if message is None and path[0] in _PUBLIC:
                message = _shown_secret(system, place)
            if message is not None:
                yield yamlfile.fault_at(tree, ("services", name, *path), message)


def _of_templates(
    tree: yamlfile.Node, system: SystemFile, name: str, service: Command, known: list[str]
) -> Iterator[Fault]:
    for key, path, text in _templates(tree, service):
        if isinstance(text, OSError):
            unread = f"must be a file that can be read, got {str(path)!r} instead: {text.strerror or text}"
            yield yamlfile.fault_at(tree, ("services", name, "files", key), unread)
            continue
        if isinstance(text, StudyError):
            yield from text.faults
            continue
        for place in references(text):
            message = _wrong(system, name, service, place, known)
            if message is not None:
                before = text[: place.offset].split("\n")
                yield Fault(str(path), len(before), len(before[-1]) + 1, f"services.{name}.files.{key}", message)


def _templates(tree: yamlfile.Node, service: Command) -> Iterator[tuple[str, Path, str | OSError | StudyError]]:
    """Yield key, path and text of each template, or the error in place of the text if the template cannot be read."""
    for key, template in service.files.items():
        path = Path(tree.file).parent / template
        try:
            yield key, path, read_template(path)
        except (OSError, StudyError) as error:
            yield key, path, error


def read_template(path: Path) -> str:
    """Read the text of a template.

    Raises
    ------
    OSError
        If the file cannot be read, or is larger than `TEMPLATE_BYTES`.
    StudyError
        If the text is not UTF-8.
    """
    with path.open("rb") as stream:
        raw = stream.read(TEMPLATE_BYTES + 1)
    if len(raw) > TEMPLATE_BYTES:
        raise OSError(f"it is larger than {TEMPLATE_BYTES} bytes")
    return yamlfile.decoded(raw, str(path))


def _of_order(
    tree: yamlfile.Node, system: SystemFile, name: str, service: Command, known: list[str]
) -> Iterator[Fault]:
    for number, other in enumerate(service.after):
        if (message := _wrong_service(system, name, other, known)) is not None:
            yield yamlfile.fault_at(tree, ("services", name, "after", number), message)


def _wrong(system: SystemFile, name: str, service: Command, place: Reference, known: list[str]) -> str | None:
    """Return the reason why a reference has no value; None if it has a value."""
    if place.fault is not None:
        return place.fault
    if place.section in ("port", "address") and service.port is None:
        return f"must be a service with a port for {place.text}, got a service without a port: add `port: 0`"
    named: dict[str, list[str]] = {
        "settings": list(service.settings),
        "values": list(service.population.values) if service.population is not None else [],
        "files": list(service.files),
    }
    if place.section in named:
        names = named[place.section]
        if place.name in names:
            return None
        allowed = f"a name in {place.section} of the service ({', '.join(names) or 'there is none'})"
        return misnamed(allowed, place.name, names)
    if place.section == "services":
        return _wrong_service(system, name, place.service, known) or _wrong_part(system, place)
    return None


def _wrong_service(system: SystemFile, name: str, other: str, known: list[str]) -> str | None:
    others = [each for each in known if each != name]
    if other not in others:
        return misnamed(f"another service of this file ({', '.join(others) or 'there is none'})", other, others)
    found = system.services.get(other)
    if found is not None and copies_of(system, found.host) is not None:
        return f"must be a service on a host without copies, got {other!r} instead"
    return None


def _wrong_part(system: SystemFile, place: Reference) -> str | None:
    """Return a message if a reference names a property that a service does not have; otherwise None.

    Only the system file is examined, because the service does not run yet.
    """
    found = system.services.get(place.service)
    kind, _, key = place.part.partition(".")
    if found is None:  # The faults of this service are reported elsewhere.
        return None
    if kind == "settings":
        given = list(found.configuration)
        if key in given:
            return None
        listed = "" if len(given) > _LISTED else f" ({', '.join(given) or 'there is none'})"
        return misnamed(f"a setting of {place.service}{listed}", key, given)
    without = isinstance(found, Command) and found.port is None
    if without or found.kind in ("folder", "sqlite", "glusterfs_mount"):
        return f"must be a service with an address, got {place.service!r} instead"
    if kind in ("user", "password", "database") and not _has(found, kind):
        return f"must be a service with a login for {place.text}, got a {found.kind} instead"
    return None


def _has(service: Service, part: str) -> bool:
    """Return True if the address of a service contains a user, a password or a database, as named by `part`."""
    if service.spoken == "sql":
        return True
    return (service.has_login and part != "database") or (service.kind == "redis" and part == "password")


def _shown_secret(system: SystemFile, place: Reference) -> str | None:
    """Return a message if a reference would show a secret to other users of the machine; otherwise None."""
    found = system.services.get(place.service)
    if found is None or place.part not in ("url", "password"):
        return None
    if place.part == "url" and not _has(found, "password"):
        return None
    reason = "every user of the machine can read arguments"
    return f"must be in environment or in a file, because {reason}, got {place.text} instead"
