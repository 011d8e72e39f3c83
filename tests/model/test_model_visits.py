from __future__ import annotations

from typing import Any

import pytest
from models import engine_model

from towtank.model import SimulationSettings, simulate_models, solve_models

Json = dict[str, Any]


def solved(classes: list[Json], stations: list[Json], **more: Any) -> Json:
    return dict(solve_models([engine_model(model(classes, stations, **more))])[0].solution.document())


def model(classes: list[Json], stations: list[Json], **more: Any) -> Json:
    return {"classes": [{"name": f"c{number}", **each} for number, each in enumerate(classes)],
            "stations": [{"name": f"s{number}", **each} for number, each in enumerate(stations)], **more}  # fmt: skip


def served(time_s: float, scv: float = 1.0, visits: float = 1.0, job_class: int = 0, **more: Any) -> Json:
    return {"class": f"c{job_class}", "service_time_s": time_s, "visits": visits, "variation": {"scv": scv}, **more}


def time_of_visits(rate: float, time_s: float, scv: float, visits: int) -> float:
    """Return the mean response time of M/G/1 with a fixed number of visits; for each visit, a job joins the end of the
    queue. [s]

    A Poisson arrival finds the mean number of jobs before each of their visits. A job that is ahead of the arrival at
    one visit is also ahead of it at the next visit, with one visit less left. All jobs that arrived in the meantime
    are ahead as well (B. Simon, Journal of the ACM 31(1), 1984). Waiting times and numbers of jobs follow from each
    other by Little's law.
    """
    waits = [time_s] * visits
    residual = time_s * (1 + scv) / 2
    busy = rate * time_s
    for _ in range(10_000):
        queue = [rate * wait for wait in waits]
        found = [sum(queue) * time_s + visits * busy * residual]
        ahead = [0.0, *(waiting + busy for waiting in queue[:-1])]
        for _ in range(visits - 1):
            ahead[0] = rate * (found[-1] + time_s)
            found.append(sum(ahead) * time_s)
            ahead = [0.0, *ahead[:-1]]
        waits = found
    return sum(waits) + visits * time_s


@pytest.mark.parametrize("scv", [0.0, 1 / 12, 4.0])
@pytest.mark.parametrize(("visits", "utilization"), [(2, 0.4), (2, 0.9), (5, 0.8), (10, 0.9)])
def test_the_same_number_of_visits_of_one_class_is_exact(scv: float, visits: int, utilization: float) -> None:
    rate = utilization / visits
    found = solved([{"arrival_rate_per_s": rate}], [{"services": [served(1.0, scv, visits)]}])
    assert found["exact"]
    assert found["classes"]["c0"]["response_time_s"] == pytest.approx(time_of_visits(rate, 1.0, scv, visits), rel=1e-9)


@pytest.mark.parametrize("scv", [0.0, 1 / 12, 4.0])
def test_numbers_of_visits_that_differ_are_exact(scv: float) -> None:
    """The exact solution must agree with the simulator in both cases.

    The cases are two classes with 2 and 10 visits, and a class with a random number of 2 or 3 visits.
    """
    settings = SimulationSettings(precision=0.02, events=400_000, seed=1)
    classes: list[Json] = [{"arrival_rate_per_s": 0.2}, {"arrival_rate_per_s": 0.04}]
    both = model(classes, [{"services": [served(1.0, scv, 2.0), served(1.0, scv, 10.0, 1)]}])
    chance = model([{"arrival_rate_per_s": 0.32}], [{"services": [served(1.0, scv, 2.5)]}])
    answers = [each.solution.document() for each in solve_models([engine_model(both), engine_model(chance)])]
    for answer, simulated in zip(
        answers, simulate_models([engine_model(both), engine_model(chance)], settings).answers, strict=True
    ):
        assert answer["exact"]
        for name, found in answer["classes"].items():
            least, most = simulated.classes[name].confidence_interval["response_time_s"]
            middle, half = (least + most) / 2, (most - least) / 2
            assert abs(found["response_time_s"] - middle) <= 2.2 * half


