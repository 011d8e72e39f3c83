from __future__ import annotations

import re
from pathlib import Path

import pytest
from small_study import STUDY_WITH_CLAIMS, Files, write_files

from towtank.claim_bounds import NumberBounds
from towtank.cli import main
from towtank.errors import StudyError
from towtank.study import load_study
from towtank.study.claim_holds import AtLevels, TrendDirection, read_holds
from towtank.study.claim_metrics import read_metric, unit_of_metric
from towtank.study.claims import Claim


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """The files of the small study, with claims added."""
    written = write_files(tmp_path)
    written.study.write_text(STUDY_WITH_CLAIMS, "utf-8")
    return written


def with_claim(files: Files, old: str, new: str) -> Path:
    files.edit("study", old, new)
    return files.study


def test_claims_are_read_and_go_into_the_manifest(files: Files) -> None:
    described = load_study(files.study).describe()["claims"]
    assert [claim["says"] for claim in described] == [
        "Without the index, views take longer.",
        "Users lengthen it.",
        "A JVM would help.",
    ]
    again = [Claim.model_validate(claim) for claim in described]
    assert again == load_study(files.study).study.claims
    assert described[1]["measure"]["trend"]["allow"] == "5 %"


def test_a_required_claim_goes_into_the_manifest(files: Files) -> None:
    files.edit("study", "says: Users lengthen it.", "says: Users lengthen it.\n    required: true")
    described = load_study(files.study).describe()["claims"]
    assert [claim.get("required") for claim in described] == [None, True, None]


@pytest.mark.parametrize("key", ["then", "otherwise"])
def test_consequences_go_into_the_manifest_and_need_a_measure(files: Files, key: str) -> None:
    files.edit("study", "says: Users lengthen it.", f"says: Users lengthen it.\n    {key}: Add a node.")
    assert [claim.get(key) for claim in load_study(files.study).describe()["claims"]] == [None, "Add a node.", None]
    files.edit("study", "says: A JVM would help.", f"says: A JVM would help.\n    {key}: Take it.")
    with pytest.raises(StudyError, match=f"{key}: must not be given together with not_testable"):
        load_study(files.study)


def test_a_level_of_another_preset_is_a_level(files: Files) -> None:
    path = with_claim(files, "users: all", "users: 100")
    for preset in (None, "quick", "full"):
        assert load_study(path, preset).study.claims[0].measure is not None


def test_a_level_that_is_called_all_is_one_level(files: Files) -> None:
    files.edit("study", "    absent: {", "    all: {")
    files.edit("study", "search_index: absent, users: all", "search_index: all, users: 10")
    assert load_study(files.study).study.claims[0].measure is not None


@pytest.mark.parametrize("before", ["stored", "stored.kinds.documents"])
def test_the_earlier_name_of_a_count_is_read(before: str) -> None:
    assert (
        read_metric(before + "." + "told")
        == read_metric(f"{before}.acknowledged")
        == (*before.split("."), "acknowledged")
    )


