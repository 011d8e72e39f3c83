from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sizing import sized, written

from towtank.analysis import NO_ESTIMATE, Estimate, Metric, TierUse
from towtank.analysis.system.entries import PartUse
from towtank.errors import StudyError
from towtank.sizing import quantities
from towtank.sizing.growth import HistoricGrowth
from towtank.sizing.history import History, read_history
from towtank.sizing.kernels import KERNELS
from towtank.sizing.question import Question
from towtank.sizing.rating import RatingTurn, TurnConditions
from towtank.sizing.rating_doubts import _company
from towtank.sizing.rules.measured import _content_server, _Metrics, _postgresql, postgresql_size
from towtank.sizing.tiers import Option

DAYS = 40
START = date(2024, 1, 1)


def noisy() -> tuple[History, np.ndarray]:
    logs = 4 + 0.01 * np.arange(DAYS) + 0.05 * np.random.default_rng(3).standard_normal(DAYS)
    return History(tuple(START + timedelta(days=day) for day in range(DAYS)), np.exp(logs), "none"), logs


def test_a_forecast_has_the_interval_of_a_further_observation() -> None:
    """The half width of the forecast is s sqrt(1 + 1/n + (t - mean t)^2 / S_tt) times Student's t with n - 2 degrees of
    freedom.

    The formula is that of Draper and Smith, section 3.1, for an observation around a fitted line.
    """
    history, logs = noisy()
    times = np.arange(DAYS)
    line = stats.linregress(times, logs)
    spread = np.sqrt(np.sum((logs - line.intercept - line.slope * times) ** 2) / (DAYS - 2))
    growing = HistoricGrowth(history, START + timedelta(days=10))
    away = 70 - times.mean()
    width = spread * np.sqrt(1 + 1 / DAYS + away**2 / np.sum((times - times.mean()) ** 2))
    middle = line.slope * 60
    reach = stats.t.ppf(0.975, DAYS - 2) * width
    assert growing.interval(60) == pytest.approx((np.exp(middle - reach), np.exp(middle + reach)), rel=1e-9)
    factors = np.array([1.5, 2.0])
    chances = stats.t.sf((np.log(factors) - middle) / width, DAYS - 2)
    assert growing.chances_above(60, factors) == pytest.approx(chances, rel=1e-9)
    assert growing.factor(60) == pytest.approx(np.exp(middle), rel=1e-9)
    assert growing.drawn(60, np.array([0.025]))[0] == pytest.approx(np.exp(middle - reach), rel=1e-9)


def test_hits_are_a_share_of_all_requests() -> None:
    tables = [{"hit": Metric(per_s=2.0), "read": Metric(per_s=1.0)}, {"hit": Metric(per_s=1.0), "read": Metric()}]
    assert _Metrics(tables).ratio("hit", "read") == pytest.approx(0.75)
    assert _Metrics([{"hit": Metric(per_s=0.0), "read": Metric(per_s=5.0)}]).ratio("hit", "read") == 0.0
    assert _Metrics([{"hit": Metric(per_s=0.0), "read": Metric(per_s=0.0)}]).ratio("hit", "read") is None
    assert _Metrics([{"hit": Metric(per_s=1.0)}]).ratio("hit", "read") is None


def test_facts_of_a_content_server() -> None:
    """The database uses 0.3 / 1.2 = 25 % of its CPUs, and 3 / 4 = 75 % of the look-ups in a cache are hits."""
    tables = [
        {
            'content_server_cache_hits_total{cache="content"}': Metric(per_s=3.0),
            'content_server_cache_misses_total{cache="content"}': Metric(per_s=1.0),
            "sqlite_database_bytes": Metric(max=4096),
            "content_server_queue_length": Metric(mean=0.5),
        }
    ]
    tier = TierUse(cpus_used=Estimate(1.2), parts={"database": PartUse(Estimate(0.3), NO_ESTIMATE, "")})
    settings = {"threads": 8, "content_cache": "2 MiB", "drop_index": ["name", "date"]}
    found = _content_server(settings, _Metrics(tables), tier)
    assert found["database_cpu_share"] == pytest.approx(0.25)
    assert found["content_cache_hit_ratio"] == pytest.approx(0.75)
    assert found["handle_cache_hit_ratio"] is None
    assert (found["content_cache"], found["dropped_indexes"], found["threads"]) == (2 * 2**20, 2, 8)
    assert (found["database_bytes"], found["queue_length"], found["pool_wait"]) == (4096, 0.5, None)
    bare = _content_server({"content_cache": 1024}, _Metrics([]), TierUse(cpus_used=Estimate(1.2)))
    assert (bare["database_cpu_share"], bare["content_cache"], bare["dropped_indexes"]) == (None, 1024, None)


