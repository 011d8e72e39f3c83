"""Settings and fixtures of all tests."""

import os
import re
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["left_out", "left_behind", "second_try", "grouping", "certification", "results_1"]

# The Hypothesis profile `gate` always tries the same examples; the profile of `make nightly` tries new examples. No
# example has a time limit.
settings.register_profile(
    "gate", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("nightly", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("nightly" if "TOWTANK_NEW_EXAMPLES" in os.environ else "gate")

# A shell makes programs that it starts in the background ignore SIGINT, and their child processes inherit this. Tests
# that end servers with SIGINT would then wait a minute for each server, so the default handler is restored.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

WAITING_FILE = re.compile(r"^pytestmark = (?:\[\s*)?pytest\.mark\.waits\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import a test file if the mark expression (`-m`) selects none of its tests."""
    wanted = config.option.markexpr
    if wanted not in ("not waits", "smoke") or not re.fullmatch(r"test_.*\.py", collection_path.name):
        return None
    text = collection_path.read_text("utf-8")
    left_out = WAITING_FILE.search(text) if wanted == "not waits" else "mark.smoke" not in text
    return True if left_out else None
