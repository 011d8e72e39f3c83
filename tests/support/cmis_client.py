"""Client for a few requests of the CMIS 1.1 Browser Binding, written independently of Towtank's server."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

_BOUNDARY = "a-boundary-that-no-content-has"


class CmisClient:
    """Client that sends requests to one address.

    Parameters
    ----------
    address : str
        `host:port`.
    user, password : str
        Login.
    """

    def __init__(self, address: str, user: str = "someone", password: str = "secret") -> None:
        self._url = f"http://{address}/browser/content"
        token = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {token}"}

    def send(self, path: str, query: dict[str, str], body: bytes | None = None, form: str = "") -> tuple[int, bytes]:
        headers = {**self._headers, **({"Content-Type": form} if form else {})}
        url = f"{self._url}{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def _properties(self, answer: tuple[int, bytes], expected: int) -> dict[str, Any]:
        status, body = answer
        assert status == expected, body[:300]
        found: dict[str, Any] = json.loads(body)["succinctProperties"]
        return found

    def of(self, identifier: str) -> dict[str, Any]:
        """Return the properties of the CMIS object with the given identifier."""
        query = {"objectId": identifier, "cmisselector": "object", "succinct": "true"}
        return self._properties(self.send("/root", query), 200)

    def at(self, path: str) -> dict[str, Any]:
        """Return the properties of the CMIS object at a path."""
        query = {"cmisselector": "object", "succinct": "true"}
        return self._properties(self.send(f"/root{urllib.parse.quote(path)}", query), 200)

    def content(self, identifier: str) -> bytes:
        status, body = self.send("/root", {"objectId": identifier, "cmisselector": "content"})
        assert status == 200, body[:300]
        return body

    def create(self, folder: str, name: str, content: bytes) -> dict[str, Any]:
        """Create a document in a folder; return the properties of the document. `folder` is the identifier of the
        folder.
        """
        fields = {
            "cmisaction": "createDocument",
            "succinct": "true",
            "versioningState": "major",
            "propertyId[0]": "cmis:objectTypeId",
            "propertyValue[0]": "cmis:document",
            "propertyId[1]": "cmis:name",
            "propertyValue[1]": name,
        }
        head = "".join(
            f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
            for key, value in fields.items()
        )
        file = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="content"; filename="{name}"\r\n'
        body = f"{head}{file}Content-Type: text/plain\r\n\r\n".encode() + content + f"\r\n--{_BOUNDARY}--\r\n".encode()
        answer = self.send("/root", {"objectId": folder}, body, f"multipart/form-data; boundary={_BOUNDARY}")
        return self._properties(answer, 201)

    def children(self, folder: str) -> list[dict[str, Any]]:
        """Return the properties of the objects in a folder, at most 10,000."""
        query = {"objectId": folder, "cmisselector": "children", "succinct": "true", "maxItems": "10000"}
        status, body = self.send("/root", query)
        assert status == 200, body[:300]
        return [child["object"]["succinctProperties"] for child in json.loads(body)["objects"]]

    def query(self, statement: str) -> list[dict[str, Any]]:
        """Return at most 1,000 results of a CMIS query."""
        query = {"cmisselector": "query", "succinct": "true", "maxItems": "1000", "q": statement}
        status, body = self.send("", query)
        assert status == 200, body[:300]
        return [result["succinctProperties"] for result in json.loads(body)["results"]]
