from __future__ import annotations

import pytest
from cases import case

from towtank.analysis.factorial import effects
from towtank.analysis.factors import Factor
from towtank.analysis.run_summary import RunSummary, RunVerdict
from towtank.analysis.statistics.estimates import Estimate


def factor(name, *levels):
    return Factor(name, levels)


def run(throughput, verdict="valid", **levels):
    """Return a run that has a throughput but no response time."""
    return RunSummary(factors=levels, verdict=RunVerdict(verdict), throughput_per_s=Estimate(throughput, n=1))


MEMORY, CACHE = factor("memory", "4 MB", "16 MB"), factor("cache", "1 KB", "2 KB")


def jain(repetitions=1, **more):
    """Return the published case V50 as a study. The second repetition has the published values plus 3, the third the
    published values minus 3.
    """
    cells = [("4 MB", "1 KB"), ("16 MB", "1 KB"), ("4 MB", "2 KB"), ("16 MB", "2 KB")]
    spread = [0, 3, -3][:repetitions]
    return [
        run(value + off, memory=memory, cache=cache, **more)
        for (memory, cache), value in zip(cells, case("V50")["inputs"]["y"], strict=True)
        for off in spread
    ]


def test_the_effects_of_a_study_are_those_of_its_cells():
    (found,) = effects([MEMORY, CACHE], jain())
    expected = case("V50")["verified"]
    assert found.metric == "throughput_per_s"
    assert found.mean.value == pytest.approx(expected["q0"])
    assert [(effect.factors, effect.change.value) for effect in found.effects] == [
        (("memory",), pytest.approx(2 * expected["qA"])),
        (("cache",), pytest.approx(2 * expected["qB"])),
        (("memory", "cache"), pytest.approx(2 * expected["qAB"])),
    ]
    assert [100 * effect.share for effect in found.effects] == pytest.approx(expected["pct"])
    assert found.spans == pytest.approx(5.0)
    assert [effect.differs for effect in found.effects] == [None] * 3


def test_repetitions_distinguish_effects_from_chance():
    (found,) = effects([MEMORY, CACHE], jain(repetitions=3))
    # The sum of squared errors is 4 x 18 with 8 degrees of freedom, a variance of 9. The standard error of an effect q
    # is sqrt(9 / 12), and t(0.975, 8) = 2.306004. From the low to the high level the response changes by 2 q.
    half = 2 * 2.306004 * (9 / 12) ** 0.5
    assert found.effects[0].change.high == pytest.approx(40 + half, rel=1e-6)
    assert [effect.differs for effect in found.effects] == [True, True, True]
    assert found.error_share == pytest.approx(72 / (3 * 2100 + 72))
    assert found.runs == 12


def test_each_level_of_another_factor_has_effects_of_its_own():
    load = factor("users", "10", "20", "40")
    runs = [*jain(users="10"), *jain(users="20"), *jain(users="40")[:3]]
    found = effects([load, MEMORY, CACHE], runs)
    # At 40 users one configuration has no run, so effects cannot be computed at this level.
    assert [entry.at for entry in found] == [{"users": "10"}, {"users": "20"}]


def test_invalid_runs_do_not_count():
    runs = jain()
    wrong = run(9e9, "invalid", memory="4 MB", cache="1 KB")
    assert effects([MEMORY, CACHE], [*runs, wrong]) == effects([MEMORY, CACHE], runs)
    assert effects([MEMORY, CACHE], [*runs[1:], wrong]) == []


@pytest.mark.parametrize(
    "factors", [[MEMORY], [factor("users", "1", "2", "3"), MEMORY], [factor(f"f{n}", "a", "b") for n in range(7)]]
)
def test_one_factor_or_too_many_have_none(factors):
    assert effects(factors, jain()) == []
