"""Implements `scripts/plant`: chooses a random sample of faults, runs tests with each fault, and reports undetected
faults.
"""

from __future__ import annotations

import argparse
import datetime
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from planting import equivalents, rust, tests
from planting.judging import Copy
from planting.places import Place, places
from planting.share import is_short, share_text

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "towtank"
WORK = ROOT / "target" / "plant"
ROOMS = ("analysis", "model", "sizing")
# Largest number of tests [1] and largest total time [s] of the first group of tests that run with a fault (`_NEAR`),
# and of each further group (`_AT_MOST`).
_NEAR = (20, 10.0)
_AT_MOST = (150, 120.0)


@dataclass(frozen=True)
class Verdict:
    """Result of the tests with one fault planted.

    `outcome` is `noticed` (a test failed), `not noticed`, or `not executed` (by any test); `ran` is the number of tests
    that ran.
    """

    place: Place
    outcome: str
    ran: int


def say(text: str) -> None:
    print(text, flush=True)


def all_places() -> list[Place]:
    """Return every fault that can be planted in the folders listed in `ROOMS`."""
    files = (path for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py")))
    return [place for path in files for place in places(path, PACKAGE)]


def within(names: list[str], seconds: dict[str, float], tests: int, at_most_s: float) -> list[str]:
    """Return tests, in the given order, within limits of their number and total time, but at least one test.

    A test that would exceed the time is skipped.
    """
    chosen: list[str] = []
    spent = 0.0
    for name in names:
        if not chosen or (len(chosen) < tests and spent + seconds[name] <= at_most_s):
            chosen.append(name)
            spent += seconds[name]
    return chosen


def judge(place: Place, executed: tests.Executed, copy: Copy) -> Verdict:
    """Plant one fault, and run tests until one fails.

    The most specific tests (`Executed.tests_of`) run first, then all tests that execute the fault, then other tests of
    the same files. Each group is limited.
    """
    executing, seconds = executed.tests_of(place), executed.seconds
    if not executing:
        return Verdict(place, "not executed", 0)
    near = within(executing, seconds, *_NEAR)
    ran: list[str] = []
    for names in (near, executing, executed.beside(executing)):
        chosen = within([name for name in names if name not in ran], seconds, *_AT_MOST)
        if chosen and copy.is_noticed(place, chosen, sum(seconds[name] for name in chosen)):
            return Verdict(place, "noticed", len(ran) + len(chosen))
        ran += chosen
    return Verdict(place, "not noticed", len(ran))


def check(sample: list[Place], executed: tests.Executed, copy: Copy) -> None:
    """Run the first group of tests of every fault while no fault is planted. If a test fails, exit with an error:
    otherwise, faults would wrongly count as noticed."""
    near = {test for place in sample for test in within(executed.tests_of(place), executed.seconds, *_NEAR)}
    if near and not copy.pass_all(sorted(near), sum(executed.seconds[test] for test in near)):
        sys.exit("error: a test fails without any fault; run `make test` first")


def table(verdicts: list[Verdict]) -> str:
    """Return a table of the number of faults by folder and outcome."""
    outcomes = ("noticed", "not noticed", "not executed")
    lines = ["", f"{'room':10}" + "".join(f"{outcome:>14}" for outcome in outcomes)]
    for room in (*ROOMS, "all"):
        counted = Counter(each.outcome for each in verdicts if room in ("all", each.place.path.split("/")[0]))
        if total := counted.total():
            cells = (f"{counted[outcome]:7} ({counted[outcome] / total:4.0%})" for outcome in outcomes)
            lines.append(f"{room:10}" + "".join(f"{cell:>14}" for cell in cells))
    return "\n".join(lines)


def plant(options: argparse.Namespace, listed: list[equivalents.Equivalent]) -> list[Verdict]:
    """Run the tests with each fault of a sample in Python code; print each fault that no test detects."""
    pattern = re.compile(options.only)
    candidates = [place for place in all_places() if pattern.search(f"{place.path}:{place.line}")]
    candidates = [place for place in candidates if not any(entry.is_of(place) for entry in listed)]
    sample = random.Random(options.seed).sample(candidates, min(options.size, len(candidates)))
    say(f"{len(sample)} of {len(candidates)} faults, seed {options.seed}")
    executed = tests.recorded(PACKAGE, WORK / "recorded", options.keep)
    copy = Copy(PACKAGE, WORK / "copy")
    check(sample, executed, copy)
    verdicts = []
    for place in sorted(sample, key=lambda place: (place.path, place.line)):
        verdicts.append(judge(place, executed, copy))
        if verdicts[-1].outcome != "noticed":
            say(f"{verdicts[-1].outcome} by {verdicts[-1].ran} tests: {place}")
    return verdicts


def main() -> int:
    """Run the command.

    Return exit status 1 if the tests detected too few faults, or if an entry of `equivalent.yaml` matches no code.
    """
    parser = argparse.ArgumentParser(
        description="Plant single faults in the code, and report each fault that no test detects."
    )
    parser.add_argument("--size", type=int, default=100, help="number of faults (default %(default)s)")
    parser.add_argument("--seed", default=datetime.date.today().isoformat(), help="seed of the sample (today)")
    parser.add_argument(
        "--only",
        default="",
        metavar="PATTERN",
        help="plant only in lines whose FILE:LINE matches this regular expression",
    )
    parser.add_argument("--keep", action="store_true", help="use the last record of executed lines, even if stale")
    parser.add_argument(
        "--least", type=float, default=0.9, help="smallest accepted ratio of detected faults (default %(default)s)"
    )
    parser.add_argument(
        "--rust", action="store_true", help="plant faults in the Rust crate `queueing`, by cargo-mutants"
    )
    options = parser.parse_args()
    python, of_rust = equivalents.read()
    if options.rust:
        return rust.plant(options.size, options.seed, options.least, of_rust)
    stale = equivalents.stale(python, PACKAGE)
    for entry in stale:
        print(f"stale: {entry.path} has no `{entry.was}` in `{entry.scope}`", file=sys.stderr)
    verdicts = plant(options, python)
    say(table(verdicts))
    noticed = sum(verdict.outcome == "noticed" for verdict in verdicts)
    say(share_text(noticed, len(verdicts)))
    return int(bool(stale) or is_short(noticed, len(verdicts), options.least))