def test_settings_of_postgresql_are_in_its_units() -> None:
    """Without a unit, `shared_buffers` counts blocks of 8 kB and `work_mem` counts kB (PostgreSQL 17, section 19.1)."""
    settings = {"shared_buffers": 16384, "work_mem": 4096, "max_connections": "100", "synchronous_commit": "off"}
    found = _postgresql(settings, _Metrics([]))
    assert (found["shared_buffers"], found["work_mem"]) == (128 * 2**20, 4 * 2**20)
    assert (found["max_connections"], found["synchronous_commit"]) == (100.0, False)
    assert postgresql_size("2GB", 1) == 2 * 2**30
    assert postgresql_size("much", 1) is None


@pytest.mark.parametrize(
    "value", [0, "0..3", "3..2", True, [], [2, 0], 1_000_001, f"1..{quantities.VALUES_AT_MOST + 1}"]
)
def test_numbers_to_choose_from_are_whole_and_from_one(value: object) -> None:
    with pytest.raises(ValueError, match="whole number from 1"):
        quantities.numbers(value)


def test_the_ends_of_numbers_to_choose_from() -> None:
    assert quantities.numbers(1) == [1]
    assert quantities.numbers("1..1") == [1]
    assert quantities.numbers([3, 1, 3]) == [1, 3]
    assert quantities.numbers(1_000_000) == [1_000_000]
    assert len(quantities.numbers(f"1..{quantities.VALUES_AT_MOST}")) == quantities.VALUES_AT_MOST


OPEN = "classes: {in: {rate: 30 /s}}\nstations:\n  app: {servers: 2, discipline: ps, demand: 50 ms}\n"


def test_one_queue_for_all_nodes_is_erlang_c(tmp_path: Path, capsys: Any) -> None:
    """30 /s with 50 ms each are 1.5 erlang on 2 nodes of 2 servers. As an M/M/4 queue, R = 50 ms + C / (80 - 30) s with
    Erlang's C.
    """
    model = written(tmp_path, "model.yaml", OPEN)
    found = sized(capsys, model, "--objective", "mean < 1 s", "--cpus", "app=2", "--nodes", "app=2")
    terms = [1.5**number / divisor for number, divisor in enumerate((1, 1, 2, 6))]
    last = 1.5**4 / 24 / (1 - 1.5 / 4)
    expected = 0.05 + last / (sum(terms) + last) / 50
    assert found["answer"]["one_queue_bound"]["in"] == pytest.approx(expected, rel=1e-9)


def test_means_and_shares_of_good_ones_are_not_simulated(tmp_path: Path, capsys: Any) -> None:
    found = sized(capsys, written(tmp_path, "model.yaml", OPEN), "--objective", "mean < 70 ms", "--cpus", "app=1..6")
    assert found["search"]["simulated"] == 0
    assert found["answer"]["scenarios"][0]["simulated"] is None


def test_dearer_ones_are_shown_up_to_one_and_a_half_times_the_cost(tmp_path: Path, capsys: Any) -> None:
    """Faster options are shown if they cost at most one and a half times as much as the answer, 2 CPUs.

    With 2 CPUs, the utilization is 75 % and R = 114 ms, which meets the objective. 3 CPUs cost 1.5 times as much, so
    they are shown. 4 CPUs cost twice as much, so they are not.
    """
    found = sized(capsys, written(tmp_path, "model.yaml", OPEN), "--objective", "mean < 120 ms", "--cpus", "app=1..8")
    assert found["answer"]["cost"] == 2
    assert [row["cost"] for row in found["pareto"]] == [2, 3]


