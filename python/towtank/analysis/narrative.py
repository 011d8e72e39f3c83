"""Sentences computed from a study's numbers: nothing is said that no number stands behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from towtank.analysis.checks.generator import CONNECTION_WAIT_SHARE
from towtank.analysis.comparison import is_certain, strength
from towtank.analysis.doubts import percent, seconds
from towtank.analysis.ideal import share_of
from towtank.analysis.limits.estimate import TESTED
from towtank.analysis.limits.of_levels import LimitKind
from towtank.analysis.limits.of_runs import text_of
from towtank.analysis.statistics import ratio_interval
from towtank.analysis.statistics.estimates import from_document
from towtank.estimates import duration_in_words, in_words

_AT_THE_END = {
    LimitKind.CPU: ", limited by the CPU of {resource}",
    LimitKind.ERRORS: "; beyond its highest valid level transactions fail",
    LimitKind.OVERLOAD: ", less than arrives; the limiting resource is not known",
    LimitKind.UNKNOWN: ", short of ideal scaling; the limiting resource is not known",
    LimitKind.NONE: ", its limit not reached",
    LimitKind.UNDECIDED: "; the levels do not decide whether this is its limit",
}
"""End of the headline of one configuration, by the kind of its limit."""
Summary = dict[str, Any]
Sentence = dict[str, Any]


def observations(summary: Summary) -> list[Sentence]:
    """All observations, the most important kinds first.

    Returns
    -------
    list of dict
        `kind`, `text`, and the `numbers` the text is made of.
    """
    found: list[Sentence] = []
    for configuration in summary["configurations"]:
        found += _found(configuration)
        found += _scaling(configuration)
        # Where a search found the limit, that its one level shows none is no news.
        if configuration["limit"]["reached"] or not configuration.get("found_limit"):
            found += _limits(configuration)
        found += _response(configuration)
        found += _failed(configuration)
        found += _tiers(configuration)
        found += _pool(configuration)
    found += _comparisons(summary)
    found += _objectives(summary)
    found += _quality(summary)
    return found


def _sentence(kind: str, text: str, **numbers: Any) -> Sentence:
    return {"kind": kind, "text": text, "numbers": numbers}


def _valid(configuration: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        point
        for point in configuration["points"]
        if any(verdict != "invalid" for verdict in point["verdicts"]) and point["throughput_per_s"]["value"] is not None
    ]


def _load(point: dict[str, Any]) -> str:
    amount = f"{point['load']:g} users" if "users" in point else f"{point['load']:g} arrivals per second"
    # The numbers of a run with several loads describe one stage.
    return f"{amount} (stage {point['stage']})" if point.get("stage") else amount


def _prefix(configuration: dict[str, Any]) -> str:
    return f"With {configuration['label']}, " if configuration["key"] else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _found(configuration: dict[str, Any]) -> Iterator[Sentence]:
    """What a search for the limit found, and what failed beyond it."""
    limit = configuration.get("found_limit")
    if not limit:
        return
    failure = limit["failure"] or {}
    said = failure.get("text", "")
    why = f": {said}" if said else ""
    if limit["value"] is None:
        text = f"{_prefix(configuration)}no limit was found, because no plateau passed{why}."
    elif limit["is_lower_bound"]:
        text = f"{_prefix(configuration)}the system carries {text_of(limit)}; its limit was not found{why}."
    else:
        confidence = f", {100 * limit['confidence']:.0f} % confidence" if limit["confidence"] else ""
        within = " within one run" if limit["method"] == TESTED else ""
        how = f"{limit['method']}{confidence}{within}"
        text = f"{_prefix(configuration)}the limit is {text_of(limit)} ({how}); beyond it{why}."
    text = text.replace("beyond it: ", "beyond it ")
    yield _sentence(
        "found_limit",
        _capital(text),
        value=limit["value"],
        low=limit["low"],
        high=limit["high"],
        failure=failure.get("kind"),
    )


def _scaling(configuration: dict[str, Any]) -> Iterator[Sentence]:
    # An unknown load, and a level without throughput, have no growth.
    points = [point for point in _valid(configuration) if point["load"] and point["throughput_per_s"]["value"]]
    ideal = configuration["ideal"]
    if len(points) < 2 or ideal is None:
        return
    first, last = points[0], points[-1]
    times = last["load"] / first["load"]
    grown = last["throughput_per_s"]["value"] / first["throughput_per_s"]["value"]
    told = ratio_interval(from_document(last["throughput_per_s"]), from_document(first["throughput_per_s"]))
    of_ideal = share_of(ideal, from_document(last["throughput_per_s"]), last["load"])
    text = (
        f"{_prefix(configuration)}throughput grows from {interval(first['throughput_per_s'])} /s at {_load(first)} to "
        f"{interval(last['throughput_per_s'])} /s at {_load(last)}: {interval(told.document())} times as much for "
        f"{times:.3g} times the load, {interval(of_ideal.scaled(100).document())} % of ideal scaling."
    )
    yield _sentence("scaling", _capital(text), growth=grown, load_ratio=times, of_ideal=of_ideal.value)


def _limits(configuration: dict[str, Any]) -> Iterator[Sentence]:
    limit = configuration["limit"]
    knee = limit["knee_users"]
    if limit["kind"] == LimitKind.CPU:
        text = (
            f"{_prefix(configuration)}the limit is the CPU of {limit['resource']}: {limit['evidence']}; "
            f"the highest throughput seen is {interval(limit['peak_throughput_per_s'])} /s."
        )
    else:
        text = f"{_prefix(configuration)}the limit: {limit['evidence']}."
    numbers = {key: limit[key] for key in ("reached", "resource")}
    yield _sentence("limit", _capital(text), limit_kind=limit["kind"], **numbers)
    if knee["value"] is not None:
        yield _sentence(
            "knee",
            _capital(
                f"{_prefix(configuration)}the demands at the lowest load put the knee (D + Z) / D_max at "
                f"{interval(knee)} users{_leaves(limit)}."
            ),
            knee_users=knee["value"],
            leaves_ideal_at=limit["leaves_ideal_at"],
        )


def _leaves(limit: dict[str, Any]) -> str:
    leaves = limit["leaves_ideal_at"]
    if leaves is None:
        return "; the measured curve does not leave the line of ideal scaling"
    if leaves["after"] is None:
        return f"; the measured curve has left the line of ideal scaling at {leaves['at']:g}"
    return f"; the measured curve leaves the line of ideal scaling between {leaves['after']:g} and {leaves['at']:g}"


def _response(configuration: dict[str, Any]) -> Iterator[Sentence]:
    points = _valid(configuration)
    if len(points) < 2:
        return
    means = [point["response_time_s"]["mean"] for point in (points[0], points[-1])]
    first, last = (mean["value"] for mean in means)
    if not first or not last:
        return
    grown = ratio_interval(from_document(means[1]), from_document(means[0])).document()
    text = (
        f"{_prefix(configuration)}the mean response time goes from {_time(means[0])} at {_load(points[0])} to "
        f"{_time(means[1])} at {_load(points[-1])}, {interval(grown)} times as long; p95 is "
        f"{_time(points[-1]['response_time_s']['p95'])} there."
    )
    yield _sentence("response_time", _capital(text), first_s=first, last_s=last, ratio=last / first)


def _failed(configuration: dict[str, Any]) -> Iterator[Sentence]:
    """At which valid load most transactions fail, and that what was answered counts in response times all the same."""
    points = [point for point in _valid(configuration) if point["errors_share"]]
    if not points:
        return
    worst = max(points, key=lambda point: point["errors_share"])
    text = (
        f"{_prefix(configuration)}at {_load(worst)} {percent(worst['errors_share'])} of the transactions fail, the "
        f"most of all valid loads. Response times hold them too, unless a connection failed: quick errors make means "
        f"and percentiles look better, time-outs make them look worse."
    )
    yield _sentence("errors", _capital(text), errors_share=worst["errors_share"])


def _tiers(configuration: dict[str, Any]) -> Iterator[Sentence]:
    points = _valid(configuration)
    if not points:
        return
    top = points[-1]
    for name, tier in top["tiers"].items():
        used, demand = tier["cpus_used"]["value"], tier["cpu_demand_s"]["value"]
        if used is None or demand is None:
            continue
        text = (
            f"{_prefix(configuration)}at {_load(top)} {name} uses {interval(tier['cpus_used'])} CPUs, "
            f"{_time(tier['cpu_demand_s'])} of CPU time per transaction"
        )
        numbers: dict[str, Any] = {"cpus_used": used, "cpu_demand_s": demand}
        for part, about in tier["parts"].items():
            part_used = about["cpus_used"]["value"]
            if part_used is not None and used > 0:
                text += f"; {100 * part_used / used:.0f} % of it in the {part}"
                numbers[f"{part}_share"] = part_used / used
        yield _sentence("cpu", _capital(text + "."), **numbers)


def _pool(configuration: dict[str, Any]) -> Iterator[Sentence]:
    """The highest load at which waiting for a connection of the pool is a good part of response time."""
    for point in reversed(_valid(configuration)):
        waits = point["connections"]["wait_time_s"] or {}
        share = waits.get("share_of_response_time") or 0.0
        if share > CONNECTION_WAIT_SHARE:
            text = (
                f"{_prefix(configuration)}at {_load(point)} {percent(waits['share_waited'])} of the requests waited "
                f"for a connection of the generator's pool, {seconds(waits['mean'])} on average and "
                f"{seconds(waits['p99'])} at p99: {percent(share)} of response time. The pool is a candidate of "
                f"what limits, before the system."
            )
            yield _sentence("connection_wait", _capital(text), **waits)
            return


def _comparisons(summary: Summary) -> Iterator[Sentence]:
    """For every factor at its lowest and highest load what changed; at the highest the CPU demands too."""
    groups: dict[tuple[Any, ...], dict[float, list[dict[str, Any]]]] = {}
    for one in summary["comparisons"]:
        key = (one["factor"], one["from"], one["to"], tuple(one["others"].items()))
        groups.setdefault(key, {}).setdefault(one["load"], []).append(one)
    for (factor, base, other, _), loads in groups.items():
        for load in dict.fromkeys((min(loads), max(loads))):
            transactions = [one for one in loads[load] if "transaction" in one]
            if transactions:
                yield _change(factor, base, other, load, transactions[0])
            for one in loads[load]:
                if one["metric"] == "throughput_per_s" or ("tier" in one and load == max(loads)):
                    yield _change(factor, base, other, load, one)


def _change(factor: str, base: str, other: str, load: float, one: dict[str, Any]) -> Sentence:
    ratio, first, second = one["ratio"], one["from_value"], one["to_value"]
    if one["metric"] == "throughput_per_s":
        what, values = "throughput", f"from {interval(first)} /s to {interval(second)} /s"
    elif "transaction" in one:
        what = f"the mean response time of {one['transaction']}"
        values = f"from {_time(first)} to {_time(second)}"
    else:
        where = f"the {one['part']} in {one['tier']}" if "part" in one else one["tier"]
        what = f"the CPU demand of a transaction at {where}"
        values = f"from {_time(first)} to {_time(second)}"
    text = (
        f"At {_load(one)}, {factor} {other} instead of {base} changes {what} {values}: "
        f"{interval(ratio)} times as much{_certainty(one)}."
    )
    return _sentence(
        "comparison",
        text,
        factor=factor,
        load=load,
        metric=one["metric"],
        ratio=ratio["value"],
        low=ratio["low"],
        high=ratio["high"],
    )


def _certainty(one: dict[str, Any]) -> str:
    """How sure a change is, as the end of its sentence."""
    if one["differs"] is not None:
        return "" if one["differs"] else "; the interval holds 1, so this may be chance"
    if one["ratio"]["low"] is None:
        return "; no interval"
    share = percent(one["assumed"]["run_to_run"])
    if one["assumed"]["differs"]:
        return f" within these runs; with {share} assumed from run to run this is more than chance"
    return f" within these runs; with {share} assumed from run to run this may be chance: repeat the runs"


def _names_load(objective: Summary) -> bool:
    return objective.get("users") is not None or objective.get("rate") is not None


def _objectives(summary: Summary) -> Iterator[Sentence]:
    for one in summary["objectives"]:
        where = f" with {one['label']}" if one["configuration"] else ""
        if one["met"] is None:
            text = f"The objective “{one['text']}”{where} is not judged: {_not_judged(one)}."
        elif one["met"]:
            at = "" if _names_load(one) else f" up to {one['up_to']}" if "up_to" in one else " at every load"
            text = f"The objective “{one['text']}” is met{at}{where}; the worst value is {_seen(one)}."
        else:
            upto = one["holds_up_to"]
            holds = "at no load" if upto is None else f"up to {upto:g}"
            text = f"The objective “{one['text']}” is missed{where}: {_seen(one)}"
            text += "." if _names_load(one) else f"; it holds {holds}."
        if one.get("certain") is False:
            text += " The interval holds the limit, so that another run may decide otherwise."
        windows = one.get("windows")
        if windows and windows["worst"]:
            worst = windows["worst"]
            text += f" {windows['met']} of {windows['count']} windows met it; the worst was {worst['start_s']:g} to "
            text += f"{worst['end_s']:g} s of {worst['run']}."
        yield _sentence("objective", text, seen=one["seen"], limit=one["limit"])


def _not_judged(objective: dict[str, Any]) -> str:
    """Reason why an objective is not judged, and its worst value at the valid levels."""
    gaps = "; ".join(f"at {gap['load']:g}, {gap['why']}" for gap in objective["not_judged"])
    if objective["seen"] is None:
        return gaps or "no measured value decides it"
    return f"{gaps}. At the other levels it is met; the worst value there is {_seen(objective)}"


def _seen(objective: dict[str, Any]) -> str:
    """The number seen, in the unit of what the objective is about."""
    value, metric = objective["seen"], str(objective["metric"])
    if metric.startswith("throughput"):
        return f"{value:.3g} /s"
    if metric.startswith("stored."):
        return f"{value:,.0f}"
    return percent(value) if metric.startswith("err") else seconds(value)


def _quality(summary: Summary) -> Iterator[Sentence]:
    verdict = summary["verdict"]
    total = verdict["valid_runs"] + verdict["suspect_runs"] + verdict["invalid_runs"]
    text = (
        f"Of {total} runs {verdict['valid_runs']} are valid, {verdict['suspect_runs']} suspect and "
        f"{verdict['invalid_runs']} invalid"
    )
    if verdict["missing_runs"]:
        text += f"; {verdict['missing_runs']} of the design are missing"
    yield _sentence("quality", text + ".", **{key: verdict[key] for key in verdict if key.endswith("_runs")})


def interval(document: dict[str, Any]) -> str:
    """A value with its interval, as `12.3 (11.9 to 12.7)`."""
    value, low, high = (document[key] for key in ("value", "low", "high"))
    if low is None or high is None:
        return f"{value:.3g}"
    return in_words(value, low, high)


def _time(document: dict[str, Any]) -> str:
    """A time with its interval, as `12.3 (11.9 to 12.7) ms`."""
    value, low, high = (document[key] for key in ("value", "low", "high"))
    if low is None or high is None:
        return seconds(value)
    return duration_in_words(value, low, high)


def headline(summary: Summary) -> str:
    """The study in one sentence with numbers."""
    usable = [one for one in summary["configurations"] if _valid(one)]
    if not usable:
        return "No run of this study can carry an answer; see the verdicts of the runs."
    first = usable[0]
    text = _capacity(first) if not first.get("found_limit") else _carried(first)
    change = _strongest(summary)
    if change is not None:
        text += (
            f"; {change['factor']} {change['to']} instead of {change['from']} multiplies the mean response "
            f"time of {change['transaction']} by {interval(change['ratio'])} at {_load(change)}"
        )
        if change["differs"] is None:
            text += " (within single runs)"
    if summary["verdict"]["level"] == "invalid":
        text += " (the measurement is not valid)"
    return text + "."


def _carried(configuration: dict[str, Any]) -> str:
    """What a search found, and what was seen at the highest level that passed."""
    limit, point = configuration["found_limit"], _valid(configuration)[-1]
    seen = f"{interval(point['throughput_per_s'])} transactions/s{_with_mean(point)} at {_load(point)}"
    if limit["value"] is None:
        return _capital(f"{_prefix(configuration)}no load that was tried passed; {seen}")
    reason = str((limit["failure"] or {}).get("kind") or "unknown").replace("_", " ")
    why = "a lower bound" if limit["is_lower_bound"] else f"then {reason}"
    return _capital(f"{_prefix(configuration)}the system carries {text_of(limit)}, {why}; {seen}")


def _capacity(configuration: dict[str, Any]) -> str:
    points, limit = _valid(configuration), configuration["limit"]
    peak = max(points, key=lambda point: point["throughput_per_s"]["value"])
    head = _capital(
        f"{_prefix(configuration)}the system carries {interval(peak['throughput_per_s'])} transactions/s at "
        f"{_load(peak)}{_with_mean(peak)}"
    )
    return f"{head}{_AT_THE_END[limit['kind']].format(resource=limit['resource'])}"


def _with_mean(point: dict[str, Any]) -> str:
    """Describe the mean response time; it is unknown if no histogram can be read."""
    mean = point["response_time_s"]["mean"]["value"]
    return " (response times unknown)" if mean is None else f" with a mean response time of {seconds(mean)}"


def _strongest(summary: Summary) -> dict[str, Any] | None:
    """The comparison of a transaction that differs most, and beyond chance, at the lowest load that shows one.

    At a high load one configuration may be saturated and the other not; every transaction then differs, and none
    tells what the factor itself costs.
    """
    found = [one for one in summary["comparisons"] if "transaction" in one and is_certain(one)]
    lowest = min((one["load"] for one in found), default=None)
    return max((one for one in found if one["load"] == lowest), key=strength, default=None)
