"""Settings and fixtures of every test."""

import os
import signal

from hypothesis import HealthCheck, settings

pytest_plugins = ["left_out", "left_behind", "grouping", "certification", "results_1"]

# Machines differ in speed: no example is refused for the time that it took. In CI Hypothesis has a profile of its own.
settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
if "CI" not in os.environ:
    settings.load_profile("any speed")

# Programs that a shell starts in the background ignore interruption, and so do the servers that they start: tests that
# end servers by it would wait for a minute each.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
