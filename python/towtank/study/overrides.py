"""Applies overrides, which are values of the system, the workload or an event that a study sets by dotted path.

Paths are `services.NAME.settings.KEY`, `services.NAME.population.KEY` and further keys of a service; `hosts.NAME.KEY`;
`network.KEY`; `generator.KEY`; `parameters.NAME`; and `events.NAME.KEY` of the study itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from towtank.errors import Fault
from towtank.spelling import Misspelt, did_you_mean, meant, misnamed
from towtank.yamlfile import Node, put, where

_FORMS = (
    "services.NAME.settings.KEY, services.NAME.population.KEY, hosts.NAME.KEY, network.KEY, generator.KEY, "
    "parameters.NAME or events.NAME.KEY"
)
# Sections of a system file that map names to entries, each with the word for such an entry in messages.
_SECTIONS = {"services": "service", "hosts": "host"}
# Sections of a system file with a single set of keys.
_SINGLE = ("network", "generator")
EVENTS = "events"
FIRST_PARTS = frozenset({*_SECTIONS, *_SINGLE, "parameters", EVENTS})
"""Words with which the path of an override may begin."""


@dataclass(frozen=True)
class Override:
    """Value that a study sets at a path of its system, its workload or its events. `place` is the line and column of
    the override in the study file.
    """

    path: tuple[str, ...]
    value: Node
    place: tuple[int, int]

    @property
    def is_parameter(self) -> bool:
        return self.path[0] == "parameters"

    @property
    def is_event(self) -> bool:
        return self.path[0] == EVENTS

    def fault(self, message: str) -> Fault:
        """Return a fault located at the position of the override."""
        return Fault(self.value.file, *self.place, where(self.value.path), message)


def overrides_of(node: Node | None) -> list[Override]:
    """Return the overrides in a mapping of paths to values; an empty list if the node is not a mapping."""
    if node is None or not isinstance(node.value, dict):
        return []
    return [Override(tuple(path.split(".")), value, node.keys[path]) for path, value in node.value.items()]


def check_override(
    override: Override, system: Node | None, parameters: list[str] | None, events: list[str]
) -> Fault | None:
    """Check that the path of an override exists. Other checks examine the value, after the override is applied.

    The system or the parameters are None if their file could not be read, so that paths into it cannot be checked.
    """
    first, path = override.path[0], override.path
    written = ".".join(path)
    if first == "parameters" and len(path) == 2:
        return _unknown_parameter(override, parameters)
    if first in _SINGLE and len(path) == 2 and path[1]:
        return None
    if first == EVENTS and len(path) == 3:
        return _unknown_event(override, events)
    if first not in _SECTIONS or len(path) < 3 or not all(path):
        near = did_you_mean(first, sorted(FIRST_PARTS)) if first not in FIRST_PARTS else ""
        message = f"must be a path such as {_FORMS}, got {written!r} instead{near}"
        return override.fault(Misspelt.of(message, meant(first, sorted(FIRST_PARTS))))
    return _unknown_part(override, system)


def _unknown_part(override: Override, system: Node | None) -> Fault | None:
    first, path = override.path[0], override.path
    section = system.child(first) if system is not None else None
    if section is None or not isinstance(section.value, dict) or path[1] in section.value:
        return None
    known = ", ".join(section.value)
    what = _SECTIONS[first]
    return override.fault(misnamed(f"a path to a {what} of the system ({known})", path[1], section.value))


def _unknown_parameter(override: Override, parameters: list[str] | None) -> Fault | None:
    name = override.path[1]
    if parameters is None or name in parameters:
        return None
    known = ", ".join(parameters) or "there is none"
    return override.fault(misnamed(f"a parameter of the workload ({known})", name, parameters))


def _unknown_event(override: Override, events: list[str]) -> Fault | None:
    name = override.path[1]
    if name in events:
        return None
    known = ", ".join(events) or "there is none"
    return override.fault(misnamed(f"a path to an event of the study ({known})", name, events))


def apply_to_system(system: Node, overrides: list[Override]) -> Node:
    """Return a copy of a system file with overrides applied."""
    tree = system.copy()
    for override in overrides:
        if not override.is_parameter and not override.is_event:
            put(tree, override.path, override.value, override.place)
    return tree


def apply_to_events(study: Node, overrides: list[Override]) -> Node:
    """Return a copy of a study file with overrides of its events applied."""
    tree = study.copy()
    for override in overrides:
        if override.is_event:
            put(tree, override.path, override.value, override.place)
    return tree


def parameters_of(overrides: list[Override]) -> dict[str, object]:
    """Return the parameter values that overrides set, by name."""
    return {override.path[1]: override.value.plain() for override in overrides if override.is_parameter}
