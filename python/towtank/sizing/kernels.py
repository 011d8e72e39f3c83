"""Lists the benchmark kernels of `towtank rate`, with their unit, their group (`area`) and the resource that they
measure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Resource = Literal["cpu", "disk"]


@dataclass(frozen=True)
class Kernel:
    """Benchmark kernel: a small program whose rate measures a resource, in units of work per second. The resource is
    `cpu` for processors with caches, memory and the work of the operating system, or `disk` for the storage device. All
    kernels of an area together count as one kernel in a rating.
    """

    name: str
    area: str
    resource: Resource
    unit: str
    summary: str


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("order_entry_memory", "order_entry", "cpu", "transactions", "order-entry mix on a database in memory"),
        Kernel(
            "web_serving", "web_serving", "cpu", "requests", "responses of 1 KiB per second of CPU time, times CPUs"
        ),
        Kernel("tls_handshake", "tls_handshake", "cpu", "handshakes", "TLS 1.3 full handshakes, client and server"),
        Kernel("aes_256_gcm_1k", "ciphers", "cpu", "bytes", "AES-256-GCM encryption in blocks of 1 KiB"),
        Kernel("aes_256_gcm_16k", "ciphers", "cpu", "bytes", "AES-256-GCM encryption in blocks of 16 KiB"),
        Kernel("chacha20_poly1305_1k", "ciphers", "cpu", "bytes", "ChaCha20-Poly1305 encryption in blocks of 1 KiB"),
        Kernel("chacha20_poly1305_16k", "ciphers", "cpu", "bytes", "ChaCha20-Poly1305 encryption in blocks of 16 KiB"),
        Kernel("sha_256_1k", "ciphers", "cpu", "bytes", "SHA-256 of 1 KiB"),
        Kernel("sha_256_16k", "ciphers", "cpu", "bytes", "SHA-256 of 16 KiB"),
        Kernel("file_cycle", "files", "cpu", "files", "create, write, read, rename, delete 16 KiB in the page cache"),
        Kernel("loopback_1b", "network", "cpu", "exchanges", "request and response of 1 byte over loopback TCP"),
        Kernel("loopback_8k", "network", "cpu", "exchanges", "request of 1 byte, response of 8 KiB over loopback TCP"),
        Kernel("memory_triad", "memory", "cpu", "bytes", "a = b + s c on arrays larger than the caches"),
        Kernel("memory_chase", "memory", "cpu", "loads", "dependent reads of memory larger than the caches"),
        Kernel(
            "order_entry_disk", "order_entry_disk", "disk", "transactions", "order-entry mix with a log that is synced"
        ),
        Kernel("file_sync", "files_synced", "disk", "files", "create, write, fsync, rename, delete 16 KiB"),
        Kernel("disk_write", "disk_sequential", "disk", "bytes", "sequential writes of 1 MiB without page cache"),
        Kernel("disk_read", "disk_sequential", "disk", "bytes", "sequential reads of 1 MiB without page cache"),
        Kernel("disk_write_4k", "disk_random", "disk", "operations", "random writes of 4 KiB without page cache"),
        Kernel("disk_read_4k", "disk_random", "disk", "operations", "random reads of 4 KiB without page cache"),
    )
}

# Name of the rating scale of each resource that kernels measure.
SCALES: dict[Resource, str] = {"cpu": "towtank", "disk": "towtank-disk"}


def chosen(name: str) -> list[Kernel]:
    """Return the kernels that a name selects; an empty list if the name is unknown. The name is that of a kernel, an
    area (group of kernels), a resource or a Towtank scale.
    """
    return [
        kernel
        for kernel in KERNELS.values()
        if name in (kernel.name, kernel.area, kernel.resource, SCALES[kernel.resource])
    ]


def names() -> list[str]:
    """Return every name that `chosen` accepts: scales and resources first, then areas and kernels."""
    wide = [*SCALES.values(), *SCALES]
    return list(dict.fromkeys([*wide, *(kernel.area for kernel in KERNELS.values()), *KERNELS]))
