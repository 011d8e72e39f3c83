"""Lists the machines that were observed during a run: this machine, and other machines with a probe."""

from __future__ import annotations

from towtank.analysis import DiskUse, HostUse, MachineUse, RunSummary


def machines(summary: RunSummary) -> dict[str, MachineUse | HostUse]:
    """Return the values of each machine from a run summary. The keys have the form ` on NAME`, and are appended to
    labels. The key of this machine is empty.

    Hosts that are network namespaces on this machine are omitted, because the values of this machine include them.
    """
    probed = {name: host for name, host in summary.hosts.items() if (host.networks, host.steal) != (None, None)}
    return {"": summary.host, **{f" on {name}": host for name, host in probed.items()}}


def disks(summary: RunSummary) -> dict[str, DiskUse]:
    """Return the values of each disk from a run summary. A key is the name of the disk, followed by the key of its
    machine (see `machines`).
    """
    return {f"{disk}{on}": row for on, machine in machines(summary).items() for disk, row in machine.disks.items()}
