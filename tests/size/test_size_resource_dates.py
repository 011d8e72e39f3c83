from __future__ import annotations

import math
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sizing import sized, written

from towtank.cli import main
from towtank.sizing.quantities import YEAR_D
from towtank.sizing.resources import memory_of

MODEL = """
classes:
  web: {rate: 10 /s}
stations:
  app: {servers: 2, discipline: ps, demand: 20 ms}
  store: {servers: 1, demand: 5 ms}
"""
START = date(2026, 1, 1)
MACHINES = """
schema: towtank/machine/1
machines:
  old: {cpus: 2, memory: 4 GiB, ratings: {towtank: 400}, price: {amount: 1, currency: EUR, per: month}}
  new: {cpus: 2, memory: 8 GiB, ratings: {towtank: 400}, price: {amount: 2, currency: EUR, per: month}}
"""


def question(tmp_path: Path, *lines: str) -> tuple[str, str, str]:
    text = "\n".join(["schema: towtank/sizing/1", "objectives: [mean < 5 s]", *lines]) + "\n"
    return written(tmp_path, "model.yaml", MODEL), "--for", written(tmp_path, "sizing.yaml", text)


def row(found: dict[str, Any], what: str) -> dict[str, Any]:
    return next(each for each in found["dates"] if each["what"] == what)


def days(text: str) -> int:
    return (date.fromisoformat(text) - START).days


DISKS = (
    "load: {growth: 0 % / year, horizon: 3 years, start: 2026-01-01}",
    "data: {now: 100 GiB, growth: 50 % / year, free: 20 %, copies: 2}",
    "tiers: {app: {cpus: 1..4}, store: {kind: disk, cpus: 1..20, disk_size: 375 GiB, price: 10}}",
)


def test_a_disk_that_fills_up_has_a_date_of_its_own(tmp_path: Path, capsys: Any) -> None:
    """One disk of 375 GiB, of which 20 % stay free, holds 150 GiB of data in two copies. These are 1.5 times the 100
    GiB of today; a growth of 50 % a year reaches this after one year. The load does not grow and reaches no limit.

    After three years, 337.5 GiB of data need 843.75 GiB of disk space, which are three disks. They hold 4.5 times the
    data of today.
    """
    found = sized(capsys, *question(tmp_path, *(line.replace("price: 10", "price: 1") for line in DISKS)))
    assert row(found, "the hardware of the model")["missed_from"] is None
    one = row(found, "the hardware of the model: data on store (1 disk)")
    assert days(one["missed_from"]) == pytest.approx(YEAR_D, abs=1)
    assert one["limit"] == pytest.approx(150 * 2**30)
    assert one["unit"] == "byte"
    assert one["expected_on"] == one["missed_from"]
    three = row(found, "the answer: data on store (3 disks)")
    assert days(three["missed_from"]) == pytest.approx(YEAR_D * math.log(4.5) / math.log(1.5), abs=1)
    assert days(three["missed_from"]) > 3 * YEAR_D


def test_dates_of_disks_are_printed(tmp_path: Path, capsys: Any) -> None:
    assert main(["size", *question(tmp_path, *DISKS)]) == 0
    printed = capsys.readouterr().out
    assert "data on store" in printed
    assert "150 GiB" in printed


def test_data_grow_like_a_load_on_a_straight_line(tmp_path: Path, capsys: Any) -> None:
    """A load that grew on a line from 1,000 to 4,000 in three years is 7,000 after three more years. Data that grow in
    the same way are then 1.75 times as much, and twice as much after four years.

    With the growth factor of one year to the third power, the data would be 1.95 times as much.
    """
    rows = [f"{START + timedelta(days=day)},{1000 + 3000 * day / 1095:.6f}" for day in range(0, 1096, 5)]
    written(tmp_path, "history.csv", "\n".join(["date,users", *rows]) + "\n")
    found = sized(
        capsys,
        *question(
            tmp_path,
            "load: {rate: 10 /s, history: {csv: history.csv}, horizon: 3 years}",
            "data: {now: 400 GiB, free: 0 %}",
            "tiers: {app: {cpus: 1..8}, store: {kind: disk, cpus: 1..8, disk_size: 800 GiB}}",
        ),
    )
    grown = next(step for step in found["steps"] if step["step"] == "data at the horizon")
    assert grown["with"]["g"] == pytest.approx(1.75, rel=2e-3)
    full = row(found, "the hardware of the model: data on store (1 disk)")
    assert (date.fromisoformat(full["missed_from"]) - START).days - 1095 == pytest.approx(4 * 365, abs=5)


def test_memory_that_is_too_small_one_day_has_a_date(tmp_path: Path, capsys: Any) -> None:
    """A program of 2 GiB and an index of a tenth of the data need 4 GiB if there are 20 GiB of data.

    This is twice the data of today, so it is reached after one year with a growth of 100 %. With 60 GiB of data, 8 GiB
    of memory are full.
    """
    written(tmp_path, "machines.yaml", MACHINES)
    found = sized(
        capsys,
        *question(
            tmp_path,
            "load: {growth: 0 % / year, horizon: 18 months, start: 2026-01-01}",
            "data: {now: 10 GiB, growth: 100 % / year}",
            "memory: {app: [{what: program, size: 2 GiB}, {what: index, share: 10 %}]}",
            "memory_free: 0 %",
            "machine_files: [machines.yaml]",
            "measured_on: old",
            "tiers: {app: {machines: [old, new]}}",
        ),
    )
    old = row(found, "the hardware of the model: memory of a node of app")
    assert days(old["missed_from"]) == pytest.approx(YEAR_D, abs=1)
    new = row(found, "the answer: memory of a node of app")
    assert found["answer"]["tiers"]["app"]["machine"] == "new"
    assert days(new["missed_from"]) == pytest.approx(YEAR_D * math.log2(6), abs=1)


