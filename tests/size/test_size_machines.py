from __future__ import annotations

from pathlib import Path

import pytest

from towtank.errors import ModelError, StudyError
from towtank.filecheck import check_file
from towtank.sizing.machine_file import DiskFile, KernelFile, MachineEntry, MeasuredFile, RatingFile
from towtank.sizing.machines import SHIPPED, Machine, load_machines, machine_catalogue


def machine(
    name: str, cpus: int | None = 2, kernels: dict[str, tuple[float, float]] | None = None, **rating: float
) -> Machine:
    """Return a machine with the given ratings. Each kernel (benchmark program) has two exact values: on one CPU, and on
    all CPUs.
    """
    measured = None
    if kernels:
        each = {
            kernel: KernelFile.model_validate({"single": {"value": single}, "all": {"value": whole}})
            for kernel, (single, whole) in kernels.items()
        }
        measured = MeasuredFile(at="now", towtank="0.1.0", kernels=each)
    ratings = {scale: RatingFile(value=value) for scale, value in rating.items()}
    return Machine(name, cpus=cpus, ratings=ratings, measured=measured)


def test_mcu_ratio_is_the_published_one() -> None:
    """The published ratio of the two machines is 25900 / 17400 = 1.4885 (iSeries Performance Capabilities Reference
    V5R3, chapter 11).

    Towtank's ratio is per CPU; the machines have 4 and 6 CPUs.
    """
    machines = machine_catalogue()
    ratio = machines["iseries-570-0920"].speed_against(machines["iseries-825-2473"], "mcu")
    assert ratio.value * 4 / 6 == pytest.approx(1.4885, abs=5e-5)
    assert (ratio.low, ratio.high) == (ratio.value, ratio.value)
    assert any("without an interval" in note for note in ratio.notes)


def test_disks_are_compared_by_their_stated_operations() -> None:
    """The published operations per second of the two disks have the ratio 5773.35 / 465.67 = 12.4."""
    machines = machine_catalogue()
    ratio = machines["dng-rm-ssd"].speed_against(machines["dng-rm-hdd"], kernel="disk")
    assert ratio.value == pytest.approx(12.4, abs=0.01)


def test_every_machine_that_ships_names_its_source_and_no_price() -> None:
    machines = machine_catalogue()
    assert len(machines) > 60
    assert [entry.name for entry in machines.values() if not entry.source] == []
    assert [entry.name for entry in machines.values() if entry.price is not None] == []
    assert machines["iseries-595-largest"].ratings["cpw"].value == 165000


def test_generic_cpus_are_those_of_the_reference() -> None:
    for entry in load_machines(SHIPPED / "generic.yaml").values():
        assert entry.cpus is not None
        assert entry.ratings["towtank"].value == 100 * entry.cpus


def test_ratio_is_per_cpu_with_the_intervals_of_both() -> None:
    fast = Machine("fast", cpus=4, ratings={"towtank": RatingFile(value=800, low=760, high=820)})
    slow = Machine("slow", cpus=2, ratings={"towtank": RatingFile(value=200, low=190, high=210)})
    ratio = fast.speed_against(slow)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2.0, 760 / 210 / 2, 820 / 190 / 2))


def test_spread_over_kernels_widens_the_interval() -> None:
    """For a mix of kernels (benchmark programs), the speed ratio of two machines is between the lowest and the highest
    ratio of a kernel.
    """
    fast = machine("fast", kernels={"tls_handshake": (1, 300), "memory_triad": (1, 100)}, towtank=400)
    slow = machine("slow", kernels={"tls_handshake": (1, 100), "memory_triad": (1, 100)}, towtank=200)
    ratio = fast.speed_against(slow)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2.0, 1.0, 3.0))
    assert ratio.by_kernel == pytest.approx({"tls_handshake": 3.0, "memory_triad": 1.0})
    mixes = (0.1, 0.5, 0.9)
    times = [share * 1 / 3 + (1 - share) * 1 for share in mixes]
    assert all(ratio.low <= 1 / time <= ratio.high for time in times)


def test_speed_by_kernel_area_and_resource() -> None:
    kernels = {"sha_256_1k": (1.0, 80.0), "sha_256_16k": (1.0, 20.0), "disk_read": (1.0, 90.0)}
    fast = machine("fast", 4, kernels)
    slow = machine("slow", 2, dict.fromkeys(kernels, (1.0, 10.0)))
    assert fast.speed_against(slow, kernel="sha_256_1k").value == pytest.approx(4.0)
    area = fast.speed_against(slow, kernel="ciphers")
    assert (area.value, area.low, area.high) == pytest.approx((2.0, 1.0, 4.0))
    assert fast.speed_against(slow, kernel="cpu").value == pytest.approx(2.0)
    assert fast.speed_against(slow, kernel="disk").value == pytest.approx(9.0), (
        "the speed of a disk is not divided by the number of CPUs"
    )


