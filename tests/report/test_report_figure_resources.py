"""Figures of CPU use by tier, and of disk transfers."""

from __future__ import annotations

from typing import Any

import pytest
import report_synthetic as synthetic
from drawn_figures import find, texts, with_cpus

from towtank.analysis import RunSummary
from towtank.report.figures import cpu_by_tier, disk
from towtank.report.pictures import static_svg


def test_disk_gathers_reads_and_writes() -> None:
    numbers = disk.compute(synthetic.results())
    assert find(numbers.points["read"], "search_index present", 60).value == 60_000
    assert find(numbers.points["write"], "search_index present", 60).value == 1_800_000
    assert numbers.unit == "MiB"


def test_disk_of_an_invalid_run_sums_its_disks() -> None:
    summary = {"host": {"disks": {"a": {"read_bytes_per_s": 1.0}, "b": {"read_bytes_per_s": 2.5}}}}
    assert disk.disks_total("read_bytes_per_s", RunSummary.read(summary)).value == 3.5
    assert disk.disks_total("write_bytes_per_s", RunSummary.read(summary)).value is None


def test_cpu_splits_a_tier_into_its_parts_and_the_rest() -> None:
    numbers = cpu_by_tier.compute(synthetic.results())
    at_top = {s.part: s.cpus for s in numbers.slices if s.configuration == "search_index absent" and s.load == 120}
    # The tier uses its only CPU fully. The database uses 60 % of this CPU.
    assert at_top == {"content: database": pytest.approx(0.6), "content: rest": pytest.approx(0.4)}
    assert numbers.capacity == 1


def test_a_tier_with_a_limit_of_its_own_is_not_drawn_below_the_cpus_of_the_whole_system() -> None:
    results = with_cpus(synthetic.results(), 0.5)
    for configuration in results.summary["configurations"]:
        for point in configuration["points"]:
            point["tiers"]["content"]["utilization"] = 0.81
    assert cpu_by_tier.compute(results).capacity is None
    figure = cpu_by_tier.figure(results)
    assert figure is not None
    assert "content may use 0.500 CPUs and used at most 81.0 % of them." in figure.note
    assert "of the system" not in " ".join(texts(static_svg(figure.spec or {})))
    assert cpu_by_tier.compute(with_cpus(synthetic.results(), 1.0)).capacity == 1


def test_long_labels_of_configurations_are_not_cut_in_the_figure_of_cpu() -> None:
    labels = ["rows base, query probe, database postgresql", "rows tenfold, query probe, database postgresql"]
    slices = [cpu_by_tier.Slice(label, 30.0, "database", 1.0, None, "valid") for label in labels]
    spec: Any = cpu_by_tier.draw(cpu_by_tier.Numbers(slices, None, "users", [], [30.0]))
    (bars,) = spec["layer"]
    assert bars["encoding"]["y"]["axis"]["labelLimit"] == 7 * len(labels[1])
    assert set(labels) <= set(texts(static_svg(spec)))


def test_cpu_of_a_tier_without_parts_stays_whole() -> None:
    results = synthetic.results()
    for configuration in results.summary["configurations"]:
        for point in configuration["points"]:
            del point["tiers"]["content"]["parts"]
    assert {part_of_cpu.part for part_of_cpu in cpu_by_tier.compute(results).slices} == {"content"}


def test_cpu_part_above_its_tier_leaves_no_negative_rest() -> None:
    results = synthetic.results(levels=(30,))
    point = results.summary["configurations"][0]["points"][0]
    point["tiers"]["content"]["parts"]["database"]["cpus_used"] = synthetic.estimate(2.0)
    assert min(part_of_cpu.cpus for part_of_cpu in cpu_by_tier.compute(results).slices) == 0.0
