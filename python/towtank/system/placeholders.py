"""Parses references `${...}` in the texts and files of a program, and replaces them by values.

`$${` is replaced by `${`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

# Pattern of a literal `$${`, of a whole reference, or of the beginning of a reference that is not closed.
_PLACE = re.compile(r"\$\$\{|\$\{(?P<inside>[^{}\n]*)\}|\$\{")
SECTIONS = ("settings", "values", "files", "services")
PLAIN = ("host", "port", "address", "scratch", "data")
SERVICE_PARTS = ("address", "host", "port", "url", "user", "password", "database")
FORMS = (
    "${host}, ${port}, ${address}, ${scratch}, ${data}, ${files.NAME}, ${settings.NAME}, ${values.NAME} or "
    "${services.NAME.PART}"
)


@dataclass(frozen=True)
class Reference:
    """Reference `${SECTION}` or `${SECTION.NAME}`, which begins at an offset in a text. The name is empty if there is
    no dot, as in `${port}`.
    """

    text: str
    section: str
    name: str = ""
    offset: int = 0

    @property
    def service(self) -> str:
        """Name of the service to which the reference refers; empty if it refers to no service."""
        return self.name.partition(".")[0] if self.section == "services" else ""

    @property
    def part(self) -> str:
        """Property of the service to which the reference refers, for example `url` or `settings.threads`."""
        return self.name.partition(".")[2]

    @property
    def fault(self) -> str | None:
        """Reason why the reference is malformed; None if it is well-formed."""
        right = (self.section in PLAIN and not self.name) or (self.section in SECTIONS and self.name)
        if right and self.section == "services":
            kind, dot, key = self.part.partition(".")
            right = (kind == "settings" and key) or (kind in SERVICE_PARTS and not dot)
        if right:
            return None
        if not self.text.endswith("}"):
            return f"must close every ${{ with }} (write $${{ for a literal one), got {self.text} instead"
        if self.section == "services":
            known = ", ".join((*SERVICE_PARTS, "settings.KEY"))
            return f"must be ${{services.NAME.PART}} with a part among {known}, got {self.text} instead"
        return f"must be {FORMS} (write $${{ for a literal ${{), got {self.text} instead"


def _reference(found: re.Match[str]) -> Reference:
    section, _, name = (found.group("inside") or "").strip().partition(".")
    return Reference(found[0], section, name, found.start())


def references(text: str) -> Iterator[Reference]:
    """Yield the references in a text, including malformed ones.

    Examples
    --------
    >>> [(place.section, place.name) for place in references("--db ${services.db.url} --port=${port} $${HOME}")]
    [('services', 'db.url'), ('port', '')]
    """
    for found in _PLACE.finditer(text):
        if found[0] != "$${":
            yield _reference(found)


def filled(text: str, value_of: Callable[[Reference], str]) -> str:
    """Return a text in which each reference is replaced by its value.

    Examples
    --------
    >>> filled("--limit=${settings.limit} $${HOME}", lambda place: place.name)
    '--limit=limit ${HOME}'
    """
    parts, end = [], 0
    for found in _PLACE.finditer(text):
        parts.append(text[end : found.start()])
        end = found.end()
        if found[0] == "$${":
            parts.append("${")
        else:
            parts.append(value_of(_reference(found)))
    return "".join((*parts, text[end:]))


def as_text(value: str | int | float | bool) -> str:
    """Return a value as text in the usual form of configuration files, such as `true`, `4` or `0.5`.

    Examples
    --------
    >>> [as_text(value) for value in (True, 4, 0.5, "lock")]
    ['true', '4', '0.5', 'lock']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)