def test_what_cannot_be_compared_is_refused() -> None:
    old, new = machine("old", cpw=100), machine("new", towtank=100)
    with pytest.raises(ModelError, match=r"new must have a rating on the scale 'cpw'.*got towtank") as caught:
        new.speed_against(old, "cpw")
    assert "no scale in common" in str(caught.value)
    with pytest.raises(ModelError, match="its number of CPUs is not stated"):
        machine("unknown", None, cpw=5).speed_against(old, "cpw")
    with pytest.raises(ModelError, match="not rated by `towtank rate`"):
        new.speed_against(old, kernel="ciphers")
    with pytest.raises(ModelError, match="did you mean 'ciphers'"):
        new.speed_against(old, kernel="cipher")
    with pytest.raises(ModelError, match="must be measured by `towtank rate`, or all have `operations`"):
        new.speed_against(old, kernel="disk")


def test_a_machine_of_several_disks_has_the_operations_of_all() -> None:
    def with_disks(name: str, count: int, each: float) -> Machine:
        return Machine(
            name, disks={"data": DiskFile.model_validate({"kind": "ssd", "count": count, "operations": f"{each} /s"})}
        )

    assert with_disks("many", 4, 100).speed_against(with_disks("one", 1, 100), kernel="disk").value == 4.0


def test_all_faults_of_a_file_at_their_places(tmp_path: Path) -> None:
    path = tmp_path / "machines.yaml"
    path.write_text(
        "schema: towtank/machine/1\n"
        "machines:\n"
        "  a:\n"
        "    cpus: 0\n"
        "    memory: 8\n"
        "    disks: {data: {kind: tape, operations: fast}}\n"
        "    network: 1 Gbps\n"
        "    ratings: {towtank: -5, cpw: {value: 10, low: 11, high: 12}, mcu: {value: 1, low: 1}}\n"
        "    price: {amount: 5, currency: EUR, per: week}\n"
        "  b: {cpus: 9, cores: 2, threads_per_core: 2, color: red}\n"
    )
    report = check_file(path)
    assert report.kind == "machine"
    found = {(fault.line, fault.where): fault.message for fault in report.faults}
    assert set(found) == {
        (4, "machines.a.cpus"),
        (5, "machines.a.memory"),
        (6, "machines.a.disks.data.kind"),
        (6, "machines.a.disks.data.operations"),
        (7, "machines.a.network"),
        (8, "machines.a.ratings.towtank"),
        (8, "machines.a.ratings.cpw"),
        (8, "machines.a.ratings.mcu"),
        (9, "machines.a.price.per"),
        (10, "machines.b.color"),
    }, report.faults
    assert all(message.startswith("must ") and "got" in message for message in found.values())


def test_a_file_without_machines_and_one_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "machines.yaml"
    path.write_text("schema: towtank/machine/1\nmachines: {}\n")
    assert [fault.where for fault in check_file(path).faults] == ["machines"]
    path.write_text("schema: towtank/machine/2\nmachines: {a: {}}\n")
    assert "towtank/machine/1" in check_file(path).faults[0].message


def test_machines_of_the_user_go_before(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "schema: towtank/machine/1\nsource: our list\nmachines:\n"
        "  generic-2x8: {cpus: 2, memory: 8 GiB, price: {amount: 41.5, currency: EUR, per: month}}\n"
        "  own: {cpus: 3, network: 125 MB/s, ratings: {ours: 7}, source: our word}\n"
    )
    machines = machine_catalogue(path)
    price = machines["generic-2x8"].price
    assert price is not None and (price.amount, price.currency) == (41.5, "EUR")
    assert (machines["generic-2x8"].source, machines["own"].source) == ("our list", "our word")
    assert machines["own"].network == 125e6
    assert "iseries-570-0920" in machines


def test_faults_of_several_files_come_together(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text("schema: towtank/machine/1\nmachines: {a: {cpus: x}}\n")
    with pytest.raises(StudyError) as caught:
        machine_catalogue([tmp_path / "one.yaml", tmp_path / "two.yaml"])
    assert len(caught.value.faults) == 2


def test_an_entry_survives_json() -> None:
    entry = MachineEntry.model_validate(
        {"cpus": 2, "memory": "8 GiB", "network": "1 Gbit/s", "disks": {"d": {"kind": "nvme", "throughput": "2 GB/s"}}}
    )
    assert MachineEntry.model_validate(entry.model_dump(mode="json", exclude_none=True)) == entry
