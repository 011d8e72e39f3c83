"""Keeps passwords of recordings out of workload files: each becomes a parameter that its user sets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from towtank.workload.importers.draft import Draft, Step, unique

_PASSWORD = re.compile(r"passw|passwd|passphrase|pwd|^pass$|_pass$|secret", re.IGNORECASE)
UNSET = "change-me"


@dataclass
class Secrets:
    """The passwords that were met, and the parameters that stand in their place.

    Attributes
    ----------
    keep : bool
        Whether the parameters have the recorded values.
    """

    draft: Draft
    keep: bool = False
    _names: dict[str, str] = field(default_factory=dict)

    def place(self, password: str) -> str:
        """Template of the parameter of a password."""
        if password not in self._names:
            name = unique("password", self.draft.parameters)
            self._names[password] = name
            self.draft.parameters[name] = password if self.keep else UNSET
        return f"${{parameters.{self._names[password]}}}"

    def hide(self, step: Step, place: tuple[int, int]) -> None:
        """Put parameters in place of passwords in query and body of a request, and note them."""
        for key in ("query", "form", "json", "multipart"):
            if key in step:
                step[key] = self._hidden(step[key], "", place)

    def note(self, what: str, name: str, place: tuple[int, int]) -> None:
        """Tell what became of a password."""
        parameter = self.place(name).removeprefix("${").removesuffix("}")
        copied = f"is copied to {parameter}" if self.keep else f"is not copied: set {parameter}"
        self.draft.notes.add(place, what, f"{copied}; users of their own come from a pool of data")

    def _hidden(self, value: Any, name: str, place: tuple[int, int]) -> Any:
        if isinstance(value, dict):
            return {key: self._hidden(inner, key, place) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._hidden(inner, name, place) for inner in value]
        if not isinstance(value, str) or not value or not _PASSWORD.search(name):
            return value
        self.note(f"password in the field {name}", value, place)
        return self.place(value)
