"""Writes sentences about the results of a study. Each sentence comes with the numbers that it contains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from towtank import over_runs
from towtank.analysis.checks.generator import CONNECTION_WAIT_SHARE
from towtank.analysis.checks.machine import PACE_SPREAD
from towtank.analysis.comparison import compared_points, is_certain_change, strength, suspect_runs
from towtank.analysis.diagnosis import Cause, Diagnosis
from towtank.analysis.doubts import NOTHING_RECORDED, percent_text, seconds
from towtank.analysis.ideal import share_of_ideal
from towtank.analysis.limits.of_levels import LimitKind
from towtank.analysis.limits.of_runs import how_limit_was_found, limit_text
from towtank.analysis.objective import STORED
from towtank.analysis.objective_answers import answered
from towtank.analysis.objective_runs import FAR_FROM_LIMIT
from towtank.analysis.statistics import ratio_interval
from towtank.analysis.statistics.estimates import estimate_from_document
from towtank.claim_words import change_words
from towtank.digging import dig
from towtank.estimates import duration_in_words, few_digits, in_words

_AT_THE_END = {
    LimitKind.CPU: ", limited by the CPU of {resource}",
    LimitKind.ERRORS: "; above the highest valid load too many transactions fail",
    LimitKind.OVERLOAD: ", less than the arrival rate; the limiting resource is unknown",
    LimitKind.UNKNOWN: ", short of ideal scaling; the limiting resource is unknown",
    LimitKind.NONE: ", its limit not reached",
    LimitKind.UNDECIDED: "; the measured loads do not show whether this is the limit",
}
"""End of a configuration's sentence in the headline, by the kind of limit that was found."""
FROM_SUSPECT = ", from a suspect run"
"""Words of a sentence whose numbers depend on a suspect run."""
_NAMED = 3
"""Largest number of configurations or runs that one sentence lists individually. [1]"""
_VAGUE = 10.0
"""An effect is not mentioned in the headline if its interval is too wide: the upper limit exceeds the lower limit by
more than this factor. [1]
"""
Summary = dict[str, Any]
Sentence = dict[str, Any]


def observations(summary: Summary) -> list[Sentence]:
    """Return sentences about the results of a study.

    Returns
    -------
    list of dict
        `kind`, `text`, and the `numbers` in the text.
    """
    found: list[Sentence] = []
    for configuration in summary["configurations"]:
        found += _found(configuration)
        found += _scaling(configuration)
        # A configuration with a search has a single load level, which usually cannot show the limit. If the search
        # found the limit, `_found` has already described it.
        if configuration["limit"]["reached"] or not configuration.get("found_limit"):
            found += _limits(configuration)
        found += _response(configuration)
        found += _disagreement(configuration)
        found += _failed(configuration)
        found += _tiers(configuration)
        found += _pool(configuration)
    found += _comparisons(summary)
    found += _objectives(summary)
    found += _quality(summary)
    return found


def _sentence(kind: str, text: str, **numbers: Any) -> Sentence:
    return {"kind": kind, "text": text, "numbers": numbers}


def _of_points(kind: str, text: str, points: Iterable[dict[str, Any]], **numbers: Any) -> Sentence:
    """Return a sentence about load levels. A second sentence in its text names the suspect runs at these levels."""
    return _sentence(kind, text + _suspects(suspect_runs(points)), **numbers)


def _suspects(runs: Sequence[str]) -> str:
    """Render a sentence that names the suspect runs; empty if no run is suspect."""
    return f" This leans on {'a suspect run' if len(runs) == 1 else 'suspect runs'}: {', '.join(runs)}." if runs else ""


def _valid(configuration: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        point
        for point in configuration["points"]
        if any(verdict != "invalid" for verdict in point["verdicts"]) and point["throughput_per_s"]["value"] is not None
    ]


