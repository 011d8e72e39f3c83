"""What tests of hosts share: hosts from keys of a system file, and skipping where the machine cannot."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from towtank.system.host_model import NamespacesHost, Network
from towtank.system.hosts.host import Host
from towtank.system.hosts.site import Site
from towtank.system.hosts.virtual import VirtualHost


def virtual_host(edge: dict[str, Any] | None = None, **keys: Any) -> VirtualHost:
    """A host of provider namespaces, alone on its site, not made yet; `edge` are keys of the generator's link."""
    part = NamespacesHost.model_validate({"provider": "namespaces", **keys})
    network = Network.model_validate(edge or {})
    return VirtualHost("web", part, Site(["web"], network, part.network.mtu), network)


def requires(host: Host) -> None:
    """Skip with the reasons where this machine cannot make a host."""
    if lines := host.lacks():
        pytest.skip("; ".join(lines))


def until(true: Callable[[], Any], within_s: float = 30.0) -> Any:
    """Wait for something to become true, and return it."""
    deadline = time.monotonic() + within_s
    while not (value := true()):
        assert time.monotonic() < deadline, f"did not come true within {within_s} s"
        time.sleep(0.02)
    return value
