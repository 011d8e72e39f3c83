"""Reads the document classes of the population from `classes.csv`, and scales the number of documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources

_FORMATS = {
    "text": ("txt", "text/plain"),
    "XLS": ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "PPT": ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    "DOC": ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "PDF": ("pdf", "application/pdf"),
    "JPG": ("jpg", "image/jpeg"),
}


@dataclass(frozen=True)
class DocumentClass:
    """Class of documents, from a line of `classes.csv`.

    Attributes
    ----------
    name : str
        Name of the class, such as `text 1 KiB`.
    count : int
        Number of documents at the chosen scale, at least 1. [1]
    size : int
        Size of each document. [bytes]
    """

    name: str
    count: int
    size: int

    @property
    def slug(self) -> str:
        """Name in lower case with hyphens, for folder names: `text-1-kib`."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower())

    @property
    def extension(self) -> str:
        return _FORMATS[self.name.split()[0]][0]

    @property
    def mime_type(self) -> str:
        return _FORMATS[self.name.split()[0]][1]


def _scaled(count: int, scale: float) -> int:
    return max(1, int(count * scale + 0.5))


def load_classes(scale: float) -> tuple[list[DocumentClass], int]:
    """Return the document classes and the number of workflows for a scale in (0, 1]."""
    table = resources.files("content_server.populate").joinpath("classes.csv").read_text(encoding="utf-8")
    classes, workflows = [], 0
    for line in table.splitlines()[2:]:
        name, count, size, *_ = line.split(",")
        if name == "workflow":
            workflows = _scaled(int(count), scale)
        else:
            classes.append(DocumentClass(name, _scaled(int(count), scale), int(size) * 1024))
    return classes, workflows