def _load(point: dict[str, Any]) -> str:
    unit = ("user" if point["load"] == 1 else "users") if "users" in point else "arrivals per second"
    amount = f"{point['load']:,.10g} {unit}"
    # If a run has several load levels, its results describe a single stage, which is named here.
    return f"{amount} (stage {point['stage']})" if point.get("stage") else amount


def _prefix(configuration: dict[str, Any]) -> str:
    return f"With {configuration['label']}, " if configuration["key"] else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _found(configuration: dict[str, Any]) -> Iterator[Sentence]:
    """Describe the limit that a search found, and the failure at the load above this limit."""
    limit = configuration.get("found_limit")
    if not limit:
        return
    failure = limit["failure"] or {}
    said = failure.get("text", "")
    why = f": {said}" if said else ""
    if limit["value"] is None:
        text = f"{_prefix(configuration)}no limit was found, because no plateau passed{why}."
    elif limit["is_lower_bound"]:
        text = f"{_prefix(configuration)}the system sustains {limit_text(limit)}; its limit was not found{why}."
    else:
        text = f"{_prefix(configuration)}the limit is {limit_text(limit)}{how_limit_was_found(limit)}; beyond it{why}."
    text = text.replace("beyond it: ", "beyond it ")
    names = {str(run["run"]) for run in limit.get("runs") or ()}
    points = [point for point in _valid(configuration) if names.intersection(point.get("runs") or ())]
    yield _of_points(
        "found_limit",
        _capital(text),
        points,
        value=limit["value"],
        low=limit["low"],
        high=limit["high"],
        failure=failure.get("kind"),
    )


def _scaling(configuration: dict[str, Any]) -> Iterator[Sentence]:
    # Growth is computed only between levels whose load and throughput are known and not 0.
    points = [point for point in _valid(configuration) if point["load"] and point["throughput_per_s"]["value"]]
    ideal = configuration["ideal"]
    if len(points) < 2 or ideal is None:
        return
    first, last = points[0], points[-1]
    times = last["load"] / first["load"]
    grown = last["throughput_per_s"]["value"] / first["throughput_per_s"]["value"]
    growth = ratio_interval(
        estimate_from_document(last["throughput_per_s"]), estimate_from_document(first["throughput_per_s"])
    )
    of_ideal = share_of_ideal(ideal, estimate_from_document(last["throughput_per_s"]), last["load"])
    text = (
        f"{_prefix(configuration)}throughput grows from {interval(first['throughput_per_s'])} /s at {_load(first)} to "
        f"{interval(last['throughput_per_s'])} /s at {_load(last)}: {interval(growth.document())} times as much for "
        f"{few_digits(times)} times the load, {interval(of_ideal.scaled(100).document())} % of ideal scaling."
    )
    yield _of_points("scaling", _capital(text), (first, last), growth=grown, load_ratio=times, of_ideal=of_ideal.value)


def _limits(configuration: dict[str, Any]) -> Iterator[Sentence]:
    limit = configuration["limit"]
    knee, kind = limit["knee_users"], limit["kind"]
    if kind == LimitKind.CPU:
        text = (
            f"{_prefix(configuration)}the limit is the CPU of {limit['resource']}: {limit['evidence']}; "
            f"the highest throughput seen is {interval(limit['peak_throughput_per_s'])} /s."
        )
    else:
        cause = _cause(configuration)
        shown = "" if cause is None else f"; the probable cause at this load is {cause}"
        text = f"{_prefix(configuration)}{_evidence(limit)}{shown}."
    numbers = {key: limit[key] for key in ("reached", "resource")}
    points = _valid(configuration)
    yield _of_points("limit", _capital(text), points, limit_kind=kind, **numbers)
    if knee["value"] is not None:
        yield _of_points(
            "knee",
            _capital(
                f"{_prefix(configuration)}the demands at the lowest load put the knee (D + Z) / D_max at "
                f"{interval(knee)} users{_leaves(limit) if len(points) > 1 else ''}."
            ),
            points[:1],
            knee_users=knee["value"],
            leaves_ideal_at=limit["leaves_ideal_at"],
        )


