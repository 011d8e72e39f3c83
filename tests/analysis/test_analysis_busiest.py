from __future__ import annotations

import pytest

from towtank.analysis.system.busiest import busiest
from towtank.analysis.system.entries import Busiest
from towtank.analysis.system.rates import Samples
from towtank.documents import document_without_none


def samples(*uses: float, waits: float = 0.02, names: str = "ab"):
    """Return one sample per second with the given CPU uses of the busiest process. The name of this process changes
    from sample to sample.
    """
    return Samples(
        [
            {
                "t_ns": number * 1_000_000_000,
                "groups": {
                    "shop": {
                        "busiest_process": {"pid": 7, "name": names[number % len(names)], "cpus": use},
                        "busiest_thread": {"pid": 7, "tid": 9, "name": "t", "cpus": use / 2, "waits": waits},
                    }
                },
            }
            for number, use in enumerate(uses)
        ],
        0,
    )


def test_mean_largest_and_share_of_time_full():
    found = busiest(samples(0.1, 1.0, 0.98, 0.5, 1.0, names="a"), "shop", 0.0, 4.0)
    # The sample at the start of the window describes the time before it, so it must not count.
    assert document_without_none(found.process) == {
        "name": "a",
        "pid": 7,
        "cpus": pytest.approx(0.87),
        "most": 1.0,
        "share_of_time_full": 0.75,
    }
    assert found.thread.cpus == pytest.approx(0.435)
    assert found.thread.waits == pytest.approx(0.02)


def test_the_name_is_that_of_the_most_samples():
    assert busiest(samples(0.1, 1.0, 1.0, 1.0, names="aba"), "shop", 0.0, 3.0).process.name == "a"


def test_few_samples_and_old_probes_have_no_value():
    assert busiest(samples(0.1, 1.0, 1.0), "shop", 0.0, 2.0) == Busiest()
    old = Samples([{"t_ns": number, "groups": {"shop": {"threads": 1}}} for number in range(9)], 0)
    assert busiest(old, "shop", 0.0, 1.0) == Busiest()
