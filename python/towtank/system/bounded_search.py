"""Searches texts for a regular expression within a limited time.

With some expressions, such as `(a+)+$`, the duration of Python's search grows exponentially with the length of the
text. Python cannot interrupt a search. The search therefore runs in a child process, which is killed at the time limit.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping

_WITHIN_S = 5.0
_SEARCH = """\
import json, re, sys
pattern, texts = json.load(sys.stdin)
search = re.compile(pattern).search
json.dump([key for key, text in texts if search(text)], sys.stdout)
"""


def matching(pattern: str, texts: Mapping[int, str], within_s: float = _WITHIN_S) -> list[int]:
    """Return the keys of the texts in which a valid regular expression is found, within a time for all texts. [s]

    Raises
    ------
    TimeoutError
        If the search takes longer than `within_s`.

    Examples
    --------
    >>> matching("^b", {1: "abc", 2: "bcd"})
    [2]
    """
    question = json.dumps([pattern, list(texts.items())])
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _SEARCH],
            input=question,
            capture_output=True,
            text=True,
            timeout=within_s,
            check=True,
        )
    except subprocess.TimeoutExpired:
        message = f"the search for {pattern!r} takes longer than {within_s:g} s; avoid nested repetition in the pattern"
        raise TimeoutError(message) from None
    found: list[int] = json.loads(done.stdout)
    return found
