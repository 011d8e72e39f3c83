import io
from typing import Any

import pytest
from rich.console import Console

from towtank.conduct.display import Bar, Lines, Silent, describe_frame, display_for


def frame(t_s: float, **fields: Any) -> dict[str, Any]:
    return {"k": "live", "t_s": t_s, "stage": "steady", "users": 12, "throughput_per_s": 8.0, "p95_ms": 41.7, **fields}


def test_frame_in_words() -> None:
    assert describe_frame(frame(1.0)) == "steady: 12 users, 8.0/s, p95 42 ms"
    assert describe_frame(frame(1.0, errors=3, p95_ms=None)) == "steady: 12 users, 8.0/s, 3 errors"


def test_lines_come_every_ten_seconds_and_at_turns() -> None:
    stream = io.StringIO()
    with Lines(Console(file=stream, width=40)) as display:
        display.note("r001: bringing the system up [on CPU 0], which takes a while")
        for run in range(2):
            display.run_starts(f"run {run}", 25.0)
            for second in range(25):
                display.frame(frame(second + 1.0))
            display.frame({"k": "stage", "t_s": 30.0, "name": "ramp_down"})
            display.run_ends("complete")
    assert stream.getvalue().splitlines() == [
        "r001: bringing the system up [on CPU 0], which takes a while",
        "run 0: 25 s",
        "    10 s  steady: 12 users, 8.0/s, p95 42 ms",
        "    20 s  steady: 12 users, 8.0/s, p95 42 ms",
        "  complete",
        "run 1: 25 s",
        "    10 s  steady: 12 users, 8.0/s, p95 42 ms",
        "    20 s  steady: 12 users, 8.0/s, p95 42 ms",
        "  complete",
    ]


def test_bar_on_a_terminal_shows_the_state_and_leaves_lines_behind() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=100, force_terminal=True, color_system=None)
    with Bar(console) as display:
        display.note("bringing the system up")
        display.run_starts("r001 (1/2)", 10.0)
        display.frame(frame(5.0))
        display.run_ends("failed: content ended by signal 9 [steady]")
        display.run_starts("r002 (2/2)", 10.0)
        display.run_ends("complete")
        display.run_ends("failed: port 80 is taken")
    shown = stream.getvalue()
    assert "steady: 12 users, 8.0/s, p95 42 ms" in shown
    assert "r001 (1/2): failed: content ended by signal 9 [steady]" in shown
    assert "r002 (2/2): complete" in shown
    assert "failed: port 80 is taken" in shown


@pytest.mark.parametrize(
    ("terminal", "quiet", "kind"), [(True, False, Bar), (False, False, Lines), (True, True, Silent)]
)
def test_display_is_chosen_by_where_it_goes(terminal: bool, quiet: bool, kind: type) -> None:
    assert type(display_for(Console(file=io.StringIO(), force_terminal=terminal), quiet=quiet)) is kind
