"""The reference pages list every command, import form, kind and doubt. Hand-written parts of these pages are compared
with the code.
"""

from __future__ import annotations

import re

import pytest
from pages import ROOT, page
from reference_pages import commands_page
from reference_pages.schemas import FILES, REFERENCES, json_schema

from towtank.analysis.doubts import DoubtKind
from towtank.errors import ExitStatus
from towtank.system.service_model import SERVICE_KINDS

_TABLED = re.compile(r"<!-- keys of (\w+) -->")


def text_of(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def test_the_page_of_commands_is_what_the_commands_say() -> None:
    assert text_of("reference/commands.md") == commands_page.document(), "run scripts/schemas"


@pytest.mark.parametrize("kind", FILES)
def test_every_form_that_a_table_names_has_a_table(kind: str) -> None:
    texts = "".join((ROOT / name).read_text("utf-8") for name in REFERENCES)
    tabled = set(_TABLED.findall(texts))
    headings = set(re.findall(r"^\*\*([a-z ]+)\*\*$", texts, re.MULTILINE))
    missing = [
        name
        for name, part in json_schema(kind).get("$defs", {}).items()
        if "properties" in part and name not in tabled
        if re.sub(r"(?<!^)([A-Z])", r" \1", name).lower() not in headings
    ]
    assert missing == []


@pytest.mark.parametrize("kind", SERVICE_KINDS)
def test_every_kind_of_service_is_in_the_table_and_has_a_section(kind: str) -> None:
    table = re.findall(r"^\| `(\w+)` \|", text_of("reference/services.md").partition("\n## ")[0], re.MULTILINE)
    assert kind in table
    assert re.search(rf"`{kind}`|`kind: {kind}`", text_of("reference/files.md"))


@pytest.mark.parametrize("kind", DoubtKind, ids=str)
def test_the_reference_says_when_a_doubt_is_raised(kind: DoubtKind) -> None:
    rows = re.findall(
        r"^\| (`[^|]*`) \|", text_of("reference/summary.md").partition("## When a doubt")[2], re.MULTILINE
    )
    assert any(f"`{kind}`" in row for row in rows)


def test_exit_statuses_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| (\d) \|", text_of("guides/when-things-go-wrong.md"), re.MULTILINE)
    assert [int(row) for row in rows] == sorted(ExitStatus)


def test_subcommands_of_the_engine_are_named() -> None:
    source = (ROOT / "crates" / "engine" / "src" / "main.rs").read_text("utf-8")
    subcommands = set(re.findall(r'Some\("([a-z][a-z-]*)"\)', source))
    assert subcommands
    assert [
        name for name in subcommands if f"`{name}`" not in page("docs/reference/engine.md").path.read_text("utf-8")
    ] == []
