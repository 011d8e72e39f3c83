"""`towtank rate` with a shell script that replaces the engine and prints prepared lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rating_lines import lines

from towtank.sizing.machines import machine_catalogue
from towtank.sizing.rating_document import reference_values

pytestmark = pytest.mark.waits


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """Shell script that replaces the engine. It prints prepared lines, by default those of the reference machine."""
    program = tmp_path / "engine"
    program.write_text('#!/bin/sh\ncat "$0.lines"\n')
    program.chmod(0o755)
    say(program)
    return program


def say(program: Path, **options: Any) -> None:
    written = lines(reference_values(machine_catalogue()), **options)
    program.with_suffix(".lines").write_text("".join(json.dumps(line) + "\n" for line in written))


def rate(engine: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "towtank", "rate", "--quick", "--folder", str(engine.parent), *arguments],
        env={**os.environ, "TOWTANK_ENGINE": str(engine), "COLUMNS": "160"},
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_json_is_one_document_and_the_file_is_a_machine(engine: Path) -> None:
    done = rate(
        engine, "--json", "--out", str(engine.parent / "box.yaml"), "--name", "box", "--against", "towtank-reference"
    )
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["schema"] == "towtank/rating/1"
    assert document["ratings"]["towtank"]["one_cpu_alone"]["value"] == pytest.approx(100)
    assert document["ratings"]["towtank"]["whole"]["value"] == pytest.approx(200)
    assert document["against"]["machine"] == "towtank-reference"
    assert document["against"]["cpu"]["kernels"]["memory_chase"] > 0
    machines = machine_catalogue(engine.parent / "box.yaml")
    assert machines["box"].ratings["towtank"].value == pytest.approx(200)
    again = rate(engine, "--against", str(engine.parent / "box.yaml"))
    assert again.returncode == 0
    assert "one CPU does 1 times the work of one of box, between 1 and 1 over the kernels" in again.stdout


def test_people_see_ratings_kernels_and_doubts(engine: Path) -> None:
    say(engine, conditions={"programs_s": 1.5}, failed={"disk_read": "no way past the page cache"})
    done = rate(engine)
    assert done.returncode == 4
    for text in ("capacity units", "200", "memory_triad", "not measured", "other programs used 25 %", "machine_busy"):
        assert text in done.stdout, text
    assert "Traceback" not in done.stderr


def test_all_faults_of_the_command_line_at_once(engine: Path) -> None:
    (engine.parent / "box.yaml").write_text("there")
    done = rate(engine, "--out", str(engine.parent / "box.yaml"), "--name", "0", "--against", "generic-2x9")
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 3
    for text in ("--out: must not exist yet", "--name: must be a name", "did you mean 'generic-2x8'"):
        assert text in done.stderr, text


def test_a_folder_and_a_machine_file_that_are_wrong(engine: Path) -> None:
    done = rate(engine, "--folder", "nowhere")
    assert done.returncode == 2
    assert "must be a folder that exists" in done.stderr
    (engine.parent / "bad.yaml").write_text("schema: towtank/machine/1\nmachines: {a: {cpus: none}}\n")
    done = rate(engine, "--against", str(engine.parent / "bad.yaml"))
    assert done.returncode == 2
    assert "bad.yaml:2:22: machines.a.cpus: must be a whole number" in done.stderr
