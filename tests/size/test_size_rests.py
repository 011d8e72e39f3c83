from __future__ import annotations

import math
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certification import Certified
from scipy.stats import norm
from sizing import sized, written

from towtank.cli import main
from towtank.sizing.growth import HistoricGrowth
from towtank.sizing.history import History

MODEL = """
classes:
  in: {rate: 100 /s}
stations:
  app: {servers: 4, discipline: ps, demand: 20 ms}
"""
GROWTH = "growth: 300 % / year, growth_interval: [100 % / year, 600 % / year], horizon: 1 year, start: 2026-11-23"


def asked(folder: Path, load: str, *lines: str) -> str:
    text = "\n".join(["schema: towtank/sizing/1", f"load: {{{load}}}", "objectives: [mean < 60 ms]", *lines])
    return written(folder, "sizing.yaml", text + "\n")


def counted(document: dict[str, Any]) -> dict[str, bool]:
    return {part["part"]: part["counted"] for part in document["trust"]["rests_on"]}


@pytest.mark.certify
def test_the_probability_is_that_of_the_growth(tmp_path: Path, capsys: Any, certified: Certified) -> None:
    """The probability of the answer is that with which the grown load stays below its load limit L.

    The load is 100 /s, and the growth factor of the year is 4 [2, 7], so the median of the grown load is 400 /s. Above
    it, the probability is Phi(ln(L / 400) / s). s is the standard deviation of the logarithm of the growth factor above
    its median.
    """
    model = written(tmp_path, "model.yaml", MODEL)
    file = asked(tmp_path, GROWTH, "tiers: {app: {cpus: [10, 11, 12, 18]}}", "probability: 50 %")
    found = sized(capsys, model, "--for", file)
    # The load limit is above 400 /s, so growth reaches it only above the median factor, 4. There, the standard
    # deviation follows from the 97.5 % point, 7.
    assert found["answer"]["load_at_limit"] > 400
    spread = (math.log(7) - math.log(4)) / norm.ppf(0.975)
    expected = norm.cdf(math.log(found["answer"]["load_at_limit"] / 400) / spread)
    shown = found["answer"]["probability"]
    case = "a limit above the median of an uncertain growth"
    certified("Sizing", case, "probability", truth=expected, shown=shown, unit="", relative=0.0, absolute=0.01)
    assert found["answer"]["probability"] < 0.75
    assert counted(found) == {"load": False, "growth": True, "demands": False, "stations": False, "machines": False}


@pytest.mark.waits
@pytest.mark.parametrize("probability", [60, 80, 95, 99])
def test_the_probability_and_the_dates_never_contradict_each_other(
    tmp_path: Path, capsys: Any, probability: int
) -> None:
    model = written(tmp_path, "model.yaml", MODEL)
    lines = ("uncertainty: 10 %", "tiers: {app: {cpus: 6..40}}", f"probability: {probability} %")
    found = sized(capsys, model, "--for", asked(tmp_path, GROWTH, *lines))
    answer = next(row for row in found["dates"] if row["what"] == "the answer")
    assert found["answer"]["probability"] >= probability / 100
    assert answer["days"] > 365
    cheaper = found["next_cheaper"]
    assert cheaper is None or cheaper["probability"] is None or cheaper["probability"] < probability / 100
    assert found["trust"]["counted"] == ["demands", "growth"]


@pytest.mark.waits
def test_a_load_of_many_users_is_written_in_full(tmp_path: Path, capsys: Any) -> None:
    model = written(
        tmp_path,
        "model.yaml",
        "classes: {web: {users: 20, think: 10 s}}\nstations:\n  app: {servers: 200, discipline: ps, demand: 10 ms}\n",
    )
    found = sized(capsys, model, "--users", "141000", "--utilization", "80 %", "--cpus", "app=200")
    assert found["trust"]["rests_on"][0]["text"].startswith("141,000 users, taken as the load of ")


