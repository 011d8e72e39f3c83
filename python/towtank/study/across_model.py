"""Section `predict` of a study file."""

from __future__ import annotations

from pydantic import Field

from towtank.fields import FileModel, Name, Text


class Predict(FileModel):
    """Prediction of a configuration from the runs of another configuration."""

    from_: dict[Name, Text] = Field(
        alias="from", min_length=1, description="Configuration to measure first: the level of each factor."
    )
    to: dict[Name, Text] = Field(
        min_length=1,
        description="Configuration to predict, for all loads of the study: the factor levels that differ from `from`.",
    )
    service: Name = Field(
        description=(
            "Name of the service whose servers or CPUs differ; all other services are equal in both configurations."
        )
    )
