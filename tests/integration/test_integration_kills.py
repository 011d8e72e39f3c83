"""A random process of a run is killed or stopped at a random time. No recorded data may be lost, and no process, file
or kernel object may remain.

Afterwards, `--resume` must complete the study.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from certification import Tried
from host_support import requires, virtual_host
from integration_bench import WORKLOAD, Bench
from victims import PARTS, processes_of_part
from waiting import until

from towtank.results import lines
from towtank.system.hosts import cleaning

pytestmark = pytest.mark.waits

KILLS = int(os.environ.get("TOWTANK_KILLS", "50" if os.environ.get("CI") else "10"))
"""Number of kills, half of them with each host provider; 1,000 in the nightly tests."""
HELD_S = float(os.environ.get("TOWTANK_HELD_S", "10"))
SYSTEM = """
schema: towtank/system/1
name: tiny
hosts: {{web: {{provider: {provider}}}}}
services:
  content: {{kind: null_server, host: web}}
  second: {{kind: null_server, host: web}}
targets: {{content: {{service: content}}}}
start_timeout: 20 s
"""
EXISTING = """
schema: towtank/system/1
name: tiny
services:
  content: {{kind: existing, address: "http://{address}"}}
"""
PROVIDERS = ("local", "namespaces")
# Time from the start of the first process to the end of the second run, by host provider, on an idle machine. [s]
LENGTH_S = {"local": 4.4, "namespaces": 6.4}


def parts_of(provider: str) -> list[str]:
    """Return the roles of the processes of a run. Only runs on virtual hosts have a janitor process."""
    return [part for part in PARTS if part != "janitor" or provider == "namespaces"]


class Watched:
    """A study on hosts of a provider, and the objects that the study creates outside its folder."""

    def __init__(self, bench: Bench, provider: str) -> None:
        if provider == "namespaces":
            requires(virtual_host())
        self.bench = bench
        self.temporary = bench.folder / "tmp"
        self.temporary.mkdir()
        bench.environment["TMPDIR"] = str(self.temporary)
        bench.study(users=[2, 3], steady="500 ms")
        (bench.folder / "system.yaml").write_text(SYSTEM.format(provider=provider))
        (bench.folder / "workload.yaml").write_text(WORKLOAD)
        self.prefixes: set[str] = set()

    def look(self) -> None:
        """Record the name prefixes of the running systems."""
        self.prefixes |= {path.name for path in self.temporary.glob("towtank-??????")}

    def left(self) -> list[str]:
        """Return all objects of the systems that still exist, as text."""
        self.look()
        made = [line for prefix in self.prefixes for line in cleaning.leftovers(prefix)]
        return sorted({*made, *self.folders(), *self.bench.strays()})

    def folders(self) -> list[str]:
        return [f"folder {path}" for path in self.temporary.glob("towtank-*")]

    def recorded(self) -> dict[Path, list[dict[str, Any]]]:
        """Return the recorded lines of the load threads, by file."""
        found = (self.bench.results / "runs").glob("*/engine/worker-*.ndjson")
        return {path: list(lines.read(path, lines.Damage())) for path in found}


def kill_at(watched: Watched, process: Any, part: str, at: float) -> str:
    """Kill a process with the given role after `at` seconds, or as soon as such a process exists. Return the role, or
    `nobody` if there was no such process.
    """
    deadline = time.monotonic() + at
    while process.poll() is None:
        watched.look()
        if time.monotonic() >= deadline and (found := processes_of_part(process.pid, part)):
            with suppress(ProcessLookupError):
                os.kill(found[-1], signal.SIGKILL)
                return part
        time.sleep(0.005)
    return "nobody"


@pytest.mark.certify
@pytest.mark.timeout(180)
@pytest.mark.parametrize("number", range(KILLS))
def test_nothing_is_lost_or_left_whoever_is_killed_at_any_moment(bench: Bench, number: int, tried: Tried) -> None:
    provider = PROVIDERS[number % 2]
    watched = Watched(bench, provider)
    drawn = random.Random(f"kill {number}" if KILLS <= 50 else f"kill {number} of {time.strftime('%F')}")
    # Roles alternate, so that a few kills cover all roles.
    parts = parts_of(provider)
    part, at = parts[number // 2 % len(parts)], drawn.uniform(0.0, LENGTH_S[provider])
    tried(f"kill of a process with the role `{part}` at a random time of a study")
    process = bench.start_study()
    killed = kill_at(watched, process, part, at)
    _, errors = process.communicate(timeout=240)
    said = f"{killed} killed {at:.3f} s after the start on {provider}: {errors}"
    assert process.returncode in ((-signal.SIGKILL,) if killed == "conductor" else (0, 4, 6)), said
    assert "internal fault" not in errors, said
    assert "Traceback" not in errors, said
    # If the conductor is killed and there is no janitor process, no process knows the conductor's temporary folder. The
    # next run removes this folder.
    until(lambda: not watched.left() or (killed == "conductor" and watched.left() == watched.folders()), 60.0)
    before = watched.recorded()
    if not (bench.results / "study.json").exists():
        assert bench.run_study().returncode in (0, 4), said
    else:
        resumed = bench.towtank("run", "--resume", bench.results, "--quiet", "--no-report")
        assert resumed.returncode in (0, 4), f"{said}\nresumed: {resumed.stderr}"
    statuses = bench.statuses()
    assert statuses["r001"] == statuses["r002"] == "complete", said
    for path, content in before.items():
        aside = path.parents[1].with_name(f"{path.parents[1].name}.interrupted-1") / "engine" / path.name
        assert list(lines.read(aside if aside.exists() else path, lines.Damage())) == content, said
    for run in ("r001", "r002"):
        summary = json.loads((bench.results / "runs" / run / "summary.json").read_text())
        assert summary["accounting"]["holds"], said
    until(lambda: not watched.left(), 60.0)


# Doubts that a stopped process must raise, by role. Conductor, guards and janitor do not affect the load, so they raise
# no doubt.
SAID = {
    "engine": {"generator_stalled"},
    "probe": {"observation_gap"},
    "service": {"service_held"},
}


@pytest.mark.certify
@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("part", "provider"), [(part, provider) for provider in PROVIDERS for part in parts_of(provider)]
)
def test_a_process_that_is_held_is_a_doubt_or_harms_nothing(
    bench: Bench, part: str, provider: str, tried: Tried
) -> None:
    tried(f"process with the role `{part}` suspended for {HELD_S:g} s")
    watched = Watched(bench, provider)
    bench.study(users=[2], steady=f"{HELD_S + 4:g} s")
    (bench.folder / "system.yaml").write_text(SYSTEM.format(provider=provider))
    process = bench.start_study()
    bench.await_stage("r001", "steady")
    watched.look()
    time.sleep(1.0)
    held = processes_of_part(process.pid, part)[:1]
    assert held
    for pid in held:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(HELD_S)
    for pid in held:
        os.kill(pid, signal.SIGCONT)
    _, errors = process.communicate(timeout=240)
    assert process.returncode in (0, 4), errors
    assert bench.statuses() == {"r001": "complete"}
    summary = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    doubts = [reason for reason in summary["verdict"]["reasons"] if reason["level"] != "note"]
    own = SAID.get(part, set())
    assert own <= {reason["kind"] for reason in doubts}, summary["verdict"]
    # A busy machine delays all processes at times, but far less than `HELD_S`. Such delays must not raise a doubt about
    # another process.
    others = set().union(*SAID.values()) - own
    assert not any(reason["kind"] in others and reason["seen"] > HELD_S / 2 for reason in doubts), summary["verdict"]
    assert summary["accounting"]["holds"]
    until(lambda: not watched.left(), 60.0)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL], ids=["held", "killed"])
def test_a_probe_beside_a_system_that_already_runs_is_a_doubt_if_it_is_held_or_killed(
    bench: Bench, serve: Callable[..., str], how: signal.Signals
) -> None:
    bench.study(users=[2], steady="15 s")
    (bench.folder / "system.yaml").write_text(EXISTING.format(address=serve()))
    process = bench.start_study()
    bench.await_stage("r001", "steady")
    time.sleep(1.0)
    (probe,) = processes_of_part(process.pid, "probe")
    os.kill(probe, how)
    if how == signal.SIGSTOP:
        time.sleep(5.0)
        os.kill(probe, signal.SIGCONT)
    _, errors = process.communicate(timeout=240)
    assert process.returncode in (0, 4), errors
    summary = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    doubts = {reason["kind"]: reason for reason in summary["verdict"]["reasons"] if reason["level"] != "note"}
    assert doubts["observation_gap"]["seen"] > 3.0, summary["verdict"]


MOMENTS = int(os.environ.get("TOWTANK_MOMENTS", "8"))
"""Number of times at which the engine or the probe is stopped or killed; 40 in the acceptance test."""
LOAD_S = 6.0
SHORT_HELD_S = 3.0
NAMED = {"engine": {"generator_stalled", "engine_failed"}, "probe": {"observation_gap"}}


def drawn_harm(number: int) -> tuple[str, signal.Signals, str, float]:
    """Return a role, a signal, a system and a random time within the load."""
    drawn = random.Random(f"moment {number}")
    part = ("engine", "probe")[number % 2]
    how = (signal.SIGSTOP, signal.SIGKILL)[number // 2 % 2]
    system = ("existing", "local", "namespaces")[number // 4 % 3]
    # A process that is still stopped when the load ends affects no recorded data. Therefore the stop ends before the
    # load.
    return part, how, system, drawn.uniform(0.3, LOAD_S - (SHORT_HELD_S if how == signal.SIGSTOP else 0.0) - 0.2)


@pytest.mark.waits
@pytest.mark.timeout(180)
@pytest.mark.parametrize("number", range(MOMENTS))
def test_engine_and_probe_that_are_held_or_killed_at_any_moment_are_named(
    bench: Bench, serve: Callable[..., str], number: int
) -> None:
    part, how, system, at_s = drawn_harm(number)
    watched = Watched(bench, "local" if system == "existing" else system)
    bench.study(users=[2], steady=f"{LOAD_S:g} s")
    made = EXISTING.format(address=serve()) if system == "existing" else SYSTEM.format(provider=system)
    (bench.folder / "system.yaml").write_text(made)
    process = bench.start_study()
    bench.await_stage("r001", "ramp_up")
    time.sleep(at_s)
    (victim,) = processes_of_part(process.pid, part)[:1]
    os.kill(victim, how)
    if how == signal.SIGSTOP:
        time.sleep(SHORT_HELD_S)
        os.kill(victim, signal.SIGCONT)
    _, errors = process.communicate(timeout=240)
    said = f"{part} {how.name} at {at_s:.2f} s beside {system}: {errors}"
    assert process.returncode in (0, 4), said
    summary = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    kinds = {reason["kind"] for reason in summary["verdict"]["reasons"]}
    assert kinds & NAMED[part], f"{said}\n{summary['verdict']}"
    watched.look()
