"""Builds the section on sizing: hardware, cheaper candidates, what-if cases, dates, steps of the calculation,
evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank.estimates import few_digits
from towtank.report import format as people
from towtank.report.document import Block, Bullets, Callout, Column, Section, Table, paragraph, text
from towtank.report.source import Json, Results
from towtank.sizing import (
    BYTES,
    day_of,
    duration_text,
    estimate_text,
    interval_of,
    number_text,
    rate_text,
    share_text,
    size_text,
)


def build(results: Results) -> Section | None:
    """Build the section on sizing; None if the study has no sizing."""
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
    blocks += [*_day(found), *_what_if(found), *_dates(found), _steps(found), *_trust(found)]
    return Section("sizing", "Sizing", tuple(blocks))


def _asked(found: Json) -> str:
    load = found["load"]
    grown = found.get("load_interval", {})
    loads = [f"{number_text(n, interval_of(grown.get(name)))} users of {name}" for name, n in load["users"].items()]
    loads += [f"{rate_text(n, interval_of(grown.get(name)))} of {name}" for name, n in load["rate_per_s"].items()]
    limits = [str(objective) for objective in found["objectives"]]
    limits += [f"{name} used at most {people.share(limit)}" for name, limit in found["utilization_at_most"].items()]
    lost = ""
    if found["nodes_lost"]:
        lost = f", also if {people.plural(found['nodes_lost'], 'node')} of any tier with several nodes fails"
    return f"To serve {people.listing(loads)}, such that {people.listing(limits)}{lost}."


def _answer(found: Json) -> Block:
    answer = found["answer"]
    if answer is None:
        tried = found["search"]["candidates"]
        sentence = f"None of {people.plural(tried, 'candidate')} meets the objectives."
        top = found["strongest"]
        why = f"Even the strongest hardware for every tier, {top['configuration']}, does not: {_why(top)}."
        return Callout("note", "No candidate is sufficient", (text(sentence), text(why)))
    sentence = (
        "The probability is not known."
        if answer["probability"] is None
        else f"All objectives are met with a probability of {_chance(answer)}."
    )
    return Callout(
        "note", str(answer["configuration"]), (text(f"{_cost(found, answer)}. {sentence} {_carries(answer)}"),)
    )


def _carries(answer: Json) -> str:
    if answer["load_at_limit"] is None:
        return f"{str(answer['no_limit']).capitalize()}."
    spare = share_text(answer["headroom"], interval_of(answer.get("headroom_interval")))
    asked = any(objective["objective"].startswith("throughput") for objective in answer["objectives"])
    what = "a limit of a time or a utilization" if asked else "an objective"
    missed = answer.get("throughput_missed")
    known = interval_of(answer.get("throughput_missed_interval"))
    alone = (
        ""
        if missed is None
        else f" In {share_text(missed, known)} of the random samples (draws), only a throughput objective is missed."
    )
    return f"It serves {_carried(answer)} until {what} is missed: {spare} more than the requested load.{alone}"


def _cost(found: Json, answer: Json) -> str:
    words = {
        "price": "The cheapest, at a price of",
        "capacity": "The smallest, with a capacity of",
        "CPUs": "The smallest, with",
    }
    return f"{words[found['cost_by']]} {_count(answer['cost'])} {found['cost_unit']}"


def _count(value: Any) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or float(value).is_integer() else f"{value:.4g}"


def _chance(case: Json) -> str:
    """Render a probability with its sampling error, which comes from the limited number of random samples."""
    return share_text(case["probability"], interval_of(case.get("probability_interval")))


def _carried(case: Json, key: str = "load_at_limit") -> str:
    """Render a limit of the load with its interval, if known; `any load` if nothing limits the load."""
    if case[key] is None:
        return "any load"
    known, unit = interval_of(case.get(f"{key}_interval")), case["load_unit"] if "load_unit" in case else case["unit"]
    if unit == BYTES:
        return size_text(case[key])
    if known is None or known.is_point:
        return f"{few_digits(case[key])} {unit}"
    return number_text(case[key], known, unit)


def _busiest(station: Json) -> str:
    return f"{station['station']} {share_text(station['utilization'], interval_of(station.get('interval')))}"


def _throughput(group: Json) -> str:
    return rate_text(group["throughput_per_s"], interval_of(group.get("throughput_interval")))


def _response(group: Json) -> str:
    return duration_text(group["response_time_s"], interval_of(group.get("response_time_interval")))


def _tiers(found: Json) -> Table:
    rows = []
    for name, tier in found["answer"]["tiers"].items():
        unit = "CPU" if tier["kind"] == "cpu" else "disk"
        known = tier.get("utilization_interval", {})
        used = ", ".join(
            f"{station} {share_text(ratio, interval_of(known.get(station)))}"
            for station, ratio in tier["utilization"].items()
        )
        memory = people.ABSENT
        if tier["memory_bytes"] is not None:
            memory = size_text(tier["memory_bytes"], interval_of(tier.get("memory_interval")))
        of = people.plural(tier["cpus"], unit)
        rows.append(
            (
                name,
                str(tier["nodes"]),
                f"{tier['machine']}: {of}" if tier["machine"] else of,
                _speed(tier["speed"]),
                used,
                memory,
            )
        )
    columns = (
        Column("Tier"), Column("Nodes", numeric=True), Column("Of"), Column("Speed of a CPU", numeric=True),
        Column("Utilization"), Column("Memory of a node", numeric=True),
    )  # fmt: skip
    notes = ("Speed is the speed of one CPU relative to a measured CPU.",)
    return Table("Hardware that serves the load", columns, tuple(rows), notes)


def _speed(speed: Json) -> str:
    return people.number(speed["value"]) if speed["low"] == speed["high"] else people.plain_estimate(speed)


def _scenarios(found: Json) -> Table:
    rows = []
    for scenario in found["answer"]["scenarios"]:
        lost = scenario["lost"]
        label = "all up" if lost is None else f"{lost['nodes']} of {lost['tier']} lost"
        for name, each in scenario["classes"].items():
            rows.append(
                (
                    label,
                    name,
                    _throughput(each),
                    _response(each),
                    *_objective(scenario, name),
                )
            )
    columns = (
        Column("Nodes"), Column("Class"), Column("Throughput", numeric=True), Column("Mean response", numeric=True),
        Column("Objectives"), Column("By"),
    )  # fmt: skip
    return Table("Performance at the requested load", columns, tuple(rows))


def _objective(scenario: Json, name: str) -> tuple[str, str]:
    """Render the objectives of a class with their predicted values; also return the method of the prediction."""
    mine = [
        objective
        for objective in scenario["objectives"]
        if f" of {name} " in f"{objective['objective']} " or " of " not in objective["objective"]
    ]
    sentence = "; ".join(f"{objective['objective']}: {_value(objective)}" for objective in mine) or people.ABSENT
    if scenario["simulated"]:
        return sentence, "percentiles simulated"
    return sentence, str(scenario["percentiles"] or ("exact solution" if scenario["exact"] else "approximation"))


def _value(objective: Json) -> str:
    if "shown" in objective:
        return str(objective["shown"])
    if objective["value"] is None:
        return "no steady state"
    return (
        rate_text(objective["value"])
        if objective["objective"].startswith("throughput")
        else duration_text(objective["value"])
    )


def _next(found: Json) -> list[Block]:
    """Build a list of the bottlenecks, and of the reasons why cheaper hardware does not suffice."""
    items = [
        f"One step cheaper, {neighbour['configuration']}: {_why(neighbour)}."
        for neighbour in found.get("neighbours", ())
    ]
    if found["next_cheaper"] is not None:
        one = found["next_cheaper"]
        items.append(f"Next cheaper tested candidate, {one['configuration']}: {_why(one)}.")
    limits = []
    for place, bottleneck in enumerate(found["bottlenecks"]):
        what = (
            "The bottleneck is"
            if place == 0
            else f"If the servers of {found['bottlenecks'][place - 1]['station']} are doubled, the next bottleneck is"
        )
        unit = found["answer"]["load_unit"]
        used = share_text(bottleneck["utilization"], interval_of(bottleneck.get("utilization_interval")))
        at = number_text(bottleneck["load"], interval_of(bottleneck.get("load_interval")), unit)
        limits.append(f"{what} {bottleneck['station']}, used {used} at {at}.")
    return [Bullets(tuple(text(sentence) for sentence in (*limits, *items)))] if limits or items else []


def _why(neighbour: Json) -> str:
    return "; ".join(str(why) for why in neighbour["why_not"]) or "would be sufficient, too"


def _front(found: Json) -> Table:
    rows = tuple(
        (
            str(candidate["configuration"]),
            _count(candidate["cost"]),
            "; ".join(_value(each) for each in candidate["objectives"]) or people.ABSENT,
            _busiest(candidate["busiest"]),
            people.ABSENT if candidate["probability"] is None else _chance(candidate),
        )
        for candidate in found["pareto"]
    )
    columns = (
        Column("Configuration"), Column("Cost", str(found["cost_unit"]), numeric=True),
        Column("Objectives", numeric=True), Column("Busiest"), Column("Probability", numeric=True),
    )  # fmt: skip
    return Table(
        "Candidates that no other candidate surpasses in cost, objectives and headroom together", columns, rows
    )


def _pools(found: Json) -> list[Block]:
    if not found["pools"]:
        return []
    rows = tuple(
        (
            f"{name}{_lost(pool.get('lost'))}",
            str(pool["size"] or people.ABSENT),
            str(pool["first_guess"]),
            number_text(pool["held"], interval_of(pool.get("held_interval"))),
            duration_text(pool["wait_s"], interval_of(pool.get("wait_interval")))
            if pool["size"]
            else str(pool["why_not"]),
        )
        for name, pool in found["pools"].items()
    )
    columns = (
        Column("Pool"),
        Column("Size", numeric=True),
        Column("First guess", numeric=True),
        Column("Held on average", numeric=True),
        Column("Mean wait", numeric=True),
    )
    notes = (
        "The first guess is computed by square-root staffing. The size is the smallest size with a permitted mean "
        "wait, "
        "as computed by the model, in the scenario with the highest demand.",
        "The size of a pool is the sum over all nodes.",
    )
    return [Table("Pools", columns, rows, notes)]


def _lost(lost: Json | None) -> str:
    return "" if lost is None else f", {lost['nodes']} of {lost['tier']} lost"


def _what_if(found: Json) -> list[Block]:
    if not found["what_if"]:
        return []
    rows = []
    for scenario in found["what_if"]:
        if "refused" in scenario:
            rows.append((scenario["what_if"], str(scenario["refused"]), *[people.ABSENT] * 4))
            continue
        means = "; ".join(_response(each) for each in scenario["classes"].values())
        rates = "; ".join(_throughput(each) for each in scenario["classes"].values())
        checks = "; ".join(str(each["shown"]) for each in scenario["objectives"])
        met = ("yes" if scenario["met"] else "no") + (
            "" if scenario["probability"] is None else f" ({_chance(scenario)})"
        )
        of = [f"Of {scenario['hardware']}, {scenario['configuration']}"] if "hardware" in scenario else []
        what = ". ".join([scenario["what_if"], *of, *scenario["notes"]])
        rows.append(
            (
                what,
                rates or people.ABSENT,
                means or people.ABSENT,
                checks or people.ABSENT,
                _carried(scenario),
                met,
            )
        )
    columns = (
        Column("What if"), Column("Throughput", numeric=True), Column("Mean response", numeric=True),
        Column("Objectives", numeric=True), Column("Highest load", numeric=True), Column("Met"),
    )  # fmt: skip
    notes = (
        "Draws are random samples of the uncertain values, such as demands. Brackets contain 95 % of the draws.",
        "The share after yes or no is that of the draws that meet all objectives, with its sampling error.",
    )
    return [Table("What if", columns, tuple(rows), notes)]


def _day(found: Mapping[str, Any]) -> list[Block]:
    """Build the table of hardware by interval of the day; empty if the sizing has no daily profile."""
    day = day_of(found)
    if day is None:
        return []
    rows = tuple(
        (
            part.interval,
            number_text(part.load, None, day.load_unit) if day.load_unit == "users" else rate_text(part.load),
            part.configuration or f"none: {people.listing([*part.why_not])}",
            "; ".join(part.objectives) or people.ABSENT,
            people.ABSENT if part.probability is None else share_text(part.probability),
        )
        for part in day.intervals
    )
    columns = (
        Column("Interval"), Column("Load", numeric=True), Column("Hardware"), Column("Objectives", numeric=True),
        Column("Probability", numeric=True),
    )  # fmt: skip
    notes = ("Each interval is sized as if its load lasted.",)
    return [Table("Hardware by interval of the day", columns, rows, notes)]


def _dates(found: Json) -> list[Block]:
    if not found["dates"]:
        return []
    rows = tuple(
        (
            str(date["what"]),
            _carried(date, "limit"),
            str(date["missed_from"] or _never(date)),
            _expected(date),
        )
        for date in found["dates"]
    )
    chance = people.share(found["dates"][0]["chance"])
    columns = (
        Column("Hardware"),
        Column("Limit", numeric=True),
        Column(f"Chance of a miss above {chance} from"),
        Column("Expected to be reached on"),
    )
    return [Table("Dates on which a limit is reached", columns, rows)]


def _never(date: Json) -> str:
    """Render the reason why a limit has no date: it does not exist, or is not reached within 20 years."""
    return "nothing to miss" if date["limit"] is None else "not within 20 years"


def _expected(date: Json) -> str:
    """Render the date on which the growing load is expected to exceed a limit, with its 95 % interval."""
    day, known = date["expected_on"] or _never(date), date.get("expected_interval")
    if known is None or known["low"] == known["high"]:
        return str(day)
    return f"{day} [{known['low'] or 'later'}, {known['high'] or 'later'}]"


def _steps(found: Json) -> Table:
    rows = tuple(
        (str(step["step"]), str(step["formula"]), _with(step["with"]), _step_value(step), str(step["source"]))
        for step in found["steps"]
    )
    columns = (Column("Step"), Column("Formula"), Column("With"), Column("Value", numeric=True), Column("Source"))
    return Table("Steps of the calculation", columns, rows)


def _with(values: Mapping[str, Any]) -> str:
    def shown(value: Any) -> str:
        if isinstance(value, Mapping):
            return "{" + _with(value) + "}" if len(value) > 1 else ", ".join(shown(part) for part in value.values())
        return number_text(value)

    return ", ".join(f"{name} = {shown(value)}" for name, value in values.items())


def _step_value(step: Json) -> str:
    if step.get("shown"):
        return str(step["shown"])
    return estimate_text(step["value"], step["unit"])


def _trust(found: Json) -> list[Block]:
    """Build a list of the evidence for the sizing, such as inputs, assumptions and doubts."""
    trust = found["trust"]
    items = []
    measured = trust["measured"]
    if measured is not None:
        low, high = measured["users"]
        times = trust.get("times_measured")
        known = interval_of(trust.get("times_measured_interval"))
        asked = "" if times is None else number_text(times, known)
        more = "" if times is None else f"; the requested load is {asked} times the highest measured throughput"
        items.append(f"Measured from {low:g} to {high:g} users, up to {rate_text(measured['throughput_per_s'])}{more}.")
    if trust.get("model_why"):
        items.append(f"The model is the {trust['model']}: {trust['model_why']}.")
    if trust["held_out_error"] is not None:
        error = people.signed_estimate(trust["held_out_error"], trust.get("held_out_interval"))
        items.append(f"The highest load, left out of the fit, was predicted with an error of {error}.")
    if trust.get("no_interval"):
        items.append(f"No interval: {trust['no_interval']}.")
    if trust.get("no_limit_interval"):
        items.append(f"No interval: {trust['no_limit_interval']}.")
    items += [
        f"{ground['part'].capitalize()}: {ground['origin']}"
        f"{', counted in the probability' if ground['counted'] else ''}: {ground['text']}."
        for ground in trust.get("rests_on", ())
    ]
    items += [
        f"Assumes that {assumption['assumes']}. Tested: {assumption['tested']}." for assumption in trust["assumptions"]
    ]
    items += [f"Doubt: {doubt}." for doubt in trust["doubts"]]
    return [paragraph("Evidence for this sizing:"), Bullets(tuple(text(sentence) for sentence in items))]
