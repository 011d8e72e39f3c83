"""The environment of the processes of a system under test.

They get the variables that programs need to run, without the rest of the conductor's environment, which may hold tokens
and keys of other services.
"""

from __future__ import annotations

import re

from towtank.marking import environment

# Places of programs, libraries and files; language and time; memory and Python as the user set them up; the marks by
# which processes of a run, of a system's hosts and of a test are found. Other variables that begin with TOWTANK_ can
# be secrets: files name them for passwords.
_PASSED_ON = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|LD_LIBRARY_PATH|LD_PRELOAD|JAVA_HOME|VIRTUAL_ENV|PYTHON[A-Z0-9]+|"
    r"LANG|LANGUAGE|LC_[A-Z]+|LOCPATH|TZ|TZDIR|MALLOC_\w+|GLIBC_TUNABLES|TOWTANK_(?:RUN|HOSTS|TEST)"
)


def passed_on() -> dict[str, str]:
    """Return the part of the environment of this process that those of a system get."""
    return {name: value for name, value in environment().items() if _PASSED_ON.fullmatch(name)}