def test_the_equations_of_visits_agree_with_simulation_and_product_form() -> None:
    assert time_of_visits(0.3, 1.0, 1.0, 3) == pytest.approx(3.0 / (1 - 0.9), rel=1e-6)
    one = model([{"arrival_rate_per_s": 0.2}], [{"services": [served(1.0, 0.0, 3.0)]}])
    settings = SimulationSettings(precision=0.01, events=400_000, seed=1)
    simulated = simulate_models([engine_model(one)], settings).answers[0].document()["classes"]["c0"]["response_time_s"]
    assert simulated == pytest.approx(time_of_visits(0.2, 1.0, 0.0, 3), rel=0.03)


def test_exponential_visits_keep_product_form() -> None:
    found = solved([{"arrival_rate_per_s": 0.3}], [{"services": [served(1.0, 1.0, 3.0)]}])
    assert found["exact"]
    assert found["classes"]["c0"]["response_time_s"] == pytest.approx(3.0 / (1 - 0.9))


@pytest.mark.parametrize("preemptive", [False, True])
def test_ranks_are_not_exact_for_several_visits(preemptive: bool) -> None:
    classes: list[Json] = [{"arrival_rate_per_s": 0.15, "priority": 1}, {"arrival_rate_per_s": 0.3, "priority": 2}]
    station = {"discipline": "priority", "preemptive": preemptive}
    services = [served(1.0, 1.0, 3.0), served(1.0, job_class=1)]
    found = solved(classes, [{**station, "services": services}])
    assert not found["exact"]
    low, high = found["within"]["classes"]["c1"]["response_time_s"]
    assert low < found["classes"]["c1"]["response_time_s"] < high


def test_some_of_the_jobs_at_a_full_station() -> None:
    """Half of the 0.8 jobs/s visit an M/M/1/1 station with a service time of 1 s, so its offered load is a = 0.4.

    It drops the fraction a / (1 + a) of these jobs.
    """
    found = solved([{"arrival_rate_per_s": 0.8}], [{"capacity": 1, "services": [served(1.0, visits=0.5)]}])
    loss = 0.4 / 1.4
    assert found["exact"]
    assert found["stations"]["s0"]["loss_probability"] == pytest.approx(loss)
    assert found["classes"]["c0"]["dropped_per_s"] == pytest.approx(0.4 * loss)
    assert found["classes"]["c0"]["response_time_s"] == pytest.approx(loss / (0.8 - 0.4 * loss))


def test_a_job_that_comes_back_to_a_full_station_keeps_its_place() -> None:
    """An M/M/1/3 station with three successive visits of 1 s drops as many jobs as with a single visit of 3 s.

    1/3 job/s x 3 s is an offered load of 1, at which 1 of 4 jobs is dropped: 1/12 per second.
    """
    found = solved([{"arrival_rate_per_s": 1 / 3}], [{"capacity": 3, "services": [served(1.0, visits=3.0)]}])
    assert found["classes"]["c0"]["dropped_per_s"] == pytest.approx(1 / 12)
    assert found["stations"]["s0"]["utilization"] == pytest.approx(0.75)
    assert found["stations"]["s0"]["throughput_per_s"] == pytest.approx(0.75)


def test_measured_times_give_the_variation_of_service_times() -> None:
    """The measured times 1 and 3 s, scaled to the mean service time of 1 s, are 0.5 and 1.5 s.

    Their squared coefficient of variation is 0.5^2 = 0.25. So the response time of M/G/1 at 0.5 jobs/s is 1 + 0.5 x (1
    + 0.25) / 2 / (1 - 0.5) s.
    """
    samples = [{"station": "s0", "class": "c0", "values_s": [1.0, 3.0]}]
    found = solved([{"arrival_rate_per_s": 0.5}], [{"services": [served(1.0)]}], behaviour={"samples": samples})
    assert found["classes"]["c0"]["response_time_s"] == pytest.approx(1 + 0.5 * 1.25 / 2 / 0.5)


