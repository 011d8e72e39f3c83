"""Reasons why a study with repeated blocks of runs ends.

A study ends when all claims are decided, after the maximum number of blocks, if a decision would need too many runs, or
when the time budget is spent.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from towtank.analysis import OpenQuestion
from towtank.conduct import repeating as module
from towtank.conduct.repeating import ENDED, Ended, MachineSpeed, Repeating, remaining
from towtank.results.folder import ResultsFolder, RunFolder, write_json

BLOCK_S = 60.0


def results(folder: Path, blocks: int) -> ResultsFolder:
    design = [{"run": f"r{block:03d}", "repetition": block} for block in range(1, blocks + 1)]
    return ResultsFolder.create(folder / "results", {"study": {"name": "s", "design": design}, "design": design})


def ended(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    questions: list[list[OpenQuestion]],
    *,
    at_most: int = 6,
    budget_s: float | None = None,
    at_least: int = 0,
) -> dict[str, Any] | None:
    """Return the recorded end of a study. `questions` contains, for each block, the claims that are undecided after the
    block.
    """
    clock = iter(BLOCK_S * number for number in range(1, 100))
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    found = dict(enumerate(questions, start=1))
    block_now = 0
    monkeypatch.setattr("towtank.analysis.open_questions", lambda _: found[block_now])
    blocks = at_least or at_most
    rule = SimpleNamespace(budget=budget_s)
    study: Any = SimpleNamespace(study=SimpleNamespace(repeat=rule), blocks=blocks, at_least=at_least)
    kept = results(folder, blocks)
    repeating = Repeating(study, kept, block_began_s=0.0)
    for block_now in range(1, blocks + 1):
        if repeating.block_ended(block_now, ran=True):
            break
    manifest = kept.manifest
    last = at_most if (manifest.get(ENDED) or {}).get("because") == "failed" else block_now
    assert all(planned["repetition"] <= last for planned in manifest["design"])
    recorded: dict[str, Any] | None = manifest.get(ENDED)
    return recorded


OPEN = OpenQuestion("It grows.", "the confidence interval contains the bound of the claim")


def test_it_ends_when_nothing_is_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert ended(monkeypatch, tmp_path, [[OPEN], [OPEN], []]) == {"blocks": 3, "because": "decided", "open": []}


def test_a_single_block_is_not_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = ended(monkeypatch, tmp_path, [[], []])
    assert found is not None
    assert found["blocks"] == 2


def test_it_ends_at_the_largest_number_of_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = ended(monkeypatch, tmp_path, [[OPEN]] * 4, at_most=4)
    assert found is not None
    assert (found["blocks"], found["because"], found["open"][0]["more"]) == (4, "at_most", None)


@pytest.mark.parametrize(
    ("statuses", "ends_after"), [(["failed"] * 5, 2), (["failed", "complete", *["failed"] * 3], 5)]
)
def test_it_ends_after_two_blocks_in_which_every_run_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, statuses: list[str], ends_after: int
) -> None:
    for number, status in enumerate(statuses, start=1):
        RunFolder.create(tmp_path / "results" / "runs" / f"r{number:03d}", {"run": f"r{number:03d}", "status": status})
    found = ended(monkeypatch, tmp_path, [[OPEN]] * 5, at_most=5)
    assert found is not None
    assert (found["blocks"], found["because"]) == (ends_after, "failed" if ends_after == 2 else "at_most")


def test_it_ends_when_no_question_can_be_decided_in_the_runs_that_are_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    far = OpenQuestion("It grows.", "", needs_runs=12, needs_at_least=9)
    found = ended(monkeypatch, tmp_path, [[far]] * 6)
    assert found is not None
    assert (found["blocks"], found["because"]) == (3, "undecidable")
    assert (found["open"][0]["more"], found["open"][0]["more_s"]) == (9, 9 * BLOCK_S)


def test_a_question_within_reach_keeps_the_study_going(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    far, near = (
        OpenQuestion("a", "", needs_runs=12, needs_at_least=9),
        OpenQuestion("b", "", needs_runs=6, needs_at_least=5),
    )
    found = ended(monkeypatch, tmp_path, [[far, near]] * 4 + [[far]] * 2)
    assert found is not None
    assert (found["blocks"], found["because"]) == (5, "undecidable")


def test_no_block_starts_that_would_end_after_the_budget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = ended(monkeypatch, tmp_path, [[OPEN]] * 6, budget_s=3.5 * BLOCK_S)
    assert found is not None
    assert (found["blocks"], found["because"]) == (3, "budget")


def test_requested_blocks_run_although_nothing_is_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = ended(monkeypatch, tmp_path, [[]] * 8, at_least=8)
    assert found is not None
    assert found["blocks"] == 8


@pytest.mark.parametrize(
    ("paces_s", "moved"),
    [((1e-3, 1.04e-3), False), ((1e-3, 1.06e-3), True), ((1e-3, None), False), ((None, None), False)],
)
def test_a_block_is_repeated_if_the_machine_changed_its_speed_by_more_than_five_percent(
    tmp_path: Path, paces_s: tuple[float | None, ...], moved: bool
) -> None:
    kept = results(tmp_path, 2)
    names = ["r001", "r002"]
    for name, median_s in zip(names, paces_s, strict=True):
        run = RunFolder.create(kept.run_path(name), {"run": name})
        write_json(run.path / "summary.json", {"host": {"pace": median_s and {"median_s": median_s}}})
    study: Any = SimpleNamespace(study=SimpleNamespace(repeat=SimpleNamespace(budget=None)), blocks=2, at_least=0)
    found = Repeating(study, kept).repeats(1, names, 2)
    assert (found is not None) is moved
    assert [(event["of"], event["shortest_s"]) for event in kept.events() if event["k"] == "speed_moved"] == [
        ("cpus", 1e-3)
    ] * moved
    study.study.repeat = None
    assert Repeating(study, kept).repeats(1, names, 2) is None


@pytest.mark.parametrize(
    ("pages_s", "moved"),
    [
        ((20e-6, 39e-6), False),
        ((20e-6, 41e-6), True),
        # Caches that other programs use explain a difference of less than 2 µs, whatever its share.
        ((0.2e-6, 1.9e-6), False),
        ((0.2e-6, 2.3e-6), True),
        ((20e-6, None), False),
    ],
)
def test_a_block_is_repeated_once_if_memory_changed_its_speed(
    tmp_path: Path, pages_s: tuple[float | None, ...], moved: bool
) -> None:
    kept = results(tmp_path, 2)
    names = ["r001", "r002"]
    for name, page_s in zip(names, pages_s, strict=True):
        run = RunFolder.create(kept.run_path(name), {"run": name})
        write_json(run.path / "summary.json", {"host": {"pace": {"median_s": 1e-3}, "rested_page_s": page_s}})
    study: Any = SimpleNamespace(study=SimpleNamespace(repeat=SimpleNamespace(budget=None)), blocks=2, at_least=0)
    repeating = Repeating(study, kept)
    assert (repeating.repeats(1, names, 2) is not None) is moved
    assert repeating.repeats(2, names, 2) is None
    found = [(event["of"], event["repeated"]) for event in kept.events() if event["k"] == "speed_moved"]
    assert found == ([("memory", True), ("memory", False)] if moved else [])


def test_slow_memory_does_not_prevent_that_a_block_is_repeated_for_its_cpus(tmp_path: Path) -> None:
    kept = results(tmp_path, 2)
    study: Any = SimpleNamespace(study=SimpleNamespace(repeat=SimpleNamespace(budget=None)), blocks=3, at_least=0)
    repeating = Repeating(study, kept)
    for block, (work_s, page_s) in enumerate([(1.0, 9e-5), (1.1, 9e-5), (1.0, 9e-5)], start=1):
        for name, speed in (("r001", (1.0, 2e-6)), ("r002", (work_s, page_s))):
            run = RunFolder(kept.run_path(name))
            run.path.mkdir(parents=True, exist_ok=True)
            host = {"pace": {"median_s": speed[0]}, "rested_page_s": speed[1]}
            write_json(run.path / "summary.json", {"host": host})
        moved = repeating.repeats(block, ["r001", "r002"], 2)
        assert (moved and moved.words) == (None, "the speed of memory", "the speed of the CPUs", None)[block]


@pytest.mark.parametrize(
    ("given", "budget_s", "repeats"),
    [
        ((2, 2), None, True),
        ((2, 2), 221.0, True),
        ((2, 2), 219.0, False),
        # Results are evaluated for the first time after block 2. Therefore, after block 1, the budget must suffice for
        # two blocks of 60 s: 100 s + 60 s + 2 * 60 s = 280 s.
        ((1, 2), 281.0, True),
        ((1, 2), 279.0, False),
        # This process executed one of the two runs of the block in 60 s. So the whole block is assumed to take 120 s,
        # and 100 s + 60 s + 120 s = 280 s are needed.
        ((2, 1), 281.0, True),
        ((2, 1), 279.0, False),
    ],
)
def test_a_block_is_not_repeated_beyond_the_budget(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    given: tuple[int, int],
    budget_s: float | None,
    repeats: bool,
) -> None:
    """Earlier blocks took 100 s in total, and this block has taken 60 s. A repetition takes 60 s again, so the budget
    must be at least 100 s + 60 s + 60 s = 220 s.

    `given` contains the number of the block, and the number of its runs that this process executed.
    """
    study: Any = SimpleNamespace(study=SimpleNamespace(repeat=SimpleNamespace(budget=budget_s)), blocks=4, at_least=0)
    repeating = Repeating(study, results(tmp_path, 2), [100.0], block_began_s=40.0)
    monkeypatch.setattr("towtank.conduct.repeating.time.monotonic", lambda: 100.0)
    monkeypatch.setattr(repeating, "_speed", {"r001": MachineSpeed(1.0), "r002": MachineSpeed(1.1)}.get)
    assert (repeating.repeats(given[0], ["r001", "r002"], given[1]) is not None) is repeats
    assert repeating.repeated_s == (60.0 if repeats else 0.0)


@pytest.mark.parametrize(
    ("block_s", "repeated_s", "words"),
    [
        (
            241.0,
            0.0,
            "a block takes 4 min: about 2 of at most 4 blocks fit into the budget of 10 min if none is repeated",
        ),
        (150.0, 0.0, None),
        (
            170.0,
            170.0,
            "a block takes 2.8 min: about 2 of at most 4 blocks fit into the budget of 10 min if none is repeated",
        ),
        (301.0, 0.0, "a block takes 5 min: the first 2 blocks will take longer than the budget of 10 min"),
    ],
)
def test_the_number_of_blocks_within_the_budget(
    tmp_path: Path, block_s: float, repeated_s: float, words: str | None
) -> None:
    study: Any = SimpleNamespace(study=SimpleNamespace(repeat=SimpleNamespace(budget=600.0)), blocks=4, at_least=0)
    assert Repeating(study, results(tmp_path, 4), [block_s], repeated_s).too_few_blocks == words


@pytest.mark.parametrize("budget_s", [None, 600.0])
def test_without_a_budget_or_a_block_no_number_of_blocks_is_estimated(tmp_path: Path, budget_s: float | None) -> None:
    study: Any = SimpleNamespace(study=SimpleNamespace(repeat=SimpleNamespace(budget=budget_s)), blocks=4, at_least=0)
    done = [] if budget_s else [999.0]
    assert Repeating(study, results(tmp_path, 4), done).too_few_blocks is None


def test_requested_blocks_have_no_budget(tmp_path: Path) -> None:
    study: Any = SimpleNamespace(study=SimpleNamespace(repeat=SimpleNamespace(budget=600.0)), blocks=6, at_least=6)
    assert Repeating(study, results(tmp_path, 6), [250.0]).too_few_blocks is None


def test_a_resumed_study_ends_where_it_ended_unless_more_is_requested() -> None:
    specs: Any = [SimpleNamespace(repetition=block) for block in range(1, 6)]
    manifest = {ENDED: {"blocks": 3, "because": "decided", "open": []}}
    assert [spec.repetition for spec in remaining(specs, manifest, 0)] == [1, 2, 3]
    assert remaining(specs, manifest, 5) == specs
    assert remaining(specs, {}, 0) == specs
    assert remaining(specs, {ENDED: {"blocks": 2, "because": "failed", "open": []}}, 0) == specs


def test_runs_that_are_done_again_after_all_had_failed_replace_the_recorded_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("towtank.analysis.open_questions", lambda _: [OPEN])
    kept = results(tmp_path, 3)
    kept.update(**{ENDED: {"blocks": 2, "because": "failed", "open": []}})
    study: Any = SimpleNamespace(study=SimpleNamespace(repeat=SimpleNamespace(budget=None)), blocks=3, at_least=0)
    repeating = Repeating(study, kept)
    assert not repeating.block_ended(2, ran=True)
    assert Ended.of(kept.manifest) is None
    assert repeating.block_ended(3, ran=True)
    ended_now = Ended.of(kept.manifest)
    assert ended_now is not None
    assert ended_now.because == "at_most"


def test_the_end_is_said_with_what_each_open_question_would_take() -> None:
    question = {"text": "It grows.", "why": "", "needs_runs": 9, "more": 6, "more_s": 360.0}
    unknown = {**question, "text": "It holds.", "needs_runs": None, "more": None, "more_s": None}
    found = Ended.of({ENDED: {"blocks": 3, "because": "budget", "open": [question, unknown]}})
    assert found is not None
    assert found.lines(Path("res")) == [
        "ended after 3 runs of each combination: another block would exceed the budget",
        "open: It grows; about 6 more runs of each combination would decide it (6 min)",
        "open: It holds; the number of runs that would decide it is unknown",
        "to continue: towtank run res --more 6",
    ]
    assert Ended.of({}) is None