FAULTS = [
    ("search_index: absent", "⟦serch_index: absent", "must be a factor of the study", "did you mean 'search_index'"),
    ("search_index: absent", "search_index: ⟦absend", "a level of search_index", "did you mean 'absent'"),
    ("users: all", "users: ⟦999", "a level of users (10, 20, 100)", "'999'"),
    ("users: all", "users: [10, ⟦11]", "a level of users", "'11'"),
    (", users: all", "", "must name a level of users in `at`"),
    ("to: {search_index: present}", "⟦to: {search_index: absent}", "must name a level that differs from `at`"),
    ("to: {search_index: present}", "to: {⟦users: 10}", "names one level"),
    (
        "at: {search_index: present}}}\n    holds: r",
        "at: {search_index: present}, ⟦to: {search_index: present}}}\n    holds: r",
        "must name a level that differs from `at`",
    ),
    ("mean of view,", "⟦mean of viev,", "transaction of the study", "did you mean 'view'"),
    ("mean of view,", "⟦meen of view,", "must be one of mean, min", "path of the summary"),
    ("mean of view,", "⟦tiers.kontent.cpus_used,", "service of the study (content)", "did you mean 'content'"),
    ("mean of view,", "⟦tiers.content.cpu_used,", "did you mean 'tiers.content.cpus_used'"),
    ("mean of view,", "⟦balance.kontent.fairness,", "service of the study (content)", "did you mean 'content'"),
    ("mean of view,", "⟦events.lost.recovery_s,", "about an event of the study (it has none), got 'lost'"),
    ("mean of view,", "⟦p99 of view in ramp_up,", "no other values of phases are stored"),
    ("mean of view,", "mean of view, per: ⟦loat,", "must be one of mean, min"),
    ('"> 1.5"', "⟦1.5", "must be '> NUMBER'"),
    ('"> 1.5"', "⟦between 2 and 1", "a smaller and a larger number"),
    ('"> 1.5"', '⟦"> many"', "a bound such as 1.1 or 70 %"),
    ("holds: rises", "holds: ⟦raises", "rises, falls, stays", "did you mean 'rises'"),
    ("mean of view,", "mean of view, total_over: ⟦user,", "must be a factor of the study", "did you mean 'users'"),
    ("users: all}", "users: ⟦10}, total_over: users", "must be several levels"),
    ("mean of view,", "⟦p95 of view, total_over: users,", "must be a quantity that can be added up"),
    ("mean of view,", "⟦tiers.content.utilization, total_over: users,", "must be a quantity that can be added up"),
    ("at: {search_index: absent, users: all}", "at: {users: all}, total_over: search_index", "must not be named here"),
    ("over: users", "over: ⟦user", "must be a factor of the study", "did you mean 'users'"),
    (
        "at: {search_index: present}}}\n    holds: r",
        "at: {⟦users: 10}}}\n    holds: r",
        "all its levels are compared",
    ),
    (
        "at: {search_index: present}}}\n    holds: r",
        "at: {search_index: ⟦all}}}\n    holds: r",
        "must be one level here",
    ),
    ("    holds: rises\n", "", "must have the key 'holds'"),
    ("not_testable: no node runs on one", "source: none", "'measure' or 'not_testable'"),
    ("not_testable: no node", "⟦holds: rises\n    not_testable: no node", "together with not_testable"),
    ("not_testable: no node", "⟦required: true\n    not_testable: no node", "together with not_testable"),
    ("{trend: {of", "{value: {of: p95}, trend: {of", "one of the keys value, ratio", "value and trend"),
    ("{trend: {of", "{⟦trent: {of", "did you mean 'trend'"),
    ("says: Users", "⟦claims: Users", "unknown key 'claims'"),
]


@pytest.mark.parametrize("case", FAULTS, ids=[f"{number}_{case[2][:30]}" for number, case in enumerate(FAULTS)])
def test_faults_of_claims_are_reported_at_their_places(
    case: tuple[str, ...], files: Files, capfd: pytest.CaptureFixture[str]
) -> None:
    old, new, *words = case
    path = with_claim(files, old, new)
    marked = path.read_text("utf-8")
    place = ""
    if "⟦" in marked:
        before = marked[: marked.index("⟦")]
        place = f":{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}:"
    path.write_text(marked.replace("⟦", ""), "utf-8")
    assert main(["validate", str(path)]) == 2
    printed = capfd.readouterr().err
    found = [line for line in printed.splitlines() if "claims[" in line and place in line]
    assert found and "Traceback" not in printed, printed
    assert all(any(word in line for line in found) for word in words), printed


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("to: {search_index: present}", "to: {}", "claims[0].measure.ratio.to"),
        ("ratio: {of", "ratio: {off", "claims[0].measure.ratio.off"),
        ("{trend: {of: p95", "{trend: {of: 3", "claims[1].measure.trend.of"),
    ],
)
def test_a_faulty_measure_is_not_also_reported_as_missing(
    files: Files, capfd: pytest.CaptureFixture[str], old: str, new: str, place: str
) -> None:
    assert main(["validate", str(with_claim(files, old, new))]) == 2
    printed = capfd.readouterr().err.splitlines()
    assert any(f": {place}: " in line for line in printed), printed
    assert not any("must have one of the keys value" in line for line in printed), printed


