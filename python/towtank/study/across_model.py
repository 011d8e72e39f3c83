"""Prediction of one configuration from another, as declared in a study file."""

from __future__ import annotations

from pydantic import Field

from towtank.fields import FileModel, Name, Text


class Predict(FileModel):
    """Prediction of a configuration from the runs of another configuration."""

    from_: dict[Name, Text] = Field(
        alias="from", min_length=1, description="Configuration that is measured first, as a level for each factor."
    )
    to: dict[Name, Text] = Field(
        min_length=1,
        description="Configuration to predict, at all its loads: the levels that differ from those in `from`.",
    )
    service: Name = Field(
        description=(
            "Name of the service whose servers or CPUs differ; all other services are equal in both configurations."
        )
    )
