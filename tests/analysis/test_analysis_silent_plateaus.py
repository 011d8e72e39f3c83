"""Plateaus (stages of constant load) in which a server stops responding.

A plateau fails only if it certainly missed its objective.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from synthetic_runs import SECOND, Exchange, Script, Stage, write_run

from towtank.analysis.limits.estimate import BRACKET, TESTED, estimate_limit
from towtank.analysis.limits.found import Found
from towtank.analysis.limits.plateaus import Plateau
from towtank.analysis.run.reading import read_run
from towtank.results import lines
from towtank.study.objectives import read_objective

STEADY = 3
"""Index of the steady stage of the second plateau, which lasts from 24 to 44 s."""
STAGES = (
    Stage("ramp_up", "ramp_up", 2, 10),
    Stage("steady 10", "steady", 20, 10),
    Stage("ramp_up", "ramp_up", 2, 20),
    Stage("steady 20", "steady", 20, 20),
    Stage("decide 20", "settle", 3, 20),
)
STOPS = {"objective_missed": True, "errors": 0.01}
PASSED = None

Patch = Callable[[dict[str, Any]], None]


def answered(start_s: float = 0.0, end_s: float = 24.0, users: int = 10) -> list[Exchange]:
    """Return the exchanges of users; each sends a request every second and receives the response after 50 ms."""
    found = []
    for user in range(users):
        at = start_s + user / users
        while at + 0.05 < end_s:
            found.append(Exchange(0, at, at, at + 0.05, 0.005, 0.95, user))
            at += 1.0
    return found


def hanging(start_s: float, transaction: int = 0, users: int = 20) -> list[Exchange]:
    """Return one exchange of each user; it starts within half a second and gets no response in this run."""
    return [
        Exchange(transaction, at, at, 100.0, 0.0, 0.5, user)
        for user in range(users)
        for at in [start_s + 0.5 * user / users]
    ]


def search(
    folder: Path,
    exchanges: list[Exchange],
    objectives: list[str],
    stops: dict[str, Any] = STOPS,
    patch: Patch | None = None,
) -> Found:
    """Write the recording of a search with plateaus of 10 and 20 users, and return the analysed search."""
    ends = [sum(stage.seconds for stage in STAGES)] * 20
    starts = [0.0] * 10 + [22.0] * 10
    script = Script("r001", ["home", "search"], list(STAGES), exchanges, {}, 20, user_starts=starts, user_ends=ends)
    run = write_run(folder / "r001", script)
    steps = [{"by": 10}]
    run.update(
        search={"of": "users", "start": 10, "at_most": 20, "steps": steps, "refine": None, "stop_when": dict(stops)}
    )
    if patch is not None:
        segment = run.engine / "worker-00.0000.ndjson"
        documents = list(lines.read(segment, lines.Damage()))
        for document in documents:
            if document["k"] == "interval":
                patch(document)
        segment.write_bytes(b"".join(lines.encode(document) for document in documents))
    found = read_run(run, [read_objective(text).document() for text in objectives]).found
    assert found is not None
    return found


def outcome(plateau: Plateau) -> str | None:
    return None if plateau.failure is None else plateau.failure.kind


def second(found: Found) -> Plateau:
    assert outcome(found.plateaus[0]) is PASSED
    return found.plateaus[1]


def test_a_server_that_falls_silent_misses_a_response_time(tmp_path: Path) -> None:
    found = search(tmp_path, [*answered(), *hanging(24.1)], ["p95 < 1 s"])
    plateau = second(found)
    assert outcome(plateau) == "objective_missed"
    assert plateau.failure is not None
    assert plateau.failure.text == "p95 < 1 s: no request ended, and some were in flight for longer than this limit"
    assert (plateau.failure.seen, plateau.failure.limit, plateau.margin) == (None, 1.0, math.inf)
    assert plateau.document()["objective"] == {"text": "p95 < 1 s", "metric": "p95", "seen": None, "limit": 1.0}


@pytest.mark.parametrize(("limit_s", "expected"), [(15, "objective_missed"), (19.7, PASSED), (30, PASSED)])
def test_silence_that_is_shorter_than_the_limit_proves_nothing(
    tmp_path: Path, limit_s: float, expected: str | None
) -> None:
    """At the end of the plateau, requests have waited for 19.4 to 19.9 s without a response.

    So only an objective with a limit below 19.4 s is certainly violated.
    """
    plateau = second(search(tmp_path, [*answered(), *hanging(24.1)], [f"p95 < {limit_s} s"]))
    assert outcome(plateau) == expected


def test_nobody_who_asks_is_no_silence(tmp_path: Path) -> None:
    """All users think during the whole plateau, so no request waits for a response."""
    assert outcome(second(search(tmp_path, answered(), ["p95 < 1 s"]))) is PASSED


def test_one_transaction_may_fall_silent_alone(tmp_path: Path) -> None:
    """Requests of `home` are answered until the end, but requests of `search` are not."""
    both = [*answered(end_s=44.0), *hanging(24.1, transaction=1, users=3)]
    assert outcome(second(search(tmp_path, both, ["p95 of search < 1 s"]))) == "objective_missed"
    assert outcome(second(search(tmp_path / "home", both, ["p95 of home < 1 s"]))) is PASSED


def test_a_window_may_be_silent_alone(tmp_path: Path) -> None:
    """The server responds for the first five seconds of the second plateau, and then stops."""
    exchanges = [*answered(end_s=29.0), *hanging(29.1)]
    assert outcome(second(search(tmp_path, exchanges, ["p95 < 1 s in every 5 s"]))) == "objective_missed"
    assert outcome(second(search(tmp_path / "whole", exchanges, ["p95 < 1 s"]))) is PASSED


def test_silence_counts_back_beyond_its_window(tmp_path: Path) -> None:
    """The window of 2 s is shorter than the limit of 4 s in the objective. But the requests have already waited for up
    to 15 s.
    """
    exchanges = [*answered(end_s=29.0), *hanging(29.1)]
    assert outcome(second(search(tmp_path, exchanges, ["p95 < 4 s in every 2 s"]))) == "objective_missed"


def test_a_silent_server_carries_no_load_whatever_the_search_stops_on(tmp_path: Path) -> None:
    plateau = second(search(tmp_path, [*answered(), *hanging(24.1)], [], {"errors": 0.01}))
    assert outcome(plateau) == "achieved_below_offered"
    assert plateau.failure is not None
    assert plateau.failure.text == ("no request ended in 20 s, although some were in flight for more than 10 s")


def test_objectives_about_other_things_do_not_name_themselves(tmp_path: Path) -> None:
    plateau = second(search(tmp_path, [*answered(), *hanging(24.1)], ["stored.lost <= 0"]))
    assert outcome(plateau) == "achieved_below_offered"


def test_a_generator_that_stood_still_is_not_the_system(tmp_path: Path) -> None:
    def stand_still(document: dict[str, Any]) -> None:
        document["gap_ns"] = 1_000_000
        if document["stage"] == STEADY:
            document |= {"stalled_ns": document["t1_ns"] - document["t0_ns"], "gap_ns": 20 * SECOND, "cpu_ns": 0}

    found = search(tmp_path, [*answered(), *hanging(24.1)], ["p95 < 1 s"], patch=stand_still)
    assert outcome(second(found)) == "generator_saturated"
    assert found.document()["is_lower_bound"]
    assert found.failure is not None
    assert found.failure.text == "the generator stalled for 100 % of the time, limit 10 %"


NONE = math.inf
"""Margin (logarithm of the ratio of p95 to its limit) of a plateau without any response."""


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        # All plateaus at 200 users are without responses, so 200 is certainly beyond the limit.
        ({100: [-0.9, -1.0], 200: [NONE, NONE]}, (100, 200, TESTED)),
        ({100: [-0.9, -1.0], 200: [0.9, 1.0], 400: [NONE]}, (100, 200, TESTED)),
        # At 200, one plateau has responses and two have none. Whether 200 passes is undecided, so the interval extends
        # to the next level.
        ({100: [-0.9, -1.0], 200: [-0.3, NONE, NONE], 400: [0.5, 0.6]}, (100, 400, TESTED)),
        ({100: [-0.9, -1.0], 200: [0.3, NONE, NONE]}, (100, 200, BRACKET)),
        ({100: [-0.9, NONE], 200: [0.5, 0.6]}, (100, 200, BRACKET)),
        # No level has two finite margins, so their scatter is unknown and no test is possible.
        ({100: [-0.9], 200: [NONE, NONE]}, (100, 200, BRACKET)),
    ],
)
def test_the_interval_of_a_limit_never_begins_beyond_a_silent_level(
    levels: dict[float, list[float]], expected: tuple[float, float, str]
) -> None:
    pairs = [(level, margin) for level, margins in levels.items() for margin in margins]
    found = estimate_limit([level for level, _ in pairs], [margin for _, margin in pairs], 100, 200)
    assert (found.low, found.high, found.method) == expected
    assert found.value is not None
    assert found.low is not None
    assert found.low <= found.value <= 200


def test_tests_that_contradict_the_majority_leave_the_bracket() -> None:
    """At 200, two of three plateaus failed without any response, so they have no margin. The margins of the plateaus
    with responses show a significant pass.

    This test contradicts the majority of the plateaus, so only the bracket of the search is returned.
    """
    found = estimate_limit([100, 100, 200, 200, 400, 400], [-0.9, -0.91, -0.3, -0.31, 0.5, 0.51], 100, 200)
    assert (found.low, found.high, found.method) == (100, 200, BRACKET)
