"""Sessions in a headless browser are recorded, and leave no process and no file."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path

import pytest
from record_bench import Bench
from record_site import PASSWORD, USER, Site
from test_record_command import drive
from waiting import until

from towtank import yamlfile

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")
pytestmark = [pytest.mark.waits, pytest.mark.browser, needs_chromium, pytest.mark.xdist_group("browser")]

# Chromium cannot use its sandbox if it runs as root.
SANDBOX = ["--no-sandbox"] if os.geteuid() == 0 else []
SCRIPT = """schema: towtank/browser-script/1
steps:
  - open: {url}/
  - click: "#login"
  - fill: {{"[name=user]": {user}, "[name=password]": {password}, "[name=language]": Deutsch}}
  - click: "#go"
  - wait: 1 s
  - click: "#first"
"""


def write_script(bench: Bench, site: Site, text: str = SCRIPT) -> Path:
    path = bench.folder / "steps.yaml"
    path.write_text(text.format(url=site.url, user=USER, password=PASSWORD))
    return path


def test_a_scripted_session_runs_again(bench: Bench, site: Site) -> None:
    write_script(bench, site)
    options = ["--think", "0 s", "--out", "shop.yaml", "--keep-passwords", "--har", "shop.har"]
    ended = bench.towtank("record", "browser", *SANDBOX, "--script", "steps.yaml", *options)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
    assert site.refused == []
    session = yamlfile.load(bench.folder / "shop.yaml").data["transactions"]["session"]
    pages = {item["page"]: item["steps"] for item in session if "page" in item}
    assert list(pages) == ["home", "login", "login_2", "api/orders"]
    asked = [step.get("get") or step.get("post") for step in pages["login_2"]]
    assert asked[:2] == ["/login", "/home"]
    # The browser requests the script and the style sheet at the same time, so either may come first.
    assert sorted(asked[2:4]) == ["/script.js", "/style.css"]
    assert asked[4:] == ["/api/items"]
    assert pages["login_2"][0]["form"]["csrf"] == "${csrf}"
    assert pages["login_2"][0]["form"]["language"] == "de"
    assert pages["api/orders"][0]["json"] == {"item": "${id}"}
    assert "parallel requests of a page: are sent one after the other, in the order of their starts" in ended.stderr
    archive = json.loads((bench.folder / "shop.har").read_text())["log"]
    assert [page["title"] for page in archive["pages"]][1:] == ["click #login", "click #go", "click #first"]
    assert {entry["pageref"] for entry in archive["entries"]} == {page["id"] for page in archive["pages"]}
    document = drive(bench, site, "shop.yaml")
    assert site.refused == []
    assert document["errors"] == 0


def test_pages_over_tls_and_the_think_time_between_them(bench: Bench, secure_site: Site) -> None:
    urls = [f"{secure_site.url}/", f"{secure_site.url}/login"]
    ended = bench.towtank("record", "browser", *SANDBOX, *urls, "--think", "2 s", "--insecure", "--json", "--quiet")
    document = json.loads(ended.stdout)
    assert (ended.returncode, document["how"]) == (0, "browser")
    assert document["targets"] == {"target_127_0_0_1": secure_site.url}
    assert document["in_workload"] == {"requests": 3, "pages": 2}
    (think,) = document["findings"]["think_times"]
    assert (think["count"], think["mean_s"] >= 2.0) == (1, True)


def test_a_page_that_cannot_be_reached(bench: Bench) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # This port is bound but does not listen, so connections to it are refused.
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
        ended = bench.towtank("record", "browser", *SANDBOX, url, "--out", "w.yaml")
    assert ended.returncode == 6
    assert f"{url} cannot be opened: the server could not be reached: Connection refused" in ended.stderr
    assert list(bench.scratch.iterdir()) == []
    assert not (bench.folder / "w.yaml").exists()


def test_an_element_that_is_not_there(bench: Bench, site: Site) -> None:
    path = write_script(bench, site, 'schema: towtank/browser-script/1\nsteps:\n- open: {url}/\n- click: "#nothing"\n')
    ended = bench.towtank("record", "browser", *SANDBOX, "--script", path.name, "--har", "kept.har")
    assert ended.returncode == 2
    fault = (
        "steps.yaml:4:10: steps[1].click: must be an element to click, got '#nothing', which does not exist after 10 s"
    )
    assert fault in ended.stderr
    assert "the recording is kept in kept.har" in ended.stderr
    assert len(json.loads((bench.folder / "kept.har").read_text())["log"]["entries"]) >= 2


def test_a_selector_that_is_none(bench: Bench, site: Site) -> None:
    path = write_script(bench, site, 'schema: towtank/browser-script/1\nsteps:\n- open: {url}/\n- click: "a[[["\n')
    ended = bench.towtank("record", "browser", *SANDBOX, "--script", path.name)
    assert ended.returncode == 2
    assert "steps.yaml:4:10: steps[1].click: must be a CSS selector, got 'a[[[' instead" in ended.stderr


def test_nothing_stays_behind_when_it_is_killed(bench: Bench, site: Site) -> None:
    process = bench.start("record", "browser", *SANDBOX, f"{site.url}/", f"{site.url}/login", "--think", "60 s")
    until(lambda: "GET /logo.png" in site.asked)
    assert bench.left()
    process.kill()
    process.wait(60)
    until(lambda: not bench.left())


def test_ctrl_c_gives_the_workload_so_far(bench: Bench, site: Site) -> None:
    urls = [f"{site.url}/", f"{site.url}/login"]
    process = bench.start("record", "browser", *SANDBOX, *urls, "--think", "60 s", "--out", "so-far.yaml")
    until(lambda: "GET /logo.png" in site.asked)
    ended = bench.stop(process)
    assert ended.returncode == 5
    assert bench.towtank("validate", "so-far.yaml").returncode == 0
    assert list(bench.scratch.glob("*.har")) == []
