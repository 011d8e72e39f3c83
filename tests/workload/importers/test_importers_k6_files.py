from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Importer = Callable[..., Any]

HEAD = """import http from 'k6/http';
const own = open('own.json');
const gone = open('gone.bin', 'b');
export const options = { noCookiesReset: true, maxRedirects: 0 };
"""


@pytest.fixture
def posted(import_text: Importer, tmp_path: Path) -> Callable[[str], Any]:
    """Import a k6 script that posts a body. A file `own` exists; a file `gone` does not."""
    (tmp_path / "own.json").write_text('{"a": 1}')

    def run(body: str) -> Any:
        return import_text("k6", f"{HEAD}export default function () {{ http.post('http://a/', {body}); }}", "script.js")

    return run


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("'x,y', 't.csv', 'text/csv'", {"value": "x,y", "filename": "t.csv", "content_type": "text/csv"}),
        ("own, 'o.json'", {"value": '{"a": 1}', "filename": "o.json", "content_type": "application/octet-stream"}),
        (
            "'${x}', `u-${__VU}.txt`, 'text/plain'",
            {"value": "$${x}", "filename": "u-${user.number}.txt", "content_type": "text/plain"},
        ),
        (
            "gone, 'p.jpg', 'image/jpeg'",
            {"generated": {"size": "10 KiB"}, "filename": "p.jpg", "content_type": "image/jpeg"},
        ),
        ("'x'", {"value": "x", "filename": "${now.ms}000000", "content_type": "application/octet-stream"}),
    ],
)
def test_a_file_keeps_its_name_and_media_type(file: str, part: dict[str, Any], posted: Callable[[str], Any]) -> None:
    """As with `http.file` in k6, the default name of a file is the time in nanoseconds, and its default media type is
    application/octet-stream.
    """
    found = posted(f"{{ f: http.file({file}), a: 'b' }}")
    assert found.requests()[0]["multipart"] == {"a": "b", "f": part}
    assert bool(found.noted("file gone.bin")) == ("generated" in part)


def test_a_media_type_that_only_the_run_knows_is_noted(posted: Callable[[str], Any]) -> None:
    found = posted("{ f: http.file('x', f(), __ENV.KIND) }")
    part = found.requests()[0]["multipart"]["f"]
    assert part == {"value": "x", "filename": "${now.ms}000000", "content_type": "application/octet-stream"}
    assert sorted(why for _, what, why in found.notes() if what == "file of the field f") == [
        "its media type cannot be used in a workload: the media type application/octet-stream is sent instead",
        "its name cannot be used in a workload: the name ${now.ms}000000 is sent instead",
    ]


def test_a_file_that_is_no_part_is_sent_as_its_text(posted: Callable[[str], Any]) -> None:
    """Only files made with `http.file` become parts of a multipart body in k6. Other files are sent as text."""
    assert posted("{ f: own, a: 'b' }").requests()[0]["form"] == {"a": "b", "f": '{"a": 1}'}
    assert posted("own, { headers: { 'Content-Type': 'application/json' } }").requests()[0]["json"] == {"a": 1}
    found = posted("{ f: gone, a: 'b' }")
    assert found.requests()[0]["form"] == {"a": "b", "f": "change-me"}
    assert found.noted("field f") == [5]