def test_nodes_of_one_speed_cost_their_cpus(tmp_path: Path, capsys: Any) -> None:
    found = sized(capsys, written(tmp_path, "model.yaml", OPEN), "--objective", "mean < 1 s", "--cpus", "app=2..4")
    assert (found["cost_unit"] if "cost_unit" in found else found["answer"]["cost"]) in ("CPUs", 2)


def test_other_programs_and_the_hypervisor_count_over_all_turns_of_the_cpus() -> None:
    """The share of CPU time of other programs, and of the hypervisor, counts over all measurements of CPU kernels.

    Of two measurements of 50 s each, other programs used 42 - 40 and 31 - 30 s, 3 % in total. The hypervisor took 5 s,
    5 %. The third kernel writes files, so it does not count.
    """

    def turn(kernel: str, own: float, programs: float, stolen: float) -> RatingTurn:
        about = TurnConditions(total_s=50.0, own_s=own, programs_s=programs, stolen_s=stolen, clock_steps_per_s=1e9)
        return RatingTurn(kernel=kernel, mode="single", round=0, conditions=about)

    names = {kernel.area: name for name, kernel in KERNELS.items() if kernel.resource == "cpu"}
    turns = [turn(names["ciphers"], 40, 42, 5), turn(names["web_serving"], 30, 31, 0), turn(names["files"], 0, 50, 50)]
    measurement: Any = SimpleNamespace(turns=turns)
    found = [(str(doubt.kind), doubt.seen, doubt.limit) for doubt in _company(measurement)]
    assert found == [
        ("machine_busy", pytest.approx(0.03), 0.02),
        ("steal_time", pytest.approx(0.05), 0.02),
    ]
    assert list(_company(SimpleNamespace(turns=turns[2:]))) == []  # type: ignore[arg-type]


def test_draws_of_a_speed_scale_the_demands_of_its_stations() -> None:
    """In this random sample, the speed is two standard deviations above its median, so demands are divided by a factor.

    The speed has the 95 % interval from 1 to 4, so its logarithm has the standard deviation ln 4 / 2 / 1.96. The factor
    is exp(2 ln 4 / 2 / 1.96). It applies to all stations of the tier, but to no other tier.
    """
    fast, plain = Option(1, 2, 2.0, 1.0, 4.0, "fast"), Option(1, 2)
    question: Any = SimpleNamespace(
        draws=({"app": 1.5},),
        speed_draws={"fast": (2.0,)},
        tiers=[SimpleNamespace(stations=("app", "disk")), SimpleNamespace(stations=("db",))],
    )
    factor = np.exp(-2 * np.log(4) / 2 / stats.norm.ppf(0.975))
    found = Question.factors(question, (fast, plain), 0)
    assert found == {"app": pytest.approx(1.5 * factor), "disk": pytest.approx(factor)}


@pytest.mark.parametrize(
    ("season", "step", "count", "words"),
    [
        ("none", 1, 3, "must have from 4 to 100000 days for a season 'none', got 3"),
        ("none", 1, 4, None),
        ("weekly", 1, 9, "must have from 10 to 100000 days for a season 'weekly', got 9"),
        ("weekly", 1, 10, None),
        ("weekly", 7, 10, "must have all seven days of a week"),
        ("yearly", 30, 14, "must have from 15 to 100000 days for a season 'yearly', got 14"),
        ("yearly", 25, 15, None),
        ("yearly", 7, 15, "must have days of all twelve months"),
    ],
)
def test_a_history_has_three_days_more_than_parts_of_its_season(
    tmp_path: Path, season: str, step: int, count: int, words: str | None
) -> None:
    days = [START + timedelta(days=step * number) for number in range(count)]
    path = tmp_path / "h.csv"
    path.write_text("date,users\n" + "".join(f"{day},{100 + place}\n" for place, day in enumerate(days)), "utf-8")
    if words is None:
        assert len(read_history(path, "date", "users", season).days) == count
        return
    with pytest.raises(StudyError, match=words):
        read_history(path, "date", "users", season)
