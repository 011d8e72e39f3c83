"""What observers show of programs that detach on hosts of every provider, as `tests/certified` does on this machine."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from certification import Certified
from certified_observers import PROGRAM, await_counts, command, judge

from towtank.observe import Observation
from towtank.results import observe
from towtank.results.folder import RunFolder
from towtank.system.hosts.cgroups import ControlGroup, find_trees
from towtank.system.hosts.host import Host
from towtank.system.process import ProcessSpec

CASES = ("duty_cycle", "grandchildren", "detached", "detached_program", "shared_memory")


# Goes into control groups, then becomes the command behind `--`.
JOIN = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"'


@pytest.fixture
def control_group() -> Iterator[ControlGroup]:
    """A control group of its own, as a unit of systemd or a container has it."""
    if os.geteuid() != 0 or find_trees().version is None:
        pytest.skip("needs root and control groups")
    group = ControlGroup(find_trees(), f"towtank-test-{secrets.token_hex(3)}/unit")
    group.create()
    try:
        yield group
    finally:
        group.kill()
        group.remove()


@pytest.mark.certify
@pytest.mark.slow
@pytest.mark.parametrize("case", ["grandchildren", "detached_program"])
def test_orphans_of_a_named_process_count_in_its_own_control_group(
    case: str, control_group: ControlGroup, tmp_path: Path, certified: Certified
):
    join = ["sh", "-c", JOIN, "sh", *map(str, control_group.members_files()), "--"]
    output = tmp_path / "output"
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [*join, *command(case, tmp_path), "later"], stdin=subprocess.PIPE, stdout=stream, start_new_session=True
        )
    try:
        run = RunFolder.create(tmp_path / "r001", {"run": "r001"})
        with Observation(run, {case: process.pid}, interval_s=0.2) as observation:
            time.sleep(1.0)
            (tmp_path / "go").touch()
            counts = await_counts(output.read_text)
            time.sleep(0.5)
        assert observation.failures() == []
    finally:
        control_group.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()
    name = f"{case.replace('_', ' ')}, named by its number, in a control group of its own"
    judge(certified, name, counts, observe.read_probe(run.observe).samples, case)


@pytest.mark.certify
@pytest.mark.slow
@pytest.mark.parametrize("host", ["namespaces by veth", "ssh"], indirect=True)
def test_programs_that_detach_are_shown_as_they_count_themselves(host: Host, tmp_path: Path, certified: Certified):
    tmp_path.chmod(0o755)
    shutil.copy(PROGRAM, tmp_path)
    processes = {}
    for case in CASES:
        folder = tmp_path / case
        folder.mkdir()
        folder.chmod(0o777)
        spec = ProcessSpec(case.replace("_", "-"), command(case, folder))
        processes[case] = host.process(spec, tmp_path / f"{case}.log")
    try:
        for process in processes.values():
            process.start()
        run = RunFolder.create(tmp_path / "r001", {"run": "r001"})
        groups = {process.spec.name: process.pid for process in processes.values() if process.pid is not None}
        with Observation(run, groups, interval_s=0.5, probes=host.watching().probes) as observation:
            counts = {case: await_counts(process.log.read_text) for case, process in processes.items()}
            time.sleep(4.0)
        assert observation.failures() == []
    finally:
        for process in processes.values():
            process.stop()
    remote = observe.read_remote_probes(run.observe)
    stream = next(iter(remote.values())) if remote else observe.read_probe(run.observe)
    for case, process in processes.items():
        name = f"{case.replace('_', ' ')}, host of provider {host.provider}"
        judge(certified, name, counts[case], stream.samples, process.spec.name)
