"""No data may break a command that reads results: all commands must read generated studies without an internal
fault.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from certification import Tried
from drawn_studies import RandomStudy, without_cpu_time, write_drawn, write_study
from every_answer import faults_of

from towtank.results.stream_forms import IntervalForm, SampleForm, has_form

STUDIES = int(os.environ.get("TOWTANK_STUDIES", "36"))
PARTS = 12
"""Number of groups of studies, each a test parameter, so that several pytest workers can share the studies."""
ONCE_FAULTY = (70, 150, 277, 311, 375, 853, 1052, 1067, 1104, 1427, 3622, 4046)
"""Seeds of studies, among the first 5,000, with which a command once failed. Each is an example of a different kind of
failure.
"""


@pytest.mark.certify
@pytest.mark.waits
@pytest.mark.timeout(120 * (1 + max(1, STUDIES // PARTS)))
@pytest.mark.parametrize("part", range(PARTS))
def test_no_study_breaks_any_command(tmp_path: Path, part: int, monkeypatch: pytest.MonkeyPatch, tried: Tried) -> None:
    seeds = sorted({*range(part, STUDIES, PARTS), *ONCE_FAULTY[part::PARTS]})
    tried("damaged or odd results folder, through every command that reads one", len(seeds))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for seed in seeds:
        out = tmp_path / str(seed)
        out.mkdir()
        oddities = write_study(out / "results", seed)
        faults = faults_of(out / "results", out, seed)
        assert not faults, f"seed {seed}, {oddities}:\n" + "\n".join(faults[:3])


@pytest.mark.waits
def test_generated_studies_are_reproducible_and_odd(tmp_path: Path) -> None:
    drawn = [write_study(tmp_path / f"results-{number}", number // 2) for number in range(40)]
    assert drawn[::2] == drawn[1::2]
    assert len({word for oddities in drawn for oddity in oddities for word in oddity.split(" ")[:1]}) > 20


def test_tiers_without_cpu_time_and_a_run_whose_load_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    drawn = RandomStudy([2.0, 5.0, 8.0], changes=[without_cpu_time])
    write_drawn(tmp_path / "results", drawn, random.Random(1))
    path = tmp_path / "results" / "runs" / "r001" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"factors": {}, "users": None}), "utf-8")
    assert faults_of(tmp_path / "results", tmp_path) == []


INTERVAL = {
    "t0_ns": 0, "t1_ns": 10**9, "stage": 0, "users": 1, "user_ns": 10**9, "in_flight": 0, "cpu_ns": 5,
    "series": [{"of": "step", "id": 0, "ok": 3}],
}  # fmt: skip
SAMPLE = {"t_ns": 1, "cpus": [{"busy_s_total": 0.5}], "groups": {"content": {"alive": True}}}


def test_lines_have_their_form() -> None:
    assert has_form(IntervalForm, INTERVAL)
    assert has_form(SampleForm, SAMPLE)


@pytest.mark.parametrize("number", [1e300, 3.5, float("nan"), float("inf"), -1, 1 << 70, "3", True])
def test_a_count_is_a_number_in_its_range(number: object) -> None:
    assert not has_form(IntervalForm, {**INTERVAL, "users": number})
    assert not has_form(IntervalForm, {**INTERVAL, "series": [{"of": "step", "id": 0, "ok": number}]})
    series = {"of": "step", "id": 0, "status_codes": {"200": number}}
    assert not has_form(IntervalForm, {**INTERVAL, "series": [series]})


@pytest.mark.parametrize("code", ["", "20", "2000", "099", "ok", "-10"])
def test_a_status_code_has_three_digits(code: str) -> None:
    series = {"of": "step", "id": 0, "status_codes": {code: 1}}
    assert not has_form(IntervalForm, {**INTERVAL, "series": [series]})


@pytest.mark.parametrize(
    "change", [{"cpus": "text"}, {"groups": {"content": 1}}, {"t_ns": 0.5}, {"host": {"up": float("nan")}}]
)
def test_a_sample_of_another_form_is_rejected(change: dict[str, object]) -> None:
    assert not has_form(SampleForm, {**SAMPLE, **change})
