"""Arithmetic of a machine rating, on simulated measurements whose rates are known."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from rating_lines import lines

from towtank import yamlfile
from towtank.errors import EngineError, ModelError
from towtank.sizing.kernels import KERNELS, chosen, names
from towtank.sizing.machines import Machine, check_machines, load_machines, machine_catalogue
from towtank.sizing.rating import RatingEstimate, RatingMeasurement, capacity_units, coverage, kernel_estimates, ratings
from towtank.sizing.rating_document import (
    MachineComparison,
    RatedMachine,
    document_of_rating,
    machine_name,
    machine_text,
    reference_values,
)

REFERENCE = dict.fromkeys(KERNELS, 1000.0)
FACTS = {"name": "box-1.test", "cpu_model": "Some CPU", "memory_bytes": 8 << 30, "file_system": "ext4"}


def rated(**options: Any) -> RatedMachine:
    measurement = RatingMeasurement.of_lines(lines(**options))
    return RatedMachine.of(measurement, FACTS, "2026-01-31T12:00:00Z", REFERENCE)


def test_the_reference_machine_has_100_units_on_one_cpu_alone() -> None:
    got = ratings(kernel_estimates(RatingMeasurement.of_lines(lines())), REFERENCE)
    for scale in ("towtank", "towtank-disk"):
        assert got[scale].alone.value == pytest.approx(100, rel=1e-12)
        assert got[scale].whole.value == pytest.approx(200, rel=1e-12)


def test_every_area_counts_once_however_many_kernels_it_has() -> None:
    """Kernels belong to seven areas. If the machine is four times as fast in one area, its rating is 100 x 4^(1/7),
    whether this area has one kernel or six.
    """
    expected = 100 * 4 ** (1 / 7)
    for area in ("ciphers", "tls_handshake", "network"):
        vector = {name: 4000.0 if KERNELS[name].area == area else 1000.0 for name in KERNELS}
        assert capacity_units(vector, REFERENCE, "cpu") == pytest.approx(expected, rel=1e-12)
    assert len({kernel.area for kernel in chosen("cpu")}) == 7


def test_one_kernel_of_an_area_counts_its_share() -> None:
    vector = {**REFERENCE, "aes_256_gcm_1k": 64_000.0}
    assert capacity_units(vector, REFERENCE, "cpu") == pytest.approx(100 * 64 ** (1 / 42), rel=1e-12)


def test_ratio_of_two_machines_does_not_depend_on_the_reference() -> None:
    """The ratio of two ratings must not depend on the reference machine. Only the geometric mean has this property
    (Fleming and Wallace 1986).
    """
    fast = {name: 1000.0 + 37.0 * place for place, name in enumerate(KERNELS)}
    slow = {name: 900.0 - 11.0 * place for place, name in enumerate(KERNELS)}
    other = {name: 5.0 + 3.0 * place for place, name in enumerate(KERNELS)}
    by_one, by_other = (
        capacity_units(fast, reference, "cpu") / capacity_units(slow, reference, "cpu")
        for reference in (REFERENCE, other)
    )
    assert by_one == pytest.approx(by_other, rel=1e-12)


def test_the_disk_does_not_move_the_capacity_units() -> None:
    slow = {kernel.name: 1.0 for kernel in chosen("disk")}
    got = rated(single=slow, whole=slow).ratings
    assert got["towtank"].whole.value == pytest.approx(200, rel=1e-12)
    assert got["towtank-disk"].whole.value == pytest.approx(0.1, rel=1e-12)


def test_disturbed_slices_and_a_disturbed_round_move_no_value_but_the_interval() -> None:
    estimate = kernel_estimates(RatingMeasurement.of_lines(lines(factors=(1.0, 0.5, 1.0))))["tls_handshake"].single
    assert (estimate.value, estimate.low, estimate.high) == (1000.0, 500.0, 1000.0)
    rating = rated(factors=(1.0, 0.98, 1.01)).ratings["towtank"].whole
    assert (rating.value, rating.low, rating.high) == pytest.approx((200, 196, 202), rel=1e-12)


def test_coverage_is_what_counting_says() -> None:
    """The range of n rounds contains the true median except if all rounds are on one side of it: 2 of 2^n outcomes."""
    for rounds in range(2, 9):
        ways = list(product((False, True), repeat=rounds))
        inside = sum(1 for way in ways if any(way) and not all(way))
        assert coverage(rounds) == inside / len(ways)


def test_an_interval_holds_its_value() -> None:
    estimate = RatingEstimate.of_rounds([2.0, 3.0], value=4.0)
    assert (estimate.low, estimate.value, estimate.high) == (2.0, 4.0, 4.0)
    assert estimate.half_width == 0.25


def test_a_kernel_that_failed_leaves_its_scale_without_rating() -> None:
    got = rated(failed={"disk_read": "no way past the page cache"})
    assert set(got.ratings) == {"towtank"}
    document = document_of_rating(got)
    assert document["valid"] is True
    assert document["not_measured"] == {"disk_read": "no way past the page cache"}
    assert [doubt["kind"] for doubt in document["doubts"]] == ["not_measured"]
    missing = rated(failed={"web_serving": "no server"})
    assert missing.invalid_because == ["not_measured"]
    assert set(missing.ratings) == {"towtank-disk"}


def test_lines_that_break_off_are_no_measurement() -> None:
    for broken in ([], lines()[:-1], lines()[1:]):
        with pytest.raises(EngineError, match="ended before the last kernel"):
            RatingMeasurement.of_lines(broken)


def test_a_line_of_another_form_is_no_measurement() -> None:
    written = lines()
    written[1]["slices"] = "fast"
    with pytest.raises(EngineError, match="a line of the engine about a kernel is wrong: must be"):
        RatingMeasurement.of_lines(written)


DOUBTFUL = {
    "machine_busy": ({"conditions": {"programs_s": 1.06}}, True),
    "steal_time": ({"conditions": {"stolen_s": 0.06}}, True),
    "not_repeatable": ({"factors": (1.0, 1.2, 1.4)}, True),
    "unsteady_kernel": ({"factors": (1.0, 1.2, 1.4)}, True),
    "not_measured": ({"failed": {"file_sync": "no room"}}, False),
}


@pytest.mark.parametrize("kind", DOUBTFUL)
def test_doubts_are_reported(kind: str) -> None:
    options, invalid = DOUBTFUL[kind]
    got = rated(**options)
    assert kind in [str(doubt.kind) for doubt in got.doubts]
    assert bool(got.invalid_because) is invalid
    shown = next(doubt.document() for doubt in got.doubts if doubt.kind == kind)
    assert shown["why"] and shown["hint"]


def test_a_quiet_machine_has_no_doubts() -> None:
    assert rated().doubts == ()
    assert rated(conditions={"programs_s": 1.03, "stolen_s": 0.03}).doubts == ()


def test_other_doubts_about_the_machine() -> None:
    written = lines()
    for line in written[1:-1]:
        line["conditions"] = {**line["conditions"], "clock_steps_per_s": 1e9 * (1 + 0.1 * line["round"])}
    written[0]["memory_bytes"] = 64 << 20
    facts = {**FACTS, "file_system": "tmpfs", "cpu_limit": 1.5}
    got = RatedMachine.of(RatingMeasurement.of_lines(written), facts, "now", REFERENCE)
    assert [str(doubt.kind) for doubt in got.doubts] == ["clock_moved", "folder_in_memory", "small_memory", "cpu_limit"]
    assert got.invalid_because == []


def test_the_document_has_what_the_reference_says() -> None:
    document = document_of_rating(rated(factors=(1.0, 0.98, 1.01)))
    assert document["schema"] == "towtank/rating/1"
    assert document["ratings"]["towtank"]["per_cpu"] == pytest.approx({"value": 100, "low": 98, "high": 101}, rel=1e-12)
    assert document["coverage"] == 0.75
    assert document["areas"]["ciphers"] == pytest.approx({"scale": "towtank", "one_cpu_alone": 1, "whole": 2})
    assert list(document["kernels"]) == list(KERNELS)
    kernel = document["kernels"]["aes_256_gcm_1k"]
    assert (kernel["unit"], kernel["single"]["rounds"]) == ("bytes/s", [1000.0, 980.0, 1010.0])


def test_the_machine_file_is_one_and_gives_the_same_machine(tmp_path: Path) -> None:
    got = rated(factors=(1.0, 0.98, 1.01))
    path = tmp_path / "box.yaml"
    path.write_text(machine_text(got, machine_name(FACTS)))
    assert check_machines(yamlfile.load(path)) == []
    (machine,) = load_machines(path).values()
    assert (machine.name, machine.cpus, machine.memory) == ("box-1-test", 2, 8 << 30)
    assert machine.ratings["towtank"].value == pytest.approx(200)
    assert machine.measured is not None
    assert machine.measured.kernels["loopback_8k"].all.low == pytest.approx(1960)
    assert machine.measured.fingerprint["cpu_model"] == "Some CPU"


def test_a_machine_against_itself_is_as_fast() -> None:
    got = rated()
    answer = MachineComparison.of(got, got.machine("same")).document()
    for resource in ("cpu", "disk"):
        assert (answer[resource]["value"], answer[resource]["low"]) == pytest.approx((1.0, 1.0))


def test_against_a_machine_without_a_common_scale_is_refused() -> None:
    answer = MachineComparison.of(rated(), Machine("old", cpus=4)).document()
    assert "must have a rating on the scale 'towtank'" in answer["cpu"]["refused"]


def test_names_of_hosts_become_names_of_machines() -> None:
    assert machine_name({"name": "web01.example.org"}) == "web01-example-org"
    assert machine_name({"name": "10.0.0.1"}) == "machine-10-0-0-1"
    assert machine_name({}) == "machine"


def test_the_reference_that_ships_has_every_kernel() -> None:
    values = reference_values(machine_catalogue())
    assert set(values) == set(KERNELS)
    assert all(math.isfinite(value) and value > 0 for value in values.values())
    with pytest.raises(ModelError, match="must be in the catalogue"):
        reference_values({})


def test_the_reference_that_ships_rates_itself() -> None:
    """The published ratings of the reference machine must follow from the rates of its kernels."""
    machine = machine_catalogue()["towtank-reference"]
    assert machine.measured is not None
    reference = reference_values(machine_catalogue())
    whole = {name: kernel.all.value for name, kernel in machine.measured.kernels.items()}
    assert capacity_units(reference, reference, "cpu") == pytest.approx(100, rel=1e-12)
    assert capacity_units(whole, reference, "cpu") == pytest.approx(machine.ratings["towtank"].value, rel=1e-4)
    assert capacity_units(whole, reference, "disk") == pytest.approx(machine.ratings["towtank-disk"].value, rel=1e-4)


def test_every_name_of_kernels_stands_for_some() -> None:
    assert all(chosen(name) for name in names())
    assert chosen("nothing") == []