def test_growth_without_an_interval_is_a_doubt(tmp_path: Path, capsys: Any) -> None:
    model = written(tmp_path, "model.yaml", MODEL)
    file = asked(tmp_path, "growth: 50 % / year, horizon: 1 year", "uncertainty: 10 %", "tiers: {app: {cpus: 1..16}}")
    found = sized(capsys, model, "--for", file)
    assert found["trust"]["counted"] == ["demands"]
    assert any("the uncertainty of the growth is unknown" in doubt for doubt in found["trust"]["doubts"])


def weeks(count: int, *, growth: float = 0.0, noise: float = 0.03, seed: int = 1) -> tuple[tuple[date, ...], Any]:
    """Return daily loads from a Monday on. A Sunday has 0.52 times the load of a Monday."""
    start, stream = date(2026, 9, 21), np.random.default_rng(seed)
    days = tuple(start + timedelta(days=n) for n in range(7 * count))
    shape = np.array([1.0, 0.98, 0.97, 0.96, 0.9, 0.6, 0.52])
    loads = 300 * np.exp(growth * np.arange(len(days))) * shape[[day.weekday() for day in days]]
    return days, loads * np.exp(noise * stream.standard_normal(len(days)))


def csv_of(folder: Path, days: tuple[date, ...], loads: Any) -> str:
    rows = [f"{day},{load:.6g}" for day, load in zip(days, loads, strict=True)]
    return written(folder, "history.csv", "\n".join(["date,users", *rows]) + "\n")


@pytest.mark.waits
def test_a_load_without_a_start_is_that_of_the_busiest_day_of_the_week(tmp_path: Path, capsys: Any) -> None:
    """The stated peak of 100 /s has no start date, so it is the load of the busiest weekday."""
    csv_of(tmp_path, *weeks(9))
    model = written(tmp_path, "model.yaml", MODEL)
    load = "rate: 100 /s, horizon: 26 weeks, history: {csv: history.csv, season: weekly}"
    found = sized(capsys, model, "--for", asked(tmp_path, load, "tiers: {app: {cpus: 1..16}}"))
    assert found["load"]["rate_per_s"]["in"] == pytest.approx(100, rel=0.15)
    assert found["start_is"].startswith("Mondays, as on 2026-11-16")
    load_row = next(part for part in found["trust"]["rests_on"] if part["part"] == "load")
    assert "busiest day of the week" in load_row["text"]


@pytest.mark.waits
@pytest.mark.parametrize(
    ("load", "gibibytes"),
    [
        # The start is a Sunday, which has half of the load of a Monday. So the load doubles from this Sunday to the
        # busiest day of the week, but the stored data must not double.
        ("rate: 50 /s, start: 2026-11-22, horizon: 26 weeks, history: {csv: history.csv, season: weekly}", 10.0),
        ("rate: 50 /s, growth: -20 % / year, horizon: 2 years", 10.0),
        ("rate: 50 /s, growth: 20 % / year, horizon: 2 years", 14.4),
    ],
)
def test_data_grow_with_the_years_and_not_with_the_day_of_the_week(
    tmp_path: Path, capsys: Any, load: str, gibibytes: float
) -> None:
    csv_of(tmp_path, *weeks(9))
    more = "tiers: {app: {cpus: 1..16}}\ndata: {now: 10 GiB}"
    found = sized(capsys, written(tmp_path, "model.yaml", MODEL), "--for", asked(tmp_path, load, more))
    step = next(step for step in found["steps"] if step["step"] == "data at the horizon")
    assert step["value"] == pytest.approx(gibibytes * 2**30, rel=0.15)


def test_a_step_is_not_growth() -> None:
    """A launch raises a constant load to 1.5 times after five of nine weeks. The forecast for a year ahead must be this
    higher level, without growth.
    """
    days, loads = weeks(9)
    loads[35:] *= 1.5
    found = History(days, loads, "weekly")
    assert [abs((step - days[35]).days) <= 1 for step in found.steps] == [True]
    growing = HistoricGrowth(found, found.busiest_day())
    low, high = growing.interval(365)
    assert low < 1 < high
    assert growing.factor(365) == pytest.approx(1, rel=0.25)
    # With 3 % of noise, three standard errors of the estimated step are 6 %.
    assert math.expm1(found.parameters[-1]) == pytest.approx(0.5, abs=0.06)
    assert "the load changes by" in found.notes[0]