def test_arrivals_with_the_variation_of_exponential_times_are_not_poisson() -> None:
    arrivals = {"distribution": "lognormal", "scv": 1.0}
    found = solved([{"arrival_rate_per_s": 0.5, "arrivals": arrivals}], [{"services": [served(1.0)]}])
    low, high = found["within"]["classes"]["c0"]["response_time_s"]
    assert low < 2.0 < high
    services = [served(1.0, distribution="x") | {"variation": arrivals}]
    services[0].pop("distribution")
    assert not solved([{"users": 4}], [{"services": services}, {"services": [served(1.0)]}])["exact"]


def test_a_station_is_behind_those_from_which_routes_lead_to_it() -> None:
    """The file lists first the station that jobs visit second. Its arrivals are the departures of the other station.

    These departures are not Poisson, so the time at this station is approximate: its range has a positive width.
    """
    route = {"class": "c0", "start": {"s1": 1.0}, "next": {"s1": {"s0": 1.0}}}
    services = [{**served(1.0, scv), "visits": None} for scv in (0.25, 0.0)]
    found = solved([{"arrival_rate_per_s": 0.8}], [{"services": [each]} for each in services], routing=[route])
    low, high = found["within"]["stations"]["s0"]["residence_time_s.c0"]
    assert low < high


def test_a_class_that_is_not_poisson_disturbs_those_that_share_a_station_with_it() -> None:
    classes: list[Json] = [{"arrival_rate_per_s": 0.3}, {"arrival_rate_per_s": 0.5, "arrivals": {"scv": 4.0}}]
    stations = [
        {"discipline": "ps", "services": [served(1.0), served(1.0, job_class=1)]},
        {"discipline": "ps", "services": [served(1.0)]},
    ]
    low, high = solved(classes, stations)["within"]["stations"]["s1"]["residence_time_s.c0"]
    assert low < high


def test_hits_of_a_cache_between_visits_leave_ranks_inexact() -> None:
    classes: list[Json] = [{"arrival_rate_per_s": 0.3, "priority": 1}, {"arrival_rate_per_s": 0.15, "priority": 2}]
    services = [served(1.0, visits=1.0), served(1.0, visits=2.0, job_class=1)]
    station = {"discipline": "priority", "preemptive": True, "services": services}
    caches = [{"station": "s0", "hit_ratio": 0.5, "hit_time_s": 0.1}]
    assert not solved(classes, [station], behaviour={"caches": caches})["exact"]


def test_stations_before_the_first_that_is_not_of_product_form_are_exact_with_it() -> None:
    """M/M/1 followed by M/D/1: the response times are 1 / (1 - 0.5) s and 1 s + 0.5 s / 2 / (1 - 0.5)."""
    stations = [{"services": [served(1.0)]}, {"services": [served(1.0, 0.0)]}]
    found = solved([{"arrival_rate_per_s": 0.5}], stations)
    assert found["exact"]
    assert found["classes"]["c0"]["response_time_s"] == pytest.approx(2.0 + 1.5)
    behind = solved([{"arrival_rate_per_s": 0.5}], stations[::-1])
    assert not behind["exact"]
    assert not any("within 0 %" in warning for warning in behind["warnings"])


