"""Resource use observed by the probe equals the programs' own counts within 2 % or one clock tick.

All programs run at the same time, and beside other work on the machine, which must not change the observed use of a
group.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from certification import Certified
from certified_observers import CASES, WITHIN_S, command, judge, observe_groups

from towtank.engine import guarded

pytestmark = [pytest.mark.waits, pytest.mark.certify, pytest.mark.xdist_group("observers")]
# Programs started below a guard process, as all processes of a system are.
GUARDED = CASES
# Programs observed by process id, like programs that Towtank did not start. When a process of such a program ends, its
# children get a parent outside the program.
NAMED = ("duty_cycle", "children", "detached", "many_sessions")


class Observed:
    """The observed programs, their printed counts, and all samples of the probe."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.counts: dict[str, dict[str, float]] = {}

    def start(self, name: str, command: list[str]) -> None:
        with (self.folder / f"{name}.out").open("wb") as output:
            self.processes[name] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output)

    def text(self, name: str) -> str:
        return (self.folder / f"{name}.out").read_text("utf-8")

    def observe(self) -> None:
        groups = {name: process.pid for name, process in self.processes.items()}
        texts = {name: partial(self.text, name) for name in self.processes}
        self.counts, self.samples = observe_groups(self.folder, groups, texts)

    def end(self) -> None:
        for process in self.processes.values():
            assert process.stdin is not None
            process.stdin.close()
            process.wait(WITHIN_S)


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    folder = tmp_path_factory.mktemp("observers")
    found = Observed(folder)
    try:
        for case in GUARDED:
            own = folder / case
            own.mkdir()
            found.start(case, guarded(command(case, own)))
        for case in NAMED:
            own = folder / f"named-{case}"
            own.mkdir()
            found.start(f"named-{case}", command(case, own))
        found.observe()
        yield found
    finally:
        found.end()


@pytest.mark.parametrize("case", GUARDED)
def test_a_program_under_a_guard_is_shown_as_it_counts_itself(case: str, observed: Observed, certified: Certified):
    judge(certified, case.replace("_", " "), observed.counts[case], observed.samples, case)


@pytest.mark.parametrize("case", NAMED)
def test_a_program_named_by_its_number_is_shown_as_it_counts_itself(
    case: str, observed: Observed, certified: Certified
):
    name = f"named-{case}"
    judge(certified, f"{case.replace('_', ' ')}, named by its number", observed.counts[name], observed.samples, name)


def test_the_sum_of_resident_sets_counts_shared_pages_repeatedly(observed: Observed):
    shown = observed.samples.working[-1]["groups"]["many_sessions"]
    assert shown["resident_sets_bytes"] > 30 * observed.counts["many_sessions"]["memory"]


def test_orphans_of_a_named_program_are_not_lost_but_not_attributed(observed: Observed):
    # Some kernels include stolen time in the CPU time of processes, so stolen time is added to the host's CPU time.
    first, last = observed.samples.working[0], observed.samples.working[-1]
    keys = ("cpu_user_s_total", "cpu_system_s_total")
    counted = (*keys, "cpu_irq_s_total", "cpu_steal_s_total")
    host = sum(last["host"].get(key, 0.0) - first["host"].get(key, 0.0) for key in counted)
    groups = sum(
        last["groups"][name].get(key, 0.0) - first["groups"][name].get(key, 0.0)
        for name in last["groups"]
        for key in keys
    )
    observing = last["probe"]["cpu_s_total"] - first["probe"]["cpu_s_total"]
    assert groups + observing <= 1.05 * host
