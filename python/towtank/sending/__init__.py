"""Live sending of measurements to other programs during a run.

One thread follows the files of engine and probe (`following`), combines their lines into seconds (`gathering`), and
encodes the seconds in each format (`prometheus`, `otlp`). For each receiver, another thread sends the encoded requests
(`sender`). Sending can neither delay a run nor make it fail: queues are bounded, and lost points are counted and
reported to the user.

A new format needs a module with an `Encoder`, an entry in `live.FORMS`, and a test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.sending.live import send_live as send_live
    from towtank.sending.receiver import Receiver as Receiver
    from towtank.sending.receiver import read_receivers as read_receivers
    from towtank.sending.update import SentRun as SentRun

__getattr__, __dir__ = door(
    __name__,
    {
        "live": "send_live",
        "receiver": "Receiver read_receivers",
        "update": "SentRun",
    },
)
