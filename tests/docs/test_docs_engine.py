"""The engine accepts the documents that the reference pages show."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from pages import page

from towtank.engine import binary

pytestmark = pytest.mark.waits


def shown(begins: str) -> dict[str, Any]:
    """Return a model document that the page about models shows."""
    (block,) = (block for block in page("docs/reference/model.md").blocks if block.first.startswith(begins))
    document: dict[str, Any] = json.loads(block.text)
    return document


def station(name: str, served: str, **more: Any) -> dict[str, Any]:
    """Return a station of a model that serves one class."""
    return {"name": name, "services": [{"class": served, "service_time_s": 0.01}], **more}


def with_behaviour() -> dict[str, Any]:
    """Return the model with user behaviour that the page shows. Classes and stations are added, as the behaviour refers
    to them.
    """
    stations = [
        station("cpu", "web", discipline="ps"),
        station("app1", "batch"),
        station("app2", "batch"),
        station("database", "web"),
    ]
    classes = shown('{"classes"')["classes"]
    return {"classes": classes, "stations": stations, "behaviour": shown('{"patience"')}


@pytest.mark.parametrize("document", [shown('{"classes"'), with_behaviour()], ids=["model", "behaviour"])
def test_models_of_the_page_have_no_fault(document: dict[str, Any]) -> None:
    done = subprocess.run(
        [str(binary()), "solve", "--check"], input=json.dumps(document), capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout) == {"faults": []}, done.stderr
