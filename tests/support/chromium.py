"""Loads pages in Chromium without network access."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")
DARK = "--blink-settings=preferredColorScheme=0"


def run(page: Path, profile: Path, *options: str) -> tuple[str, str]:
    """Load a page in Chromium. Return Chromium's output and log."""
    command = [
        str(CHROMIUM),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--enable-logging=stderr",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--proxy-server=127.0.0.1:9",
        f"--user-data-dir={profile}",
        "--virtual-time-budget=20000",
        *options,
        page.as_uri(),
    ]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=True)
    return ended.stdout, ended.stderr


def dump(page: Path, profile: Path, *options: str) -> tuple[str, str]:
    """Load a page in Chromium. Return the HTML after the page's scripts have run, and Chromium's log."""
    return run(page, profile, "--dump-dom", *options)
