"""Keys of results that a page shows must exist in the code. Keys of real documents must be described on a page."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest
from accounts import ACCOUNTS
from judgements import Keys
from loose_json import keys, read
from pages import ROOT, Block, page
from results_1 import copy_of_results_1

from towtank.analysis import summarize_study

# Mappings whose keys are names given by users or systems, such as transactions, tiers, hosts, disks, factors, and
# series of a window (`cpu of TIER`). fmt: off
NAMED = frozenset(
    (
        "transactions",
        "steps",
        "tiers",
        "hosts",
        "disks",
        "networks",
        "services",
        "phases",
        "parts",
        "members",
        "mounts",
        "servers",
        "databases",
        "balance",
        "spread",
        "logs",
        "events",
        "factors",
        "by_kind",
        "failed",
        "asked",
        "seen",
        "throttled",
        "connect_failures",
        "kinds",
        "classes",
        "stations",
        "pools",
        "groups",
        "failed_later",
        "transactions_failed_later",
        "failed_transactions",
        "failed_requests",
        "not_started",
        "tiers_cpus_used",
        "demand",
        "key",
        "at",
        "residence_time_s",
        "utilization_by_class",
        "waiting_time_s",
        "by_method",
        "bounds",
        "trend",
        "rest",
        "mser",
        "configuration",
        "parts_cpus_used",
        "numbers",
        "start",
        "next",
        "to",
        "services.*",
        "work_s",
        "status_codes",
        "broken_answers",
    )
)
# fmt: on


def shown(name: str) -> list[Any]:
    """Return each block that shows a document, with its judgement (how it is tested)."""
    return [
        pytest.param(block, id=f"{name}:{block.line}")
        for block, judgement in zip(page(name).blocks, ACCOUNTS[name], strict=True)
        if isinstance(judgement, Keys)
    ]


BLOCKS = [found for name in ACCOUNTS for found in shown(name)]


@cache
def words() -> frozenset[str]:
    """Return the words of the source code: string literals, names of Rust fields, and names of Python attributes."""
    paths = [*(ROOT / "python").rglob("*.py"), *(ROOT / "crates").glob("*/src/**/*.rs")]
    texts = [path.read_text("utf-8") for path in paths]
    quoted = {word for text in texts for word in re.findall(r"[\"']([\w.-]+)\\?[\"']", text)}
    fields = {word for text in texts for word in re.findall(r"^\s+(?:pub(?:\([a-z]+\))? )?(\w+): ", text, re.MULTILINE)}
    return frozenset(quoted | fields)


def last(path: str) -> str:
    """Return the last key of a path; a key that contains a dot (`p99.9`) is not split."""
    return re.split(r"\.(?!\d)", path)[-1]


@pytest.mark.parametrize("block", BLOCKS)
def test_keys_that_are_shown_exist(block: Block) -> None:
    documents = read(block.text)
    assert documents
    unknown = {
        path
        for found in documents
        for path in keys(found, NAMED)
        if last(path) not in words() | {"*"} and not path.endswith(("...", "_s"))
    }
    # The key of a response time consists of a percentile and a unit, such as `p95_s`. Only its first part, `p95`, must
    # occur in the code.
    times = {path for found in documents for path in keys(found, NAMED) if path.endswith("_s")}
    unknown |= {path for path in times if not {last(path), last(path).removesuffix("_s")} & words()}
    assert unknown == set(), str(block)


def undocumented(documents: list[Any], text: str) -> set[str]:
    """Return the keys of documents that the page neither shows nor mentions."""
    paths = {path for found in documents for path in keys(found, NAMED)}
    return {path for path in paths if not re.search(rf'[`"]{re.escape(last(path))}["`]', text) and last(path) != "*"}


@pytest.fixture(scope="module")
def summaries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Return the summaries of runs, and the summary of the study that contains these runs."""
    results = copy_of_results_1(tmp_path_factory.mktemp("keys") / "results")
    study = summarize_study(results)
    runs = [json.loads(path.read_text("utf-8")) for path in sorted(results.path.glob("runs/*/summary.json"))]
    return {"run": runs, "study": [study]}


@pytest.mark.parametrize("of", ["run", "study"])
def test_keys_of_summaries_are_on_their_page(of: str, summaries: dict[str, list[Any]]) -> None:
    assert undocumented(summaries[of], page("docs/reference/summary.md").path.read_text("utf-8")) == set()


def test_a_key_that_is_not_on_the_page_is_found() -> None:
    assert undocumented([{"a": 1, "steps": {"x": {"p99.9": 1, "b": 2}}}], '"a" `p99.9` "steps"') == {"steps.*.b"}
