"""Reads the parameters of a request from its query string and its form, with properties and uploaded content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from python_multipart.exceptions import FormParserError
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from content_server.errors import InvalidArgument, NotSupported, Storage
from content_server.repository.editing import DEFAULT_MIME_TYPE, Upload
from content_server.repository.render import View, parse_filter

# Limits of a form, sufficient for a few dozen properties and one upload: number of fields, and size of a field [bytes].
MAX_FIELDS = 200
MAX_FIELD_BYTES = 256 * 1024
MAX_ITEMS_DEFAULT = 100
MAX_ITEMS = 10_000
_LARGEST_SKIP = 2**53
_PROPERTY = re.compile(r"property(Id|Value)\[(\d{1,4})\](?:\[(\d{1,4})\])?")


@dataclass
class Parameters:
    """All parameters of a request; form fields override the query string.

    Attributes
    ----------
    values : dict of str to str
        Parameters by name, from the query string and the form.
    upload : Upload or None
        Uploaded content.
    """

    values: dict[str, str]
    upload: Upload | None = None
    form: FormData | None = field(default=None, repr=False)

    def get(self, name: str) -> str | None:
        """Return a parameter; None if the parameter is missing or empty."""
        return self.values.get(name) or None

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a boolean parameter, or `default` if the parameter is missing or empty.

        Raises
        ------
        InvalidArgument
            If the parameter is neither `true` nor `false`.
        """
        text = self.values.get(name, "").lower()
        if text not in ("", "true", "false"):
            raise InvalidArgument(f"{name} must be true or false, got {text[:40]!r}")
        return text == "true" if text else default

    def number(self, name: str, default: int, largest: int) -> int:
        """Return a parameter that is a whole number of at least 0; a larger number than `largest` is replaced by
        `largest`.
        """
        text = self.get(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdigit()) or len(text) > 18:
            raise InvalidArgument(f"{name} must be a whole number of at least 0, got {text[:40]!r}")
        return min(int(text), largest)

    def paging(self) -> tuple[int, int]:
        """Return the parameters maxItems and skipCount, with which a client requests a page of a longer list."""
        return self.number("maxItems", MAX_ITEMS_DEFAULT, MAX_ITEMS), self.number("skipCount", 0, _LARGEST_SKIP)

    def view(self) -> View:
        """Return the requested representation of objects."""
        return View(
            succinct=self.flag("succinct"),
            names=parse_filter(self.get("filter")),
            actions=self.flag("includeAllowableActions"),
            path_segment=self.flag("includePathSegment"),
        )

    def object_id(self) -> str | None:
        """Return the identifier of the requested object; None if the request names the object by its path."""
        object_id = self.get("objectId")
        if object_id is not None and "\x00" in object_id:
            raise InvalidArgument("objectId: character NUL is not allowed")
        return object_id

    def properties(self) -> dict[str, str | None]:
        """Return the values of properties by identifier; None means that the property is to be removed."""
        return parse_properties(self.values)


def parse_properties(values: Mapping[str, str]) -> dict[str, str | None]:
    """Return the values of properties by identifier, from the parameters `propertyId[n]` and `propertyValue[n]`.

    Raises
    ------
    InvalidArgument
        If a value has no identifier, or an identifier occurs twice.
    """
    names: dict[str, str] = {}
    texts: dict[str, str] = {}
    for key, text in values.items():
        match = _PROPERTY.fullmatch(key)
        if match is None:
            continue
        if match[3] not in (None, "0"):
            raise InvalidArgument(f"{key}: a property can have only one value")
        (names if match[1] == "Id" else texts)[match[2]] = text
    if stray := sorted(set(texts) - set(names)):
        raise InvalidArgument(f"propertyValue[{stray[0]}] has no propertyId[{stray[0]}]")
    if len(set(names.values())) != len(names):
        raise InvalidArgument("a property is given twice")
    return {name: texts.get(number) or None for number, name in names.items()}


async def read_parameters(request: Request) -> Parameters:
    """Read the parameters of a request; the caller must close the attribute `form`, if any.

    Raises
    ------
    InvalidArgument
        If the form is malformed.
    """
    values = dict(request.query_params)
    if request.method != "POST":
        return Parameters(values)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("multipart/form-data", "application/x-www-form-urlencoded"):
        raise NotSupported("a POST must be multipart/form-data or application/x-www-form-urlencoded")
    try:
        form = await request.form(max_files=4, max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES)
    except HTTPException as error:
        raise InvalidArgument(f"the form is malformed: {error.detail}") from error
    except OSError as error:  # A large upload is written to a temporary file, and its disk may be full.
        raise Storage(f"the upload could not be stored: {error.strerror}") from error
    except (FormParserError, ValueError, LookupError) as error:
        raise InvalidArgument(f"the form is malformed: {str(error)[:120]}") from error
    upload = None
    for name, value in form.multi_items():
        if isinstance(value, str):
            values[name] = value
        elif name == "content":
            upload = _upload(value)
    return Parameters(values, upload, form)


def _upload(part: UploadFile) -> Upload:
    mime_type = (part.content_type or DEFAULT_MIME_TYPE).partition(";")[0].strip().lower()
    if not re.fullmatch(r"[\w.+-]{1,100}/[\w.+-]{1,100}", mime_type):
        raise InvalidArgument(f"content: not a MIME type: {mime_type[:60]!r}")
    return Upload(part.file, mime_type, (part.filename or "").replace("\x00", "") or None)