def _cause(configuration: dict[str, Any]) -> str | None:
    """Render the factor that limits a configuration, from its diagnosis; None if it is unknown or unlikely."""
    known = _diagnosis(configuration)
    return known.clause if known is not None and known.is_likely else None


def likely_causes(summary: Summary) -> list[str]:
    """Return the cause that likely limits each configuration with a usable run; empty text if it is not known."""
    usable = [configuration for configuration in dig(summary, "configurations") if _valid(configuration)]
    return [_limiting(configuration) for configuration in usable]


def _limiting(configuration: Summary) -> str:
    """Return the cause that likely limits the throughput of a configuration; empty if it is unknown, or is errors."""
    known = _diagnosis(configuration)
    return "" if known is None or known.cause is Cause.ERRORS else _cause(configuration) or ""


def _diagnosis(configuration: dict[str, Any]) -> Diagnosis | None:
    found = configuration.get("diagnosis")
    return None if found is None else Diagnosis.read(found)


def _evidence(limit: dict[str, Any]) -> str:
    """Render the reason why the limit is known or unknown, as a clause such as `the limit was not found: one load level
    only`.
    """
    evidence = str(limit["evidence"])
    verbs = {"not found: ": "was ", "not decided: ": "is ", "nearly reached: ": "is "}
    bare = "is reached: " if limit["reached"] else "is not decided: "
    return f"the limit {next((verb for start, verb in verbs.items() if evidence.startswith(start)), bare)}{evidence}"


def _leaves(limit: dict[str, Any]) -> str:
    leaves = limit["leaves_ideal_at"]
    if leaves is None:
        return "; the measured curve does not leave the line of ideal scaling"
    if leaves["after"] is None:
        return f"; the measured curve has left the line of ideal scaling at {leaves['at']:,.10g}"
    between = f"{leaves['after']:,.10g} and {leaves['at']:,.10g}"
    return f"; the measured curve leaves the line of ideal scaling between {between}"


def _response(configuration: dict[str, Any]) -> Iterator[Sentence]:
    points = _valid(configuration)
    if len(points) < 2:
        return
    means = [point["response_time_s"]["mean"] for point in (points[0], points[-1])]
    first, last = (mean["value"] for mean in means)
    if not first or not last:
        return
    tail = points[-1]["response_time_s"]["p95"]
    there = "" if tail["value"] is None else f"; p95 is {_time(tail)} there"
    grown = ratio_interval(estimate_from_document(means[1]), estimate_from_document(means[0])).document()
    text = (
        f"{_prefix(configuration)}the mean response time changes from {_time(means[0])} at {_load(points[0])} to "
        f"{_time(means[1])} at {_load(points[-1])}, {interval(grown)} times as long{there}."
    )
    yield _of_points(
        "response_time", _capital(text), (points[0], points[-1]), first_s=first, last_s=last, ratio=last / first
    )


def _disagreement(configuration: dict[str, Any]) -> Iterator[Sentence]:
    """Describe the load level at which p95 differs most between runs. Yield nothing if the largest p95 is less than
    twice the smallest.
    """
    ends = [
        (point, found)
        for point in _valid(configuration)
        if (found := ((point.get("of_runs") or {}).get("response_time_s") or {}).get("p95")) and found[0] > 0
    ]
    point, (low, high) = max(ends, key=lambda pair: float(pair[1][1] / pair[1][0]), default=(None, (1.0, 1.0)))
    if point is None or high < FAR_FROM_LIMIT * low:
        return
    text = (
        f"{_prefix(configuration)}the runs at {_load(point)} disagree: p95 of single runs is "
        f"{over_runs.words((low, high), high, seconds)}, p95 of all their requests together is "
        f"{seconds(point['response_time_s']['p95']['value'])}. Find out how the runs differ before you report p95."
    )
    yield _of_points("spread_of_runs", _capital(text), (point,), low_s=low, high_s=high)


