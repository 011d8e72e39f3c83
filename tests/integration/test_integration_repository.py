"""The same workload on two server products for CMIS document repositories. After the load, each server must have the
documents that it confirmed as stored.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from cmis_client import CmisClient
from integration_bench import Bench

from towtank import yamlfile
from towtank.system.build import build_system, make_service
from towtank.system.model import load_system
from towtank.system.system import Endpoints

ROOT = Path(__file__).parents[2]
WORKLOAD = ROOT / "studies" / "content-users" / "workload.yaml"
EXAMPLE = ROOT / "examples" / "repository" / "study.yaml"
SERVICES = {
    "content_server": "settings: {threads: 2}",
    "cmis_repository": "settings: {threads: 24, jvm: {heap: 192 MiB}}",
}
POPULATION = "population: {scale: 0.00001, seed: 3}"
STEPS = {".txt": "add_document / create small document", ".xls": "add_document / create large document"}
DELETE = "remove_own_document / delete"
# Sizes of the documents that users create, by suffix. After an edit, documents of both suffixes have the small size.
# [bytes]
SIZES = {".txt": {10240}, ".xls": {102400, 10240}}

pytestmark = [pytest.mark.waits, pytest.mark.timeout(400), pytest.mark.xdist_group("repository")]


@pytest.fixture(params=list(SERVICES))
def server(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Start a server; yield its kind and endpoints. If a requirement is missing, skip the test with the reason."""
    kind: str = request.param
    folder = tmp_path / "server"
    folder.mkdir()
    monkeypatch.setenv("TOWTANK_STATE", str(folder / "state"))
    (folder / "system.yaml").write_text(
        "schema: towtank/system/1\nname: one\nhosts: {here: {provider: local}}\nstart_timeout: 2 min\n"
        f"services:\n  content: {{kind: {kind}, host: here, {SERVICES[kind]}, {POPULATION}}}\n"
    )
    file = load_system(folder / "system.yaml")
    if missing := make_service("content", file.services["content"], folder).missing():
        pytest.skip(missing)
    with build_system(file, folder, folder / "logs") as system:
        yield kind, system.up()


def write_study(folder: Path, kind: str, endpoints: Endpoints) -> Path:
    """Write a study of the running server, with Towtank's content workload."""
    exports = {name: str(path) for name, path in endpoints.exports["content"].items()}
    service = {"kind": "existing", "address": f"http://{endpoints.addresses['content'][0]}", "exports": exports}
    system = {"schema": "towtank/system/1", "name": "running", "services": {"content": service}}
    overrides: dict[str, Any] = {"parameters.think_mean": "200 ms", "parameters.edit_time": "50 ms"}
    if kind == "cmis_repository":
        overrides |= yamlfile.load(EXAMPLE).root.plain()["overrides"]
    study = {
        "schema": "towtank/study/1",
        "name": "contract",
        "question": "Is stored what was said to be?",
        "system": "system.yaml",
        "workload": str(WORKLOAD),
        "factors": {"users": [6]},
        "overrides": overrides,
        "load": {"kind": "closed", "stages": {"ramp_up": "1 s", "settle": "1 s", "steady": "8 s", "ramp_down": "1 s"}},
    }
    # The files are written as JSON, which is a subset of YAML.
    (folder / "system.yaml").write_text(json.dumps(system))
    (folder / "study.yaml").write_text(json.dumps(study))
    return folder / "study.yaml"


def counted(results: Path) -> dict[str, tuple[int, int, int]]:
    """Return the numbers of successful, failed and unanswered requests by step, over the entire run."""
    (intervals,) = results.glob("runs/*/intervals.parquet")
    rows = duckdb.sql(
        f"SELECT name, sum(ok), sum(failed), sum(started) - sum(ok) - sum(failed) FROM '{intervals}' "
        "WHERE \"of\" = 'step' GROUP BY name"
    ).fetchall()
    return {name: (int(ok), int(failed), int(open_)) for name, ok, failed, open_ in rows}


def stored(client: CmisClient, endpoints: Endpoints) -> dict[str, list[dict[str, Any]]]:
    """Return the documents that users created, by suffix of the name, from the server's folder listings."""
    found: dict[str, list[dict[str, Any]]] = {suffix: [] for suffix in STEPS}
    with endpoints.exports["content"]["folders_csv"].open(encoding="utf-8", newline="") as file:
        folders = [row["id"] for row in csv.DictReader(file)]
    for folder in folders:
        for child in client.children(folder):
            if child["cmis:name"].startswith("user-"):
                found[Path(child["cmis:name"]).suffix].append(child)
    return found


def test_what_was_confirmed_as_stored_exists(server: tuple[str, Endpoints], bench: Bench) -> None:
    kind, endpoints = server
    study = write_study(bench.folder, kind, endpoints)
    ended = bench.towtank("run", study, "--out", bench.results, "--quiet")
    result = counted(bench.results)
    assert {name: failed for name, (_, failed, _) in result.items() if failed} == {}, ended.stderr
    with endpoints.exports["content"]["accounts_csv"].open(encoding="utf-8", newline="") as file:
        account = next(csv.DictReader(file))
    client = CmisClient(endpoints.addresses["content"][0], account["user"], account["password"])
    found = stored(client, endpoints)
    deleted, _, deleting = result.get(DELETE, (0, 0, 0))
    for suffix, step in STEPS.items():
        made, _, making = result.get(step, (0, 0, 0))
        assert made - deleted - deleting <= len(found[suffix]) <= made + making, suffix
        for document in found[suffix]:
            size = client.of(document["cmis:objectId"])["cmis:contentStreamLength"]
            assert size in SIZES[suffix]
            assert len(client.content(document["cmis:objectId"])) == size
    made = sum(result.get(step, (0, 0, 0))[0] for step in STEPS.values())
    making = sum(result.get(step, (0, 0, 0))[2] for step in STEPS.values())
    assert made > 0
    assert made - deleted - deleting <= sum(map(len, found.values())) <= made + making - deleted
    # The recorded documents agree with the server: every confirmed document was read back without a difference.
    back = json.loads((bench.results / "runs" / "r001" / "stored.json").read_text())
    assert back["acknowledged"] + back["removed"] >= made
    assert back["found"] == back["acknowledged"], back["kinds"]["documents"]["named"]
    assert back["reason"] is None
