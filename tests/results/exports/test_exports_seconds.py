"""Records of several load threads are merged into one record per second."""

from __future__ import annotations

from typing import Any

import pytest

from towtank.results import lines, segments
from towtank.results.exports.material import Material, RunMaterial
from towtank.results.exports.seconds import SecondItem, combine_second, seconds, total
from towtank.results.folder import RunFolder
from towtank.results.manifests import RunManifest
from towtank.results.recording import RecordedInterval, Recording
from towtank.results.stream_forms import RecordedStage, SegmentHeader

NAMES = {"transaction": ["read"], "page": [], "step": ["read / one", "read / two"]}


def series(of: str = "step", number: int = 0, **counts: Any) -> dict[str, Any]:
    return {"of": of, "id": number, **counts}


def interval(thread: int, start_s: float, end_s: float, *found: dict[str, Any], **more: Any) -> RecordedInterval:
    times = {"t0_ns": round(start_s * 1e9), "t1_ns": round(end_s * 1e9), "user_ns": 0, "cpu_ns": 0}
    given = {**times, "stage": 0, "users": 1, "in_flight": 0, "series": list(found), **more}
    return segments.interval(given, thread)


def test_counts_of_threads_are_added_up_by_kind() -> None:
    one = series(ok=1, failed={"timeout": 2}, not_started={"late": 1}, status_codes={"200": 1, "500": 2}, response="a")
    two = series(ok=3, failed={"timeout": 1, "check": 4}, status_codes={"200": 3}, bytes_in=5, response="b")
    (item,) = combine_second([interval(0, 0, 1, one), interval(1, 0, 1, two)], RecordedStage(), NAMES).items
    assert (item.name, item.ok, item.failed, item.not_started) == (
        "read / one", 4, {"timeout": 3, "check": 4}, {"late": 1},
    )  # fmt: skip
    assert (item.status_codes, item.ended, item.bytes_in, item.response) == ({200: 4, 500: 2}, 11, 5, ["a", "b"])


def test_status_codes_that_a_thread_did_not_record_are_unknown() -> None:
    parts = [interval(0, 0, 1, series(status_codes={"200": 1})), interval(1, 0, 1, series())]
    assert combine_second(parts, RecordedStage(), NAMES).items[0].status_codes is None
    assert combine_second(parts[:1], RecordedStage(), NAMES).items[0].status_codes == {200: 1}


def test_users_are_the_mean_over_the_second() -> None:
    parts = [interval(0, 2, 2.5, user_ns=10**9, in_flight=2), interval(1, 2, 2.5, user_ns=5 * 10**8, in_flight=3)]
    found = combine_second(parts, RecordedStage(name="steady 5", phase="steady"), NAMES)
    assert (found.users, found.in_flight, found.stage, found.phase) == (3.0, 5, "steady 5", "steady")
    assert combine_second([interval(0, 2, 2, user_ns=10**9)], RecordedStage(), NAMES).users == 0.0


@pytest.mark.parametrize(
    ("of", "number", "name"),
    [
        ("step", 1, "read / two"),
        ("step", 2, "step 2"),
        ("transaction", 0, "read"),
        ("page", 0, "page 0"),
        ("new", 1, "new 1"),
    ],
)
def test_an_item_without_a_name_has_its_number(of: str, number: int, name: str) -> None:
    (item,) = combine_second([interval(0, 0, 1, series(of, number))], RecordedStage(), NAMES).items
    assert item.name == name


def test_transactions_come_before_pages_steps_and_other_items() -> None:
    found = [series("new"), series("step", 1), series("step", 0), series("page"), series("transaction")]
    items = combine_second([interval(0, 0, 1, *found)], RecordedStage(), NAMES).items
    assert [item.name for item in items] == ["read", "page 0", "read / one", "read / two", "new 0"]


def test_a_second_that_two_stages_share_is_divided() -> None:
    header = SegmentHeader(
        stages=[RecordedStage(name="up", phase="ramp_up"), RecordedStage(name="steady", phase="steady")]
    )
    parts = [(0, 1, 0), (1, 1.5, 0), (1.5, 2, 1), (2, 3, 1), (3, 4, 2)]
    recording = Recording(header, [interval(0, start, end, stage=stage) for start, end, stage in parts])
    found = [(second.start_s, second.end_s, second.stage) for second in seconds(recording)]
    assert found == [(0, 1, "up"), (1, 1.5, "up"), (1.5, 2, "steady"), (2, 3, "steady"), (3, 4, "")]


def test_the_sum_of_items_has_the_counts_of_all() -> None:
    whole = total([SecondItem("step", "a", ok=1, failed={"x": 2}), SecondItem("step", "b", ok=3)], "all", "both")
    assert (whole.of, whole.name, whole.ok, whole.failed, whole.ended) == ("all", "both", 4, {"x": 2}, 6)
    assert total([], "all", "none").ended == 0


class Histograms:
    """Stand-in for the reader of histograms. `unreadable` is the number of histograms that could not be read."""

    unreadable = 0


def material(run: RunMaterial, unreadable: int) -> Material:
    histograms = Histograms()
    histograms.unreadable = unreadable
    return Material(run.folder.path, "t", "s", "1", [run], [], {}, histograms)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("damage", "unreadable", "warnings"),
    [
        (lines.Damage(), 0, []),
        (lines.Damage(torn_tail=True), 0, ["r001: skipped a torn last line"]),
        (lines.Damage(bad_lines=1), 0, ["r001: skipped 1 damaged line"]),
        (lines.Damage(True, 2), 0, ["r001: skipped 2 damaged lines and a torn last line"]),
        (lines.Damage(), 1, ["1 histogram could not be read: left out"]),
    ],
)
def test_what_an_export_left_out_is_said(tmp_path, damage: lines.Damage, unreadable: int, warnings: list[str]) -> None:
    run = RunMaterial(RunFolder(tmp_path / "r001"), RunManifest(), {}, recorded=True, damage=damage)
    assert material(run, unreadable).warnings() == warnings


@pytest.mark.parametrize(
    ("manifest", "length_s"),
    [
        ({"started_wall_ns": 10**9, "ended_wall_ns": 3 * 10**9}, 2.0),
        ({"started_wall_ns": 10**9, "ended_wall_ns": None}, None),
        ({"ended_wall_ns": 10**9}, None),
    ],
)
def test_a_run_has_a_length_when_it_has_ended(tmp_path, manifest: dict[str, Any], length_s: float | None) -> None:
    run = RunMaterial(
        RunFolder(tmp_path), RunManifest.model_validate(manifest), {}, recorded=True, damage=lines.Damage()
    )
    assert run.seconds == length_s
    assert run.wall_ns(Recording(SegmentHeader(wall_ns=7))) == 7
    assert run.wall_ns(Recording()) == manifest.get("started_wall_ns")


def test_a_second_has_the_intervals_whose_middle_lies_in_it() -> None:
    """A second contains the intervals whose middle lies in it, and extends from the first start to the last end.

    Threads write their intervals at slightly different times, and a stage may begin within a second.
    """
    times = [(0, 1.0, 2.0), (1, 1.02, 1.98), (0, 2.0, 2.4), (1, 2.1, 2.9), (0, 2.4, 3.0), (1, 2.9, 3.3)]
    parts = [interval(thread, start, end, series(ok=1)) for thread, start, end in times]
    found = list(seconds(Recording(None, parts)))
    assert [(each.start_s, each.end_s, each.items[0].ok) for each in found] == [
        (1.0, 2.0, 2),
        (2.0, 3.0, 3),
        (2.9, 3.3, 1),
    ]