@pytest.mark.parametrize("day", [3, 40, 60])
def test_an_outage_is_not_growth(day: int) -> None:
    days, loads = weeks(9, growth=0.0035)
    clean = History(days, loads, "weekly").slope
    loads[day] *= 0.03
    found = History(days, loads, "weekly")
    assert found.slope == pytest.approx(clean, rel=0.1)
    assert found.steps == ()
    assert str(days[day]) in found.notes[0]


def test_growth_alone_has_no_step_and_leaves_no_day_out() -> None:
    """Of 200 noisy histories of nine weeks, each with 2.5 % growth per week, only few may be reported with a step or
    with an excluded day.
    """
    of_seeds = [History(*weeks(9, growth=0.0035, noise=0.05, seed=seed), "weekly") for seed in range(200)]
    steps = sum(bool(history.steps) for history in of_seeds)
    outs = sum(any("excluded" in note for note in history.notes) for history in of_seeds)
    assert steps <= 2
    assert outs <= 20


@pytest.mark.waits
def test_a_horizon_beyond_three_times_the_history_is_a_doubt(tmp_path: Path, capsys: Any) -> None:
    csv_of(tmp_path, *weeks(9, growth=0.001))
    model = written(tmp_path, "model.yaml", MODEL)
    tiers = "tiers: {app: {cpus: 1..64}}"

    def doubts(horizon: str) -> list[str]:
        load = f"horizon: {horizon}, history: {{csv: history.csv, season: weekly}}"
        return list(sized(capsys, model, "--for", asked(tmp_path, load, tiers))["trust"]["doubts"])

    assert any("more than 3 times" in doubt for doubt in doubts("18 months"))
    assert not any("more than 3 times" in doubt for doubt in doubts("20 weeks"))


def test_a_tier_of_several_stations_is_refused(tmp_path: Path, capsys: Any) -> None:
    """A tier of two stations is refused, because the model would give all CPUs of the tier to each station.

    Two stations with 80 ms each keep 2 x 0.8 = 1.6 CPUs busy at 10 /s. One CPU, which the model would accept, cannot be
    an answer.
    """
    text = "classes: {in: {rate: 10 /s}}\nstations:\n  a: {demand: 80 ms}\n  b: {demand: 80 ms}\n"
    model = written(tmp_path, "model.yaml", text)
    file = asked(tmp_path, "rate: 10 /s", "tiers: {one: {stations: [a, b], cpus: [1, 2, 4]}}")
    assert main(["size", model, "--for", file]) == 2
    assert "tiers.one.stations: must be one station: a, b would each use all CPUs" in capsys.readouterr().err
    assert main(["validate", file]) == 2


def test_a_what_if_names_the_hardware_that_it_changes(tmp_path: Path, capsys: Any) -> None:
    model = written(tmp_path, "model.yaml", MODEL)
    options = ("--rate", "300 /s", "--objective", "mean < 60 ms", "--cpus", "app=1..16", "--what-if", "cpu x2",
               "--what-if", "as it is, cpu x2")  # fmt: skip
    rows = sized(capsys, model, *options)["what_if"]
    assert [(row["what_if"], row["hardware"], row["configuration"]) for row in rows] == [
        ("as it is", "the hardware that runs", "app 4 CPUs"),
        ("cpu x2", "the answer", "app 7 CPUs"),
        ("as it is, cpu x2", "the hardware that runs", "app 4 CPUs"),
    ]
    assert [row["met"] for row in rows] == [False, True, True]