def _failed(configuration: dict[str, Any]) -> Iterator[Sentence]:
    """Describe the load level with the largest share of failed transactions, and the effect of failures on response
    times.
    """
    points = [point for point in _valid(configuration) if point["errors_share"]]
    if not points:
        return
    worst = max(points, key=lambda point: point["errors_share"])
    found = over_runs.shares((worst.get("of_runs") or {}).get("errors_share"), worst["errors_share"])
    text = (
        f"{_prefix(configuration)}at {_load(worst)} {found} of the transactions fail, the "
        f"largest share of all valid loads. Response times include failures, unless a connection failed: quick errors "
        f"make means and percentiles look better, time-outs make them look worse."
    )
    yield _of_points("errors", _capital(text), (worst,), errors_share=worst["errors_share"])


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
                shares = (top.get("of_runs") or {}).get("parts", {}).get(name, {}).get(part)
                share = over_runs.words(shares, part_used / used, lambda value: f"{100 * value:.0f} %")
                text += f"; {share} of it in the {part}"
                numbers[f"{part}_share"] = part_used / used
        yield _of_points("cpu", _capital(text + "."), (top,), **numbers)


def _pool(configuration: dict[str, Any]) -> Iterator[Sentence]:
    """Describe waits for a pooled connection at the highest load level where they are a large share of the response
    time.
    """
    for point in reversed(_valid(configuration)):
        waits = point["connections"]["wait_time_s"] or {}
        share = waits.get("share_of_response_time") or 0.0
        if share > CONNECTION_WAIT_SHARE:
            of_runs = (point.get("of_runs") or {}).get("wait_time_s", {})
            mean, p99 = (over_runs.words(of_runs.get(name), waits[name], seconds) for name in ("mean", "p99"))
            waited, of_time = (
                over_runs.shares(of_runs.get(name), waits[name]) for name in ("share_waited", "share_of_response_time")
            )
            text = (
                f"{_prefix(configuration)}at {_load(point)} {waited} of the requests waited "
                f"for a connection of the generator's pool, {mean} on average and {p99} at p99: {of_time} of response "
                f"time. The pool may limit throughput before the system does."
            )
            yield _of_points("connection_wait", _capital(text), (point,), **waits)
            return


def _comparisons(summary: Summary) -> Iterator[Sentence]:
    """Describe the effect of each factor at the lowest and the highest load. Effects on CPU demand are described at the
    highest load only.
    """
    groups: dict[tuple[Any, ...], dict[float, list[dict[str, Any]]]] = {}
    for comparison in summary["comparisons"]:
        key = (comparison["factor"], comparison["from"], comparison["to"], tuple(comparison["others"].items()))
        groups.setdefault(key, {}).setdefault(comparison["load"], []).append(comparison)
    for loads in groups.values():
        for load in dict.fromkeys((min(loads), max(loads))):
            transactions = [comparison for comparison in loads[load] if "transaction" in comparison]
            shown = transactions[:1] + [
                comparison
                for comparison in loads[load]
                if comparison["metric"] == "throughput_per_s" or ("tier" in comparison and load == max(loads))
            ]
            for comparison in shown:
                points = compared_points(comparison, summary["configurations"])
                yield _change(comparison, points)


