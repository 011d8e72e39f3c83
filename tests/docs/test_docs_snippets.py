"""Every YAML block is valid as a whole file or as a part of a file. Blocks that show a file equal this file of the
repository.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from accounts import ACCOUNTS
from judgements import Same, Snippet
from pages import ROOT, Block, page
from ruamel.yaml import YAML

from towtank.filecheck import check_file

_FOLDERS = ("studies", "examples")


def judged(kind: type) -> list[Any]:
    """Return pairs of a block and its judgement (how it is tested), for judgements of one kind."""
    return [
        pytest.param(block, judgement, id=f"{name}:{block.line}")
        for name, judgements in ACCOUNTS.items()
        for block, judgement in zip(page(name).blocks, judgements, strict=True)
        if isinstance(judgement, kind)
    ]


def read(text: str) -> Any:
    return YAML(typ="safe").load(text)


def whole(block: Block, judgement: Snippet, folder: Path) -> Path:
    """Write a block that shows a whole file into a folder, with the files to which the block refers."""
    document = read(block.text) if not judgement.under else {}
    if "schema" in document or (judgement.kind == "model" and "classes" in document):
        for name in _beside(judgement):
            shutil.copy(name, folder)
        path = folder / (judgement.saved or "file.yaml")
        path.write_text(block.text, "utf-8")
    else:
        path = folder / (judgement.onto or "file.yaml")
        for name in _FOLDERS if judgement.onto else ():
            shutil.copytree(ROOT / name, folder / name)
        path.write_text(json.dumps(_completed(block, judgement), indent=1, default=str), "utf-8")
    for name, text in judgement.files.items():
        (path.parent / name).write_text(text, "utf-8")
    return path


def _beside(judgement: Snippet) -> list[Path]:
    """Return the other files in the folder of the file whose keys the block replaces."""
    return [path for path in (ROOT / judgement.onto).parent.iterdir() if path.is_file()] if judgement.onto else []


def _completed(block: Block, judgement: Snippet) -> dict[str, Any]:
    """Return the whole document of which a block shows a part."""
    document: dict[str, Any] = {"schema": f"towtank/{judgement.kind}/1", "name": "part"}
    if judgement.kind == "model":
        document.pop("name")
    if judgement.onto:
        document = read((ROOT / judgement.onto).read_text("utf-8"))
    for key in judgement.without:
        document.pop(key, None)
    text = block.text
    for comment, meaning in judgement.fills.items():
        text = text.replace(comment, meaning)
    shown = read(text)
    if judgement.before:
        shown = [*judgement.before, *shown]
    for key in reversed(judgement.under):
        shown = {key: shown}
    document.update(judgement.beside)
    for key, value in shown.items():
        joins = key in judgement.under[:1] or key in judgement.beside
        document[key] = {**document.get(key, {}), **value} if joins else value
    if judgement.kind == "workload":
        _add_users(document)
    return document


def _add_users(workload: dict[str, Any]) -> None:
    """Complete a workload: add users who execute its transactions, or the transactions that its users execute."""
    transactions = workload.setdefault("transactions", {})
    groups = workload.setdefault("groups", {"users": {"loop": {"mix": dict.fromkeys(transactions, 1)}}})
    for group in groups.values():
        for name in (*group.get("once", ()), *group["loop"]["mix"], *group.get("end", ())):
            transactions.setdefault(name, [{"think": "1 s"}])
    if not transactions:
        transactions["nothing"] = [{"think": "1 s"}]
        groups["users"]["loop"]["mix"] = {"nothing": 1}


@pytest.mark.parametrize(("block", "judgement"), judged(Snippet))
def test_snippets_are_valid(block: Block, judgement: Snippet, tmp_path: Path) -> None:
    report = check_file(whole(block, judgement, tmp_path))
    assert ([str(fault) for fault in report.faults], report.kind) == ([], judgement.kind), str(block)


@pytest.mark.parametrize(("block", "judgement"), judged(Same))
def test_files_are_shown_as_they_are(block: Block, judgement: Same) -> None:
    first, _, rest = block.text.partition("\n")
    assert judgement.keeps_first_line or judgement.file.endswith(first.strip("#/- <!>").rpartition("/")[2])
    shown = block.text if judgement.keeps_first_line else rest
    assert shown == (ROOT / judgement.file).read_text("utf-8"), str(block)
