from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import report_synthetic as synthetic
from rich.console import Console

from towtank.report.terminal import print_outcome


def printed(summary: dict[str, Any], path: Path | None = Path("results/x/report.html"), width: int = 160) -> str:
    """Return the text printed for a study, without colours."""
    stream = io.StringIO()
    print_outcome(Console(file=stream, width=width, highlight=False), summary, path)
    return stream.getvalue().replace("\N{NO-BREAK SPACE}", " ")


def summary(**changes: Any) -> dict[str, Any]:
    return {**synthetic.results().summary, **changes}


def test_verdict_comes_first_and_path_last() -> None:
    lines = printed(summary()).splitlines()
    assert lines[0] == "verdict: valid (runs: 8 valid)"
    assert lines[-1] == "report: results/x/report.html"


def test_verdict_names_limits_that_the_study_relaxed() -> None:
    relaxed = [
        {"limit": "interference", "value": 1.0, "default": 0.1},
        {"limit": "start_lag_p99", "value": 0.05, "default": 0.01},
    ]
    verdict = {**summary()["verdict"], "relaxed_limits": relaxed}
    lines = printed(summary(verdict=verdict)).splitlines()
    assert lines[:2] == [
        "verdict: valid with relaxed limits (runs: 8 valid)",
        "  relaxed limits: interference up to 100 % allowed (default 10 %), "
        "start lag p99 up to 50 ms allowed (default 10 ms)",
    ]


def test_table_shows_every_point_with_its_interval() -> None:
    text = printed(summary())
    (row,) = [line for line in text.splitlines() if line.startswith("search_index absent") and " 120 " in line]
    assert row.split("  ")[0] == "search_index absent"
    for cell in ("62.5 [59.4, 65.6] /s", "920 [870, 970] ms", "2.02 [1.92, 2.13] s", "1.00", "valid"):
        assert cell in row


def test_what_no_tier_used_stands_beside_the_tiers() -> None:
    changed = summary()
    for configuration in changed["configurations"]:
        for point in configuration["points"]:
            used = {"value": 0.4537, "low": 0.4, "high": 0.5}
            point["not_attributed"] = {"this_machine": {"cpus_used": used}, "web": {"cpus_used": {"value": 0.25}}}
    text = printed(changed, width=200)
    (head,) = [line for line in text.splitlines() if line.startswith("configuration")]
    assert head.index("CPU content") < head.index("CPU not attributed ") < head.index("CPU not attributed on web")
    (row,) = [line for line in text.splitlines() if line.startswith("search_index absent") and " 120 " in line]
    assert row.split()[-3:] == ["0.45", "0.250", "valid"]


@pytest.mark.parametrize(
    ("used", "shown"),
    [
        ({"value": -0.004, "low": -0.012, "high": 0.004}, "0.0000"),
        ({"value": -0.004}, "0"),
        ({"value": -0.013, "low": -0.023, "high": -0.003}, "0"),
        ({"value": -0.021, "low": -0.023, "high": -0.003}, "\N{MINUS SIGN}0.021"),
        ({"value": -0.30, "low": -0.32, "high": -0.28}, "\N{MINUS SIGN}0.300"),
        ({"value": -0.30}, "\N{MINUS SIGN}0.300"),
    ],
)
def test_cpu_time_of_no_tier_is_not_below_zero_within_its_error(used: dict[str, float], shown: str) -> None:
    """The kernel counts the CPU time of the host in ticks, but the CPU time of control groups exactly. So their
    difference, the CPU time outside all tiers, may be slightly negative. In this case, zero is printed.

    A value that is below zero by more than its error indicates a fault, and is printed unchanged.
    """
    changed = summary()
    for configuration in changed["configurations"]:
        for point in configuration["points"]:
            point["not_attributed"] = {"this_machine": {"cpus_used": used}}
    (row,) = [
        line for line in printed(changed).splitlines() if line.startswith("search_index absent") and " 120 " in line
    ]
    assert row.split()[-2] == shown