def _change(comparison: dict[str, Any], points: list[dict[str, Any]]) -> Sentence:
    ratio, first, second = comparison["ratio"], comparison["from_value"], comparison["to_value"]
    if comparison["metric"] == "throughput_per_s":
        what, values = "throughput", f"from {interval(first)} /s to {interval(second)} /s"
    elif "transaction" in comparison:
        what = f"the mean response time of {comparison['transaction']}"
        values = f"from {_time(first)} to {_time(second)}"
    else:
        where = f"the {comparison['part']} in {comparison['tier']}" if "part" in comparison else comparison["tier"]
        what = f"the CPU demand of a transaction at {where}"
        values = f"from {_time(first)} to {_time(second)}"
    text = (
        f"At {_load(comparison)}, {comparison['factor']} {comparison['to']} instead of {comparison['from']} changes "
        f"{what} {values}: "
        f"{interval(ratio)} times as much{_certainty(comparison)}{_pace(comparison)}."
    )
    return _of_points(
        "comparison",
        text,
        points,
        factor=comparison["factor"],
        load=comparison["load"],
        metric=comparison["metric"],
        ratio=ratio["value"],
        low=ratio["low"],
        high=ratio["high"],
    )


def _certainty(comparison: dict[str, Any]) -> str:
    """Render the certainty of a change, as the end of the sentence that describes the change."""
    if comparison["differs"] is not None:
        return "" if comparison["differs"] else "; the interval contains 1, so this may be chance"
    if comparison["ratio"]["low"] is None:
        return "; no interval"
    share = percent_text(comparison["assumed"]["run_to_run"])
    if comparison["assumed"]["differs"]:
        return f" within these runs; if the system's speed differs by {share} from run to run, this is more than chance"
    return (
        f" within these runs; if the system's speed differs by {share} from run to run, this may be chance: "
        "repeat the runs"
    )


def _pace(comparison: dict[str, Any]) -> str:
    """Render how much the speed of the machine differed between the compared configurations, as the end of a sentence.
    Empty if the difference is small.
    """
    ratio = comparison.get("pace_ratio")
    if not ratio or 1 / (1 + PACE_SPREAD) <= ratio <= 1 + PACE_SPREAD:
        return ""
    return f". A fixed piece of work took {ratio:.2g} times as much CPU time, so the speed of the machine differed, too"


def _names_load(objective: Summary) -> bool:
    return objective.get("users") is not None or objective.get("rate") is not None


def _objectives(summary: Summary) -> Iterator[Sentence]:
    for objective in summary["objectives"]:
        where = f" with {objective['label']}" if objective["configuration"] else ""
        if objective["met"] is None:
            text = f"The objective “{objective['text']}”{where} has no verdict: {_not_judged(objective)}."
        elif objective["met"]:
            at = (
                ""
                if _names_load(objective)
                else f" up to {objective['up_to']}"
                if "up_to" in objective
                else " at every load"
            )
            text = f"The objective “{objective['text']}” is met{at}{where}; the worst value is {_seen(objective)}."
        else:
            upto = objective["holds_up_to"]
            holds = "at no load" if upto is None else f"up to {upto:,.10g}"
            text = f"The objective “{objective['text']}” is missed{where}: {_seen(objective)}{_alone(objective)}"
            text += "." if _names_load(objective) else f"; it holds {holds}."
        text += _suspects(objective.get("suspect_runs") or ())
        text += _doubt(objective)
        windows = objective.get("windows")
        if windows and windows["worst"]:
            worst = windows["worst"]
            text += f" {windows['met']} of {windows['count']} windows met it; the worst was {worst['start_s']:g} to "
            text += f"{worst['end_s']:g} s of {worst['run']}."
        yield _sentence("objective", text, seen=objective["seen"], limit=objective["limit"])


def _not_judged(objective: dict[str, Any]) -> str:
    """Render why an objective has no verdict at some loads, and the worst value at the other loads."""
    gaps = "; ".join(f"at {gap['load']:,.10g}, {gap['why']}" for gap in objective["not_judged"])
    if objective["seen"] is None:
        return gaps or "no value was measured"
    return f"{gaps}. At the other levels it is met; the worst value there is {_seen(objective)}"