@pytest.mark.parametrize("measure", ["{}", "{ratio: null}"])
def test_a_claim_without_a_measure_is_reported_once(
    files: Files, capfd: pytest.CaptureFixture[str], measure: str
) -> None:
    written = "{trend: {of: p95, over: users, at: {search_index: present}}}"
    assert main(["validate", str(with_claim(files, written, measure))]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    kinds = "value, ratio, difference, trend, highest, lowest"
    assert line.endswith(f"claims[1].measure: must have one of the keys {kinds}, got none instead")


def test_all_faults_of_all_claims_come_at_once(files: Files, capfd: pytest.CaptureFixture[str]) -> None:
    with_claim(files, "search_index: absent", "serch: absent")
    assert main(["validate", str(with_claim(files, "holds: rises", "holds: up"))]) == 2
    places = re.findall(r"study\.yaml:(\d+):", capfd.readouterr().err)
    assert len(set(places)) >= 2


@pytest.mark.parametrize(
    ("text", "path", "unit"),
    [
        ("throughput", ("throughput_per_s",), "/s"),
        ("p99.9", ("response_time_s", "p99.9"), "s"),
        ("response_time_s.p99.9", ("response_time_s", "p99.9"), "s"),
        ("errors of search", ("transactions", "search", "errors_share"), ""),
        ("mean in ramp_up", ("phases", "ramp_up", "response_mean_s"), "s"),
        ("mean of search in ramp_up", ("transactions", "search", "phases", "ramp_up", "mean_s"), "s"),
        ("tiers.db.cpus_used", ("tiers", "db", "cpus_used"), ""),
        ("tiers.db.memory_bytes", ("tiers", "db", "memory_bytes"), "B"),
        ("not_attributed.this_machine.cpus_used", ("not_attributed", "this_machine", "cpus_used"), ""),
        ("hosts.a.disks.*.read_bytes_per_s", ("hosts", "a", "disks", "*", "read_bytes_per_s"), "B/s"),
        ('services.db.hits{table="a.b"}.per_s', ("services", "db", 'hits{table="a.b"}', "per_s"), ""),
        ("hosts.a.disks.d.size_bytes", ("hosts", "a", "disks", "d", "size_bytes"), "B"),
        ("storage.reached.read_operations_per_s", ("storage", "reached", "read_operations_per_s"), "/s"),
        ("storage.mounts.m.cache_bytes", ("storage", "mounts", "m", "cache_bytes"), "B"),
        ("storage.mounts.m.servers.s.read_share", ("storage", "mounts", "m", "servers", "s", "read_share"), ""),
        ("hosts.a.throttled_s_per_s", ("hosts", "a", "throttled_s_per_s"), ""),
    ],
)
def test_quantities_are_paths_with_units(text: str, path: tuple[str, ...], unit: str) -> None:
    assert read_metric(text) == path
    assert unit_of_metric(path) == unit


def test_what_must_hold_is_read_by_the_kind_of_measure() -> None:
    assert read_holds("ratio", ">= 70 %") == NumberBounds(0.7, float("inf"))
    assert read_holds("ratio", "> 250 %") == NumberBounds(2.5, float("inf"))
    assert read_holds("difference", "between -20 ms and 0", "s") == NumberBounds(-0.02, 0.0)
    assert read_holds("value", "< 2 MiB/s", "B/s") == NumberBounds(-float("inf"), 2 * 1024**2)
    assert read_holds("trend", "stays") == TrendDirection("stays")
    assert read_holds("lowest", "at 20k or 40k") == AtLevels(("20k", "40k"))
    assert read_holds("highest", "inside") == AtLevels(())
    with pytest.raises(ValueError, match="without a unit"):
        read_holds("difference", "> 5", "s")


@pytest.mark.parametrize(
    ("holds", "low", "high", "verdict"),
    [
        ("<= 0", 0.0, 0.0, True),
        ("<= 0", 0.0, 1.0, None),
        ("<= 0", 1.0, 1.0, False),
        (">= 3", 3.0, 3.0, True),
        (">= 3", 2.0, 3.0, None),
        (">= 3", 2.0, 2.0, False),
    ],
)
def test_a_bound_belongs_to_the_numbers_that_hold(holds: str, low: float, high: float, verdict: bool | None) -> None:
    bounds = read_holds("value", holds)
    assert isinstance(bounds, NumberBounds)
    assert bounds.verdict(low, high) is verdict
