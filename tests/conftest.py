"""Settings and fixtures of every test."""

import os

from hypothesis import HealthCheck, settings

pytest_plugins = ["left_out", "left_behind", "grouping", "certification"]

# Machines differ in speed: no example is refused for the time that it took. In CI Hypothesis has a profile of its own.
settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
if "CI" not in os.environ:
    settings.load_profile("any speed")
