"""Represents an HTTP request with its response, and renders both as an entry of an HTTP Archive (HAR 1.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlsplit

from towtank.record.bodies import Capture, decompressed, is_text, lowered, text_of
from towtank.workload import multipart_params

Headers = list[tuple[str, str]]


@dataclass
class Exchange:
    """HTTP request with its response.

    Attributes
    ----------
    started_at : float
        Time of the request since 1970. [s]
    began_s, answered_s, ended_s : float
        Times of the request, of the response head and of the response end, on the monotonic clock. [s]
    status : int
        Status code of the response; 0 without a response.
    error : str
        Reason why the response is incomplete; empty for a complete response.
    kind : str
        Kind of resource, as named in browsers (`document`, `script`, ...); empty if unknown.
    page : str
        Name of the page to which the exchange belongs; empty if the importer is to separate pages by pauses.
    """

    method: str
    url: str
    request_headers: Headers
    started_at: float
    began_s: float
    answered_s: float = 0.0
    ended_s: float = 0.0
    status: int = 0
    reason: str = ""
    answer_headers: Headers = field(default_factory=list)
    request_body: Capture = field(default_factory=Capture)
    answer_body: Capture = field(default_factory=Capture)
    error: str = ""
    kind: str = ""
    page: str = ""

    @property
    def host(self) -> str:
        """Host and port in the URL of the request."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def header(self, name: str) -> str:
        """Return the value of a request header; an empty text if the request lacks the header."""
        return lowered(self.request_headers).get(name, "")

    def answer_header(self, name: str) -> str:
        """Return the value of a response header; an empty text if the response lacks the header."""
        return lowered(self.answer_headers).get(name, "")

    def entry(self) -> dict[str, object]:
        """Return the request and its response as an entry of an HTTP Archive, with timings."""
        wait = max(self.answered_s - self.began_s, 0.0)
        receive = max(self.ended_s - max(self.answered_s, self.began_s), 0.0)
        started = datetime.fromtimestamp(self.started_at, UTC).isoformat(timespec="milliseconds")
        entry: dict[str, object] = {
            **({"pageref": self.page} if self.page else {}),
            "startedDateTime": started.replace("+00:00", "Z"),
            "time": round(1000 * (wait + receive), 3),
            "request": self._request(),
            "response": self._response(),
            "cache": {},
            "timings": {"send": 0, "wait": round(1000 * wait, 3), "receive": round(1000 * receive, 3)},
        }
        if self.kind:
            entry["_resourceType"] = self.kind
        if self.error:
            entry["_error"] = self.error
        return entry

    def _request(self) -> dict[str, object]:
        query = parse_qsl(urlsplit(self.url).query, keep_blank_values=True)
        request: dict[str, object] = {
            "method": self.method,
            "url": self.url,
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": _pairs(self.request_headers),
            "queryString": _pairs(query),
            "headersSize": -1,
            "bodySize": self.request_body.size,
        }
        if self.request_body.size:
            request["postData"] = self._post_data()
        return request

    def _post_data(self) -> dict[str, object]:
        """Return the request body for the archive: the fields of a multipart form, or the text. If the body is neither,
        or was not kept completely, only its length is stated.
        """
        media, body = self.header("content-type"), self.request_body
        data: dict[str, object] = {"mimeType": media, "params": [], "text": ""}
        if not body.whole:
            return {**data, "_left_out": f"a body of {body.size} bytes, longer than the part that is kept"}
        raw = decompressed(body, self.header("content-encoding"))
        if media.lower().startswith("multipart/form-data"):
            data["params"] = multipart_params(raw or b"", media)
            return data
        try:
            return {**data, "text": (raw or b"").decode("utf-8" if raw is not None else "ascii")}
        except UnicodeDecodeError:
            if is_text(media):
                return {**data, "text": text_of(raw or b"", media)}
            return {**data, "_left_out": f"a body of {body.size} bytes that is not text"}

    def _response(self) -> dict[str, object]:
        media, coding = self.answer_header("content-type"), self.answer_header("content-encoding")
        content: dict[str, object] = {"size": self.answer_body.size, "mimeType": media}
        raw = decompressed(self.answer_body, coding) if is_text(media) or not media else None
        if raw is not None and (media or b"\0" not in raw):
            content["text"] = text_of(raw, media)
        elif is_text(media):
            content["comment"] = f"compressed with {coding}, which cannot be decompressed"
        return {
            "status": self.status,
            "statusText": self.reason,
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": _pairs(self.answer_headers),
            "content": content,
            "redirectURL": self.answer_header("location"),
            "headersSize": -1,
            "bodySize": self.answer_body.size,
        }


def _pairs(pairs: Headers) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]
