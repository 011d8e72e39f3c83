"""The examples of the guide are right in form."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from towtank import yamlfile
from towtank.workload import load_workload
from towtank.workload.model import Defaults, Group, Pool, Scalar, Transaction

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "write-a-workload.md"
BLOCKS = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
SECTIONS: dict[str, Any] = {
    "transactions": dict[str, Transaction],
    "data": dict[str, Pool],
    "groups": dict[str, Group],
    "parameters": dict[str, Scalar],
    "defaults": Defaults,
}


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_example_of_the_guide_is_right(block: str, tmp_path: Path) -> None:
    path = tmp_path / "example.yaml"
    path.write_text(block, "utf-8")
    if block.startswith("schema:"):
        assert load_workload(path).file.transactions
        return
    data = yamlfile.load(path).data
    if isinstance(data, list):
        TypeAdapter(Transaction).validate_python(data)
        return
    for key, value in data.items():
        # An example without a section is one of transactions.
        TypeAdapter(SECTIONS.get(key, Transaction)).validate_python(value)


def test_the_guide_has_examples() -> None:
    assert len(BLOCKS) >= 9
