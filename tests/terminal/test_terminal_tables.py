"""Tables at any terminal width: every digit is printed, and names are wrapped. A table that is still too wide is
printed as lines.
"""

import io
import re

import pytest
from rich.table import Table

from towtank.cli.drive_table import drive_table
from towtank.terminal import Printer

NAMES = ("class", "throughput /s", "response time", "where most of the time is spent")
ROWS = (
    ("an order of a customer", "1,234.567", "12.3 ms (11.9 - 12.7)", "the database of the shop"),
    ("view", "0.123", "1.25 s", "content"),
)
TIMES = dict.fromkeys(("mean", "p50", "p90", "p95", "p99", "p99.9", "max"), 12345.678)


def made(**options: object) -> Table:
    table = Table(*NAMES, **options)  # type: ignore[arg-type]
    for row in ROWS:
        table.add_row(*row)
    return table


def printed(table: object, width: int, *, terminal: bool = True) -> str:
    stream = io.StringIO()
    console = Printer(file=stream, force_terminal=terminal, width=width, color_system=None, soft_wrap=True)
    console.print(table)
    return stream.getvalue()


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 200])
def test_no_width_cuts_a_number(width: int) -> None:
    text = printed(made(), width)
    assert "…" not in text
    for figure in ("1,234.567", "0.123", "12.3 ms (11.9 - 12.7)", "1.25 s"):
        assert figure in text


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_lines_fit_the_width(width: int) -> None:
    assert max(map(len, printed(made(), width).splitlines())) <= width


def test_names_are_folded_before_lines_are_made() -> None:
    text = printed(made(), 90)
    assert re.search(r"│ 1,234\.567", text)
    assert "customer" in text.replace("\n", "")


def test_a_table_that_is_far_too_wide_becomes_lines() -> None:
    assert printed(made(), 40).splitlines()[:3] == [
        "class: an order of a customer",
        "  throughput /s: 1,234.567",
        "  response time: 12.3 ms (11.9 - 12.7)",
    ]


def test_a_pipe_gets_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    whole = printed(made(), 300)
    assert printed(made(), 40, terminal=False) == whole
    monkeypatch.setenv("COLUMNS", "40")
    assert printed(made(), 40, terminal=False) == printed(made(), 40)


def driven(**more: object) -> dict[str, object]:
    """Return a result document as `towtank drive` writes it."""
    return {
        "target": "http://127.0.0.1/",
        "throughput_per_s": 1234.56,
        "window_s": 1.0,
        "requests": 1,
        "errors": 0,
        "response_time_ms": TIMES,
        "exchange_time_ms": TIMES,
        "estimates": {
            "throughput_per_s": {"value": 1234.56, "low": 1210.0, "high": 1260.0},
            "response_time_s": {"mean": {"value": 12.345678, "low": 12.1, "high": 12.6}},
            "exchange_time_s": {},
        },
        "generator": {"start_lag_ms_p99": 0.1},
        "valid": True,
        "verdict": "valid",
        "doubts": [],
        "not_checked": [],
        **more,
    }


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ({"200": 1234, "302": 5}, "status codes: 200: 1,234, 302: 5"),
        (None, "status codes: not recorded"),
        ({}, None),
    ],
)
def test_answers_are_shown_by_status_code(counts: dict[str, int] | None, line: str | None) -> None:
    shown = [str(part) for part in drive_table(driven(status_codes=counts)) if "status codes" in str(part)]
    assert shown == ([] if line is None else [line])


@pytest.mark.parametrize("width", [40, 80])
def test_times_of_drive_have_the_digits_that_are_known(width: int) -> None:
    table = next(part for part in drive_table(driven()) if isinstance(part, Table))
    shown = printed(table, width)
    # Response times without an interval are printed with three digits.
    assert shown.count("12,300") == 2 * len(TIMES) - 1
    for known in ("12,350", "12,100", "12,600"):
        assert shown.count(known) == 1


def test_drive_shows_the_interval_of_the_throughput() -> None:
    assert str(drive_table(driven())[0]).startswith("http://127.0.0.1/: 1,235 [1,210, 1,260] requests/s over 1 s")


def test_drive_says_that_failed_answers_are_among_the_times() -> None:
    """A failed response has a response time; a refused connection has none."""
    said = drive_table(driven(errors_by_kind={"connect": 7, "status_5xx": 4, "check": 1}))
    assert "the times above include 5 failed requests" in said
    assert not any(
        "the times above include" in str(part) for part in drive_table(driven(errors_by_kind={"connect": 7}))
    )


def test_drive_names_relaxed_limits() -> None:
    relaxed = [{"limit": "interference", "value": 1.0, "default": 0.1}]
    assert drive_table(driven(relaxed_limits=relaxed))[-1] == (
        "valid with relaxed limits; relaxed limits: interference up to 100 % allowed (default 10 %)"
    )
    assert drive_table(driven(relaxed_limits=[]))[-1] == "valid"


def doubt(level: str, message: str, hint: str = "") -> dict[str, object]:
    return {"level": level, "message": message, "hint": hint}


def verdict_lines(**more: object) -> list[str]:
    said = [str(part) for part in drive_table(driven(**more))]
    return said[next(place for place, line in enumerate(said) if line.startswith("generator")) + 1 :]


def test_drive_ends_with_three_doubts_the_most_serious_first_and_what_to_do() -> None:
    doubts = [
        doubt("note", "few values"),
        doubt("suspect", "lag of 20 ms", "add threads; exchange times have no lag"),
        doubt("invalid", "no steady state", "lengthen the ramp"),
        doubt("suspect", "other programs"),
        doubt("note", "a retransmission"),
    ]
    missing = [{"check": "listen_overflow", "why": "the kernel does not report it"}]
    assert verdict_lines(valid=False, doubts=doubts, not_checked=missing) == [
        "not valid: no steady state",
        "  do: lengthen the ramp",
        "suspect: lag of 20 ms",
        "  do: add threads",
        "suspect: other programs",
        "further doubts and notes: 2 (in the output of --json)",
        "not checked: listen overflow (reasons in the output of --json)",
    ]


@pytest.mark.parametrize(("doubts", "first"), [([], "valid"), ([doubt("note", "few values")], "valid"),
                                               ([doubt("suspect", "lag")], "suspect: lag")])  # fmt: skip
def test_a_measurement_without_doubts_is_valid(doubts: list[dict[str, object]], first: str) -> None:
    assert verdict_lines(doubts=doubts)[0] == first


def test_drive_has_a_row_for_each_transaction_in_80_columns() -> None:
    transaction = {"count": 1_234_567, "errors": 12_345, "throughput_per_s": 1234.5, "response_time_ms": TIMES}
    names = ["open_all_searches_of_the_department", "view"]
    tables = [
        part for part in drive_table(driven(transactions=dict.fromkeys(names, transaction))) if isinstance(part, Table)
    ]
    text = printed(tables[1], 80)
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("1,234,567") == text.count("12,345") == 2
    (alone,) = [part for part in drive_table(driven(transactions={"request": transaction})) if isinstance(part, Table)]
    assert alone.columns[0].header == "time, ms"
