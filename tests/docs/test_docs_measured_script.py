"""`scripts/measured` writes the values of a results folder to a file, and their tables to a page."""

from __future__ import annotations

import json
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pages import ROOT
from test_docs_measured import faults_of, section_of


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Returns the script, for studies in a temporary folder."""
    loader = SourceFileLoader("measured_script", str(ROOT / "scripts" / "measured"))
    found = module_from_spec(ModuleSpec(loader.name, loader, origin=loader.path))
    found.__file__ = loader.path
    loader.exec_module(found)
    monkeypatch.setattr(found, "ROOT", tmp_path)
    folder = tmp_path / "studies" / "links"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("# Links\n\n## Measured here\n\nIt carried 9,999 /s.\n\n## Next\n\nMore.\n")
    return found


def run(name: str, link: str, throughput: float, verdict: str = "valid") -> dict[str, Any]:
    estimate = {"value": throughput, "low": throughput - 1, "high": throughput + 1, "method": "batch means", "n": 20}
    return {
        "run": name,
        "factors": {"users": "4", "link": link},
        "verdict": {"level": verdict},
        "users": {"asked": 4},
        "throughput_per_s": estimate,
    }


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    runs = [
        *(run("r001", "veth", 100.0), run("r002", "tun", 50.0), run("r003", "veth", 104.0)),
        *(run("r004", "tun", 52.0), run("r005", "veth", 500.0, "invalid")),
    ]
    for each in runs:
        (folder / "runs" / each["run"]).mkdir(parents=True)
        (folder / "runs" / each["run"] / "summary.json").write_text(json.dumps(each))
    factors = [
        {"name": "users", "levels": ["4"], "numeric": [4]},
        {"name": "link", "levels": ["veth", "tun"], "numeric": None},
    ]
    host = {"cpu_model": "Example(R) CPU", "cpus": 2}
    manifest = {
        "study": {"preset": "quick", "factors": factors},
        "host": host,
        "started_wall_ns": 1_795_972_627_106_345_569,
        "repeat_ended": {"blocks": 2, "because": "decided"},
    }
    claim = {
        **{"says": "A cable carries more.", "holds": "> 1", "verdict": "confirmed", "found": None, "levels": []},
        **{"decided_after": 2, "needs_runs": None, "runs": ["r001", "r002", "r003", "r004"], "suspect_runs": []},
        "measured": {"value": 2.0, "low": 1.81, "high": 2.21, "confidence": 0.968},
    }
    documents = {
        "study.json": manifest,
        "claims.json": {"counts": {"confirmed": 1}, "claims": [claim]},
        "study-summary.json": {"runs": [{"run": each["run"], "verdict": each["verdict"]["level"]} for each in runs]},
    }
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document))
    (folder / "events.ndjson").write_text('0 {"wall_ns":0}\n1 {"wall_ns":420000000000}\n')
    return folder


def test_a_page_with_the_values_of_a_results_folder_has_no_fault(
    script: ModuleType, results: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arguments = ["links", str(results), "--commit", "1202008b", "--of", "throughput", "--of", "throughput per load"]
    monkeypatch.setattr(sys, "argv", ["measured", *arguments, "--page"])
    script.main()
    folder = tmp_path / "studies" / "links"
    document, page = json.loads((folder / "measured.json").read_text()), (folder / "README.md").read_text()
    assert (document["date"], document["minutes"], document["blocks"]) == ("2026-11-29", 7, 2)
    assert document["runs"] == {"valid": 4, "suspect": 0, "invalid": 1}
    first = document["quantities"][0]
    assert (first["at"], first["value"], first["of_runs"]) == ({"users": "4", "link": "veth"}, 102.0, [100.0, 104.0])
    assert first["runs"] == ["r001", "r003"]
    assert "| `link` | throughput [1/s] | throughput per load |" in page
    assert "| `veth` | 102 [76.6, 127] | 25.5 [19.1, 31.9] |" in page
    assert "| 1 | A cable carries more | > 1 | 2 [1.81, 2.21] | 2 | confirmed |" in page
    assert page.endswith("\n\n## Next\n\nMore.\n")
    assert "9,999" not in page
    assert faults_of(section_of(page), document) == []
    # The next measurement asks for the same quantities.
    monkeypatch.setattr(sys, "argv", ["measured", *arguments[:4]])
    script.main()
    assert json.loads((folder / "measured.json").read_text()) == document


def test_a_folder_without_results_is_refused(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", ["measured", "links", str(tmp_path), "--commit", "1202008b"])
    with pytest.raises(SystemExit, match=r"error: .*study\.json"):
        script.main()