def test_no_candidate_is_judged_by_an_answer_outside_its_bounds(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The solver is changed to return a utilization of 150 %, which is outside the bounds of the model.

    Candidates that violate the objective even at their bounds are rejected. For all others the sizing reports an error.
    """
    import towtank.model  # noqa: PLC0415
    from towtank.sizing import evaluate  # noqa: PLC0415

    solve = towtank.model.solve_models

    def too_much(models: list[towtank.model.EngineModel]) -> list[towtank.model.SolvedOutcome]:
        found = solve(models)
        for place, answer in enumerate([each.answer for each in found]):
            if answer is not None:
                used = {"stations": {name: {"utilization": 1.5} for name in answer.stations}}
                found[place] = towtank.model.SolvedOutcome(answer=answer.with_results(used))
        return found

    monkeypatch.setattr(evaluate, "solve_models", too_much)
    text = "classes: {web: {users: 200, think: 1 s}}\nstations:\n  app: {servers: 4, demand: 40 ms}\n"
    model = written(tmp_path, "model.yaml", text)
    # 2 CPUs process at most 50 /s, so 200 users with a think time of 1 s have a response time of at least 200 / 50 - 1
    # = 3 s.
    found = sized(capsys, model, "--objective", "mean < 2 s", "--cpus", "app=1,2", status=3)
    assert found["answer"] is None
    assert "missed even at the theoretical bound" in found["strongest"]["why_not"][0]
    assert main(["size", model, "--objective", "mean < 2 s", "--cpus", "app=1..4"]) == 2
    assert "exceeds its theoretical bounds (utilization of app 150 %)" in capsys.readouterr().err


LIMITED = """
fitted:
  users: [1, 100]
  throughput: 20 /s
  verdict: supported
  limit: {limit}
  limit_why: "no measurement shows that more CPUs help: a lock"
  draws: {{app: [0.9, 1.0, 1.1]}}
"""


@pytest.mark.parametrize(
    ("limit", "status", "doubt"),
    [("other", 4, "help: a lock"), ("asserted", 0, "help: a lock"), ("none", 0, "at which no limit was reached"),
     ("station", 0, "")],
)  # fmt: skip
def test_a_model_file_is_sized_by_what_limited_its_measurements(
    tmp_path: Path, capsys: Any, limit: str, status: int, doubt: str
) -> None:
    """If `towtank size` refuses results, it must also refuse the model file that `model fit --out` writes from these
    results.
    """
    model = written(tmp_path, "model.yaml", MODEL + LIMITED.format(limit=limit))
    options = (model, "--objective", "mean < 60 ms", "--cpus", "app=4")
    if status:
        assert main(["size", *options]) == status
        assert "no measurement shows that more CPUs help: a lock" in capsys.readouterr().err
    found = sized(capsys, *options, *(["--beyond"] if status else []))
    assert (found["answer"]["probability"] is None) == bool(doubt)
    document = [text for text in found["trust"]["doubts"] if "the probability is unknown" in text]
    assert bool(document) == bool(doubt)
    assert all(doubt in text for text in document)


@pytest.mark.parametrize(("changes", "status"), [({}, 4), ({"asserted": True}, 0)])
def test_a_guess_is_refused_or_has_no_probability(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, changes: dict[str, bool], status: int
) -> None:
    from dataclasses import replace  # noqa: PLC0415

    from towtank.model.file import FittedFile  # noqa: PLC0415
    from towtank.sizing import asking  # noqa: PLC0415

    fitted = FittedFile.model_validate(
        {"users": [1, 20], "throughput": "90 /s", "verdict": "supported", "draws": {"app": [0.9, 1.0, 1.1]}}
    )
    load = asking.load_basis

    def guessed(*arguments: Any) -> Any:
        return replace(load(*arguments), fitted=fitted, guess="no CPU of the system was observed", **changes)

    monkeypatch.setattr(asking, "load_basis", guessed)
    model = written(tmp_path, "model.yaml", MODEL)
    options = (model, "--objective", "mean < 60 ms", "--cpus", "app=4")
    if status:
        assert main(["size", *options]) == status
        assert "no CPU of the system was observed" in capsys.readouterr().err
    found = sized(capsys, *options, *(["--beyond"] if status else []))
    assert found["answer"]["probability"] is None
    assert any("the probability is unknown: no CPU" in doubt for doubt in found["trust"]["doubts"])
