"""Plants a sample of faults in a Rust crate by cargo-mutants, which builds and tests the crate with each fault."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

from planting.share import is_short, share_text

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "target" / "tools"
CRATE = "towtank-queueing"
# Time limit of the tests with one fault, because a fault may cause an endless loop; the tests usually take seconds. [s]
_TIMEOUT_S = 120
# Characters to escape in a regular expression. Blanks are not included, because Rust's regular expressions refuse an
# escaped blank.
_SPECIAL = re.compile(r"([.^$*+?{}\[\]\\|()])")


def installed() -> str:
    """Return the path of cargo-mutants; if it is missing, build it in `target/tools`."""
    program = shutil.which("cargo-mutants", path=f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}")
    if program is not None:
        return program
    subprocess.run(["cargo", "install", "cargo-mutants", "--locked", "--quiet", "--root", TOOLS], check=True)
    return str(TOOLS / "bin" / "cargo-mutants")


def exactly(name: str) -> str:
    """Return a regular expression that matches only the given name."""
    return "^" + _SPECIAL.sub(r"\\\1", name) + "$"


def without_place(name: str) -> str:
    """Return the name of a fault without line and column, as in `crates/queueing/src/amva.rs: replace - with + in
    solve`.
    """
    return re.sub(r":\d+:\d+:", ":", name)


def plant(size: int, seed: str, least: float, listed: dict[str, str]) -> int:
    """Plant a sample of faults in Rust code.

    Return exit status 1 if the tests detected too few faults, or if an entry of `equivalent.yaml` names no fault.
    """
    program = installed()
    command = [program, "mutants", "--package", CRATE, "--dir", str(ROOT)]
    reported = subprocess.run([*command, "--list"], check=True, capture_output=True, text=True).stdout
    names = reported.splitlines()
    stale = set(listed) - {without_place(name) for name in names}
    for name in sorted(stale):
        print(f"stale: no fault is named {name}", file=sys.stderr)
    names = [name for name in names if without_place(name) not in listed]
    sample = random.Random(seed).sample(names, min(size, len(names)))
    print(f"{len(sample)} of {len(names)} faults, seed {seed}", flush=True)
    output = ROOT / "target" / "plant"
    output.mkdir(parents=True, exist_ok=True)
    chosen = [argument for name in sample for argument in ("--re", exactly(name))]
    settings = ["--timeout", str(_TIMEOUT_S), "--profile", "checked", "--no-times", "--output", str(output)]
    # Exit statuses 2 (undetected faults) and 3 (tests timed out) of cargo-mutants are no errors: the result of each
    # fault is read from a file.
    status = subprocess.run([*command, *settings, *chosen], check=False).returncode
    if status not in (0, 2, 3):
        return status
    return report(output / "mutants.out" / "outcomes.json", least) or int(bool(stale))


def report(outcomes: Path, least: float) -> int:
    """Print the undetected faults, and the share of detected faults; return 1 if this share is too small."""
    found: dict[str, list[str]] = {}
    for outcome in json.loads(outcomes.read_text("utf-8"))["outcomes"]:
        if outcome["scenario"] != "Baseline":
            found.setdefault(outcome["summary"], []).append(outcome["scenario"]["Mutant"]["name"])
    for name in found.get("MissedMutant", []):
        print(f"not noticed: {name}")
    noticed = sum(len(found.get(summary, [])) for summary in ("CaughtMutant", "Timeout"))
    judged = noticed + len(found.get("MissedMutant", []))
    print(f"{share_text(noticed, judged)}; {len(found.get('Unviable', []))} cannot be built")
    return int(is_short(noticed, judged, least))
