"""Run the test suite under the conditions of other machines and other user accounts (`make test-anywhere`).

    scripts/test_anywhere.py [VARIATION[+VARIATION ...] ...] [--everything] [--list]

A variation is a set of such conditions. Each variation runs the tests that it can influence, or the whole suite with
`--everything`. Variations joined by `+` apply together, in one run of all their tests. The output ends with a table and
the names of the failed tests. A variation that this machine cannot reproduce is listed with the reason, and does not
count as a failure. The environment variable `PYTEST_ADDOPTS` passes options to pytest.
"""

from __future__ import annotations

import argparse
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NORMAL_USER = "normal-user"
NUMBERS = ("tests/model", "tests/size", "tests/certified", "tests/analysis", "tests/docs")
TEXTS = ("tests/cli", "tests/report", "tests/results", "tests/study", "tests/workload", "tests/units")
USERS = (*TEXTS, "tests/record", "tests/observe", "tests/integration/test_integration_drive.py")
# Time limit of a test; long, because tests are slow on half a CPU, or with eight threads on one CPU. [s]
_TIMEOUT_S = 900
_CLOSING = re.compile(r"(\d+) (passed|failed|skipped|error)")
_HALF = "towtank-anywhere"


class CannotShowError(Exception):
    """Raised if this machine cannot reproduce a variation; the message states the reason."""


Setting = tuple[dict[str, str], list[str]]
"""Environment variables, and a command prefix such as `taskset --cpu-list 0`, with which a variation runs pytest."""


@dataclass(frozen=True)
class Variation:
    """Conditions of another machine or of another user account.

    Attributes
    ----------
    name, about : str
        Name, and description in a few words.
    parts : tuple of str
        Folders of tests that the variation can influence.
    environment : dict
        Environment variables that the variation sets.
    prefix : tuple of str
        Command prefix of the test run, such as `prlimit --nofile=1024:1024`.
    prepare : callable or None
        Function that gets a scratch folder, prepares the conditions, and returns additional environment variables and a
        command prefix.
    """

    name: str
    about: str
    parts: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    prepare: Callable[[Path], Setting] | None = None

    def setting(self, scratch: Path) -> Setting:
        """Return all environment variables of the variation, and the command prefix of the test run."""
        more, prefix = ({}, []) if self.prepare is None else self.prepare(scratch)
        return {**self.environment, **more}, [*prefix, *self.prefix]


def joined(variations: list[Variation]) -> Variation:
    """Combine several variations; the variation that gives up root privileges is applied last."""
    if len(variations) == 1:
        return variations[0]
    in_order = sorted(variations, key=lambda variation: variation.name == NORMAL_USER)

    def prepare(scratch: Path) -> Setting:
        environment: dict[str, str] = {}
        prefix: list[str] = []
        for variation in in_order:
            changed, before = variation.setting(scratch)
            # If several variations set an environment variable, the value of the first variation is used.
            environment |= {key: value for key, value in changed.items() if key not in environment}
            prefix += before
        return environment, prefix

    return Variation(
        "+".join(variation.name for variation in variations),
        "; ".join(variation.about for variation in variations),
        tuple(dict.fromkeys(part for variation in variations for part in variation.parts)),
        prepare=prepare,
    )


