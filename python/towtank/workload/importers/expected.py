"""Collects the check of a response from an imported file."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Expected:
    """Check of a response: its keys in a workload file, in the order in which an importer added them."""

    keys: dict[str, object] = field(default_factory=dict)

    @property
    def statuses(self) -> list[int | str]:
        """Expected status codes or classes, such as 200 or `2xx`."""
        found = self.keys.get("status", [])
        given = found if isinstance(found, list) else [found]
        return [status for status in given if isinstance(status, int | str)]

    def status(self, *statuses: int | str) -> Expected:
        """Require one of these status codes or classes."""
        self.keys["status"] = statuses[0] if len(statuses) == 1 else list(statuses)
        return self

    def text(self, text: str, *, negated: bool = False) -> Expected:
        """Require that the body contains a text, or does not contain it."""
        return self._add("not_contains" if negated else "contains", text)

    def regex(self, pattern: str, *, negated: bool = False) -> Expected:
        """Require that a regular expression matches in the body, or matches nowhere."""
        return self._add("not_regex" if negated else "regex", pattern)

    def json(self, path: str, value: object = None) -> Expected:
        """Require a value at a path of a JSON body; None requires only that the path exists."""
        return self._put("json", path, value)

    def header(self, name: str, value: object) -> Expected:
        """Require a header of the response."""
        return self._put("header", name, value)

    def least_size(self, size_bytes: int) -> Expected:
        """Require a smallest size of the body. [byte]"""
        return self._put("size", "min", f"{size_bytes} B")

    def merge(self, more: Expected) -> None:
        """Merge another check into this check. Lists and mappings are extended; a status that is already set stays."""
        for key, value in more.keys.items():
            known = self.keys.get(key)
            if isinstance(value, list) and key != "status":
                old = known if isinstance(known, list) else []
                self.keys[key] = [*old, *(each for each in value if each not in old)]
            elif isinstance(value, dict):
                self.keys[key] = {**(known if isinstance(known, dict) else {}), **value}
            else:
                self.keys.setdefault(key, value)

    def _add(self, key: str, text: str) -> Expected:
        known = self.keys.get(key)
        self.keys[key] = [*(known if isinstance(known, list) else []), text]
        return self

    def _put(self, key: str, name: str, value: object) -> Expected:
        known = self.keys.get(key)
        self.keys[key] = {**(known if isinstance(known, dict) else {}), name: value}
        return self
