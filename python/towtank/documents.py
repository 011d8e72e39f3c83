"""Converts records to JSON objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass


def document_of(record: object) -> dict[str, object]:
    """Return a dataclass instance as a JSON object whose keys are the names of the fields. Tuples become lists.

    Examples
    --------
    >>> from towtank.load_level import Load
    >>> document_of(Load("users", 20))
    {'kind': 'users', 'level': 20}
    """
    assert is_dataclass(record)
    return {field.name: _plain(getattr(record, field.name)) for field in fields(record)}


def document_without_none(record: object) -> dict[str, object]:
    """Return a dataclass instance as `document_of` does, without the fields that are None."""
    return {key: value for key, value in document_of(record).items() if value is not None}


def _plain(value: object) -> object:
    if is_dataclass(value):
        return document_of(value)
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return list(map(_plain, value)) if isinstance(value, list | tuple) else value
