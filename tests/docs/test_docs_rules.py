"""The figure on the page about interactive capacity equals the drawing that `scripts/figures` creates from Towtank's
sizing rules.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.waits

ROOT = Path(__file__).parents[2]


def test_the_figure_is_as_the_rules_say():
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "figures"), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
