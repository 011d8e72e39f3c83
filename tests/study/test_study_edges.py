"""Smallest and largest allowed values in study files."""

from __future__ import annotations

import math

import pytest
from small_study import SYSTEM, Files

from towtank.claim_bounds import NumberBounds
from towtank.errors import StudyError
from towtank.study import load_study
from towtank.study.across import is_prediction_source
from towtank.study.claim_holds import read_holds
from towtank.study.claim_metrics import adds_up
from towtank.study.events import Event
from towtank.study.model import FindLimit
from towtank.study.objectives import read_objective, read_planned_objective
from towtank.study.schedules import split_users
from towtank.study.search import StepUp, _refine_to
from towtank.study.search_stages import plateau_stages, stages_after_search
from towtank.study.shares import wrong_shares
from towtank.study.until import require_order


@pytest.mark.parametrize(
    ("text", "metric", "transaction", "value"),
    [
        ("p80 < 2 s", "p80", None, 2.0),
        (" p99.90 of search < 2 s ", "p99.9", "search", 2.0),
        ("loss < 1 %", "loss", None, 0.01),
        ("80 % wait of calls < 20 s", "wait80", "calls", 20.0),
        ("mean of search < 1 s", "mean", "search", 1.0),
        ("errors < 1 %", "errors", None, 0.01),
        ("throughput > 5 /s", "throughput", None, 5.0),
    ],
)
def test_an_objective_of_a_model_has_any_percentile(
    text: str, metric: str, transaction: str | None, value: float
) -> None:
    found = read_planned_objective(text)
    assert (found.metric, found.transaction, found.value) == (metric, transaction, pytest.approx(value))
    assert found.text == text.strip()


@pytest.mark.parametrize("text", ["p0 < 1 s", "p00.0 < 1 s", "0 % wait < 1 s", "p100 < 1 s", "q80 < 1 s", "p80"])
def test_other_percentiles_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        read_planned_objective(text)
    assert read_planned_objective("p0.1 < 1 s").metric == "p0.1"


@pytest.mark.parametrize(("every", "accepted"), [("999 ms", False), ("1 s", True), ("1001 ms", False), ("2 s", True)])
def test_a_window_is_at_least_a_whole_second(every: str, accepted: bool) -> None:
    try:
        found = read_objective(f"p95 < 1 s in every {every}").every_s
    except ValueError:
        found = None
    assert (found is not None) is accepted


BOUNDS = NumberBounds(1.0, 2.0)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.0, 2.0, True),
        (1.5, 1.5, True),
        (0.999, 1.5, None),
        (1.5, 2.001, None),
        (0.5, 1.0, None),
        (2.0, 3.0, None),
        (0.5, 0.999, False),
        (2.001, 3.0, False),
        (0.5, 3.0, None),
        (None, 1.5, None),
        (1.5, None, None),
    ],
)
def test_an_interval_is_judged_by_both_of_its_ends(low: float | None, high: float | None, verdict: bool | None) -> None:
    assert BOUNDS.verdict(low, high) is verdict


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("> 1.5", (1.5, math.inf)),
        ("< 1.5", (-math.inf, 1.5)),
        (">= -2", (-2.0, math.inf)),
        ("<= 70 %", (-math.inf, 0.7)),
        ("> 150 %", (1.5, math.inf)),
        ("between 100 % and 101 %", (1.0, 1.01)),
        ("between -1 and 1", (-1.0, 1.0)),
    ],
)
def test_bounds_of_a_ratio_are_read(text: str, bounds: tuple[float, float]) -> None:
    found = read_holds("ratio", text)
    assert isinstance(found, NumberBounds)
    assert (found.low, found.high) == pytest.approx(bounds)


@pytest.mark.parametrize("text", ["between 1 and 1", "between 2 and 1", "> inf", "> nan", "> -", "1"])
def test_bounds_that_nothing_or_everything_meets_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        read_holds("ratio", text)


@pytest.mark.parametrize(
    ("text", "unit", "low"),
    [("> 0", "s", 0.0), ("> -5 ms", "s", -0.005), ("> 2 MiB", "B", 2 * 2**20), ("> 1 /min", "/s", 1 / 60)],
)
def test_a_bound_has_the_unit_of_its_quantity(text: str, unit: str, low: float) -> None:
    found = read_holds("value", text, unit)
    assert found == NumberBounds(pytest.approx(low), math.inf)


