"""Base classes of the types of answers and result documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, PrivateAttr, model_validator


class Part(BaseModel):
    """Part of a document. Attributes have the names of the keys."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, defer_build=True)


class KeptPart(Part):
    """Part of a document that can return the JSON object from which it was read."""

    _document: Mapping[str, object] = PrivateAttr(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _keep(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        found = handler(data)
        if isinstance(data, Mapping):
            found._document = data
        return found

    def document(self) -> dict[str, object]:
        """Return all results as a JSON object, also results without an attribute."""
        return dict(self._document)
