"""Tests of the documentation site: it builds, its links have targets, and terms are linked to the glossary."""

from __future__ import annotations

import json
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
    found = json.loads((ROOT / "target" / "site" / "search" / "search_index.json").read_text("utf-8"))["docs"]
    boosts = {page["location"]: page.get("boost", 1) for page in found if "#" not in page["location"]}
    assert boosts["docs/guides/size-a-system.html"] == boosts["docs/tutorial/first-study.html"] == 4
    assert boosts["docs/certification.html"] == boosts["examples/two-hosts/index.html"] == 1
    home = (ROOT / "target" / "site" / "index.html").read_text("utf-8")
    assert 'href="docs/reference/glossary.html#term-steady-state"' in home
    gallery = (ROOT / "target" / "site" / "studies" / "index.html").read_text("utf-8")
    assert all(f"towtank run {path.parent.name} --quick" in gallery for path in ROOT.glob("studies/*/study.yaml"))
    measured = len(list(ROOT.glob("studies/*/measured.json")))
    assert gallery.count("<img") >= measured > 0, "each study with measured values has a figure"
    assert 'src="content-failures/measured.svg"' in gallery and 'src="../docs/figures/content-users.svg"' in gallery


def test_links_to_files_that_the_repository_does_not_have_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An untracked file is not published, although it exists."""
    from site_building import pages  # noqa: PLC0415

    (tmp_path / "docs").mkdir()
    for name in ("secret.txt", "code.py"):
        (tmp_path / name).write_text("text")
    (tmp_path / "docs" / "a.md").write_text("[x](../code.py) [x](../secret.txt) [x](b.md) [x](https://example.org/c)")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "PAGES", tmp_path / "pages")
    monkeypatch.setattr(pages, "repository", lambda: (Path("docs/a.md"), Path("code.py")))
    assert pages.copied() == [
        "docs/a.md: ../secret.txt: the repository has no such file",
        "docs/a.md: b.md: the repository has no such file",
    ]
    copied = [str(path.relative_to(pages.PAGES)) for path in sorted(pages.PAGES.rglob("*")) if path.is_file()]
    assert copied == ["code.py", "docs/a.md"]


def test_warnings_of_the_build_are_not_hidden() -> None:
    """With `--quiet`, `mkdocs build` does not count its warnings, so `--strict` would not let the build fail."""
    text = (ROOT / "scripts" / "site_building" / "command.py").read_text("utf-8")
    assert '"--strict"' in text and '"--quiet"' not in text


def test_measured_values_of_a_page_are_drawn_as_they_stand() -> None:
    from site_building.measured import description, drawing, measured  # noqa: PLC0415

    head = "# Study\n\n## Measured here\n\nOn a machine. Reads per transaction:\n\n"
    rows = "| `a <b>` | 0.41 [0.30, 0.52] | no |\n| `c` | 1,200 | 2 [1, 3] |\n"
    series = measured(f"{head}| | `few` | `many` |\n|---|---|---|\n{rows}")
    assert series is not None and series.quantity == "Reads per transaction"
    assert [(row.label, row.value, row.low, row.high) for row in series.rows] == [
        ("a <b>, few", 0.41, 0.3, 0.52), ("c, few", 1200.0, None, None), ("c, many", 2.0, 1.0, 3.0),
    ]  # fmt: skip
    assert "a &lt;b&gt;, few" in drawing(series) and "c, many: 2 [1, 3]" in description(series)
    rows = "| `one` | 20 | 5 [4, 6] | 1 [0, 2] |\n| | 45 | 7 [6, 8] | 3 |\n"
    series = measured(f"{head}| nodes | users | throughput [1/s] | mean |\n|---|---|---|---|\n{rows}")
    assert series is not None and series.quantity == "throughput [1/s]"
    shown = [(row.label, row.shown) for row in series.rows]
    assert shown == [("one, users 20", "5 [4, 6]"), ("one, users 45", "7 [6, 8]")]
    rows = "| `none` | 45 | | 2 s |\n| `disk` | 48 | 45 | 3 s |\n"
    series = measured(f"{head}| level | before [1/s] | during [1/s] | recovery |\n|---|---|---|---|\n{rows}")
    assert series is not None and series.quantity == "Reads per transaction"
    assert [(row.label, row.value, row.low) for row in series.rows] == [
        ("none, before [1/s]", 45.0, None), ("disk, before [1/s]", 48.0, None), ("disk, during [1/s]", 45.0, None),
    ]  # fmt: skip
    rows = "| x | y | 1,200 | 3 |\n| z | y | 96 | 2 |\n"
    series = measured(f"{head}| link | words | rate [MiB/s] | `a` [s] |\n|---|---|---|---|\n{rows}")
    assert series is not None and series.quantity == "rate [MiB/s]"
    assert [(row.label, row.value) for row in series.rows] == [("x, y", 1200.0), ("z, y", 96.0)]
    assert measured("# Study\n\n| a | b [1] |\n|---|---|\n| x | 1 [0, 2] |\n| y | 1 [0, 2] |\n") is None


def test_a_figure_states_how_many_values_of_a_long_table_it_leaves_out() -> None:
    from site_building.measured import description, measured, note  # noqa: PLC0415

    rows = "".join(f"| `t{number}` | 1 [0, 2] | 2 [1, 3] | 3 [2, 4] | 4 [3, 5] | 5 [4, 6] |\n" for number in range(6))
    head = "## Measured here\n\nMilliseconds:\n\n| | `a` | `b` | `c` | `d` | `e` |\n|---|---|---|---|---|---|\n"
    series = measured(f"{head}{rows}")
    assert series is not None and (len(series.rows), series.rows[-1].label, series.not_drawn) == (20, "t3, e", 10)
    assert note(series).endswith("the table on the study page contains 10 more values.")
    assert description(series).endswith("; the table on the study page contains 10 more values")
    series = measured(f"{head}{rows[: rows.index('| `t3`')]}")
    assert series is not None and (len(series.rows), series.not_drawn) == (15, 0)
    assert "more values" not in note(series) + description(series)


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
