"""k6 runs scripts, and Towtank runs them after their import. Both must send the same requests to a server.

Not part of the ordinary tests: `make judge` builds k6 with Go and runs this file.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from judges import driven, logging_server
from k6_generated import HEAD, generated

from towtank.workload.importers import ImportOptions, read_import

K6 = Path(os.environ.get("TOWTANK_K6", ".venv/k6")).resolve() / "k6"
# Number of generated scripts; nightly runs use more. Each takes some seconds.
GENERATED = int(os.environ.get("TOWTANK_PLANS", "20"))
ROUNDS = 2


def k6(file: Path, *words: str) -> None:
    """Run a script with k6. Failed checks and thresholds of the script are allowed."""
    command = [str(K6), "run", "--quiet", "--no-usage-report", *words, str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=file.parent)
    assert ended.returncode in {0, 99}, ended.stderr


def both(text: str, folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the requests that k6 sends, and the same number of requests that Towtank sends."""
    with logging_server({"/bad": 404}) as log:
        file = folder / "script.js"
        file.write_text(text.replace("ADDRESS", log.address), encoding="utf-8")
        k6(file, "--vus", "1", "--iterations", str(ROUNDS))
        wanted = log.taken()
        assert wanted
        return wanted, driven("k6", file, log, "1s")[: len(wanted)]


def compared(text: str, folder: Path) -> None:
    wanted, found = both(text, folder)
    assert found == wanted


@pytest.mark.parametrize("seed", range(GENERATED))
def test_a_generated_script_asks_for_what_k6_asks_for(seed: int, tmp_path: Path) -> None:
    compared(generated(seed), tmp_path)


def script(body: str, options: dict[str, Any] | None = None) -> str:
    exported = f"export const options = {json.dumps(options or {})};\n"
    return f"{HEAD}{exported}export default function () {{\n{body}\n}}\n"


