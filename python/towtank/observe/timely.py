"""Reading from a connection until a deadline, since the timeout of a socket applies to each read only."""

from __future__ import annotations

import io
import socket
import time
from typing import Any


class TimelyStream(io.RawIOBase):
    """Reads from a socket until a deadline.

    Parameters
    ----------
    connection : socket
        The socket, which its opener closes.
    deadline : float
        Until when, on the monotonic clock; it may be moved. [s]
    """

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection, self._pieces = connection, connection.makefile("rb", buffering=0)
        self.deadline = deadline

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read the available bytes, or wait for some.

        Raises
        ------
        TimeoutError
            If the time is over.
        """
        left_s = self.deadline - time.monotonic()
        try:
            if left_s <= 0:
                raise TimeoutError
            self._connection.settimeout(left_s)
            return self._pieces.readinto(buffer)
        except TimeoutError:
            raise TimeoutError("timed out: not whole within its time") from None

    def close(self) -> None:
        """Release the connection."""
        self._pieces.close()
        super().close()