@pytest.mark.parametrize(
    ("levels", "wrong"),
    [(["0.1 %", "500 %"], []), (["0 %", "20 %"], [0]), (["20 %", "500.1 %"], [1]), (["20 %", 5], [1])],
)
def test_a_share_of_the_limit_is_above_zero_and_at_most_fivefold(levels: list[object], wrong: list[int]) -> None:
    assert [place for place, _ in wrong_shares(levels)] == wrong


@pytest.mark.parametrize(
    ("levels", "accepted"),
    [("[1]", True), ("[0]", False), ("[true]", False), ("[1.5]", False), ("[10, 10]", False), ("[]", False)],
)
def test_a_level_is_a_whole_number_of_users_from_one(files: Files, levels: str, accepted: bool) -> None:
    files.edit("study", "users: [10, 20]", f"users: {levels}")
    assert is_accepted(files) is accepted


def is_accepted(files: Files) -> bool:
    try:
        load_study(files.study)
    except StudyError:
        return False
    return True


@pytest.mark.parametrize(("rate", "accepted"), [("0 /s", False), ("0.1 /min", True)])
def test_a_rate_is_above_zero(files: Files, rate: str, accepted: bool) -> None:
    files.edit("study", "users: [10, 20]", f"rate: [{rate}]")
    files.edit("study", "kind: closed", "kind: open\n  users_at_most: 100")
    files.edit("study", "ramp_up: {each: 20 ms}", "ramp_up: 1 s")
    files.edit("study", "    factors: {users: [100]}\n", "")
    assert is_accepted(files) is accepted


def event(text: dict[str, object]) -> Event:
    return Event.model_validate({"at": "1 s", **text})


FULL = {"do": "fill", "host": "box", "disk": "data"}


