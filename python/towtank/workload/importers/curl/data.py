"""Options of curl that contain the data of a request or name a file with the data, including parts of forms."""

from __future__ import annotations

import re
from pathlib import Path

from towtank.files import is_regular_file
from towtank.workload.importers.curl.words import Word
from towtank.workload.importers.draft import literal

# Number of bytes at the beginning of a file that are searched for line ends. [byte]
_LOOKED_AT = 1_000_000


def is_file(option: str, value: Word) -> bool:
    """Return True if the value of an option names a file that contains the data."""
    return option in {"data", "data-ascii", "data-binary", "json"} and value.text.startswith("@")


def has_line_ends(name: str) -> bool:
    """Return True if a file exists and contains line ends near its beginning."""
    path = Path(name)
    if not is_regular_file(path):
        return False
    with path.open("rb") as stream:
        return re.search(rb"[\r\n]", stream.read(_LOOKED_AT)) is not None


def of_form(value: str) -> tuple[str, dict[str, str]]:
    """Split a form part into its text and the settings after `;`. Return only settings that the workload supports:
    media type and file name.

    Other settings are ignored, as by curl.

    Examples
    --------
    >>> of_form("1;type=text/x")
    ('1', {'content_type': 'text/x'})
    """
    text, *extras = value.split(";")
    # a text in quotes may contain `;`, so it is read up to the closing quote
    if value.startswith('"') and '"' in value[1:]:
        text, _, rest = value[1:].partition('"')
        extras = rest.split(";")[1:]
    given = dict(extra.strip().split("=", 1) for extra in extras if "=" in extra)
    keys = {"type": "content_type", "filename": "filename"}
    return text.rstrip(), {key: literal(given[name].strip('"')) for name, key in keys.items() if name in given}
