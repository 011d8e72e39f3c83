"""Trends of memory and open files during a long run: an increase is reported, random variation is not."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.waits

SCRIPTS = Path(__file__).parents[2] / "scripts"
TIMES = [2.0 * number for number in range(1800)]
MIB = 2.0**20


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))


def noise(seed: int, deviation: float) -> list[float]:
    drawn = random.Random(seed)
    return [drawn.gauss(0, deviation) for _ in TIMES]


def test_a_line_has_its_slope() -> None:
    from soaking.slopes import slope_of  # noqa: PLC0415

    slope = slope_of(TIMES, [5.0 + at / 3600 * 3 for at in TIMES])
    assert (slope.per_hour, slope.low, slope.high) == pytest.approx((3.0, 3.0, 3.0))


@pytest.mark.parametrize("seed", range(5))
def test_a_leak_is_reported_and_variation_is_not(seed: int) -> None:
    from soaking.command import judged  # noqa: PLC0415

    varied = noise(seed, MIB)
    flat = [(at, 80 * MIB + deviation, 12.0) for at, deviation in zip(TIMES, varied, strict=True)]
    leaking = [(at, resident + 6 * MIB * at / 3600, 12.0 + at // 600) for at, resident, _ in flat]
    assert [row["flat"] for row in judged("engine", flat)] == [True, True]
    assert [row["flat"] for row in judged("engine", leaking)] == [False, False]


def test_what_a_process_takes_at_its_start_is_no_leak() -> None:
    from soaking.slopes import slope_of  # noqa: PLC0415

    values = [min(at / 100, 1.0) * 50 for at in TIMES]
    assert slope_of(TIMES, values).per_hour == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(ValueError, match="at least 40 samples"):
        slope_of(TIMES[:20], values[:20])


def test_processes_are_named_by_their_program() -> None:
    import os  # noqa: PLC0415

    from soaking.command import figures, name_of  # noqa: PLC0415

    assert name_of(os.getpid()).startswith(Path(sys.executable).name[:6])
    resident, files = figures(os.getpid())
    assert resident > MIB
    assert files >= 3
