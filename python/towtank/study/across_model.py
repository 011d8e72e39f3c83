"""Prediction of one configuration from another, as declared in a study file."""

from __future__ import annotations

from pydantic import Field

from towtank.fields import FileModel, Name, Text


class Predict(FileModel):
    """A configuration that is predicted from the runs of another one, which then come first."""

    from_: dict[Name, Text] = Field(
        alias="from", min_length=1, description="Levels by factor of the configuration that is measured first."
    )
    to: dict[Name, Text] = Field(
        min_length=1, description="Levels that differ from it: the configuration that is predicted, at all its loads."
    )
    service: Name = Field(
        description="The service with more servers, or with hosts of more CPUs; both configurations share all others."
    )
