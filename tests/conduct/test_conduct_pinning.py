"""Who gets which CPU."""

import pytest

from towtank.conduct.pinning import Pinning, share_out


@pytest.mark.parametrize(
    ("available", "system", "generator"),
    [({0}, (), ()), ({0, 1}, (0,), (1,)), ({2, 5, 7}, (2, 5), (7,)), ({0, 1, 2, 3}, (0, 1, 2), (3,))],
)
def test_last_cpu_is_the_generators(available: set[int], system: tuple[int, ...], generator: tuple[int, ...]) -> None:
    assert share_out(available) == Pinning(system, generator)
    assert share_out(available).pinned == (len(available) > 1)


def test_one_cpu_is_recorded_as_not_pinned() -> None:
    document = share_out({0}).document()
    assert document["system"] == document["generator"] == []
    assert "note" in document
    assert "note" not in share_out({0, 1}).document()
