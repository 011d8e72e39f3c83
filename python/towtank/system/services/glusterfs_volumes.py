"""Writes volume files of GlusterFS, which list the translators (modules) of a server or a mount."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from towtank.system.storage_models import GlusterfsMountSettings, GlusterfsServerSettings

PARTS = 2
"""Number of folders that each server exports. [1]

The first folder contains the files of the server itself, the second folder copies of files of another server.
"""
ASKED = "asked"
"""Name of the topmost translator (module) of a mount, which counts the calls by programs."""
_COUNTED = {"latency-measurement": True, "count-fop-hits": True}
CACHE = "cache"
ATTRIBUTES = "attributes"
_USER = "towtank"


def volume(name: str, kind: str, options: Mapping[str, object], below: Sequence[str] = ()) -> str:
    """Return the text of one translator in a volume file.

    Examples
    --------
    >>> print(volume("posix", "storage/posix", {"directory": "/data"}), end="")
    volume posix
      type storage/posix
      option directory /data
    end-volume
    """
    lines = [f"volume {name}", f"  type {kind}"]
    lines += [f"  option {key} {_plain(value)}" for key, value in options.items()]
    lines += [f"  subvolumes {' '.join(below)}"] if below else []
    return "\n".join([*lines, "end-volume"]) + "\n"


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def folder_name(part: int) -> str:
    """Return the name of the exported folder with a given number."""
    return f"part-{part}"


def server_text(settings: GlusterfsServerSettings, folder: str, address: str, port: int, secret: str) -> str:
    """Return the volume file of a server: translators for folders, locks, an optional cache, threads, and the
    network.
    """
    texts, tops = [], []
    for part in range(PARTS):
        name = folder_name(part)
        direct = {"o-direct": True} if settings.direct else {}
        texts.append(volume(f"posix-{part}", "storage/posix", {"directory": f"{folder}/{name}", **direct}))
        texts.append(volume(f"locks-{part}", "features/locks", {}, [f"posix-{part}"]))
        below = f"locks-{part}"
        if settings.cache:
            options = {"cache-size": _size(settings.cache), "cache-timeout": 60}
            texts.append(volume(f"cache-{part}", "performance/io-cache", options, [below]))
            below = f"cache-{part}"
        texts.append(volume(name, "performance/io-threads", {"thread-count": settings.threads}, [below]))
        tops.append(name)
    options = {
        "transport-type": "tcp",
        "transport.socket.bind-address": address,
        "transport.socket.listen-port": port,
        "inode-lru-limit": settings.inode_limit,
        # Clients may have any address, because they must log in.
        **{f"auth.login.{name}.allow": _USER for name in tops},
        f"auth.login.{_USER}.password": secret,
    }
    texts.append(volume("server", "protocol/server", options, tops))
    return "\n".join(texts)


def mount_text(settings: GlusterfsMountSettings, servers: Mapping[str, tuple[str, int, str]]) -> str:
    """Return the volume file (configuration) of a mount.

    Each server has an address, a port and a secret. The order of the servers determines where copies are.
    """
    texts = []
    for name, where in servers.items():
        for part in range(settings.copies):
            # A translator of its own counts the requests to each server, because reading the counters of
            # `protocol/client` resets them.
            remote = f"remote-{name}-{part}"
            texts.append(volume(remote, "protocol/client", _remote(settings, *where, part)))
            texts.append(volume(_client(name, part), "debug/io-stats", _COUNTED, [remote]))
    sets = [_client(name, 0) for name in servers]
    if settings.copies > 1:
        sets = _copies(settings, list(servers), texts)
    texts.append(volume("spread", "cluster/distribute", {}, sets))
    below = "spread"
    for name, kind, options in _caches(settings):
        texts.append(volume(name, kind, options, [below]))
        below = name
    texts.append(volume(ASKED, "debug/io-stats", _COUNTED, [below]))
    return "\n".join(texts)


def _remote(settings: GlusterfsMountSettings, address: str, port: int, secret: str, part: int) -> dict[str, object]:
    return {
        "transport-type": "tcp",
        "remote-host": address,
        "remote-port": port,
        "remote-subvolume": folder_name(part),
        "username": _USER,
        "password": secret,
        "ping-timeout": round(settings.ping_timeout),
    }


def _copies(settings: GlusterfsMountSettings, names: list[str], texts: list[str]) -> list[str]:
    """Add a translator for each server that stores files on it and on the next server; return the translators' names.

    Copies of the files in the first folder of a server are in the second folder of the next server.
    """
    sets = []
    for number, name in enumerate(names):
        pair = [_client(name, 0), _client(names[(number + 1) % len(names)], 1)]
        # The last server's pair ends with the first server. With `reads: same`, its files are read from the first
        # server.
        first = pair[1] if settings.reads == "same" and number == len(names) - 1 else pair[0]
        options = {
            "read-subvolume": first,
            "afr-pending-xattr": ",".join(pair),
            "self-heal-daemon": False,
            "choose-local": False,
        }
        texts.append(volume(f"copies-{number}", "cluster/replicate", options, pair))
        sets.append(f"copies-{number}")
    return sets


def _caches(settings: GlusterfsMountSettings) -> list[tuple[str, str, dict[str, object]]]:
    found: list[tuple[str, str, dict[str, object]]] = []
    if settings.write_behind:
        # Without `flush-behind`, closing a file waits for all its writes. Other hosts can then read the whole file, and
        # the writer receives an error if the disk is full.
        behind = {"cache-size": f"{settings.write_behind}", "flush-behind": False}
        found.append(("behind", "performance/write-behind", behind))
    if settings.cache:
        options = {"cache-size": _size(settings.cache), "cache-timeout": round(settings.cache_timeout)}
        found.append((CACHE, "performance/io-cache", options))
    if settings.attributes_timeout:
        found.append((ATTRIBUTES, "performance/md-cache", {"md-cache-timeout": round(settings.attributes_timeout)}))
    return found


def _client(server: str, part: int) -> str:
    return f"{server}-{part}"


def _size(size: int) -> str:
    """Return a size as text without a unit, because `io-cache` expects bytes. [byte]"""
    return f"{size}"


def clients(settings: GlusterfsMountSettings, servers: Sequence[str]) -> list[str]:
    """Return the names of a mount's translators that count the requests to each server."""
    return [_client(name, part) for name in servers for part in range(settings.copies)]
