"""Repeats the runs of a study in blocks until the claims and objectives are decided, or the limits are reached.

A block is one run of each combination of factor levels.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from towtank import units
from towtank.digging import dig
from towtank.results import ResultsFolder, RunFolder, read_object

if TYPE_CHECKING:
    from towtank.analysis import OpenQuestion
    from towtank.study import RunSpec, Study

LOOK_FROM = 2
"""Number of the first block after which claims are tested. The variation between runs needs at least two runs. [1]"""
_GIVE_UP_FROM = 3
"""Number of the first block after which a study may end as undecidable, which saves the remaining runs. [1]"""
SPEED_MOVED = 0.05
"""Largest relative difference of the machine's speed between runs of a block; above it, the block is repeated. [1]"""
CPUS, MEMORY = "cpus", "memory"
"""Parts of the machine whose speed may change."""
ENDED = "repeat_ended"
"""Key of the study manifest that records how the repetition ended."""


@dataclass(frozen=True)
class Undecided:
    """Claim or objective that is still undecided when the repetition of runs ends, and the reason `why`.

    `needs_runs` is the estimated number of runs of each combination of levels that would decide it, `more` that number
    without the completed runs [1], and `more_s` the estimated duration of these runs [s]; None if unknown.
    """

    text: str
    why: str
    needs_runs: int | None
    more: int | None
    more_s: float | None

    def sentence(self) -> str:
        """Return a sentence with the claim or objective and the estimated number of runs that would decide it."""
        head = f"open: {self.text.rstrip('.')}; "
        if self.more is None:
            return f"{head}the number of runs that would decide it is unknown"
        lasts = "" if self.more_s is None else f" ({units.rough_duration(self.more_s)})"
        return f"{head}about {self.more} more runs of each combination would decide it{lasts}"


@dataclass(frozen=True)
class Ended:
    """End of the repetition of a study's runs, as the manifest of the study records it: the number of completed blocks,
    that is, of runs of each combination of levels [1], the reason, which is a key of `_BECAUSE`, and what is still
    undecided.
    """

    blocks: int
    because: str
    open: tuple[Undecided, ...]

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> Ended | None:
        """Read the end of the repetition from a study's manifest; None if the manifest contains no end."""
        found = manifest.get(ENDED)
        if not found:
            return None
        read = cls(**found)
        return replace(
            read,
            open=tuple(
                question if isinstance(question, Undecided) else Undecided(**question) for question in read.open
            ),
        )

    def lines(self, results: Path) -> list[str]:
        """Describe the end of the repetition, and give the command that continues the study, one sentence per item."""
        found = [f"ended after {self.blocks} runs of each combination: {_BECAUSE[self.because]}"]
        found += [question.sentence() for question in self.open]
        if self.open:
            known = [question.more for question in self.open if question.more is not None]
            found.append(f"to continue: towtank run {results} --more {max(known, default=2)}")
        return found


class MachineSpeed(NamedTuple):
    """Speed of the machine in a run: median CPU times of a fixed piece of work, and of an access to a page of memory
    that was last used a second ago. None if not measured. [s]
    """

    work_s: float | None = None
    page_s: float | None = None


@dataclass(frozen=True)
class Moved:
    """Change of the machine's speed between runs of a block: the part of the machine, `cpus` or `memory`, and the
    shortest and the longest of the times that the probe measured in the runs. [s]
    """

    of: str
    shortest_s: float
    longest_s: float

    @property
    def words(self) -> str:
        """Changed part of the machine in words: `the speed of memory` or `the speed of the CPUs`."""
        return f"the speed of {'memory' if self.of == MEMORY else 'the CPUs'}"

    @property
    def share(self) -> float:
        """Share by which the longest time exceeds the shortest. [1]"""
        return self.longest_s / self.shortest_s - 1


