"""Further rules that the statements of a sizing must satisfy, so that no two statements contradict each other.

The rules concern costs, counts, scenarios, calculation steps and intervals. The docstring of each function states a
rule; the function yields the violations of this rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any

Json = dict[str, Any]
Rule = Callable[[Json], Iterator[str]]
_TOLERANCE = 1e-6
_LIMIT = 0.003
"""Allowed relative difference of two load limits, which are found by bisection. [1]"""
_SOLVED = 0.01
"""Allowed relative difference between approximate solutions of two nearly identical models. [1]"""


def _same(value: float, other: float, within: float = _TOLERANCE) -> bool:
    return math.isclose(value, other, rel_tol=within, abs_tol=1e-12)


def _answered(document: Json) -> list[Json]:
    """Return the what-if rows that were not refused."""
    return [row for row in document["what_if"] if "refused" not in row]


def costs(document: Json) -> Iterator[str]:
    """The cost of the answer is the sum of the costs of its tiers. Each candidate listed as cheaper costs less."""
    answer = document["answer"]
    if answer is None:
        return
    total = sum(tier["cost"] for tier in answer["tiers"].values())
    if not _same(total, answer["cost"]):
        yield f"the tiers cost {total}, the answer {answer['cost']}"
    cheaper = [*document["neighbours"], *([document["next_cheaper"]] if document["next_cheaper"] else [])]
    yield from (f"{row['configuration']} is not cheaper" for row in cheaper if row["cost"] >= answer["cost"])
    costs_of_front = [row["cost"] for row in document["pareto"]]
    if costs_of_front != sorted(costs_of_front):
        yield f"the candidates of the Pareto front are not ordered by cost: {costs_of_front}"
    if answer["configuration"] not in [row["configuration"] for row in document["pareto"]]:
        yield "the answer is not on the Pareto front"


def counts_of_the_search(document: Json) -> Iterator[str]:
    """No candidate is counted twice, and only candidates that were tried are simulated."""
    search = document["search"]
    counted = search["cut"] + search["passed_over"] + search["tried"]
    if counted > search["candidates"] or search["simulated"] > search["tried"]:
        yield f"{search}"
    if document["answer"] is None and counted != search["candidates"]:
        yield f"no answer, but only {counted} of {search['candidates']} candidates were examined"
    if document["answer"] is not None and search["tried"] < 1:
        yield "an answer without a candidate that was tried"


def words_and_tiers(document: Json) -> Iterator[str]:
    """The text that describes the configuration matches the table of tiers."""
    answer = document["answer"]
    if answer is None or any(tier["machine"] for tier in answer["tiers"].values()):
        return
    parts = []
    for name, tier in answer["tiers"].items():
        unit = "CPU" if tier["kind"] == "cpu" else "disk"
        servers = f"{tier['cpus']} {unit}{'s' if tier['cpus'] != 1 else ''}"
        parts.append(f"{name} {servers}" if tier["nodes"] == 1 else f"{name} {tier['nodes']} x {servers}")
    if answer["configuration"] != ", ".join(parts):
        yield f"{answer['configuration']} is {', '.join(parts)} in the table"


def tiers_and_scenarios(document: Json) -> Iterator[str]:
    """The utilization of a tier is its utilization in the first scenario, in which all nodes work. For each tier with
    several nodes, another scenario describes the loss of a node.
    """
    answer = document["answer"]
    if answer is None:
        return
    first, *others = answer["scenarios"]
    if first["lost"] is not None:
        yield f"the first scenario has a lost node: {first['lost']}"
    for name, tier in answer["tiers"].items():
        for station, used in tier["utilization"].items():
            if used is not None and not _same(used, first["utilization"][station]):
                yield f"{name}: {station} used {used}, in the scenario {first['utilization'][station]}"
    losing = [scenario["lost"]["tier"] for scenario in others]
    wanted = [name for name, tier in answer["tiers"].items() if document["nodes_lost"] and tier["nodes"] > 1]
    if losing != wanted:
        yield f"scenarios lose nodes of {losing}, tiers of several nodes are {wanted}"


def worst_scenario(document: Json) -> Iterator[str]:
    """The objectives of the answer have the values of the worst scenario.

    In no other scenario is a value closer to its limit.
    """
    answer = document["answer"]
    if answer is None:
        return
    near = {}
    for scenario in answer["scenarios"]:
        lost = scenario["lost"] and scenario["lost"]["tier"]
        near[lost] = max((_share(check) for check in scenario["objectives"]), default=0.0)
        if lost == answer["scenario"]:
            pairs = zip(answer["objectives"], scenario["objectives"], strict=True)
            yield from (f"{mine} of the answer, {other} of the scenario" for mine, other in pairs if mine != other)
    if not near or near[answer["scenario"]] < max(near.values()) - _SOLVED:
        # With utilization limits, the worst scenario may be determined by a station whose utilization is not an
        # objective.
        limits = document["utilization_at_most"]
        if not limits:
            yield f"the worst scenario is {answer['scenario']} of {near}"


def _share(check: Json) -> float:
    """Return the ratio of an objective's value to its limit; at most 1 if the objective is met. [1]

    For throughput, return the ratio of the limit to the value.
    """
    upward = "throughput" in check["objective"]
    return float(check["limit"] / check["value"] if upward else check["value"] / check["limit"])


def busiest_station(document: Json) -> Iterator[str]:
    """The busiest station of an answer is the station with the highest utilization."""
    answer = document["answer"]
    if answer is None:
        return
    used, busiest = answer["scenarios"][0]["utilization"], answer["busiest"]
    if not _same(busiest["utilization"], max(used.values())) or not _same(
        used[busiest["station"]], busiest["utilization"]
    ):
        yield f"busiest {busiest['station']} with {busiest['utilization']} of {used}"


def bottlenecks_and_loads(document: Json) -> Iterator[str]:
    """The rows of the bottleneck table have load limits that do not decrease. The load factor of a row is its load
    limit divided by the requested load.
    """
    total = sum((document["load"]["users"] or document["load"]["rate_per_s"]).values())
    reached = 0.0
    for row in document["bottlenecks"]:
        if row["load"] < reached * (1 - _LIMIT):
            yield f"{row['station']} has the load limit {row['load']}, after {reached}"
        reached = row["load"]
        if not _same(row["load_factor"] * total, row["load"]):
            yield f"{row['station']}: {row['load_factor']} times {total} is not {row['load']}"
        if not 0 < row["utilization"] <= 1 + _TOLERANCE:
            yield f"{row['station']} used {row['utilization']}"


def met_and_carried(document: Json) -> Iterator[str]:
    """A row meets every objective if and only if its load limit exceeds the requested load.

    Rows with throughput objectives are not checked.
    """
    load = document["load"]["users"] or document["load"]["rate_per_s"]
    for row in _answered(document):
        changes_load = any(word.strip().split()[0] in ("users", "rate") for word in row["what_if"].split(","))
        asks = any("throughput" in check["objective"] for check in row["objectives"])
        if changes_load or asks or row["load_at_limit"] is None:
            continue
        spare = row["load_at_limit"] / sum(load.values()) - 1
        if abs(spare) > _LIMIT and row["met"] != (spare > 0):
            yield f"{row['what_if']}: met {row['met']}, carries {row['load_at_limit']} of {sum(load.values())}"


def dates_and_what_if(document: Json) -> Iterator[str]:
    """In the table of dates, each date agrees with its number of days. The load limit of the present hardware is equal
    in this table and in the what-if table.
    """
    rows = _answered(document)
    for row in document["dates"]:
        if row["days"] is not None and row["missed_from"] is not None:
            day = date.fromisoformat(document["start"]) + timedelta(days=row["days"])
            if row["missed_from"] != day.isoformat():
                yield f"{row['what']}: day {row['days']} is {day}, not {row['missed_from']}"
        if row["what"] != "the hardware of the model" or not rows or None in (row["limit"], rows[0]["load_at_limit"]):
            continue
        if not _same(row["limit"], rows[0]["load_at_limit"], _LIMIT):
            yield f"load limit {row['limit']} in the table of dates, {rows[0]['load_at_limit']} in the what-if table"


def _values(document: Json) -> Iterator[tuple[str, float | None, Json | None]]:
    """Yield the name, the value and the interval of every value of a sizing, except values of objectives."""
    answer = document["answer"]
    for row in document["dates"]:
        yield f"{row['what']}: limit", row["limit"], row["limit_interval"]
    for row in _answered(document):
        yield f"{row['what_if']}: carries", row["load_at_limit"], row["load_at_limit_interval"]
        yield f"{row['what_if']}: probability", row["probability"], row["probability_interval"]
        busiest = row["busiest"]
        yield f"{row['what_if']}: {busiest['station']}", busiest["utilization"], busiest["interval"]
        yield from _of_classes(row["what_if"], row["classes"])
    if answer is None:
        return
    for key in ("load_at_limit", "headroom", "probability"):
        yield key, answer[key], answer[f"{key}_interval"]
    for name, bound in (answer["one_queue_bound"] or {}).items():
        yield f"one queue, {name}", bound, answer["one_queue_interval"][name]
    for scenario in answer["scenarios"]:
        lost = f"{scenario['lost']}"
        yield from _of_classes(lost, scenario["classes"])
        for station, used in scenario["utilization"].items():
            yield f"{lost}: {station}", used, scenario["utilization_interval"][station]
    for row in document["bottlenecks"]:
        yield f"bottleneck {row['station']}", row["load"], row["load_interval"]
    yield "connections", document["connections"], document["connections_interval"]


def _of_classes(where: str, classes: Json) -> Iterator[tuple[str, float, Json | None]]:
    keys = {"throughput_per_s": "throughput", "response_time_s": "response_time", "users_in_system": "users_in_system"}
    for name, values in classes.items():
        for key, start in keys.items():
            yield f"{where}: {key} of {name}", values[key], values[f"{start}_interval"]


def values_and_intervals(document: Json) -> Iterator[str]:
    """Each value lies in its interval. Without random samples, no value has an interval."""
    for name, value, known in _values(document):
        if known is None or value is None:
            continue
        low = -math.inf if known["low"] is None else known["low"]
        high = math.inf if known["high"] is None else known["high"]
        slack = _LIMIT if "carries" in name or "limit" in name or "bottleneck" in name else _TOLERANCE
        if not low - slack * abs(low) <= value <= high + slack * abs(high):
            yield f"{name} is {value}, not in [{low}, {high}]"
    if document["trust"]["draws"] == 0:
        yield from (f"{name} has {known} without draws" for name, _, known in _values(document) if known is not None)


def bands_and_intervals(document: Json) -> Iterator[str]:
    """Each key `band_95` of a what-if row equals the interval of the same value."""
    for row in _answered(document):
        pairs = {check["objective"]: (check["band_95"], check["interval"]) for check in row["objectives"]}
        for name, values in row["classes"].items():
            for key in ("throughput", "response_time"):
                pairs[f"{key} of {name}"] = values[f"{key}_band_95"], values[f"{key}_interval"]
        for name, (band, known) in pairs.items():
            if band is not None and band != [known["low"], known["high"]]:
                yield f"{row['what_if']}: {name} has the band {band} and the interval {known}"


def one_queue_and_nodes(document: Json) -> Iterator[str]:
    """The response times for one queue common to all nodes do not exceed the response times for separate queues."""
    answer = document["answer"]
    if answer is None:
        return
    if (answer["one_queue_bound"] is None) != all(tier["nodes"] == 1 for tier in answer["tiers"].values()):
        yield f"one queue {answer['one_queue_bound']} of {answer['configuration']}"
    for name, bound in (answer["one_queue_bound"] or {}).items():
        time = answer["scenarios"][0]["classes"][name]["response_time_s"]
        if bound > time * (1 + _SOLVED):
            yield f"{name}: {bound} s with one queue, {time} s with one for each node"


def connections_and_users(document: Json) -> Iterator[str]:
    """The number of connections equals the number of users plus the number of requests of open classes in the
    system.
    """
    answer = document["answer"]
    if answer is None:
        return
    classes = answer["scenarios"][0]["classes"]
    open_ones = sum(classes[name]["users_in_system"] for name in document["load"]["rate_per_s"])
    wanted = sum(document["load"]["users"].values()) + open_ones
    if not _same(document["connections"], wanted, 1e-4):
        yield f"{document['connections']} connections, {wanted} users"


def steps_and_tables(document: Json) -> Iterator[str]:
    """The calculation steps have the values in the tables. A step's work is throughput times demand."""
    answer = document["answer"]
    if answer is None:
        return
    first = answer["scenarios"][0]
    by_name = {step["step"]: step for step in document["steps"]}
    for name, values in first["classes"].items():
        if not _same(by_name[f"throughput of {name}"]["value"], values["throughput_per_s"]):
            yield f"throughput of {name}: {by_name[f'throughput of {name}']['value']} in the steps"
    for tier, row in answer["tiers"].items():
        if not _same(by_name[f"cost of {tier}"]["value"], row["cost"]):
            yield f"cost of {tier}: {by_name[f'cost of {tier}']['value']} in the steps"
        for station, used in row["utilization"].items():
            step, work = by_name[f"utilization of {station}"], by_name[f"work at {station}"]
            if not _same(step["value"], used) or not _same(work["value"], used * row["nodes"] * row["cpus"], 1e-3):
                yield f"{station}: used {used}, {step['value']} and work {work['value']} in the steps"
            rates, demands = work["with"].get("X"), work["with"].get("D")
            if rates and not _same(work["value"], sum(rates[each] * demands[each] for each in demands), 1e-3):
                yield f"{station}: work {work['value']} is not the sum of X D"
    for check in answer["objectives"]:
        step = next((step for name, step in by_name.items() if name.startswith(check["objective"])), None)
        if step is None or not _same(step["value"], check["value"]):
            yield f"{check['objective']}: {check['value']}, in the steps {step and step['value']}"
    if not _same(by_name["connections"]["value"], document["connections"]):
        yield f"connections: {document['connections']}, in the steps {by_name['connections']['value']}"
    sure = by_name.get("probability that all holds")
    if (sure and sure["value"]) != answer["probability"]:
        yield f"probability {answer['probability']}, in the steps {sure and sure['value']}"


def limits_and_reasons(document: Json) -> Iterator[str]:
    """A row has either a load limit, or the reason why no load violates the objectives."""
    rows = [*_answered(document), *([document["answer"]] if document["answer"] else [])]
    for row in rows:
        if (row["load_at_limit"] is None) != bool(row["no_limit"]):
            yield f"load limit {row['load_at_limit']}, reason for no limit: {row['no_limit']}"
    for row in document["dates"]:
        if (row["limit"] is None) != bool(row["no_limit"]):
            yield f"{row['what']}: limit {row['limit']}, reason for no limit: {row['no_limit']}"


RULES: tuple[Rule, ...] = (
    costs,
    counts_of_the_search,
    words_and_tiers,
    tiers_and_scenarios,
    worst_scenario,
    busiest_station,
    bottlenecks_and_loads,
    met_and_carried,
    dates_and_what_if,
    values_and_intervals,
    bands_and_intervals,
    one_queue_and_nodes,
    connections_and_users,
    steps_and_tables,
    limits_and_reasons,
)
