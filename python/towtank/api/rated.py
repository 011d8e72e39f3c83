"""Rates this machine in capacity units, as `towtank rate` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from towtank.api import notebook
from towtank.api.calls import faults_of, path_of
from towtank.api.measured import Doubt
from towtank.api.quantity import Interval, Quantity

if TYPE_CHECKING:
    from towtank.sizing import RatedMachine, RatingEstimate, RatingTurn

UNITS = "units"


@dataclass(frozen=True, repr=False)
class Rating:
    """Rating of a machine by a fixed set of benchmark kernels.

    Attributes
    ----------
    cpus : int
        Number of CPUs of the machine. [1]
    """

    cpus: int
    _rated: RatedMachine = field(repr=False)

    @property
    def document(self) -> dict[str, object]:
        """Complete rating as a dict, as `towtank rate --json` prints it (`docs/reference/rating.md`)."""
        from towtank.sizing import document_of_rating  # noqa: PLC0415

        return document_of_rating(self._rated)

    @property
    def valid(self) -> bool:
        """True if the rating may be used: the machine was idle, and repeated measurements agree."""
        return not self._rated.invalid_because

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Doubts about the rating."""
        return tuple(Doubt.of(doubt.document()) for doubt in self._rated.doubts)

    @property
    def scales(self) -> Mapping[str, Quantity]:
        """Rating of the whole machine by scale, for example `towtank`. [capacity units]"""
        return MappingProxyType({name: _quantity(each.whole) for name, each in self._rated.ratings.items()})

    @property
    def per_cpu(self) -> Mapping[str, Quantity]:
        """Rating per CPU: rating of the machine divided by its number of CPUs, by scale. [capacity units]"""
        ratings = self._rated.ratings.items()
        return MappingProxyType({name: _quantity(each.whole, share=1 / self.cpus) for name, each in ratings})

    @property
    def kernels(self) -> Mapping[str, Quantity]:
        """Rate of each benchmark kernel on all CPUs together, in the unit of the kernel."""
        return MappingProxyType(
            {name: _quantity(each.all, self._rated.unit_of(name)) for name, each in self._rated.measured.items()}
        )

    def save(self, out: Path | str, name: str | None = None, *, force: bool = False) -> Path:
        """Write the rating as a machine file, for `towtank size`.

        Parameters
        ----------
        out : Path or str
            Machine file to write.
        name : str, optional
            Name of the machine in the file; default: the host name.
        force : bool, default False
            If true, overwrites an existing file.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        StudyError
            If the file exists and `force` is false, if no file can be created at the path, or if `name` is invalid.
        ReportError
            If the file cannot be written.
        """
        from towtank.errors import ReportError  # noqa: PLC0415
        from towtank.files import put_text  # noqa: PLC0415
        from towtank.option_check import OptionCheck  # noqa: PLC0415
        from towtank.sizing import check_machine_name, machine_name, machine_text  # noqa: PLC0415

        call = "Rating.save"
        path, named = path_of(call, "out", out), machine_name(self._rated.facts) if name is None else name
        with faults_of(call):
            check = OptionCheck()
            check.new_file("--out", path, force=force)
            check.form("--name", named, check_machine_name)
            check.refuse_faults()
        try:
            put_text(path, machine_text(self._rated, named))
        except OSError as error:
            raise ReportError.unwritten("the machine file could not be written", path, error) from None
        return path

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {rating}" for name, rating in self.scales.items())
        return f"<Rating of {self.cpus} CPUs: {shown or 'no scale'}{'' if self.valid else ', invalid'}>"

    def _repr_html_(self) -> str:
        rows = [(name, str(rating), str(self.per_cpu[name])) for name, rating in self.scales.items()]
        kernels = [(name, str(rate)) for name, rate in self.kernels.items()]
        return notebook.page(
            notebook.heading(f"Rating of {self.cpus} CPUs"),
            notebook.table(("Scale", "Machine", "Per CPU"), rows),
            notebook.table(("Kernel", "All CPUs"), kernels),
            notebook.verdict("valid" if self.valid else "invalid", map(str, self.doubts)),
        )


def _quantity(estimate: RatingEstimate, unit: str = UNITS, share: float = 1.0) -> Quantity:
    return Quantity(share * estimate.value, unit, Interval(share * estimate.low, share * estimate.high))


def rate(
    folder: Path | str = ".", *, quick: bool = False, progress: Callable[[str, float], object] | None = None
) -> Rating:
    """Rate this machine in capacity units by a fixed set of benchmark kernels. This takes three minutes.

    Parameters
    ----------
    folder : Path or str
        Folder on the disk that the disk kernels measure; default: the current folder.
    quick : bool, default False
        If true, measures for only about 20 seconds, with wider intervals.
    progress : callable, optional
        Function to call with the name of each measured kernel and the completed share of the work, in [0, 1].

    Returns
    -------
    Rating
        Ratings by scale, rates of the kernels, and doubts.

    Raises
    ------
    StudyError
        If `folder` is not a folder on a disk that can be written.
    EngineError
        If the engine ended early.
    """
    from towtank.conduct import FULL_RATING, QUICK_RATING, rate_machine  # noqa: PLC0415

    done = 0

    def show(turn: RatingTurn, total: int) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(turn.kernel, min(1.0, done / total) if total else 0.0)

    call = "towtank.rate"
    with faults_of(call):
        rated = rate_machine(path_of(call, "folder", folder), QUICK_RATING if quick else FULL_RATING, show)
    return Rating(rated.measurement.cpus, rated)
