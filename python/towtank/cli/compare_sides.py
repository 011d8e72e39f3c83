"""Arguments of `towtank compare`: the two sides, the baseline and the threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from towtank import units
from towtank.errors import Fault, StudyError

if TYPE_CHECKING:
    from towtank.analysis import Side

_WHERE = "<command line>"


@dataclass(frozen=True)
class Selection:
    """Selection of the results to compare, as given on the command line.

    Attributes
    ----------
    results : tuple of str
        A and B; with a baseline, the result that is compared with it.
    a, b : tuple of str
        Results of `--a` and of `--b`.
    baseline : str or None
    keep : bool
        Whether the result becomes the baseline.
    """

    results: tuple[str, ...]
    a: tuple[str, ...]
    b: tuple[str, ...]
    baseline: str | None = None
    keep: bool = False

    def sides(self) -> tuple[Side, Side]:
        """Read both sides. A result that becomes the baseline is compared with itself.

        Raises
        ------
        StudyError
            If there are not two sides, or a side is no result.
        """
        from towtank.analysis import baseline, keep, side_of  # noqa: PLC0415 - imports the analysis
        from towtank.cli.output import console  # noqa: PLC0415

        names = self._names()
        if self.baseline is None:
            return side_of(names[0]), side_of(names[1])
        known, now = baseline(self.baseline), side_of(names[1])
        if known is not None and not self.keep:
            return known, now
        if now.usable:
            path = keep(self.baseline, now)
            console().print(f"kept as baseline: {path}", markup=False, soft_wrap=True)
        return now, now

    def _names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if self.baseline is not None:
            return (), self._of_baseline()
        if self.keep:
            raise StudyError.at(_WHERE, "must be given with --baseline NAME", where="--keep")
        if not self.a and not self.b:
            if len(self.results) == 2:
                return (self.results[0],), (self.results[1],)
            message = f"must be two results, A and B, or --a FILE... --b FILE..., got {len(self.results)} instead"
            raise StudyError.at(_WHERE, message)
        faults = [
            Fault(_WHERE, 0, 0, option, f"must be given with {other}")
            for option, given, other, needed in (("--a", self.a, "--b", self.b), ("--b", self.b, "--a", self.a))
            if given and not needed
        ]
        if self.results:
            faults.append(Fault(_WHERE, 0, 0, "--a", "must not be given beside A and B"))
        if faults:
            raise StudyError(faults)
        return self.a, self.b

    def _of_baseline(self) -> tuple[str, ...]:
        """Return the names of the result that is compared with a baseline."""
        given = self.results or self.b
        if not given or (self.results and self.b) or len(self.results) > 1:
            message = "must be given with one result, or with --b FILE... for one run a file"
            raise StudyError.at(_WHERE, message, where="--baseline")
        if self.a:
            raise StudyError.at(_WHERE, "must not be given beside a baseline, which is A", where="--a")
        return given


def threshold_of(text: str) -> float:
    """Return the threshold as a share, such as `2 %` or `2%`.

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
