"""The first Ctrl-C requests an orderly stop of the study; the second Ctrl-C ends the program immediately."""

import os
import signal
import subprocess
import sys

import pytest

from towtank.conduct.stopping import StopRequest
from towtank.errors import Stopped

pytestmark = pytest.mark.waits


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_is_a_wish(number: int) -> None:
    before = signal.getsignal(number)
    with StopRequest() as stop:
        stop.check()
        os.kill(os.getpid(), number)
        assert stop.requested
        with pytest.raises(Stopped):
            stop.check()
    assert signal.getsignal(number) is before


def test_second_signal_leaves_at_once_with_status_5() -> None:
    code = """
import os, signal
from towtank.conduct.stopping import StopRequest
with StopRequest() as stop:
    stop.on_second = lambda: os.write(1, b"second")
    os.kill(os.getpid(), signal.SIGINT)
    os.write(1, b"first ")
    os.kill(os.getpid(), signal.SIGINT)
    os.write(1, b"never")
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 5
    assert ended.stdout == "first second"
    assert "a second Ctrl-C or signal exits immediately" in ended.stderr


def test_without_signals_the_wish_is_made_by_a_call() -> None:
    before = signal.getsignal(signal.SIGINT)
    stop, hastened = StopRequest(), []
    stop.on_second = lambda: hastened.append(stop.count)
    stop.check()
    stop.ask()
    assert stop.requested
    assert hastened == []
    stop.ask()
    assert hastened == [2]
    assert signal.getsignal(signal.SIGINT) is before
