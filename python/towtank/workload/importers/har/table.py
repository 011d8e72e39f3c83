"""Treatment of each key of HTTP Archives (HAR 1.2).

Keys that begin with `_` belong to the recording program.
"""

from __future__ import annotations

from towtank.workload.importers.accounting import Table, carried, harmless, noted
from towtank.workload.importers.tree_account import EACH, ONE, Shape

_COMMENT = harmless("a comment", "comment")
_SAME = "says the same in another form"

KEYS: Table = {
    "log": {
        **carried("entries"),
        **harmless("who recorded what, in which form", "version", "creator", "browser"),
        **harmless("pages are named by the path of their first request", "pages"),
        **_COMMENT,
    },
    "entry": {
        **carried("request", "response", "startedDateTime", "time", "pageref", why="request, its page, think times"),
        **harmless("users have no cache", "cache"),
        **harmless("of one recorded run; a load measures them anew", "timings"),
        **harmless("the target says where requests go", "serverIPAddress", "connection"),
        **_COMMENT,
    },
    "request": {
        **carried("method", "url", "headers", "postData"),
        **noted("cookies", "every user keeps the cookies that the server sets; those of the recording are not sent"),
        **harmless(f"{_SAME}: the query of the URL", "queryString"),
        **harmless("the target says which version of HTTP is spoken", "httpVersion"),
        **carried("bodySize", why="a note if the recording lacks the body"),
        **harmless("follows from what is sent", "headersSize"),
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
        **harmless("the request that follows a redirect is an entry of its own", "redirectURL"),
        **harmless(f"{_SAME}: the header Set-Cookie", "cookies"),
        **harmless("of the recorded answer", "statusText", "httpVersion", "headersSize", "bodySize"),
        **_COMMENT,
    },
    "content": {
        **carried("text", "encoding", "mimeType", why="correlated values; static files"),
        **harmless("of the recorded answer", "size", "compression"),
        **_COMMENT,
    },
}

SHAPE: Shape = {
    "entry": {"request": (ONE, "request"), "response": (ONE, "response")},
    "request": {"headers": (EACH, "header"), "postData": (ONE, "postData")},
    "postData": {"params": (EACH, "param")},
    "response": {"content": (ONE, "content")},
}
