"""Rules that the statements of a sizing must satisfy, so that no two statements contradict each other; and random
sizing questions.

The docstring of each function with a rule states the rule; the function yields the violations of this rule.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import sizing_statements

Json = dict[str, Any]
Rule = Callable[[Json], Iterator[str]]
_TOLERANCE = 1e-6
# First words of what-if questions that change the load.
_LOADS = ("users", "rate")
_FIRST_DAY = date(2026, 1, 5).toordinal()
"""First day of every random history of loads; a Monday."""
_LIMIT = 0.003
"""Allowed relative difference of two load limits, which are found by bisection. [1]"""


def _rows(document: Json) -> Iterator[Json]:
    """Yield all configurations in a sizing that have objectives and a probability: the answer, the other candidates,
    and the what-if rows.
    """
    for key in ("answer", "next_cheaper", "strongest"):
        if document[key] is not None:
            yield document[key]
    yield from (*document.get("neighbours", ()), *document["pareto"])
    yield from (row for row in document["what_if"] if "refused" not in row)


def probability_and_asked(document: Json) -> Iterator[str]:
    """The probability of the answer is at least the requested probability."""
    answer = document["answer"]
    if answer and answer["probability"] is not None and answer["probability"] < document["probability_asked"]:
        yield f"{answer['probability']}, but a probability of {document['probability_asked']} was requested"


def probability_and_dates(document: Json) -> Iterator[str]:
    """The answer meets its objectives until the horizon.

    If its probability is below one half, the day from which the objectives are violated is not later than the expected
    day.
    """
    row = next((row for row in document["dates"] if row["what"] == "the answer"), None)
    if row is None or row["days"] is None:
        return
    if row["days"] <= document["_horizon_d"]:
        yield f"horizon is day {document['_horizon_d']:.0f}, but objectives are violated from day {row['days']}"
    if row["missed_from"] and row["chance"] < 0.5 and row["expected_on"] and row["missed_from"] > row["expected_on"]:
        yield f"probability {row['chance']} from {row['missed_from']}, of one half from {row['expected_on']}"


def dates_and_their_interval(document: Json) -> Iterator[str]:
    """The expected day on which a limit is reached lies in the confidence interval of this day."""
    for row in document["dates"]:
        known = row["expected_interval"]
        if known is None or row["expected_on"] is None:
            continue
        if known["low"] is None or known["low"] > row["expected_on"]:
            yield f"{row['what']}: expected on {row['expected_on']}, not before {known['low']}"
        if known["high"] is not None and known["high"] < row["expected_on"]:
            yield f"{row['what']}: expected on {row['expected_on']}, not after {known['high']}"


def answer_and_dates(document: Json) -> Iterator[str]:
    """The load limit of the answer equals the load limit in the table of dates."""
    row = next((row for row in document["dates"] if row["what"] == "the answer"), None)
    if row is not None:
        carried = document["answer"]["load_at_limit"]
        if abs(row["limit"] / carried - 1) > _LIMIT:
            yield f"load limit {carried}, in the table of dates {row['limit']}"


def answer_and_limit(document: Json) -> Iterator[str]:
    """The load limit of the answer is at least the requested load, and equals the load limit of the first
    bottleneck.
    """
    answer = document["answer"]
    if answer is None:
        return
    asked = sum((document["load"]["users"] or document["load"]["rate_per_s"]).values())
    if answer["load_at_limit"] < asked * (1 - _LIMIT):
        yield f"load limit {answer['load_at_limit']}, requested load {asked}"
    if abs((1 + answer["headroom"]) * asked / answer["load_at_limit"] - 1) > _TOLERANCE:
        yield f"headroom {answer['headroom']} of {asked} is not {answer['load_at_limit']}"
    first = document["bottlenecks"][0]
    if abs(first["load"] / answer["load_at_limit"] - 1) > _TOLERANCE:
        yield f"the bottleneck is at {first['load']}, the limit at {answer['load_at_limit']}"


def answer_and_what_if(document: Json) -> Iterator[str]:
    """The what-if row `as it is` describes the present hardware. Rows with equal hardware and equal load have equal
    values.
    """
    rows = [row for row in document["what_if"] if "refused" not in row]
    if rows and (rows[0]["what_if"], rows[0]["hardware"]) != ("as it is", "the hardware that runs"):
        yield f"first row {rows[0]['what_if']} of {rows[0]['hardware']}"
    if rows and rows[0]["configuration"] != document["_runs"]:
        yield f"as it is {rows[0]['configuration']}, the model has {document['_runs']}"
    answer = document["answer"]
    if not rows or answer is None or answer["configuration"] != rows[0]["configuration"] or document["nodes_lost"]:
        return
    for objective, other in zip(answer["objectives"], rows[0]["objectives"], strict=True):
        if objective["value"] != other["value"] or objective["interval"] != other["interval"]:
            yield f"{objective['objective']}: {objective['shown']} in the answer, {other['shown']} at present"
    if answer["probability"] != rows[0]["probability"]:
        yield f"probability {answer['probability']}, at present {rows[0]['probability']}"


def what_if_and_hardware(document: Json) -> Iterator[str]:
    """If a what-if question changes only the load, the row shows the configuration of the hardware that it names."""
    for row in document["what_if"]:
        if "refused" in row or any(word in row["what_if"] for word in ("cpus", "nodes")):
            continue
        runs = row["hardware"] == "the hardware that runs"
        wanted = document["_runs"] if runs else document["answer"]["configuration"]
        if row["configuration"] != wanted:
            yield f"{row['what_if']}: {row['hardware']} is {wanted}, got {row['configuration']}"


def met_and_values(document: Json) -> Iterator[str]:
    """`met` is False if and only if a row states reasons for a violation. If it is True, all objectives of the row are
    met.
    """
    for row in document["what_if"]:
        if "refused" in row:
            continue
        if row["met"] == bool(row["why_not"]):
            yield f"{row['what_if']}: met {row['met']}, why not: {row['why_not']}"
        if row["met"] and not all(objective["met"] for objective in row["objectives"]):
            yield f"{row['what_if']}: met, although an objective is violated"
    answer = document["answer"]
    for judged in answer["objectives"] if answer else ():
        good = (
            judged["value"] >= judged["limit"]
            if "throughput" in judged["objective"]
            else judged["value"] <= judged["limit"]
        )
        if not good and abs(judged["value"] / judged["limit"] - 1) > _TOLERANCE:
            yield f"the answer has {judged['objective']}: {judged['value']}"


def interval_and_probability(document: Json) -> Iterator[str]:
    """If more than 97.5 % of the random samples violate an objective, its probability is at most 2.5 %."""
    for row in _rows(document):
        for goal in row["objectives"]:
            known, chance = goal["interval"], row["probability"]
            if known is None or chance is None:
                continue
            upward = "throughput" in goal["objective"]
            best, limit = (known["high"], goal.get("limit")) if upward else (known["low"], goal.get("limit"))
            if limit is None or best is None:
                continue
            missed = best < limit * (1 - _TOLERANCE) if upward else best > limit * (1 + _TOLERANCE)
            if missed and chance > 0.025 + _TOLERANCE:
                yield f"{row['configuration']}: {goal['objective']} is {goal['shown']} with a probability of {chance}"


def value_and_interval(document: Json) -> Iterator[str]:
    """Each value lies in its interval, and the printed text contains both value and interval."""
    for row in _rows(document):
        for goal in row["objectives"]:
            known = goal["interval"]
            if known is None or goal["value"] is None:
                continue
            low = -math.inf if known["low"] is None else known["low"]
            high = math.inf if known["high"] is None else known["high"]
            if not low * (1 - _TOLERANCE) <= goal["value"] <= high * (1 + _TOLERANCE):
                yield f"{row['configuration']}: {goal['objective']} is {goal['value']}, not in [{low}, {high}]"
            if high - low > _TOLERANCE * goal["value"] and "[" not in goal["shown"]:
                yield f"{goal['objective']}: {goal['shown']} without its interval [{low}, {high}]"


def interval_and_limit(document: Json) -> Iterator[str]:
    """If the answer has no probability, and the interval of a value contains the objective's limit, a doubt is
    stated.
    """
    answer = document["answer"]
    if answer is None or answer["probability"] is not None:
        return
    for objective in answer["objectives"]:
        known = objective["interval"]
        doubted = any("interval of the simulation" in doubt for doubt in document["trust"]["doubts"])
        if known and known["low"] <= objective["limit"] <= known["high"] and not doubted:
            yield f"{objective['objective']}: {objective['shown']} without a doubt"


def utilization_and_objective(document: Json) -> Iterator[str]:
    """While all nodes work, no station of an answer exceeds its utilization limit. After the loss of a node, no station
    exceeds a utilization of 1.
    """
    for scenario in document["answer"]["scenarios"] if document["answer"] else ():
        for name, used in scenario["utilization"].items():
            most = 1.0 if scenario["lost"] else document["utilization_at_most"].get(name, 1.0)
            if used > most + _TOLERANCE:
                yield f"{name} has utilization {used}, at most {most}"


def laws(document: Json) -> Iterator[str]:
    """The values of an answer satisfy the operational laws U = X D / m, N = X (R + Z) and Q = X R.

    U is the utilization, X the throughput, D the demand and m the number of servers. N is the number of users, R the
    response time, Z the think time and Q the number of users in the system.
    """
    answer, model = document["answer"], document["_model"]
    for scenario in answer["scenarios"] if answer else ():
        classes = scenario["classes"]
        for name, figures in classes.items():
            if abs(figures["throughput_per_s"] * figures["response_time_s"] / figures["users_in_system"] - 1) > 1e-4:
                yield f"{name}: X R is not {figures['users_in_system']}"
            users = document["load"]["users"].get(name)
            think = document["load"]["think_s"].get(name, 0.0)
            if (
                users
                and abs(
                    figures["throughput_per_s"] * (figures["response_time_s"] + think) / math.ceil(users - 1e-9) - 1
                )
                > 1e-3
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
    """The key `range` is `inside` if and only if the throughput does not exceed the highest measured throughput."""
    trust = document["trust"]
    times = trust.get("times_measured")
    if times is not None and (trust["range"] == "inside") != (times <= 1 + _TOLERANCE):
        yield f"{trust['range']}, {times} times the highest throughput"


def draws_and_probability(document: Json) -> Iterator[str]:
    """A sizing with random samples states a probability, and the uncertainties included in it. A sizing without random
    samples states the reason.
    """
    trust = document["trust"]
    drawn = trust["draws"] > 0
    if drawn != bool(trust["counted"]) or drawn == bool(trust["no_interval"]):
        yield f"{trust['draws']} draws, counted {trust['counted']}, no interval: {trust['no_interval']}"
    if document["answer"] and drawn != (document["answer"]["probability"] is not None):
        yield f"{trust['draws']} draws, probability {document['answer']['probability']}"


def capacity_and_probability(document: Json) -> Iterator[str]:
    """The interval of the load limit lies above the requested load if and only if 97.5 % of the random samples meet the
    objectives.

    Rows with throughput objectives are not checked.
    """
    answer = document["answer"]
    rows = [row for row in document["what_if"] if "refused" not in row and row["what_if"].split()[0] not in _LOADS]
    for row in (*([answer] if answer else []), *rows):
        if row["probability"] is None:
            continue
        asks = any("throughput" in objective["objective"] for objective in row["objectives"])
        if asks != (row["throughput_missed"] is not None):
            yield f"{row['configuration']}: {row['throughput_missed']} of the samples violate throughput only"
        sure = row["probability"] + (row["throughput_missed"] or 0.0) >= 0.975 - _TOLERANCE
        asked = sum((document["load"]["users"] or document["load"]["rate_per_s"]).values())
        spare, carried = row.get("headroom_interval"), row["load_at_limit_interval"]
        if spare is not None and (spare["low"] >= 0) != sure:
            yield f"{row['configuration']}: probability {row['probability']}, but at least {spare['low']} to spare"
        # Load limits are compared only if growth is not random, and if the load limit is at least the requested load. A
        # load limit below the requested load may itself be the lower end of its interval.
        if "growth" in document["trust"]["counted"] or carried is None or row["load_at_limit"] < asked:
            continue
        if (carried["low"] >= asked * (1 - 1e-12)) != sure:
            yield f"{row['configuration']}: probability {row['probability']}, limit {carried['low']}, load {asked}"


def basis_and_counted(document: Json) -> Iterator[str]:
    """The document lists each basis of a sizing once, and marks it as counted if and only if the probability includes
    its uncertainty.

    The table of dates has rows if and only if growth is not merely assumed.
    """
    parts = {part["part"]: part for part in document["trust"]["rests_on"]}
    if list(parts) != ["load", "growth", "demands", "stations", "machines"]:
        yield f"the basis has the parts {list(parts)}"
    for name, part in parts.items():
        if part["counted"] != (name in document["trust"]["counted"]):
            yield f"{name}: counted {part['counted']}"
    grows = parts["growth"]["origin"] != "assumed"
    if grows != bool(document["dates"]):
        yield f"growth is {parts['growth']['text']}, {len(document['dates'])} dates"


def uncounted_and_doubts(document: Json) -> Iterator[str]:
    """If the probability omits the uncertainty of the growth or of the demands, a doubt is stated."""
    doubts = " ".join(document["trust"]["doubts"])
    growth = next(part for part in document["trust"]["rests_on"] if part["part"] == "growth")
    if "without uncertainty" in growth["text"] and document["_horizon_d"] and "uncertainty of the growth" not in doubts:
        yield "growth has no uncertainty, and no doubt is stated"
    if "demands" not in document["trust"]["counted"] and not ("demands is unknown" in doubts or "unknown:" in doubts):
        yield "demands have no error, and no doubt is stated"


def answer_and_neighbours(document: Json) -> Iterator[str]:
    """Each cheaper candidate has a reason why it was refused. No candidate of the Pareto front costs less than the
    answer.
    """
    answer = document["answer"]
    if answer is None:
        return
    for candidate in (*document["neighbours"], *([document["next_cheaper"]] if document["next_cheaper"] else [])):
        if not candidate["why_not"]:
            yield f"{candidate['configuration']} is cheaper, and no reason against it is stated"
        chance = candidate["probability"]
        if (
            chance is not None
            and chance >= document["probability_asked"]
            and "hold in" in " ".join(candidate["why_not"])
        ):
            yield f"{candidate['configuration']} has {chance}, refused: {candidate['why_not']}"
    for candidate in document["pareto"]:
        if candidate["cost"] < answer["cost"] - _TOLERANCE:
            yield f"{candidate['configuration']} is cheaper than the answer"


def load_and_steps(document: Json) -> Iterator[str]:
    """The total load equals the load of the last load step. The load of each class lies in the interval for this
    class.
    """
    steps = [step for step in document["steps"] if step["step"].startswith("load ") and " of " not in step["step"]]
    total = sum((document["load"]["users"] or document["load"]["rate_per_s"]).values())
    if abs(steps[-1]["value"] / total - 1) > _TOLERANCE:
        yield f"{steps[-1]['step']} is {steps[-1]['value']}, the load {total}"
    for name, known in document["load_interval"].items():
        load = {**document["load"]["users"], **document["load"]["rate_per_s"]}[name]
        if known and not known["low"] / (1 + _TOLERANCE) <= load <= known["high"] * (1 + _TOLERANCE):
            yield f"load of {name} {load}, not in {known}"


def _throughput(document: Json) -> float:
    """Return the total throughput of all classes while all nodes work. [1/s]"""
    return sum(figures["throughput_per_s"] for figures in document["answer"]["scenarios"][0]["classes"].values())


def pools_and_waits(document: Json) -> Iterator[str]:
    """A pool has a size, or a reason why no size is given.

    The size suffices for the best estimate, and for at least the requested fraction of the random samples.
    """
    for name, pool in document["pools"].items():
        if (pool["size"] is None) == (not pool["why_not"]):
            yield f"pool {name}: size {pool['size']}, why not: {pool['why_not']}"
        if pool["size"] is None:
            continue
        if pool["wait_s"] > pool["wait_at_most_s"] * (1 + _TOLERANCE):
            yield f"pool {name}: waits {pool['wait_s']}, at most {pool['wait_at_most_s']}"
        # A model without the pool counts requests that are in the pool or wait for the pool. By Little's law, the
        # number of waiting requests is the throughput times the waiting time.
        waiting = pool["wait_s"] * _throughput(document)
        if pool["held"] > (pool["size"] + waiting) * 1.05:
            yield f"pool {name}: {pool['held']} in use of {pool['size']}, {waiting} waiting"
        if pool["size"] < pool["size_at_best"]:
            yield f"pool {name}: {pool['size']}, at the best estimate {pool['size_at_best']}"
        if (pool["probability"] is None) != (document["trust"]["draws"] == 0):
            yield f"pool {name}: probability {pool['probability']} of {document['trust']['draws']} draws"
        if pool["probability"] is not None and pool["probability"] < document["probability_asked"] - _TOLERANCE:
            yield f"pool {name}: sufficient with {pool['probability']}, requested {document['probability_asked']}"


def memory_and_intervals(document: Json) -> Iterator[str]:
    """A tier has a memory size if and only if the sizing question requests it. The size lies in its interval."""
    for name, tier in (document["answer"] or {"tiers": {}})["tiers"].items():
        need, known = tier["memory_bytes"], tier["memory_interval"]
        if bool(need) != (name in document["_memory"]):
            yield f"{name}: memory {need}, asked for: {document['_memory']}"
        high = math.inf if known is None or known["high"] is None else known["high"]
        if need and known and not known["low"] * (1 - _TOLERANCE) <= need <= high * (1 + _TOLERANCE):
            yield f"{name}: memory {need}, not in {known}"


def history_and_growth(document: Json) -> Iterator[str]:
    """Growth is measured if and only if the sizing file has a history. In this case, the probability includes the
    uncertainty of the growth.
    """
    growth = next(part for part in document["trust"]["rests_on"] if part["part"] == "growth")
    if (growth["origin"] == "measured") != document["_history"]:
        yield f"growth is {growth['origin']}, history: {document['_history']}"
    if document["_history"] and document["trust"]["draws"] and document["_horizon_d"] and not growth["counted"]:
        yield "growth of a history is not counted"


def mix_and_load(document: Json) -> Iterator[str]:
    """Each class has the requested fraction of the load."""
    load = document["load"]["users"] or document["load"]["rate_per_s"]
    for name, share in document["_mix"].items():
        if abs(load[name] / sum(load.values()) - share) > 1e-3:
            yield f"{name} is {load[name] / sum(load.values())} of the load, asked {share}"


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
    pools_and_waits,
    memory_and_intervals,
    history_and_growth,
    mix_and_load,
    *sizing_statements.RULES,
)


def contradictions(document: Json) -> list[str]:
    """Return all contradictions between statements of a sizing, each with the name of the violated rule."""
    return [f"{rule.__name__}: {text}" for rule in RULES for text in rule(document)]


def drawn_question(seed: int) -> tuple[str, str, Json]:
    """Generate a random model file and a random sizing file. Return the text of both files, and the properties that the
    rules compare with.
    """
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
                "servers": entry["servers"],
                "discipline": "ps",
                "demand": {each: f"{1000 * demand:.4g} ms" for each, demand in entry["demand_s"].items()},
            }
            for name, entry in stations.items()
        },
    }
    if stream.random() < 0.3:
        model["fitted"] = _fitted(stream, names, stations, rate)
    sizing, horizon = _sizing(stream, names, stations, opened=opened)
    # A separate random stream makes the rest of the question independent of `_more`.
    known = _more(random.Random(f"more {seed}"), sizing, names, opened=opened)
    runs = ", ".join(
        f"{name} {station['servers']} CPU{'s' * (station['servers'] != 1)}" for name, station in stations.items()
    )
    known |= {"_model": {"stations": stations}, "_horizon_d": horizon, "_runs": runs}
    return json.dumps(model), json.dumps(sizing), known


def _more(stream: random.Random, sizing: Json, names: list[str], *, opened: bool) -> Json:
    """Add a history, a mix, think times, pools, memory and data to some questions. Return the properties that the rules
    compare with.
    """
    known: Json = {"_history": False, "_memory": [], "_mix": {}, "_files": {}}
    load = sizing["load"]
    if "growth" in load and stream.random() < 0.5:
        del load["growth"]
        load.pop("growth_interval", None)
        season = stream.choice(["none", "weekly"])
        load["history"] = {"csv": "history.csv", "season": season, "load": "users"}
        days = 7 * stream.randrange(6, 20)
        load["start"] = date.fromordinal(_FIRST_DAY + days - 1).isoformat()
        if stream.random() < 0.5:
            del load["start"]
        known |= {"_history": True, "_files": {"history.csv": _history(stream, days, weekly=season == "weekly")}}
    if len(names) > 1 and stream.random() < 0.3:
        share = stream.randrange(20, 80)
        load["mix"] = {names[0]: f"{share} %", names[1]: f"{100 - share} %"}
        known["_mix"] = {names[0]: share / 100, names[1]: 1 - share / 100}
    if not opened and stream.random() < 0.2:
        load["think"] = "3 s"
    tiers = list(sizing["tiers"])
    if stream.random() < 0.3:
        pool: Json = {"holds": stream.sample(tiers, stream.randint(1, len(tiers)))}
        sizing["pools"] = {"threads": pool if stream.random() < 0.5 else {**pool, "wait_at_most": "5 ms"}}
    if stream.random() < 0.3:
        per = stream.choice(["node", "cpu", "transaction", "connection"])
        sizing["memory"] = {
            tiers[0]: [{"what": "work", "size": "3 MiB", "per": per}, {"what": "cache", "share": "20 %"}]
        }
        sizing["data"] = {"now": "10 GiB"}
        known["_memory"] = [tiers[0]]
    return known


def _history(stream: random.Random, days: int, *, weekly: bool) -> str:
    """Return a CSV file of daily loads with constant growth and noise.

    If `weekly` is True, the load is halved on the last two days of each week.
    """
    growth, noise = stream.uniform(-0.001, 0.003), stream.uniform(0.01, 0.08)
    rows = ["date,users"]
    for day in range(days):
        quiet = 0.5 if weekly and day % 7 >= 5 else 1.0
        value = 100 * quiet * math.exp(growth * day + noise * stream.gauss(0, 1))
        rows.append(f"{date.fromordinal(_FIRST_DAY + day).isoformat()},{value:.4f}")
    return "\n".join(rows) + "\n"


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
    work = {each: sum(station["demand_s"][each] for station in stations.values()) for each in names}
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
