from __future__ import annotations

import math
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from cases import case
from certification import Tabled
from certified_shares import record_share

from towtank.errors import StudyError
from towtank.model import Station, load_model, solve_models
from towtank.model.percentiles import EXACT_PERCENTILES, erlang_b, erlang_c, mmm_percentile, response_percentiles
from towtank.model.stations import stations_of
from towtank.sizing.growth import GivenGrowth, HistoricGrowth, highest_drawn, highest_factor, reached
from towtank.sizing.history import History, read_history
from towtank.sizing.quantities import YEAR_D
from towtank.sizing.resources import square_root_staffing, staffing_factor


def exact_erlang_c(servers: int, work: float) -> float:
    """Return Erlang C from the textbook sum in exact fractions; Towtank uses a recursion in floating point."""
    from fractions import Fraction  # noqa: PLC0415

    a = Fraction(work)
    last = a**servers / math.factorial(servers) / (1 - a / servers)
    return float(last / (sum(a**k / math.factorial(k) for k in range(servers)) + last))


@pytest.mark.parametrize(("servers", "work"), [(1, 0.5), (2, 1.0), (14, 10.0), (120, 100.0), (400, 390.0)])
def test_erlang_c_is_the_sum_of_the_textbook(servers: int, work: float) -> None:
    assert erlang_c(servers, work) == pytest.approx(exact_erlang_c(servers, work), rel=1e-12)


def test_erlang_c_of_librede() -> None:
    published = case("V36")
    for (servers, utilization), value in zip(published["inputs"]["cases"], published["verified"]["C"], strict=True):
        assert erlang_c(servers, servers * utilization) == pytest.approx(value, rel=1e-9)


def test_erlang_c_of_a_published_table() -> None:
    """For 10 erlang, 14 is the smallest number of servers at which at most 20 % of the arrivals wait.

    17.4 % wait with 14 servers and 28.5 % with 13 (Erlang C tables, as in R. B. Cooper, *Introduction to Queueing
    Theory*, 2nd ed., North-Holland, 1981, section 3.4; recomputed with exact fractions).
    """
    assert erlang_c(14, 10.0) == pytest.approx(0.174, abs=5e-4)
    assert erlang_c(13, 10.0) == pytest.approx(0.285, abs=5e-4)
    assert next(m for m in range(11, 30) if erlang_c(m, 10.0) <= 0.2) == 14


def test_erlang_b_of_one_server() -> None:
    assert erlang_b(1, 0.5) == pytest.approx(1 / 3, rel=1e-12)


@pytest.mark.parametrize("waits", [0.05, 0.1, 0.2, 0.5, 0.8])
def test_square_root_staffing_reaches_the_share_that_waits_as_the_work_grows(waits: float) -> None:
    """Square-root staffing gives the number of servers for a requested fraction of arrivals that wait.

    By the limit theorem of Halfin and Whitt (1981), it is exact in the limit of large work. At 10,000 erlang, the
    fraction by Erlang C differs from the requested one by at most 2 %.
    """
    work = 10_000.0
    servers = work + staffing_factor(waits) * math.sqrt(work)
    low, high = erlang_c(math.ceil(servers), work), erlang_c(math.floor(servers), work)
    assert low <= 1.02 * waits
    assert high >= 0.98 * waits
    assert square_root_staffing(work, waits) == math.ceil(servers)


def test_the_staffing_factor_of_one_half() -> None:
    """For alpha = 1/2, beta Phi(beta) = phi(beta) gives beta = 0.5061; table 1 of Halfin and Whitt (1981) prints
    0.506.
    """
    assert staffing_factor(0.5) == pytest.approx(0.506, abs=5e-4)


def test_percentiles_of_mm1_are_exponential() -> None:
    """The response time of M/M/1 is exponential with rate mu - lambda, so its 95th percentile is ln 20 / (mu -
    lambda).
    """
    assert mmm_percentile(8.0, 0.1, 1, 0.95) == pytest.approx(math.log(20) / 2, rel=1e-9)


def test_percentiles_of_mmm_where_both_rates_are_equal() -> None:
    """If m mu - lambda = mu, the response time of M/M/m has P(T > t) = (1 - C + C (1 + mu t)) exp(-mu t), with Erlang's
    C.
    """
    found = mmm_percentile(10.0, 0.1, 2, 0.9)
    waits = erlang_c(2, 1.0)
    assert (1 - waits + waits * (1 + 10 * found)) * math.exp(-10 * found) == pytest.approx(0.1, rel=1e-9)


