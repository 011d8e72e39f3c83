"""States how the importer handles each key of HTTP Archives (HAR 1.2).

Keys that begin with `_` belong to the recording program.
"""

from __future__ import annotations

from towtank.workload.importers.accounting import Table, carried, harmless, noted
from towtank.workload.importers.tree_account import EACH, ONE, Shape

_COMMENT = harmless("a comment", "comment")
_SAME = "repeats other data in another form"

KEYS: Table = {
    "log": {
        **carried("entries"),
        **harmless("program, browser and format of the recording", "version", "creator", "browser"),
        **harmless("pages are named by the path of their first request", "pages"),
        **_COMMENT,
    },
    "entry": {
        **carried("request", "response", "startedDateTime", "time", "pageref", why="request, its page, think times"),
        **harmless("users have no cache", "cache"),
        **harmless("times of the recorded session; a load test measures its own", "timings"),
        **harmless("the target determines the destination of requests", "serverIPAddress", "connection"),
        **_COMMENT,
    },
    "request": {
        **carried("method", "url", "headers", "postData"),
        **noted("cookies", "every user keeps the cookies that the server sets; recorded cookies are not sent"),
        **harmless(f"{_SAME}: the query of the URL", "queryString"),
        **harmless("the version of HTTP is set for the target", "httpVersion"),
        **carried("bodySize", why="a note if the recording lacks the body"),
        **harmless("follows from the request that is sent", "headersSize"),
        **_COMMENT,
    },
    "postData": {**carried("mimeType", "text", "params", why="body"), **_COMMENT},
    "param": {
        **carried("name", "value", "fileName", "contentType", why="field of a form or part of a multipart body"),
        **_COMMENT,
    },
    "header": {**carried("name", "value"), **_COMMENT},
    "response": {
        **carried("status", why="check of the status"),
        **carried("content", "headers", why="correlated values"),
        **harmless("the request after a redirect is a separate entry", "redirectURL"),
        **harmless(f"{_SAME}: the header Set-Cookie", "cookies"),
        **harmless("describes the recorded response", "statusText", "httpVersion", "headersSize", "bodySize"),
        **_COMMENT,
    },
    "content": {
        **carried("text", "encoding", "mimeType", why="correlated values; static files"),
        **harmless("describes the recorded response", "size", "compression"),
        **_COMMENT,
    },
}

SHAPE: Shape = {
    "entry": {"request": (ONE, "request"), "response": (ONE, "response")},
    "request": {"headers": (EACH, "header"), "postData": (ONE, "postData")},
    "postData": {"params": (EACH, "param")},
    "response": {"content": (ONE, "content")},
}
