"""Defines scripts of browser sessions: pages to open, elements to click and fields to fill in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from towtank import yamlfile
from towtank.errors import COMMAND_LINE, Fault, StudyError
from towtank.fields import Duration, FileModel, Text
from towtank.treecheck import validate_tree
from towtank.workload import url_address
from towtank.yamlfile import Document

SCHEMA = "towtank/browser-script/1"
# Longest pause that a script may contain. [s]
_WAIT_AT_MOST_S = 3600.0
_TEXT_AT_MOST = 10_000


def _url(value: str) -> str:
    url_address(value)
    return value


def _short(value: float) -> float:
    if value > _WAIT_AT_MOST_S:
        raise ValueError(f"must be at most 1 h, got {value / 3600:g} h instead")
    return value


Selector = Annotated[str, Field(min_length=1, max_length=1000)]


class ScriptStep(FileModel):
    """Step of a browser session. Exactly one key must be set."""

    open: Annotated[str, AfterValidator(_url)] | None = Field(
        None, description="URL (http or https) that the browser opens."
    )
    click: Selector | None = Field(
        None, description="CSS selector of the element to click; the first match is clicked."
    )
    fill: dict[Selector, Annotated[Text, Field(max_length=_TEXT_AT_MOST)]] | None = Field(
        None, min_length=1, description="Form fields to fill: CSS selectors with their values; `true` ticks a box."
    )
    wait: Annotated[Duration, AfterValidator(_short)] | None = Field(
        None, description="Duration of a pause, which replaces the think time before the next page."
    )

    @model_validator(mode="after")
    def _one(self) -> ScriptStep:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"must have one of open, click, fill, wait, got {' and '.join(given) or 'none'} instead")
        return self

    @property
    def kind(self) -> str:
        """Name of the key that is set in this step, such as `open`."""
        return next(name for name in type(self).model_fields if getattr(self, name) is not None)


class ScriptFile(FileModel):
    """Steps of a browser session to record."""

    schema_: Literal["towtank/browser-script/1"] = Field(
        alias="schema", description="Name and version of the file format."
    )
    steps: list[ScriptStep] = Field(min_length=1, max_length=1000, description="Steps of the script, in order.")


@dataclass(frozen=True)
class BrowserAction:
    """Step of a browser session, with the position in the source file: `open` (URL), `click` (selector), `fill` (values
    by selector) or `wait` (pause [s]).
    """

    kind: str
    value: Any
    file: str = COMMAND_LINE
    line: int = 0
    column: int = 0
    where: str = "URL"

    def fault(self, message: str) -> StudyError:
        """Return an error with a message about this step."""
        return StudyError.at(self.file, message, line=self.line, column=self.column, where=self.where)


def check_script(document: Document) -> tuple[ScriptFile | None, list[Fault]]:
    """Check a script of a browser session; return the script (None if it cannot be used) and all faults."""
    checked = validate_tree(document.root, ScriptFile)
    faults = list(checked.faults)
    steps = document.root.child("steps")
    first = steps.child(0) if steps is not None else None
    if first is not None and isinstance(first.value, dict) and "open" not in first.value:
        faults.append(document.fault(("steps", 0), "must be a step with the key open: no page is open before it"))
    return checked.model, sorted(faults)


def load_script(path: Path) -> list[BrowserAction]:
    """Read a script as a list of actions.

    Raises
    ------
    StudyError
        If the script has faults; lists all of them.
    """
    document = yamlfile.load(path)
    script, faults = check_script(document)
    if faults or script is None:
        raise StudyError(faults)
    actions = []
    for index, step in enumerate(script.steps):
        place = document.fault(("steps", index, step.kind), "")
        value = getattr(step, step.kind)
        actions.append(BrowserAction(step.kind, value, str(path), place.line, place.column, place.where))
    return actions


def actions_opening(urls: list[str]) -> list[BrowserAction]:
    """Return actions that open the given URLs one after the other.

    Raises
    ------
    StudyError
        If URLs are invalid; lists all of them.
    """
    actions, faults = [], []
    for url in urls:
        try:
            actions.append(BrowserAction("open", _url(url)))
        except ValueError as error:
            faults.append(Fault.of_option("URL", str(error)))
    if faults:
        raise StudyError(faults)
    return actions
