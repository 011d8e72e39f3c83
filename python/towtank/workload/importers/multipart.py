"""Parses bodies of multipart forms into the parts of an HTTP Archive."""

from __future__ import annotations

from email.parser import BytesParser
from email.policy import HTTP
from typing import Any


def multipart_params(raw: bytes, media: str) -> list[dict[str, object]]:
    """Return the parts of a multipart form; an empty list if the body cannot be parsed.

    Parameters
    ----------
    raw : bytes
        Body of the request.
    media : str
        Value of the Content-Type header, with the boundary.

    Returns
    -------
    list of dict
        `name` and `value`; for files `fileName`, `contentType` and `_size` [byte] in place of the value.

    Examples
    --------
    >>> body = b'--b\\r\\nContent-Disposition: form-data; name="a"\\r\\n\\r\\n1\\r\\n--b--\\r\\n'
    >>> multipart_params(body, "multipart/form-data; boundary=b")
    [{'name': 'a', 'value': '1'}]
    """
    head = f"Content-Type: {' '.join(media.split())}\r\n\r\n".encode("utf-8", "replace")
    message = BytesParser(policy=HTTP).parsebytes(head + raw)
    if not message.is_multipart():
        return []
    return [found for part in message.iter_parts() if (found := _param(part)) is not None]


def _param(part: Any) -> dict[str, object] | None:
    name = part.get_param("name", header="content-disposition")
    if not isinstance(name, str):
        return None
    content = part.get_payload(decode=True) or b""
    file = part.get_filename()
    if file is None:
        return {"name": name, "value": content.decode("utf-8", "replace")}
    return {"name": name, "fileName": file, "contentType": part.get_content_type(), "_size": len(content)}
