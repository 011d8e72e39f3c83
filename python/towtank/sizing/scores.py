"""Generates random values of uncertain quantities: evenly spaced quantiles in random order."""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

import numpy as np

from towtank.distributions import normal_quantile

SEED = 20260101
"""Seed of the random generator, fixed so that the same question gives the same answer."""


@lru_cache(maxsize=256)
def shares(count: int, name: str) -> tuple[float, ...]:
    """Return the probabilities (i + 1/2) / n, in a random order that depends on the name of the quantity.

    Notes
    -----
    These probabilities are evenly spaced, so quantiles of the values are exact. The orders for different names are
    independent.
    """
    order = np.random.default_rng([SEED, crc32(name.encode())]).permutation(count)
    return tuple(float(share) for share in (order + 0.5) / count)


@lru_cache(maxsize=256)
def scores(count: int, name: str) -> tuple[float, ...]:
    """Return standard normal quantiles at the probabilities that `shares` returns for the same quantity."""
    return tuple(normal_quantile(share) for share in shares(count, name))
