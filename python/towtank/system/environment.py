"""Selects the environment variables that the processes of a system under test receive.

They receive the variables that programs need to run. All other variables of Towtank's environment are withheld, because
they may contain tokens and keys of other services.
"""

from __future__ import annotations

import re

from towtank.marking import environment

# Environment variables that are passed on: search paths of programs, libraries and files; language and time zone;
# settings of memory allocation and Python; variables that mark the processes of a run, of a system's hosts or of a
# test. Other variables that begin with TOWTANK_ may contain secrets, because system files can take passwords from them.
_PASSED_ON = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|LD_LIBRARY_PATH|LD_PRELOAD|JAVA_HOME|VIRTUAL_ENV|PYTHON[A-Z0-9]+|"
    r"LANG|LANGUAGE|LC_[A-Z]+|LOCPATH|TZ|TZDIR|MALLOC_\w+|GLIBC_TUNABLES|TOWTANK_(?:RUN|HOSTS|TEST)"
)


def passed_on() -> dict[str, str]:
    """Return the environment variables of this process that the processes of a system under test receive."""
    return {name: value for name, value in environment().items() if _PASSED_ON.fullmatch(name)}
