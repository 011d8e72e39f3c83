"""The JSON Schemas and the tables of keys are up to date, valid, and consistent with the models of the files."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from reference_pages.schemas import FILES, documents, json_schema
from small_study import Files

from towtank import yamlfile
from towtank.study import shipped_studies

ROOT = Path(__file__).parents[2]


def test_generated_files_are_current() -> None:
    stale = [str(path) for path, text in documents(ROOT).items() if path.read_text("utf-8") != text]
    assert not stale, "run scripts/schemas"


@pytest.mark.parametrize("kind", FILES)
def test_schema_is_one(kind: str) -> None:
    schema = json.loads((ROOT / "schema" / f"{kind}.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["schema"]["const"] == f"towtank/{kind}/1"


@pytest.mark.parametrize("kind", ["study", "workload", "system"])
def test_right_files_pass_the_schema(kind: str, files: Files) -> None:
    validator = jsonschema.Draft202012Validator(json_schema(kind))
    for study in (files.study, *shipped_studies().values()):
        # A study may use the workload of another folder, so the path of the workload is read from the study file.
        named = study if kind == "study" else study.parent / yamlfile.load(study).data[kind]
        data = yamlfile.load(named).data
        assert [error.message for error in validator.iter_errors(data)] == []


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("study", "repetitions: 2", "repetition: 2"),
        ("study", "steady: 10 s", "steady: 10"),
        ("system", "threads: 8", "threads: 0"),
        ("workload", "draw: documents", "take: documents"),
        ("workload", "share: 70 %", "share: 0.7"),
    ],
)
def test_wrong_files_do_not_pass_the_schema(kind: str, old: str, new: str, files: Files) -> None:
    files.edit(kind, old, new)
    data = yamlfile.load(files.folder / f"{kind}.yaml").data
    assert not jsonschema.Draft202012Validator(json_schema(kind)).is_valid(data)


@pytest.mark.parametrize("kind", FILES)
def test_every_key_is_explained(kind: str) -> None:
    schema = json_schema(kind)
    unexplained = [
        f"{name}.{key}"
        for name, model in {kind: schema, **schema["$defs"]}.items()
        for key, part in model.get("properties", {}).items()
        if not part.get("description") and key != "kind"
    ]
    assert unexplained == []
