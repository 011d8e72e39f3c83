from typing import Any

import pytest

from towtank.analysis.system.limited_disks import Utilization, utilization

RATES: dict[str, float | None] = {
    "read_operations_per_s": 60.0,
    "write_operations_per_s": 30.0,
    "read_bytes_per_s": 6e6,
    "write_bytes_per_s": 1e6,
    "busy_share": 0.007,
}


@pytest.mark.parametrize(
    ("declared", "share", "of", "limit"),
    [
        ({}, 0.007, "busy", None),
        ({"size": "1 GB", "read_operations": None}, 0.007, "busy", None),
        ({"read_operations": "150 /s"}, 60 / 150, "read_operations", 150.0),
        # Four disk images with a limit of 150 reads/s each allow 600 reads/s in total.
        ({"read_operations": "150 /s", "images": 4}, 60 / 600, "read_operations", 600.0),
        ({"read_operations": "9000 /min", "write_operations": "40 /s"}, 30 / 40, "write_operations", 40.0),
        ({"read_operations": "150 /s", "read_rate": "8 MB/s"}, 6e6 / 8e6, "read_rate", 8e6),
        ({"write_rate": "1 MB/s"}, 1.0, "write_rate", 1e6),
        # The device is busy for 0.7 % of the time, which is more than the 0.1 % of its very high rate limit.
        ({"write_operations": "30000 /s"}, 0.007, "busy", None),
        ({"read_operations": "many"}, 0.007, "busy", None),
    ],
)
def test_the_largest_share_is_the_utilization(
    declared: dict[str, Any], share: float, of: str, limit: float | None
) -> None:
    found = utilization(RATES, declared)
    assert found.utilization == pytest.approx(share)
    assert (found.utilization_of, found.utilization_limit) == (of, limit)


def test_what_was_not_measured_is_not_zero() -> None:
    assert utilization({}, {"read_operations": "150 /s"}) == Utilization()
    found = utilization({"busy_share": 0.3, "read_operations_per_s": None}, {"read_operations": "150 /s"})
    assert found == Utilization(0.3, "busy")


def test_bursts_above_the_limit_are_not_hidden() -> None:
    found = utilization({**RATES, "read_operations_per_s": 165.0}, {"read_operations": "150 /s"})
    assert found.utilization == pytest.approx(1.1)


@pytest.mark.parametrize(("read", "of"), [(89.0, "busy"), (90.0, "read_rate"), (96.0, "read_rate")])
def test_a_limit_that_is_reached_comes_before_a_busier_device(read: float, of: str) -> None:
    found = utilization({"busy_share": 0.97, "read_bytes_per_s": read * 1e6}, {"read_rate": "100 MB/s"})
    assert found.utilization_of == of
