"""Helpers for tests of hosts, which build hosts from keys of a system file."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from towtank.system.host_model import NamespacesHost, Network
from towtank.system.hosts.host import Host
from towtank.system.hosts.site import Site
from towtank.system.hosts.virtual import VirtualHost


def virtual_host(edge: dict[str, Any] | None = None, **keys: Any) -> VirtualHost:
    """Return a host of provider `namespaces`, the only host of its network. The host is not created yet.

    `edge` contains the keys of the load generator's network link.
    """
    part = NamespacesHost.model_validate({"provider": "namespaces", **keys})
    network = Network.model_validate(edge or {})
    return VirtualHost("web", part, Site(["web"], network, part.network.mtu), network)


def virtual_hosts(link: str, count: int = 2, **keys: Any) -> list[VirtualHost]:
    """Return the first `count` of the hosts `web`, `far` and `third`, connected by a network link. They are not created
    yet.
    """
    part = NamespacesHost.model_validate({"provider": "namespaces", **keys})
    network = Network.model_validate({"link": link})
    site = Site(["web", "far", "third"][:count], network, part.network.mtu)
    return [VirtualHost(name, part, site, network) for name in site.names]


def requires(host: Host) -> None:
    """Skip the test, with the reasons, if the machine cannot create a host."""
    if lines := host.lacks():
        pytest.skip("; ".join(lines))


def until(true: Callable[[], Any], within_s: float = 30.0) -> Any:
    """Call a function until it returns a true value; return this value."""
    deadline = time.monotonic() + within_s
    while not (value := true()):
        assert time.monotonic() < deadline, f"condition not met within {within_s} s"
        time.sleep(0.02)
    return value


@dataclass
class SshServer:
    """SSH server (asyncssh) in a thread. It runs commands as `sshd` does.

    Attributes
    ----------
    keys : dict
        Keys of a host in a system file, with which Towtank connects to the server.
    commands : list of str
        Command lines that the server received.
    """

    keys: dict[str, Any] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    drop: Callable[[], None] = lambda: None


@contextmanager
def ssh_server(folder: Path) -> Iterator[SshServer]:
    """Run an SSH server on the loopback interface that accepts a newly generated key and the password `opens`."""
    asyncssh = pytest.importorskip("asyncssh", reason="needs asyncssh")
    made = SshServer()
    connections: list[Any] = []
    # Commands get the present environment variables. As on a remote machine, they do not see variables that a test sets
    # later.
    environment = dict(os.environ)
    host_key, user_key = asyncssh.generate_private_key("ssh-ed25519"), asyncssh.generate_private_key("ssh-ed25519")
    user_key.write_private_key(str(folder / "key"))
    user_key.write_public_key(str(folder / "authorized"))

    class Server(asyncssh.SSHServer):  # type: ignore[misc, name-defined]
        def connection_made(self, conn: Any) -> None:
            connections.append(conn)

        def password_auth_supported(self) -> bool:
            return True

        def validate_password(self, username: str, password: str) -> bool:
            return password == "opens"

    async def handle(process: Any) -> None:
        made.commands.append(process.command)
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_shell(
            process.command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment
        )
        await process.redirect(stdin=child.stdin, stdout=child.stdout, stderr=child.stderr)
        status = await child.wait()
        with suppress(OSError):
            process.exit(status)
        await process.wait_closed()

    async def start() -> Any:
        return await asyncssh.create_server(
            Server,
            "127.0.0.1",
            0,
            server_host_keys=[host_key],
            authorized_client_keys=str(folder / "authorized"),
            process_factory=handle,
            sftp_factory=True,
            encoding=None,
        )

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="ssh-server")
    thread.start()
    server = asyncio.run_coroutine_threadsafe(start(), loop).result(20)
    port = server.sockets[0].getsockname()[1]
    public = host_key.export_public_key().decode().strip()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}\n")
    made.keys = {
        "address": "127.0.0.1",
        "port": port,
        "user": "tester",
        "key": str(folder / "key"),
        "known_hosts": str(folder / "known_hosts"),
        "folder": str(folder),
    }
    made.drop = lambda: [loop.call_soon_threadsafe(connection.abort) for connection in connections] and None
    try:
        yield made
    finally:
        asyncio.run_coroutine_threadsafe(_close(server), loop).result(40)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _close(server: Any) -> None:
    server.close()
    await server.wait_closed()
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    if rest:
        _, late = await asyncio.wait(rest, timeout=15.0)
        for task in late:
            task.cancel()
