"""While the conductor is pinned to the CPUs of the load generator, hosts can still be pinned to other CPUs."""

import os

import pytest

from towtank.conduct.pinning import Pinning, on_generator
from towtank.own_cpus import usable_cpus
from towtank.system.host_model import NamespacesHost
from towtank.system.hosts.needs import absent_cpus


@pytest.fixture
def affinity(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """CPU sets to which the process was pinned, in order of time. The fixture simulates a process on CPUs 0 to 3."""
    had = [{0, 1, 2, 3}]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(had[-1]))
    monkeypatch.setattr(os, "sched_setaffinity", lambda _pid, cpus: had.append(set(cpus)))
    return had


def test_a_host_may_have_cpus_of_the_system_while_the_conductor_is_pinned(affinity: list[set[int]]) -> None:
    host = NamespacesHost.model_validate({"provider": "namespaces", "pinned": [0, 3, 4]})
    assert absent_cpus(host) == [4]
    with on_generator(Pinning((0, 1, 2), (3,))):
        assert affinity[-1] == {3}
        assert absent_cpus(host) == [4]
        assert usable_cpus() == {0, 1, 2, 3}
    assert affinity[-1] == {0, 1, 2, 3}


def test_without_pinning_the_affinity_stays(affinity: list[set[int]]) -> None:
    with on_generator(Pinning(note="off")):
        assert affinity[-1] == {0, 1, 2, 3}
        assert usable_cpus() == {0, 1, 2, 3}


def test_the_affinity_is_restored_after_a_fault(affinity: list[set[int]]) -> None:
    with pytest.raises(RuntimeError), on_generator(Pinning((0,), (1,))):
        raise RuntimeError
    assert affinity[-1] == {0, 1, 2, 3}
    affinity.append({2})
    assert usable_cpus() == {2}
