from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.checks.window import samples


def doubts(effective_samples: float) -> list[Any]:
    """Return the doubts about a window whose 100,000 response times are worth a number of independent values."""
    evidence = SimpleNamespace(
        window=object(), timed=100_000, effective_samples=effective_samples, relative_half_width=0.5
    )
    return list(samples(cast(Evidence, evidence)))


@pytest.mark.parametrize(("worth", "stated"), [(29.6, "29"), (12.2, "12"), (30.0, None)])
def test_a_number_below_the_least_is_never_rounded_to_it(worth: float, stated: str | None) -> None:
    found = [doubt.message for doubt in doubts(worth)]
    expected = f"the mean response time is based on {stated} independent values, at least 30 are needed"
    assert found == ([expected] if stated else [])