_BAD = "const bad = visit('/bad');\n"
_CHECK = "check(bad, { ok: (r) => r.status === 200 })"
SCRIPTS = {
    "goes on after a failed check": script(f"{_BAD}{_CHECK};\nvisit('/2');"),
    "returns after a failed check": script(f"visit('/1');\n{_BAD}if (!{_CHECK}) return;\nvisit('/2');"),
    "returns where a status is high": script(f"visit('/1');\n{_BAD}if (bad.status >= 400) {{ return; }}\nvisit('/2');"),
    "two checks, one return": script(
        "const ok = check(visit('/1'), { ok: (r) => r.status === 200 }) && check(visit('/bad'), { ok: (r) => "
        "r.status === 200 });\nif (!ok) return;\nvisit('/2');"
    ),
    "a helper decides whether it is good": script(
        "const good = () => check(visit('/bad'), { ok: (r) => r.status === 200 });\nif (!good()) return;\nvisit('/2');"
    ),
    "a request in a condition is made once": script("if (visit('/1').status !== 200) return;\nvisit('/2');"),
    "throws in a group": script("group('g', () => { if (visit('/bad').status !== 200) fail('no'); });\nvisit('/2');"),
    "else leaves": script(f"{_BAD}if ({_CHECK}) {{ visit('/2'); }} else {{ return; }}\nvisit('/3');"),
    "lists in forms": script("send('/f', { b: ['1', 'two words', 'ä&'], a: 'x', c: [], d: null });"),
    "lists in forms with values of the run": script(
        "const t = visit('/token').json('token');\nsend('/f', { b: [t, 'x'], a: `${t}&` });"
    ),
    "cookies of the script beside those of the server": script(
        "visit('/set/own');\nvisit('/x', { cookies: { own: { value: 'mine', replace: true }, by: 'hand' } });"
    ),
    "cookies are kept": script("visit('/set/own');\nvisit('/drop/own');\nvisit('/x');", {"noCookiesReset": True}),
    "a header that says another type": script(
        "http.post(base + '/x', { a: '1' }, { headers: { 'Content-Type': 'text/x' } });"
    ),
    "user agent and host": script(
        "http.get(base + '/x', { headers: { Host: 'shop', 'X-Agent': 'a' } });", {"userAgent": "me/1"}
    ),
    "an address of parts": script(
        "http.get(`${__ENV.SCHEME || 'http'}://ADDRESS/x`);\n"
        "http.get(`${__ENV.ROOT || 'http://ADDRESS/base'}/y`);\nhttp.get(`http://ADDRESS${__ENV.BELOW || '/z'}/1`);"
    ),
    "an address in data": script("http.get(['http://ADDRESS/a?b=c'][Math.floor(Math.random())] + '&d=e');"),
    "counts in paths": script("for (let n = 1; n <= 3; n++) { visit(`/page/${n}`); }\nvisit('/x');"),
    "login in the first round": script(
        "if (__ITER === 0) { kept = send('/login', { u: 'a' }).json('token'); }\nvisit('/x');", {"noCookiesReset": True}
    ),
}
# Scripts that Towtank runs differently from k6 after the import; each with a part of the note about the difference.
NOTED = {
    "returns from a group": (
        script("group('g', () => { if (visit('/bad').status !== 200) return; visit('/1'); });\nvisit('/2');"),
        "leaves only its function in k6",
    ),
    "returns from a function": (
        script("const f = () => { if (visit('/bad').status !== 200) { return; } visit('/1'); };\nf();\nvisit('/2');"),
        "leaves only its function in k6",
    ),
    "tests later": (
        script(f"{_BAD}visit('/1');\nif (!{_CHECK}) return;\nvisit('/2');"),
        "is tested after other steps",
    ),
    "text without a type": (script("http.post(base + '/x', 'text');"), "k6 sends texts without this header"),
    "JSON without a type": (
        script("http.post(base + '/x', JSON.stringify({ a: 1 }));"),
        "k6 sends JSON without this header",
    ),
    "cookies of one name": (
        script("visit('/set/own');\nvisit('/x', { cookies: { own: 'mine' } });"),
        "replaces a server cookie with this name",
    ),
    "a branch by status": (
        script("if (visit('/1').status === 200) { visit('/2'); } else { visit('/3'); }\nvisit('/4');"),
        "left out: its condition is not known before the run",
    ),
    "a request in the branch of a failure": (
        script(f"{_BAD}if (!{_CHECK}) {{ visit('/report'); return; }}\nvisit('/1');"),
        "steps before the end of the round are left out",
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_import_asks_for_what_k6_asks_for(name: str, tmp_path: Path) -> None:
    compared(SCRIPTS[name], tmp_path)


@pytest.mark.parametrize("name", NOTED)
def test_what_differs_is_noted(name: str, tmp_path: Path) -> None:
    text, why = NOTED[name]
    wanted, found = both(text, tmp_path)
    assert found != wanted
    reported = read_import("k6", tmp_path / "script.js", ImportOptions((), tmp_path, strict=True)).notes.sorted()
    assert any(why in note.why for note in reported)


def test_pauses_are_those_of_k6(tmp_path: Path) -> None:
    """The script pauses between requests and inside a page. Towtank must send the requests of k6, and no pause may be
    shorter than in k6.
    """
    text = script("visit('/1');\nsleep(0.6);\ngroup('g', () => { visit('/2'); sleep(0.4); visit('/3'); });")
    with logging_server() as log:
        file = tmp_path / "script.js"
        file.write_text(text.replace("ADDRESS", log.address), encoding="utf-8")
        k6(file, "--vus", "1", "--iterations", str(ROUNDS))
        wanted = log.taken()
        assert driven("k6", file, log, "4s")[: len(wanted)] == wanted
        times = log.times[: len(wanted)]
    least = {"/2": 0.59, "/3": 0.39}
    for first, second in pairwise(times):
        assert second[0] - first[0] >= least.get(second[1], 0.0)


def counted(text: str, folder: Path, users: int) -> tuple[Counter[str], Counter[str]]:
    """Return the numbers of requests by path: those of k6 with the options in the script, and those of Towtank with the
    same users and duration.
    """
    with logging_server() as log:
        file = folder / "script.js"
        file.write_text(text.replace("ADDRESS", log.address), encoding="utf-8")
        k6(file)
        wanted = Counter(each["path"] for each in log.taken())
        return wanted, Counter(each["path"] for each in driven("k6", file, log, "4s", users))


def test_arrival_rates_are_those_of_k6(tmp_path: Path) -> None:
    """In k6, ten iterations a second for 4 s are 40 iterations.

    Four users with a pacing of 0.4 s also make 40, except at the start and the end.
    """
    rate = {"executor": "constant-arrival-rate", "rate": 600, "timeUnit": "1m", "duration": "4s", "preAllocatedVUs": 4}
    wanted, found = counted(script("visit('/x');", {"scenarios": {"s": rate}}), tmp_path, 4)
    assert abs(wanted["/x"] - 40) <= 2
    assert abs(found["/x"] - wanted["/x"]) <= 5


def test_scenarios_have_their_shares_of_users(tmp_path: Path) -> None:
    """Three users execute one function; one user executes the other, with the same pauses. So one function sends three
    times as many requests.
    """
    users = {"executor": "constant-vus", "duration": "4s"}
    scenarios = {"a": {**users, "vus": 3, "exec": "a"}, "b": {**users, "vus": 1, "exec": "b"}}
    text = script("", {"scenarios": scenarios})
    text += "".join(f"export function {name}() {{ visit('/{name}'); sleep(0.2); }}\n" for name in "ab")
    wanted, found = counted(text, tmp_path, 4)
    assert set(found) == set(wanted) == {"/a", "/b"}
    for counts in (wanted, found):
        assert 2.5 <= counts["/a"] / counts["/b"] <= 3.5
        assert 50 <= counts["/a"] <= 63
