"""Install the packages that some tests need, if the machine and the user account allow it (`make test-packages`).

A missing package is not an error. Tests that need the package are skipped, and pytest reports the skipped tests with
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
    print(text, file=sys.stderr, flush=True)


def install_packages() -> None:
    """Install missing packages if this machine runs Debian and the account is root; otherwise install nothing."""
    missing = debian.missing(listed("tests"))
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        say(f"installing for the tests: {' '.join(missing)}")
        debian.install(missing, debian.run_quietly)


def fetch_archives() -> None:
    """Download the archives that `examples/repository` needs, unless Java, which runs the archives, is missing."""
    needs = study.needed_packages(str(ROOT / "examples" / "repository"))
    if all(need.found() for need in needs if need.kind == "java"):
        packages.install((need for need in needs if isinstance(need, packages.Download)), debian.run_quietly, say)


def main() -> int:
    """Install what can be installed; return 0 even if an installation failed."""
    for step in (install_packages, fetch_archives):
        try:
            step()
        except (TargetError, OSError, subprocess.SubprocessError) as error:
            say(f"note: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
