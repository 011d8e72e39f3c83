"""Sends the measurements of a run, while it lasts, to receivers such as Prometheus.

One thread reads new lines from the files of the engine and the probe (`following`), combines the lines of each second
(`gathering`), and encodes them (`prometheus`, `otlp`). For each receiver, another thread sends the encoded requests
(`sender`). Sending neither delays a run nor makes it fail: queues are bounded, and lost data points are counted and
reported to the user.

A new format needs a module with an `Encoder`, an entry in `live.FORMS`, and a test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.sending.live import send_live
    from towtank.sending.receiver import Receiver, read_receivers
    from towtank.sending.update import SentRun

__getattr__, __dir__ = door(__name__)
