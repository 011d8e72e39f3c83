"""Effects of two-level factors: case V50, examples of Jain (1991), chapters 17 and 18, and exact models."""

from __future__ import annotations

from itertools import product

import pytest
from cases import case

from towtank.analysis.statistics.effects import two_level_effects


def coefficients(found):
    return [found.mean.value, *(effect.coefficient.value for effect in found.effects)]


def test_memory_and_cache_without_repetitions():
    about = case("V50")
    expected = about["verified"]
    found = two_level_effects([[y] for y in about["inputs"]["y"]])
    assert coefficients(found) == pytest.approx([expected[name] for name in ("q0", "qA", "qB", "qAB")], rel=1e-12)
    assert [effect.squares for effect in found.effects] == pytest.approx(
        [expected[f"SS{name}"] for name in ("A", "B", "AB")]
    )
    assert sum(effect.squares for effect in found.effects) + found.error_squares == pytest.approx(expected["SST"])
    assert [100 * effect.share for effect in found.effects] == pytest.approx(expected["pct"], rel=1e-12)
    assert (found.error_share, found.effects[0].coefficient.low) == (None, None)


def test_memory_and_cache_with_three_repetitions():
    # Jain, examples 18.1 to 18.4. Half-widths must agree to the printed digits, all other values exactly.
    found = two_level_effects([[15, 18, 12], [45, 48, 51], [25, 28, 19], [75, 75, 81]], confidence=0.90)
    assert coefficients(found) == pytest.approx([41, 21.5, 9.5, 5], rel=1e-12)
    assert (found.error_squares, found.freedom) == (pytest.approx(102), 8)
    assert sum(effect.squares for effect in found.effects) + found.error_squares == pytest.approx(
        5547 + 1083 + 300 + 102
    )
    shares = [*(effect.share for effect in found.effects), found.error_share]
    assert [100 * share for share in shares] == pytest.approx([78.88, 15.40, 4.27, 1.45], abs=0.005)
    assert found.effects[0].coefficient.half_width == pytest.approx(1.86 * 1.03, abs=0.005)


def test_three_factors_give_back_the_model_they_were_made_of():
    model = {(): 10.0, (0,): 3.0, (1,): -2.0, (2,): 0.5, (0, 1): 1.0, (0, 2): 0.0, (1, 2): -0.25, (0, 1, 2): 4.0}

    def response(signs):
        return sum(q * _product(signs[index] for index in factors) for factors, q in model.items())

    cells = [[response(signs[::-1])] for signs in product((-1, 1), repeat=3)]
    found = two_level_effects(cells)
    assert found.mean.value == pytest.approx(10.0)
    assert {effect.factors: effect.coefficient.value for effect in found.effects} == pytest.approx(
        {factors: q for factors, q in model.items() if factors}
    )


def _product(numbers):
    result = 1
    for number in numbers:
        result *= number
    return result


def test_a_missing_run_leaves_effects_of_means_with_their_exact_error():
    # Each of the three pairs has a sum of squares of 2 about its mean. So s_e^2 = 3 x 2 / 3 = 2, with three degrees of
    # freedom. An effect of means of 2, 2, 2 and 1 values has s_q = sqrt(s_e^2 (1/2 + 1/2 + 1/2 + 1)) / 4.
    found = two_level_effects([[0, 2], [2, 4], [4, 6], [11]])
    assert found.effects[0].coefficient.value == pytest.approx(2.0)
    assert found.freedom == 3
    assert found.effects[0].coefficient.half_width == pytest.approx(3.182446305 * (2 * 2.5) ** 0.5 / 4)


@pytest.mark.parametrize("cells", [[], [[1.0]], [[1.0], [2.0], [3.0]], [[1.0], []]])
def test_what_is_no_factorial_is_refused(cells):
    with pytest.raises(ValueError, match="two-level factorial design"):
        two_level_effects(cells)


def test_what_does_not_vary_has_no_shares():
    found = two_level_effects([[7.0]] * 4)
    assert [effect.share for effect in found.effects] == [None] * 3
