"""Finds the secrets in a plan of the load engine, so that its results can leave them out."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping

from towtank.secret_names import may_be_secret_name
from towtank.secrets import secret_values

# Shorter values occur in any text, so that hiding them would hide no secret. [1]
_SHORTEST = 3
_PAIR_LENGTH = 2
_PARTS = re.compile(r"[;,]")
_NAMED = re.compile(r"[\w-]+=(?P<value>[^=].*)", re.DOTALL)


def with_secrets(plan: Mapping[str, object], values: Iterable[object] = ()) -> dict[str, object]:
    """Return a plan, or its part that describes the workload, with the entry `secrets`; without secrets, the plan is
    unchanged. `values` are further secrets, such as the values of workload parameters that are used as passwords.
    """
    found = (*_literals(plan), *map(str, values))
    secrets = sorted({text for text in found if len(text) >= _SHORTEST})
    return {**plan, "secrets": secrets} if secrets else dict(plan)


def _literals(part: object) -> Iterator[str]:
    """Yield the constant texts that a plan has as values of keys and headers with the name of a secret."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            if may_be_secret_name(str(key)) and not isinstance(value, Mapping):
                yield from _texts(value)
            else:
                yield from _literals(value)
    elif isinstance(part, str):
        yield from secret_values(part)
    elif isinstance(part, list | tuple):
        if len(part) == _PAIR_LENGTH and isinstance(part[0], str) and may_be_secret_name(part[0]):
            yield from _texts(part[1])
        for value in part:
            yield from _literals(value)


def _texts(template: object) -> Iterator[str]:
    """Yield the constant texts of a template, and the values in a header such as `Token token="abc"` or `a=1; b=2`.

    A word at the end of which a variable follows, such as `Bearer `, is a scheme and no secret.
    """
    for text in template if isinstance(template, list | tuple) else [template]:
        if not isinstance(text, str) or not (words := text.split(None, 1)):
            continue
        if len(words) > 1 or text == text.rstrip():
            yield text.strip()
        has_scheme = len(words) > 1 and "=" not in words[0]
        if has_scheme:
            yield from _password(words)
        for part in _PARTS.split(words[1] if has_scheme else text) if has_scheme or ";" in text else ():
            pair = _NAMED.fullmatch(part.strip())
            yield (pair.group("value") if pair else part).strip("\"' ")


def _password(words: list[str]) -> Iterator[str]:
    """Yield the password of a header for Basic authentication (RFC 7617)."""
    if words[0].lower() == "basic":
        try:
            login = b64decode(words[1] + "==").decode()
        except ValueError:
            return
        yield login.partition(":")[2]
