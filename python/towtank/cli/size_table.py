"""Renders the output of `towtank size` as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from towtank.cli.size_day_table import day_table
from towtank.cli.solve_table import number
from towtank.estimates import few_digits, interval_texts, relative_error
from towtank.sizing import (
    BYTES,
    duration_text,
    estimate_text,
    interval_of,
    number_text,
    rate_text,
    share_text,
    size_text,
)

Json = dict[str, Any]


ANY_LOAD = "any load"
# Smallest utilization that is rendered as 100 % with one decimal place. [ratio]
_FULLY = 0.9995


def size_parts(document: Json, *, explain: bool) -> Iterator[RenderableType]:
    """Render the result of a sizing: hardware, reasons against cheaper candidates, bottlenecks, and evidence."""
    yield _question(document)
    answer = document["answer"]
    if answer is None:
        yield from _nothing(document)
    else:
        yield f"answer: {answer['configuration']}, {cost(document, answer)}"
        yield _tiers(document)
        yield _scenarios(document)
        yield from _sentences(document)
        yield _others(document)
    yield from day_table(document, document["cost_unit"])
    if document["what_if"]:
        yield _what_if(document)
    if document["dates"]:
        yield _dates(document)
    if explain:
        yield from _steps(document)
    yield from _trust(document)


def cost(document: Json, row: Json) -> str:
    """Render the cost of a hardware candidate: a price, a capacity or a number of CPUs."""
    what = {"price": "price", "capacity": "capacity", "CPUs": "in all"}[document["cost_by"]]
    return f"{what} {number(row['cost'])} {document['cost_unit']}"


def _question(document: Json) -> str:
    load = document["load"]
    grown = document.get("load_interval", {})
    parts = [f"{number_text(n, interval_of(grown.get(name)))} users of {name}" for name, n in load["users"].items()]
    parts += [f"{rate_text(n, interval_of(grown.get(name)))} of {name}" for name, n in load["rate_per_s"].items()]
    asked = [
        *document["objectives"],
        *(f"{name} used at most {share_text(share)}" for name, share in document["utilization_at_most"].items()),
    ]
    lost = (
        f", even after the loss of {document['nodes_lost']} of the nodes of any tier with several nodes"
        if document["nodes_lost"]
        else ""
    )
    return f"to serve: {', '.join(parts)}\nso that: {'; '.join(asked)}{lost}"


def _nothing(document: Json) -> Iterator[str]:
    search = document["search"]
    yield f"none of {search['candidates']} candidates meets these requirements"
    cheaper = document["next_cheaper"]
    if cheaper is not None:
        yield f"  the most expensive candidate tried, {cheaper['configuration']}: {'; '.join(cheaper['why_not'])}"
    top = document["strongest"]
    why = "; ".join(top["why_not"]) or "all requirements are met at the best estimate"
    yield f"  the strongest hardware in every tier, {top['configuration']}: {why}"


def _tiers(document: Json) -> Table:
    table = Table("tier", "nodes", "of", "speed", "utilization", "memory of a node")
    for name, tier in document["answer"]["tiers"].items():
        unit = "CPU" if tier["kind"] == "cpu" else "disk"
        of = f"{tier['cpus']} {unit}{'s' if tier['cpus'] != 1 else ''}"
        known = tier.get("utilization_interval", {})
        used = ", ".join(
            f"{station} {share_text(ratio or 0.0, interval_of(known.get(station)))}"
            for station, ratio in tier["utilization"].items()
        )
        needed, memory = interval_of(tier.get("memory_interval")), "-"
        if tier["memory_bytes"] is not None:
            memory = size_text(tier["memory_bytes"], needed)
        machine = f"{tier['machine']}: {of}" if tier["machine"] else of
        table.add_row(name, str(tier["nodes"]), machine, speed(tier["speed"]), used, memory)
    return table


def speed(ratio: Json) -> str:
    """Render the speed ratio of two machines, with its confidence interval."""
    if ratio["low"] == ratio["high"]:
        return number(ratio["value"])
    value, low, high = interval_texts(ratio["value"], ratio["low"], ratio["high"])
    return f"{value} ({low} to {high})"


def _scenarios(document: Json) -> Table:
    table = Table("nodes", "class", "throughput /s", "mean response", "objective", "value", "by")
    for scenario in document["answer"]["scenarios"]:
        lost = scenario["lost"]
        label = "all up" if lost is None else f"{lost['nodes']} of {lost['tier']} lost"
        rows = [(name, throughput(each), response(each)) for name, each in scenario["classes"].items()]
        checks = [(each["objective"], value_of(each), _by(scenario, each)) for each in scenario["objectives"]]
        for place in range(max(len(rows), len(checks))):
            left = rows[place] if place < len(rows) else ("", "", "")
            right = checks[place] if place < len(checks) else ("", "", "")
            table.add_row(label if place == 0 else "", *left, *right)
    return table


def throughput(row: Json) -> str:
    """Render the throughput of a class, with its confidence interval if known."""
    return number_text(row["throughput_per_s"], interval_of(row.get("throughput_interval")))


def response(row: Json) -> str:
    """Render the mean response time of a class, with its confidence interval if known."""
    return duration_text(row["response_time_s"], interval_of(row.get("response_time_interval")))


def busiest(row: Json) -> str:
    """Render the busiest station and its utilization."""
    return f"{row['station']} {share_text(row['utilization'] or 0.0, interval_of(row.get('interval')))}"


def chance(row: Json) -> str:
    """Render a probability with its sampling error, which comes from the limited number of random samples."""
    return share_text(row["probability"], interval_of(row.get("probability_interval")))


def value_of(check: Json) -> str:
    """Render the predicted value of an objective."""
    if "shown" in check:
        return str(check["shown"])
    return rate_text(check["value"]) if "throughput" in check["objective"] else duration_text(check["value"])


def _by(scenario: Json, check: Json) -> str:
    simulated = (scenario["simulated"] or {}).get(check["objective"])
    if simulated is not None:
        return "simulated"
    objective = check["objective"]
    if objective.startswith("p") or " wait " in objective:
        how = scenario["percentiles"] or ""
        return "exact" if how.startswith("exact") else "corrected" if "corrected" in how else "approximate"
    return "solved" if scenario["exact"] else "approximate"


def _sentences(document: Json) -> Iterator[str]:
    answer, search = document["answer"], document["search"]
    asked = f"asked: {100 * document['probability_asked']:.3g} %"
    counted = document["trust"].get("counted")
    of = f"; it counts {' and '.join(counted)}" if counted else ""
    probability = "not known" if answer["probability"] is None else f"{chance(answer)} ({asked}{of})"
    yield f"probability that all requirements are met: {probability}"
    yield _carries(answer)
    for place, station in enumerate(document["bottlenecks"]):
        what = (
            "the bottleneck is"
            if place == 0
            else f"after doubling {document['bottlenecks'][place - 1]['station']} the bottleneck is"
        )
        lost = f" (nodes of {station['lost']} lost)" if station["lost"] else ""
        at = f"{number_text(station['load'], interval_of(station.get('load_interval')), answer['load_unit'])}{lost}"
        used = share_text(station["utilization"], interval_of(station.get("utilization_interval")))
        used = "fully" if station["utilization"] > _FULLY else used
        yield f"  {what} {station['station']}, used {used} at {at}"
    for neighbour in document.get("neighbours", []):
        why = "; ".join(neighbour["why_not"]) or "meets all requirements as well"
        yield f"one step cheaper, {neighbour['configuration']}: {why}"
    if document["next_cheaper"] is not None:
        cheaper = document["next_cheaper"]
        yield f"next cheaper, {cheaper['configuration']} ({cost(document, cheaper)}): {'; '.join(cheaper['why_not'])}"
    yield from _resources(document)
    yield (
        f"{search['candidates']} candidates: {search['cut']} dropped because one tier is too weak for any "
        f"choice of the other tiers, {search['passed_over']} dropped because a stronger candidate misses "
        f"a requirement, {search['tried']} solved, {search['simulated']} simulated"
    )


def _carries(answer: Json) -> str:
    """Render the highest load at which the hardware meets the objectives, and the headroom; a note if nothing limits
    the load.
    """
    if answer["load_at_limit"] is None:
        return str(answer["no_limit"])
    spare = interval_of(answer.get("headroom_interval"))
    to_spare = f"{few_digits(100 * answer['headroom'])} %" if spare is None else share_text(answer["headroom"], spare)
    return f"it serves {carried(answer)} until {limited_by(answer)} is missed: headroom {to_spare}{_alone(answer)}"


def limited_by(answer: Json) -> str:
    """Render the kinds of requirements that can limit the load.

    A throughput objective never limits the load, since throughput rises with the load.
    """
    asked = any(objective["objective"].startswith("throughput") for objective in answer["objectives"])
    return "an objective of a time or a utilization" if asked else "an objective or a utilization"


def _alone(answer: Json) -> str:
    """Render the share of random samples in which only a throughput objective is missed."""
    missed = answer.get("throughput_missed")
    known = interval_of(answer.get("throughput_missed_interval"))
    return (
        ""
        if missed is None
        else f"; only a throughput objective is missed in {share_text(missed, known)} of the random samples (draws)"
    )


def _resources(document: Json) -> Iterator[str]:
    if document["connections"]:
        known = interval_of(document.get("connections_interval"))
        yield f"connections open: {number_text(document['connections'], known)}"
    for name, pool in document["pools"].items():
        if pool["size"] is None:
            yield f"pool {name}: no size found: {pool['why_not']}"
        else:
            share = "" if pool.get("probability") is None else f", allowed in {chance(pool)} of the draws"
            best = pool.get("size_at_best", pool["size"])
            enough = "" if best == pool["size"] else f", {best} at the best estimate"
            lost = pool.get("lost")
            where = f", sized with {lost['nodes']} of the nodes of {lost['tier']} lost" if lost else ""
            yield (
                f"pool {name}: {pool['size']} for all nodes together (first guess {pool['first_guess']}{enough})"
                f"{where}, {number_text(pool['held'], interval_of(pool.get('held_interval')))} held, "
                f"mean wait {'(simulated) ' if pool.get('simulated') else ''}"
                f"{duration_text(pool['wait_s'], interval_of(pool.get('wait_interval')))}, "
                f"allowed {duration_text(pool['wait_at_most_s'])}{share}"
            )
    bound = document["answer"]["one_queue_bound"]
    if bound is not None:
        ends = document["answer"].get("one_queue_interval") or {}
        best = ", ".join(f"{name} {duration_text(time, interval_of(ends.get(name)))}" for name, time in bound.items())
        yield f"mean response time if all nodes shared one queue (ideal load balancer): {best}"


def _others(document: Json) -> Table:
    table = Table(
        "alternative",
        "cost",
        "objectives",
        "busiest",
        "probability",
        title="alternatives that no other candidate beats in all columns",
        title_justify="left",
    )
    for row in document["pareto"]:
        checks = ", ".join(value_of(each) for each in row["objectives"]) or "-"
        table.add_row(row["configuration"], number(row["cost"]), checks, busiest(row["busiest"]), chance(row))
    return table


def _what_if(document: Json) -> Table:
    table = Table(
        "what if", "hardware", "throughput /s", "mean response (95 %)", "objectives", "busiest", "carries", "met"
    )
    for row in document["what_if"]:
        if "refused" in row:
            table.add_row(row["what_if"], row["refused"], "", "", "", "", "", "-")
            continue
        rates = ", ".join(throughput(each) for each in row["classes"].values()) or "-"
        times = ", ".join(response(each) for each in row["classes"].values()) or "-"
        checks = ", ".join(each["shown"] for each in row["objectives"]) or "-"
        most = busiest(row["busiest"]) if row["busiest"]["station"] else "-"
        met = "yes" if row["met"] else "no"
        share = "" if row["probability"] is None else f" ({chance(row)})"
        text = "\n  ".join([row["what_if"], *row["notes"]])
        table.add_row(text, _hardware(row), rates, times, checks, most, carried(row), met + share)
    return table


def _hardware(row: Json) -> str:
    """Render the hardware of a what-if question; documents of earlier versions lack its name."""
    return f"{row['hardware']}: {row['configuration']}" if "hardware" in row else str(row["configuration"])


def carried(row: Json) -> str:
    """Render the highest load at which the hardware meets the objectives, or `any load`."""
    if row["load_at_limit"] is None:
        return ANY_LOAD
    unit = row["load_unit"] if "load_unit" in row else row["unit"]
    known = interval_of(row.get("load_at_limit_interval"))
    if known is None or known.is_point:
        return f"{few_digits(row['load_at_limit'])} {unit}"
    return number_text(row["load_at_limit"], known, unit)


def rests_text(rest: Json) -> str:
    """Render an input of the sizing with its origin: measured, given by the user, or assumed."""
    counted = ", counted in the probability" if rest["counted"] else ""
    return f"{rest['part']}: {rest['origin']}{counted}: {rest['text']}"


def _dates(document: Json) -> Table:
    table = Table("when growth meets the limit", "limit", "chance of a miss above", "from", "expected on (95 %)")
    for row in document["dates"]:
        chance = f"{100 * row['chance']:.3g} %"
        table.add_row(
            row["what"],
            limit_text(row),
            chance,
            row["missed_from"] or never(row),
            expected(row),
        )
    return table


def limit_text(row: Json) -> str:
    """Render a limit in the table of dates: the highest load of some hardware, or the size of a resource; `any load` if
    nothing limits the load.
    """
    limit, unit = row["limit"], row["unit"]
    if limit is None:
        return ANY_LOAD
    if unit == BYTES:
        return size_text(limit)
    known = interval_of(row.get("limit_interval"))
    if known is None or known.is_point:
        return f"{few_digits(limit)} {unit}"
    return number_text(limit, known, unit)


def never(row: Json) -> str:
    """Render the reason why a limit has no date: it does not exist, or is not reached within 20 years."""
    return "nothing to miss" if row["limit"] is None else "not within 20 years"


def expected(row: Json) -> str:
    """Render the date on which the growing load is expected to exceed a limit, with its 95 % interval."""
    day, known, other = row["expected_on"] or never(row), row.get("expected_interval"), row.get("otherwise")
    trend, later = other.values() if other else ("", None)
    beside = f"; {later or never(row)} by {trend} growth" if other else ""
    if known is None or (known["low"] == known["high"]):
        return f"{day}{beside}"
    return f"{day} [{known['low'] or 'later'}, {known['high'] or 'later'}]{beside}"


def _steps(document: Json) -> Iterator[str]:
    """Yield the calculation steps as lines, because a table would be too wide for a terminal."""
    yield "step by step:"
    for step in document["steps"]:
        yield f"  {step['step']}: {step['formula']} = {step_value(step)}"
        yield f"      {with_text(step['with'])}  ({step['source']})"


def with_text(values: Json) -> str:
    """Render the inputs of a calculation step, such as `a = 2, b = 3`."""
    return ", ".join(f"{name} = {_figure(value)}" for name, value in values.items())


def _figure(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(_figure(part) for part in value.values()) if len(value) < 2 else "{" + with_text(value) + "}"
    return number_text(float(value)) if isinstance(value, int | float) else str(value)


def step_value(step: Json) -> str:
    """Render the value of a calculation step with its unit."""
    if step.get("shown"):
        return str(step["shown"])
    return estimate_text(step["value"], step["unit"])


def _trust(document: Json) -> Iterator[str]:
    trust = document["trust"]
    measured = trust["measured"]
    if measured is not None:
        low, high = measured["users"]
        times, known = trust.get("times_measured"), interval_of(trust.get("times_measured_interval"))
        where = "" if times is None else f": {number_text(times, known)} times the highest measured throughput"
        highest = rate_text(measured["throughput_per_s"])
        yield f"based on {measured['source']}, {low:g} to {high:g} users, up to {highest}"
        yield f"  the load is {trust['range']} the measurements{where}"
    if trust.get("model_why"):
        yield f"  the model is a {trust['model']}: {trust['model_why']}"
    if trust["held_out_error"] is not None:
        error = relative_error(trust["held_out_error"], trust.get("held_out_interval"))
        yield f"the highest load, left out of the fit, was predicted with an error of {error}"
    if trust.get("no_interval"):
        yield f"no interval: {trust['no_interval']}"
    if trust.get("no_limit_interval"):
        yield f"no interval: {trust['no_limit_interval']}"
    for part in trust.get("rests_on", ()):
        yield f"  {rests_text(part)}"
    for assumption in trust["assumptions"]:
        yield f"  assumes that {assumption['assumes']}; tested: {assumption['tested']}"
    for text in trust["doubts"]:
        yield f"doubt: {text}"
