"""The size of regular expressions is limited, which also limits the memory of the engine."""

import pytest

from towtank.workload.patterns import regex


@pytest.mark.parametrize("pattern", ["a{40000}", "a{20000}b{20000}", "(a{100}){400}", "a{10}b{10}c{10}"])
def test_a_moderate_pattern_is_accepted(pattern: str) -> None:
    assert regex(pattern) == pattern


@pytest.mark.parametrize("pattern", ["a{60000}", "a{20000}b{20000}c{20000}d", "(a{100}){600}"])
def test_pieces_of_a_pattern_add_up(pattern: str) -> None:
    with pytest.raises(ValueError, match="too large for the engine"):
        regex(pattern)
