"""Create the virtual environment with `venv`, or with `virtualenv` if Debian's package for `venv` is missing."""

import subprocess
import sys

HINT = """\
error: this Python cannot create a virtual environment that contains pip.

hint: on Debian, `apt-get install python3-venv`, then run the same command again.
"""


def main() -> int:
    """Create the environment named on the command line; return 0, or 1 with a hint."""
    if sys.version_info < (3, 11):  # noqa: UP036 - the hint must reach people on an older Python
        sys.stderr.write(f"error: Python 3.11 or newer is needed, got {sys.version.split()[0]} instead.\n")
        return 1
    target = sys.argv[1]
    for command in (["-m", "venv"], ["-m", "virtualenv"]):
        if subprocess.run([sys.executable, *command, target], check=False, stderr=subprocess.DEVNULL).returncode == 0:
            return 0
    sys.stderr.write(HINT)
    return 1


if __name__ == "__main__":
    sys.exit(main())