@pytest.mark.parametrize(
    ("classes", "services", "times"),
    [
        # The response times come from simulations of 20 million events, with errors below 2 %. If arrivals have equal
        # distances, jobs with several visits hardly wait.
        (({"rate": 0.16, "arrivals": {"scv": 0.0}},), ((1.0, 1.0, 5.0),), (6.88,)),
        (({"rate": 0.16, "arrivals": {"scv": 0.1}},), ((1.0, 0.0, 5.0),), (5.90,)),
    ],
)
def test_the_stated_range_of_several_visits_holds_the_simulated_time(
    classes: tuple[Json, ...], services: tuple[tuple[float, float, float], ...], times: tuple[float, ...]
) -> None:
    named = [
        {("arrival_rate_per_s" if key == "rate" else key): value for key, value in each.items()} for each in classes
    ]
    station = {"services": [served(*each, job_class=number) for number, each in enumerate(services)]}
    found = solved(named, [station])
    assert not found["exact"]
    for number, time_s in enumerate(times):
        low, high = found["within"]["classes"][f"c{number}"]["response_time_s"]
        assert low < time_s < high


@pytest.mark.parametrize(
    ("rates", "services", "times"),
    [
        # Simulated: 20 million events, within 2 %. The classes differ in their visits and their variation.
        ((0.04, 0.4), ((1.0, 4.0, 10.0), (1.0, 0.0, 1.0)), (55.5, 6.05)),
        ((0.04, 0.4), ((1.0, 0.0, 10.0), (1.0, 4.0, 1.0)), (54.9, 5.99)),
        ((0.04, 4.0), ((1.0, 0.0, 10.0), (0.1, 0.0, 1.0)), (43.1, 2.68)),
    ],
)
def test_classes_that_differ_in_their_visits_are_exact(
    rates: tuple[float, ...], services: tuple[tuple[float, float, float], ...], times: tuple[float, ...]
) -> None:
    station = {"services": [served(*each, job_class=number) for number, each in enumerate(services)]}
    found = solved([{"arrival_rate_per_s": rate} for rate in rates], [station])
    assert found["exact"]
    assert [each["response_time_s"] for each in found["classes"].values()] == pytest.approx(times, rel=0.02)


def looped(station: Json, chance: float, through: str = "", start: float = 1.0, **arrivals: Any) -> Json:
    """Solve one station to which jobs return with a probability, either at once or through a delay."""
    then = {"s0": {through or "s0": chance}}
    back = {through: {"s0": 1.0}} if through else {}
    first = {"s0": start, **({} if start == 1 else {"end": 1 - start})}
    route = {"class": "c0", "start": first, "next": {**then, **back}}
    services = [{**each, "visits": None} for each in station["services"]]
    delay = {"discipline": "delay", "services": [{**served(1.0), "visits": None}]}
    return solved([arrivals], [{**station, "services": services}, *([delay] if through else [])], routing=[route])


def test_a_loop_makes_the_work_of_constant_visits_random() -> None:
    """Each visit takes exactly 1 s, but a job returns with probability 1/2, so it makes a random number of visits.

    A job arrives every 2.5 s and makes 2 visits on average. The simulated response time of 3.59 s, of which 2 s are
    service, must lie in the stated range.
    """
    found = looped({"services": [served(1.0, 0.0)]}, 0.5, arrival_rate_per_s=0.4, arrivals={"scv": 0.0})
    assert found["classes"]["c0"]["response_time_s"] > 2.5
    low, high = found["within"]["classes"]["c0"]["response_time_s"]
    assert low < 3.59 < high


def test_a_station_to_which_jobs_come_back_through_another_is_not_exact() -> None:
    """Jobs that return through another station make the result approximate, except for a product form.

    In the first case, a job makes one visit on average. But it starts there with probability 0.3, and returns with
    probability 0.7, so its visits are not independent.
    """
    full = looped({"capacity": 2, "services": [served(1.0)]}, 0.7, through="s1", start=0.3, arrival_rate_per_s=0.8)
    assert not full["exact"]
    varied = looped({"services": [served(1.0, 4.0)]}, 0.5, through="s1", start=0.5, arrival_rate_per_s=0.8)
    assert not varied["exact"]
    product_form = looped({"services": [served(1.0)]}, 0.5, through="s1", start=0.5, arrival_rate_per_s=0.8)
    assert product_form["exact"]