def kernel_of_blas(name: str, flag: str) -> Variation:
    """Return a variation that uses OpenBLAS's kernel `name`; this CPU must have the feature `flag`."""

    def prepare(_: Path) -> Setting:
        flags = re.search(r"^flags\s*:(.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        if flags is None or flag not in flags[1].split():
            raise CannotShowError(f"this CPU has no {flag}")
        return {"OPENBLAS_CORETYPE": name}, []

    return Variation(f"blas-{name.lower()}", f"OpenBLAS for {name}", NUMBERS, prepare=prepare)


def cpus(count: int) -> Variation:
    """Return a variation in which the tests run with `count` CPUs."""

    def prepare(_: Path) -> Setting:
        usable = sorted(os.sched_getaffinity(0))
        if count <= len(usable):
            return {}, ["taskset", "--cpu-list", ",".join(map(str, usable[:count]))]
        # This machine has fewer CPUs, so only the number of BLAS threads changes. It affects results, because each
        # thread computes a part of a sum.
        return {"OPENBLAS_NUM_THREADS": str(count)}, []

    return Variation(f"cpus-{count}", "this number of CPUs, or of OpenBLAS threads", NUMBERS, prepare=prepare)


def half_a_cpu(_: Path) -> Setting:
    """Create a control group with half a CPU, and return a command prefix that runs a command in this group."""
    from towtank.errors import TargetError  # noqa: PLC0415 - the table is listed without the package, too
    from towtank.system.hosts.cgroups import ControlGroup, find_trees  # noqa: PLC0415

    if os.geteuid() != 0:
        raise CannotShowError("needs root")
    group = ControlGroup(find_trees(), _HALF)
    try:
        group.create()
        group.limit_cpu(0.5)
    except TargetError as error:
        raise CannotShowError(str(error)) from error
    join = "".join(f"echo $$ > {file}; " for file in group.members_files())
    return {}, ["sh", "-c", f'{join}exec "$@"', "half-a-cpu"]


def remove_group() -> None:
    from towtank.system.hosts import cgroups  # noqa: PLC0415

    trees = cgroups.find_trees()
    for tree in {*trees.controllers.values(), *([trees.unified] if trees.unified else [])}:
        if (tree / _HALF).exists():
            cgroups.remove(tree / _HALF)


def latin(scratch: Path) -> Setting:
    """Create a German locale with the encoding Latin-1 in the scratch folder."""
    if shutil.which("localedef") is None:
        raise CannotShowError("no localedef: apt-get install libc-bin locales")
    made = scratch / "de_DE.ISO-8859-1"
    done = subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "ISO-8859-1", str(made)], check=False, capture_output=True, text=True
    )
    if not made.exists():
        raise CannotShowError(f"localedef: {done.stderr.strip() or 'no locale made'}: apt-get install locales")
    return {"LOCPATH": str(scratch), "LC_ALL": made.name, "LANG": made.name, "PYTHONUTF8": "0"}, []


def elsewhere(scratch: Path) -> Setting:
    """Put temporary files into a folder whose name has a space and a non-ASCII letter."""
    folder = scratch / "zwischen ablage ä"
    folder.mkdir()
    scratch.chmod(0o755)
    folder.chmod(0o1777)
    return {"TMPDIR": str(folder)}, []


def normal_user(scratch: Path) -> Setting:
    """Run the tests as user `nobody` with a home and a temporary folder of its own, if the current user is root."""
    home = scratch / "home"
    home.mkdir()
    scratch.chmod(0o755)
    environment = {"HOME": str(home), "TMPDIR": str(home), "HYPOTHESIS_STORAGE_DIRECTORY": str(home / "hypothesis")}
    if os.geteuid() != 0:
        return environment, []
    nobody = pwd.getpwnam("nobody")
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    prefix = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups", "--"]
    for path in (sys.executable, str(ROOT / "pyproject.toml")):
        if subprocess.run([*prefix, "test", "-r", path], check=False).returncode != 0:
            raise CannotShowError(f"{Path(path).resolve()} is for root alone")
    return environment, prefix


VARIATIONS = (
    kernel_of_blas("Haswell", "avx2"),
    kernel_of_blas("SkylakeX", "avx512f"),
    kernel_of_blas("Nehalem", "sse4_2"),
    cpus(1),
    cpus(2),
    cpus(8),
    Variation("half-a-cpu", "control group of half a CPU", (*NUMBERS, *TEXTS), prepare=half_a_cpu),
    Variation("locale-c", "output in ASCII", TEXTS, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}),
    Variation("locale-latin", "German, Latin-1", TEXTS, prepare=latin),
    Variation("time-zone", "UTC+5:45, not a whole hour", TEXTS, {"TZ": "Asia/Kathmandu"}),
    Variation("tmpdir", "temporary folder with a space and an umlaut", (*USERS, "tests/conduct"), prepare=elsewhere),
    Variation(
        "open-files", "at most 1,024 open files, the usual limit", USERS, prefix=("prlimit", "--nofile=1024:1024")
    ),
    Variation(NORMAL_USER, "user nobody; tests that need root are skipped", USERS, prepare=normal_user),
)