def percentile(tmp_path: Path, text: str, name: str, share: float) -> tuple[float, str]:
    path = tmp_path / "model.yaml"
    path.write_text(text, "utf-8")
    model = load_model(path).document
    answer = solve_models([model])[0].solution
    found, method = response_percentiles(model, answer, stations_of(answer), name)
    return found(share), method


def test_an_open_queue_has_exact_percentiles(tmp_path: Path) -> None:
    text = "classes: {a: {rate: 8 /s}}\nstations:\n  q: {servers: 1, demand: 100 ms}\n"
    found, method = percentile(tmp_path, text, "a", 0.95)
    assert (found, method) == (pytest.approx(math.log(20) / 2, rel=1e-9), EXACT_PERCENTILES)


def test_two_equal_queues_in_a_row_have_erlang_percentiles(tmp_path: Path) -> None:
    """By Burke's theorem, the time in two M/M/1 queues in a row is Erlang-2 distributed, which is also a gamma
    distribution.

    So the approximation by a gamma distribution is exact here: P(T > t) = (1 + theta t) exp(-theta t).
    """
    text = "classes: {a: {rate: 8 /s}}\nstations:\n  p: {demand: 100 ms}\n  q: {demand: 100 ms}\n"
    found, method = percentile(tmp_path, text, "a", 0.95)
    assert method != EXACT_PERCENTILES
    assert (1 + 2 * found) * math.exp(-2 * found) == pytest.approx(0.05, rel=1e-6)


def test_growth_given_reaches_a_limit_by_logarithms() -> None:
    """At 20 % a year the load doubles in ln 2 / ln 1.2 = 3.80 years. The growth has no uncertainty, so the day is
    certain.
    """
    start = date(2026, 1, 1)
    found = reached(GivenGrowth(1.2, 1.2, 1.2), start, [2.0], 0.1)
    days = math.log(2) / math.log(1.2) * YEAR_D
    assert found.days == math.floor(days) + 1
    assert found.day == found.expected == start + timedelta(days=math.floor(days) + 1)


def test_growth_with_an_interval_reaches_it_earlier_with_a_small_chance() -> None:
    start = date(2026, 1, 1)
    growing = GivenGrowth(1.2, 1.1, 1.3)
    found = reached(growing, start, [2.0], 0.1)
    assert found.day is not None and found.expected is not None
    assert found.day < found.expected
    then, before = (growing.chances_above((found.days or 0) - back, np.array([2.0]))[0] for back in (0, 1))
    assert then > 0.1 >= before


@pytest.mark.parametrize("ends", [(1.15, 4.0), (1.1, 1.3), (0.8, 1.21), (1.2, 1.5), (1.0, 1.2)])
def test_given_growth_has_the_three_given_numbers_as_quantiles(ends: tuple[float, float]) -> None:
    growing = GivenGrowth(1.2, *ends)
    assert growing.interval(YEAR_D) == pytest.approx(ends, rel=1e-12)
    drawn = growing.drawn(YEAR_D, np.array([0.025, 0.5, 0.975]))
    assert drawn == pytest.approx([ends[0], 1.2, ends[1]], rel=1e-9)
    for end, chance, known in ((ends[0], 0.975, ends[0] < 1.2), (ends[1], 0.025, ends[1] > 1.2)):
        if known:
            assert growing.chances_above(YEAR_D, np.array([end]))[0] == pytest.approx(chance, rel=1e-9)


def test_chances_of_given_growth_are_those_of_a_log_normal_of_two_pieces() -> None:
    growing = GivenGrowth(1.2, 1.15, 4.0)
    # The growth factor g has the median 1.2. Above the median, ln g is normal with the standard deviation ln(4 / 1.2) /
    # 1.96; below the median, with ln(1.2 / 1.15) / 1.96.
    for factor, width in ((2.298, math.log(4 / 1.2)), (1.17, math.log(1.2 / 1.15))):
        score = math.log(factor / 1.2) / width * 1.959963984540054
        chance = 0.5 * math.erfc(score / math.sqrt(2))
        assert growing.chances_above(YEAR_D, np.array([factor]))[0] == pytest.approx(chance, rel=1e-9)
    assert growing.chances_above(YEAR_D, np.array([2.298]))[0] == pytest.approx(0.145, abs=0.001)
    shares = np.linspace(0.01, 0.99, 99)
    for days in (30.0, YEAR_D, 2 * YEAR_D):
        back = growing.chances_above(days, growing.drawn(days, shares))
        assert back == pytest.approx(1 - shares, abs=1e-9)


