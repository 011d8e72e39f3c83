"""`towtank record` turns recorded sessions into workloads that run against the same server. It loses no exchange, and
leaves no files or processes behind.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from record_bench import Bench
from record_site import PASSWORD, USER, Site
from waiting import until

from towtank import yamlfile
from towtank.engine import binary

pytestmark = pytest.mark.waits

NAVIGATES = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"}


def log_in(site: Site, address: str, *, then: Callable[[httpx.Client], object] = lambda _: None) -> None:
    """Log in to the site like a browser: get the form, send the form with its token, follow the redirect, and load data
    as scripts do.
    """
    with httpx.Client(proxy=f"http://{address}", timeout=30) as browser:
        page = browser.get(f"{site.url}/login", headers=NAVIGATES).text
        token = page.partition('name="csrf" value="')[2].partition('"')[0]
        form = {"csrf": token, "user": USER, "password": PASSWORD}
        answer = browser.post(f"{site.url}/login", data=form, headers=NAVIGATES, follow_redirects=True)
        assert answer.status_code == 200
        browser.get(f"{site.url}/favicon.ico")
        item = browser.get(f"{site.url}/api/items").json()["items"][1]["id"]
        assert browser.post(f"{site.url}/api/orders", json={"item": item}).status_code == 201
        then(browser)


def drive(bench: Bench, site: Site, workload: str) -> dict[str, Any]:
    """Run a workload against the site, which records the requests that it refuses; return the result."""
    site.refused.clear()
    asked = len(site.asked)
    address = site.url.removeprefix("http://")
    options = ["--users", "2", "--duration", "2 s", "--json", "--quiet"]
    ended = bench.towtank("drive", workload, "--address", f"target_127_0_0_1={address}", *options)
    assert ended.returncode in {0, 4}, ended.stderr
    assert len(site.asked) > asked
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


def test_a_session_through_the_proxy_runs_again(bench: Bench, site: Site) -> None:
    process, address = bench.start_proxy("--out", "shop.yaml", "--har", "shop.har", "--keep-passwords")
    log_in(site, address)
    ended = bench.stop(process)
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "recorded: 6 requests, 0 of them without a complete response" in ended.stderr
    assert "in the workload: 5 requests on 2 pages, 1 left out, 2 correlated values" in ended.stderr
    assert "shop.har:2:1: password in the field password: is copied to parameters.password" in ended.stderr
    assert stat.S_IMODE((bench.folder / "shop.har").stat().st_mode) == 0o600
    workload = yamlfile.load(bench.folder / "shop.yaml").data
    first, _, second = workload["transactions"]["session"]
    assert first["steps"][0]["extract"] == {"csrf": {"regex": ' name="csrf" value="([^"]+)'}}
    assert second["steps"][0]["form"] == {"csrf": "${csrf}", "user": USER, "password": "${parameters.password}"}
    assert second["steps"][3]["json"] == {"item": "${id}"}
    assert bench.towtank("validate", "shop.yaml").returncode == 0
    assert binary()
    document = drive(bench, site, "shop.yaml")
    assert site.refused == []
    assert document["requests"] > 0
    assert document["errors"] == 0


def test_passwords_are_not_copied_unless_asked_for(bench: Bench, site: Site) -> None:
    process, address = bench.start_proxy("--out", "shop.yaml")
    log_in(site, address)
    ended = bench.stop(process)
    text = (bench.folder / "shop.yaml").read_text()
    assert PASSWORD not in text + ended.stderr
    assert "password: change-me" in text
    assert "set parameters.password" in ended.stderr
    drive(bench, site, "shop.yaml")
    assert set(site.refused) == {"POST /login: the password is wrong"}
    assert list(bench.scratch.iterdir()) == []


def test_one_json_document(bench: Bench, site: Site) -> None:
    process, address = bench.start_proxy("--json")
    log_in(site, address, then=lambda browser: browser.get("http://127.0.0.1:1/"))
    ended = bench.stop(process)
    document = json.loads(ended.stdout)
    assert document["schema"] == "towtank/record/1"
    assert (document["how"], document["requests"], document["without_answer"]) == ("proxy", 7, 1)
    assert document["in_workload"] == {"requests": 5, "pages": 2}
    assert document["hosts"] == {site.url.removeprefix("http://"): 6, "127.0.0.1:1": 1}
    assert {each["variable"] for each in document["findings"]["correlations"]} == {"csrf", "id"}
    notes = {note["what"]: note for note in document["notes"]}
    assert notes["GET http://127.0.0.1:1/"]["line"] == 7
    assert "refused" in notes["GET http://127.0.0.1:1/"]["why"]
    assert notes[f"GET {site.url}/favicon.ico"]["column"] == 0
    assert document["workload"].startswith("# Recorded by towtank record proxy.\n")


def test_a_killed_recording_has_lost_nothing(bench: Bench, site: Site) -> None:
    process, address = bench.start_proxy("--har", "kept.har")
    log_in(site, address)
    until(lambda: len((bench.folder / "kept.har").read_text().splitlines()) >= 6)
    process.kill()
    process.wait(60)
    ended = bench.towtank("import", "har", "kept.har", "--out", "again.yaml")
    assert ended.returncode == 0
    assert "correlated: csrf from GET /login to POST /login" in ended.stderr


def test_what_makes_no_workload_is_kept(bench: Bench, site: Site) -> None:
    process, address = bench.start_proxy("--out", "w.yaml")
    with httpx.Client(proxy=f"http://{address}", timeout=30) as browser:
        browser.get(f"{site.url}/favicon.ico")
    ended = bench.stop(process)
    assert ended.returncode == 2
    assert "recording: must have requests that can be imported from recording, got none" in ended.stderr
    (kept,) = bench.scratch.glob("towtank-recording-*.har")
    assert f"the recording is kept in {kept}" in ended.stderr
    assert not (bench.folder / "w.yaml").exists()


def test_nothing_recorded(bench: Bench) -> None:
    ended = bench.towtank("record", "proxy", "--listen", "127.0.0.1:0", "--for", "300 ms", "--out", "w.yaml")
    assert ended.returncode == 6
    assert "nothing was recorded" in ended.stderr
    assert list(bench.scratch.iterdir()) == []


@pytest.mark.parametrize(("options", "kept"), [((), []), (("--keep-authority",), ["ca.key", "ca.pem"])])
def test_the_authority_is_kept_only_where_asked(
    bench: Bench, site: Site, options: tuple[str, ...], kept: list[str]
) -> None:
    process, address = bench.start_proxy("--out", "w.yaml", *options)
    log_in(site, address)
    assert bench.stop(process).returncode == 0
    assert sorted(path.name for path in (bench.folder / "state" / "record").iterdir()) == kept


def test_a_proxy_with_a_password_prints_and_requires_it(bench: Bench, site: Site) -> None:
    process, address = bench.start_proxy("--out", "w.yaml", "--password")
    assert process.stderr is not None
    reported = re.fullmatch(r"the proxy accepts user (\w+) with password ([\w-]{16})\n", process.stderr.readline())
    assert reported is not None
    with httpx.Client(proxy=f"http://{address}", timeout=30) as stranger:
        assert stranger.get(f"{site.url}/login").status_code == 407
    log_in(site, f"{reported[1]}:{reported[2]}@{address}")
    assert bench.stop(process).returncode == 0
    assert reported[2] not in (bench.folder / "w.yaml").read_text()


WRONG = [
    (("proxy", "--listen", "0.0.0.0:8899"), "--listen: must be a loopback address (or give --listen-anywhere)"),
    (("proxy", "--listen", "somewhere"), "--listen: must be an IP address and a port as 127.0.0.1:8899"),
    (("proxy", "--listen", "127.0.0.1:99999"), "--listen: must be an IP address and a port"),
    (("proxy", "--for", "10"), "--for: must be a duration"),
    (("proxy", "--out", "no/where.yaml"), "--out: must be in a folder that exists"),
    (("proxy", "--out", "a", "--har", "a"), "--har: must be another file than --out"),
    (("proxy", "--cacert", "nowhere.pem"), "--cacert: must be a PEM file of certificate authorities"),
    (("browser",), "URL: must be given, or --script, but not both, got neither"),
    (("browser", "http://a/", "--script", "x"), "URL: must be given, or --script, but not both, got both"),
    (("browser", "a"), "URL: must be an http or https URL, got 'a' instead"),
    (("browser", "--script", "nowhere.yaml"), "nowhere.yaml: must be a file that exists"),
    (("browser", "http://a/", "--think", "x", "--timeout", "0 s"), "--timeout: must be more than 0 s"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG)
def test_wrong_command_lines(
    arguments: tuple[str, ...],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from towtank.cli.app import run  # noqa: PLC0415

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))
    status = run(["record", *arguments])
    printed = capsys.readouterr()
    assert (status, printed.out) == (2, "")
    assert words in printed.err
    assert "Traceback" not in printed.err


def test_all_faults_of_a_command_line_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    from towtank.cli.app import run  # noqa: PLC0415

    assert run(["record", "proxy", "--listen", "0.0.0.0:1", "--for", "x", "--out", "no/w", "--har", "no/h"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 4


def test_an_address_that_is_taken(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = bench.towtank("record", "proxy", "--listen", f"127.0.0.1:{port}")
    assert ended.returncode == 2
    assert f"--listen: must be an address of this machine with a free port, got 127.0.0.1:{port}" in ended.stderr


def test_a_second_wish_to_stop_leaves_at_once(bench: Bench, site: Site) -> None:
    """A second request to stop ends the process immediately, even before the first one is handled."""
    process, address = bench.start_proxy("--har", "kept.har")
    log_in(site, address)
    # The client receives its last response shortly before the proxy stores the exchange.
    until(lambda: (bench.folder / "kept.har").read_text().count('"request":') == 6)
    os.kill(process.pid, signal.SIGSTOP)
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(process.pid, number)
    os.kill(process.pid, signal.SIGCONT)
    process.communicate(timeout=240)
    assert process.returncode == 5
    assert len(json.loads((bench.folder / "kept.har").read_text())["log"]["entries"]) == 6


def test_without_chromium_it_is_said_what_installs_it(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from towtank.cli.app import run  # noqa: PLC0415

    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["record", "browser", f"{site.url}/"]) == 6
    assert "needs Chromium, and none is installed\n\nhint: apt-get install chromium" in capsys.readouterr().err


def test_root_gives_up_the_sandbox_by_name_only(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from towtank.cli.app import run  # noqa: PLC0415
    from towtank.record.chromium import Chromium  # noqa: PLC0415

    stub = tmp_path / "chromium"
    stub.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"{tmp_path}/arguments"\n')
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert run(["record", "browser", f"{site.url}/"]) == 6
    assert "Chromium cannot isolate pages in a sandbox as root" in capsys.readouterr().err
    assert not (tmp_path / "arguments").exists(), "the browser must not be started"
    for sandbox, user in ((False, 0), (True, 1000)):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        with Chromium.start("127.0.0.1:1", "pin", sandbox=sandbox):
            until((tmp_path / "arguments").exists)
            until(lambda: "about:blank" in (tmp_path / "arguments").read_text())
        assert ("--no-sandbox" in (tmp_path / "arguments").read_text()) is not sandbox
        (tmp_path / "arguments").unlink()
