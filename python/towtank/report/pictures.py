"""Caches drawings of figures as SVG in the results folder, because drawing takes seconds.

A drawing is stored under a digest of its specification and the version of Vega. The HTML report contains drawings
without escaping, and a results folder may come from an untrusted source. Therefore a stored drawing is used only if it
consists of shapes and texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.parsers import expat

import vl_convert

from towtank.report import theme
from towtank.results import kept, offer_json

PICTURES_FILE = "pictures.json"
SCHEMA = "towtank/pictures/1"
_ELEMENTS = frozenset({"svg", "g", "defs", "clipPath", "linearGradient", "stop", "text", "tspan", "title"})
_ELEMENTS |= {"path", "rect", "circle", "line", "polyline", "polygon"}
# SVG attributes that load or execute something, besides the event handlers, whose names begin with `on`.
_ACTIVE = frozenset({"href", "xlink:href", "src", "style"})
_OWN_REFERENCE = "url(#"


class Pictures:
    """Cache of SVG drawings, by Vega-Lite specification; without a file, every specification is drawn anew."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._kept = {} if path is None else _read(path)
        self._used: dict[str, str] = {}

    def of(self, spec: Mapping[str, Any]) -> str:
        """Return the stored drawing of a Vega-Lite specification; if none is stored, draw it."""
        key = digest(spec)
        known = self._kept.get(key)
        self._used[key] = known if known is not None and is_drawing(known) else static_svg(spec)
        return self._used[key]

    def keep(self) -> None:
        """Store the drawings that were used, if they differ from those in the file; a failed write is ignored."""
        if self._path is not None and self._used != self._kept:
            offer_json(self._path, {"schema": SCHEMA, **self._used})


def static_svg(spec: Mapping[str, object]) -> str:
    """Draw a Vega-Lite specification as SVG, without access to a network."""
    return vl_convert.vegalite_to_svg(dict(spec), vl_version=theme.VEGA_LITE_VERSION, allowed_base_urls=[])


def digest(spec: Mapping[str, Any]) -> str:
    """Return the digest of a specification and of the versions of the libraries that draw it."""
    versions = f"{version('vl-convert-python')} {theme.VEGA_LITE_VERSION}\n"
    return hashlib.sha256((versions + json.dumps(spec, sort_keys=True)).encode()).hexdigest()


def is_drawing(svg: str) -> bool:
    """Return True if a text is a well-formed SVG of shapes and texts that loads and executes nothing.

    Examples
    --------
    >>> is_drawing('<svg><path d="M0 0"/></svg>'), is_drawing('<svg><script/></svg>')
    (True, False)
    """
    parser = expat.ParserCreate()
    parser.StartElementHandler = _refuse_active
    parser.StartDoctypeDeclHandler = parser.ProcessingInstructionHandler = parser.CommentHandler = _refuse
    parser.StartCdataSectionHandler = _refuse
    try:
        parser.Parse(svg, True)
    except (expat.ExpatError, _RefusedError, UnicodeEncodeError):
        return False
    return svg.startswith("<svg")


class _RefusedError(Exception):
    """Raised for an element or attribute that is not allowed in a stored drawing."""


def _refuse_active(element: str, attributes: Mapping[str, str]) -> None:
    if element not in _ELEMENTS:
        raise _RefusedError(element)
    for name, value in attributes.items():
        if name in _ACTIVE or name.startswith("on") or value.count("url(") != value.count(_OWN_REFERENCE):
            raise _RefusedError(name)


def _refuse(*_part: object) -> None:
    raise _RefusedError


def _read(path: Path) -> dict[str, str]:
    """Read the stored drawings; empty if the file is missing, damaged or from another version."""
    document = kept.read_finite(path)
    if document.pop("schema", None) != SCHEMA:
        return {}
    return {key: svg for key, svg in document.items() if isinstance(svg, str)}
