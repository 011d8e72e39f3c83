"""Hosts to test: one of each provider, made with the same sizes where it has any, and gone afterwards."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from host_support import requires, virtual_host

from towtank.system.hosts.host import Host, Room
from towtank.system.hosts.local import LocalHost
from towtank.system.hosts.virtual import VirtualHost


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path, (tmp_path,))


@pytest.fixture
def virtual(room: Room) -> Iterator[Callable[..., VirtualHost]]:
    """Makes hosts of provider namespaces with keys of a system file; `prepared=False` leaves them down."""
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


@pytest.fixture(params=["local", "namespaces"])
def host(request: pytest.FixtureRequest, room: Room) -> Iterator[Host]:
    """A host that starts services, prepared."""
    made: Host = LocalHost() if request.param == "local" else virtual_host()
    requires(made)
    try:
        made.prepare(room)
        yield made
    finally:
        made.tear_down()
