"""Output of `towtank judge` as text and JSON, and the function `towtank.judge`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from in_process import towtank as run
from known_requests import lognormal, write_csv

import towtank


def written(folder: Path, name: str = "requests.csv", *, errors: bool = False) -> Path:
    requests = lognormal(np.random.default_rng(1), 5000, 0.0).requests
    path = write_csv(folder / name, requests)
    if errors:
        path.write_text(path.read_text().replace(",1\n", ",0\n"))
    return path


def test_the_document_has_the_keys_of_the_contract(tmp_path: Path) -> None:
    done = run("judge", written(tmp_path), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["schema"] == "towtank/judge/1"
    (found,) = document["files"]
    assert (found["verdict"], found["requests"], found["errors"]) == ("valid", 5000, 0)
    assert found["form"] == "plain CSV"
    assert found["window_s"][0] == 0
    assert set(found["throughput_per_s"]) == {"value", "low", "high"}
    assert list(found["response_time_ms"]) == ["mean", "p50", "p90", "p95", "p99"]
    mean = found["response_time_ms"]["mean"]
    assert mean["low"] < mean["value"] < mean["high"]
    assert found["doubts"] == [] or {"kind", "level", "message"} <= set(found["doubts"][0])


def test_text_names_verdict_and_intervals(tmp_path: Path) -> None:
    done = run("judge", written(tmp_path))
    assert done.returncode == 0
    assert "(plain CSV): valid; 50" in done.stdout
    assert "95 % from" in done.stdout


def test_an_invalid_file_ends_with_status_4(tmp_path: Path) -> None:
    done = run("judge", written(tmp_path), written(tmp_path, "bad.csv", errors=True))
    assert done.returncode == 4
    assert "not valid" in done.stdout


def test_all_files_that_cannot_be_read_are_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("hello")
    done = run("judge", tmp_path / "other", tmp_path / "missing", written(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "vegeta JSON" in done.stderr
    assert "missing: must be a result file, got a path that does not exist instead" in done.stderr


def test_the_python_function_has_the_words_of_the_document(tmp_path: Path) -> None:
    found = towtank.judge(written(tmp_path))
    assert (found.verdict, found.valid, found.form, found.requests, found.errors) == (
        "valid",
        True,
        "plain CSV",
        5000,
        0,
    )
    assert found.throughput_per_s is not None
    assert found.throughput_per_s.unit == "1/s"
    document = found.document["response_time_ms"]["p95"]
    p95 = found.response_time_ms.p95
    assert (float(p95), p95.low, p95.high) == (document["value"], document["low"], document["high"])
    assert p95.unit == "ms"
    assert [doubt.kind for doubt in found.doubts] == [doubt["kind"] for doubt in found.document["doubts"]]
