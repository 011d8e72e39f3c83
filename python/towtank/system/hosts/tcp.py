"""Reads the TCP counters of a network namespace, for example of retransmitted segments."""

from __future__ import annotations

from pathlib import Path

# For each counter: table of the kernel, first word of the table's lines, and names in different kernels, newest first.
_COUNTERS = {
    "host_tcp_retransmits_total": ("snmp", "Tcp:", ("RetransSegs",)),
    "host_tcp_needless_retransmits_total": ("netstat", "TcpExt:", ("TCPDSACKRecvSegs", "TCPDSACKRecv")),
    "host_tcp_timeouts_total": ("netstat", "TcpExt:", ("TCPTimeouts",)),
    "host_tcp_probe_recoveries_total": ("netstat", "TcpExt:", ("TCPLossProbeRecovery",)),
    "host_tcp_listen_overflows_total": ("netstat", "TcpExt:", ("ListenOverflows",)),
    "host_tcp_listen_drops_total": ("netstat", "TcpExt:", ("ListenDrops",)),
}


def tcp_counters(pid: int) -> dict[str, float]:
    """Return the TCP counters of the network namespace of a process, since the namespace was created, by series name,
    without counters that the kernel lacks. [1]

    Raises
    ------
    OSError
        If the process has ended.
    """
    folder = Path(f"/proc/{pid}/net")
    tables = {name: (folder / name).read_text() for name in ("snmp", "netstat")}
    found = {}
    for key, (table, row, names) in _COUNTERS.items():
        counted = paired(tables[table], row)
        value = next((counted[name] for name in names if name in counted), None)
        if value is not None:
            found[key] = float(value)
    return found


def paired(text: str, row: str) -> dict[str, int]:
    """Parse a table of the kernel, in which a line of names precedes a line of values with the same first word.

    Examples
    --------
    >>> paired("Ip: A\\nIp: 1\\nTcp: B C\\nTcp: 2 -1\\n", "Tcp:")
    {'B': 2, 'C': -1}
    """
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith(f"{row} ")]
    return {name: int(value) for name, value in zip(*lines[:2], strict=True)} if len(lines) >= 2 else {}
