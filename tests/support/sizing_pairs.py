"""Pairs of statements of one sizing that must not contradict each other, and questions that are drawn at random."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

Json = dict[str, Any]
Rule = Callable[[Json], Iterator[str]]
_TOLERANCE = 1e-6
# Words of a what-if question that changes the load.
_LOADS = ("users", "rate")
_LIMIT = 0.003
"""A limit is bisected to 1 in 1,000, on both sides of a comparison. [ratio]"""


def _rows(document: Json) -> Iterator[Json]:
    """The answer, the candidates beside it, and the what-if rows: everything with objectives and a probability."""
    for key in ("answer", "next_cheaper", "strongest"):
        if document[key] is not None:
            yield document[key]
    yield from (*document.get("neighbours", ()), *document["pareto"])
    yield from (row for row in document["what_if"] if "refused" not in row)


def probability_and_asked(document: Json) -> Iterator[str]:
    """An answer has the probability that was asked for."""
    answer = document["answer"]
    if answer and answer["probability"] is not None and answer["probability"] < document["probability_asked"]:
        yield f"{answer['probability']} of {document['probability_asked']} asked"


def probability_and_dates(document: Json) -> Iterator[str]:
    """What holds until the horizon with its probability is not missed before."""
    row = next((row for row in document["dates"] if row["what"] == "the answer"), None)
    if row is None or row["days"] is None:
        return
    if row["days"] <= document["_horizon_d"]:
        yield f"holds until day {document['_horizon_d']:.0f}, missed from day {row['days']}"
    if row["missed_from"] and row["chance"] < 0.5 and row["expected_on"] and row["missed_from"] > row["expected_on"]:
        yield f"chance of {row['chance']} from {row['missed_from']}, of one half from {row['expected_on']}"


def dates_and_their_interval(document: Json) -> Iterator[str]:
    """The expected day lies in its interval."""
    for row in document["dates"]:
        known = row["expected_interval"]
        if known is None or row["expected_on"] is None:
            continue
        if known["low"] is None or known["low"] > row["expected_on"]:
            yield f"{row['what']}: expected on {row['expected_on']}, not before {known['low']}"
        if known["high"] is not None and known["high"] < row["expected_on"]:
            yield f"{row['what']}: expected on {row['expected_on']}, not after {known['high']}"


def answer_and_dates(document: Json) -> Iterator[str]:
    """The load that the answer carries is the same in the table of dates."""
    row = next((row for row in document["dates"] if row["what"] == "the answer"), None)
    if row is not None:
        carried = document["answer"]["load_at_limit"]
        if abs(row["limit"] / carried - 1) > _LIMIT:
            yield f"carries {carried}, in the table of dates {row['limit']}"


def answer_and_limit(document: Json) -> Iterator[str]:
    """An answer carries at least its load; its first bottleneck limits it there."""
    answer = document["answer"]
    if answer is None:
        return
    asked = sum((document["load"]["users"] or document["load"]["rate_per_s"]).values())
    if answer["load_at_limit"] < asked * (1 - _LIMIT):
        yield f"carries {answer['load_at_limit']}, asked {asked}"
    if abs((1 + answer["headroom"]) * asked / answer["load_at_limit"] - 1) > _TOLERANCE:
        yield f"headroom {answer['headroom']} of {asked} is not {answer['load_at_limit']}"
    first = document["bottlenecks"][0]
    if abs(first["load"] / answer["load_at_limit"] - 1) > _TOLERANCE:
        yield f"the bottleneck is at {first['load']}, the limit at {answer['load_at_limit']}"


def answer_and_what_if(document: Json) -> Iterator[str]:
    """`as it is` is the hardware that runs; equal hardware under equal load has equal values."""
    rows = [row for row in document["what_if"] if "refused" not in row]
    if rows and (rows[0]["what_if"], rows[0]["hardware"]) != ("as it is", "the hardware that runs"):
        yield f"first row {rows[0]['what_if']} of {rows[0]['hardware']}"
    if rows and rows[0]["configuration"] != document["_runs"]:
        yield f"as it is {rows[0]['configuration']}, the model has {document['_runs']}"
    answer = document["answer"]
    if not rows or answer is None or answer["configuration"] != rows[0]["configuration"] or document["nodes_lost"]:
        return
    for one, other in zip(answer["objectives"], rows[0]["objectives"], strict=True):
        if one["value"] != other["value"] or one["interval"] != other["interval"]:
            yield f"{one['objective']}: {one['shown']} in the answer, {other['shown']} as it is"
    if answer["probability"] != rows[0]["probability"]:
        yield f"probability {answer['probability']}, as it is {rows[0]['probability']}"


def what_if_and_hardware(document: Json) -> Iterator[str]:
    """A question that changes the load only has the configuration of the hardware that it names."""
    for row in document["what_if"]:
        if "refused" in row or any(word in row["what_if"] for word in ("cpus", "nodes")):
            continue
        runs = row["hardware"] == "the hardware that runs"
        wanted = document["_runs"] if runs else document["answer"]["configuration"]
        if row["configuration"] != wanted:
            yield f"{row['what_if']}: {row['hardware']} is {wanted}, got {row['configuration']}"


def met_and_values(document: Json) -> Iterator[str]:
    """`met`, the values and the reasons agree."""
    for row in document["what_if"]:
        if "refused" in row:
            continue
        if row["met"] == bool(row["why_not"]):
            yield f"{row['what_if']}: met {row['met']}, why not: {row['why_not']}"
        if row["met"] and not all(one["met"] for one in row["objectives"]):
            yield f"{row['what_if']}: met, with an objective that is missed"
    answer = document["answer"]
    for one in answer["objectives"] if answer else ():
        good = one["value"] >= one["limit"] if "throughput" in one["objective"] else one["value"] <= one["limit"]
        if not good and abs(one["value"] / one["limit"] - 1) > _TOLERANCE:
            yield f"the answer has {one['objective']}: {one['value']}"


def interval_and_probability(document: Json) -> Iterator[str]:
    """An objective that is missed in more than 97.5 % of the draws does not hold with more than 2.5 %."""
    for row in _rows(document):
        for one in row["objectives"]:
            known, chance = one["interval"], row["probability"]
            if known is None or chance is None:
                continue
            upward = "throughput" in one["objective"]
            best, limit = (known["high"], one.get("limit")) if upward else (known["low"], one.get("limit"))
            if limit is None or best is None:
                continue
            missed = best < limit * (1 - _TOLERANCE) if upward else best > limit * (1 + _TOLERANCE)
            if missed and chance > 0.025 + _TOLERANCE:
                yield f"{row['configuration']}: {one['objective']} is {one['shown']} with a probability of {chance}"


def value_and_interval(document: Json) -> Iterator[str]:
    """A value lies in its interval, and both are printed."""
    for row in _rows(document):
        for one in row["objectives"]:
            known = one["interval"]
            if known is None or one["value"] is None:
                continue
            low = -math.inf if known["low"] is None else known["low"]
            high = math.inf if known["high"] is None else known["high"]
            if not low * (1 - _TOLERANCE) <= one["value"] <= high * (1 + _TOLERANCE):
                yield f"{row['configuration']}: {one['objective']} is {one['value']}, not in [{low}, {high}]"
            if high - low > _TOLERANCE * one["value"] and "[" not in one["shown"]:
                yield f"{one['objective']}: {one['shown']} without its interval [{low}, {high}]"


def interval_and_limit(document: Json) -> Iterator[str]:
    """Without a probability, an interval with the limit in it is a doubt."""
    answer = document["answer"]
    if answer is None or answer["probability"] is not None:
        return
    for one in answer["objectives"]:
        known = one["interval"]
        doubted = any("interval of the simulation" in doubt for doubt in document["trust"]["doubts"])
        if known and known["low"] <= one["limit"] <= known["high"] and not doubted:
            yield f"{one['objective']}: {one['shown']} without a doubt"


def utilization_and_objective(document: Json) -> Iterator[str]:
    """No station of an answer is used more than it may be, with all nodes up; none more than fully."""
    for scenario in document["answer"]["scenarios"] if document["answer"] else ():
        for name, used in scenario["utilization"].items():
            most = 1.0 if scenario["lost"] else document["utilization_at_most"].get(name, 1.0)
            if used > most + _TOLERANCE:
                yield f"{name} used {used}, at most {most}"


def laws(document: Json) -> Iterator[str]:
    """U = X D / m, N = X (R + Z) and Q = X R hold for the values of an answer."""
    answer, model = document["answer"], document["_model"]
    for scenario in answer["scenarios"] if answer else ():
        classes = scenario["classes"]
        for name, one in classes.items():
            if abs(one["throughput_per_s"] * one["response_time_s"] / one["users_in_system"] - 1) > 1e-4:
                yield f"{name}: X R is not {one['users_in_system']}"
            users = document["load"]["users"].get(name)
            think = document["load"]["think_s"].get(name, 0.0)
            if (
                users
                and abs(one["throughput_per_s"] * (one["response_time_s"] + think) / math.ceil(users - 1e-9) - 1) > 1e-3
            ):
                yield f"{name}: X (R + Z) is not {users}"
        for name, used in scenario["utilization"].items():
            tier = answer["tiers"].get(name)
            lost = scenario["lost"]["nodes"] if scenario["lost"] and scenario["lost"]["tier"] == name else 0
            servers = model["stations"][name]["servers"] if tier is None else (tier["nodes"] - lost) * tier["cpus"]
            demand = model["stations"][name]["demand_s"]
            work = sum(classes[each]["throughput_per_s"] * demand[each] for each in demand)
            if abs(used - work / servers) > 1e-3 * used + _TOLERANCE:
                yield f"{name}: used {used}, X D / m is {work / servers}"


def trust_and_range(document: Json) -> Iterator[str]:
    """`inside` and `beyond` follow from the throughput measured."""
    trust = document["trust"]
    times = trust.get("times_measured")
    if times is not None and (trust["range"] == "inside") != (times <= 1 + _TOLERANCE):
        yield f"{trust['range']}, {times} times the highest throughput"


def draws_and_probability(document: Json) -> Iterator[str]:
    """Without draws there is no probability, nothing is counted and the reason stands; with draws the reverse."""
    trust = document["trust"]
    drawn = trust["draws"] > 0
    if drawn != bool(trust["counted"]) or drawn == bool(trust["no_interval"]):
        yield f"{trust['draws']} draws, counted {trust['counted']}, no interval: {trust['no_interval']}"
    if document["answer"] and drawn != (document["answer"]["probability"] is not None):
        yield f"{trust['draws']} draws, probability {document['answer']['probability']}"


def capacity_and_probability(document: Json) -> Iterator[str]:
    """The low end of what is carried is above the load if and only if 97.5 % of the draws hold, but for throughputs."""
    answer = document["answer"]
    rows = [row for row in document["what_if"] if "refused" not in row and row["what_if"].split()[0] not in _LOADS]
    for row in (*([answer] if answer else []), *rows):
        if row["probability"] is None:
            continue
        asks = any("throughput" in one["objective"] for one in row["objectives"])
        if asks != (row["throughput_missed"] is not None):
            yield f"{row['configuration']}: {row['throughput_missed']} of the draws miss a throughput alone"
        sure = row["probability"] + (row["throughput_missed"] or 0.0) >= 0.975 - _TOLERANCE
        asked = sum((document["load"]["users"] or document["load"]["rate_per_s"]).values())
        spare, carried = row.get("headroom_interval"), row["load_at_limit_interval"]
        if spare is not None and (spare["low"] >= 0) != sure:
            yield f"{row['configuration']}: {row['probability']}, {spare['low']} to spare"
        # Without growth in the draws the load itself is certain. The interval contains the best estimate.
        if "growth" in document["trust"]["counted"] or carried is None or row["load_at_limit"] < asked:
            continue
        if (carried["low"] >= asked * (1 - 1e-12)) != sure:
            yield f"{row['configuration']}: {row['probability']}, carries {carried['low']}, asked {asked}"


def basis_and_counted(document: Json) -> Iterator[str]:
    """Every part of the basis is named once, with the parts that the probability counts."""
    parts = {part["part"]: part for part in document["trust"]["rests_on"]}
    if list(parts) != ["load", "growth", "demands", "stations", "machines"]:
        yield f"rests on {list(parts)}"
    for name, part in parts.items():
        if part["counted"] != (name in document["trust"]["counted"]):
            yield f"{name}: counted {part['counted']}"
    grows = parts["growth"]["origin"] != "assumed"
    if grows != bool(document["dates"]):
        yield f"growth is {parts['growth']['text']}, {len(document['dates'])} dates"


def uncounted_and_doubts(document: Json) -> Iterator[str]:
    """What is not counted is a doubt: growth as if certain, demands without an error."""
    doubts = " ".join(document["trust"]["doubts"])
    growth = next(part for part in document["trust"]["rests_on"] if part["part"] == "growth")
    if "as if certain" in growth["text"] and document["_horizon_d"] and "uncertainty of the growth" not in doubts:
        yield "growth as if certain without a doubt"
    if "demands" not in document["trust"]["counted"] and not (
        "demands is not known" in doubts or "not known:" in doubts
    ):
        yield "demands without an error and without a doubt"


def answer_and_neighbours(document: Json) -> Iterator[str]:
    """No candidate that is cheaper than the answer does as well; none of the others is cheaper."""
    answer = document["answer"]
    if answer is None:
        return
    for one in (*document["neighbours"], *([document["next_cheaper"]] if document["next_cheaper"] else [])):
        if not one["why_not"]:
            yield f"{one['configuration']} is cheaper and would do as well"
        chance = one["probability"]
        if chance is not None and chance >= document["probability_asked"] and "hold in" in " ".join(one["why_not"]):
            yield f"{one['configuration']} has {chance}, refused: {one['why_not']}"
    for one in document["pareto"]:
        if one["cost"] < answer["cost"] - _TOLERANCE:
            yield f"{one['configuration']} is cheaper than the answer"


def load_and_steps(document: Json) -> Iterator[str]:
    """The load that is carried is that of the last step, within the growth of the same answer."""
    steps = [step for step in document["steps"] if step["step"].startswith("load ") and " of " not in step["step"]]
    total = sum((document["load"]["users"] or document["load"]["rate_per_s"]).values())
    if abs(steps[-1]["value"] / total - 1) > _TOLERANCE:
        yield f"{steps[-1]['step']} is {steps[-1]['value']}, the load {total}"
    for name, known in document["load_interval"].items():
        load = {**document["load"]["users"], **document["load"]["rate_per_s"]}[name]
        if known and not known["low"] <= load * (1 + _TOLERANCE) and load <= known["high"] * (1 + _TOLERANCE):
            yield f"load of {name} {load}, not in {known}"


RULES: tuple[Rule, ...] = (
    probability_and_asked,
    probability_and_dates,
    dates_and_their_interval,
    answer_and_dates,
    answer_and_limit,
    answer_and_what_if,
    what_if_and_hardware,
    met_and_values,
    interval_and_probability,
    value_and_interval,
    interval_and_limit,
    utilization_and_objective,
    laws,
    trust_and_range,
    draws_and_probability,
    capacity_and_probability,
    basis_and_counted,
    uncounted_and_doubts,
    answer_and_neighbours,
    load_and_steps,
)


def contradictions(document: Json) -> list[str]:
    """All contradictions of a sizing, each with its rule."""
    return [f"{rule.__name__}: {text}" for rule in RULES for text in rule(document)]


def drawn_question(seed: int) -> tuple[str, str, Json]:
    """Draw a model and a sizing file, and what the rules must know of them."""
    stream = random.Random(seed)
    opened = stream.random() < 0.5
    names = ["a", "b"][: stream.choice([1, 1, 2])]
    stations = {
        name: {
            "servers": stream.choice([1, 2, 4]),
            "demand_s": {each: round(stream.uniform(0.002, 0.05), 4) for each in names},
        }
        for name in ["app", "db", "disk"][: stream.choice([1, 2, 2, 3])]
    }
    busiest = max(sum(s["demand_s"].values()) / s["servers"] for s in stations.values())
    rate = stream.uniform(0.3, 0.8) / busiest
    model: Json = {
        "classes": {
            each: {"rate": f"{rate:.4g} /s"} if opened else {"users": max(1, round(rate * 2)), "think": "2 s"}
            for each in names
        },
        "stations": {
            name: {
                "servers": one["servers"],
                "discipline": "ps",
                "demand": {each: f"{1000 * demand:.4g} ms" for each, demand in one["demand_s"].items()},
            }
            for name, one in stations.items()
        },
    }
    if stream.random() < 0.3:
        model["fitted"] = _fitted(stream, names, stations, rate)
    sizing, horizon = _sizing(stream, names, stations, opened=opened)
    runs = ", ".join(f"{name} {one['servers']} CPU{'s' * (one['servers'] != 1)}" for name, one in stations.items())
    return json.dumps(model), json.dumps(sizing), {
        "_model": {"stations": stations}, "_horizon_d": horizon, "_runs": runs,
    }  # fmt: skip


def _fitted(stream: random.Random, names: list[str], stations: Json, rate: float) -> Json:
    found: Json = {"users": [1, 100], "throughput": f"{rate * len(names) * stream.uniform(0.5, 3):.4g} /s"}
    found["verdict"] = stream.choice(["supported", "doubtful"])
    if stream.random() < 0.7:
        found["draws"] = {name: [round(stream.gauss(1, 0.04), 4) for _ in range(40)] for name in stations}
    if stream.random() < 0.6:
        ratio = round(stream.uniform(0.7, 1.3), 3)
        found["percentiles"] = {names[0]: [ratio, round(ratio * stream.uniform(0.4, 1), 3), round(ratio * 1.4, 3)]}
    return found


def _sizing(stream: random.Random, names: list[str], stations: Json, *, opened: bool) -> tuple[Json, float]:
    work = {each: sum(one["demand_s"][each] for one in stations.values()) for each in names}
    load: Json = {"peak": stream.choice([1, 1, 1.5])}
    horizon = 0.0
    if stream.random() < 0.7:
        growth = stream.randrange(-20, 80)
        years = stream.choice([1, 2])
        horizon = years * 365.25
        load |= {"growth": f"{growth} % / year", "horizon": f"{years} years", "start": date(2026, 1, 1).isoformat()}
        if stream.random() < 0.7:
            ends = (growth - stream.randrange(1, 15), growth + stream.randrange(1, 30))
            load["growth_interval"] = [f"{end} % / year" for end in ends]
    objectives = [f"mean of {each} < {1000 * work[each] * stream.uniform(1.3, 6):.3g} ms" for each in names]
    if stream.random() < 0.4:
        objectives.append(f"p95 of {names[0]} < {1000 * work[names[0]] * stream.uniform(4, 12):.3g} ms")
    if stream.random() < 0.2:
        objectives.append("throughput > 1 /s")
    found: Json = {"schema": "towtank/sizing/1", "load": load, "objectives": objectives}
    found["tiers"] = {
        name: {"cpus": stream.choice(["1..8", "2..12", [1, 2, 4, 8, 16]]), "nodes": stream.choice([1, 1, "1..3"])}
        for name in stations
    }
    found["probability"] = f"{stream.choice([60, 80, 90, 95, 99])} %"
    if stream.random() < 0.6:
        found["uncertainty"] = f"{stream.choice([3, 8, 15])} %"
    if stream.random() < 0.3:
        found["headroom"] = "10 %"
    if stream.random() < 0.3:
        found["nodes_lost"] = 1
    if stream.random() < 0.4:
        found["utilization_at_most"] = f"{stream.choice([60, 80, 90])} %"
    first = next(iter(stations))
    asked = [
        "cpu x1.5",
        "as it is, cpu x2",
        f"cpus {first}=5",
        f"demand {first} x0.8",
        "rate 7 /s" if opened else "users 9",
    ]
    found["what_if"] = stream.sample(asked, stream.choice([0, 1, 2]))
    return found, horizon
