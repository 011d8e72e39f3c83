"""Announced duration of a search for the load limit.

The duration is the sum over the plateaus (stages of constant load), whose number depends on the limit.
"""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from towtank.conduct.display import Lines
from towtank.conduct.search_length import search_range_s
from towtank.study.model import FindLimit


def search(**more: object) -> FindLimit:
    """Return a search with plateaus of 60 s at 10, 20, 40 and 80 users."""
    stages = {"ramp_up": "0 s", "settle": "10 s", "steady": "50 s"}
    given = {"kind": "find-limit", "start": 10, "steps": [{"times": 2}], "at_most": 80, "stages": stages}
    return FindLimit.model_validate({**given, **more})


@pytest.mark.parametrize(
    ("more", "plateaus"),
    [
        ({}, (1, 4)),
        ({"at_most": 10}, (1, 1)),
        # If the plateau at 80 users fails, one more plateau, between 40 and 80 users, narrows the range of the limit.
        ({"refine": {"to": "50 %", "repeats": 1}}, (1, 5)),
    ],
)
def test_a_search_takes_the_time_of_its_plateaus(more: dict[str, object], plateaus: tuple[int, int]) -> None:
    least, most = search_range_s(search(**more))
    assert (least / 60, most / 60) == pytest.approx(plateaus)


def test_the_range_is_announced() -> None:
    stream = io.StringIO()
    Lines(Console(file=stream, width=80)).run_starts("r001", 720.0, 100.6)
    assert stream.getvalue() == "r001: about 101 to 720 s, depending on the limit\n"