def _alone(objective: dict[str, Any]) -> str:
    """Name runs that miss an objective by far, although the requests of all runs together meet it. Empty if no run
    does.
    """
    far = objective.get("far_misses") or ()
    named = " and ".join(f"{_seen({**objective, 'seen': miss['value']})} in {miss['run']}" for miss in far[:_NAMED])
    return f" over all requests, and {named} alone" if named else ""


def _doubt(objective: dict[str, Any]) -> str:
    """Render whether the verdict on an objective is certain: whether the confidence interval excludes the limit.

    If runs miss the objective by far, their intervals decide. Otherwise, the interval over all requests decides.
    """
    far = objective.get("far_misses") or ()
    sure = [miss["run"] for miss in far if miss.get("certain")]
    if sure:
        interval_of, excludes = ("interval of", "excludes") if len(sure) == 1 else ("intervals of", "exclude")
        return f" The {interval_of} {' and '.join(sure[:_NAMED])} alone {excludes} the limit."
    if objective.get("certain") is not False:
        return ""
    whose = f" of {' and '.join(miss['run'] for miss in far[:_NAMED])}" if far else ""
    return f" The interval{whose} contains the limit, so another run may give another verdict."


def _seen(objective: dict[str, Any]) -> str:
    """Render the measured value that an objective limits, with its unit."""
    value, metric = objective["seen"], str(objective["metric"])
    if metric.startswith("throughput"):
        return f"{few_digits(value)} /s"
    if metric.startswith(STORED):
        return f"{value:,.0f}"
    return percent_text(value) if metric.startswith("err") else seconds(value)


def _quality(summary: Summary) -> Iterator[Sentence]:
    verdict = summary["verdict"]
    total = verdict["valid_runs"] + verdict["suspect_runs"] + verdict["invalid_runs"]
    runs = "run" if total == 1 else "runs"
    counts = f"{verdict['valid_runs']} valid, {verdict['suspect_runs']} suspect and {verdict['invalid_runs']} invalid"
    text = f"{total} {runs}: {counts}"
    if verdict["missing_runs"]:
        text += f"; {verdict['missing_runs']} of the planned runs are missing"
    yield _sentence("quality", text + ".", **{key: verdict[key] for key in verdict if key.endswith("_runs")})


def interval(document: dict[str, Any]) -> str:
    """Render a value with its interval, as in `12.3 (11.9 to 12.7)`."""
    value, low, high = (document[key] for key in ("value", "low", "high"))
    if low is None or high is None:
        return few_digits(value)
    return in_words(value, low, high)


def _time(document: dict[str, Any]) -> str:
    """Render a time with its interval, as in `12.3 (11.9 to 12.7) ms`."""
    value, low, high = (document[key] for key in ("value", "low", "high"))
    if low is None or high is None:
        return seconds(value)
    return duration_in_words(value, low, high)


def answers(summary: Summary) -> list[str]:
    """Return sentences without full stops about all configurations, or only about the best and the worst if there are
    more than three.
    """
    configurations = summary["configurations"]
    usable = [configuration for configuration in configurations if _valid(configuration)]
    if not usable:
        why = _because(summary, configurations)
        return [f"No run of this study supports a result{why or '; see the verdicts of the runs'}"]
    shown = usable if len(usable) <= _NAMED else _extremes(usable)
    sentences = [_answer(configuration, summary.get("objectives") or ()) for configuration in shown]
    if len(usable) > _NAMED:
        verb = "have the highest and the lowest throughput"
        doubt = "" if _differ(*_extremes(usable)) else ", without a clear difference"
        sentences[0] = f"Of {len(usable)} configurations these {verb}{doubt}. {sentences[0]}"
    change = _strongest(summary)
    if change is not None:
        sentences.append(_effect(change) + (FROM_SUSPECT if _leans(change, configurations) else ""))
    if summary["verdict"]["level"] == "invalid":
        sentences[-1] += " (the measurement is invalid)"
    return sentences


