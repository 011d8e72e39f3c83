"""Run benchmarks of Towtank's engine and of other load generators.

    python benches [--quick] [NAME ...]        names: generator_cpu stall constant_delay start_lag memory syscalls
                                               allocations tls http2 sql files solve simulate caches report_paint;
                                               all by default
    python benches [--quick] users             up to ten million users, with up to a million connections; runs only if
                                                   named
    python benches [--minutes N] endurance     memory over an hour, or over N minutes; runs only if named
    python benches [--minutes N] comparisons   verdicts of `towtank compare` on 180 real runs, 25 minutes; runs only if
                                                   named; stops after N minutes, and continues in the next call
    python benches [--minutes N] decisions     decisions of `repeat: until decided` in 80 real studies, up to three
                                                   hours; runs only if named; stops after N minutes, and continues in
                                                   the next call

Server and generator are pinned to different cores, and the generators run in alternating order (ABBA). Results are
ratios or errors with 95 % bootstrap intervals. The results of the single runs are written to
`benches/raw/DATE-HOST-NAME.json`. A bench that this machine cannot run is skipped, with a message.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

import harness

BENCHES = (
    "generator_cpu",
    "stall",
    "constant_delay",
    "start_lag",
    "memory",
    "syscalls",
    "allocations",
    "tls",
    "http2",
    "sql",
    "files",
    "solve",
    "capacity_curve",
    "simulate",
    "caches",
    "report_paint",
)
# Benches that take long or use nearly all memory: they run only if named.
BY_NAME = ("users", "endurance", "comparisons", "decisions")
TIMED = ("endurance", "comparisons", "decisions")
MINUTES_AT_MOST = 7 * 24 * 60


def main() -> int:
    """Run the named benches, or all benches outside `BY_NAME`."""
    parser = argparse.ArgumentParser(
        prog="python benches", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, about four minutes in all")
    parser.add_argument(
        "--minutes",
        type=float,
        help="length of `endurance` (default: 60), or time limit of this call of `comparisons` or `decisions` [min]",
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - {*BENCHES, *BY_NAME})
    if unknown:
        parser.error(f"NAME must be one of {', '.join((*BENCHES, *BY_NAME))}. Got {', '.join(unknown)} instead.")
    if arguments.minutes is not None and not 1 <= arguments.minutes <= MINUTES_AT_MOST:
        parser.error(f"--minutes must be in [1, {MINUTES_AT_MOST}]. Got {arguments.minutes:g} instead.")
    for name in arguments.names or BENCHES:
        print(name, flush=True)
        options = {"minutes": arguments.minutes} if name in TIMED else {}
        try:
            import_module(name).run(quick=arguments.quick, **options)
        except harness.Skipped as reason:
            print(f"  skipped: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
