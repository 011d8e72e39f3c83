"""The engine must accept every workload that `validate` accepts.

Valid and invalid workloads of the whole grammar are generated from seeds. `TOWTANK_WORKLOADS` is the number of seeds:
1,000 in the suite, more in nightly runs.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import resource
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from workload_grammar import CSV, FILES, TARGETS, Grammar

from towtank.engine import binary
from towtank.errors import StudyError
from towtank.system.model import Tls
from towtank.workload import compile_workload, load_workload
from towtank.workload.patterns import regex
from towtank.workload.reading_back import read_back_workload

pytestmark = pytest.mark.waits

OPTIONS = {"shop": {"scheme": "https", "host": "shop", "http": "2"}}
IN_SUITE = 1_000
# Limit of open files for threads and connections together, more than any generated plan needs. [1]
_FILES_OF_ALL = 8192
STAGES = [
    {"name": "ramp_up", "phase": "ramp_up", "level": 0, "duration_s": 0.0, "users": 4},
    {"name": "steady", "phase": "steady", "level": 0, "duration_s": 1.0, "users": 4},
]


def plan_of(compiled: dict[str, Any], folder: Path) -> dict[str, Any]:
    return {
        "schema": "towtank/plan/1",
        "run": "r",
        "seed": 1,
        "out": str(folder / "never-made"),
        "threads": 1,
        "cpus": [],
        "limits": {},
        **compiled,
        "load": {"kind": "closed", "users_at_most": 4, "stages": STAGES},
    }


def engine_faults(plans: list[dict[str, Any]]) -> list[list[str]]:
    """Return the faults that the engine reports for each plan."""
    text = "".join(f"{json.dumps(plan)}\n" for plan in plans)
    done = subprocess.run(
        [str(binary()), "load", "--check"], input=text, capture_output=True, text=True, check=True, timeout=300
    )
    answers = [json.loads(line)["faults"] for line in done.stdout.splitlines()]
    assert len(answers) == len(plans)
    return [[f"{fault['place']}: {fault['message']}" for fault in faults] for faults in answers]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {**CSV, **FILES}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def compiled(folder: Path, seed: int) -> list[dict[str, Any]]:
    """Return the compiled workload of a seed. If this workload stores data, also return the workload that reads it
    back.

    The list is empty if `validate` refuses the workload.
    """
    path = folder / f"w{seed}.yaml"
    path.write_text(json.dumps(Grammar(seed).document()), encoding="utf-8")
    try:
        workload = load_workload(path)
        back = [read_back_workload(workload, kind, folder / "keys.csv") for kind in workload.file.stored]
        return [compile_workload(each, targets=TARGETS, options=OPTIONS) for each in (workload, *back)]
    except StudyError:
        return []
    finally:
        path.unlink()


@pytest.mark.timeout(600)
def test_the_engine_takes_every_workload_that_validate_takes(folder: Path) -> None:
    count = int(os.environ.get("TOWTANK_WORKLOADS", IN_SUITE))
    (folder / "keys.csv").write_text("key\na\n")
    plans = {seed: made for seed in range(count) if (made := compiled(folder, seed))}
    # Among the generated workloads, some must be accepted and some refused.
    assert 0.2 * count < len(plans) < 0.9 * count
    seeds = [seed for seed, made in plans.items() for _ in made]
    faults = engine_faults([plan_of(plan, folder) for made in plans.values() for plan in made])
    refused = [
        (seed, [fault for fault in found if not _of_this_user(fault)])
        for seed, found in zip(seeds, faults, strict=True)
    ]
    assert [(seed, found) for seed, found in refused if found] == []


def test_the_sample_has_every_key_of_a_workload() -> None:
    schema = json.loads((Path(__file__).parents[2] / "schema" / "workload.json").read_text("utf-8"))
    known = {key for mapping in mappings(schema) for key in mapping.get("properties", {})}
    used = {key for seed in range(IN_SUITE) for mapping in mappings(Grammar(seed).document()) for key in mapping}
    assert len(known) > 100
    assert known - used == set()


def mappings(document: Any) -> Iterator[dict[str, Any]]:
    """Yield all mappings of a document, at any depth."""
    if isinstance(document, dict):
        yield document
    values = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    for value in values:
        yield from mappings(value)


def _of_this_user(fault: str) -> bool:
    """Return True if the engine refuses a plan because of the limit of open files of the present operating-system user,
    which `validate` does not check.
    """
    return "open files each (ulimit -Hn)" in fault and resource.getrlimit(resource.RLIMIT_NOFILE)[1] < _FILES_OF_ALL


def test_the_engine_takes_every_tls_that_a_system_file_may_have(folder: Path) -> None:
    names = [
        "a.example",
        "a_b",
        "127.0.0.1",
        "::1",
        "a..b",
        "not a name",
        "-a",
        "é.example",
        "a.",
        "a" * 64,
        "x." * 130,
    ]
    versions = [["1.2"], ["1.3", "1.2"], [], ["1.1"]]
    taken = []
    for name, offered in itertools.product(names, versions):
        with suppress(ValidationError):
            taken.append(Tls.model_validate({"verify": False, "server_name": name, "versions": offered}))
    assert len({tls.server_name for tls in taken}) == 5
    path = folder / "tls.yaml"
    path.write_text(json.dumps(Grammar(0, wrong=0.0).document()), encoding="utf-8")
    options = [{"web": {"scheme": "https", "host": "h", "tls": tls.plan(folder)}} for tls in taken]
    plans = [compile_workload(load_workload(path), targets=TARGETS, options=of_target) for of_target in options]
    assert engine_faults([plan_of(plan, folder) for plan in plans]) == [[] for _ in plans]


# Parts from which patterns are generated: some are valid in both dialects of regular expressions, some in only one.
PIECES = [
    "a", "é", ".", r"\d", r"\w", r"\s", r"\.", r"\b", "[a-z]", "[^x]", "[]a]", r"[\]]", "(", "(?:", "(?i)", "(?P<n>",
    ")", "|", "*", "+", "?", "{2}", "{1,3}", "{,2}", "{", "}", "[", "]", "^", "$", r"\A", r"\Z", r"\z", r"\<", r"\x41",
    r"\u00e9", r"\0", r"\1", "(?=", "(?#", "&&", "--", "-", r"\-", r"\ ", " ", r"\n", "{100}", "{1000}", "{9000}", ",",
    ":",
    '"',
]  # fmt: skip


@pytest.mark.timeout(600)
def test_the_engine_takes_every_pattern_that_validate_takes(folder: Path) -> None:
    count = 25 * int(os.environ.get("TOWTANK_WORKLOADS", IN_SUITE))
    chance = random.Random(7)
    taken: dict[str, None] = {}
    for _ in range(count):
        pattern = "".join(chance.choices(PIECES, k=chance.randint(1, 7)))
        with suppress(ValueError):
            taken[regex(pattern)] = None
    assert len(taken) > 0.05 * count
    path = folder / "patterns.yaml"
    document = {
        "schema": "towtank/workload/1",
        "name": "w",
        "transactions": {"t": [{"get": "/", "check": {"regex": list(taken)}}]},
        "groups": {"g": {"loop": {"mix": {"t": 1}}}},
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    plan = plan_of(compile_workload(load_workload(path), targets={"web": TARGETS["web"]}), folder)
    assert engine_faults([plan]) == [[]]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(?=a)", "without look-around"),
        ('{"id": 1}', "for a brace that"),
        ("[[:alpha:]]", "for a bracket inside"),
        ("a{,3}", "not part of a count such as"),
        ("a++", "possessive"),
        (r"a\Z", r"without \\Z"),
        (r"\<b", "without a backslash"),
        (r"\w{4000}", "moderate size"),
        ("((a{500}){500}){500}", "moderate size"),
    ],
)
def test_a_pattern_that_the_engine_lacks_is_refused_with_its_place(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        regex(pattern)
