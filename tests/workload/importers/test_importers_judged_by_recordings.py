"""A recording is imported and run. The workload must send the requests of the recording, in the same order."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from har_generated import recorded
from judges import driven, logging_server, shown, without_cookies

pytestmark = pytest.mark.waits

# Number of files, each with twenty generated recordings; nightly runs use more files.
GENERATED = int(os.environ.get("TOWTANK_PLANS", "20"))


def asked(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a request of a recording in the form in which the server logs it."""
    request = entry["request"]
    data = request.get("postData", {})
    fields = [(quote(each["name"]), quote(each["value"], safe="")) for each in data.get("params", [])]
    text = data.get("text", "&".join(f"{name}={value}" for name, value in fields))
    url = urlsplit(request["url"])
    headers = [(each["name"], each["value"]) for each in request["headers"]]
    return shown(request["method"], f"{url.path}?{url.query}" if url.query else url.path, headers, text.encode())


@pytest.mark.parametrize("first", range(0, GENERATED, 20))
def test_an_import_asks_for_what_the_recording_holds(first: int, tmp_path: Path) -> None:
    with logging_server({"/bad": 404}) as log:
        recording = recorded(range(first, first + 20), log.address)
        file = tmp_path / "recording.har"
        file.write_text(json.dumps(recording), encoding="utf-8")
        wanted = without_cookies([asked(entry) for entry in recording["log"]["entries"]])
        found = without_cookies(driven("har", file, log))[: len(wanted)]
    for want, got in zip(wanted, found, strict=True):
        assert got == want
