"""Commands and options that a page mentions in its text or in a synopsis must exist."""

from __future__ import annotations

import re
from functools import cache

import pytest
from accounts import ACCOUNTS
from command_words import every_option, faults_of_text
from judgements import Synopsis
from pages import ROOT, Page, page, pages

# Options of programs outside this project, by program.
OTHERS = {
    "--web.enable-remote-write-receiver": "Prometheus",
    "--disable-keepalive": "oha",
    "--csv-full-history": "Locust",
    "--next": "curl",
    "--second-try": "our plugin of pytest",
    "--reset-stats": "Locust",
}
_OPTION = re.compile(r"--[a-z][\w.-]*")


@cache
def options() -> frozenset[str]:
    """Return the options of all programs of this project."""
    sources = [path.read_text("utf-8") for path in (ROOT / "benches").glob("*.py")]
    sources += [path.read_text("utf-8") for path in (ROOT / "scripts").iterdir() if path.is_file()]
    sources += [path.read_text("utf-8") for path in (ROOT / "examples").glob("*/*.py")]
    sources += [path.read_text("utf-8") for path in (ROOT / "reference" / "content_server" / "src").rglob("*.py")]
    sources += [path.read_text("utf-8") for path in (ROOT / "crates").glob("*/src/**/*.rs")]
    found = {option for text in sources for option in re.findall(r'"(--[a-z][\w-]*)"', text)}
    return frozenset(found | set(every_option()))


@pytest.mark.parametrize("found", pages(), ids=lambda found: found.name)
def test_commands_in_the_text_exist(found: Page) -> None:
    faults = [
        f"{code}: {fault}"
        for code in found.code()
        if code.text.startswith("towtank ")
        for fault in faults_of_text(code.text)
    ]
    assert faults == []


@pytest.mark.parametrize("found", pages(), ids=lambda found: found.name)
def test_options_in_the_text_exist(found: Page) -> None:
    named = [
        (code, option) for code in found.code() if code.text.startswith("--") for option in _OPTION.findall(code.text)
    ]
    assert [f"{code}: {option}" for code, option in named if option not in options() and option not in OTHERS] == []


@pytest.mark.parametrize(
    "name", [name for name, of in ACCOUNTS.items() if any(isinstance(account, Synopsis) for account in of)]
)
def test_forms_of_commands_exist(name: str) -> None:
    faults = [
        f"{block}: {fault}"
        for block, judgement in zip(page(name).blocks, ACCOUNTS[name], strict=True)
        if isinstance(judgement, Synopsis)
        for line in re.sub(r"\n {4,}", " ", re.sub(r"^(- | +)(run: |if: .*)", "", block.text, flags=re.M)).splitlines()
        for fault in (faults_of_text(line) if line.startswith("towtank ") else unknown(line))
    ]
    assert faults == []


def unknown(line: str) -> list[str]:
    """Return the options in a command line that do not exist. The command is one of this project, but not `towtank`."""
    return [f"no option {option!r}" for option in _OPTION.findall(line) if option not in options()]


def test_options_of_others_are_named_somewhere() -> None:
    named = {option for found in pages() for code in found.code() for option in _OPTION.findall(code.text)}
    assert OTHERS.keys() <= named