def unanswered(summary: Summary) -> list[str]:
    """Return sentences without full stops about configurations without a usable run, and about missing runs."""
    configurations = dig(summary, "configurations")
    sentences = []
    without = [configuration for configuration in configurations if not _valid(configuration) and configuration["key"]]
    if without and len(without) < len(configurations):
        alone = len(without) == 1
        named, whose = (without[0]["label"], "it") if alone else (f"{len(without)} configurations", "them")
        why = _because(summary, without)
        sentences.append(f"There is no result for {named}: no run of {whose} is usable{why}")
    missing = int(summary["verdict"].get("missing_runs") or 0)
    if missing:
        sentences.append(f"{missing} of the planned runs {'is' if missing == 1 else 'are'} missing")
    return sentences


def throughputs(summary: Summary) -> str:
    """Render the highest throughput of each configuration and what limits it, in one sentence without a full stop.

    Empty if the study has more than two configurations with a usable run, or if none of them reached a known limit.
    """
    usable = [configuration for configuration in dig(summary, "configurations") if _valid(configuration)]
    if len(usable) > 2 or not any(dig(each, "found_limit") or _limiting(each) for each in usable):
        return ""
    if len(usable) == 1:
        (only,) = usable
        return _capital(f"{_prefix(only)}{_carried(only) if dig(only, 'found_limit') else _capacity(only)}")
    causes = [_limiting(configuration) for configuration in usable]
    same = len(set(causes)) == 1 and bool(causes[0])
    loads = [_load(_peak(configuration)) for configuration in usable]
    at = f" at {loads[0]}" if len(set(loads)) == 1 else ""
    parts = []
    for configuration, cause, load in zip(usable, causes, loads, strict=True):
        point = _peak(configuration)
        doubt = FROM_SUSPECT if "suspect" in dig(point, "verdicts") else ""
        limited = f", limited by {cause}" if cause and not same else ""
        label = str(dig(configuration, "label")).replace("_", " ")
        where = "" if at else f" at {load}"
        parts.append(f"{interval(dig(point, 'throughput_per_s'))} /s with {label}{where}{limited}{doubt}")
    return f"Highest throughput{at}: {'; '.join(parts)}{f'; both limited by {causes[0]}' if same else ''}"


def _because(summary: Summary, configurations: list[dict[str, Any]]) -> str:
    """Render why runs of the configurations are invalid: the first reason, with the next step. Empty if no reason is
    known.

    Usually, a missing analysed window is the consequence of another reason. It is named only if it is the only reason.
    """
    points = [point for configuration in configurations for point in configuration["points"]]
    names = {str(run) for point in points for run in point.get("runs") or ()}
    reasons = summary["verdict"].get("reasons") or ()
    for reason in sorted(reasons, key=lambda reason: bool(reason.get("why") == NOTHING_RECORDED[0])):
        if reason["level"] == "invalid" and names.intersection(reason.get("runs") or ()):
            hint = f". Do: {step.rstrip('.')}" if (step := reason.get("hint")) else ""
            return f", because {reason['message'].rstrip('.')}{hint}"
    return ""


