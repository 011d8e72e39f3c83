"""Fixtures that create hosts of each provider and remove them after the test."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from host_support import SshServer, requires, ssh_server, virtual_host, virtual_hosts

from towtank.system.host_model import SshHost
from towtank.system.hosts.host import Host, HostSettings
from towtank.system.hosts.local import LocalHost
from towtank.system.hosts.remote import RemoteHost
from towtank.system.hosts.virtual import VirtualHost
from towtank.system.system import program_folders


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))


@pytest.fixture
def room(tmp_path: Path) -> HostSettings:
    # Folders below the machine's /tmp are hidden on a host, because each host has its own /tmp. The folders in the
    # second argument are made visible on the host.
    return HostSettings(tmp_path, (tmp_path, *program_folders()))


@pytest.fixture
def virtual(room: HostSettings) -> Iterator[Callable[..., VirtualHost]]:
    """A function that creates hosts of provider `namespaces` from keys of a system file.

    With `prepared=False`, the function does not prepare the host.
    """
    made: list[VirtualHost] = []

    def make(prepared: bool = True, **keys: Any) -> VirtualHost:
        host = virtual_host(**keys)
        requires(host)
        made.append(host)
        if prepared:
            host.prepare(room)
        return host

    yield make
    for host in reversed(made):
        host.tear_down()


@pytest.fixture
def ssh() -> Iterator[SshServer]:
    """An SSH server for hosts of provider `ssh`, with a folder that every operating-system user may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        with ssh_server(Path(folder)) as server:
            yield server


LINKS = ("bridge", "veth", "macvlan", "tun")


@pytest.fixture(params=["local", *(f"namespaces by {link}" for link in LINKS), "ssh"])
def host(request: pytest.FixtureRequest, room: HostSettings) -> Iterator[Host]:
    """A prepared host of each provider. Hosts of provider `namespaces` exist in a network of several prepared hosts."""
    made: list[Host] = [LocalHost()]
    provider, _, link = request.param.partition(" by ")
    if provider == "namespaces":
        made = [*virtual_hosts(link)]
    elif provider == "ssh":
        server = request.getfixturevalue("ssh")
        keys = {**server.keys, "provider": "ssh", "python": sys.executable}
        made = [RemoteHost("web", SshHost.model_validate(keys), Path())]
    requires(made[0])
    try:
        for each in made:
            each.prepare(room)
        yield made[0]
    finally:
        for each in reversed(made):
            each.tear_down()
