"""What hardware the load needs: the answer, why nothing cheaper will do, what-if, dates, every step, trust."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank.estimates import few_digits
from towtank.report import format as people
from towtank.report.document import Block, Bullets, Callout, Column, Section, Table, paragraph, text
from towtank.report.source import Json, Results
from towtank.size.interval import (
    duration_text,
    estimate_text,
    interval_of,
    number_text,
    rate_text,
    share_text,
    size_text,
)


def build(results: Results) -> Section | None:
    """The section; None where nobody asked for a sizing."""
    found = results.sizing
    if found is None:
        return None
    if found.get("refused"):
        why = Callout("note", "Not sized", (text(str(found["refused"])),))
        return Section("sizing", "Sizing", (why,))
    blocks: list[Block] = [paragraph(_asked(found)), _answer(found)]
    if found["answer"] is not None:
        blocks += [_tiers(found), _scenarios(found), *_next(found), _front(found)]
        blocks += _pools(found)
    blocks += [*_what_if(found), *_dates(found), _steps(found), *_trust(found)]
    return Section("sizing", "Sizing", tuple(blocks))


def _asked(found: Json) -> str:
    load = found["load"]
    grown = found.get("load_interval", {})
    loads = [f"{number_text(n, interval_of(grown.get(name)))} users of {name}" for name, n in load["users"].items()]
    loads += [f"{rate_text(n, interval_of(grown.get(name)))} of {name}" for name, n in load["rate_per_s"].items()]
    limits = [str(one) for one in found["objectives"]]
    limits += [f"{name} used at most {people.share(one)}" for name, one in found["utilization_at_most"].items()]
    lost = ""
    if found["nodes_lost"]:
        lost = f", also while {people.plural(found['nodes_lost'], 'node')} of any tier of several nodes is lost"
    return f"To carry {people.listing(loads)}, such that {people.listing(limits)}{lost}."


def _answer(found: Json) -> Block:
    answer = found["answer"]
    if answer is None:
        tried = found["search"]["candidates"]
        told = f"None of {people.plural(tried, 'candidate')} meets the objectives."
        top = found["strongest"]
        why = f"The strongest of every tier together, {top['configuration']}: {_why(top)}."
        return Callout("note", "Nothing meets this", (text(told), text(why)))
    told = (
        "The probability is not known."
        if answer["probability"] is None
        else f"All of it holds with a probability of {_chance(answer)}."
    )
    return Callout("note", str(answer["configuration"]), (text(f"{_cost(found, answer)}. {told} {_carries(answer)}"),))


def _carries(answer: Json) -> str:
    if answer["load_at_limit"] is None:
        return f"{str(answer['no_limit']).capitalize()}."
    spare = share_text(answer["headroom"], interval_of(answer.get("headroom_interval")))
    asked = any(one["objective"].startswith("throughput") for one in answer["objectives"])
    what = "a time or a utilization" if asked else "something"
    missed = answer.get("throughput_missed")
    alone = "" if missed is None else f" A throughput alone is missed in {share_text(missed)} of the draws."
    return f"It carries {_carried(answer)} until {what} is missed: {spare} more than the load asked for.{alone}"


def _cost(found: Json, one: Json) -> str:
    words = {
        "price": "The cheapest, at a price of",
        "capacity": "The smallest, with a capacity of",
        "CPUs": "The smallest, with",
    }
    return f"{words[found['cost_by']]} {_count(one['cost'])} {found['cost_unit']}"


def _count(value: Any) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or float(value).is_integer() else f"{value:.4g}"


def _chance(one: Json) -> str:
    """A probability with the error of the limited number of draws."""
    return share_text(one["probability"], interval_of(one.get("probability_interval")))


def _carried(one: Json, key: str = "load_at_limit") -> str:
    """The load at which something is missed, three digits of it without an interval; any load without a limit."""
    if one[key] is None:
        return "any load"
    known, unit = interval_of(one.get(f"{key}_interval")), one["load_unit"] if "load_unit" in one else one["unit"]
    if known is None or known.is_point:
        return f"{few_digits(one[key])} {unit}"
    return number_text(one[key], known, unit)


def _busiest(one: Json) -> str:
    return f"{one['station']} {share_text(one['utilization'], interval_of(one.get('interval')))}"


def _throughput(one: Json) -> str:
    return rate_text(one["throughput_per_s"], interval_of(one.get("throughput_interval")))


def _response(one: Json) -> str:
    return duration_text(one["response_time_s"], interval_of(one.get("response_time_interval")))


def _tiers(found: Json) -> Table:
    rows = []
    for name, one in found["answer"]["tiers"].items():
        unit = "CPU" if one["kind"] == "cpu" else "disk"
        known = one.get("utilization_interval", {})
        used = ", ".join(
            f"{station} {share_text(ratio, interval_of(known.get(station)))}"
            for station, ratio in one["utilization"].items()
        )
        memory = people.ABSENT
        if one["memory_bytes"] is not None:
            memory = size_text(one["memory_bytes"], interval_of(one.get("memory_interval")))
        of = people.plural(one["cpus"], unit)
        rows.append(
            (
                name,
                str(one["nodes"]),
                f"{one['machine']}: {of}" if one["machine"] else of,
                _speed(one["speed"]),
                used,
                memory,
            )
        )
    columns = (
        Column("Tier"), Column("Nodes", numeric=True), Column("Of"), Column("Speed of a CPU", numeric=True),
        Column("Utilization"), Column("Memory of a node", numeric=True),
    )  # fmt: skip
    notes = ("Speed is that of one CPU over the one that was measured.",)
    return Table("Hardware that carries the load", columns, tuple(rows), notes)


def _speed(one: Json) -> str:
    return people.number(one["value"]) if one["low"] == one["high"] else people.plain_estimate(one)


def _scenarios(found: Json) -> Table:
    rows = []
    for one in found["answer"]["scenarios"]:
        lost = one["lost"]
        label = "all up" if lost is None else f"{lost['nodes']} of {lost['tier']} lost"
        for name, each in one["classes"].items():
            rows.append(
                (
                    label,
                    name,
                    _throughput(each),
                    _response(each),
                    *_objective(one, name),
                )
            )
    columns = (
        Column("Nodes"), Column("Class"), Column("Throughput", numeric=True), Column("Mean response", numeric=True),
        Column("Objectives"), Column("By"),
    )  # fmt: skip
    return Table("What it does at the load", columns, tuple(rows))


def _objective(scenario: Json, name: str) -> tuple[str, str]:
    """Values of the objectives about a class, and how they were found."""
    mine = [
        one
        for one in scenario["objectives"]
        if f" of {name} " in f"{one['objective']} " or " of " not in one["objective"]
    ]
    told = "; ".join(f"{one['objective']}: {_value(one)}" for one in mine) or people.ABSENT
    if scenario["simulated"]:
        return told, "percentiles simulated"
    return told, str(scenario["percentiles"] or ("exact solution" if scenario["exact"] else "approximation"))


def _value(one: Json) -> str:
    if "shown" in one:
        return str(one["shown"])
    if one["value"] is None:
        return "no steady state"
    return rate_text(one["value"]) if one["objective"].startswith("throughput") else duration_text(one["value"])


def _next(found: Json) -> list[Block]:
    """Why nothing cheaper will do, and what limits the answer."""
    items = [f"One step cheaper, {one['configuration']}: {_why(one)}." for one in found.get("neighbours", ())]
    if found["next_cheaper"] is not None:
        one = found["next_cheaper"]
        items.append(f"The next cheaper one that was tried, {one['configuration']}: {_why(one)}.")
    limits = []
    for place, one in enumerate(found["bottlenecks"]):
        what = (
            "The bottleneck is"
            if place == 0
            else f"After the servers of {found['bottlenecks'][place - 1]['station']} are doubled it is"
        )
        unit = found["answer"]["load_unit"]
        used = share_text(one["utilization"], interval_of(one.get("utilization_interval")))
        at = number_text(one["load"], interval_of(one.get("load_interval")), unit)
        limits.append(f"{what} {one['station']}, used {used} at {at}.")
    return [Bullets(tuple(text(one) for one in (*limits, *items)))] if limits or items else []


def _why(one: Json) -> str:
    return "; ".join(str(why) for why in one["why_not"]) or "it would do as well"


def _front(found: Json) -> Table:
    rows = tuple(
        (
            str(one["configuration"]),
            _count(one["cost"]),
            "; ".join(_value(each) for each in one["objectives"]) or people.ABSENT,
            _busiest(one["busiest"]),
            people.ABSENT if one["probability"] is None else _chance(one),
        )
        for one in found["pareto"]
    )
    columns = (
        Column("Configuration"), Column("Cost", str(found["cost_unit"]), numeric=True),
        Column("Objectives", numeric=True), Column("Busiest"), Column("Probability", numeric=True),
    )  # fmt: skip
    return Table("Candidates of which none is better in all of cost, objectives and headroom", columns, rows)


def _pools(found: Json) -> list[Block]:
    if not found["pools"]:
        return []
    rows = tuple(
        (
            f"{name}{_lost(one.get('lost'))}",
            str(one["size"] or people.ABSENT),
            str(one["first_guess"]),
            number_text(one["held"], interval_of(one.get("held_interval"))),
            duration_text(one["wait_s"], interval_of(one.get("wait_interval"))) if one["size"] else str(one["why_not"]),
        )
        for name, one in found["pools"].items()
    )
    columns = (
        Column("Pool"),
        Column("Size", numeric=True),
        Column("First guess", numeric=True),
        Column("Held on average", numeric=True),
        Column("Mean wait", numeric=True),
    )
    notes = (
        "The first guess is square-root staffing; the size is the least whose mean wait, solved, is allowed, in the "
        "scenario that needs most.",
        "A pool has its size for all nodes together.",
    )
    return [Table("Pools", columns, rows, notes)]


def _lost(lost: Json | None) -> str:
    return "" if lost is None else f", {lost['nodes']} of {lost['tier']} lost"


def _what_if(found: Json) -> list[Block]:
    if not found["what_if"]:
        return []
    rows = []
    for one in found["what_if"]:
        if "refused" in one:
            rows.append((one["what_if"], str(one["refused"]), *[people.ABSENT] * 4))
            continue
        means = "; ".join(_response(each) for each in one["classes"].values())
        rates = "; ".join(_throughput(each) for each in one["classes"].values())
        checks = "; ".join(str(each["shown"]) for each in one["objectives"])
        met = ("yes" if one["met"] else "no") + ("" if one["probability"] is None else f" ({_chance(one)})")
        of = [f"Of {one['hardware']}, {one['configuration']}"] if "hardware" in one else []
        what = ". ".join([one["what_if"], *of, *one["notes"]])
        rows.append(
            (
                what,
                rates or people.ABSENT,
                means or people.ABSENT,
                checks or people.ABSENT,
                _carried(one),
                met,
            )
        )
    columns = (
        Column("What if"), Column("Throughput", numeric=True), Column("Mean response", numeric=True),
        Column("Objectives", numeric=True), Column("Carries", numeric=True), Column("Met"),
    )  # fmt: skip
    notes = (
        "Brackets hold what 95 % of the draws give.",
        "The share after yes or no is that of the draws in which all holds, with the error of their limited number.",
    )
    return [Table("What if", columns, tuple(rows), notes)]


def _dates(found: Json) -> list[Block]:
    if not found["dates"]:
        return []
    rows = tuple(
        (
            str(one["what"]),
            _carried(one, "limit"),
            str(one["missed_from"] or _never(one)),
            _expected(one),
        )
        for one in found["dates"]
    )
    chance = people.share(found["dates"][0]["chance"])
    columns = (
        Column("Hardware"),
        Column("Carries", numeric=True),
        Column(f"Chance of a miss above {chance} from"),
        Column("Expected to be reached on"),
    )
    return [Table("When growth meets the limit", columns, rows)]


def _never(one: Json) -> str:
    """Why a row of the table of dates has no day."""
    return "nothing to miss" if one["limit"] is None else "not within 20 years"


def _expected(one: Json) -> str:
    """The day on which a limit is expected to be passed, with the days between which it is with 95 %."""
    day, known = one["expected_on"] or _never(one), one.get("expected_interval")
    if known is None or known["low"] == known["high"]:
        return str(day)
    return f"{day} [{known['low'] or 'later'}, {known['high'] or 'later'}]"


def _steps(found: Json) -> Table:
    rows = tuple(
        (str(one["step"]), str(one["formula"]), _with(one["with"]), _step_value(one), str(one["source"]))
        for one in found["steps"]
    )
    columns = (Column("Step"), Column("Formula"), Column("With"), Column("Value", numeric=True), Column("Source"))
    return Table("Every step of the arithmetic", columns, rows)


def _with(values: Mapping[str, Any]) -> str:
    def told(value: Any) -> str:
        if isinstance(value, Mapping):
            return "{" + _with(value) + "}" if len(value) > 1 else ", ".join(told(one) for one in value.values())
        return number_text(value)

    return ", ".join(f"{name} = {told(value)}" for name, value in values.items())


def _step_value(one: Json) -> str:
    if one.get("shown"):
        return str(one["shown"])
    return estimate_text(one["value"], one["unit"])


def _trust(found: Json) -> list[Block]:
    """What the answer rests on."""
    trust = found["trust"]
    items = []
    measured = trust["measured"]
    if measured is not None:
        low, high = measured["users"]
        times = trust.get("times_measured")
        known = interval_of(trust.get("times_measured_interval"))
        asked = "" if times is None else number_text(times, known)
        more = "" if times is None else f"; the load asks for {asked} times the highest throughput"
        items.append(f"Measured from {low:g} to {high:g} users, up to {rate_text(measured['throughput_per_s'])}{more}.")
    if trust.get("model_why"):
        items.append(f"The model is the {trust['model']}: {trust['model_why']}.")
    if trust["held_out_error"] is not None:
        items.append(f"The highest load, left out of the fit, was predicted {100 * trust['held_out_error']:+.2g} %.")
    if trust.get("no_interval"):
        items.append(f"No interval: {trust['no_interval']}.")
    if trust.get("no_limit_interval"):
        items.append(f"No interval: {trust['no_limit_interval']}.")
    items += [
        f"{one['part'].capitalize()}: {one['origin']}{', counted in the probability' if one['counted'] else ''}: "
        f"{one['text']}."
        for one in trust.get("rests_on", ())
    ]
    items += [f"Assumes that {one['assumes']}. Tested: {one['tested']}." for one in trust["assumptions"]]
    items += [f"Doubt: {one}." for one in trust["doubts"]]
    return [paragraph("What this rests on:"), Bullets(tuple(text(one) for one in items))]
