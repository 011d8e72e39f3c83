"""Random prefix in the names of all kernel objects of a system (namespaces, devices, control groups)."""

from __future__ import annotations

import pytest

from towtank.system.hosts.prefix import PREFIX, host_of_group, new_prefix


def test_prefixes_are_drawn_by_the_pattern() -> None:
    drawn = {new_prefix() for _ in range(20)}
    assert len(drawn) > 1
    assert all(PREFIX.fullmatch(prefix) for prefix in drawn)


@pytest.mark.parametrize(
    ("group", "host"),
    [
        ("/PREFIX/store", "store"),
        ("/user.slice/PREFIX/web-1", "web-1"),
        ("/PREFIX", None),
        ("/PREFIX/store/limited", None),
        ("/towtank-service/store", None),
        ("/system.slice/shop.service", None),
    ],
)
def test_a_control_group_of_a_host_has_its_name(group: str, host: str | None) -> None:
    assert host_of_group(group.replace("PREFIX", new_prefix())) == host
