import pytest

from towtank.conduct.pinning import Pinning, pinning_of, share_out
from towtank.errors import StudyError
from towtank.study.model import PinnedCpus


@pytest.mark.parametrize(
    ("available", "system", "generator"),
    [({0}, (), ()), ({0, 1}, (0,), (1,)), ({2, 5, 7}, (2, 5), (7,)), ({0, 1, 2, 3}, (0, 1, 2), (3,))],
)
def test_last_cpu_is_the_generators(available: set[int], system: tuple[int, ...], generator: tuple[int, ...]) -> None:
    assert (share_out(available).system, share_out(available).generator) == (system, generator)
    assert share_out(available).pinned == (len(available) > 1)


def test_one_cpu_is_recorded_as_not_pinned() -> None:
    document = share_out({0}).document()
    assert document["system"] == document["generator"] == []
    assert "note" in document
    assert "note" not in share_out({0, 1}).document()


def test_study_may_name_cpus_or_turn_pinning_off() -> None:
    assert pinning_of(PinnedCpus(system=[0], generator=[0])) == Pinning((0,), (0,))
    assert not pinning_of("off").pinned
    assert pinning_of("off").document()["note"] == "the study turns pinning off"
    assert pinning_of("auto") == share_out()


def test_cpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(StudyError, match=r"pinning: must name CPUs among .*, got 9999 instead"):
        pinning_of(PinnedCpus(system=[0], generator=[9999]))