@pytest.mark.parametrize(
    ("given", "bytes_", "files_"),
    [
        (FULL, 0, None),
        ({**FULL, "leave": "1 MiB"}, 2**20, None),
        ({**FULL, "leave_files": 0}, None, 0),
        ({**FULL, "leave": "0 B", "leave_files": 3}, 0, 3),
        ({"do": "kill", "service": "web"}, None, None),
    ],
)
def test_a_disk_is_filled_completely_unless_something_is_left(
    given: dict[str, object], bytes_: int | None, files_: int | None
) -> None:
    found = event(given)
    assert (found.leave_bytes, found.leave_files) == (bytes_, files_)
    assert found.document("x").get("leave_bytes") == bytes_


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"do": "pause", "service": "web", "for": "0 s"}, "must have a duration `for` above 0 to pause"),
        ({"do": "cut", "host": "box", "for": "0 s"}, "must have a duration `for` above 0 to cut"),
        ({**FULL, "leave_files": -1}, "greater than or equal to 0"),
    ],
)
def test_an_event_that_lasts_has_a_length(given: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        event(given)


def test_an_event_acts_on_its_service_or_its_host() -> None:
    assert event({"do": "restart", "service": "web", "for": "0 s"}).on == "web"
    assert event(FULL).on == "box"


def searching(**more: object) -> FindLimit:
    stages = {"ramp_up": {"each": "20 ms"}, "settle": "0 s", "steady": "10 s", **more}
    given = {"kind": "find-limit", "of": "users", "start": 100, "steps": [{"by": 100}], "at_most": 2000}
    return FindLimit.model_validate({**given, "stages": stages})


def test_a_plateau_at_the_load_before_has_a_ramp_of_no_length() -> None:
    stages = plateau_stages(searching(), 1, 100.0, 100.0)
    assert [(stage.name, stage.duration_s, stage.level) for stage in stages] == [
        ("ramp_up 100", 0.0, 1),
        ("steady 100", 10.0, 1),
        ("decide 100", 60.0, 1),
    ]


def test_after_a_search_the_load_ends_with_the_ramp_of_the_study() -> None:
    assert stages_after_search(searching(), 3, 200.0) == []
    found = stages_after_search(searching(ramp_down={"each": "10 ms"}), 3, 200.0)
    documents = [stage.document() for stage in found]
    assert documents == [{"name": "ramp_down", "phase": "ramp_down", "level": 3, "duration_s": 2.0, "users": 0}]


NODES = "  hosts_of:\n    small: {}\n    big: {hosts.here.cpus: CPUS}\n"


@pytest.mark.parametrize(("cpus", "accepted"), [("2", False), ("2.5", True), ("1", False)])
def test_a_prediction_without_more_servers_needs_more_cpus(files: Files, cpus: str, accepted: bool) -> None:
    files.system.write_text(SYSTEM.replace("{provider: local}", "{provider: namespaces, cpus: 2}"))
    files.edit("study", "  search_index:\n", f"{NODES.replace('CPUS', cpus)}  search_index:\n")
    predict = "{from: {hosts_of: small, search_index: present}, to: {hosts_of: big}, service: content}"
    files.edit("study", "pinning: auto\n", f"predict: {predict}\n")
    assert is_accepted(files) is accepted
    if accepted:
        study = load_study(files.study)
        assert is_prediction_source(study, {"hosts_of": "small", "search_index": "present", "users": "10"})
        assert not is_prediction_source(study, {"hosts_of": "small", "search_index": "absent"})
        assert not is_prediction_source(study, {"hosts_of": "big", "search_index": "present"})
        found = study.describe()["predict"]
        assert (found["cpus_from"], found["cpus_to"], found["cpus_of_hosts"]) == (2.0, 2.5, {"here": 2.5})


def test_a_study_without_a_prediction_has_no_source(files: Files) -> None:
    assert not is_prediction_source(load_study(files.study), {})


def test_items_are_read_back_by_the_users_that_the_study_sets(files: Files, tmp_path) -> None:
    files.edit("study", "order: random\n", "order: random\nread_back: {users: 3, at_most: 20 s}\n")
    study = load_study(files.study)
    assert (study.study.read_back.users, study.study.read_back.at_most) == (3, 20.0)


@pytest.mark.parametrize(
    ("amount", "accepted"), [("0 /s", False), ("0.1 /s", True), (0, False), (1, True), (True, False)]
)
def test_an_amount_of_a_search_is_above_zero(amount: object, accepted: bool) -> None:
    if accepted:
        assert StepUp(by=amount).by == amount  # type: ignore[arg-type]
    else:
        with pytest.raises(ValueError, match="must be"):
            StepUp(by=amount)  # type: ignore[arg-type]


@pytest.mark.parametrize(("at_least", "at_most", "accepted"), [(5.0, 5.0, True), (5.1, 5.0, False), (0.0, 5.0, True)])
def test_the_shortest_time_of_a_stage_is_at_most_its_longest(at_least: float, at_most: float, accepted: bool) -> None:
    if accepted:
        require_order(at_least, at_most)
    else:
        with pytest.raises(ValueError, match="no longer than at_most"):
            require_order(at_least, at_most)


@pytest.mark.parametrize(("share", "accepted"), [(0.0, False), (0.001, True), (0.999, True), (1.0, False)])
def test_a_search_is_refined_to_a_share(share: float, accepted: bool) -> None:
    if accepted:
        assert _refine_to(share) == share
    else:
        with pytest.raises(ValueError, match="above 0 % and below 100 %"):
            _refine_to(share)


@pytest.mark.parametrize(
    ("quantity", "adds"),
    [
        ("mean of view", True),
        ("p95 of view", False),
        ("max", False),
        ("throughput", True),
        ("errors", False),
        ("tiers.content.utilization", False),
        ("tiers.content.cpus_used", True),
        ("p95 of view in steady", False),
        ("nonsense", True),
    ],
)
def test_percentiles_extremes_and_shares_do_not_add_up(quantity: str, adds: bool) -> None:
    assert adds_up(quantity) is adds


@pytest.mark.parametrize(
    ("total", "shares", "parts"),
    [(10, (0.5, 0.25, 0.25), [5, 3, 2]), (3, (1.0, 1.0), [2, 1]), (1, (0.1, 0.9), [0, 1]), (0, (1.0,), [0])],
)
def test_users_are_split_by_the_largest_remainders(total: int, shares: tuple[float, ...], parts: list[int]) -> None:
    assert split_users(total, shares) == parts
