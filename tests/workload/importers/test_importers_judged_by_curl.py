"""curl runs command lines, and Towtank runs them after their import. Both must send the same requests to a server."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from curl_generated import generated
from judges import driven, logging_server, without_cookies

LINES = r"""
curl -s http://ADDRESS/plain
curl -s 'http://ADDRESS/query?a=1&b=two%20words&flag'
curl -s -G -d 'q=red+shoes' --data-urlencode 'r=a&b' http://ADDRESS/get
curl -s -d a=1 -d b=2 http://ADDRESS/form
curl -s --data-urlencode 'q=a&b=c' http://ADDRESS/encoded
curl -s --json '{"a": [1, "x"]}' http://ADDRESS/json
curl -s --json '{   }' http://ADDRESS/empty-json
curl -s --json '[]' http://ADDRESS/empty-list
curl -s -H 'Content-Type: text/plain' -d 'some text' http://ADDRESS/text
curl -s -H 'X-One: 1' -H 'X-Empty;' -H 'Accept:' http://ADDRESS/headers
curl -s -u ann:secret http://ADDRESS/basic
curl -s http://ann:s%40cret@ADDRESS/user-info
curl -s --oauth2-bearer token http://ADDRESS/bearer
curl -s --range 600 http://ADDRESS/range
curl -s -X DELETE http://ADDRESS/delete
curl -s -d @one http://ADDRESS/file
curl -s --json @one http://ADDRESS/json-file
curl -s --data-binary @one -H 'Content-Type: text/x' http://ADDRESS/typed-file
curl -s -X PUT -d 'x=1' http://ADDRESS/put
curl -s -I http://ADDRESS/head
curl -s -F a=1 -F b=two http://ADDRESS/multipart
curl -s -F 'a=1;type=text/x' -F 'b="x;y";type=text/z' -F 'c=plain;else' --form-string 'd=1;2' http://ADDRESS/typed
curl -s -F 'f=@"a;b.txt"' -F 'g=@one;type=text/x;charset=utf-8;filename="x;y,z.txt"' http://ADDRESS/quoted
curl -s -F 'f=1,2;filename="u;v"' -F 'g= "1\"2" ' -F 'h=@"a;b.txt";filename="c,\\d"' http://ADDRESS/quoted-too
curl -s http://ADDRESS/missing
curl -s http://ADDRESS/after
curl -s http://ADDRESS/first http://ADDRESS/second
curl -s -e http://b/ http://ADDRESS/referer --next -s -X PATCH -d y=2 http://ADDRESS/next > /dev/null 2>&1
curl -s --url-query 'n=1' 'http://ADDRESS/url-query?m=0'
curl -s --url-query 'n=a b' --url-query '+o=%20%2B' 'http://ADDRESS/url-queries'
"""


# Number of files, each with twenty generated command lines; nightly runs use more files.
GENERATED = int(os.environ.get("TOWTANK_PLANS", "20"))
pytestmark = [
    pytest.mark.waits,
    pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed: apt-get install curl"),
]


def both(lines: str, folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the requests that curl sends, and the same number of requests that Towtank sends.

    If a note states that cookies differ, they are removed from both.
    """
    with logging_server({"/missing": 404}) as log:
        file = folder / "commands.sh"
        (folder / "one").write_text('{"a": "1"}', encoding="utf-8")
        (folder / "a;b.txt").write_text("two", encoding="utf-8")
        file.write_text(lines.replace("ADDRESS", log.address), encoding="utf-8")
        subprocess.run(["sh", str(file)], check=True, stdout=subprocess.DEVNULL, cwd=folder)
        wanted = without_cookies(log.taken())
        return wanted, without_cookies(driven("curl", file, log))[: len(wanted)]


def test_an_import_asks_for_what_curl_asks_for(tmp_path: Path) -> None:
    wanted, found = both(LINES, tmp_path)
    assert len(wanted) == LINES.count("ADDRESS")
    for want, got in zip(wanted, found, strict=True):
        assert got == want


@pytest.mark.parametrize("first", range(0, GENERATED, 20))
def test_generated_lines_ask_for_what_curl_asks_for(first: int, tmp_path: Path) -> None:
    lines = "\n".join(generated(seed) for seed in range(first, first + 20)) + "\n"
    wanted, found = both(lines, tmp_path)
    assert wanted
    for want, got in zip(wanted, found, strict=True):
        assert got == want
