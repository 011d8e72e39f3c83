"""Finds the templates, variables, lists and files that steps read and write, with their paths below the step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from towtank.workload import templates
from towtank.workload.calls import CallStep
from towtank.workload.model import Defaults, Page, Transaction
from towtank.workload.noted import note_of
from towtank.workload.steps import Auth, Branch, Draw, If, Pick, Pop, Push, Repeat, Request, Set, Step
from towtank.yamlfile import Path_


@dataclass(frozen=True)
class Placed:
    """Text of a workload file with its path."""

    path: Path_
    text: str


def steps_of(transaction: Transaction, path: Path_) -> Iterator[tuple[Path_, list[Step]]]:
    """Yield the path of each step of a transaction, including steps of its pages, and a list that contains only this
    step.
    """
    for index, item in enumerate(transaction):
        if isinstance(item, Page):
            for inner, step in enumerate(item.steps):
                yield (*path, index, "steps", inner), [step]
        else:
            yield (*path, index), [item]


def blocks_of(step: Step) -> list[tuple[str, list[Step]]]:
    """Return the lists of steps that are nested in a step, each with its key."""
    if isinstance(step, Branch | If):
        return [("then", step.then), ("else", step.else_)]
    if isinstance(step, Repeat):
        return [("steps", step.steps)]
    return []


def walk(transaction: Transaction, path: Path_ = ()) -> Iterator[tuple[Path_, Step]]:
    """Yield all steps of a transaction with their paths, including nested steps."""
    for place, steps in steps_of(transaction, path):
        for step in steps:
            yield from _walk_step(step, place)


def _walk_step(step: Step, path: Path_) -> Iterator[tuple[Path_, Step]]:
    yield path, step
    for key, block in blocks_of(step):
        for index, inner in enumerate(block):
            yield from _walk_step(inner, (*path, key, index))


def has_request(step: Step) -> bool:
    """Return True if a step, or a step nested in it, makes a request."""
    return any(isinstance(inner, Request | CallStep) for _, inner in _walk_step(step, ()))


def templates_of(step: Step) -> Iterator[Placed]:
    """Yield the templates of a step, without the templates of nested steps."""
    if isinstance(step, Request):
        yield from _templates_of_request(step)
    elif isinstance(step, CallStep):
        yield from (Placed(path, text) for path, text in step.texts())
        yield from _templates_of_note(step)
    elif isinstance(step, Set):
        for name, text in step.set.items():
            yield Placed(("set", name), text)
    elif isinstance(step, Push):
        yield Placed(("push",), step.push)


def _templates_of_request(step: Request) -> Iterator[Placed]:
    """Yield the templates of a request, then the templates of its checks.

    The checks are last because they may read values that the request extracts.
    """
    yield Placed((step.method.lower(),), step.path)
    for key, mapping in (("query", step.query), ("headers", step.headers), ("form", step.form or {})):
        for name, text in mapping.items():
            yield Placed((key, name), text)
    if isinstance(step.auth, Auth):
        yield Placed(("auth", "user"), step.auth.user)
        yield Placed(("auth", "password"), step.auth.password)
    yield from _texts(step.json_, ("json",))
    if step.body is not None:
        yield Placed(("body",), step.body)
    for place, _, part in step.parts:
        for key, value in (("value", part.value), ("filename", part.filename)):
            if value is not None:
                yield Placed(("multipart", place, key), value)
    yield from _templates_of_note(step)
    if step.check is not None:
        yield from _templates_of_check(step)


def _templates_of_note(step: Request | CallStep) -> Iterator[Placed]:
    """Yield the key of a stored item that a request replaces or removes.

    Such a key is read before the request is sent, unlike the key of an item that the request stores.
    """
    note = note_of(step)
    if note is not None and note[0] in ("replaces", "removes"):
        yield Placed((note[0], note[1]), note[2])


def _templates_of_check(step: Request) -> Iterator[Placed]:
    assert step.check is not None  # the caller passes only requests with checks
    for key, texts in (("contains", step.check.contains), ("not_contains", step.check.not_contains)):
        for index, text in enumerate(texts):
            yield Placed(("check", key, index), text)
    for key, mapping in (("json", step.check.json_), ("header", step.check.header)):
        for name, value in mapping.items():
            if value is not None:
                yield Placed(("check", key, name), value)


def _texts(value: Any, path: Path_) -> Iterator[Placed]:
    if isinstance(value, str):
        yield Placed(path, value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, (*path, index))


def reads(step: Step) -> Iterator[Placed]:
    """Yield the variables that a step reads, each with the path of its template."""
    for placed in templates_of(step):
        for name in templates.variables(placed.text):
            yield Placed(placed.path, name)


def reads_after_answer(step: Step) -> Iterator[Placed]:
    """Yield the variables in the key of an item that a step stores. These variables are read after a successful
    response, which may set them.
    """
    note = note_of(step)
    if note is not None and note[0] == "stores":
        for name in templates.variables(note[2]):
            yield Placed((note[0], note[1]), name)


def kinds(step: Step) -> Iterator[Placed]:
    """Yield the kind of stored item that a step stores, replaces, removes or reads."""
    note = note_of(step)
    if note is not None:
        yield Placed((note[0],) if note[0] == "reads" else (note[0], note[1]), note[1])


def sets(step: Step) -> Iterator[Placed]:
    """Yield the variables that a step sets. A row read from a pool appears as `NAME.*`."""
    if isinstance(step, Draw):
        yield Placed(("draw",), f"{step.as_ or step.draw}.*")
    elif isinstance(step, Set):
        yield from (Placed(("set", name), name) for name in step.set)
    elif isinstance(step, Pop | Pick):
        yield Placed(("into",), step.into)
    elif isinstance(step, Request | CallStep):
        yield from (Placed(("extract", name), name) for name, spec in step.extract.items() if not spec.fills_list)


def fills(step: Step) -> Iterator[Placed]:
    """Yield the names of the lists to which a step adds values."""
    if isinstance(step, Push):
        yield Placed(("to",), step.to)
    elif isinstance(step, Request | CallStep):
        yield from (Placed(("extract", name), name) for name, spec in step.extract.items() if spec.fills_list)


def takes(step: Step) -> Iterator[Placed]:
    """Yield the names of the lists from which a step reads or removes values."""
    if isinstance(step, Pop):
        yield Placed(("pop",), step.pop)
    elif isinstance(step, Pick):
        yield Placed(("pick",), step.pick)


def files(step: Step) -> Iterator[Placed]:
    """Yield the names of the files that a step sends."""
    if isinstance(step, Request):
        if step.file is not None:
            yield Placed(("file",), step.file)
        for place, _, part in step.parts:
            if part.file is not None:
                yield Placed(("multipart", place, "file"), part.file)


def names_in(text: str) -> list[str]:
    return templates.variables(text)


def templates_of_defaults(defaults: Defaults) -> Iterator[tuple[Path_, str]]:
    """Yield the templates in the default settings of all requests, with their paths in the file."""
    for name, text in defaults.headers.items():
        yield ("defaults", "headers", name), text
    if defaults.auth is not None:
        yield ("defaults", "auth", "user"), defaults.auth.user
        yield ("defaults", "auth", "password"), defaults.auth.password
