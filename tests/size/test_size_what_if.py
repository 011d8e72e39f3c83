from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from towtank.model import Service, Station
from towtank.sizing import what_if
from towtank.sizing.load import Load
from towtank.sizing.tiers import Option, Tier
from towtank.sizing.what_if import Variant, read_what_if

STATIONS = {
    "app": Station("app", servers=2, services=[Service("web", None, 0.04)]),
    "disk": Station("disk", services=[Service("web", 2.0, 0.01)]),
}


def question(**load: Any) -> Any:
    tiers = (Tier("app", ("app",), (Option(1, 2),)), Tier("data", ("disk",), (Option(1, 1),), kind="disk"))
    basis = SimpleNamespace(stations=STATIONS, transactions={}, source="x")
    kinds = {"ssd": SimpleNamespace(service_time=0.002)}
    file = SimpleNamespace(disk_kinds=kinds, hit_ratios={})
    given = {"users": {"web": 30.0, "batch": 10.0}, "rate": {}, "think_s": {"web": 2.0, "batch": 1.0}, **load}
    return SimpleNamespace(tiers=tiers, basis=basis, file=file, load=Load(**given))


def changed(text: str, **load: Any) -> Variant:
    asked = question(**load)
    return read_what_if(text, asked)(Variant(tuple(tier.options[0] for tier in asked.tiers), asked.load))


def test_a_what_if_changes_the_hardware_of_its_tier() -> None:
    found = changed("cpu x1.5, cpus app=4, nodes data=3, disk of data x2, disk data=ssd")
    app, data = found.candidate
    assert (app.speed, app.speed_low, app.speed_high, app.cpus, app.nodes) == (1.5, 1.5, 1.5, 4, 1)
    assert (data.speed, data.nodes, data.cpus) == (2.0, 3, 1)
    assert found.demand == {("disk", "web"): pytest.approx(0.2)}
    assert changed("demand app x0.5, demand app x0.5, demand app.web x2").demand == {
        ("app", None): 0.25, ("app", "web"): 2.0,
    }  # fmt: skip


def test_a_what_if_changes_the_load_in_the_same_mix() -> None:
    assert changed("users 80").load.users == {"web": 60.0, "batch": 20.0}
    assert changed("users web=80").load.users == {"web": 80.0, "batch": 10.0}
    assert (changed("users 80").grows, changed("think 5 s").grows) == (False, True)
    assert changed("think web=5 s").load.think_s == {"web": 5.0, "batch": 1.0}
    assert changed("think 5 s").load.think_s == {"web": 5.0, "batch": 5.0}


@pytest.mark.parametrize(
    "text",
    [
        "nodes app=0", "nodes app=100001", "cpus app=0", "users 0", "users 1000000001", "users web=1.5", "cpu x0",
        "rate 5 /s", "nodes app", "faster", "as it was", "cpu of data x2", "disk data=hdd", "demand app.batch x2",
    ],
)  # fmt: skip
def test_a_what_if_beyond_its_bounds_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        read_what_if(text, question())


def test_a_what_if_at_its_bounds_is_read() -> None:
    assert changed("nodes app=100000").candidate[0].nodes == 100_000
    assert changed("users web=1000000000").load.users["web"] == 1e9
    assert changed("nodes app=1").candidate[0].nodes == 1


@pytest.mark.parametrize("text", ["rate 0 /s", "rate web=0 /s"])
def test_a_rate_of_a_what_if_is_above_zero(text: str) -> None:
    with pytest.raises(ValueError, match="must be a rate above 0"):
        read_what_if(text, question(users={}, rate={"web": 5.0}))
    assert changed("rate 10 /s", users={}, rate={"web": 4.0, "batch": 1.0}).load.rate == {"web": 8.0, "batch": 2.0}


def test_places_of_faults_in_a_what_if_are_counted_from_one() -> None:
    with pytest.raises(ValueError, match=r"character 12 of"):
        read_what_if("cpu x1.5,  cpu x0", question())


def test_a_mix_of_a_what_if_adds_up_to_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(what_if, "mixed_names", lambda _basis: ["web", "batch"])
    assert changed("mix web=25 % batch=75 %").load.users == {"web": 10.0, "batch": 30.0}
    assert changed("mix web=100 %").load.users == {"web": 40.0, "batch": 0.0}
    for text in ("mix web=25 % batch=74 %", "mix web=25 % batch=76 %", "mix", "mix web=100 % more"):
        with pytest.raises(ValueError, match="must be"):
            read_what_if(text, question())
    with pytest.raises(ValueError, match="of one kind"):
        read_what_if("mix web=100 %", question(rate={"x": 1.0}))


def test_a_single_tier_needs_no_name() -> None:
    asked = question()
    asked.tiers = asked.tiers[:1]
    assert read_what_if("nodes 3", asked)(Variant((Option(1, 2),), asked.load)).candidate == (Option(3, 2),)
    with pytest.raises(ValueError, match="must name the tier"):
        read_what_if("nodes 3", question())
