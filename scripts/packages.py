"""`make test-packages`: install the packages that some tests need, if this machine and this user account allow it.

A missing package is not an error: the tests that need it are skipped, and the test run reports their number and the
reasons.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from towtank import study
from towtank.errors import TargetError
from towtank.system import debian, packages

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "scripts" / "packages.txt"


def listed(purpose: str) -> list[str]:
    """Return the packages that are listed for a purpose, in the order of the list."""
    lines = (line.split("#")[0].split() for line in LIST.read_text().splitlines())
    return [line[1] for line in lines if line and line[0] == purpose]


def say(text: str) -> None:
    """Print a line of progress."""
    print(text, file=sys.stderr, flush=True)


def install_packages() -> None:
    """Install missing packages if this machine runs Debian and the account is root; otherwise install nothing."""
    missing = debian.missing(listed("tests"))
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        say(f"installing for the tests: {' '.join(missing)}")
        debian.install(missing, debian.run_quietly)


def fetch_archives() -> None:
    """Fetch the archives of `examples/repository`, if Java is installed to run them."""
    needs = study.needed_packages(str(ROOT / "examples" / "repository"))
    if all(need.found() for need in needs if need.kind == "java"):
        packages.install((need for need in needs if isinstance(need, packages.Download)), debian.run_quietly, say)


def main() -> int:
    """Install the packages that this machine and this user account allow to install; return 0 in any case."""
    for step in (install_packages, fetch_archives):
        try:
            step()
        except (TargetError, OSError, subprocess.SubprocessError) as error:
            say(f"note: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
