"""Converts the arguments of JMeter samplers to fields of a query, a form or a multipart body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote_plus

from towtank.workload.importers.draft import literal
from towtank.workload.importers.encoded import QUERY_SAFE, encoded, survives, texts_of
from towtank.workload.importers.jmx.texts import Texts
from towtank.workload.importers.jmx.tree import text_of
from towtank.workload.importers.xmlfile import Element

# Properties of an argument that are read for a query, a form or a multipart body.
_PROPERTIES = (
    "HTTPArgument.always_encode",
    "HTTPArgument.content_type",
    "HTTPArgument.use_equals",
    "Argument.value",
    "Argument.metadata",
)


@dataclass(frozen=True)
class Field:
    """Argument of a JMeter sampler.

    `name` and `value` are decoded for a mapping in the workload, where the value is a template; the others are as
    written in the test plan. JMeter encodes them if `encode` is True; otherwise they are encoded already. `media` is
    the media type for a part of a multipart body.
    """

    name: str
    value: str
    name_written: str
    value_written: str
    encode: bool
    media: str

    @property
    def encoded_texts(self) -> list[str]:
        """Name and literal text of the value as written in the test plan; an empty list if these texts are not encoded
        yet.
        """
        return [] if self.encode else [self.name_written, texts_of(self.value_written)]

    @property
    def written(self) -> str:
        """Name and value of the argument in encoded form, as a pair in the text of a query or a form."""
        safe = "" if self.encode else QUERY_SAFE.replace("&", "")
        return f"{encoded(literal(self.name_written), safe.replace('=', ''))}={encoded(self.value_written, safe)}"


def fields_of(arguments: list[Element], texts: Texts, *, in_parts: bool) -> list[Field]:
    """Return a field for each argument of a sampler. With `in_parts`, the body is multipart and nothing is decoded."""
    fields = []
    for each in arguments:
        # The default of this property is false, see HTTPArgument.isAlwaysEncoded of JMeter 5.5.
        encode = text_of(each, "HTTPArgument.always_encode", "false").strip().lower() == "true"
        name, value = texts.static(text_of(each, "Argument.name")), text_of(each, "Argument.value")
        decode: Callable[[str], str] = str if encode or in_parts else unquote_plus
        template = texts.template(value, each.place, _literal_of(decode))
        written = texts.template(value, each.place)
        media = text_of(each, "HTTPArgument.content_type").strip()
        fields.append(Field(decode(name), template, name, written, encode, media))
        _note_sign(each, name, template, texts)
    return fields


def named_of(arguments: list[Element], texts: Texts) -> list[Element]:
    """Return the arguments that have a name.

    JMeter sends no argument without a name in a query, a form or a multipart body (JMeter 5.5,
    HTTPSamplerBase.getQueryString and HTTPArgument.isSkippable). The properties of such an argument are marked as read.
    """
    for each in arguments:
        for key in _PROPERTIES:
            text_of(each, key)
    return [each for each in arguments if texts.static(text_of(each, "Argument.name"))]


def _literal_of(decode: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: literal(decode(text))


def as_written(fields: list[Field], *, in_query: bool) -> str | None:
    """Return the fields as text if a mapping cannot represent them; otherwise return None.

    A mapping cannot represent repeated names, or text that decoding and encoding would change.
    """
    whole = all(survives(text, in_query=in_query) for field in fields for text in field.encoded_texts)
    if whole and len({field.name for field in fields}) == len(fields):
        return None
    return "&".join(field.written for field in fields)


def _note_sign(argument: Element, name: str, value: str, texts: Texts) -> None:
    """Add a note if JMeter sends another separator than `=` between name and value, or none. The workload sends `=`."""
    equals = text_of(argument, "HTTPArgument.use_equals", "true").strip().lower() == "true"
    sign = text_of(argument, "Argument.metadata", "=")
    if not value and not (equals and sign):
        texts.draft.notes.add(argument.place, f"argument {name!r}", "is sent with `=`; JMeter sends only the name")
    elif sign != "=":
        why = f"is sent with `=`; JMeter sends {sign[:20]!r} between the name and the value in a query"
        texts.draft.notes.add(argument.place, f"argument {name!r}", why)
