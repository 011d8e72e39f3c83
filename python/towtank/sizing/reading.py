"""Reads a sizing file and the command-line options as one tree, and checks them together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from towtank import yamlfile
from towtank.errors import COMMAND_LINE, Fault, StudyError
from towtank.sizing.measured_loads import SUFFIX
from towtank.sizing.sizing_file import SCHEMA, SizingFile
from towtank.spelling import did_you_mean
from towtank.treecheck import Checked, validate_tree
from towtank.yamlfile import Document, Node

_BY_NAME = ("load.users", "load.rate", "load.think", "utilization_at_most")
_BY_TIER = ("cpus", "nodes")


def read_sizing(path: Path | None, options: Mapping[str, Any]) -> Checked[SizingFile]:
    """Read a sizing file and command-line options, which override the file. The result contains all faults.

    Without a path, options alone define the sizing. Options are values by path, such as `load.users`: a text as in a
    file, or a list of texts; in `cpus` and `nodes`, they are by tier.
    """
    tree = yamlfile.load(path).root if path is not None else Node({}, (), 0, 0, COMMAND_LINE)
    if isinstance(tree.value, dict):
        for key, value in options.items():
            if value not in (None, []):
                _lay(tree, key, value)
    return validate_tree(tree, SizingFile)


def check_sizing(document: Document) -> list[Fault]:
    """Return the faults of a sizing file that can be found without the model."""
    checked = validate_tree(document.root, SizingFile)
    faults = list(checked.faults)
    if checked.model is not None:
        faults += contradictions(checked.tree, checked.model)
    return sorted(set(faults))


def contradictions(tree: Node, file: SizingFile) -> list[Fault]:
    """Return a fault for each contradiction between keys of a sizing file."""
    found = []

    def add(path: tuple[str | int, ...], message: str) -> None:
        found.append(yamlfile.fault_at(tree, path, message))

    load = file.load
    if load.history is not None and load.growth is not None:
        add(("load", "growth"), "must not be given together with 'history': the history gives the growth")
    if load.growth_interval is not None:
        low, high = load.growth_interval
        if load.growth is None:
            add(("load", "growth_interval"), "must be given with 'growth', got no growth")
        elif not low <= load.growth <= high:
            add(("load", "growth_interval"), "must be a lower and an upper end, with 'growth' between them")
    if load.history is not None and Path(load.history.csv).suffix == SUFFIX:
        for key in sorted({"date", "load"} & load.history.model_fields_set):
            add(("load", "history", key), "must be omitted: the output of `towtank history --json` has no columns")
    if load.horizon and load.growth is None and load.history is None:
        add(("load", "horizon"), "must be given with 'growth' or 'history', got neither")
    if load.mix is not None and abs(sum(load.mix.values()) - 1) > 1e-6:
        add(("load", "mix"), f"must be shares that add up to 100 %, got {100 * sum(load.mix.values()):g} %")
    for name, cache in file.hit_ratios.items():
        if len(cache.memory) != len(cache.hit_ratio) or cache.memory != sorted(set(cache.memory)):
            message = "must have a hit ratio for each size of memory, with the sizes in ascending order"
            add(("hit_ratios", name), message)
        elif not cache.memory[0] <= cache.now <= cache.memory[-1]:
            add(("hit_ratios", name, "now"), "must be within the given sizes of memory")
    return [*found, *_tier_faults(tree, file)]


def _tier_faults(tree: Node, file: SizingFile) -> list[Fault]:
    found = []
    for name, tier in file.tiers.items():
        machines = tier.machines is not None or (bool(file.machines) and tier.kind == "cpu")
        if machines and tier.cpus is not None:
            message = "must not be given together with machines: the machines determine the number of CPUs"
            found.append(yamlfile.fault_at(tree, ("tiers", name, "cpus"), message))
        if tier.machines is not None and tier.kind == "disk":
            message = "must be left out if the kind is disk"
            found.append(yamlfile.fault_at(tree, ("tiers", name, "machines"), message))
        if tier.stations is not None and len(tier.stations) > 1:
            shared = "disks" if tier.kind == "disk" else "CPUs"
            message = (
                f"must be one station: {', '.join(tier.stations)} would each use all {shared} of the same nodes; "
                "give each a tier, or join them in the model into one station with the sum of their demands"
            )
            found.append(yamlfile.fault_at(tree, ("tiers", name, "stations"), message))
        if tier.disk_size is not None and tier.kind != "disk":
            found.append(yamlfile.fault_at(tree, ("tiers", name, "disk_size"), "must be given with kind: disk only"))
    for name in (name for name in file.memory if file.tiers and name not in file.tiers):
        near = did_you_mean(name, list(file.tiers))
        message = f"must be a tier ({', '.join(file.tiers)}), got {name!r} instead{near}"
        found.append(yamlfile.fault_at(tree, ("memory", name), message, key=True))
    uses_data = any(entry.share is not None for entries in file.memory.values() for entry in entries)
    if uses_data and file.data is None:
        message = "must be given together with the key 'data', to which a share refers"
        found.append(yamlfile.fault_at(tree, ("memory",), message))
    return found


def _lay(tree: Node, key: str, value: Any) -> None:
    """Put the value of a command-line option into the YAML tree of a sizing file."""
    if key in _BY_TIER:
        _lay_tiers(tree, key, value)
        return
    texts = value if isinstance(value, list) else [value]
    path = tuple(key.split("."))
    if key in _BY_NAME:
        for text in texts:
            name, equals, rest = str(text).partition("=")
            _put(tree, (*path, name) if equals else path, _plain(rest if equals else text))
    elif key == "load.mix":
        for text in texts:
            name, equals, rest = str(text).partition("=")
            if not equals:
                raise StudyError.of_option("--mix", f"must be CLASS=SHARE, got {text!r} instead")
            _put(tree, (*path, name), _node(rest))
    elif isinstance(value, list):
        items = [Node(text, (*path, place), 0, 0, COMMAND_LINE) for place, text in enumerate(value)]
        _put(tree, path, Node(items, path, 0, 0, COMMAND_LINE))
    else:
        _put(tree, path, _plain(value))


def _lay_tiers(tree: Node, key: str, texts: list[str]) -> None:
    for text in texts:
        name, equals, rest = text.partition("=")
        if not equals:
            message = f"must be TIER=8, TIER=2,4,8 or TIER=1..16, got {text!r} instead"
            raise StudyError.of_option(f"--{key}", message)
        parts = [part.strip() for part in rest.split(",")]
        path = ("tiers", name, key)
        many = Node([_plain(part) for part in parts], path, 0, 0, COMMAND_LINE)
        _put(tree, path, many if len(parts) > 1 else _plain(rest))


def _put(tree: Node, path: tuple[str, ...], node: Node) -> None:
    node.path = path
    yamlfile.put(tree, path, node, (0, 0))


def _node(text: Any) -> Node:
    return Node(text, (), 0, 0, COMMAND_LINE)


def _plain(text: Any) -> Node:
    """Return a YAML node for the text of an option. A whole number becomes an integer."""
    if isinstance(text, str) and text.strip().isdecimal():
        return _node(int(text))
    return _node(text)


__all__ = ["SCHEMA", "check_sizing", "contradictions", "read_sizing"]