def test_a_growth_equal_to_an_end_of_its_interval_has_half_of_the_probability() -> None:
    growing = GivenGrowth(1.2, 1.2, 1.5)
    assert growing.chances_above(YEAR_D, np.array([1.19, 1.21])) == pytest.approx(
        [1.0, 0.5 * math.erfc(math.log(1.21 / 1.2) / math.log(1.5 / 1.2) * 1.959963984540054 / math.sqrt(2))]
    )


def test_a_load_that_shrinks_reaches_nothing() -> None:
    assert reached(GivenGrowth(0.9, 0.9, 0.9), date(2026, 1, 1), [1.5], 0.1).day is None


def history(days: int, season: str, factors: list[float] | None = None) -> History:
    start = date(2024, 1, 1)
    each = tuple(start + timedelta(days=n) for n in range(days))
    weekly = np.array([(factors or [1.0] * 7)[day.weekday()] for day in each])
    return History(each, 100 * np.exp(0.001 * np.arange(days)) * weekly, season)


def test_a_history_on_a_line_is_found_again() -> None:
    found = HistoricGrowth(history(100, "none"), date(2024, 4, 9))
    assert found.yearly == pytest.approx(math.exp(0.001 * YEAR_D), rel=1e-9)
    assert found.factor(100) == pytest.approx(math.exp(0.1), rel=1e-9)


def test_a_week_has_a_season() -> None:
    factors = [1.0, 1.0, 1.0, 1.0, 2.0, 0.5, 0.5]
    found = HistoricGrowth(history(98, "weekly", factors), date(2024, 4, 8))  # a Monday
    assert found.history.slope == pytest.approx(0.001, rel=1e-9)
    # The week ends 28 days after the start. The highest load of the week is on its Friday, 25 days after the start.
    assert found.factor(28) == pytest.approx(2 * math.exp(0.025), rel=1e-6)


@pytest.mark.waits
@pytest.mark.certify
def test_prediction_intervals_cover_as_often_as_they_say(tabled: Tabled) -> None:
    """For 1,000 noisy histories of 40 days, the 95 % prediction interval must contain the load of day 60 in about 95 %
    of the cases.
    """
    stream = np.random.default_rng(7)
    start = date(2024, 1, 1)
    days = tuple(start + timedelta(days=n) for n in range(40))
    inside = 0
    for _ in range(1000):
        logs = 4 + 0.01 * np.arange(40) + 0.1 * stream.standard_normal(40)
        found = History(days, np.exp(logs), "none")
        then = [start + timedelta(days=60)]
        value = 4 + 0.01 * 60 + 0.1 * stream.standard_normal()
        from scipy.stats import t  # noqa: PLC0415

        width = t.ppf(0.975, found.freedom) * found.deviation(then)[0]
        inside += abs(value - found.level(then)[0]) <= width
    # Each of 1,000 intervals contains the load with probability 0.95. Three standard deviations of the count are 21, so
    # from 929 to 971 intervals may contain the load.
    record_share(tabled, "load of day 60", "history of 40 days, noise of 10 %", int(inside), 1000, least=0.929)
    assert inside <= 971


