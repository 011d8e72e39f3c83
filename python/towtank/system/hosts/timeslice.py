"""Sets the time slices of threads, on kernels that support this.

Since Linux 6.12, threads of the fair scheduling class can choose their time slice by `sched_setattr(2)`, and children
inherit it. Older kernels accept the call but ignore the time slice, which is therefore read back.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from towtank.errors import TargetError

# Numbers of the system calls `sched_setattr` and `sched_getattr`, by machine type.
_CALLS = {"x86_64": (314, 315), "aarch64": (274, 275), "riscv64": (274, 275)}
# Format of the first version of `struct sched_attr`, with the fields size, policy, flags, nice, priority, runtime,
# deadline and period.
_ATTRIBUTES = struct.Struct("=IIQiIQQQ")
# Time slice by which support is tested. [s]
_TRIED_S = 0.003
_NS = 1e9


def _call(number: int, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _attributes() -> list[int]:
    calls = _CALLS.get(platform.machine())
    if calls is None:
        raise OSError(0, f"the number of the system call on {platform.machine()} is not known")
    buffer = ctypes.create_string_buffer(_ATTRIBUTES.size)
    _call(calls[1], 0, buffer, _ATTRIBUTES.size, 0)
    return list(_ATTRIBUTES.unpack(buffer.raw[: _ATTRIBUTES.size]))


def slice_of() -> float:
    """Return the time slice of the calling thread of the fair scheduling class. [s]

    Raises
    ------
    OSError
        If the kernel does not report the time slice.
    """
    return _attributes()[5] / _NS


def _set(slice_s: float) -> None:
    """Set the time slice of the calling thread; 0 restores the kernel's default. [s]"""
    attributes = _attributes()
    attributes[0], attributes[2], attributes[5:] = _ATTRIBUTES.size, 0, [round(slice_s * _NS), 0, 0]
    _call(_CALLS[platform.machine()][0], 0, _ATTRIBUTES.pack(*attributes), 0)


@contextmanager
def timeslice(slice_s: float | None) -> Iterator[None]:
    """Set the time slice of processes that this thread starts during the block; None changes nothing. [s]

    Raises
    ------
    TargetError
        If the kernel refuses the time slice.
    """
    if slice_s is None:
        yield
        return
    try:
        _set(slice_s)
    except OSError as error:
        raise TargetError(f"the kernel refuses a time slice of {slice_s:g} s: {error.strerror}") from error
    try:
        yield
    finally:
        _set(0.0)


@cache
def lacking() -> str | None:
    """Return the reason why this machine does not support time slices of threads; None if it does."""
    try:
        with timeslice(_TRIED_S):
            seen = slice_of()
    except (OSError, TargetError) as error:
        return str(error)
    return None if abs(seen - _TRIED_S) < 1e-6 else "the kernel ignores time slices; Linux 6.12 or later is needed"
