"""What `towtank size` prints for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from towtank.cli.solve_table import number
from towtank.estimates import few_digits, interval_texts
from towtank.size.interval import (
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
    grown = document.get("load_interval", {})
    parts = [f"{number_text(n, interval_of(grown.get(name)))} users of {name}" for name, n in load["users"].items()]
    parts += [f"{rate_text(n, interval_of(grown.get(name)))} of {name}" for name, n in load["rate_per_s"].items()]
    asked = [
        *document["objectives"],
        *(f"{name} used at most {share_text(one)}" for name, one in document["utilization_at_most"].items()),
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
        known = one.get("utilization_interval", {})
        used = ", ".join(
            f"{station} {share_text(ratio or 0.0, interval_of(known.get(station)))}"
            for station, ratio in one["utilization"].items()
        )
        needed, memory = interval_of(one.get("memory_interval")), "-"
        if one["memory_bytes"] is not None:
            memory = size_text(one["memory_bytes"], needed)
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
        rows = [(name, throughput(each), response(each)) for name, each in one["classes"].items()]
        checks = [(each["objective"], value_of(each), _by(one, each)) for each in one["objectives"]]
        for place in range(max(len(rows), len(checks))):
            left = rows[place] if place < len(rows) else ("", "", "")
            right = checks[place] if place < len(checks) else ("", "", "")
            table.add_row(label if place == 0 else "", *left, *right)
    return table


def throughput(one: Json) -> str:
    """Throughput of a class with its interval."""
    return number_text(one["throughput_per_s"], interval_of(one.get("throughput_interval")))


def response(one: Json) -> str:
    """Mean response time of a class with its interval."""
    return duration_text(one["response_time_s"], interval_of(one.get("response_time_interval")))


def busiest(one: Json) -> str:
    """The busiest station and its utilization with its interval."""
    return f"{one['station']} {share_text(one['utilization'] or 0.0, interval_of(one.get('interval')))}"


def chance(one: Json) -> str:
    """A probability with the error of the limited number of draws."""
    return share_text(one["probability"], interval_of(one.get("probability_interval")))


def value_of(one: Json) -> str:
    """The value of an objective in words."""
    if "shown" in one:
        return str(one["shown"])
    return rate_text(one["value"]) if "throughput" in one["objective"] else duration_text(one["value"])


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
    asked = f"asked: {100 * document['probability_asked']:.3g} %"
    counted = document["trust"].get("counted")
    of = f"; it counts {' and '.join(counted)}" if counted else ""
    probability = "not known" if answer["probability"] is None else f"{chance(answer)} ({asked}{of})"
    yield f"probability that all holds: {probability}"
    yield _carries(answer)
    for place, one in enumerate(document["bottlenecks"]):
        what = (
            "the bottleneck is"
            if place == 0
            else f"after doubling {document['bottlenecks'][place - 1]['station']} it is"
        )
        lost = f" (nodes of {one['lost']} lost)" if one["lost"] else ""
        at = f"{number_text(one['load'], interval_of(one.get('load_interval')), answer['load_unit'])}{lost}"
        used = share_text(one["utilization"], interval_of(one.get("utilization_interval")))
        used = "fully" if one["utilization"] > _FULLY else used
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


def _carries(answer: Json) -> str:
    """What the answer carries, and what it has to spare; that nothing limits it, if so."""
    if answer["load_at_limit"] is None:
        return str(answer["no_limit"])
    spare = interval_of(answer.get("headroom_interval"))
    to_spare = f"{few_digits(100 * answer['headroom'])} %" if spare is None else share_text(answer["headroom"], spare)
    return f"it carries {carried(answer)} until {limited_by(answer)} is missed: {to_spare} to spare{_alone(answer)}"


def limited_by(answer: Json) -> str:
    """Name what limits the load. A throughput objective does not, since throughput rises with the load."""
    asked = any(one["objective"].startswith("throughput") for one in answer["objectives"])
    return "a time or a utilization" if asked else "something"


def _alone(answer: Json) -> str:
    """The share of the draws that what is to spare does not count."""
    missed = answer.get("throughput_missed")
    return "" if missed is None else f"; a throughput alone is missed in {share_text(missed)} of the draws"


def _resources(document: Json) -> Iterator[str]:
    if document["connections"]:
        known = interval_of(document.get("connections_interval"))
        yield f"connections open: {number_text(document['connections'], known)}"
    for name, one in document["pools"].items():
        if one["size"] is None:
            yield f"pool {name}: no size found: {one['why_not']}"
        else:
            share = (
                "" if one.get("probability") is None else f", allowed in {share_text(one['probability'])} of the draws"
            )
            best = one.get("size_at_best", one["size"])
            enough = "" if best == one["size"] else f", {best} at the best estimate"
            lost = one.get("lost")
            where = f", sized with {lost['nodes']} of the nodes of {lost['tier']} lost" if lost else ""
            yield (
                f"pool {name}: {one['size']} for all nodes together (first guess {one['first_guess']}{enough}){where}, "
                f"{number_text(one['held'], interval_of(one.get('held_interval')))} held, "
                f"mean wait {'(simulated) ' if one.get('simulated') else ''}"
                f"{duration_text(one['wait_s'], interval_of(one.get('wait_interval')))}, "
                f"allowed {duration_text(one['wait_at_most_s'])}{share}"
            )
    bound = document["answer"]["one_queue_bound"]
    if bound is not None:
        ends = document["answer"].get("one_queue_interval") or {}
        best = ", ".join(f"{name} {duration_text(time, interval_of(ends.get(name)))}" for name, time in bound.items())
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
        table.add_row(one["configuration"], number(one["cost"]), checks, busiest(one["busiest"]), chance(one))
    return table


def _what_if(document: Json) -> Table:
    table = Table(
        "what if", "hardware", "throughput /s", "mean response (95 %)", "objectives", "busiest", "carries", "met"
    )
    for one in document["what_if"]:
        if "refused" in one:
            table.add_row(one["what_if"], one["refused"], "", "", "", "", "", "-")
            continue
        rates = ", ".join(throughput(each) for each in one["classes"].values()) or "-"
        times = ", ".join(response(each) for each in one["classes"].values()) or "-"
        checks = ", ".join(each["shown"] for each in one["objectives"]) or "-"
        most = busiest(one["busiest"]) if one["busiest"]["station"] else "-"
        met = "yes" if one["met"] else "no"
        share = "" if one["probability"] is None else f" ({chance(one)})"
        text = "\n  ".join([one["what_if"], *one["notes"]])
        table.add_row(text, _hardware(one), rates, times, checks, most, carried(one), met + share)
    return table


def _hardware(one: Json) -> str:
    """Name the hardware of a what-if question; documents of earlier versions do not name it."""
    return f"{one['hardware']}: {one['configuration']}" if "hardware" in one else str(one["configuration"])


def carried(one: Json) -> str:
    """The load at which something is missed, three digits of it without an interval; any load without a limit."""
    if one["load_at_limit"] is None:
        return ANY_LOAD
    unit = one["load_unit"] if "load_unit" in one else one["unit"]
    known = interval_of(one.get("load_at_limit_interval"))
    if known is None or known.is_point:
        return f"{few_digits(one['load_at_limit'])} {unit}"
    return number_text(one["load_at_limit"], known, unit)


def rests_text(one: Json) -> str:
    """Render an input that the answer depends on."""
    counted = ", counted in the probability" if one["counted"] else ""
    return f"{one['part']}: {one['origin']}{counted}: {one['text']}"


def _dates(document: Json) -> Table:
    table = Table("when growth meets the limit", "carries", "chance of a miss above", "from", "expected on (95 %)")
    for one in document["dates"]:
        chance = f"{100 * one['chance']:.3g} %"
        table.add_row(
            one["what"],
            limit_text(one),
            chance,
            one["missed_from"] or never(one),
            expected(one),
        )
    return table


def limit_text(one: Json) -> str:
    """The load that a row of the table of dates carries."""
    if one["limit"] is None:
        return ANY_LOAD
    known = interval_of(one.get("limit_interval"))
    if known is None or known.is_point:
        return f"{few_digits(one['limit'])} {one['unit']}"
    return number_text(one["limit"], known, one["unit"])


def never(one: Json) -> str:
    """Why a row of the table of dates has no day."""
    return "nothing to miss" if one["limit"] is None else "not within 20 years"


def expected(one: Json) -> str:
    """The day on which a limit is expected to be passed, with the days between which it is with 95 %."""
    day, known = one["expected_on"] or never(one), one.get("expected_interval")
    if known is None or (known["low"] == known["high"]):
        return str(day)
    return f"{day} [{known['low'] or 'later'}, {known['high'] or 'later'}]"


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
    return number_text(float(value)) if isinstance(value, int | float) else str(value)


def step_value(one: Json) -> str:
    """The value of a step with its unit."""
    if one.get("shown"):
        return str(one["shown"])
    return estimate_text(one["value"], one["unit"])


def _trust(document: Json) -> Iterator[str]:
    trust = document["trust"]
    measured = trust["measured"]
    if measured is not None:
        low, high = measured["users"]
        times, known = trust.get("times_measured"), interval_of(trust.get("times_measured_interval"))
        where = "" if times is None else f": {number_text(times, known)} times its highest throughput"
        highest = rate_text(measured["throughput_per_s"])
        yield f"this rests on {measured['source']}, {low:g} to {high:g} users, up to {highest}"
        yield f"  it is {trust['range']} what was measured{where}"
    if trust.get("model_why"):
        yield f"  the model is the {trust['model']}: {trust['model_why']}"
    if trust["held_out_error"] is not None:
        yield f"the highest load, left out of the fit, was predicted {100 * trust['held_out_error']:+.2g} %"
    if trust.get("no_interval"):
        yield f"no interval: {trust['no_interval']}"
    if trust.get("no_limit_interval"):
        yield f"no interval: {trust['no_limit_interval']}"
    for part in trust.get("rests_on", ()):
        yield f"  {rests_text(part)}"
    for one in trust["assumptions"]:
        yield f"  assumes that {one['assumes']}; tested: {one['tested']}"
    for text in trust["doubts"]:
        yield f"doubt: {text}"