def test_memory_by_transaction_follows_the_load(tmp_path: Path, capsys: Any) -> None:
    """An M/M/1 queue with a service time of 20 ms holds rho / (1 - rho) transactions, which are 0.25 today at 10 /s. It
    holds one transaction at rho = 0.5, when the load is 2.5 times that of today. Only transactions need memory, 1 GiB
    each, so 1 GiB is full on that day, after ln 2.5 / ln 2 = 1.32 years of 100 % growth.

    With the interval of the growth from 50 % to 150 %, the date has an interval: the load is 2.5 times that of today
    after ln 2.5 / ln 2.5 = 1 year at the earliest, and after ln 2.5 / ln 1.5 years at the latest.
    """
    model = MODEL.replace("servers: 2, discipline: ps", "servers: 1").replace(
        "  store: {servers: 1, demand: 5 ms}\n", ""
    )
    machines = MACHINES.replace("cpus: 2, memory: 4 GiB", "cpus: 1, memory: 1 GiB")
    written(tmp_path, "machines.yaml", machines)
    arguments = question(
        tmp_path,
        "load: {growth: 100 % / year, growth_interval: [50 % / year, 150 % / year], horizon: 6 months, "
        "start: 2026-01-01}",
        "memory: {app: [{what: work, size: 1 GiB, per: transaction}]}",
        "memory_free: 0 %",
        "machine_files: [machines.yaml]",
        "measured_on: old",
        "tiers: {app: {machines: [old]}}",
    )
    written(tmp_path, "model.yaml", model)
    found = row(sized(capsys, *arguments), "the answer: memory of a node of app")
    assert days(found["expected_on"]) == pytest.approx(YEAR_D * math.log2(2.5), abs=1)
    assert days(found["expected_interval"]["low"]) == pytest.approx(YEAR_D, abs=1)
    assert days(found["expected_interval"]["high"]) == pytest.approx(YEAR_D * math.log(2.5) / math.log(1.5), abs=1)
    assert days(found["expected_interval"]["low"]) < days(found["missed_from"]) < days(found["expected_on"])
    # The probability is 90 %, so the memory is too small as soon as the 90 % quantile of the growth needs it.
    assert found["chance"] == 0.1
    score = 1.2815515655446004 / 1.959963984540054
    fast = math.log(2.0) + score * math.log(2.5 / 2.0)
    assert days(found["missed_from"]) == pytest.approx(YEAR_D * math.log(2.5) / fast, abs=1)


@pytest.mark.parametrize(("peak", "growth"), [("", 2.5), ("peak: 2, ", 1.25)])
def test_the_date_of_a_limit_is_that_of_the_load_of_today_that_grows(
    tmp_path: Path, capsys: Any, peak: str, growth: float
) -> None:
    """The limit is reached when the load of today, which grows by 20 % a year, is 25 /s.

    R = 20 ms / (1 - rho) is 40 ms, the limit of the objective, at rho = 0.5, which is 25 /s. The load of today is 10
    /s, or 20 /s at its peak. The sizing is for the load in two years, but the date must not count growth twice.
    """
    text = (
        f"schema: towtank/sizing/1\nobjectives: [mean < 40 ms]\nload: {{{peak}growth: 20 % / year, horizon: 2 years, "
    )
    text += "start: 2026-01-01}\ntiers: {app: {cpus: [1, 2]}}\n"
    model = "classes: {web: {rate: 10 /s}}\nstations:\n  app: {servers: 1, discipline: ps, demand: 20 ms}\n"
    arguments = written(tmp_path, "model.yaml", model), "--for", written(tmp_path, "sizing.yaml", text)
    found = row(sized(capsys, *arguments), "the hardware of the model")
    assert (found["limit"], found["unit"]) == (pytest.approx(25.0, rel=2e-3), "1/s")
    assert (
        days(found["missed_from"]) == found["days"] == pytest.approx(YEAR_D * math.log(growth) / math.log(1.2), abs=4)
    )
    assert found["expected_on"] == found["missed_from"]
    assert found["expected_interval"] is None


@pytest.mark.parametrize(
    ("per", "lost", "size"),
    [
        ("user", None, 10.0),
        ("user", "app", 15.0),
        ("user", "db", 10.0),
        ("transaction", "app", 3.0),
        ("cpu", "app", 4.0),
    ],
)
def test_the_nodes_that_are_left_share_what_the_load_needs(per: str, lost: str | None, size: float) -> None:
    """30 users and 6 transactions are on three nodes of `app`. If one of these nodes is lost, two nodes share them.

    If a node of another tier is lost, three nodes still share them.
    """
    entry = SimpleNamespace(what="x", per=per, size=1, share=None)
    file = SimpleNamespace(nodes_lost=1, memory={"app": [entry]}, memory_free=0.2, keep_alive=None)
    load = SimpleNamespace(users={"web": 20, "mobile": 10})
    outcome = SimpleNamespace(
        job=SimpleNamespace(lost=lost, load=load), present={"web": 4.0, "mobile": 2.0}, throughput={}, response_s={}
    )
    given: Any = (SimpleNamespace(file=file), SimpleNamespace(name="app"), SimpleNamespace(nodes=3, cpus=4), outcome)
    need = memory_of(*given)
    assert need.parts == {"x": pytest.approx(size)}
    assert need.total == pytest.approx(size / 0.8)
