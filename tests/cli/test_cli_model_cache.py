"""Output of `towtank model cache` as text and JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from towtank.cli import main

TRACE = "key,bytes\na,1024\nb,2048\na,1024\nc,1024\na,1024\nb,2048\n"


def run(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    status = main(["model", "cache", *arguments])
    found = capsys.readouterr()
    return status, found.out, found.err


def write(folder: Path, text: str) -> str:
    path = folder / "trace.csv"
    path.write_text(text, "utf-8")
    return str(path)


def test_a_trace_gives_its_curve(tmp_path: Path, capsys: Any) -> None:
    status, out, _ = run(capsys, write(tmp_path, TRACE))
    assert status == 0
    assert "6 references to 3 keys, 8 KiB requested, 4 KiB of distinct entries; 50.0 % are first references" in out
    assert "exact: stack distances of all keys" in out
    assert "66.7 %" in out


def test_limits_make_a_table_with_the_disk(tmp_path: Path, capsys: Any) -> None:
    options = ["--bytes", "1 KiB,5 KiB", "--entries", "2,3", "--metadata", "512 B"]
    disk = ["--disk-time", "5 ms", "--reads-per-transaction", "4"]
    file = write(tmp_path, TRACE)
    status, out, _ = run(capsys, file, *options, *disk, "--json")
    assert status == 0
    found = json.loads(out)
    assert found["schema"] == "towtank/model-cache/1"
    assert [(row["bytes"], row["entries"]) for row in found["limits"]] == [
        (1024, 2),
        (1024, 3),
        (5120, 2),
        (5120, 3),
    ]
    last = found["limits"][-1]
    # 5 KiB of memory minus 3 x 512 bytes of metadata leave 3.5 KiB, but the three files need 4 KiB.
    assert last["metadata_bytes"] == 1536
    assert last["miss_ratio"] == pytest.approx(4 / 6)
    assert last["disk_demand_s"] == pytest.approx(4 * 4 / 6 * 0.005)
    status, out, _ = run(capsys, file, *options, *disk)
    assert status == 0
    assert all(head in out for head in ("1.5 KiB", "metadata", "13.33 ms", "66.7 %"))


def test_a_stream_is_sampled_in_constant_memory(capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "stream"
    path.write_text("key\n" + "".join(f"{number % 7000}\n" for number in range(30_000)), "utf-8")
    with path.open("rb") as stream:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
        status, out, _ = run(capsys, "-", "--samples", "500")
    assert status == 0
    assert "estimate: SHARDS, sample of fixed size, 500 keys, final sampling rate " in out
    assert "95 % intervals are ±" in out


def test_a_law_and_an_index(capsys: Any) -> None:
    status, out, _ = run(capsys, "--zipf", "1000:0", "--entries", "500", "--disk-time", "2 ms")
    assert status == 0
    assert "50.0 %" in out
    assert "1 ms" in out
    status, out, _ = run(capsys, "--index", "39 GB", "--memory", "64 GB", "--heap", "24 GB")
    assert status == 0
    assert "fits into" in out
    assert "only just fits" in out
    status, out, _ = run(capsys, "--index", "75 GB", "--memory", "64 GB", "--heap", "24 GB", "--skew", "0.8")
    assert status == 0
    assert "does not fit" in out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "trace.csv:1:1: must have a header line"),
        ("a,b\n1,2\n", "trace.csv:1:1: key: must be a column of the header"),
        (
            "key,bytes\na,many\n",
            "trace.csv:2:3: bytes: must be a whole number of bytes from 0 to 9007199254740992, got 'many'",
        ),
        (
            "key,bytes\na,-5\n",
            "trace.csv:2:3: bytes: must be a whole number of bytes from 0 to 9007199254740992, got '-5'",
        ),
        ("key,time\na,yesterday\n", "trace.csv:2:3: time: must be a number of seconds, got 'yesterday'"),
        ("key\n", "trace.csv:1:1: must have at least one row after its header"),
    ],
)
def test_a_wrong_trace_is_reported_with_its_place(tmp_path: Path, capsys: Any, text: str, words: str) -> None:
    status, out, err = run(capsys, write(tmp_path, text))
    assert (status, out) == (2, "")
    assert words in err
    assert "Traceback" not in err


def test_all_faults_of_a_trace_at_once(tmp_path: Path, capsys: Any) -> None:
    status, _, err = run(capsys, write(tmp_path, "key,bytes\na,-1\nb\n,3\nc,x\n"))
    assert status == 2
    places = [line.rpartition("trace.csv:")[2].split(": ")[0] for line in err.splitlines()]
    assert places == ["2:3", "3:1", "4:1", "5:3"]


def test_all_options_that_are_wrong_are_reported_at_once(capsys: Any) -> None:
    status, _, err = run(
        capsys, "x.csv", "--entries", "0,1", "--bytes", "5", "--metadata", "-1 B", "--shards", "2", "--samples", "1",
        "--warm-up", "-1", "--disk-time", "0 s", "--reads-per-transaction", "0", "--skew", "1",
    )  # fmt: skip
    assert status == 2
    wrong = (
        "entries",
        "bytes",
        "metadata",
        "shards",
        "samples",
        "warm-up",
        "disk-time",
        "reads-per-transaction",
        "skew",
    )
    assert [option for option in wrong if f"--{option}: " not in err] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "TRACE: must be given"),
        (["x.csv", "--zipf", "5:1"], "one of them, got TRACE, --zipf"),
        (["--zipf", "5"], "--zipf: must be KEYS:SKEW"),
        (["--zipf", "5:1"], "--entries: must be given with --zipf"),
        (["--zipf", "5:1", "--entries", "1", "--samples", "9"], "--samples: must not be given with --zipf"),
        (["--index", "5 GB"], "--memory: must be given with --index"),
        (["--index", "5 GB", "--memory", "2 GB", "--heap", "2 GB"], "--heap: must leave at least one page"),
        (["--index", "5 GB", "--memory", "2 GB", "--entries", "5"], "--entries: must not be given with --index"),
        (["nosuch.csv"], "nosuch.csv: must be a file with a trace"),
    ],
)
def test_what_does_not_go_together(capsys: Any, arguments: list[str], words: str) -> None:
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert words in err
