"""Arguments of `towtank compare`: the two sides and the threshold."""

from __future__ import annotations

from collections.abc import Sequence

from towtank import units
from towtank.errors import StudyError

_WHERE = "<command line>"
_PATTERN = "--a"


def sides_of_command(
    results: Sequence[str], a: Sequence[str], b: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of both sides. After `--a` and `--b`, further files belong to the last of them.

    Raises
    ------
    StudyError
        If there are not two sides.
    """
    if not a and not b:
        if len(results) == 2:
            return (results[0],), (results[1],)
        message = f"must be two results, A and B, or --a FILE... --b FILE..., got {len(results)} instead"
        raise StudyError.at(_WHERE, message)
    if results or not (a and b):
        missing = "--b" if a else _PATTERN
        message = f"must be given with {missing}" if not (a and b) else "must not be given beside A and B"
        raise StudyError.at(_WHERE, message, where="--a" if a else "--b")
    return tuple(a), tuple(b)


def threshold_of(text: str) -> float:
    """Return the threshold as a share, such as `2 %`, `2%` or 0.02.

    Raises
    ------
    StudyError
        If it is no share above 0 and below 1.
    """
    try:
        share = units.share(text)
    except ValueError as error:
        raise StudyError.at(_WHERE, str(error), where="--threshold") from None
    if not 0 < share < 1:
        raise StudyError.at(_WHERE, f"must be above 0 and below 100 %, got {text} instead", where="--threshold")
    return share
