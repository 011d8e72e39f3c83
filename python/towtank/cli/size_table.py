"""What `towtank size` prints for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from towtank.cli.solve_table import number, percent
from towtank.estimates import duration_estimate, interval_texts, significant
from towtank.units import format_duration, format_rate, format_size

Json = dict[str, Any]


# A bottleneck whose idle time does not show in a percentage with one decimal.
_FULLY = 0.9995


def size_parts(document: Json, *, explain: bool) -> Iterator[RenderableType]:
    """The answer, why nothing cheaper will do, what comes next, how far it may be trusted."""
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
    if document["what_if"]:
        yield _what_if(document)
    if document["dates"]:
        yield _dates(document)
    if explain:
        yield from _steps(document)
    yield from _trust(document)


def cost(document: Json, one: Json) -> str:
    """The cost of a candidate in words."""
    what = {"price": "price", "capacity": "capacity", "CPUs": "in all"}[document["cost_by"]]
    return f"{what} {number(one['cost'])} {document['cost_unit']}"


def _question(document: Json) -> str:
    load = document["load"]
    parts = [f"{number(users)} users of {name}" for name, users in load["users"].items()]
    parts += [f"{format_rate(rate)} of {name}" for name, rate in load["rate_per_s"].items()]
    asked = [
        *document["objectives"],
        *(f"{name} used at most {percent(one)}" for name, one in document["utilization_at_most"].items()),
    ]
    lost = f", with {document['nodes_lost']} of the nodes of any tier of several lost" if document["nodes_lost"] else ""
    return f"to carry: {', '.join(parts)}\nso that: {'; '.join(asked)}{lost}"


def _nothing(document: Json) -> Iterator[str]:
    search = document["search"]
    yield f"nothing of {search['candidates']} candidates meets this"
    one = document["next_cheaper"]
    if one is not None:
        yield f"  the dearest that was tried, {one['configuration']}: {'; '.join(one['why_not'])}"
    top = document["strongest"]
    why = "; ".join(top["why_not"]) or "all holds there, at the best estimate"
    yield f"  the strongest of every tier together, {top['configuration']}: {why}"


def _tiers(document: Json) -> Table:
    table = Table("tier", "nodes", "of", "speed", "utilization", "memory of a node")
    for name, one in document["answer"]["tiers"].items():
        unit = "CPU" if one["kind"] == "cpu" else "disk"
        of = f"{one['cpus']} {unit}{'s' if one['cpus'] != 1 else ''}"
        used = ", ".join(f"{station} {percent(ratio or 0.0)}" for station, ratio in one["utilization"].items())
        memory = "-" if one["memory_bytes"] is None else format_size(one["memory_bytes"])
        machine = f"{one['machine']}: {of}" if one["machine"] else of
        table.add_row(name, str(one["nodes"]), machine, speed(one["speed"]), used, memory)
    return table


def speed(one: Json) -> str:
    """A ratio with its interval."""
    if one["low"] == one["high"]:
        return number(one["value"])
    value, low, high = interval_texts(one["value"], one["low"], one["high"])
    return f"{value} ({low} to {high})"


def _scenarios(document: Json) -> Table:
    table = Table("nodes", "class", "throughput /s", "mean response", "objective", "value", "by")
    for one in document["answer"]["scenarios"]:
        lost = one["lost"]
        label = "all up" if lost is None else f"{lost['nodes']} of {lost['tier']} lost"
        rows = [
            (name, number(each["throughput_per_s"]), format_duration(each["response_time_s"]))
            for name, each in one["classes"].items()
        ]
        checks = [(each["objective"], value_of(each), _by(one, each)) for each in one["objectives"]]
        for place in range(max(len(rows), len(checks))):
            left = rows[place] if place < len(rows) else ("", "", "")
            right = checks[place] if place < len(checks) else ("", "", "")
            table.add_row(label if place == 0 else "", *left, *right)
    return table


def value_of(one: Json) -> str:
    """The value of an objective in words."""
    if "shown" in one:
        return str(one["shown"])
    if one["value"] is None:
        return "no steady state"
    return format_rate(one["value"]) if "throughput" in one["objective"] else format_duration(one["value"])


def _by(scenario: Json, check: Json) -> str:
    told = (scenario["simulated"] or {}).get(check["objective"])
    if told is not None:
        return "simulated"
    if check["objective"].startswith("p"):
        how = scenario["percentiles"] or ""
        return "exact" if how.startswith("exact") else "corrected" if "corrected" in how else "approximate"
    return "solved" if scenario["exact"] else "approximate"


def _sentences(document: Json) -> Iterator[str]:
    answer, search = document["answer"], document["search"]
    chance = answer["probability"]
    asked = f"asked: {100 * document['probability_asked']:.3g} %"
    counted = document["trust"].get("counted")
    of = f"; it counts {' and '.join(counted)}" if counted else ""
    probability = "not known" if chance is None else f"{100 * chance:.1f} % ({asked}{of})"
    yield f"probability that all holds: {probability}"
    carries = f"{carried(answer['load_at_limit'])} {answer['load_unit']}"
    yield f"it carries {carries} until something is missed: {100 * answer['headroom']:+.1f} %"
    for place, one in enumerate(document["bottlenecks"]):
        what = (
            "the bottleneck is"
            if place == 0
            else f"after doubling {document['bottlenecks'][place - 1]['station']} it is"
        )
        lost = f" (nodes of {one['lost']} lost)" if one["lost"] else ""
        at = f"{carried(one['load'])} {answer['load_unit']}{lost}"
        used = "fully" if one["utilization"] > _FULLY else percent(one["utilization"])
        yield f"  {what} {one['station']}, used {used} at {at}"
    for one in document.get("neighbours", []):
        why = "; ".join(one["why_not"]) or "it would do as well"
        yield f"one step cheaper, {one['configuration']}: {why}"
    if document["next_cheaper"] is not None:
        one = document["next_cheaper"]
        yield f"next cheaper, {one['configuration']} ({cost(document, one)}): {'; '.join(one['why_not'])}"
    yield from _resources(document)
    yield (
        f"{search['candidates']} candidates: {search['cut']} ruled out by a part that is too weak in any company, "
        f"{search['passed_over']} by one that is nowhere weaker, {search['tried']} solved, "
        f"{search['simulated']} simulated"
    )


def _resources(document: Json) -> Iterator[str]:
    if document["connections"]:
        yield f"connections open: {number(document['connections'])}"
    for name, one in document["pools"].items():
        if one["size"] is None:
            yield f"pool {name}: no size found: {one['why_not']}"
        else:
            yield (
                f"pool {name}: {one['size']} (first guess {one['first_guess']}), {number(one['held'])} held, "
                f"mean wait {format_duration(one['wait_s'])}, allowed {format_duration(one['wait_at_most_s'])}"
            )
    bound = document["answer"]["one_queue_bound"]
    if bound is not None:
        best = ", ".join(f"{name} {format_duration(time)}" for name, time in bound.items())
        yield f"mean response if an ideal balancer made one queue of all nodes: {best}"


def _others(document: Json) -> Table:
    table = Table(
        "worth a look",
        "cost",
        "objectives",
        "busiest",
        "probability",
        title="no other is better in all of these",
        title_justify="left",
    )
    for one in document["pareto"]:
        checks = ", ".join(value_of(each) for each in one["objectives"]) or "-"
        busiest = f"{one['busiest']['station']} {percent(one['busiest']['utilization'] or 0.0)}"
        chance = "-" if one["probability"] is None else f"{100 * one['probability']:.1f} %"
        table.add_row(one["configuration"], number(one["cost"]), checks, busiest, chance)
    return table


def _what_if(document: Json) -> Table:
    table = Table(
        "what if", "hardware", "throughput /s", "mean response (95 %)", "objectives", "busiest", "carries", "met"
    )
    for one in document["what_if"]:
        if "refused" in one:
            table.add_row(one["what_if"], one["refused"], "", "", "", "", "", "-")
            continue
        rates = ", ".join(number(each["throughput_per_s"]) for each in one["classes"].values()) or "-"
        times = ", ".join(_with_band(each) for each in one["classes"].values()) or "-"
        checks = ", ".join(each["shown"] for each in one["objectives"]) or "-"
        station = one["busiest"]["station"]
        busiest = f"{station} {percent(one['busiest']['utilization'])}" if station else "-"
        met = "yes" if one["met"] else "no"
        chance = "" if one["probability"] is None else f" ({100 * one['probability']:.0f} %)"
        text = "\n  ".join([one["what_if"], *one["notes"]])
        carries = f"{carried(one['load_at_limit'])} {one['unit']}"
        table.add_row(text, _hardware(one), rates, times, checks, busiest, carries, met + chance)
    return table


def _hardware(one: Json) -> str:
    """Name the hardware of a what-if question; documents of earlier versions do not name it."""
    return f"{one['hardware']}: {one['configuration']}" if "hardware" in one else str(one["configuration"])


def carried(load: float) -> str:
    """Render a load at a limit with the digits that the bisection supports."""
    return number(significant(load, 3))


def _with_band(one: Json) -> str:
    band = one["response_time_band_95"]
    value = one["response_time_s"]
    return duration_estimate(value, *band) if band else format_duration(value)


def rests_text(one: Json) -> str:
    """Render an input that the answer depends on."""
    counted = ", counted in the probability" if one["counted"] else ""
    return f"{one['part']}: {one['origin']}{counted}: {one['text']}"


def _dates(document: Json) -> Table:
    table = Table("when growth meets the limit", "carries", "chance of a miss above", "from", "expected on")
    for one in document["dates"]:
        chance = f"{100 * one['chance']:.3g} %"
        table.add_row(
            one["what"],
            f"{carried(one['limit'])} {one['unit']}",
            chance,
            one["missed_from"] or "not within 20 years",
            one["expected_on"] or "not within 20 years",
        )
    return table


def _steps(document: Json) -> Iterator[str]:
    """One line for each step: a table of so many columns is hard to read on a terminal."""
    yield "step by step:"
    for one in document["steps"]:
        yield f"  {one['step']}: {one['formula']} = {step_value(one)}"
        yield f"      {with_text(one['with'])}  ({one['source']})"


def with_text(values: Json) -> str:
    """What went into a step, as `a = 2, b = 3`."""
    return ", ".join(f"{name} = {_figure(value)}" for name, value in values.items())


def _figure(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(_figure(one) for one in value.values()) if len(value) < 2 else "{" + with_text(value) + "}"
    return number(float(value)) if isinstance(value, int | float) else str(value)


def step_value(one: Json) -> str:
    """The value of a step with its unit."""
    if one.get("shown"):
        return str(one["shown"])
    value, unit = one["value"], one["unit"]
    if unit == "byte":
        return format_size(value)
    if unit == "s":
        return format_duration(value)
    return percent(value) if unit == "ratio" else number(value) if unit == "1" else f"{number(value)} {unit}"


def _trust(document: Json) -> Iterator[str]:
    trust = document["trust"]
    measured = trust["measured"]
    if measured is not None:
        low, high = measured["users"]
        times = trust.get("times_measured")
        where = "" if times is None else f": {times:.3g} times its highest throughput"
        highest = format_rate(measured["throughput_per_s"])
        yield f"this rests on {measured['source']}, {low:g} to {high:g} users, up to {highest}"
        yield f"  it is {trust['range']} what was measured{where}"
    if trust.get("model_why"):
        yield f"  the model is the {trust['model']}: {trust['model_why']}"
    if trust["held_out_error"] is not None:
        yield f"the highest load, left out of the fit, was predicted {100 * trust['held_out_error']:+.2g} %"
    for part in trust.get("rests_on", ()):
        yield f"  {rests_text(part)}"
    for one in trust["assumptions"]:
        yield f"  assumes that {one['assumes']}; tested: {one['tested']}"
    for text in trust["doubts"]:
        yield f"doubt: {text}"
