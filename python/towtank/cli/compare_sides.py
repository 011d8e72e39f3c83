"""Reads the arguments of `towtank compare`: results, baseline and threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from towtank import units
from towtank.errors import Fault, StudyError

if TYPE_CHECKING:
    from pathlib import Path

    from towtank.analysis import Side


@dataclass(frozen=True)
class Selection:
    """Results to compare, as named on the command line: results A and B (or the single result to compare with a
    baseline), result files of `--a` and of `--b`, and the name of the baseline.
    """

    results: tuple[str, ...]
    a: tuple[str, ...]
    b: tuple[str, ...]
    baseline: str | None = None

    def sides(self) -> tuple[Side, Side]:
        """Read the two results to compare.

        Raises
        ------
        StudyError
            If not exactly two results are given, a path contains no result, or the baseline does not exist.
        """
        from towtank.analysis import read_baseline, side_of  # noqa: PLC0415 - imports the analysis

        names = self._names()
        known = side_of(names[0]) if self.baseline is None else read_baseline(self.baseline)
        return known, side_of(names[1])

    def kept(self) -> Kept:
        """Store a result as baseline, if at least one of its runs is valid or suspect.

        Raises
        ------
        StudyError
            If not exactly one result is given, or its path contains no result.
        """
        from towtank.analysis import keep_baseline, side_of  # noqa: PLC0415 - imports the analysis

        if self.baseline is None:
            raise StudyError.of_option("--keep", "must be given with --baseline NAME")
        side = side_of(self._of_baseline())
        return Kept(self.baseline, side, keep_baseline(self.baseline, side) if side.usable else None)

    def _names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if self.baseline is not None:
            return (), self._of_baseline()
        if not self.a and not self.b:
            if len(self.results) == 2:
                return (self.results[0],), (self.results[1],)
            message = f"must be two results, A and B, or --a FILE... --b FILE..., got {len(self.results)} instead"
            raise StudyError.of_option("", message)
        faults = [
            Fault.of_option(option, f"must be given with {other}")
            for option, given, other, needed in (("--a", self.a, "--b", self.b), ("--b", self.b, "--a", self.a))
            if given and not needed
        ]
        if self.results:
            faults.append(Fault.of_option("--a", "must not be given together with A and B"))
        if faults:
            raise StudyError(faults)
        return self.a, self.b

    def _of_baseline(self) -> tuple[str, ...]:
        """Return the paths of the result to compare with the baseline, or to store as baseline."""
        given = self.results or self.b
        if not given or (self.results and self.b) or len(self.results) > 1:
            message = "must be given with one result, or with --b FILE..., one file for each run"
            raise StudyError.of_option("--baseline", message)
        if self.a:
            raise StudyError.of_option("--a", "must not be given together with --baseline, because the baseline is A")
        return given


@dataclass(frozen=True)
class Kept:
    """Outcome of storing a result as baseline. `path` is None if nothing was stored, because no run of the result is
    valid or suspect.
    """

    name: str
    side: Side
    path: Path | None

    def document(self) -> dict[str, object]:
        """Return the JSON document of `towtank compare --keep --json`."""
        return {
            "schema": "towtank/kept/1",
            "baseline": self.name,
            "of": self.side.name,
            "runs": len(self.side.usable),
            "left_out": len(self.side.runs) - len(self.side.usable),
            "path": None if self.path is None else str(self.path),
        }

    def __str__(self) -> str:
        if self.path is None:
            return f"not kept as baseline: no run of {self.side.name} is valid or suspect"
        runs = len(self.side.usable)
        return f"kept as baseline: {self.path} ({runs} run{'' if runs == 1 else 's'})"


def threshold_of(text: str) -> float:
    """Read a threshold such as `2 %` or `2%`, and return it as a share.

    Raises
    ------
    StudyError
        If the text is not a share above 0 and below 1.
    """
    try:
        share = units.share(text)
    except ValueError as error:
        raise StudyError.of_option("--threshold", str(error)) from None
    if not 0 < share < 1:
        raise StudyError.of_option("--threshold", f"must be above 0 and below 100 %, got {text} instead")
    return share
