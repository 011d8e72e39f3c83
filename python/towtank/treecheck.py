"""Checks the values of a file against a pydantic model, and reports all faults with their positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from towtank.errors import Fault
from towtank.problems import is_missing, message_of, text_of
from towtank.spelling import Misspelt, did_you_mean, meant, misnamed
from towtank.units import shown
from towtank.yamlfile import Node, Path_, fault_at, find

ModelT = TypeVar("ModelT", bound=BaseModel)

MISSPELT_KEY = "misspelt_key"
"""Type of the pydantic error for a misspelt key; the context of such an error contains the message."""
# Largest number of rounds of the check. Each round removes the invalid values that it finds, and the next round may
# find further invalid values in the mappings that contain these entries.
ROUNDS_AT_MOST = 20


@dataclass
class Checked(Generic[ModelT]):
    """Result of checking a tree against a model: the model of the tree without its invalid values (None if no valid
    model remains), this tree with the original positions in the file, and the faults of the original tree.
    """

    model: ModelT | None
    tree: Node
    faults: list[Fault]


def validate_tree(root: Node, model: type[ModelT]) -> Checked[ModelT]:
    """Check a tree of values against a pydantic model, and continue after faults.

    The check is repeated without the invalid values, so that all faults are reported together, and later checks can use
    the valid values.
    """
    rest = root.copy()
    if not isinstance(root.value, dict):
        message = f"must be a mapping of keys to values, got {shown(root.plain())} instead"
        return Checked(None, rest, [fault_at(root, (), message)])
    faults: list[Fault] = []
    for attempt in range(ROUNDS_AT_MOST):
        try:
            return Checked(model.model_validate(rest.plain()), rest, faults)
        except ValidationError as error:
            problems = [(problem, problem["loc"]) for problem in error.errors(include_url=False)]
        if attempt == 0:
            faults = _faults(rest, problems)
        wrong = [_wrong_node(rest, problem, path) for problem, path in problems]
        if not _take_out(rest, wrong):
            break
    return Checked(None, rest, faults)


def _faults(root: Node, problems: list[tuple[Any, Path_]]) -> list[Fault]:
    missing = {path for problem, path in problems if is_missing(problem)}
    return sorted({_as_fault(root, problem, path, missing) for problem, path in problems})


def _wrong_node(root: Node, problem: Any, path: Path_) -> Node:
    """Return the node that a problem concerns; for a missing key, the mapping that lacks the key."""
    return find(root, path[:-1] if is_missing(problem) else path)[0]


def _take_out(root: Node, wrong: Iterable[Node]) -> bool:
    """Remove nodes from a tree; return False if the root is among the nodes to remove."""
    # Nodes are compared by identity, so that equal values at other positions are not removed.
    out = {id(node) for node in wrong}
    for node in root.walk():
        if isinstance(node.value, dict):
            node.value = {key: child for key, child in node.value.items() if id(child) not in out}
        elif isinstance(node.value, list):
            node.value = [child for child in node.value if id(child) not in out]
    return id(root) not in out


def _as_fault(root: Node, problem: Any, path: Path_, missing: Set[Path_]) -> Fault:
    """Convert one of pydantic's problems to a fault; `missing` contains the paths of all missing keys."""
    kind, context = problem["type"], problem.get("ctx", {})
    if kind in {"extra_forbidden", "unknown_key"}:
        return _unknown_key(root, problem, path, missing)
    if kind == "missing":
        return fault_at(root, path[:-1], text_of(problem))
    if kind in {"value_error", MISSPELT_KEY}:
        return fault_at(root, path, _text_of(context["error"]), key=kind == MISSPELT_KEY)
    return fault_at(root, path, message_of(problem))


def _text_of(error: Exception | str) -> str:
    """Return the message of an error. A `Misspelt` message stays an object with its correction, which `str(error)`
    would not contain.
    """
    text = error.args[0] if isinstance(error, Exception) and error.args else error
    return text if isinstance(text, str) else str(text)


def _unknown_key(root: Node, problem: Any, path: Path_, missing: Set[Path_]) -> Fault:
    """Report an unknown key with all known keys and the most similar known key, preferably a missing key."""
    key, known = str(path[-1]), problem.get("ctx", {}).get("known", [])
    present = find(root, path[:-1])[0].value
    absent = [name for name in known if not isinstance(present, dict) or name not in present]
    needed = [name for name in absent if (*path[:-1], name) in missing]
    # The known keys that the mapping already contains are compared last: if a preset misspells a key, the file that
    # uses the preset may contain the correct key.
    near = next((typo for names in (needed, absent, known) if (typo := meant(key, names, is_form=True))), None)
    hint = f", did you mean {near.meant!r}?" if near is not None else did_you_mean(key, known)
    allowed = f"one of the keys {', '.join(known)}" if known else "a key that is known here"
    message = f"must be {allowed}, got the unknown key {key!r} instead{hint}"
    return fault_at(root, path, Misspelt.of(message, near), key=True)


def misspelt_key(value: Mapping[str, object], must: str, known: Sequence[str]) -> InitErrorDetails | None:
    """Return the error for a key of a mapping that misspells a known key; None if there is no such key. The message
    begins with `must`, which names the keys that the mapping must have.

    It is for mappings in which the value of a key selects the model: if this key is misspelt, no model is selected that
    would report the fault.
    """
    for key in value:
        near = meant(key, known, is_form=True)
        if near is not None:
            message = f"{must}, got {key!r} instead, did you mean {near.meant!r}?"
            error = PydanticCustomError(MISSPELT_KEY, "misspelt key", {"error": Misspelt.of(message, near)})
            return InitErrorDetails(type=error, loc=(key,), input=value[key])
    return None


def unknown_choice(value: Mapping[str, object], key: str, allowed: str, known: Iterable[str]) -> InitErrorDetails:
    """Return the error for a mapping whose model depends on the value of `key`, if that value is missing or unknown.
    `allowed` describes the allowed values.
    """
    if key in value:
        message = misnamed(allowed, value[key], known, is_form=True)
    else:
        misspelt = misspelt_key(value, f"must have the key {key!r}", [key])
        if misspelt is not None:
            return misspelt
        message = f"must be {allowed}, got none instead"
    error = PydanticCustomError("value_error", "{error}", {"error": message})
    return InitErrorDetails(type=error, loc=(key,) if key in value else (), input=value.get(key))
