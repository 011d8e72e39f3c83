"""Keeps recorded secrets out of workload files. Each secret becomes a parameter, whose value the user sets before a
run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import unquote

from towtank.secret_names import is_secret_name
from towtank.workload.importers.bodies import changed_leaves
from towtank.workload.importers.draft import ImportDraft, Step, unique
from towtank.workload.importers.har.escapes import encoding_of_body, read
from towtank.workload.importers.har.escapes import place as escaped_place
from towtank.workload.steps import METHODS

# Matches pairs of name and value in a text: in a form or query, JSON, an XML element, or an XML attribute.
_IN_TEXT = re.compile(
    r"(?P<before>(?:^|[?&;\s\"'{,])(?P<form>[\w.\[\]%-]+)=)(?P<form_value>[^&;\s\"'<>]+)"
    r"|(?P<before_json>\"(?P<json>[^\"\\]{1,60})\"\s*:\s*\")(?P<json_value>(?:[^\"\\]|\\.)+)"
    r"|(?P<before_xml><(?:[\w.-]+:)?(?P<xml>[\w.-]+)(?:\s[^<>]*)?>)(?P<xml_value>[^<>]+)(?=</)"
    r"|(?P<before_attribute>\s(?P<attribute>[\w.:-]+)=[\"'])(?P<attribute_value>[^\"'<>]+)"
)
# For each of the four forms in `_IN_TEXT`: the groups that match the text before the name, the name and the value, and
# the encoding of the value.
_KINDS = (
    ("before", "form", "form_value", ""),
    ("before_json", "json", "json_value", "json"),
    ("before_xml", "xml", "xml_value", "html"),
    ("before_attribute", "attribute", "attribute_value", "html"),
)
_PASSWORD = re.compile(r"passw|passwd|passphrase|pwd|^pass$|_pass$|secret", re.IGNORECASE)
_SESSION = re.compile("session", re.IGNORECASE)
# Matches a JSON web token (RFC 7519). Its first part is a JSON object, so it begins with `{"` in base64: `eyJ`.
_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*")
_PLACE = re.compile(r"(?<!\$)\$\{")
UNSET = "change-me"


@dataclass
class Secrets:
    """Secrets that were found in a recording, and the parameters that replace them. With `keep`, the recorded values
    become the values of the parameters.
    """

    draft: ImportDraft
    keep: bool = False
    _names: dict[str, str] = field(default_factory=dict)

    def place(self, password: str, kind: str = "password") -> str:
        """Return the template of the parameter that replaces a secret, such as a password."""
        if password not in self._names:
            name = unique(kind, self.draft.parameters)
            self._names[password] = name
            self.draft.parameters[name] = password if self.keep else UNSET
        return f"${{parameters.{self._names[password]}}}"

    def hide(self, step: Step, place: tuple[int, int]) -> None:
        """Replace passwords in the query and body of a request by parameters, and add notes about them."""
        hidden = partial(self._hidden, place=place)
        for key in ("query", "form", "json"):
            if key in step:
                step[key] = changed_leaves(step[key], hidden)
        _change_parts(step, hidden)

    def hide_rest(self, step: Step, place: tuple[int, int]) -> None:
        """Replace the tokens and keys that remain in a request by parameters.

        Variables have already replaced the values that an earlier response contains.
        """
        for name, value in step.get("headers", {}).items():
            secret = is_secret_name(name) or _SESSION.search(name) or _JWT.search(value)
            if secret and not _PLACE.search(value):
                step["headers"][name] = self._token(f"header {name}", value, place)
        nameless = partial(self._without_token, place=place)
        for key in ("query", "form", "json"):
            if key in step:
                step[key] = changed_leaves(step[key], nameless)
        _change_parts(step, nameless)
        in_body = "url" if encoding_of_body(step) == "url" else ""
        for key in ("body", *METHODS):
            if isinstance(step.get(key), str):
                pairs, in_query = ("url", True) if key in METHODS else (in_body, False)
                change = partial(self._in_text, place=place, pairs=pairs, in_query=in_query)
                step[key] = _IN_TEXT.sub(change, step[key])
                encoding = "url" if key in METHODS else ""
                step[key] = _JWT.sub(partial(self._bare_token, place=place, encoding=encoding), step[key])

    def _bare_token(self, found: re.Match[str], place: tuple[int, int], encoding: str) -> str:
        """Replace a JSON web token that has no name, such as a token in a path, by a parameter."""
        return escaped_place(
            self._token("token in the path" if encoding else "token in the body", found[0], place), encoding
        )

    def _without_token(self, value: Any, name: str, place: tuple[int, int]) -> Any:
        if (
            not isinstance(value, str)
            or not value
            or _PLACE.search(value)
            or not (is_secret_name(name) or _JWT.fullmatch(value))
        ):
            return value
        return self._token(f"token in the field {name}", value, place)

    def _in_text(self, found: re.Match[str], place: tuple[int, int], pairs: str, *, in_query: bool = False) -> str:
        """Return a matched pair with its secret replaced by a parameter.

        `pairs` is the encoding of values in pairs `name=value`; the other forms of pairs have their own encoding.
        """
        for before, name, value, own in _KINDS:
            if found[name] is not None:
                words = unquote(found[name])
                secret = is_secret_name(words) or _PASSWORD.search(words)
                if not secret or _PLACE.search(found[value]):
                    return found[0]
                text, encoding = found[value].replace("$${", "${"), own or pairs
                known = read(text, encoding, in_query=in_query)
                # If decoding and encoding would change the value, such as `a+b` in a query, the parameter gets the
                # encoded form of the value.
                what = f"secret in the field {found[name]}" + ("" if known is not None else ", in its encoded form")
                template = self._token(what, text if known is None else known, place)
                return found[before] + escaped_place(template, encoding if known is not None else "")
        return found[0]

    def _token(self, what: str, value: str, place: tuple[int, int]) -> str:
        template = self.place(value, "token")
        self.note(what, value, place)
        return template

    def note(self, what: str, name: str, place: tuple[int, int]) -> None:
        """Add a note about the parameter that replaces a secret."""
        parameter = self.place(name).removeprefix("${").removesuffix("}")
        copied = f"is copied to {parameter}" if self.keep else f"is not copied: set {parameter}"
        self.draft.notes.add(place, what, f"{copied}; use a data pool to give users different logins")

    def _hidden(self, value: Any, name: str, place: tuple[int, int]) -> Any:
        if not isinstance(value, str) or not value or not _PASSWORD.search(name):
            return value
        self.note(f"password in the field {name}", value, place)
        return self.place(value)


def without_token(text: str) -> str:
    """Return a text in which each JSON web token is replaced by the word `token`."""
    return _JWT.sub("token", text)


def _change_parts(step: Step, change: Callable[[Any, str], Any]) -> None:
    """Apply a function to every text of a multipart body. The function takes the text and the name of its part."""

    def changed(part: Any, name: str) -> Any:
        if isinstance(part, dict):
            return {**part, "value": change(part["value"], name)} if "value" in part else part
        return change(part, name)

    parts = step.get("multipart")
    if isinstance(parts, dict):
        step["multipart"] = {name: changed(part, name) for name, part in parts.items()}
    elif isinstance(parts, list):
        step["multipart"] = [changed(part, part["name"]) for part in parts]
