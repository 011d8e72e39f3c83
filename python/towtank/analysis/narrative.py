"""Writes sentences about the results of a study. Each sentence comes with the numbers that it contains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from towtank import over_runs
from towtank.analysis.checks.generator import CONNECTION_WAIT_SHARE
from towtank.analysis.checks.machine import PACE_SPREAD
from towtank.analysis.comparison import strength
from towtank.analysis.diagnosis import Cause
from towtank.analysis.doubts import NOTHING_RECORDED, percent_text, seconds
from towtank.analysis.ideal import share_of_ideal
from towtank.analysis.load_point import FailureOfSearch, LeavesIdeal, LimitKind, LimitOfLevels, LoadPoint
from towtank.analysis.objective import STORED
from towtank.analysis.objective_answers import answered
from towtank.analysis.objective_runs import FAR_FROM_LIMIT
from towtank.analysis.statistics import ratio_interval
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.study_summary import (
    Comparison,
    Configuration,
    ObjectiveAnswer,
    StudySummary,
    StudyVerdict,
    configurations_of,
)
from towtank.analysis.system.pace import memory_differs
from towtank.claim_words import change_words
from towtank.conclusion_words import configuration_name, level_name, plain
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
NO_RESULT = "No run of this study supports a result"
"""Words of a sentence whose numbers depend on a suspect run."""
_NAMED = 3
"""Largest number of configurations or runs that one sentence lists individually. [1]"""
_VAGUE = 10.0
"""An effect is not mentioned in the headline if its interval is too wide: the upper limit exceeds the lower limit by
more than this factor. [1]
"""
Summary = Mapping[str, object]


@dataclass(frozen=True)
class Sentence:
    """Sentence about results, with the numbers in its text."""

    kind: str
    text: str
    numbers: Mapping[str, object] = field(default_factory=dict)


def observations(summary: Summary) -> list[Sentence]:
    """Return sentences about the results of a study."""
    study = StudySummary.model_validate(summary)
    found: list[Sentence] = []
    for configuration in study.configurations:
        found += _found(configuration)
        found += _scaling(configuration)
        # A configuration with a search has a single load level, which usually cannot show the limit. If the search
        # found the limit, `_found` has already described it.
        if configuration.found_limit is None or (configuration.limit is not None and configuration.limit.reached):
            found += _limits(configuration)
        found += _response(configuration)
        found += _disagreement(configuration)
        found += _failed(configuration)
        found += _tiers(configuration)
        found += _pool(configuration)
    found += _comparisons(study)
    found += _objectives(study.objectives)
    found.append(_quality(study.verdict))
    return [replace(sentence, text=plain(sentence.text)) for sentence in found]


def _of_points(kind: str, text: str, points: Iterable[LoadPoint], **numbers: object) -> Sentence:
    """Return a sentence about load levels. A second sentence in its text names the suspect runs at these levels."""
    return Sentence(kind, text + _suspects([run for point in points for run in point.suspect_runs]), numbers)


def _suspects(runs: Sequence[str]) -> str:
    """Render a sentence that names the suspect runs; empty if no run is suspect."""
    return f" This leans on {'a suspect run' if len(runs) == 1 else 'suspect runs'}: {', '.join(runs)}." if runs else ""


def _valid(configuration: Configuration) -> list[LoadPoint]:
    return [point for point in configuration.usable if point.throughput_per_s.value is not None]


def _prefix(configuration: Configuration) -> str:
    return f"With {_name(configuration)}, " if configuration.key else ""


def _name(configuration: Configuration) -> str:
    return configuration_name(configuration.key, configuration.label)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _found(configuration: Configuration) -> Iterator[Sentence]:
    """Describe the limit that a search found, and the failure at the load above this limit."""
    limit = configuration.found_limit
    if limit is None:
        return
    failure = limit.failure or FailureOfSearch()
    why = f": {failure.text}" if failure.text else ""
    if limit.value is None:
        text = f"{_prefix(configuration)}no limit was found, because no plateau passed{why}."
    elif limit.is_lower_bound:
        text = f"{_prefix(configuration)}the system sustains {limit.in_words}; its limit was not found{why}."
    else:
        text = f"{_prefix(configuration)}the limit is {limit.in_words}{limit.method_in_words}; beyond it{why}."
    text = text.replace("beyond it: ", "beyond it ")
    names = {run.run for run in limit.runs}
    points = [point for point in _valid(configuration) if names.intersection(point.runs)]
    numbers = {"value": limit.value, "low": limit.low, "high": limit.high, "failure": failure.kind}
    yield _of_points("found_limit", _capital(text), points, **numbers)


def _scaling(configuration: Configuration) -> Iterator[Sentence]:
    # Growth is computed only between levels whose load and throughput are known and not 0.
    points = [point for point in _valid(configuration) if point.level and point.throughput_per_s.value]
    if len(points) < 2 or configuration.ideal is None:
        return
    first, last = points[0], points[-1]
    before, after = first.throughput_per_s, last.throughput_per_s
    times = last.level / first.level
    growth = ratio_interval(after, before).written
    of_ideal = share_of_ideal(configuration.ideal.slope, after, last.level)
    text = (
        f"{_prefix(configuration)}throughput grows from {interval(before)} /s at {first.load_in_words} to "
        f"{interval(after)} /s at {last.load_in_words}: {interval(growth)} times as much for "
        f"{few_digits(times)} times the load, {interval(of_ideal.scaled(100).written)} % of ideal scaling."
    )
    grown = (after.value or 0.0) / (before.value or 1.0)
    yield _of_points("scaling", _capital(text), (first, last), growth=grown, load_ratio=times, of_ideal=of_ideal.value)


def _limits(configuration: Configuration) -> Iterator[Sentence]:
    limit = configuration.limit
    if limit is None:
        return
    if limit.kind is LimitKind.CPU:
        text = (
            f"{_prefix(configuration)}the limit is the CPU of {limit.resource}: {limit.evidence}; "
            f"the highest throughput seen is {interval(limit.peak_throughput_per_s)} /s."
        )
    else:
        cause = _cause(configuration)
        shown = "" if cause is None else f"; the probable cause at this load is {cause}"
        text = f"{_prefix(configuration)}{_evidence(limit)}{shown}."
    points = _valid(configuration)
    numbers = {"limit_kind": str(limit.kind), "reached": limit.reached, "resource": limit.resource}
    yield _of_points("limit", _capital(text), points, **numbers)
    leaves = limit.leaves_ideal_at
    if limit.knee_users.value is not None:
        yield _of_points(
            "knee",
            _capital(
                f"{_prefix(configuration)}the demands at the lowest load put the knee (D + Z) / D_max at "
                f"{interval(limit.knee_users)} users{_leaves(leaves) if len(points) > 1 else ''}."
            ),
            points[:1],
            knee_users=limit.knee_users.value,
            leaves_ideal_at=None if leaves is None else leaves.model_dump(),
        )


def _cause(configuration: Configuration) -> str | None:
    """Render the factor that limits a configuration, from its diagnosis; None if it is unknown or unlikely."""
    known = configuration.diagnosis
    return known.clause if known is not None and known.is_likely else None


def likely_causes(summary: Summary) -> list[str]:
    """Return the cause that likely limits each configuration with a usable run; empty text if it is not known."""
    return [_limiting(configuration) for configuration in configurations_of(summary) if _valid(configuration)]


def _limiting(configuration: Configuration) -> str:
    """Return the cause that likely limits the throughput of a configuration; empty if it is unknown, or is errors."""
    known = configuration.diagnosis
    return "" if known is None or known.cause is Cause.ERRORS else _cause(configuration) or ""


def _evidence(limit: LimitOfLevels) -> str:
    """Render the reason why the limit is known or unknown, as a clause such as `the limit was not found: one load level
    only`.
    """
    verbs = {"not found: ": "was ", "not decided: ": "is ", "nearly reached: ": "is "}
    bare = "is reached: " if limit.reached else "is not decided: "
    verb = next((verb for start, verb in verbs.items() if limit.evidence.startswith(start)), bare)
    return f"the limit {verb}{limit.evidence}"


def _leaves(leaves: LeavesIdeal | None) -> str:
    if leaves is None:
        return "; the measured curve does not leave the line of ideal scaling"
    if leaves.after is None:
        return f"; the measured curve has left the line of ideal scaling at {leaves.at:,.10g}"
    return f"; the measured curve leaves the line of ideal scaling between {leaves.after:,.10g} and {leaves.at:,.10g}"


def _response(configuration: Configuration) -> Iterator[Sentence]:
    points = _valid(configuration)
    if len(points) < 2:
        return
    first, last = (point.response_time_s.mean for point in (points[0], points[-1]))
    if not first.value or not last.value:
        return
    tail = points[-1].response_time_s.p95
    there = "" if tail.value is None else f"; p95 is {_time(tail)} there"
    text = (
        f"{_prefix(configuration)}the mean response time changes from {_time(first)} at {points[0].load_in_words} to "
        f"{_time(last)} at {points[-1].load_in_words}, {interval(ratio_interval(last, first).written)} times as "
        f"long{there}."
    )
    numbers = {"first_s": first.value, "last_s": last.value, "ratio": last.value / first.value}
    yield _of_points("response_time", _capital(text), (points[0], points[-1]), **numbers)


def _disagreement(configuration: Configuration) -> Iterator[Sentence]:
    """Describe the load level at which p95 differs most between runs. Yield nothing if the largest p95 is less than
    twice the smallest.
    """
    ends = [
        (point, found) for point in _valid(configuration) if (found := point.ranges.p95_s) is not None and found[0] > 0
    ]
    point, (low, high) = max(ends, key=lambda pair: pair[1][1] / pair[1][0], default=(None, (1.0, 1.0)))
    if point is None or high < FAR_FROM_LIMIT * low:
        return
    text = (
        f"{_prefix(configuration)}the runs at {point.load_in_words} disagree: p95 of single runs is "
        f"{over_runs.words((low, high), high, seconds)}, p95 of all their requests together is "
        f"{seconds(point.response_time_s.p95.value or high)}. Find out how the runs differ before you report p95."
    )
    yield _of_points("spread_of_runs", _capital(text), (point,), low_s=low, high_s=high)


def _failed(configuration: Configuration) -> Iterator[Sentence]:
    """Describe the load level with the largest share of failed transactions, and the effect of failures on response
    times.
    """
    shares = {point.errors_share: point for point in reversed(_valid(configuration)) if point.errors_share}
    if not shares:
        return
    share = max(shares)
    worst = shares[share]
    found = over_runs.shares(worst.ranges.errors_share, share)
    text = (
        f"{_prefix(configuration)}at {worst.load_in_words} {found} of the transactions fail, the "
        f"largest share of all valid loads. Response times include failures, unless a connection failed: quick errors "
        f"make means and percentiles look better, time-outs make them look worse."
    )
    yield _of_points("errors", _capital(text), (worst,), errors_share=share)


def _tiers(configuration: Configuration) -> Iterator[Sentence]:
    for top in _valid(configuration)[-1:]:
        for name, tier in top.tiers.items():
            used, demand = tier.cpus_used.value, tier.cpu_demand_s.value
            if used is None or demand is None:
                continue
            text = (
                f"{_prefix(configuration)}at {top.load_in_words} {name} uses {interval(tier.cpus_used)} CPUs, "
                f"{_time(tier.cpu_demand_s)} of CPU time per transaction"
            )
            numbers = {"cpus_used": used, "cpu_demand_s": demand}
            for part, about in tier.parts.items():
                if about.cpus_used.value is not None and used > 0:
                    share = about.cpus_used.value / used
                    ends = top.ranges.parts.get(name, {}).get(part)
                    text += (
                        f"; {over_runs.words(ends, share, lambda value: f'{100 * value:.0f} %')} of it in the {part}"
                    )
                    numbers[f"{part}_share"] = share
            yield _of_points("cpu", _capital(text + "."), (top,), **numbers)


def _pool(configuration: Configuration) -> Iterator[Sentence]:
    """Describe waits for a pooled connection at the highest load level where they are a large share of the response
    time.
    """
    for point in reversed(_valid(configuration)):
        waits = {name: value or 0.0 for name, value in (point.connections.wait_time_s or {}).items()}
        if waits.get("share_of_response_time", 0.0) > CONNECTION_WAIT_SHARE:
            ends = point.ranges.wait_time_s
            mean, p99 = (over_runs.words(ends.get(name), waits[name], seconds) for name in ("mean", "p99"))
            waited, of_time = (
                over_runs.shares(ends.get(name), waits[name]) for name in ("share_waited", "share_of_response_time")
            )
            text = (
                f"{_prefix(configuration)}at {point.load_in_words} {waited} of the requests waited "
                f"for a connection of the generator's pool, {mean} on average and {p99} at p99: {of_time} of response "
                f"time. The pool may limit throughput before the system does."
            )
            yield _of_points("connection_wait", _capital(text), (point,), **(point.connections.wait_time_s or {}))
            return


def _comparisons(study: StudySummary) -> Iterator[Sentence]:
    """Describe the effect of each factor at the lowest and the highest load. Effects on CPU demand are described at the
    highest load only, and only if they exceed what chance explains.
    """
    groups: dict[tuple[object, ...], dict[float, list[Comparison]]] = {}
    for each in study.comparisons:
        key = each.factor, each.from_level, each.to_level, tuple(each.others.items())
        groups.setdefault(key, {}).setdefault(each.level, []).append(each)
    for loads in groups.values():
        for load in dict.fromkeys((min(loads), max(loads))):
            shown = [each for each in loads[load] if each.transaction is not None][:1] + [
                each
                for each in loads[load]
                if each.metric == "throughput_per_s"
                or (each.tier is not None and load == max(loads) and each.is_certain)
            ]
            yield from (_change(each, each.points(study.configurations)) for each in shown)


def _change(comparison: Comparison, points: Sequence[LoadPoint]) -> Sentence:
    ratio, first, second = comparison.ratio, comparison.from_value, comparison.to_value
    values = f"from {_time(first)} to {_time(second)}"
    if comparison.metric == "throughput_per_s":
        what, values = "throughput", f"from {interval(first)} /s to {interval(second)} /s"
    elif comparison.transaction is not None:
        what = f"the mean response time of {comparison.transaction}"
    else:
        part, tier = comparison.part, comparison.tier
        what = f"the CPU demand of a transaction at {tier if part is None else f'the {part} in {tier}'}"
    text = (
        f"At {comparison.load_in_words}, {level_name(comparison.factor, comparison.to_level)} instead of "
        f"{comparison.from_level} changes {what} {values}: "
        f"{interval(ratio)} times as much{_certainty(comparison)}{_pace(comparison)}."
    )
    return _of_points(
        "comparison",
        text,
        points,
        factor=comparison.factor,
        load=comparison.load,
        metric=comparison.metric,
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
    )


def _certainty(comparison: Comparison) -> str:
    """Render the certainty of a change, as the end of the sentence that describes the change."""
    if comparison.differs is not None:
        return "" if comparison.differs else "; the interval contains 1, so this may be chance"
    if comparison.ratio.low is None or comparison.assumed is None:
        return "; no interval"
    share = percent_text(comparison.assumed.run_to_run)
    may = "this is more than chance" if comparison.assumed.differs else "this may be chance: repeat the runs"
    return f" within these runs; if the system's speed differs by {share} from run to run, {may}"


def _pace(comparison: Comparison) -> str:
    """Render how much the speed of the machine differed between the compared configurations, as the end of a sentence.
    Empty if the difference is small.
    """
    ratio, before_s, after_s = comparison.pace_ratio, comparison.rested_page_from_s, comparison.rested_page_to_s
    found = ""
    if ratio and not 1 / (1 + PACE_SPREAD) <= ratio <= 1 + PACE_SPREAD:
        took = f"A fixed piece of work took {ratio:.2g} times as much CPU time"
        found += f". {took}, so the speed of the machine differed, too"
    if before_s and after_s and memory_differs([before_s, after_s]):
        found += (
            f". An access to memory that was not used for a second took {seconds(after_s)} of CPU time, before "
            f"{seconds(before_s)}, so the speed of memory differed, too"
        )
    return found


def _objectives(objectives: Iterable[ObjectiveAnswer]) -> Iterator[Sentence]:
    for objective in objectives:
        where = (
            f" with {configuration_name(objective.configuration, objective.label)}" if objective.configuration else ""
        )
        if objective.met is None:
            text = f"The objective “{objective.text}”{where} has no verdict: {_not_judged(objective)}."
        elif objective.met:
            up_to = " at every load" if objective.up_to is None else f" up to {objective.up_to}"
            at = "" if objective.names_load else up_to
            text = f"The objective “{objective.text}” is met{at}{where}; the worst value is {_seen(objective)}."
        else:
            upto = objective.holds_up_to
            holds = "at no load" if upto is None else f"up to {upto:,.10g}"
            text = f"The objective “{objective.text}” is missed{where}: {_seen(objective)}{_alone(objective)}"
            text += "." if objective.names_load else f"; it holds {holds}."
        text += _suspects(objective.suspect_runs)
        text += _doubt(objective)
        windows = objective.windows
        if windows is not None and windows.worst is not None:
            text += f" {windows.met} of {windows.count} windows met it; the worst was {windows.worst.start_s:g} to "
            text += f"{windows.worst.end_s:g} s of {windows.worst.run}."
        yield Sentence("objective", text, {"seen": objective.seen, "limit": objective.limit})


def _not_judged(objective: ObjectiveAnswer) -> str:
    """Render why an objective has no verdict at some loads, and the worst value at the other loads."""
    gaps = "; ".join(f"at {gap.load:,.10g}, {gap.why}" for gap in objective.not_judged)
    if objective.seen is None:
        return gaps or "no value was measured"
    return f"{gaps}. At the other levels it is met; the worst value there is {_seen(objective)}"


def _alone(objective: ObjectiveAnswer) -> str:
    """Name runs that miss an objective by far, although the requests of all runs together meet it. Empty if no run
    does.
    """
    named = " and ".join(f"{_value(objective, miss.value)} in {miss.run}" for miss in objective.far_misses[:_NAMED])
    return f" over all requests, and {named} alone" if named else ""


def _doubt(objective: ObjectiveAnswer) -> str:
    """Render whether the verdict on an objective is certain: whether the confidence interval excludes the limit.

    If runs miss the objective by far, their intervals decide. Otherwise, the interval over all requests decides.
    """
    far = objective.far_misses
    sure = [miss.run for miss in far if miss.certain]
    if sure:
        interval_of, excludes = ("interval of", "excludes") if len(sure) == 1 else ("intervals of", "exclude")
        return f" The {interval_of} {' and '.join(sure[:_NAMED])} alone {excludes} the limit."
    if objective.certain is not False:
        return ""
    whose = f" of {' and '.join(miss.run for miss in far[:_NAMED])}" if far else ""
    return f" The interval{whose} contains the limit, so another run may give another verdict."


def _seen(objective: ObjectiveAnswer) -> str:
    """Render the measured value that an objective limits, with its unit."""
    return _value(objective, objective.seen or 0.0)


def _value(objective: ObjectiveAnswer, value: float) -> str:
    if objective.metric.startswith("throughput"):
        return f"{few_digits(value)} /s"
    if objective.metric.startswith(STORED):
        return f"{value:,.0f}"
    return percent_text(value) if objective.metric.startswith("err") else seconds(value)


def _quality(verdict: StudyVerdict) -> Sentence:
    total = verdict.valid_runs + verdict.suspect_runs + verdict.invalid_runs
    runs = "run" if total == 1 else "runs"
    counts = f"{verdict.valid_runs} valid, {verdict.suspect_runs} suspect and {verdict.invalid_runs} invalid"
    text = f"{total} {runs}: {counts}"
    if verdict.missing_runs:
        text += f"; {verdict.missing_runs} of the planned runs are missing"
    return Sentence("quality", text + ".", verdict.model_dump(exclude={"level", "reasons"}))


def interval(estimate: Estimate) -> str:
    """Render a value with its interval, as in `12.3 (11.9 to 12.7)`."""
    if estimate.low is None or estimate.high is None:
        return few_digits(estimate.value or 0.0)
    return in_words(estimate.value or 0.0, estimate.low, estimate.high)


def _time(estimate: Estimate) -> str:
    """Render a time with its interval, as in `12.3 (11.9 to 12.7) ms`."""
    if estimate.low is None or estimate.high is None:
        return seconds(estimate.value or 0.0)
    return duration_in_words(estimate.value or 0.0, estimate.low, estimate.high)


def answers(summary: Summary) -> list[str]:
    """Return sentences without full stops about all configurations, or only about the best and the worst if there are
    more than three.
    """
    study = StudySummary.model_validate(summary)
    usable = [configuration for configuration in study.configurations if _valid(configuration)]
    if not usable:
        why = _because(study.verdict, study.configurations)
        return [f"{NO_RESULT}{why or '; see the verdicts of the runs'}"]
    shown = usable if len(usable) <= _NAMED else _extremes(usable)
    sentences = [_answer(configuration, study.objectives) for configuration in shown]
    if len(usable) > _NAMED:
        verb = "have the highest and the lowest throughput"
        doubt = "" if _differ(*_extremes(usable)) else ", without a clear difference"
        sentences[0] = f"Of {len(usable)} configurations these {verb}{doubt}. {sentences[0]}"
    change = _strongest(study.comparisons)
    if change is not None:
        leans = any(point.suspect_runs for point in change.points(study.configurations))
        sentences.append(_effect(change) + (FROM_SUSPECT if leans else ""))
    if study.verdict.level == "invalid":
        sentences[-1] += " (the measurement is invalid)"
    return sentences


def unanswered(summary: Summary) -> list[str]:
    """Return sentences without full stops about configurations without a usable run, and about missing runs."""
    study = StudySummary.model_validate(summary)
    sentences = []
    without = [each for each in study.configurations if not _valid(each) and each.key]
    if without and len(without) < len(study.configurations):
        alone = len(without) == 1
        named, whose = (_name(without[0]), "it") if alone else (f"{len(without)} configurations", "them")
        why = _because(study.verdict, without)
        sentences.append(f"There is no result for {named}: no run of {whose} is usable{why}")
    missing = study.verdict.missing_runs
    if missing:
        sentences.append(f"{missing} of the planned runs {'is' if missing == 1 else 'are'} missing")
    return sentences


def throughputs(summary: Summary) -> str:
    """Render the highest throughput of each configuration and what limits it, in one sentence without a full stop.

    Empty if the study has more than two configurations with a usable run, or if none of them reached a known limit.
    """
    usable = [configuration for configuration in configurations_of(summary) if _valid(configuration)]
    if len(usable) > 2 or not any(each.found_limit or _limiting(each) for each in usable):
        return ""
    if len(usable) == 1:
        (only,) = usable
        return _capital(f"{_prefix(only)}{_carried(only)}")
    causes = [_limiting(configuration) for configuration in usable]
    same = len(set(causes)) == 1 and bool(causes[0])
    loads = [_peak(configuration).load_in_words for configuration in usable]
    at = f" at {loads[0]}" if len(set(loads)) == 1 else ""
    parts = []
    for configuration, cause, load in zip(usable, causes, loads, strict=True):
        point = _peak(configuration)
        doubt = FROM_SUSPECT if point.state == "suspect" else ""
        limited = f", limited by {cause}" if cause and not same else ""
        where = "" if at else f" at {load}"
        parts.append(f"{interval(point.throughput_per_s)} /s with {_name(configuration)}{where}{limited}{doubt}")
    return f"Highest throughput{at}: {'; '.join(parts)}{f'; both limited by {causes[0]}' if same else ''}"


def _because(verdict: StudyVerdict, configurations: Iterable[Configuration]) -> str:
    """Render why runs of the configurations are invalid: the first reason, with the next step. Empty if no reason is
    known.

    Usually, a missing analysed window is the consequence of another reason. It is named only if it is the only reason.
    """
    names = {run for configuration in configurations for point in configuration.points for run in point.runs}
    for reason in sorted(verdict.reasons, key=lambda reason: reason.why == NOTHING_RECORDED[0]):
        if reason.level == "invalid" and names.intersection(reason.runs):
            hint = f". Do: {reason.hint.rstrip('.')}" if reason.hint else ""
            return f", because {reason.message.rstrip('.')}{hint}"
    return ""


def _extremes(configurations: Sequence[Configuration]) -> list[Configuration]:
    """Return the configurations with the highest and the lowest peak throughput. A peak is the highest throughput over
    the load levels of a configuration.
    """
    ordered = sorted(configurations, key=lambda each: _peak(each).throughput_per_s.value or 0.0, reverse=True)
    return [ordered[0], ordered[-1]]


def _differ(most: Configuration, least: Configuration) -> bool:
    """Return True if the peak throughputs differ clearly: the interval for `most` lies entirely above the interval for
    `least`.
    """
    low, high = _peak(most).throughput_per_s.low, _peak(least).throughput_per_s.high
    return low is not None and high is not None and low > high


def _peak(configuration: Configuration) -> LoadPoint:
    return max(_valid(configuration), key=lambda point: point.throughput_per_s.value or 0.0)


def _answer(configuration: Configuration, objectives: Sequence[ObjectiveAnswer]) -> str:
    """Describe the objectives that a configuration meets, and the load that it sustained."""
    carried = _carried(configuration)
    answer = answered(configuration, objectives)
    if not answer:
        return _capital(f"{_prefix(configuration)}{carried}")
    return _capital(f"{_prefix(configuration)}the system {answer}; {carried}")


def _effect(change: Comparison) -> str:
    text = (
        f"With {level_name(change.factor, change.to_level)} instead of `{change.from_level}`, the mean response time "
        f"of {change.transaction} {change_words(change.ratio.document())} at {change.load_in_words}"
    )
    return f"{text} (within single runs)" if change.differs is None else text


def _carried(configuration: Configuration) -> str:
    """Describe the limit that a search found, and the results at the highest load level that passed the search. Without
    a search, describe the highest throughput and what limits it.
    """
    limit, points = configuration.found_limit, _valid(configuration)
    if limit is None:
        return _capacity(configuration)
    passed = [point for point in points if limit.value is not None and point.level <= limit.value]
    point = (passed or points)[-1]
    seen = f"{interval(point.throughput_per_s)} transactions/s{_with_mean(point)} at {point.load_in_words}"
    if limit.value is None:
        return f"no tested load passed; {seen}"
    why = "a lower bound" if limit.is_lower_bound else f"then {limit.reason}"
    return f"the system sustains {limit.in_words}, {why}; {seen}"


def _capacity(configuration: Configuration) -> str:
    peak, limit = _peak(configuration), configuration.limit
    kind = LimitKind.UNDECIDED if limit is None else limit.kind
    carried = interval(peak.throughput_per_s)
    head = f"throughput reaches {carried} transactions/s at {peak.load_in_words}{_with_mean(peak)}"
    cause = None if kind is LimitKind.ERRORS else _cause(configuration)
    if cause is not None:
        return f"{head}, limited by {cause}"
    diagnosis = configuration.diagnosis
    if kind is LimitKind.UNDECIDED and diagnosis is not None and diagnosis.excludes_limit:
        return f"{head}, its limit probably not reached"
    return head + _AT_THE_END[kind].format(resource=None if limit is None else limit.resource)


def _with_mean(point: LoadPoint) -> str:
    """Render the mean response time at a load level, as the end of a clause. Without a mean, this is ` (response times
    unknown)`.
    """
    mean = point.response_time_s.mean
    doubt = FROM_SUSPECT if point.state == "suspect" else ""
    if mean.value is None:
        return f" (response times unknown){doubt}"
    return f" with a mean response time of {_time(mean)}{doubt}"


def _says_little(ratio: Estimate) -> bool:
    """Return True if the interval of a ratio is too wide to be reported: its upper limit exceeds `_VAGUE` times its
    lower limit.
    """
    return ratio.low is not None and ratio.high is not None and ratio.high > _VAGUE * ratio.low


def _strongest(comparisons: Iterable[Comparison]) -> Comparison | None:
    """Return the comparison with the largest significant change in the response time of one transaction.

    Only the lowest load with a significant change is considered. At a higher load, one of the two configurations may be
    saturated. All transactions then differ because of the saturation, which hides the effect of the factor on a single
    transaction.
    """
    found = [
        each
        for each in comparisons
        if each.transaction is not None and each.is_certain and not _says_little(each.ratio)
    ]
    lowest = min((each.level for each in found), default=None)
    return max((each for each in found if each.level == lowest), key=strength, default=None)
