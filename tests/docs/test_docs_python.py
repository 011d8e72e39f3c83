"""Python sessions on the pages run as shown, and the API page lists every public name."""

from __future__ import annotations

import doctest
import io
import shutil
import subprocess
from pathlib import Path

import pytest
from accounts import ACCOUNTS
from judgements import Python
from pages import ROOT, page
from reference_pages import public_names
from results_1 import RESULTS_1
from sessions import ADDRESS, RESULTS
from tiny_study import write_tiny_study

import towtank
from towtank.engine import binary

pytestmark = pytest.mark.waits

PAGES = [name for name, judgements in ACCOUNTS.items() if any(isinstance(found, Python) for found in judgements)]
PYTHON = "docs/reference/python.md"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create the working folder that the pages assume: with results, the examples, and a study of one second."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))
    shutil.copytree(RESULTS_1, tmp_path / RESULTS)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    write_tiny_study(tmp_path)
    return tmp_path


def session_of(name: str, address: str) -> str:
    """Return the blocks of a page as one session, with the address of a running server."""
    pairs = zip(page(name).blocks, ACCOUNTS[name], strict=True)
    text = "\n".join(block.text for block, judgement in pairs if isinstance(judgement, Python))
    return text.replace(ADDRESS, address)


@pytest.mark.parametrize("name", PAGES)
def test_sessions_run_as_they_stand(name: str, here: Path) -> None:
    command = [str(binary()), "null-server", "--listen", "127.0.0.1:0"]
    said = io.StringIO()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().rpartition(" ")[2].strip()
        session = doctest.DocTestParser().get_doctest(session_of(name, address), {}, name, None, 0)
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session, out=said.write)
        server.kill()
    assert said.getvalue() == ""


def test_the_page_lists_every_public_name() -> None:
    text = (ROOT / PYTHON).read_text("utf-8")
    assert text == public_names.with_names(text), "run scripts/schemas"
    names = text.partition(public_names.MARK)[2]
    missing = [
        name
        for name in towtank.__all__
        if f"### `{name}`" not in names and f"### `towtank.{name}`" not in names and name != "errors"
    ]
    assert missing == []
