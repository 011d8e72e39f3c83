"""Benches of the load engine, beside its peers, in one run.

    python benches [--quick] [NAME ...]        names: generator_cpu stall constant_delay start_lag memory syscalls
                                               allocations tls http2; all of them by default

Server and generator are pinned to different cores; generators take turns (ABBA); answers are ratios or errors with
95 % bootstrap intervals; raw runs go to `benches/raw/DATE-HOST-NAME.json`. What a machine lacks is skipped by name.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

import harness

BENCHES = ("generator_cpu", "stall", "constant_delay", "start_lag", "memory", "syscalls", "allocations", "tls", "http2")


def main() -> int:
    """Run the benches that are named."""
    parser = argparse.ArgumentParser(
        prog="python benches", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, about four minutes in all")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(BENCHES))
    if unknown:
        parser.error(f"NAME must be one of {', '.join(BENCHES)}. Got {', '.join(unknown)} instead.")
    for name in arguments.names or BENCHES:
        print(name, flush=True)
        try:
            import_module(name).run(quick=arguments.quick)
        except harness.Skipped as reason:
            print(f"  skipped: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
