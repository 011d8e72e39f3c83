"""Checks header names, header values and paths by the rules of the engine."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from towtank.units import shown
from towtank.workload import templates
from towtank.workload.ownheaders import owned_header
from towtank.workload.texts import Template

# Characters that a header name may contain: RFC 9110, section 5.6.2.
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_BREAKS = re.compile(r"[\r\n\0]")
_NOT_IN_PATHS = re.compile(r"[\x00-\x20\x7f]")


def _token(name: str) -> str:
    if not _TOKEN.fullmatch(name):
        raise ValueError(f"must be the name of a header, such as X-Request-Id, got {shown(name)} instead")
    return name


def _sent(name: str) -> str:
    instead = owned_header(name)
    if instead is not None:
        raise ValueError(f"must not be {name}: {instead}")
    return name


def _value(text: str) -> str:
    if any(_BREAKS.search(part) for part in templates.literals(text)):
        raise ValueError(f"must be a text on one line, got {shown(text)} instead")
    return text


def check_path(text: str) -> None:
    """Check a path template before its variables have values.

    Raises
    ------
    ValueError
        If the path does not begin with `/`, or contains blanks or a fragment. The engine encodes other characters
        that are not allowed in paths, and sends `\\` as `/`, as browsers do.
    """
    parts = templates.parse(text)
    first = parts[0] if parts else ""
    absolute = isinstance(first, str) and "://" in first
    if isinstance(first, templates.Function) or (isinstance(first, str) and not first.startswith("/")):
        advice = " (define another host as a target, and name it with target: NAME)" if absolute else ""
        raise ValueError(f"must be a path that begins with /, got {shown(text)} instead{advice}")
    if any(_NOT_IN_PATHS.search(part) for part in templates.literals(text)):
        raise ValueError(
            f"must be a path without blanks and control characters (a blank is %20), got {shown(text)} instead"
        )
    if any("#" in part for part in templates.literals(text)):
        advice = "the text after # is never sent: remove it, or write %23 if the # belongs to the path"
        raise ValueError(f"must be a path without a fragment, got {shown(text)} instead ({advice})")


HeaderName = Annotated[str, AfterValidator(_token)]
"""Name of a header that a workload reads from responses."""
SentHeaderName = Annotated[HeaderName, AfterValidator(_sent)]
"""Name of a header that a workload may send. Headers that only the engine sets are refused."""
HeaderValue = Annotated[Template, AfterValidator(_value)]
"""Value of a header: a template on one line."""
