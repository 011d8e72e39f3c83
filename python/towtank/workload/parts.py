"""Defines the parts of multipart bodies, given by name or as a list in which names may repeat."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from towtank.fields import FileModel, Size, Text, mapping_or_plain
from towtank.workload import templates
from towtank.workload.httpfields import HeaderValue
from towtank.workload.texts import Template


class Generated(FileModel):
    """Content of a request that the engine generates."""

    size: Size = Field(description="Size of the generated content.")
    form: Literal["text", "random"] = Field(
        "random",
        description="Kind of the generated content: `text` is words, `random` is random bytes that do not compress.",
    )


class Part(FileModel):
    """Part of a multipart body: a text, a file or generated content."""

    value: Template | None = Field(None, description="Text of the part.")
    file: str | None = Field(None, min_length=1, description="File to send as the part, relative to the workload file.")
    generated: Generated | None = Field(
        None, description="Size and kind of content that the engine generates for the part."
    )
    filename: HeaderValue | None = Field(None, description="File name sent with the part.")
    content_type: Annotated[HeaderValue, AfterValidator(templates.check_plain)] | None = Field(
        None, description="Media type of the part, for example `image/png`."
    )

    @model_validator(mode="after")
    def _one(self) -> Part:
        given = [name for name in ("value", "file", "generated") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"must have one of value, file and generated, got {' and '.join(given) or 'none'} instead")
        return self


class NamedPart(Part):
    """Part of a multipart body with its name; several parts may have the same name (RFC 7578, section 4.3)."""

    name: str = Field(description="Name of the form field.")


def _part(value: object) -> object:
    """Convert a plain text to a part with this text as its value."""
    return value if isinstance(value, dict | Part) else {"value": value}


Parts = Annotated[
    Annotated[dict[str, Annotated[Part, BeforeValidator(_part, json_schema_input_type=Text | Part)]], Tag("<mapping>")]
    | Annotated[list[NamedPart], Tag("<plain>")],
    Discriminator(mapping_or_plain),
]
