"""Tests of the documentation site: it builds, its links have targets, and terms are linked to the glossary."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))


def test_the_site_builds_without_a_broken_link() -> None:
    built = subprocess.run([sys.executable, "scripts/site"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    home = (ROOT / "target" / "site" / "index.html").read_text("utf-8")
    assert 'href="docs/reference/glossary.html#term-steady-state"' in home
    gallery = (ROOT / "target" / "site" / "studies" / "index.html").read_text("utf-8")
    assert all(f"towtank run {path.parent.name} --quick" in gallery for path in ROOT.glob("studies/*/study.yaml"))


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    from site_building.links import faults  # noqa: PLC0415

    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html#here">x</a><a href="b.html#there">x</a><a href="c.html">x</a>'
        '<a href="#top">x</a><a href="#bottom">x</a><a href="https://example.org/">x</a>'
        '<script src="https://example.org/x.js"></script><img src="d.png"><a href="b%2ehtml">x</a>'
    )
    (tmp_path / "b.html").write_text('<p id="here"></p>')
    assert faults(tmp_path) == [
        "a.html: b.html#there: no such anchor",
        "a.html: c.html: no such file",
        "a.html: #bottom: no such anchor",
        "a.html: https://example.org/x.js: of another host",
        "a.html: d.png: no such file",
    ]


def test_the_first_use_of_a_term_is_linked_outside_headings_links_and_code() -> None:
    from site_building.glossary import terms_of, with_anchors, with_links  # noqa: PLC0415

    terms = terms_of("| term | unit |\n|---|---|\n| user | |\n| virtual user | |\n| mix | |\n")
    assert terms == {"user": "term-user", "virtual user": "term-virtual-user"}
    page = "<h2>User</h2><p><code>user</code> <a href='x'>user</a> Virtual users, a user and a user.</p>"
    assert with_links(page, terms, "../g.html") == (
        "<h2>User</h2><p><code>user</code> <a href='x'>user</a> "
        '<a class="term" href="../g.html#term-virtual-user">Virtual users</a>, '
        'a <a class="term" href="../g.html#term-user">user</a> and a user.</p>'
    )
    row = "<tr>\n<td>virtual user</td>\n<td>virtual user</td></tr>"
    assert with_anchors(row, terms) == '<tr>\n<td id="term-virtual-user">virtual user</td>\n<td>virtual user</td></tr>'
