"""Reads from a socket until a deadline; the timeout of the socket itself applies to each read separately."""

from __future__ import annotations

import io
import socket
import time
from typing import Any


class TimelyStream(io.RawIOBase):
    """Stream that reads from a socket until a deadline on the monotonic clock [s], which callers may change between
    reads. The caller closes the socket.
    """

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection, self._pieces = connection, connection.makefile("rb", buffering=0)
        self.deadline = deadline

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read the bytes that are available on the socket; if there are none, wait until some arrive.

        Raises
        ------
        TimeoutError
            If the deadline has passed.
        """
        left_s = self.deadline - time.monotonic()
        try:
            if left_s <= 0:
                raise TimeoutError
            self._connection.settimeout(left_s)
            return self._pieces.readinto(buffer)
        except TimeoutError:
            raise TimeoutError("timed out before the complete response arrived") from None

    def close(self) -> None:
        """Release the socket without closing it; the caller closes it."""
        self._pieces.close()
        super().close()