@dataclass
class Repeating:
    """Decides after each block if a study ends. A block is one run of each combination of levels; blocks are numbered
    from 1. `block_s` is the duration of each block that this process has run, without discarded attempts, and
    `repeated_s` that of all discarded attempts. [s]
    """

    study: Study
    results: ResultsFolder
    block_s: list[float] = field(default_factory=list)
    repeated_s: float = 0.0
    block_began_s: float = field(default_factory=time.monotonic)

    def repeats(self, block: int, runs: list[str], done: int) -> Moved | None:
        """Return the change of the machine's speed because of which a block must be run again; None if it need not. A
        change is recorded as an event, even if the block is not repeated.

        `done` is the number of runs of the block that this process has done, at least 1; the others were done before a
        resumption.

        Notes
        -----
        The probe measures two quantities in each second of a run: the CPU time of a fixed piece of work, and that of an
        access to a page of memory that was last used a second ago. The medians of the runs are compared, without runs
        that have fewer than ten samples.

        A study repeats a block for its memory only once. If the host of a virtual machine makes memory slow, its speed
        usually changes all the time, and further repetitions would only consume the budget.

        A change of the machine's speed would distort the difference between configurations. No result is corrected; the
        whole block is repeated instead. This happens only if the budget suffices for the repetition and for the
        remaining blocks before the first test of claims.
        """
        rule = self.study.study.repeat
        moved = None if rule is None else self._moved(runs)
        if rule is None or moved is None:
            return None
        passed_s = time.monotonic() - self.block_began_s
        whole_s = passed_s * len(runs) / done
        needed_s = self.spent_s + passed_s + whole_s * (1 + max(0, LOOK_FROM - block))
        repeated = (rule.budget is None or needed_s <= rule.budget) and not (
            moved.of == MEMORY and self._had_repeated()
        )
        self.results.event("speed_moved", runs=runs, **asdict(moved), share=moved.share, repeated=repeated)
        if repeated:
            self.repeated_s += passed_s
            self.block_began_s += passed_s
        return moved if repeated else None

    @property
    def spent_s(self) -> float:
        """Time that this process has spent on blocks that have ended. [s]"""
        return sum(self.block_s) + self.repeated_s

    @property
    def too_few_blocks(self) -> str | None:
        """Estimated number of blocks within the budget, in words; None if all blocks fit into it, or there is no budget
        or no block yet.

        Decisions often need a third block, so the user learns after the first if the budget allows only two.
        """
        rule = self.study.study.repeat
        if rule is None or rule.budget is None or self.study.at_least or not self.block_s:
            return None
        fit = int((rule.budget - self.repeated_s) / self._mean_s)
        if fit >= self.study.blocks:
            return None
        takes, budget = units.rough_duration(self._mean_s), units.format_duration(rule.budget)
        head, most = f"a block takes {takes}", self.study.blocks
        if fit < LOOK_FROM:
            return f"{head}: the first {LOOK_FROM} blocks will take longer than the budget of {budget}"
        return f"{head}: about {fit} of at most {most} blocks fit into the budget of {budget} if none is repeated"

    def _moved(self, runs: list[str]) -> Moved | None:
        """Return the change of the machine's speed between runs; None if neither the CPUs nor memory changed by more
        than their limits.
        """
        from towtank.analysis import memory_differs  # noqa: PLC0415 - imports the analysis

        speeds = [self._speed(run) for run in runs]
        work_s = [speed.work_s for speed in speeds if speed.work_s]
        page_s = [speed.page_s for speed in speeds if speed.page_s]
        if len(work_s) > 1 and max(work_s) / min(work_s) - 1 > SPEED_MOVED:
            return Moved(CPUS, min(work_s), max(work_s))
        return Moved(MEMORY, min(page_s), max(page_s)) if memory_differs(page_s) else None

    def _had_repeated(self) -> bool:
        """Return True if the study has repeated a block because the speed of memory changed."""
        return any(
            dig(event, "k") == "speed_moved" and dig(event, "of") == MEMORY and dig(event, "repeated")
            for event in self.results.events()
        )

    def _speed(self, run: str) -> MachineSpeed:
        """Read the speed of the machine in a run from the summary of the run."""
        path = RunFolder(self.results.run_path(run)).summary
        host = dig(read_object(path), "host") if path.exists() else None
        found = dig(host, "pace", "median_s"), dig(host, "rested_page_s")
        return MachineSpeed(*(None if each is None else float(each) for each in found))

    def block_ended(self, block: int, *, ran: bool) -> bool:
        """Return True if the study can end after a block, and record the end in the study's manifest. `ran` is True if
        this process has done runs of the block.
        """
        now = time.monotonic()
        if ran:
            self.block_s.append(now - self.block_began_s)
        self.block_began_s = now
        rule = self.study.study.repeat
        if rule is None or block < LOOK_FROM:
            return False
        if block < self.study.blocks and block < self.study.at_least:
            return False
        recorded = Ended.of(self.results.manifest)
        if not ran and recorded is not None and recorded.blocks == block:
            return True
        from towtank.analysis import open_questions  # noqa: PLC0415 - imports the analysis

        found = open_questions(self.results)
        why = self._why(block, found)
        if why is not None:
            self._end(block, why, found)
        elif recorded is not None:
            # The recorded end is no longer valid, because failed runs have been done again since.
            self.results.update(**{ENDED: None})
        return why is not None

    def _why(self, block: int, found: list[OpenQuestion]) -> str | None:
        """Return the reason to end the study after a block, as a key of `_BECAUSE`; None to continue."""
        if not found:
            return "decided"
        if self._all_failed(block):
            return "failed"
        if block >= self.study.blocks:
            return "at_most"
        needs = [question.needs_at_least for question in found]
        if block >= _GIVE_UP_FROM and all(need is not None and need > self.study.blocks for need in needs):
            return "undecidable"
        rule = self.study.study.repeat
        budget_s = None if rule is None else rule.budget
        later_s = self.spent_s + self._mean_s
        return "budget" if budget_s is not None and later_s > budget_s else None

    def _all_failed(self, block: int) -> bool:
        """Return True if every run up to a block failed, for example because the system does not start."""
        runs = [RunFolder(self.results.run_path(str(dig(each, "run")))) for each in self._planned_until(block)]
        return all((run.path / run.manifest_name).exists() and dig(run.manifest, "status") == "failed" for run in runs)

    def _planned_until(self, block: int) -> list[dict[str, object]]:
        """Return the planned runs of the blocks up to a block, as the manifest has them."""
        return [each for each in dig(self.results.manifest, "design") if int(dig(each, "repetition")) <= block]

    @property
    def _mean_s(self) -> float:
        """Mean duration of the blocks that this process has run. [s]"""
        return sum(self.block_s) / max(1, len(self.block_s))

    def _end(self, block: int, why: str, found: list[OpenQuestion]) -> None:
        manifest = self.results.manifest
        # After failures only, the design keeps its later runs, because the study will probably be resumed.
        last = self.study.blocks if why == "failed" else block
        kept = self._planned_until(last)
        ended = Ended(block, why, tuple(self._undecided(block, question) for question in found))
        described = {**dig(manifest, "study"), "design": kept}
        self.results.update(design=kept, study=described, **{ENDED: asdict(ended)})
        self.results.event("repetition_ended", blocks=block, because=why, open=len(found))

    def _undecided(self, block: int, question: OpenQuestion) -> Undecided:
        more = None if question.needs_runs is None else max(1, question.needs_runs - block)
        more_s = None if more is None or not self.block_s else more * self._mean_s
        return Undecided(question.text, question.why, question.needs_runs, more, more_s)


def remaining(specs: list[RunSpec], manifest: Mapping[str, Any], at_least: int) -> list[RunSpec]:
    """Return the runs that a resumed study can still conduct.

    If the repetition has ended, runs of later blocks are left out, unless `at_least` requests more blocks or all runs
    failed.
    """
    ended = Ended.of(manifest)
    if ended is None or at_least > ended.blocks or ended.because == "failed":
        return specs
    return [spec for spec in specs if spec.repetition <= ended.blocks]


_BECAUSE = {
    "decided": "every claim and objective is decided",
    "failed": "all runs failed",
    "at_most": "this is the largest number of runs that the study allows",
    "undecidable": "no open question can be decided within the runs that the study allows",
    "budget": "another block would exceed the budget",
}
