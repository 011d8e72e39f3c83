"""Rules that the statements of a study summary must satisfy, so that no two statements contradict each other.

The docstring of each function states a rule; the function yields the violations of this rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

Json = dict[str, Any]
Rule = Callable[[Json], Iterator[str]]


def counts(point: Json) -> bool:
    """Return True if a load level has at least one run that is not invalid."""
    return any(verdict != "invalid" for verdict in point["verdicts"])


def limit_and_top_level(summary: Json) -> Iterator[str]:
    """The capacity limit has kind `none` only if the highest measured level is valid and saturates no tier."""
    for configuration in summary["configurations"]:
        limit, points = configuration["limit"], configuration["points"]
        if limit["kind"] != "none":
            continue
        if not counts(points[-1]):
            yield f"{configuration['label']}: no limit, but the highest level is invalid"
        for run in summary.get("_runs", ()):
            growth = (run.get("window") or {}).get("growth") or {}
            if run["run"] in points[-1]["runs"] and growth.get("is_significant"):
                yield f"{configuration['label']}: no limit, but arrivals exceed throughput"
        full = [name for name, tier in points[-1]["tiers"].items() if (tier["utilization"] or 0) >= 0.9]
        if full:
            yield f"{configuration['label']}: no limit, but {full} was saturated"


def _sharing(limit: Json) -> list[str]:
    """Return the tier that limits the capacity, and the tiers that share its CPUs according to the evidence."""
    found = re.search(r"while (.+) together use ", limit["evidence"])
    return re.split(r", | and ", found[1]) if found else [limit["resource"]]


def limit_and_resource(summary: Json) -> Iterator[str]:
    """A capacity limit names a resource if and only if it is a CPU limit. This resource was observed to be
    saturated.
    """
    for configuration in summary["configurations"]:
        limit = configuration["limit"]
        if (limit["resource"] is not None) != (limit["kind"] == "cpu"):
            yield f"{configuration['label']}: kind {limit['kind']}, resource {limit['resource']}"
        if limit["resource"] is not None and not any(
            sum(point["tiers"].get(name, {}).get("utilization") or 0 for name in _sharing(limit)) >= 0.9
            for point in configuration["points"]
            if counts(point)
        ):
            yield f"{configuration['label']}: limited by {limit['resource']}, which was not saturated at any level"


def limit_and_reached(summary: Json) -> Iterator[str]:
    """The key `reached` of a capacity limit is False for kind `none`, None for kind `undecided`, and True for all other
    kinds.
    """
    expected = {"none": False, "undecided": None}
    for configuration in summary["configurations"]:
        limit = configuration["limit"]
        if limit["reached"] is not expected.get(limit["kind"], True):
            yield f"{configuration['label']}: {limit['kind']}, reached {limit['reached']}"


def limit_and_headline(summary: Json) -> Iterator[str]:
    """The headline states that the limit was not reached only if a configuration has no limit.

    The headline names the CPU only if the CPU is the limit, or the diagnosed cause, of a configuration.
    """
    kinds = {configuration["limit"]["kind"] for configuration in summary["configurations"]}
    causes = {configuration["diagnosis"]["cause"] for configuration in summary["configurations"]}
    if "its limit not reached" in summary["headline"] and "none" not in kinds:
        yield f"headline without a limit, but limits have the kinds {sorted(kinds)}"
    if "limited by the CPU" in summary["headline"] and "cpu" not in kinds | causes:
        yield f"headline names the CPU, but limits have the kinds {sorted(kinds)}"


NO_SATURATION = "no observed tier is saturated"
NOT_OBSERVED = "no tier was observed"


def unobserved_and_ruled_out(summary: Json) -> Iterator[str]:
    """A text excludes the CPUs as the limit only if a tier was observed, and states that no tier was observed only if
    none was.
    """
    for configuration in summary["configurations"]:
        tiers = [point["tiers"] for point in configuration["points"] if counts(point)]
        for text in (configuration["limit"]["evidence"], *configuration["diagnosis"]["evidence"]):
            if NO_SATURATION in text and not any(tiers):
                yield f"{configuration['label']}: {text}, but no level has tiers"
            if NOT_OBSERVED in text and tiers and all(tiers):
                yield f"{configuration['label']}: {text}, but every level has tiers"


def search_and_plateaus(summary: Json) -> Iterator[str]:
    """If a search found a limit, no load level above the upper end of the limit met the objectives."""
    for configuration in summary["configurations"]:
        found = configuration["found_limit"]
        for run in summary.get("_runs", ()):
            limit = run.get("limit")
            if found is None or not limit or limit["high"] is None:
                continue
            above = [each["level"] for each in limit["plateaus"] if each["passed"] and each["level"] > limit["high"]]
            if above:
                yield f"limit [{limit['low']}, {limit['high']}], but levels {above} met the objectives"


def objectives_and_runs(summary: Json) -> Iterator[str]:
    """An objective is met or violated only at load levels with a valid run. At other levels, the reason is stated why
    it is undecided.
    """
    by_key = {str(configuration["key"]): configuration["points"] for configuration in summary["configurations"]}
    for objective in summary["objectives"]:
        points = by_key[str(objective["configuration"])]
        if objective["users"] is not None:
            points = [point for point in points if point.get("users") == objective["users"]]
        decided = objective["metric"].startswith("err") or any(counts(point) for point in points)
        if objective["met"] is not None and not decided:
            yield f"{objective['text']}: met {objective['met']} without a valid run"
        if objective["met"] is True and objective["not_judged"]:
            yield f"{objective['text']}: met, but not evaluated at {objective['not_judged']}"
        if objective["met"] is None and objective["seen"] is None and not objective["not_judged"]:
            has_value = any(counts(point) for point in points)
            if points and has_value and objective["metric"] == "p95":
                yield f"{objective['text']}: not evaluated, without a stated reason"


def verdict_and_runs(summary: Json) -> Iterator[str]:
    """The verdict of a study contains the correct number of runs at each level. If the study is invalid, the headline
    states this.
    """
    verdict = summary["verdict"]
    levels = [run["verdict"] for run in summary["runs"]]
    for level in ("valid", "suspect", "invalid"):
        if verdict[f"{level}_runs"] != levels.count(level):
            yield f"{verdict[f'{level}_runs']} {level} runs, {levels.count(level)} in the table"
    if verdict["level"] == "valid" and set(levels) != {"valid"}:
        yield f"valid, with runs {levels}"
    invalid = verdict["level"] == "invalid"
    if invalid and "No run of this study" not in summary["headline"] and "not valid" not in summary["headline"]:
        yield f"an invalid study states: {summary['headline']}"


RULES: tuple[Rule, ...] = (
    limit_and_top_level,
    limit_and_resource,
    limit_and_reached,
    limit_and_headline,
    unobserved_and_ruled_out,
    search_and_plateaus,
    objectives_and_runs,
    verdict_and_runs,
)


def contradictions(summary: Json) -> list[str]:
    """Return all contradictions between statements of a study summary, each with the name of the violated rule."""
    return [f"{rule.__name__}: {text}" for rule in RULES for text in rule(summary)]