def test_at_most_three_observations() -> None:
    observations = [{"kind": "x", "text": f"Observation {number}.", "numbers": {}} for number in range(5)]
    text = printed(summary(observations=observations))
    assert "- Observation 2." in text
    assert "Observation 3." not in text


def test_reasons_of_the_verdict_are_shown() -> None:
    verdict = {
        "level": "suspect",
        "reasons": [synthetic.doubt()],
        "valid_runs": 6,
        "suspect_runs": 1,
        "missing_runs": 1,
    }
    lines = printed(summary(verdict=verdict)).splitlines()
    assert lines[0] == "verdict: suspect (runs: 6 valid, 1 suspect, 1 missing)"
    assert lines[1] == "  start lag is 38 ms at p99, limit 1 ms"


def test_point_without_values_is_printed_as_such() -> None:
    configurations = [{"label": "", "points": [{"users": 30, "runs": [], "verdicts": []}]}]
    (row,) = [line for line in printed(summary(configurations=configurations)).splitlines() if "not run" in line]
    assert row.split() == ["all", "runs", "30", "–", "–", "–", "not", "run"]


def test_nothing_measured_prints_a_verdict_only() -> None:
    assert printed({}, None) == "verdict: invalid (runs: none)\n"


def test_markup_in_names_is_not_interpreted() -> None:
    assert "[bold]x[/bold]" in printed(summary(headline="[bold]x[/bold]"))


def test_the_end_of_a_study_has_its_certainty_and_next_steps_with_the_folder(tmp_path: Path) -> None:
    more = "`towtank run FOLDER --more 2` decides."
    conclusion = {"found": ["So it is."], "certainty": "sure", "sure": ["Run `r1` counts."], "measure": [more]}
    lines = printed(summary(conclusion=conclusion), tmp_path / "report.html").splitlines()
    assert "how sure: Sure (first of four degrees: the evidence is valid and repeated). Run r1 counts." in lines
    assert f"to be surer: towtank run {tmp_path} --more 2 decides." in lines


def test_numbers_stay_whole_on_a_narrow_terminal() -> None:
    stream = io.StringIO()
    print_outcome(
        Console(file=stream, width=80, highlight=False, force_terminal=True, color_system=None), summary(), None
    )
    lines = stream.getvalue().replace("\N{NO-BREAK SPACE}", " ").splitlines()
    assert max(map(len, lines)) <= 80
    (row,) = [line for line in lines if "62.5 [59.4, 65.6] /s" in line and " 120 " in line]
    assert row.startswith("search_index ")
    assert "intervals of mean and p95; CPU of content: see the report, or a wider terminal" in stream.getvalue()


def with_tiers(number: int) -> dict[str, Any]:
    """Return the summary with more tiers than a narrow terminal can show."""
    made = summary()
    for configuration in made["configurations"]:
        for point in configuration["points"]:
            (tier,) = [*point["tiers"].values()][:1]
            point["tiers"] = {f"service-{place}": tier for place in range(number)}
    return made


def test_without_a_terminal_the_table_is_whole_however_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    text = printed(with_tiers(8), width=80)
    heads = [line for line in text.splitlines() if line.startswith("configuration")]
    assert [f"CPU service-{place}" in heads[0] for place in range(8)] == [True] * 8
    assert "…" not in text
    assert "wider terminal" not in text


def test_on_a_terminal_as_many_tiers_are_shown_as_fit() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=110, highlight=False, force_terminal=True, color_system=None)
    print_outcome(console, with_tiers(8), None)
    text = stream.getvalue().replace("\N{NO-BREAK SPACE}", " ")
    assert "…" not in text
    assert "CPU service-0" in text
    assert "service-7: see the report, or a wider terminal" in text
    (row,) = [line for line in text.splitlines() if "62.5 [59.4, 65.6] /s" in line and " 120 " in line]
    assert "valid" in row
