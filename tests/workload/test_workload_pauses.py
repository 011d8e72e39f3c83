"""Bounds of pauses: values at a bound are accepted, values just beyond it are refused."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from towtank.workload.durations import LONGEST_S
from towtank.workload.pauses import PauseModel, read_pacing

LONGEST = f"{LONGEST_S:.0f} s"
LESS = f"{LONGEST_S - 4:.0f} s"


@pytest.mark.parametrize(
    ("pause", "least_s", "most_s"),
    [
        ({"uniform": {"min": "2 s", "max": "2 s"}}, 2.0, 2.0),
        ({"uniform": {"min": "0 s", "max": LONGEST}}, 0.0, LONGEST_S),
        ({"normal": {"mean": "1 s", "sd": "1 s", "min": "1 s", "max": "2 s"}}, 1.0, 2.0),
        ({"normal": {"mean": "2 s", "sd": "1 s", "min": "1 s", "max": "2 s"}}, 1.0, 2.0),
        ({"normal": {"mean": "1 s", "sd": "10 s", "max": "1 s"}}, 0.0, 1.0),
        ({"normal": {"mean": LESS, "sd": "1 s"}}, 0.0, LONGEST_S),
    ],
)
def test_a_pause_at_its_bounds_is_accepted(pause: dict[str, object], least_s: float, most_s: float) -> None:
    plan = PauseModel.model_validate(pause).plan()
    assert (plan["min_s"], plan["max_s"]) == (least_s, most_s)


@pytest.mark.parametrize(
    ("pause", "words"),
    [
        ({"uniform": {"min": "2 s", "max": "1999 ms"}}, "must have max at least 2 s, got 1.999 s"),
        ({"normal": {"mean": "999 ms", "sd": "1 s", "min": "1 s", "max": "2 s"}}, "must have min <= mean <= max"),
        ({"normal": {"mean": "2001 ms", "sd": "1 s", "min": "1 s", "max": "2 s"}}, "must have min <= mean <= max"),
        ({"normal": {"mean": "1 s", "sd": "1 s", "min": "1 s", "max": "1 s"}}, "and min < max"),
        ({"normal": {"mean": "1 s", "sd": "10001 ms", "max": "1 s"}}, "must have min and max at least a tenth of sd"),
        ({"normal": {"mean": LESS, "sd": "1001 ms"}}, f"must have max at most {LONGEST_S / 3600:.0f} h"),
    ],
)
def test_a_pause_beyond_a_bound_is_refused(pause: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError) as raised:
        PauseModel.model_validate(pause)
    assert words in str(raised.value)


def test_the_longest_pacing_is_the_longest_pause() -> None:
    hours = LONGEST_S / 3600
    found = read_pacing(f"{1 / hours!r} /h")
    assert isinstance(found, PauseModel)
    assert found.fixed == pytest.approx(LONGEST_S)
    with pytest.raises(ValueError, match="must be a rate of at least one in"):
        read_pacing(f"{0.999 / hours!r} /h")
    with pytest.raises(ValueError, match="must be a rate above 0"):
        read_pacing("0 /h")