def _extremes(configurations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the configurations with the highest and the lowest peak throughput. A peak is the highest throughput over
    the load levels of a configuration.
    """
    ordered = sorted(
        configurations, key=lambda configuration: float(_peak(configuration)["throughput_per_s"]["value"]), reverse=True
    )
    return [ordered[0], ordered[-1]]


def _differ(most: dict[str, Any], least: dict[str, Any]) -> bool:
    """Return True if the peak throughputs differ clearly: the interval for `most` lies entirely above the interval for
    `least`.
    """
    low, high = (_peak(most)["throughput_per_s"]["low"], _peak(least)["throughput_per_s"]["high"])
    return low is not None and high is not None and bool(low > high)


def _peak(configuration: dict[str, Any]) -> dict[str, Any]:
    return max(_valid(configuration), key=lambda point: float(point["throughput_per_s"]["value"]))


def _answer(configuration: dict[str, Any], objectives: Sequence[dict[str, Any]]) -> str:
    """Describe the objectives that a configuration meets, and the load that it sustained."""
    carried = _carried(configuration) if configuration.get("found_limit") else _capacity(configuration)
    answer = answered(configuration, objectives)
    if not answer:
        return _capital(f"{_prefix(configuration)}{carried}")
    return _capital(f"{_prefix(configuration)}the system {answer}; {carried}")


def _effect(change: dict[str, Any]) -> str:
    text = (
        f"With {change['factor']} {change['to']} instead of {change['from']}, the mean response time of "
        f"{change['transaction']} {change_words(change['ratio'])} at {_load(change)}"
    )
    return f"{text} (within single runs)" if change["differs"] is None else text


def _leans(change: dict[str, Any], configurations: list[dict[str, Any]]) -> bool:
    """Return True if a compared load level has a suspect run."""
    return bool(suspect_runs(compared_points(change, configurations)))


def _carried(configuration: dict[str, Any]) -> str:
    """Describe the limit that a search found, and the results at the highest load level that passed the search."""
    limit, points = configuration["found_limit"], _valid(configuration)
    passed = [point for point in points if limit["value"] is not None and point["load"] <= limit["value"]]
    point = (passed or points)[-1]
    seen = f"{interval(point['throughput_per_s'])} transactions/s{_with_mean(point)} at {_load(point)}"
    if limit["value"] is None:
        return f"no tested load passed; {seen}"
    reason = str((limit["failure"] or {}).get("kind") or "unknown").replace("_", " ")
    why = "a lower bound" if limit["is_lower_bound"] else f"then {reason}"
    return f"the system sustains {limit_text(limit)}, {why}; {seen}"


def _capacity(configuration: dict[str, Any]) -> str:
    peak, limit = _peak(configuration), configuration["limit"]
    kind = LimitKind(limit["kind"])
    carried = interval(peak["throughput_per_s"])
    head = f"throughput reaches {carried} transactions/s at {_load(peak)}{_with_mean(peak)}"
    cause = None if kind is LimitKind.ERRORS else _cause(configuration)
    if cause is not None:
        return f"{head}, limited by {cause}"
    diagnosis = _diagnosis(configuration)
    if kind is LimitKind.UNDECIDED and diagnosis is not None and diagnosis.excludes_limit:
        return f"{head}, its limit probably not reached"
    return head + _AT_THE_END[kind].format(**limit)


def _with_mean(point: dict[str, Any]) -> str:
    """Render the mean response time at a load level, as the end of a clause. Without a mean, this is ` (response times
    unknown)`.
    """
    mean = point["response_time_s"]["mean"]
    doubt = FROM_SUSPECT if "suspect" in point["verdicts"] else ""
    if mean["value"] is None:
        return f" (response times unknown){doubt}"
    return f" with a mean response time of {_time(mean)}{doubt}"


def _says_little(ratio: dict[str, Any]) -> bool:
    """Return True if the interval of a ratio is too wide to be reported: its upper limit exceeds `_VAGUE` times its
    lower limit.
    """
    return ratio["low"] is not None and ratio["high"] > _VAGUE * ratio["low"]


def _strongest(summary: Summary) -> dict[str, Any] | None:
    """Return the comparison with the largest significant change in the response time of one transaction.

    Only the lowest load with a significant change is considered. At a higher load, one of the two configurations may be
    saturated. All transactions then differ because of the saturation, which hides the effect of the factor on a single
    transaction.
    """
    found = [
        comparison
        for comparison in summary["comparisons"]
        if "transaction" in comparison and is_certain_change(comparison) and not _says_little(comparison["ratio"])
    ]
    lowest = min((comparison["load"] for comparison in found), default=None)
    return max((comparison for comparison in found if comparison["load"] == lowest), key=strength, default=None)
