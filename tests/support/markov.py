"""Solves continuous-time Markov chains directly, as a reference for the solvers of queueing networks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

Transitions = Callable[[Hashable], Iterable[tuple[Hashable, float]]]


def stationary(start: Hashable, moves: Transitions) -> dict[Hashable, float]:
    """Return the stationary probability of each reachable state, computed from the balance equations.

    Parameters
    ----------
    start : hashable
        Any state of the chain.
    moves : function
        Returns the successors of a state, each with its transition rate. [1/s]
    """
    index: dict[Hashable, int] = {start: 0}
    order, rows, columns, rates = [start], [], [], []
    for state in order:
        for other, rate in moves(state):
            if other not in index:
                index[other] = len(order)
                order.append(other)
            rows += [index[other], index[state]]
            columns += [index[state], index[state]]
            rates += [rate, -rate]
    count = len(order)
    generator = scipy.sparse.coo_matrix((rates, (rows, columns)), (count, count)).tolil()
    generator[count - 1, :] = 1.0
    target = np.zeros(count)
    target[-1] = 1.0
    found = scipy.sparse.linalg.spsolve(generator.tocsc(), target)
    return dict(zip(order, map(float, np.atleast_1d(found)), strict=True))


def mean(chances: dict[Hashable, float], value: Callable[[Hashable], float]) -> float:
    """Return the expected value of a function of the state."""
    return sum(chance * value(state) for state, chance in chances.items())
