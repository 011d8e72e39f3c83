"""Published queueing networks, solved by the engine from model files.

The expected values (key `verified`) were computed by an independent method. Exact methods must agree within 1e-9.
"""

from __future__ import annotations

from typing import Any

import pytest
from cases import case
from models import closed, model, solved

EXACT = 1e-9


def near(expected: Any, tolerance: float = EXACT) -> Any:
    return pytest.approx(expected, rel=tolerance, abs=1e-12)


def throughput(answer: dict[str, Any]) -> list[float]:
    return [class_["throughput_per_s"] for class_ in answer["classes"].values()]


def response(answer: dict[str, Any]) -> list[float]:
    return [class_["response_time_s"] for class_ in answer["classes"].values()]


def stations(answer: dict[str, Any], key: str) -> list[float]:
    return [station[key] for station in answer["stations"].values()]


def jobs(answer: dict[str, Any]) -> list[list[float]]:
    """Return the mean number of jobs, by class and station."""
    return [
        [
            station["residence_time_s"].get(name, 0.0) * each["throughput_per_s"]
            for station in answer["stations"].values()
        ]
        for name, each in answer["classes"].items()
    ]


def single(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return a model with a single closed class, from service times and visits."""
    servers = inputs.get("servers", [1] * len(inputs["S"]))
    each = {}
    for index, (time, visits, count) in enumerate(zip(inputs["S"], inputs["V"], servers, strict=True)):
        kind = {"discipline": "delay"} if count == "delay" else {"servers": count}
        each[f"s{index}"] = {"service_time": time, "visits": visits, **kind}
    return model({"jobs": {"users": inputs["N"], "think": inputs.get("Z", 0.0)}}, each)


def several(users: list[int], demands: list[list[float]], think: list[float] | None = None) -> dict[str, Any]:
    """Return a model with closed classes c0, c1, ... at processor-sharing stations, from demands by class and
    station.
    """
    think = think or [0.0] * len(users)
    classes = {f"c{row}": {"users": count, "think": think[row]} for row, count in enumerate(users)}
    each = {
        f"s{column}": {"discipline": "ps", "demand": {f"c{row}": demands[row][column] for row in range(len(users))}}
        for column in range(len(demands[0]))
    }
    return model(classes, each)


def test_v01_operational_laws_of_a_measured_minute():
    known = case("V01")
    inputs, expected = known["inputs"], known["verified"]
    service = inputs["busy_s"] / inputs["completions"]
    assert service == near(expected["S"])
    answer = solved(
        model(
            {"jobs": {"rate": inputs["arrivals"] / inputs["T"]}},
            {"s": {"service_time": service}},
        )
    )
    assert (throughput(answer), stations(answer, "utilization")) == (near([expected["X"]]), near([expected["U"]]))


def test_v02_asymptotic_bounds_of_jain():
    known = case("V02")
    for users, expected in known["verified"]["exact_mva"].items():
        answer = solved(closed(int(users), known["inputs"]["D"], known["inputs"]["Z"]))
        assert (throughput(answer), response(answer)) == (near([expected["X"]]), near([expected["R"]]))
        assert answer["bounds"]["jobs"]["knee_users"] == near(known["verified"]["N_star"])
        assert answer["bounds"]["jobs"]["bottleneck"] == "s0"


def test_v03_asymptotic_bounds_of_two_centres():
    known = case("V03")
    bounds = solved(closed(known["inputs"]["N"], known["inputs"]["D"], known["inputs"]["Z"]))["bounds"]["jobs"]
    assert bounds["by_method"]["asymptotic"][1] == near(known["verified"]["X_upper"])
    lower = known["inputs"]["N"] / bounds["by_method"]["asymptotic"][1] - known["inputs"]["Z"]
    assert lower == near(known["verified"]["R_lower"])


@pytest.mark.parametrize("users", [2, 5, 10, 20, 80])
def test_v04_v05_proportional_and_geometric_bounds(users):
    proportional, geometric = case("V04")["verified"], case("V05")["verified"]
    demands = case("V05")["inputs"]["D"]
    for think, key in ((0.0, "Z0"), (1.0, "Z1")):
        answer = solved(closed(users, demands, think))
        exact = geometric[f"exact_{key}"][str(users)]
        methods = answer["bounds"]["jobs"]["by_method"]
        assert throughput(answer) == near([exact])
        assert methods["geometric"][0] == near(geometric[f"{key}_lower"][str(users)])
        assert all(low <= exact * (1 + 1e-12) and exact <= high * (1 + 1e-12) for low, high in methods.values())
        if think == 0.0:
            assert methods["proportional"] == near(proportional[str(users)])


@pytest.mark.parametrize("identity", ["V06", "V07", "V08", "V09"])
def test_v06_to_v09_single_class_networks(identity):
    known = case(identity)
    answer, expected = solved(single(known["inputs"])), known["verified"]
    assert answer["exact"] is True
    assert stations(answer, "queue_length") == near(expected["Q"])
    if "X" in expected:
        assert throughput(answer) == near([expected["X"]])
    if "X_per_centre" in expected:
        assert stations(answer, "throughput_per_s") == near(expected["X_per_centre"])
    if "R_system" in expected:
        assert response(answer) == near([expected["R_system"]])
    utilizations = expected.get("U", expected.get("U_per_server", []))
    assert stations(answer, "utilization")[: len(utilizations)] == near(utilizations)


def test_v10_bard_and_schweitzer_beside_the_exact_answer():
    known = case("V10")
    content = closed(known["inputs"]["N"], known["inputs"]["D"], known["inputs"]["Z"])
    for answer, expected in (
        (solved(content, "bard-schweitzer"), known["verified"]),
        (solved(content, "exact"), known["verified"]["exact"]),
    ):
        assert (throughput(answer), response(answer)) == (near([expected["X"]]), near([expected["R"]]))
        assert stations(answer, "queue_length") == near(expected["Q"])
    assert solved(content, "bard-schweitzer")["exact"] is False


def test_v11_repairmen_by_routing():
    known = case("V11")
    inputs, expected = known["inputs"], known["verified"]
    again, on = inputs["P"][0]
    answer = solved(
        model(
            {"jobs": {"users": inputs["N"]}},
            {
                "delay": {"discipline": "delay", "service_time": inputs["delay_mean"]},
                "queue": {"service_time": inputs["queue_mean"]},
            },
            routing={"jobs": {"start": {"delay": 1}, "delay": {"delay": again, "queue": on}, "queue": {"end": 1}}},
        )
    )
    queue = answer["stations"]["queue"]
    assert queue["queue_length"] == near(expected["Q_queue"])
    assert queue["utilization"] == near(expected["U_queue"])
    assert queue["throughput_per_s"] == near(expected["X_queue"])
    assert queue["residence_time_s"]["jobs"] == near(expected["R_queue"])
    assert answer["stations"]["delay"]["queue_length"] == near(expected["Q_delay"])


@pytest.mark.parametrize("identity", ["V12", "V13", "V14"])
def test_v12_to_v14_one_station_and_thinking(identity):
    known = case(identity)
    inputs, expected = known["inputs"], known["verified"]
    think = inputs["Z"] if "Z" in inputs else 1 / inputs["think_rate"]
    time = inputs["S"] if "S" in inputs else 1 / inputs["service_rate"]
    answer = solved(closed(inputs["N"], [time], think, servers=inputs.get("servers", 1)))
    assert throughput(answer) == near([expected["X"]])
    assert response(answer) == near([expected.get("R_queue", expected.get("R"))])
    assert stations(answer, "utilization") == near([expected.get("U_per_server", expected.get("U"))])
    assert stations(answer, "queue_length") == near([expected.get("Q_queue", expected.get("Q"))])


def test_v15_eight_servers_in_rational_arithmetic():
    known = case("V15")
    for users, expected in known["verified"]["R"].items():
        answer = solved(closed(int(users), [known["inputs"]["S"]], known["inputs"]["Z"], servers=8))
        assert response(answer) == near([expected])
        assert answer["exact"] is True


def test_v16_three_hundred_threads():
    known = case("V16")
    for users, expected in known["verified"]["X"].items():
        answer = solved(closed(int(users), [known["inputs"]["S"]], servers=known["inputs"]["servers"]))
        assert throughput(answer) == near([expected])


def test_v17_v18_two_classes_of_one_user_each():
    inputs, exact, near_it = case("V17")["inputs"], case("V17")["verified"], case("V18")["verified"]
    demands = [[v * s for v, s in zip(*rows, strict=True)] for rows in zip(inputs["V"], inputs["S"], strict=True)]
    answer = solved(several(inputs["N"], demands))
    assert (throughput(answer), jobs(answer)) == (near(exact["X"]), [near(row) for row in exact["Q"]])
    answer = solved(several(inputs["N"], case("V18")["inputs"]["D"]), "bard-schweitzer")
    assert (throughput(answer), response(answer)) == (near(near_it["X"]), near(near_it["R"]))
    assert jobs(answer) == [near(row) for row in near_it["Q"]]


@pytest.mark.parametrize("identity", ["V19", "V20"])
def test_v19_v20_apl_and_ims(identity):
    known = case(identity)
    inputs, expected = known["inputs"], known["verified"]
    answer = solved(several(inputs["N"], [[need] for need in inputs["D_cpu"]], inputs["Z"]))
    assert (throughput(answer), response(answer)) == (near(expected["X"]), near(expected["R"]))
    used = answer["stations"]["s0"]["utilization_by_class"]
    assert list(used.values()) == near(expected["U"])
    assert stations(answer, "queue_length") == near([expected["Q_cpu_total"]])


def test_v21_to_v23_multiclass_networks():
    inputs, expected = case("V21")["inputs"], case("V21")["verified"]
    demands = [[v * s for v, s in zip(*rows, strict=True)] for rows in zip(inputs["V"], inputs["S"], strict=True)]
    answer = solved(several(inputs["N"], demands))
    assert (throughput(answer), jobs(answer)) == (near(expected["X"]), [near(row) for row in expected["Q"]])
    for identity in ("V22", "V23"):
        inputs, expected = case(identity)["inputs"], case(identity)["verified"]
        answer = solved(several(inputs["N"], inputs["D"], inputs["Z"]))
        assert throughput(answer) == near(expected["X"])
        assert jobs(answer) == [near(row) for row in expected["Q"]]


@pytest.mark.parametrize("discipline", ["ps", "fcfs", "lcfs-pr"])
def test_v24_the_discipline_does_not_matter(discipline):
    inputs, expected = case("V24")["inputs"], case("V24")["verified"]
    classes = {
        "a": {"users": 2, "think": inputs["Z"][0], "think_distribution": "erlang", "think_scv": 0.5},
        "b": {"users": 2, "think": inputs["Z"][1], "think_distribution": "hyperexponential", "think_scv": 1.6},
    }
    answer = solved(model(classes, {"s": {"discipline": discipline, "demand": inputs["D"][0]}}))
    assert answer["exact"] is True
    assert (throughput(answer), response(answer)) == (near(expected["X"]), near(expected["R"]))


def test_v25_service_times_of_classes_differ_and_it_is_said():
    inputs, expected = case("V25")["inputs"], case("V25")["verified"]
    classes = {
        name: {"users": users, "think": 1 / rate}
        for name, users, rate in zip("ab", inputs["N"], inputs["think_rate"], strict=True)
    }
    times = {name: 1 / rate for name, rate in zip("ab", inputs["service_rate"], strict=True)}
    answer = solved(model(classes, {"s": {"servers": inputs["servers"], "demand": times}}))
    assert answer["exact"] is False
    assert "approximate" in answer["warnings"][0]
    # The published approximate throughputs differ from the exact values by up to 8.5 % (20.7 % for the second class).
    assert throughput(answer) == near(expected["X"], 0.08)


@pytest.mark.parametrize("identity", ["V27", "V29"])
def test_v27_v29_open_networks(identity):
    inputs, expected = case(identity)["inputs"], case(identity)["verified"]
    each = {
        f"s{index}": {"visits": visits, "service_time": time}
        for index, (visits, time) in enumerate(zip(inputs["V"], inputs["S"], strict=True))
    }
    answer = solved(model({"jobs": {"rate": inputs["lam"]}}, each))
    assert answer["exact"] is True
    assert stations(answer, "utilization") == near(expected["U"])
    assert response(answer) == near([expected["R_system"]])
    if "Q_cpu" in expected:
        assert answer["stations"]["s0"]["queue_length"] == near(expected["Q_cpu"])


def routed(matrix: list[list[float]], start: list[float]) -> dict[str, dict[str, float]]:
    """Return the routing of a model, from a matrix of transition probabilities and the external arrival rate at each
    station.
    """
    rows = {f"s{i}": {f"s{j}": p for j, p in enumerate(row) if p} for i, row in enumerate(matrix)}
    return {"start": {f"s{i}": rate / sum(start) for i, rate in enumerate(start) if rate}, **rows}


def test_v28_jackson_network_with_feedback():
    inputs, expected = case("V28")["inputs"], case("V28")["verified"]
    each = {f"s{index}": {"service_time": time} for index, time in enumerate(inputs["S"])}
    # All row sums of the published matrix are 1, except the sum of the third row, so jobs leave the network only from
    # the third station.
    route = routed(inputs["P"], inputs["lam"])
    answer = solved(model({"jobs": {"rate": sum(inputs["lam"])}}, each, routing={"jobs": route}))
    assert stations(answer, "throughput_per_s") == near(expected["X"])
    assert stations(answer, "utilization") == near(expected["U"])
    assert stations(answer, "queue_length") == near(expected["Q"])


def test_v30_two_open_classes():
    inputs, expected = case("V30")["inputs"], case("V30")["verified"]
    classes = {name: {"rate": rate} for name, rate in zip("AB", inputs["lam"], strict=True)}
    each = {
        f"s{k}": {
            "discipline": "ps",
            "visits": {"A": inputs["V"][0][k], "B": inputs["V"][1][k]},
            "service_time": {"A": inputs["S"][0][k], "B": inputs["S"][1][k]},
        }
        for k in range(2)
    }
    answer = solved(model(classes, each))
    assert answer["stations"]["s0"]["utilization_by_class"]["A"] == near(expected["U_cpu_A"])
    assert answer["stations"]["s0"]["residence_time_s"]["A"] == near(expected["residence_cpu_A"])
    assert jobs(answer)[0][0] == near(expected["Q_cpu_A"])
    assert answer["classes"]["A"]["response_time_s"] == near(expected["R_A"])
    assert stations(answer, "utilization") == near(expected["rho"])


def test_v31_mixed_network_of_four_classes():
    inputs, expected = case("V31")["inputs"], case("V31")["verified"]
    classes = {f"o{r}": {"rate": rate} for r, rate in enumerate(inputs["lam"])}
    classes |= {f"c{r}": {"users": users} for r, users in enumerate(inputs["N"])}
    times = {f"o{r}": row for r, row in enumerate(inputs["S_open"])}
    times |= {f"c{r}": row for r, row in enumerate(inputs["S_closed"])}
    each = {f"s{k}": {"discipline": "ps", "demand": {name: row[k] for name, row in times.items()}} for k in range(2)}
    answer = solved(model(classes, each))
    assert throughput(answer)[2:] == near(expected["X_closed"])
    assert jobs(answer) == [near(row) for row in [*expected["Q_open"], *expected["Q_closed"]]]


def test_v32_mixed_network_of_schwetman():
    inputs, expected = case("V32")["inputs"], case("V32")["verified"]
    each = {
        "cpu": {"discipline": "ps", "demand": {"open": inputs["S_open"][0], "closed": inputs["S_closed"][0]}},
        "disk": {"demand": {"closed": inputs["S_closed"][1]}},
    }
    answer = solved(model({"open": {"rate": inputs["lam"]}, "closed": {"users": inputs["N"]}}, each))
    assert response(answer)[0] == near(expected["R_open"])
    assert throughput(answer)[1] == near(expected["X_closed"])
    assert [station["residence_time_s"]["closed"] for station in answer["stations"].values()] == near(
        expected["R_closed"]
    )


def test_v33_two_open_classes_with_routing():
    inputs, expected = case("V33")["inputs"], case("V33")["verified"]
    each = {
        f"s{k}": {"discipline": "ps", "service_time": {"a": inputs["S"][0][k], "b": inputs["S"][1][k]}}
        for k in range(3)
    }
    routing = {
        name: routed(inputs[key], inputs["lam"][row])
        for row, (name, key) in enumerate((("a", "P_class1"), ("b", "P_class2")))
    }
    answer = solved(model({"a": {"rate": 1.0}, "b": {"rate": 1.0}}, each, routing=routing))
    assert stations(answer, "utilization") == near(expected["U_total"])
    assert jobs(answer) == [near(row) for row in expected["Q"]]


@pytest.mark.parametrize("identity", ["V34", "V35", "V37"])
def test_v34_to_v37_many_servers(identity):
    inputs, expected = case(identity)["inputs"], case(identity)["verified"]
    rate = inputs.get("lam", inputs.get("lam_per_min"))
    time = 1 / inputs["mu"] if "mu" in inputs else inputs["S_min"]
    answer = solved(model({"jobs": {"rate": rate}}, {"s": {"servers": inputs["c"], "demand": time}}))
    assert answer["exact"] is True
    assert stations(answer, "queue_length") == near([expected["L"]])
    assert response(answer)[0] - time == near(expected.get("Wq", expected.get("Wq_min")))


def test_v36_erlang_c():
    known = case("V36")
    for (servers, utilization), expected in zip(known["inputs"]["cases"], known["verified"]["C"], strict=True):
        answer = solved(model({"jobs": {"rate": servers * utilization}}, {"s": {"servers": servers, "demand": 1.0}}))
        waiting = stations(answer, "queue_length")[0] - servers * utilization
        # If Erlang's C is near 1e-5, the waiting number is a difference of two numbers near 4, which loses digits.
        # Therefore an absolute tolerance is needed.
        assert waiting * (1 - utilization) / utilization == pytest.approx(expected, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("identity", ["V38", "V39", "V40"])
def test_v38_to_v40_finite_queues(identity):
    inputs, expected = case(identity)["inputs"], case(identity)["verified"]
    station = {"servers": inputs["c"], "capacity": inputs["K"], "demand": 1 / inputs["mu"]}
    answer = solved(model({"jobs": {"rate": inputs["lam"]}}, {"s": station}))
    assert answer["exact"] is True
    assert answer["stations"]["s"]["loss_probability"] == near(expected["pK"])
    assert throughput(answer) == near([expected["X"]])
    assert answer["classes"]["jobs"]["dropped_per_s"] == near(inputs["lam"] - expected["X"])
    assert stations(answer, "queue_length") == near([expected["L"]])
    assert response(answer) == near([expected["R"]])
    assert stations(answer, "utilization") == near([expected["U"]])


def test_v41_variable_service_times():
    inputs, expected = case("V41")["inputs"], case("V41")["verified"]
    for discipline in ("fcfs", "ps"):
        station = {"discipline": discipline, "demand": 0.5, "scv": expected["SCV"]}
        answer = solved(model({"jobs": {"rate": inputs["lam"]}}, {"s": station}))
        assert answer["exact"] is True
        assert response(answer) == near([expected[discipline.upper()]["R"]])
        assert stations(answer, "queue_length") == near([expected[discipline.upper()]["L"]])


def test_v66_closed_models_of_pdq():
    verified = case("V66")["verified"]
    for name in ("pdq_httpd", "pdq_mm1n"):
        inputs, expected = verified[name]["inputs"], verified[name]
        answer = solved(closed(inputs["N"], inputs["D"], inputs["Z"]))
        assert (throughput(answer), response(answer)) == (near([expected["X"]]), near([expected["R"]]))
        assert stations(answer, "utilization") == near(expected["U"])
    demands = [0.0098, 0.0025, 0.00072, 0.0098]
    for users, expected in verified["pdq_ebiz"].items():
        answer = solved(closed(int(users), demands))
        assert (throughput(answer), response(answer)) == (near([expected["X"]]), near([expected["R"]]))
        assert stations(answer, "queue_length") == near(expected["Q"])
    cluster = verified["pdq_dbcluster"]
    demands = [0.10 / 15] * 15 + [0.60 / 50] * 50 + [1.20 / 100] * 100
    answer = solved(closed(cluster["inputs"]["N"], demands, cluster["inputs"]["Z"]))
    assert (throughput(answer), response(answer)) == (near([cluster["X"]]), near([cluster["R"]]))
    allen = verified["allen_6_3_4"]
    answer = solved(several(allen["inputs"]["N"], allen["inputs"]["D"], allen["inputs"]["Z"]))
    assert (throughput(answer), response(answer)) == (near(allen["X"]), near(allen["R"]))
    assert stations(answer, "utilization") == near(allen["U"])


def test_v66_open_models_of_pdq():
    verified = case("V66")["verified"]
    passport = verified["pdq_passport"]
    each = {f"s{index}": {"demand": demand} for index, demand in enumerate(passport["inputs"]["D"])}
    answer = solved(model({"jobs": {"rate": passport["inputs"]["lam"]}}, each))
    assert response(answer) == near([passport["R"]])
    assert [station["residence_time_s"]["jobs"] for station in answer["stations"].values()] == near(
        passport["residence"]
    )
    spam = verified["pdq_spamcan_MM4"]
    answer = solved(
        model({"jobs": {"rate": spam["inputs"]["lam"]}}, {"s": {"servers": spam["inputs"]["c"], "demand": 6.0}})
    )
    assert (response(answer), stations(answer, "queue_length")) == (near([spam["W"]]), near([spam["L"]]))
    disks = verified["pdq_diskoptim"]
    share = disks["f_opt"]
    each = {
        "fast": {"visits": share, "service_time": disks["inputs"]["fast"]},
        "slow": {"visits": 1 - share, "service_time": disks["inputs"]["slow"]},
    }
    answer = solved(model({"jobs": {"rate": disks["inputs"]["rate"]}}, each))
    assert response(answer) == near([disks["R_opt"]])