@dataclass(frozen=True)
class Outcome:
    """Result of one variation."""

    name: str
    counts: dict[str, int]
    took_s: float
    status: int | None
    remark: str = ""
    names: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """True if a test failed, or if the test run itself failed."""
        return self.status not in (0, None)


def run(variation: Variation, everything: bool) -> Outcome:
    """Run the tests in a variation, and print their output."""
    start = time.monotonic()
    with _scratch() as scratch:
        try:
            changed, prefix = variation.setting(scratch)
        except CannotShowError as error:
            return Outcome(variation.name, {}, 0.0, None, str(error))
        environment = {key: value for key, value in os.environ.items() if key != "CI"} | changed
        command = [*prefix, *command_of(variation, everything)]
        said = []
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, encoding="utf-8", errors="replace"
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                sys.stdout.write(line)
                said.append(line)
    took_s = time.monotonic() - start
    return Outcome(variation.name, counts_of(said), took_s, process.returncode, names=names_of(said))


def command_of(variation: Variation, everything: bool) -> list[str]:
    """Return the command of the test run in a variation."""
    parts = [] if everything else list(variation.parts)
    fixed = ["-q", "-rfE", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider", "--timeout", str(_TIMEOUT_S)]
    return [sys.executable, "-m", "pytest", *fixed, *parts]


def counts_of(lines: list[str]) -> dict[str, int]:
    """Return the numbers of tests by result, from the last line of pytest's output."""
    closing = next((line for line in reversed(lines) if re.search(r" in [\d.]+s", line)), "")
    return {kind: int(count) for count, kind in _CLOSING.findall(closing)}


def names_of(lines: list[str]) -> tuple[str, ...]:
    """Return the names of the tests that failed or ended with an error, from pytest's summary."""
    return tuple(line.split(" - ")[0].strip() for line in lines if line.startswith(("FAILED ", "ERROR ")))


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="anywhere-", dir="/tmp") as name:
        try:
            yield Path(name)
        finally:
            remove_group()


def table(outcomes: list[Outcome]) -> str:
    """Return a table with a line for each variation, followed by a line for each of its failed tests."""
    width = max(14, *(len(outcome.name) for outcome in outcomes))
    lines = [f"{'variation':<{width}} {'passed':>6} {'failed':>6} {'left out':>8} {'seconds':>7}"]
    for outcome in outcomes:
        if outcome.status is None:
            lines.append(f"{outcome.name:<{width}} not run: {outcome.remark}")
            continue
        passed, failed = outcome.counts.get("passed", 0), outcome.counts.get("failed", 0)
        wrong = failed + outcome.counts.get("error", 0)
        remark = f"  ended with status {outcome.status}" if outcome.failed else ""
        left_out = outcome.counts.get("skipped", 0)
        lines.append(f"{outcome.name:<{width}} {passed:>6} {wrong:>6} {left_out:>8} {outcome.took_s:>7.0f}{remark}")
        lines += [f"  {name}" for name in outcome.names]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen variations; return 1 if tests failed, 2 for an unknown variation."""
    parser = argparse.ArgumentParser(
        prog="test_anywhere", description="Run the test suite under the conditions of other machines."
    )
    parser.add_argument("variations", nargs="*", metavar="VARIATION[+VARIATION ...]")
    parser.add_argument("--everything", action="store_true", help="run the whole suite in each variation")
    parser.add_argument(
        "--list", action="store_true", help="list the variations and the tests that each variation can influence"
    )
    given = parser.parse_args(arguments)
    known = {variation.name: variation for variation in VARIATIONS}
    asked = [text.split("+") for text in given.variations]
    if unknown := [name for names in asked for name in names if name not in known]:
        print(f"error: no variation {', '.join(unknown)}; known: {', '.join(known)}", file=sys.stderr)
        return 2
    chosen = [joined([known[name] for name in names]) for names in asked] or list(VARIATIONS)
    if given.list:
        print("\n".join(f"{each.name:<14} {each.about}: {' '.join(each.parts)}" for each in chosen))
        return 0
    outcomes = []
    for variation in chosen:
        print(f"== {variation.name}: {variation.about}", flush=True)
        outcomes.append(run(variation, given.everything))
    print(table(outcomes))
    return 1 if any(outcome.failed for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
