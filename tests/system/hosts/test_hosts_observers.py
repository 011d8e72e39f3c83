"""Metrics of hosts of every provider, compared with programs that count their own work."""

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
from certified_observers import CASES, PROGRAM, Samples, await_counts, command, judge, observe_groups
from host_support import until

from towtank.observe import Observation
from towtank.results import observe
from towtank.results.folder import RunFolder
from towtank.system.hosts.cgroups import ControlGroup, find_trees
from towtank.system.hosts.host import Host
from towtank.system.process import ProcessSpec

pytestmark = pytest.mark.waits

# Shell script that joins the control groups given before `--`, then executes the command after `--`.
JOIN = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"'


@pytest.fixture
def control_group() -> Iterator[ControlGroup]:
    """A control group like that of a systemd unit or a container."""
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
            until(lambda: any(case in sample.get("groups", {}) for sample in observe.read_probe(run.observe).samples))
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
    samples = observe.read_probe(run.observe).samples
    judge(certified, name, counts, Samples(samples, samples), case)


@pytest.mark.certify
@pytest.mark.parametrize("host", ["namespaces by veth", "ssh"], indirect=True)
def test_programs_are_shown_as_they_count_themselves(host: Host, tmp_path: Path, certified: Certified):
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
        groups = {process.spec.name: process.pid for process in processes.values() if process.pid is not None}
        texts = {case: process.log.read_text for case, process in processes.items()}
        counts, samples = observe_groups(tmp_path, groups, texts, probes=host.watching().probes)
    finally:
        for process in processes.values():
            process.stop()
    for case, process in processes.items():
        name = f"{case.replace('_', ' ')}, host of provider {host.provider}"
        judge(certified, name, counts[case], samples, process.spec.name)