def test_a_history_with_faults_reports_all_of_them(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text("date,users\n2026-01-01,10\n2026-02-30,11\n2026-01-03,many\n2026-01-04,0\n2026-01-01,12\n", "utf-8")
    with pytest.raises(StudyError) as caught:
        read_history(path, "date", "users", "none")
    assert [(fault.line, fault.where) for fault in caught.value.faults] == [
        (3, "date"), (4, "users"), (5, "users"), (6, "date"),
    ]  # fmt: skip


def test_the_step_of_a_season_can_be_done_by_hand() -> None:
    from towtank.sizing.load import _grown  # noqa: PLC0415
    from towtank.sizing.steps import Steps  # noqa: PLC0415

    factors = [1.0, 1.0, 1.0, 1.0, 2.0, 0.5, 0.5]
    growing = HistoricGrowth(history(98, "weekly", factors), date(2024, 4, 8))
    steps = Steps()
    grown = _grown(steps, growing, 28, (300.0, "users"))
    step = steps.made[0]
    assert step.formula == "N f"
    assert step.value == pytest.approx(step.values["N"] * step.values["f"])
    assert grown == pytest.approx(2 * math.exp(0.025), rel=1e-6)


def yearly(rate: float, peak: float) -> History:
    """Return a load on the first day of each month for five years; the load in December is `peak` times as high."""
    each = tuple(date(2021 + month // 12, 1 + month % 12, 1) for month in range(60))
    loads = [100 * (1 + rate) ** ((day - each[0]).days / YEAR_D) * (peak if day.month == 12 else 1) for day in each]
    return History(each, np.array(loads), "yearly")


@pytest.mark.parametrize(("rate", "years"), [(-0.1, 0), (0.1, 2)])
def test_the_highest_month_until_the_horizon_is_the_first_of_a_load_that_shrinks(rate: float, years: int) -> None:
    """The highest load until the horizon is in a December, which has twice the load of the other months.

    The horizon is three years from January. A falling load is highest on the first day of the first December, a growing
    load on the last day of the last December.
    """
    start = date(2026, 1, 1)
    growing = HistoricGrowth(yearly(rate, 2.0), start)
    assert growing.yearly == pytest.approx(1 + rate, rel=1e-6)
    days = 3 * YEAR_D
    peak = date(2026 + years, 12, 1) if rate < 0 else date(2026 + years, 12, 31)
    truth = 2 * (1 + rate) ** ((peak - start).days / YEAR_D)
    assert highest_factor(growing, days) == pytest.approx(truth, rel=1e-6)
    assert highest_drawn(growing, days, np.array([0.5]))[0] == pytest.approx(truth, rel=1e-6)
    # The table of dates must agree: a limit just below the highest load is first exceeded in that month.
    found = reached(growing, start, [0.99 * truth], 0.5)
    assert found.day is not None
    assert (found.day.year, found.day.month) == (2026 + years, 12)


def test_a_demand_that_depends_on_the_load_is_scaled_with_its_servers() -> None:
    """Service rates of two servers, converted to five servers, are those of a fitted curve with five servers.

    The demand depends on the utilization u: D(u) = D (1 + (r - 1) (1 - u)). The ratio r of the demands at u = 0 and u =
    1 must stay the same.
    """
    from towtank.model.fitting.dependent_curve import DependentCurve  # noqa: PLC0415
    from towtank.model.stations import rates_with_servers, servers_of  # noqa: PLC0415

    parameters = np.array([0.03, 0.05, 1.6])
    of_two = list(DependentCurve(2, 1.0).rates(parameters))
    assert servers_of(Station("s", rates=of_two)) == 2
    assert rates_with_servers(of_two, 5) == pytest.approx(list(DependentCurve(5, 1.0).rates(parameters)), rel=1e-12)
    assert servers_of(Station("s", rates=[1.0, 1.5, 1.7])) is None
    assert servers_of(Station("s", servers=7)) == 7


def test_a_transaction_without_service_time_waits_at_a_queue_like_its_neighbours(tmp_path: Path) -> None:
    """A transaction without service time only waits: its residence time is waiting time.

    So each of its percentiles is below the same percentile of a transaction with service time.
    """
    text = (
        "classes:\n  users:\n    users: 30\n    transactions:\n"
        "      read: {share: 50 %, think: 1 s}\n      list: {share: 50 %, think: 1 s}\n"
        "stations:\n  content: {servers: 1, discipline: fcfs, demand: {read: 30 ms, list: 0 ms}}\n"
    )
    for share in (0.5, 0.95, 0.99):
        without, with_service = (percentile(tmp_path, text, name, share)[0] for name in ("list", "read"))
        assert 0 < without < with_service


@pytest.mark.parametrize(("rate", "simulated", "tolerance"), [(8.0, 1.32, 0.05), (5.0, 0.466, 0.12)])
def test_percentiles_of_shared_servers_vary_though_every_job_is_alike(
    tmp_path: Path, rate: float, simulated: float, tolerance: float
) -> None:
    """The computed p95 of an M/D/1 queue with processor sharing is compared with that of a separate simulation.

    All jobs have a service time of 0.1 s, so the response time varies only with the number of jobs that share the
    server. Its mean is 0.5 s at 8 /s and 0.2 s at 5 /s.
    """
    text = f"classes: {{a: {{rate: {rate} /s}}}}\nstations:\n  q: {{discipline: ps, demand: 100 ms, scv: 0}}\n"
    found, _ = percentile(tmp_path, text, "a", 0.95)
    assert found == pytest.approx(simulated, rel=tolerance)
