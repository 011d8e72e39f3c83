"""Checks that the claims of a study have a valid form and name known factors, levels and quantities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from towtank.spelling import Misspelt, meant, misnamed
from towtank.study.claim_holds import AtLevels, read_holds
from towtank.study.claim_metrics import PER_LOAD, Names, adds_up, read_metric, unit_of_metric, wrong_names
from towtank.study.claims import (
    COURSES,
    MEASURES,
    QUANTITIES,
    RATIO_MEASURE,
    AnyMeasure,
    Claim,
    CourseMeasure,
    Measure,
    PairMeasure,
    ValueMeasure,
)
from towtank.yamlfile import Path_

ALL_LEVELS = "all"
ENDS = ("first", "last", "lowest", "highest")
"""Keywords that name a level of a factor by its position in the list (`first`, `last`) or by its number (`lowest`,
`highest`). If a level has one of these names, the name stands for this level.
"""
Wrong = tuple[Path_, str, bool]


@dataclass(frozen=True)
class ClaimsCheck:
    """Checks the claims of one variant of a study: the study file alone, or with one preset applied.

    `levels` has the levels of each factor in the study file and in all its presets, because a claim may name a level
    that the chosen preset omits. `is_written` returns True if the study file contains a value at a path, even an
    invalid value.
    """

    claims: Sequence[Claim]
    levels: Mapping[str, Sequence[str]]
    names: Names
    is_written: Callable[[Path_], bool]

    def wrongs(self) -> Iterator[Wrong]:
        """Yield each fault of the claims as a tuple of its path, its message, and True if the key instead of the value
        is wrong.
        """
        for index, claim in enumerate(self.claims):
            at: Path_ = ("claims", index)
            yield from self._form(claim, at)
            if claim.measure is not None and len(claim.measure.kinds) == 1:
                yield from self._measure(claim, (*at, "measure", claim.measure.kind))
                yield from self._holds(claim, (*at, "holds"))

    def _form(self, claim: Claim, at: Path_) -> Iterator[Wrong]:
        """Check that a claim has either a measure with its condition `holds`, or a reason why it cannot be tested."""
        if claim.not_testable is not None:
            for key in ("measure", "holds", "then", "otherwise", "required"):
                if getattr(claim, key):
                    yield (*at, key), "must not be given together with not_testable", True
        elif claim.measure is None and not any(self.is_written((*at, key)) for key in ("measure", "not_testable")):
            yield at, "must have the key 'measure' or 'not_testable', got neither", False
        elif claim.measure is not None and len(claim.measure.kinds) != 1:
            got = " and ".join(claim.measure.kinds) or "none"
            if not self._has_faulty_kind(claim.measure, at):
                yield (*at, "measure"), f"must have one of the keys {', '.join(MEASURES)}, got {got} instead", True
        alone = claim.measure is not None and claim.holds is None and claim.not_testable is None
        if alone and not self.is_written((*at, "holds")):
            yield at, "must have the key 'holds' if it has 'measure', got none", False

    def _has_faulty_kind(self, measure: Measure, at: Path_) -> bool:
        """Return True if the file contains a malformed measure, whose reason another check reports."""
        left_out = (kind for kind in MEASURES if kind not in measure.model_fields_set)
        return not measure.kinds and any(self.is_written((*at, "measure", kind)) for kind in left_out)

    def _measure(self, claim: Claim, at: Path_) -> Iterator[Wrong]:
        assert claim.measure is not None
        given, kind = claim.measure.given, claim.measure.kind
        for key in ("of", "per"):
            text = getattr(given, key)
            if text is not None and not (key == "per" and text == PER_LOAD):
                for message in self._metric(text):
                    yield (*at, key), message, False
        several = kind in QUANTITIES
        yield from self._place(given.at, (*at, "at"), several=several)
        to = given.to if isinstance(given, PairMeasure | CourseMeasure) else None
        yield from self._place(to or {}, (*at, "to"), several=False)
        for factor in to or {}:
            if self._is_several(factor, given.at.get(factor)):
                yield (
                    (*at, "to", factor),
                    f"must be a factor of which `at` names one level, got {factor!r} instead",
                    True,
                )
        if isinstance(given, CourseMeasure):
            yield from self._over(given, at)
        else:
            yield from self._total(given, at)
        if to and all(given.at.get(name) == level for name, level in to.items()):
            yield (*at, "to"), "must name a level that differs from `at`, got the same levels", True
        yield from self._left_out(given, at)

    def _metric(self, text: str) -> list[str]:
        try:
            return wrong_names(read_metric(text), self.names)
        except ValueError as error:
            return [error.args[0]]

    def _place(self, place: Mapping[str, str | list[str]], at: Path_, *, several: bool) -> Iterator[Wrong]:
        for factor, written in place.items():
            if factor not in self.levels:
                yield (*at, factor), self._no_factor(factor), True
                continue
            chosen = written if isinstance(written, list) else [written]
            if not several and self._is_several(factor, written):
                yield (*at, factor), f"must be one level here, got {' and '.join(chosen)} instead", False
                continue
            for place_in_list, level in enumerate(chosen):
                if not self._is_level(factor, level):
                    where: Path_ = (*at, factor, place_in_list) if isinstance(written, list) else (*at, factor)
                    yield where, self._no_level(factor, level), False

    def _over(self, given: CourseMeasure, at: Path_) -> Iterator[Wrong]:
        if given.over not in self.levels:
            yield (*at, "over"), self._no_factor(given.over), False
        for key, place in (("at", given.at), ("to", given.to or {})):
            if given.over in place:
                yield (*at, key, given.over), "must not be named here: all its levels are compared", True

    def _total(self, given: ValueMeasure | PairMeasure, at: Path_) -> Iterator[Wrong]:
        """Check the key `total_over` of a claim. The factor must exist and have several levels, and it must be
        possible to add up the quantity.
        """
        factor = given.total_over
        if factor is None:
            return
        if factor not in self.levels:
            yield (*at, "total_over"), self._no_factor(factor), False
        elif factor in given.at and not self._is_several(factor, given.at[factor]):
            message = f"must be several levels, which `total_over` adds up, got {given.at[factor]!r} instead"
            yield (*at, "at", factor), message, False
        if isinstance(given, PairMeasure) and factor in given.to and factor not in given.at:
            yield (*at, "to", factor), "must not be named here: its levels are added up", True
        if not adds_up(given.of):
            message = (
                f"must be a quantity that can be added up, such as a mean, a count or a rate, got {given.of!r} instead"
            )
            yield (*at, "of"), message, False

    def _left_out(self, given: AnyMeasure, at: Path_) -> Iterator[Wrong]:
        """Check that the key `at` of a claim names a level of every factor with several levels. Otherwise, the runs to
        compare would be ambiguous.
        """
        over = given.over if isinstance(given, CourseMeasure) else given.total_over
        open_ = [
            name for name, levels in self.levels.items() if len(levels) > 1 and name not in given.at and name != over
        ]
        misspelt = [
            (("factors", name), message, True)
            for name in open_
            if self.is_written(("factors", name)) and (message := self._misspelt_factor(name, given))
        ]
        if misspelt:
            yield from misspelt
        elif open_:
            yield (*at,), f"must name a level of {' and '.join(open_)} in `at`, got none", False

    def _misspelt_factor(self, name: str, given: AnyMeasure) -> str | None:
        """Return a message if the study file probably misspells the name of a factor; otherwise None.

        A misspelling is assumed if no claim names the factor, and this claim names a similar factor that exists only in
        a preset.
        """
        if any(name in _factors_of(claim) for claim in self.claims):
            return None
        elsewhere = [other for other in self.levels if not self.is_written(("factors", other))]
        near = meant(name, [other for other in _named_by(given) if other in elsewhere], is_form=True)
        if near is None:
            return None
        message = f"must be a factor that claims name, got {name!r} instead, did you mean {near.meant!r}?"
        return Misspelt.of(message, near)

    def _holds(self, claim: Claim, at: Path_) -> Iterator[Wrong]:
        assert claim.measure is not None
        if claim.holds is None:
            return
        given, kind = claim.measure.given, claim.measure.kind
        try:
            unit = "" if kind == RATIO_MEASURE or given.per else unit_of_metric(read_metric(given.of))
        except ValueError:
            # `_measure` reports the invalid quantity. Its unit is unknown, so that the condition cannot be checked.
            return
        try:
            holds = read_holds(kind, claim.holds, unit)
        except ValueError as error:
            yield at, error.args[0], False
            return
        if kind in COURSES and isinstance(holds, AtLevels) and isinstance(given, CourseMeasure):
            for level in holds.levels:
                if given.over in self.levels and not self._is_level(given.over, level):
                    yield at, self._no_level(given.over, level), False

    def _is_several(self, factor: str, written: str | list[str] | None) -> bool:
        """Return True if a claim gives several levels of a factor, as a list or by the keyword `all`.

        If a level has the name `all`, the word stands for this single level.
        """
        return isinstance(written, list) or (written == ALL_LEVELS and ALL_LEVELS not in self.levels.get(factor, ()))

    def _is_level(self, factor: str, level: str) -> bool:
        return level in self.levels[factor] or level in (*ENDS, ALL_LEVELS)

    def _no_factor(self, name: str) -> str:
        known = list(self.levels)
        return misnamed(f"a factor of the study ({', '.join(known) or 'it has none'})", name, known)

    def _no_level(self, factor: str, level: str) -> str:
        known = list(self.levels[factor])
        allowed = f"a level of {factor} ({', '.join(known)}), all, {', '.join(ENDS)}"
        return misnamed(allowed, level, [*known, *ENDS])


def _named_by(given: AnyMeasure) -> list[str]:
    """Return the factors that `at`, `over` and `total_over` of a measure name."""
    over = given.over if isinstance(given, CourseMeasure) else given.total_over
    return [*given.at, *([over] if over else [])]


def _factors_of(claim: Claim) -> list[str]:
    """Return the factors that the measure of a claim names; an empty list if the claim has no valid measure."""
    measured = claim.measure is not None and len(claim.measure.kinds) == 1
    return _named_by(claim.measure.given) if claim.measure is not None and measured else []
