"""Selects the environment variables that the processes of a system under test receive.

They receive variables that programs commonly need. All other variables of Towtank's environment are withheld, because
they may contain tokens and keys of other services.
"""

from __future__ import annotations

import re

from towtank.marking import environment

# Names of variables that are passed on: paths, language, time zone, memory allocation, Python, and marks by which
# Towtank recognises processes of a run, of hosts or of a test. Other variables that begin with TOWTANK_ may contain
# secrets, because system files can take passwords from them.
_PASSED_ON = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|LD_LIBRARY_PATH|LD_PRELOAD|JAVA_HOME|VIRTUAL_ENV|PYTHON[A-Z0-9]+|"
    r"LANG|LANGUAGE|LC_[A-Z]+|LOCPATH|TZ|TZDIR|MALLOC_\w+|GLIBC_TUNABLES|TOWTANK_(?:RUN|HOSTS|TEST)"
)


def passed_on() -> dict[str, str]:
    """Return the environment variables of this process that are passed on to the processes of a system."""
    return {name: value for name, value in environment().items() if _PASSED_ON.fullmatch(name)}
